//! Session files as agents write them, grown turn by turn, where each agent keeps its own.

use std::cell::Cell;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Which agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Claude,
    Codex,
    Kimi,
}

pub const KINDS: [Kind; 3] = [Kind::Claude, Kind::Codex, Kind::Kimi];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Kimi => "kimi",
        }
    }
}

/// One session of an agent, with its hooks.
pub struct Talk<'s> {
    pub sandbox: &'s Sandbox,
    pub kind: Kind,
    pub id: String,
    pub path: PathBuf,
    rows: Cell<u32>,
    last: std::cell::RefCell<Option<String>>,
}

impl<'s> Talk<'s> {
    pub fn new(sandbox: &'s Sandbox, kind: Kind) -> Self {
        let id = match kind {
            Kind::Codex => "019e1625-789d-76c0-80ab-3724b5ddb799",
            _ => "11111111-2222-4333-8444-555555555555",
        };
        Self::with_id(sandbox, kind, id)
    }

    pub fn with_id(sandbox: &'s Sandbox, kind: Kind, id: &str) -> Self {
        let home = sandbox.home();
        let path = match kind {
            Kind::Claude => home.join(format!(".claude/projects/-work/{id}.jsonl")),
            Kind::Codex => home.join(format!(
                ".codex/sessions/2026/02/28/rollout-2026-02-28T15-30-00-{id}.jsonl"
            )),
            Kind::Kimi => home.join(format!(
                ".kimi/sessions/0123456789abcdef/{id}/context.jsonl"
            )),
        };
        let talk = Self {
            sandbox,
            kind,
            id: id.to_owned(),
            path,
            rows: Cell::new(0),
            last: std::cell::RefCell::default(),
        };
        std::fs::create_dir_all(talk.path.parent().unwrap()).unwrap();
        match kind {
            Kind::Claude => {}
            Kind::Codex => Self::line(
                &talk.path,
                &json!({"timestamp": talk.at(), "type": "session_meta",
                "payload": {"id": id, "cwd": sandbox.repo(), "cli_version": "0.125.0"}}),
            ),
            Kind::Kimi => {
                Self::line(
                    &talk.path,
                    &json!({"role": "_system_prompt", "content": "be good"}),
                );
                Self::line(
                    &talk.wire(),
                    &json!({"type": "metadata", "protocol_version": "1.10"}),
                );
                std::fs::write(talk.path.with_file_name("state.json"), "{\"version\": 1}").unwrap();
            }
        }
        talk
    }

    /// A session whose file is there: the agent goes on in it.
    pub fn resumed(sandbox: &'s Sandbox, kind: Kind, id: &str, path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = rows
            .filter_map(|row| row["uuid"].as_str().map(str::to_owned))
            .next_back();
        Self {
            sandbox,
            kind,
            id: id.to_owned(),
            path: path.to_owned(),
            rows: Cell::new(100),
            last: std::cell::RefCell::new(last),
        }
    }

    /// kimi-cli's file of what people saw, beside the one of what the model sees.
    pub fn wire(&self) -> PathBuf {
        self.path.with_file_name("wire.jsonl")
    }

    fn at(&self) -> String {
        format!("2026-02-28T15:{:02}:00.000Z", self.rows.get() % 60)
    }

    fn line(path: &Path, record: &Value) {
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        writeln!(file, "{}", record.to_string().replace("\":", "\": ")).unwrap();
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap_or_default()
    }

    /// Everything that belongs to the session, to be compared.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut paths = vec![self.path.clone()];
        if self.kind == Kind::Kimi {
            paths.extend([self.wire(), self.path.with_file_name("state.json")]);
        }
        paths
            .into_iter()
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect()
    }

    // --- the agent's file ---

    fn row(&self, kind: &str, mut fields: Value) {
        let number = self.rows.get();
        self.rows.set(number + 1);
        let uuid = format!("{}-row{number}", &self.id[..8]);
        let last = self.last.replace(Some(uuid.clone()));
        let map = fields.as_object_mut().unwrap();
        for (key, value) in json!({"parentUuid": last, "isSidechain": false, "userType": "external", "cwd": self.sandbox.repo(),
            "sessionId": self.id, "version": "2.1.200", "gitBranch": "main", "type": kind, "uuid": uuid, "timestamp": self.at()})
            .as_object()
            .unwrap()
        {
            map.insert(key.clone(), value.clone());
        }
        Self::line(&self.path, &fields);
    }

    fn event(&self, kind: &str, payload: &Value) {
        self.rows.set(self.rows.get() + 1);
        let at = 1_772_292_600.5 + f64::from(self.rows.get());
        Self::line(
            &self.wire(),
            &json!({"timestamp": at, "message": {"type": kind, "payload": payload}}),
        );
    }

    fn item(&self, kind: &str, payload: &Value) {
        self.rows.set(self.rows.get() + 1);
        Self::line(
            &self.path,
            &json!({"timestamp": self.at(), "type": kind, "payload": payload}),
        );
    }

    /// The prompt as the agent writes it down.
    pub fn writes_prompt(&self, text: &str) {
        match self.kind {
            Kind::Claude => self.row("user", json!({"promptId": format!("p-{text}"), "message": {"role": "user", "content": text}})),
            Kind::Codex => {
                self.item("event_msg", &json!({"type": "task_started", "turn_id": text}));
                self.item("response_item", &json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}));
                self.item("event_msg", &json!({"type": "user_message", "message": text, "images": []}));
            }
            Kind::Kimi => {
                Self::line(&self.path, &json!({"role": "_checkpoint", "id": self.rows.get()}));
                Self::line(&self.path, &json!({"role": "user", "content": text}));
                self.event("TurnBegin", &json!({"user_input": [{"type": "text", "text": text}]}));
            }
        }
    }

    /// Claude Code hands over what was sent while it was at work.
    pub fn hears(&self, text: &str) {
        assert_eq!(self.kind, Kind::Claude);
        let sent = json!({"type": "queued_command", "prompt": text, "commandMode": "prompt"});
        self.row("attachment", json!({ "attachment": sent }));
    }

    /// An answer of the model that leaves its context at `context` tokens.
    pub fn answers(&self, text: &str, context: u64) {
        match self.kind {
            Kind::Claude => self.row("assistant", json!({"message": {"id": format!("m-{text}"), "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                "usage": {"input_tokens": context - 10, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}}})),
            Kind::Codex => {
                self.item("event_msg", &json!({"type": "agent_message", "message": text}));
                self.item("response_item", &json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}));
                self.item("event_msg", &json!({"type": "token_count", "info": {
                    "last_token_usage": {"input_tokens": context - 10, "cached_input_tokens": 0, "output_tokens": 10, "total_tokens": context},
                    "total_token_usage": {"total_tokens": context}}}));
                self.item("event_msg", &json!({"type": "task_complete"}));
            }
            Kind::Kimi => {
                self.event("StepBegin", &json!({"n": 1}));
                self.event("ContentPart", &json!({"type": "text", "text": text}));
                Self::line(&self.path, &json!({"role": "_usage", "token_count": context}));
                Self::line(&self.path, &json!({"role": "assistant", "content": [{"type": "text", "text": text}]}));
                self.event("StatusUpdate", &json!({"context_tokens": context, "message_id": text,
                    "token_usage": {"input_other": context - 10, "output": 10, "input_cache_read": 0, "input_cache_creation": 0}}));
                self.event("TurnEnd", &json!({}));
            }
        }
    }

    /// The model calls a tool.
    pub fn calls(&self, id: &str) {
        match self.kind {
            Kind::Claude => self.row("assistant", json!({"message": {"id": format!("m-{id}"), "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "true"}}], "stop_reason": "tool_use",
                "usage": {"input_tokens": 10, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}}})),
            Kind::Codex => self.item("response_item", &json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id})),
            Kind::Kimi => {
                Self::line(&self.path, &json!({"role": "assistant", "content": [], "tool_calls": [
                    {"type": "function", "id": id, "function": {"name": "Shell", "arguments": "{}"}}]}));
                self.event("ToolCall", &json!({"id": id, "function": {"name": "Shell", "arguments": "{}"}}));
            }
        }
    }

    /// The model writes into a file by a tool.
    pub fn edits(&self, id: &str, tool: &str, input: &Value) {
        assert_eq!(self.kind, Kind::Claude);
        self.row("assistant", json!({"message": {"id": format!("m-{id}"), "type": "message", "role": "assistant", "model": "model-1",
            "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}], "stop_reason": "tool_use",
            "usage": {"input_tokens": 10, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}}}));
        self.results(id);
    }

    /// The tool answers.
    pub fn results(&self, id: &str) {
        match self.kind {
            Kind::Claude => self.row(
                "user",
                json!({"message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": "done"}]}}),
            ),
            Kind::Codex => self.item(
                "response_item",
                &json!({"type": "function_call_output", "call_id": id, "output": "done"}),
            ),
            Kind::Kimi => {
                Self::line(
                    &self.path,
                    &json!({"role": "tool", "tool_call_id": id, "content": "done"}),
                );
                self.event("ToolResult", &json!({"tool_call_id": id, "return_value": {"is_error": false, "output": "done"}}));
            }
        }
    }

    /// kimi-cli summarises: its context begins anew, what people saw goes on.
    pub fn compacts(&self, summary: &str) {
        assert_eq!(self.kind, Kind::Kimi);
        self.event("CompactionBegin", &json!({}));
        let older = self.path.with_file_name("context_1.jsonl");
        std::fs::rename(&self.path, older).unwrap();
        let said = format!(
            "<system>Previous context has been compacted. Here is the compaction output:</system>{summary}"
        );
        for record in [
            json!({"role": "_system_prompt", "content": "be good"}),
            json!({"role": "_checkpoint", "id": 0}),
            json!({"role": "user", "content": [{"type": "text", "text": said}]}),
        ] {
            Self::line(&self.path, &record);
        }
        self.event("CompactionEnd", &json!({}));
    }

    // --- its hooks ---

    /// Runs a hook; what it prints.
    pub fn hook(&self, event: &str, more: &Value) -> String {
        self.hook_with(event, more, &[])
    }

    pub fn hook_with(&self, event: &str, more: &Value, variables: &[(&str, &str)]) -> String {
        let mut payload =
            json!({"session_id": self.id, "cwd": self.sandbox.repo(), "hook_event_name": event});
        if self.kind != Kind::Kimi {
            payload["transcript_path"] = json!(self.path);
        }
        for (key, value) in more.as_object().unwrap() {
            payload[key] = value.clone();
        }
        let output = self
            .sandbox
            .tw_command()
            .args(["hook", self.kind.name(), event])
            .envs(variables.iter().copied())
            .write_stdin(payload.to_string())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A prompt is submitted: the hook runs before the agent writes it down.
    pub fn submits(&self, text: &str) {
        assert_eq!(
            self.hook("UserPromptSubmit", &self.prompt_payload(text)),
            ""
        );
    }

    pub fn prompt_payload(&self, text: &str) -> Value {
        match self.kind {
            Kind::Claude => json!({"prompt": text, "prompt_id": format!("p-{text}")}),
            Kind::Codex => json!({"prompt": text, "turn_id": format!("t-{text}")}),
            Kind::Kimi => json!({"prompt": [{"type": "text", "text": text}]}),
        }
    }

    /// A whole turn: the hook, the prompt, an answer.
    pub fn turn(&self, text: &str, context: u64) {
        self.submits(text);
        self.writes_prompt(text);
        self.answers(&format!("answer to {text}"), context);
    }

    /// The checkpoints of this session.
    pub fn checkpoints(&self) -> Vec<Value> {
        let listed = self
            .sandbox
            .json(["checkpoint", "list", "--session", &self.id]);
        listed["checkpoints"].as_array().unwrap().clone()
    }
}
