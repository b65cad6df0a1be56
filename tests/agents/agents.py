"""The agents: where each comes from, how it is told of the scripted model, and how it is asked without a terminal.

One class an agent. A lab (`lab.py`) gives it a scratch home, a repository, and the address of the model.
"""

import json
import os
import subprocess


class Agent:
    """What the steps need of an agent. The defaults are those of most."""

    # As `tw init --agent` calls it.
    name = ""
    # Its package: of npm, or of PyPI with a version of Python.
    npm = pypi = None
    program = ""
    # The flag of `tw init` that reaches its settings, where it has none in a project.
    scope = []
    # What it has not, by its own nature: the step's name and why.
    lacks = {}
    # What it may ask at its start in a terminal, and the keys that say yes: in order.
    questions = []
    # What its screen shows once it takes prompts, where it shows something else before.
    ready = ""
    # What its command for people needs besides, for the script.
    allow = []
    # What it needs besides where nobody is to be asked, for the script.
    alone = []
    # Whether `tw` hands a note over, or prints it to be pasted.
    note = "prompt"

    def configure(self, lab):
        """Writes its settings: the model, and that everything is allowed. Returns environment variables."""
        return {}

    def ask(self, prompt, session=None):
        """The command that asks it one prompt, in a new session or in this one."""
        raise NotImplementedError

    def typed(self, words, prompt):
        """Whether a checkpoint's prompt is what was typed in its terminal program."""
        return words in prompt

    def adopt(self, lab, session):
        """What the command that tw prints does before it resumes this session."""

    def transcripts(self, lab):
        """Where it keeps sessions, as directories or files."""
        return []

    def fork_itself(self, lab, session):
        """Has the agent fork a session by its own means; the new one's id, None where that is not driven."""
        return None


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))


class Claude(Agent):
    name, npm, program = "claude", "@anthropic-ai/claude-code", "claude"
    note = "hook"
    allow = ["--permission-mode", "bypassPermissions"]
    questions = [("trust", ["Enter"]), ("MCP server", ["Enter"])]

    def configure(self, lab):
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "enabledMcpjsonServers": ["tw"]}
        key = "sk-ant-made-up-for-the-script"
        write(f"{lab.home}/.claude.json", {
            "hasCompletedOnboarding": True, "theme": "dark", "projects": {lab.repo: trusted},
            "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
            "bypassPermissionsModeAccepted": True,
        })
        return {
            "ANTHROPIC_BASE_URL": lab.model.url, "ANTHROPIC_API_KEY": key, "IS_SANDBOX": "1", "DISABLE_TELEMETRY": "1",
            # The script names tools at once and searches for none.
            "ENABLE_TOOL_SEARCH": "false", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def ask(self, prompt, session=None):
        resume = ["--resume", session] if session else []
        return ["claude", "-p", prompt, "--permission-mode", "bypassPermissions", *resume]

    def transcripts(self, lab):
        return [f"{lab.home}/.claude/projects"]


class Codex(Agent):
    name, npm, program = "codex", "@openai/codex", "codex"
    note = "hook"
    allow = ["--dangerously-bypass-hook-trust"]

    def configure(self, lab):
        write(f"{lab.home}/.codex/config.toml", f"""\
# settings of a person
model = "gpt-5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{lab.model.url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[projects."{lab.repo}"]
trust_level = "trusted"
""")
        return {"SCRIPTED_KEY": "made-up"}

    def ask(self, prompt, session=None):
        resume = ["resume", session] if session else []
        return ["codex", "exec", "--dangerously-bypass-hook-trust", *resume, prompt]

    def transcripts(self, lab):
        return [f"{lab.home}/.codex/sessions"]

    def fork_itself(self, lab, session):
        """By its server for editors: the fork names the rollout that it goes on from, and lacks what is in there."""
        calls = [("initialize", {"clientInfo": {"name": "tw", "title": "tw", "version": "1"}}),
                 ("thread/fork", {"threadId": session, "cwd": lab.repo})]
        with subprocess.Popen(["codex", "app-server"], cwd=lab.repo, env=lab.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as server:
            for number, (method, parameters) in enumerate(calls):
                server.stdin.write(json.dumps({"id": number, "method": method, "params": parameters}) + "\n")
                server.stdin.flush()
                answer = next(found for found in map(json.loads, server.stdout) if found.get("id") == number and "method" not in found)
            server.stdin.close()
        return answer["result"]["thread"]["id"]


class Gemini(Agent):
    name, npm, program = "gemini", "@google/gemini-cli", "gemini"
    note = "hook"
    alone = ["-m", "gemini-2.5-pro", "--yolo", "--skip-trust"]

    def configure(self, lab):
        write(f"{lab.home}/.gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            # It removes a session that was begun in one minute and resumed in another when the next one starts, with or
            # without tw, as long as it is to remove old ones at all.
            "general": {"enableAutoUpdate": False, "sessionRetention": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
        })
        write(f"{lab.home}/.gemini/trustedFolders.json", {lab.repo: "TRUST_FOLDER"})
        return {"GEMINI_API_KEY": "made-up", "GOOGLE_GEMINI_BASE_URL": lab.model.url}

    def ask(self, prompt, session=None):
        resume = ["--resume", session] if session else []
        return ["gemini", "-m", "gemini-2.5-pro", "--yolo", *resume, "-p", prompt]

    def transcripts(self, lab):
        return [f"{lab.home}/.gemini/tmp"]


class Opencode(Agent):
    name, npm, program = "opencode", "opencode-ai", "opencode"
    ready = "commands"

    def configure(self, lab):
        write(f"{lab.home}/.config/opencode/opencode.json", {
            "autoupdate": False, "share": "disabled", "model": "scripted/one", "small_model": "scripted/one",
            "permission": {"bash": "allow", "edit": "allow"},
            "provider": {"scripted": {
                "npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"one": {"name": "one"}},
                "options": {"baseURL": lab.model.url + "/v1", "apiKey": "made-up"},
            }},
        })
        # As its first start with a network leaves its own directory: it installs a package of its own there, and asks for it
        # again at each start until it has it.
        package = {"@opencode-ai/plugin": "*"}
        write(f"{lab.home}/.config/opencode/package.json", {"dependencies": package})
        write(f"{lab.home}/.config/opencode/package-lock.json", {"packages": {"": {"dependencies": package}}})
        os.makedirs(f"{lab.home}/.config/opencode/node_modules/@opencode-ai/plugin")
        return {}

    def ask(self, prompt, session=None):
        # Words of their own: it puts quotes around an argument with a blank in it.
        return ["opencode", "run", *(["--session", session] if session else []), *prompt.split(" ")]

    def adopt(self, lab, session):
        fork = f"{lab.repo}/.git/timewarp/exports/{session}.json"
        if os.path.exists(fork):
            lab.run(["opencode", "import", fork])
            os.unlink(fork)


KIMI = """\
default_model = "one"

[providers.scripted]
type = "{kind}"
base_url = "{url}/v1"
api_key = "made-up"

[models.one]
provider = "scripted"
model = "one"
max_context_size = 100000
"""


class KimiCode(Agent):
    name, npm, program = "kimi-code", "@moonshot-ai/kimi-code", "kimi"
    scope = ["--user"]
    questions = [("Trust this folder", ["Enter"])]

    def configure(self, lab):
        write(f"{lab.home}/.kimi-code/config.toml", KIMI.format(kind="openai", url=lab.model.url))
        return {}

    def ask(self, prompt, session=None):
        return ["kimi", *(["--session", session] if session else []), "-p", prompt]

    def transcripts(self, lab):
        return [f"{lab.home}/.kimi-code/sessions"]


class KimiCli(Agent):
    name, pypi, program = "kimi", "kimi-cli", "kimi"
    scope = ["--user"]

    def typed(self, words, prompt):
        # Its hook says nothing of a prompt that was typed in its terminal program.
        return not prompt or words in prompt

    def configure(self, lab):
        write(f"{lab.home}/.kimi/config.toml", KIMI.format(kind="openai_legacy", url=lab.model.url))
        return {}

    def ask(self, prompt, session=None):
        return ["kimi", "--print", *(["--session", session] if session else []), "-p", prompt]

    def transcripts(self, lab):
        return [f"{lab.home}/.kimi/sessions"]


class Pi(Agent):
    name, npm, program = "pi", "@earendil-works/pi-coding-agent", "pi"
    note = "hook"

    def configure(self, lab):
        write(f"{lab.home}/.pi/agent/settings.json", {"defaultProjectTrust": "always"})
        write(f"{lab.home}/.pi/agent/models.json", {"providers": {"scripted": {
            "baseUrl": lab.model.url + "/v1", "apiKey": "made-up", "api": "openai-completions", "models": [{"id": "one"}],
        }}})
        return {"PI_OFFLINE": "1"}

    def ask(self, prompt, session=None):
        resume = ["--session", session] if session else []
        return ["pi", "-p", "--provider", "scripted", "--model", "one", *resume, prompt]

    def transcripts(self, lab):
        return [f"{lab.home}/.pi/agent/sessions"]


class Copilot(Agent):
    name, npm, program = "copilot", "@github/copilot", "copilot"
    lacks = {step: "its sessions cannot be forked" for step in ("rewind", "fork", "note", "points", "again", "every", "terminal", "modes", "itself")}
    lacks["report"] = "its sessions cannot be read; the report says so"
    lacks["attempts"] = "'tw try --agent' does not start it"

    def configure(self, lab):
        write(f"{lab.home}/.copilot/config.json", {"trusted_folders": [lab.repo]})
        return {
            "COPILOT_PROVIDER_BASE_URL": lab.model.url + "/v1", "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_MODEL": "one",
            "COPILOT_PROVIDER_API_KEY": "made-up", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
            # With -p it starts a project's servers only then.
            "GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP": "true",
        }

    def ask(self, prompt, session=None):
        return ["copilot", "--allow-all-tools", *([f"--resume={session}"] if session else []), "-p", prompt]


class Qwen(Agent):
    name, npm, program = "qwen", "@qwen-code/qwen-code", "qwen"
    note = "hook"
    allow = ["--yolo"]

    def configure(self, lab):
        write(f"{lab.home}/.qwen/settings.json", {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
            # The script names tools at once and searches for none, and has no memories to write.
            "tools": {"toolSearch": {"enabled": False}}, "memory": {"enableManagedAutoMemory": False},
        })
        return {"OPENAI_API_KEY": "made-up", "OPENAI_BASE_URL": lab.model.url + "/v1", "OPENAI_MODEL": "one"}

    def ask(self, prompt, session=None):
        return ["qwen", "--yolo", *(["--resume", session] if session else []), "-p", prompt]

    def transcripts(self, lab):
        return [f"{lab.home}/.qwen/projects"]


AGENTS = {agent.name: agent for agent in (Claude(), Codex(), Gemini(), Opencode(), KimiCode(), KimiCli(), Pi(), Copilot(), Qwen())}
