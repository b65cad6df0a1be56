"""A model server that does what the prompt says: no model, no network, the same answer every time.

It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's API, streaming or not. A prompt holds its
own script: `[[run: CMD]]` a shell command, `[[write: PATH = TEXT]]` a file, `[[mcp: NAME {JSON}]]` a tool of an MCP server,
`[[say: TEXT]]` the last words. Steps joined by `&` are one answer with parallel calls. The server keeps no state: which step is
next is counted from the results that stand in the request behind the prompt. Every request is kept, and read into entries
that are the same for all four interfaces, so that what reached the model can be compared.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STEP = re.compile(r"\[\[(run|write|mcp|say):\s*(.*?)\]\](&?)", re.S)
# How a note that tw hands over begins its last part.
NOTE = "A note from the part that is gone:"
SHELLS = ["Bash", "bash", "shell", "Shell", "exec_command", "shell_command", "run_shell_command", "execute_command"]
WRITERS = ["Write", "write", "write_file", "WriteFile", "create", "create_file"]


class Entry(tuple):
    """What the model was shown, in order: ("user" | "assistant" | "system", text), ("call", name, arguments) or ("result", text)."""

    kind = property(lambda self: self[0])


def plain(content):
    """The text of a content that is a string, or a list of parts of any interface."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") in ("image", "input_image", "image_url"):
            texts.append("<image>")
        else:
            texts.append(part.get("text") or plain(part.get("content")) or "")
    return "\n".join(texts)


def loads(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


# How each interface is read: into entries, and the tools on offer as {name: parameters}.


def read_anthropic(body):
    entries = []
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            kind = part.get("type")
            if kind == "tool_use":
                entries.append(Entry(("call", part["name"], part["input"])))
            elif kind == "tool_result":
                entries.append(Entry(("result", plain(part.get("content")))))
            elif kind == "text":
                entries.append(Entry((message["role"], part["text"])))
            elif kind == "image":
                entries.append(Entry((message["role"], "<image>")))
    tools = {tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or []}
    return entries, tools


def read_responses(body):
    entries = []
    items = body["input"]
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            role = {"developer": "system"}.get(item["role"], item["role"])
            entries.append(Entry((role, plain(item["content"]))))
        elif kind == "function_call":
            entries.append(Entry(("call", item["name"], loads(item["arguments"]))))
        elif kind == "custom_tool_call":
            entries.append(Entry(("call", item["name"], item["input"])))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            entries.append(Entry(("result", plain(item["output"]))))
    tools = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools") or []:
                tools[tool["name"] + "\0" + inner["name"]] = inner.get("parameters") or {}
        elif tool.get("name"):
            tools[tool["name"]] = tool.get("parameters") or {"custom": tool["type"] == "custom"}
    return entries, tools


def read_chat(body):
    entries = []
    for message in body["messages"]:
        role = message["role"]
        text = plain(message.get("content"))
        if role == "tool":
            entries.append(Entry(("result", text)))
            continue
        if text:
            entries.append(Entry(({"developer": "system"}.get(role, role), text)))
        for call in message.get("tool_calls") or []:
            function = call["function"]
            entries.append(Entry(("call", function["name"], loads(function["arguments"]))))
    tools = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "function":
            tools[tool["function"]["name"]] = tool["function"].get("parameters") or {}
    return entries, tools


def read_gemini(body):
    entries = []
    for content in body.get("contents") or []:
        role = {"model": "assistant"}.get(content.get("role"), "user")
        for part in content.get("parts") or []:
            if "functionCall" in part:
                call = part["functionCall"]
                entries.append(Entry(("call", call["name"], call.get("args") or {})))
            elif "functionResponse" in part:
                entries.append(Entry(("result", json.dumps(part["functionResponse"].get("response"), sort_keys=True))))
            elif part.get("text") and not part.get("thought"):
                entries.append(Entry((role, part["text"])))
    tools = {}
    for tool in body.get("tools") or []:
        for function in tool.get("functionDeclarations") or []:
            tools[function["name"]] = function.get("parametersJsonSchema") or function.get("parameters") or {}
    return entries, tools


# What is answered: the next step of the script, as text and calls.


def groups(script):
    """The steps of a script; those joined by `&` together."""
    found, group = [], []
    for kind, text, joined in STEP.findall(script):
        group.append((kind, text.strip()))
        if not joined:
            found.append(group)
            group = []
    return found + ([group] if group else [])


def script_of(entry):
    """The script in a prompt, else nothing. A note from a rewind quotes the prompt that is gone: what it quotes is no script."""
    if entry.kind != "user":
        return ""
    # Some agents show it before the prompt, others after it.
    text = re.sub(f"This conversation was rewound.*{NOTE}", "", entry[1], flags=re.DOTALL)
    return text if "[[" in text else ""


def pick(tools, names):
    return next((name for name in names if name in tools), None)


def fill(parameters, values):
    """Arguments for a tool: of all values those that it knows by that name, and whatever else it demands."""
    known = parameters.get("properties") or {}
    arguments = {}
    for name, value in values.items():
        if name in known:
            wanted = known[name].get("type")
            arguments[name] = ["bash", "-c", value] if wanted == "array" else value
    for name in parameters.get("required") or []:
        if name not in arguments:
            arguments[name] = example(known.get(name) or {})
    return arguments


def example(schema):
    """Something that a schema accepts."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    kind = str(kind).lower()
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties") or {}
        return {name: example(properties[name]) for name in schema.get("required") or properties if name in properties}
    return {"array": [], "integer": 1, "number": 1, "boolean": False}.get(kind, "made up")


def call_of(step, tools, cwd):
    """The call that a step means, with the tools of this agent: (name, arguments), or None when it offers none."""
    kind, text = step
    if kind == "run":
        name = pick(tools, SHELLS)
        if name:
            return name, fill(tools[name], {"command": text, "cmd": text, "description": "a step of the script"})
    if kind == "write":
        path, _, content = (part.strip() for part in text.partition("="))
        full = f"{cwd}/{path}"
        if "apply_patch" in tools:
            patch = f"*** Begin Patch\n*** Add File: {path}\n+{content}\n*** End Patch\n"
            return "apply_patch", patch if tools["apply_patch"].get("custom") else {"input": patch}
        name = pick(tools, WRITERS)
        if name:
            values = dict.fromkeys(["file_path", "filePath", "path", "absolute_path"], full)
            values.update(dict.fromkeys(["content", "file_text", "contents"], content + "\n"))
            return name, fill(tools[name], values)
        return call_of(("run", f"printf '%s\\n' '{content}' > '{path}'"), tools, cwd)
    if kind == "mcp":
        wanted, _, arguments = text.partition(" ")
        name = next((name for name in tools if name.endswith(wanted)), None)
        if name:
            return name, json.loads(arguments or "{}")
    return None


def answer(entries, tools, cwd):
    """Text and calls of the next answer to a request."""
    at = max((nth for nth, entry in enumerate(entries) if script_of(entry)), default=None)
    if at is None or not tools:
        return "A title", []
    made = sum(entry.kind == "call" for entry in entries[at:])
    for group in groups(script_of(entries[at])):
        if group[0][0] == "say":
            return group[0][1], []
        if made >= len(group):
            made -= len(group)
            continue
        calls = [call_of(step, tools, cwd) for step in group]
        if None in calls:
            return f"NO TOOL for {group} among {sorted(tools)}", []
        return f"Next: {group[0][0]}.", calls
    return "All done.", []


# How each interface is written: the answer as one document, and as events of a stream.


def anthropic_blocks(text, calls, ids):
    blocks = [{"type": "text", "text": text}]
    return blocks + [{"type": "tool_use", "id": next(ids), "name": name, "input": given} for name, given in calls]


def write_anthropic(text, calls, ids, model):
    blocks = anthropic_blocks(text, calls, ids)
    usage = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {
        "id": next(ids).replace("toolu", "msg"), "type": "message", "role": "assistant", "model": model, "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": usage,
    }
    events = [("message_start", {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}})]
    for at, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        for kind, more in [("start", {"content_block": empty}), ("delta", {"delta": delta}), ("stop", {})]:
            events.append((f"content_block_{kind}", {"type": f"content_block_{kind}", "index": at, **more}))
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append(("message_delta", {"type": "message_delta", "delta": end, "usage": usage}))
    events.append(("message_stop", {"type": "message_stop"}))
    return message, events


def write_responses(text, calls, ids, model):
    items = [{"type": "message", "id": next(ids), "role": "assistant", "status": "completed",
              "content": [{"type": "output_text", "text": text, "annotations": []}]}]
    for name, given in calls:
        space, _, inner = name.rpartition("\0")
        named = {"name": inner, **({"namespace": space} if space else {})}
        if isinstance(given, str):
            item = {"type": "custom_tool_call", **named, "input": given}
        else:
            item = {"type": "function_call", **named, "arguments": json.dumps(given)}
        items.append({**item, "id": next(ids), "call_id": next(ids), "status": "completed"})
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120}
    response = {"id": next(ids), "object": "response", "created_at": 0, "status": "completed", "model": model,
                "output": items, "usage": usage}
    events = [("response.created", {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}})]
    for at, item in enumerate(items):
        for kind in ("added", "done"):
            name = f"response.output_item.{kind}"
            events.append((name, {"type": name, "output_index": at, "item": item}))
    events.append(("response.completed", {"type": "response.completed", "response": response}))
    return response, events


def write_chat(text, calls, ids, model):
    named = [{"id": next(ids), "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
             for name, given in calls]
    message = {"role": "assistant", "content": text, **({"tool_calls": named} if named else {})}
    finish = "tool_calls" if named else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    common = {"id": next(ids), "created": 0, "model": model}
    document = {**common, "object": "chat.completion", "usage": usage,
                "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    delta = {**message, **({"tool_calls": [{"index": at, **call} for at, call in enumerate(named)]} if named else {})}
    chunk = {**common, "object": "chat.completion.chunk"}
    events = [
        (None, {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}),
        (None, "[DONE]"),
    ]
    return document, events


def write_gemini(text, calls, ids, model):
    parts = [{"text": text}] + [{"functionCall": {"name": name, "args": given}} for name, given in calls]
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    document = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": usage, "modelVersion": model}
    return document, [(None, document)]


INTERFACES = {
    "anthropic": (read_anthropic, write_anthropic),
    "responses": (read_responses, write_responses),
    "chat": (read_chat, write_chat),
    "gemini": (read_gemini, write_gemini),
}


class Request:
    """One request that the model was asked: which interface, its body, and the entries and tools read from it."""

    def __init__(self, interface, body):
        self.interface, self.body = interface, body
        self.entries, self.tools = INTERFACES[interface][0](body)

    def is_of_the_agent(self):
        """Whether it is a turn of the conversation, and not a title or a summary of one."""
        return bool(self.tools) and any(map(script_of, self.entries))


class Model:
    """The server, on a free port of the loopback. `cwd` is where files are written."""

    def __init__(self, cwd):
        self.cwd, self.requests, self.unknown = cwd, [], []
        self.lock = threading.Lock()
        self.count = 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                model.unknown.append("GET " + self.path)
                self.send(200, {"data": [], "models": [], "object": "list"})

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                body = loads(raw.decode("utf-8", "replace"))
                interface = interface_of(self.path.split("?")[0])
                if interface == "count":
                    return self.send(200, {"input_tokens": 100, "totalTokens": 100})
                if not interface or not isinstance(body, dict):
                    model.unknown.append("POST " + self.path)
                    return self.send(404, {"error": {"message": "not served", "type": "not_found"}})
                document, events = model.reply(interface, body)
                if body.get("stream") or "stream" in self.path:
                    return self.stream(events)
                return self.send(200, document)

            def send(self, status, document):
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def stream(self, events):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for name, event in events:
                    data = event if isinstance(event, str) else json.dumps(event)
                    named = f"event: {name}\n" if name else ""
                    self.wfile.write(f"{named}data: {data}\n\n".encode())
                    self.wfile.flush()
                self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def ids(self):
        while True:
            with self.lock:
                self.count += 1
                yield f"toolu_{self.count:024d}"

    def reply(self, interface, body):
        request = Request(interface, body)
        with self.lock:
            self.requests.append(request)
        schema = demanded_schema(body)
        text, calls = (json.dumps(example(schema)), []) if schema else answer(request.entries, request.tools, self.cwd)
        return INTERFACES[interface][1](text, calls, self.ids(), body.get("model") or "scripted")

    def turns(self):
        """The requests that are turns of a conversation, so far."""
        with self.lock:
            return [request for request in self.requests if request.is_of_the_agent()]


def interface_of(path):
    """Which interface a path belongs to; "count" for counting tokens; None for what is not served."""
    if path.endswith(("/count_tokens", ":countTokens")):
        return "count"
    for end, interface in [("/messages", "anthropic"), ("/responses", "responses"), ("/chat/completions", "chat"),
                           ("enerateContent", "gemini")]:
        if path.endswith(end):
            return interface
    return None


def demanded_schema(body):
    """The schema that an answer has to have, where a request demands one."""
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    format_ = (body.get("output_config") or {}).get("format") or (body.get("text") or {}).get("format") or {}
    return schema or format_.get("schema")
