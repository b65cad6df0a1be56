//! A client of the Model Context Protocol, as small as it can be: lines of JSON to and from the real binary.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::schema;

/// Nothing here takes longer on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The revision that needs no handshake.
const NEWEST: &str = "2026-07-28";

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    early: VecDeque<Value>,
    next_id: i64,
    /// The answer to `initialize`; null in the newest revision.
    pub hello: Value,
    /// What `roots/list` is answered with; None: the client has no roots.
    roots: Option<Vec<String>>,
    newest: bool,
    /// How often the server asked for the roots.
    pub asked: usize,
}

/// How a client starts.
struct How<'a> {
    dir: &'a Path,
    revision: &'a str,
    roots: Option<Vec<String>>,
    variable: Option<(&'a str, &'a str)>,
}

impl Client {
    pub fn start(sandbox: &Sandbox) -> Self {
        Self::with_revision(sandbox, "2025-11-25")
    }

    pub fn with_revision(sandbox: &Sandbox, revision: &str) -> Self {
        let how = How {
            dir: &sandbox.repo(),
            revision,
            roots: None,
            variable: None,
        };
        Self::shake(sandbox, how)
    }

    /// One whose roots are these directories.
    pub fn with_roots(sandbox: &Sandbox, dir: &Path, roots: &[&Path]) -> Self {
        let roots = Some(roots.iter().map(|root| uri(root)).collect());
        Self::shake(
            sandbox,
            How {
                dir,
                revision: "2025-11-25",
                roots,
                variable: None,
            },
        )
    }

    /// One whose server has one more variable in its environment.
    pub fn with_variable(sandbox: &Sandbox, name: &str, value: &str) -> Self {
        let how = How {
            dir: &sandbox.repo(),
            revision: "2025-11-25",
            roots: None,
            variable: Some((name, value)),
        };
        Self::shake(sandbox, how)
    }

    /// One of the newest revision, without a handshake.
    pub fn newest(sandbox: &Sandbox, roots: Option<&[&Path]>) -> Self {
        let roots = roots.map(|roots| roots.iter().map(|root| uri(root)).collect());
        let how = How {
            dir: &sandbox.repo(),
            revision: NEWEST,
            roots,
            variable: None,
        };
        let mut client = Self::spawn(sandbox, how);
        client.newest = true;
        client
    }

    fn spawn(sandbox: &Sandbox, how: How<'_>) -> Self {
        let made = sandbox.tw_command();
        let mut command = Command::new(made.get_program());
        command.env_clear().current_dir(how.dir).arg("mcp");
        for (name, value) in made.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.envs(how.variable);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.unwrap();
                let message = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("no message of the protocol: {error}: {line}"));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            early: VecDeque::new(),
            next_id: 0,
            hello: Value::Null,
            roots: how.roots,
            newest: false,
            asked: 0,
        }
    }

    fn shake(sandbox: &Sandbox, how: How<'_>) -> Self {
        let revision = how.revision.to_owned();
        let mut client = Self::spawn(sandbox, how);
        let params = json!({
            "protocolVersion": revision, "capabilities": client.capabilities(), "clientInfo": {"name": "test", "version": "1"},
        });
        client.hello = client.ask("initialize", &params);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn capabilities(&self) -> Value {
        match self.roots {
            Some(_) => json!({"roots": {"listChanged": true}}),
            None => json!({}),
        }
    }

    fn roots(&self) -> Value {
        let roots = self.roots.iter().flatten().map(|uri| json!({"uri": uri}));
        json!({"roots": roots.collect::<Vec<_>>()})
    }

    pub fn raw(&mut self, line: &str) {
        self.raw_bytes(format!("{line}\n").as_bytes());
    }

    pub fn raw_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.raw(&message.to_string());
    }

    /// Sends a line as it is, and gives the message that comes next.
    pub fn raw_answer(&mut self, line: &str) -> Value {
        self.raw(line);
        self.receive()
    }

    /// Calls a tool with a token for its progress, and gives what was told of that, and the answer.
    pub fn tool_with_progress(&mut self, tool: &str, arguments: &Value) -> (Vec<Value>, Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}});
        let id = self.request("tools/call", &params);
        let mut told = Vec::new();
        loop {
            let message = self.receive();
            if message["id"] == id {
                return (told, message["result"]["structuredContent"].clone());
            }
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], "p");
            told.push(message["params"]["progress"].clone());
        }
    }

    /// Cancels a request.
    pub fn cancel(&mut self, id: i64) {
        let params = json!({"requestId": id, "reason": "changed my mind"});
        self.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }

    fn receive(&mut self) -> Value {
        self.lines
            .recv_timeout(PATIENCE)
            .expect("an answer in time")
    }

    fn request(&mut self, method: &str, params: &Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        let mut params = params.clone();
        if self.newest {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities(),
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The response to a request. Answers what the server asks in the meantime; what has no id is an error message.
    fn response(&mut self, id: i64) -> Value {
        if let Some(at) = self.early.iter().position(|message| message["id"] == id) {
            return self.early.remove(at).unwrap();
        }
        loop {
            let message = self.receive();
            if message["method"] == "roots/list" {
                assert!(!self.newest, "a server does not ask in this revision");
                self.asked += 1;
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": self.roots()});
                self.send(&answer);
            } else if message["id"] == id {
                return message;
            } else if message["id"].is_i64() {
                self.early.push_back(message);
            } else {
                assert!(message["error"]["code"].is_i64(), "{message}");
            }
        }
    }

    /// Asks, and gives the result.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let mut response = self.response(id);
        if response["result"]["resultType"] == "input_required" {
            self.asked += 1;
            let asked = &response["result"]["inputRequests"];
            assert_eq!(asked["roots"]["method"], "roots/list", "{response}");
            let mut again = params.clone();
            again["inputResponses"] = json!({"roots": self.roots()});
            let id = self.request(method, &again);
            response = self.response(id);
        }
        assert!(
            response.get("error").is_none(),
            "{method} {params}: {response}"
        );
        response["result"].clone()
    }

    /// Asks, and gives the error of the protocol.
    pub fn error(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let response = self.response(id);
        assert!(
            response.get("result").is_none(),
            "{method} {params}: {response}"
        );
        response["error"].clone()
    }

    /// Calls a tool and gives its document.
    pub fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let result = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap();
        let mirror: Value = serde_json::from_str(text).unwrap();
        assert_eq!(mirror, result["structuredContent"], "{name}");
        assert_eq!(result["isError"], mirror["ok"] == false, "{name}");
        assert!(mirror.get("workspace_root").is_some(), "{name}: {mirror}");
        assert!(mirror.get("worktree").is_some(), "{name}: {mirror}");
        mirror
    }

    /// Calls a tool, which must succeed.
    pub fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let document = self.call(name, arguments);
        assert_eq!(document["ok"], true, "{name} {arguments}: {document}");
        document
    }

    /// Calls a tool, which must fail, and gives the `error` object.
    pub fn refusal(&mut self, name: &str, arguments: &Value) -> Value {
        let mut document = self.call(name, arguments);
        assert_eq!(document["ok"], false, "{name} {arguments}: {document}");
        let fields = document.as_object_mut().unwrap();
        fields.shift_remove("workspace_root");
        fields.shift_remove("worktree");
        schema::check("error", &document);
        document["error"].clone()
    }

    /// Sends a call and does not wait. Gives the request's id.
    pub fn send_tool(&mut self, name: &str, arguments: &Value) -> i64 {
        self.request("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Waits for so many answers, all of them good.
    pub fn settle(&mut self, answers: usize) {
        for _ in 0..answers {
            let message = self.receive();
            assert_eq!(message["result"]["isError"], false, "{message}");
        }
    }

    /// Presses Ctrl-C.
    pub fn interrupt(&mut self) {
        self.signal(rustix::process::Signal::INT);
    }

    /// Sends the server a signal.
    pub fn signal(&mut self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Ends the input. Gives the exit code, what was answered still, and standard error.
    pub fn end(mut self) -> (Option<i32>, Vec<Value>, String) {
        drop(self.stdin.take());
        let mut stderr = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let status = self.child.wait().unwrap();
        (status.code(), self.lines.iter().collect(), stderr)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
