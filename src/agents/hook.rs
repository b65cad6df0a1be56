//! Hook payloads: what an agent says on standard input when it calls `tw hook AGENT EVENT`.
//!
//! Pure, but for what [`HookEvent::by_its_file`] reads. Fields go by the names that the agents use, in snake and camel case; what is
//! missing is `None`, never an error.
//! One agent may load another's hooks (Cursor loads Claude Code's): the payload's shape then tells who really calls.

use std::path::PathBuf;

use serde_json::Value;

use super::value::{content, items, owned, text, unquoted};
use super::{AGENTS, Agent, by_name};
use crate::error::{Code, Error, Result};
use crate::json;
use crate::text::without_mark;

/// What an event tells of, in the same words for every agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A session starts, or goes on in another process.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A prompt was submitted.
    UserPromptSubmit,
    /// A turn goes on, although the agent told of it as of a prompt.
    TurnContinue,
    /// A tool is about to run.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The conversation was compacted.
    PostCompact,
    /// A turn ended.
    Stop,
    /// A sub-agent starts.
    SubagentStart,
    /// A sub-agent ends.
    SubagentStop,
    /// Anything else: the agent's own name of it, in kebab case.
    Other(String),
}

json::open_words!(EventKind {
    SessionStart = "session-start",
    SessionEnd = "session-end",
    UserPromptSubmit = "user-prompt-submit",
    TurnContinue = "turn-continue",
    PreToolUse = "pre-tool-use",
    PostToolUse = "post-tool-use",
    PreCompact = "pre-compact",
    PostCompact = "post-compact",
    Stop = "stop",
    SubagentStart = "subagent-start",
    SubagentStop = "subagent-stop",
});

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEvent {
    /// The agent that calls.
    pub agent: &'static str,
    /// What it tells of.
    pub event: EventKind,
    /// The session: a sub-agent's own id in its events.
    pub session_id: Option<String>,
    /// The session's file, when the payload names one.
    pub transcript_path: Option<PathBuf>,
    /// The directory that the session works in.
    pub cwd: Option<PathBuf>,
    /// The prompt that was submitted.
    pub prompt: Option<String>,
    /// The agent's id of the prompt or turn.
    pub prompt_id: Option<String>,
    /// Why a session starts (`startup`, `resume`, `clear`, `compact`, `fork`) or ends, or what triggered a compaction.
    pub source: Option<String>,
    /// The session that this one is a sub-agent of.
    pub parent: Option<String>,
    /// It is of a sub-agent, and nothing tells of which session.
    pub is_orphan: bool,
    /// The tool, in tool events.
    pub tool: Option<ToolUse>,
    /// The whole payload.
    pub payload: Value,
}

impl HookEvent {
    /// The same event as a sub-agent's, where not the payload but the session's file says that it is one. Reads the file's head.
    #[must_use]
    pub fn by_its_file(mut self) -> Self {
        let agent = by_name(self.agent).filter(|_| self.parent.is_none());
        let file = self.transcript_path.as_deref();
        let Some(found) = agent
            .zip(file)
            .and_then(|(agent, file)| agent.sub_agent(file))
        else {
            return self;
        };
        let told = self.session_id.take();
        self.session_id = found.id.or_else(|| told.clone());
        // Its agent tells of its root's session, or of its own.
        let mut roots = told.into_iter().chain(found.parent);
        self.parent = roots.find(|root| Some(root) != self.session_id.as_ref());
        self.is_orphan = self.parent.is_none();
        self
    }

    /// Whether, at the end of a turn, work goes on in the background: sub-agents, shells.
    pub fn leaves_work(&self) -> bool {
        let goes_on = |task: &Value| match text(task, "status") {
            Some(status) => matches!(status, "running" | "pending"),
            None => true,
        };
        items(self.payload.get("background_tasks"))
            .iter()
            .any(goes_on)
    }
}

/// A tool call in an event.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// The call's id.
    pub id: Option<String>,
}

/// Agents' own names of events, without punctuation and case.
static EVENTS: [(EventKind, &[&str]); 10] = [
    (EventKind::SessionStart, &["sessionstart", "sessioncreated"]),
    (EventKind::SessionEnd, &["sessionend", "sessiondeleted"]),
    (
        EventKind::UserPromptSubmit,
        &[
            "userpromptsubmit",
            "userpromptsubmitted",
            "beforesubmitprompt",
            "beforeagent",
            "chatmessage",
        ],
    ),
    (
        EventKind::PreToolUse,
        &[
            "pretooluse",
            "beforetool",
            "toolexecutebefore",
            "beforeshellexecution",
            "beforemcpexecution",
        ],
    ),
    (
        EventKind::PostToolUse,
        &[
            "posttooluse",
            "aftertool",
            "toolexecuteafter",
            "afterfileedit",
            "aftershellexecution",
            "aftermcpexecution",
        ],
    ),
    (
        EventKind::PreCompact,
        &["precompact", "precompress", "experimentalsessioncompacting"],
    ),
    (EventKind::PostCompact, &["postcompact", "sessioncompacted"]),
    (
        EventKind::Stop,
        &[
            "stop",
            "afteragent",
            "sessionidle",
            "agentstop",
            "agentturncomplete",
        ],
    ),
    (EventKind::SubagentStart, &["subagentstart"]),
    (EventKind::SubagentStop, &["subagentstop"]),
];

/// What an event of this name tells of.
pub fn event_kind(name: &str) -> EventKind {
    let bare: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|ch| ch.to_ascii_lowercase())
        .collect();
    let known = EVENTS
        .iter()
        .find(|(_, names)| names.contains(&bare.as_str()));
    known.map_or_else(|| kebab(name).into(), |(kind, _)| kind.clone())
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for ch in name.chars() {
        let word_starts = ch.is_ascii_uppercase() || !ch.is_ascii_alphanumeric();
        if word_starts && !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if ch.is_ascii_alphanumeric() {
            out.push(ch.to_ascii_lowercase());
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Reads a payload. `event` is the command line's word for the event; without it the payload's own counts. An empty payload
/// is one without fields.
///
/// # Errors
/// `USAGE` for an unknown agent, no event, or a payload that is no JSON object.
pub fn parse(agent: &str, event: Option<&str>, payload: &[u8]) -> Result<HookEvent> {
    let Some(named) = by_name(agent) else {
        return Err(Error::new(Code::Usage, format!("no agent '{agent}'")));
    };
    let payload = if without_mark(payload).trim_ascii().is_empty() {
        Value::Object(serde_json::Map::new())
    } else {
        super::lines::parse_object(payload).ok_or_else(|| {
            Error::new(
                Code::Usage,
                "the hook's payload must be a JSON object of at most 16 MiB",
            )
        })?
    };
    let own = first(
        &payload,
        &["hook_event_name", "hookEventName", "event", "type"],
    );
    let Some(event) = event.map(str::to_owned).or(own) else {
        return Err(Error::new(Code::Usage, "no event is named"));
    };
    let agent = caller(named, &payload);
    let event = match event_kind(&event) {
        EventKind::UserPromptSubmit if agent.continues_turn(&payload) => EventKind::TurnContinue,
        event => event,
    };
    Ok(read(agent.name(), event, payload))
}

/// Who really calls: the agent that the payload gives away, else the one that the command line names.
fn caller(named: &'static dyn Agent, payload: &Value) -> &'static dyn Agent {
    let mut agents = AGENTS.iter().copied();
    agents
        .find(|agent| agent.is_caller(payload))
        .unwrap_or(named)
}

/// The session of an event, and the one that it belongs to.
fn sessions_of(payload: &Value, inner: &Value) -> (Option<String>, Option<String>) {
    let session = first(
        payload,
        &[
            "session_id",
            "sessionId",
            "conversation_id",
            "thread-id",
            "thread_id",
            "sessionID",
        ],
    )
    .or_else(|| first(inner, &["sessionID", "id"]));
    let sub_agent = first(payload, &["agent_id", "agentId"]);
    let parent = first(
        payload,
        &[
            "parent_session_id",
            "parentSessionId",
            "parent_id",
            "parent",
        ],
    )
    .or_else(|| first(inner, &["parentID"]));
    match sub_agent {
        // A sub-agent's events name its root's session, too: that is then its parent.
        Some(own) if session.as_deref() != Some(&own) => (Some(own), parent.or(session)),
        _ => (session, parent),
    }
}

/// Where the agent is at work.
fn cwd_of(payload: &Value, inner: &Value) -> Option<String> {
    first(payload, &["cwd", "directory", "worktree"])
        .or_else(|| first(inner, &["directory"]))
        .or_else(|| {
            Some(
                items(payload.get("workspace_roots"))
                    .first()?
                    .as_str()?
                    .to_owned(),
            )
        })
}

fn read(agent: &'static str, event: EventKind, payload: Value) -> HookEvent {
    // opencode wraps its sessions: `properties.info`, or `info`.
    let properties = payload.get("properties").unwrap_or(&payload);
    let inner = properties.get("info").unwrap_or(properties);
    let (session_id, parent) = sessions_of(&payload, inner);
    HookEvent {
        agent,
        event,
        session_id,
        transcript_path: first(
            &payload,
            &["agent_transcript_path", "transcript_path", "transcriptPath"],
        )
        .map(PathBuf::from),
        cwd: cwd_of(&payload, inner).map(PathBuf::from),
        prompt: prompt(&payload),
        prompt_id: first(
            &payload,
            &[
                "prompt_id",
                "promptId",
                "turn_id",
                "turn-id",
                "generation_id",
                "messageID",
            ],
        ),
        source: first(&payload, &["source", "reason", "trigger"]),
        parent,
        is_orphan: false,
        tool: tool(&payload),
        payload,
    }
}

/// The first of these fields that is a string with something in it.
fn first(value: &Value, keys: &[&str]) -> Option<String> {
    let mut found = keys.iter().filter_map(|key| text(value, key));
    found.find(|text| !text.is_empty()).map(str::to_owned)
}

/// The prompt: text, or a list of parts.
fn prompt(payload: &Value) -> Option<String> {
    let keys = ["prompt", "user_prompt", "userPrompt"];
    let value = keys.iter().find_map(|key| payload.get(*key));
    if let Some(value) = value.filter(|value| !value.is_null()) {
        return Some(content(Some(value)).0);
    }
    let sent = items(payload.get("input-messages"));
    sent.last().and_then(Value::as_str).map(str::to_owned)
}

fn tool(payload: &Value) -> Option<ToolUse> {
    let name = first(payload, &["tool_name", "toolName", "tool"])?;
    let inputs = ["tool_input", "toolArgs", "toolInput", "args"];
    let input = inputs.iter().find_map(|key| payload.get(*key));
    Some(ToolUse {
        name,
        input: input.map(unquoted).unwrap_or_default(),
        id: owned(payload, "tool_use_id").or_else(|| owned(payload, "callID")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn parsed(agent: &str, event: Option<&str>, payload: &Value) -> HookEvent {
        parse(agent, event, payload.to_string().as_bytes()).expect("a good payload")
    }

    #[test]
    fn what_is_json_to_the_agent_is_a_payload() {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        let payload =
            format!("{{\"session_id\":\"s\",\"x\":[1e400,{deep}],\"prompt\":\"cut \\ud83d\"}}");
        let event = parse("claude", Some("user-prompt-submit"), payload.as_bytes());
        let event = event.expect("a good payload");
        assert_eq!(event.prompt.as_deref(), Some("cut \u{fffd}"));
        assert_eq!(event.session_id.as_deref(), Some("s"));
    }

    #[test]
    fn events_have_one_name_whoever_calls() {
        for (theirs, ours) in [
            ("SessionStart", "session-start"),
            ("session-start", "session-start"),
            ("sessionStart", "session-start"),
            ("session.created", "session-start"),
            ("BeforeAgent", "user-prompt-submit"),
            ("beforeSubmitPrompt", "user-prompt-submit"),
            ("userPromptSubmitted", "user-prompt-submit"),
            ("AfterTool", "post-tool-use"),
            ("tool.execute.after", "post-tool-use"),
            ("PreCompress", "pre-compact"),
            ("session.idle", "stop"),
            ("AfterAgent", "stop"),
            ("agent-turn-complete", "stop"),
            ("PermissionRequest", "permission-request"),
            ("file.edited", "file-edited"),
        ] {
            assert_eq!(event_kind(theirs).as_str(), ours);
        }
    }

    #[test]
    fn claude_code_names_everything() {
        let payload = json!({"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/work", "hook_event_name": "UserPromptSubmit",
            "prompt": "fix it", "prompt_id": "p1"});
        let event = parsed("claude", None, &payload);
        assert_eq!(event.event, EventKind::UserPromptSubmit);
        assert_eq!(event.session_id.as_deref(), Some("s"));
        assert_eq!(
            event.transcript_path.as_deref(),
            Some(Path::new("/t.jsonl"))
        );
        assert_eq!(event.cwd.as_deref(), Some(Path::new("/work")));
        assert_eq!(
            (event.prompt.as_deref(), event.prompt_id.as_deref()),
            (Some("fix it"), Some("p1"))
        );
        assert_eq!(event.parent, None);
        let tool = json!({"session_id": "s", "tool_name": "Edit", "tool_input": {"f": 1}, "tool_use_id": "t"});
        let tool = parsed("claude", Some("PostToolUse"), &tool)
            .tool
            .expect("a tool");
        assert_eq!(
            (tool.name.as_str(), tool.input, tool.id.as_deref()),
            ("Edit", json!({"f": 1}), Some("t"))
        );
    }

    #[test]
    fn work_that_goes_on_behind_the_end_of_a_turn_is_told() {
        let leaves = |tasks: Value| {
            let payload = json!({"session_id": "s", "background_tasks": tasks});
            parsed("claude", Some("Stop"), &payload).leaves_work()
        };
        assert!(leaves(
            json!([{"type": "shell", "status": "completed"}, {"type": "subagent", "status": "running"}])
        ));
        assert!(leaves(json!([{"type": "shell"}])));
        assert!(!leaves(json!([{"type": "shell", "status": "completed"}])));
        assert!(!leaves(json!([])) && !leaves(json!(null)));
    }

    #[test]
    fn what_a_session_file_says_of_a_sub_agent_counts_where_the_payload_is_silent() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = |name: &str, head: &Value| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(&path, format!("{head}\n")).expect("written");
            path
        };
        let of = |agent: &str, session: &str, file: &Path| {
            let payload = json!({"session_id": session, "transcript_path": file});
            let event = parsed(agent, Some("user-prompt-submit"), &payload).by_its_file();
            (event.session_id, event.parent, event.is_orphan)
        };
        let is = |id: &str, parent: &str| (Some(id.to_owned()), Some(parent.to_owned()), false);
        let root = |id: &str| (Some(id.to_owned()), None, false);
        let rollout = |name: &str, head: &Value| {
            file(name, &json!({"type": "session_meta", "payload": head}))
        };
        let spawned = json!({"subagent": {"thread_spawn": {"parent_thread_id": "root"}}});
        let sub = rollout("sub", &json!({"id": "sub", "source": spawned}));
        assert_eq!(of("codex", "root", &sub), is("sub", "root"));
        assert_eq!(of("codex", "sub", &sub), is("sub", "root"));
        let linked = json!({"id": "sub", "session_id": "root", "source": {"subagent": "review"}});
        let linked = rollout("linked", &linked);
        assert_eq!(of("codex", "sub", &linked), is("sub", "root"));
        let alone = rollout(
            "alone",
            &json!({"id": "sub", "source": {"subagent": "review"}}),
        );
        assert_eq!(of("codex", "root", &alone), is("sub", "root"));
        let orphan = (Some("sub".to_owned()), None, true);
        assert_eq!(of("codex", "sub", &alone), orphan);
        let main = rollout("main", &json!({"id": "main", "source": "cli"}));
        assert_eq!(of("codex", "main", &main), root("main"));
        assert_eq!(of("codex", "main", Path::new("/nowhere")), root("main"));

        let head = json!({"isSidechain": true, "sessionId": "root"});
        for name in ["root/subagents/agent-sub.jsonl", "agent-sub.jsonl"] {
            let sub = file(name, &head);
            assert_eq!(of("claude", "root", &sub), is("sub", "root"), "{name}");
            assert_eq!(of("claude", "sub", &sub), is("sub", "root"), "{name}");
        }
        let sub = file("subagents/root/agent-sub.jsonl", &head);
        assert_eq!(of("qwen", "sub", &sub), is("sub", "root"));
        let sub = file("chats/root/sub.jsonl", &json!({"sessionId": "sub"}));
        assert_eq!(of("gemini", "root", &sub), is("sub", "root"));
        let main = file("chats/session-main.jsonl", &json!({"sessionId": "main"}));
        assert_eq!(of("gemini", "main", &main), root("main"));
    }

    #[test]
    fn a_sub_agent_is_a_session_of_its_own_with_a_parent() {
        let payload = json!({"session_id": "root", "agent_id": "sub", "agent_transcript_path": "/sub.jsonl", "transcript_path": "/root.jsonl",
            "hook_event_name": "SubagentStop"});
        let event = parsed("claude", None, &payload);
        assert_eq!(
            (event.session_id.as_deref(), event.parent.as_deref()),
            (Some("sub"), Some("root"))
        );
        assert_eq!(
            event.transcript_path.as_deref(),
            Some(Path::new("/sub.jsonl"))
        );
        let payload = json!({"type": "session.created", "properties": {"info": {"id": "ses_2", "parentID": "ses_1", "directory": "/work"}}});
        let event = parsed("opencode", None, &payload);
        assert_eq!(event.event, EventKind::SessionStart);
        assert_eq!(
            (event.session_id.as_deref(), event.parent.as_deref()),
            (Some("ses_2"), Some("ses_1"))
        );
        assert_eq!(event.cwd.as_deref(), Some(Path::new("/work")));
    }

    #[test]
    fn other_agents_say_it_their_way() {
        let kimi =
            json!({"session_id": "s", "cwd": "/w", "prompt": [{"type": "text", "text": "hi"}]});
        assert_eq!(
            parsed("kimi", Some("UserPromptSubmit"), &kimi)
                .prompt
                .as_deref(),
            Some("hi")
        );
        let copilot = json!({"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": "{\"command\":\"ls\"}"});
        let event = parsed("copilot", Some("postToolUse"), &copilot);
        assert_eq!(
            event.tool.map(|tool| tool.input),
            Some(json!({"command": "ls"}))
        );
        let codex = json!({"type": "agent-turn-complete", "thread-id": "t", "turn-id": "1", "cwd": "/w", "input-messages": ["a", "b"], "last-assistant-message": "done"});
        let event = parsed("codex", None, &codex);
        assert_eq!(
            (event.session_id.as_deref(), event.prompt.as_deref()),
            (Some("t"), Some("b"))
        );
        let null = json!({"session_id": "s", "transcript_path": null, "source": "startup"});
        let event = parsed("codex", Some("SessionStart"), &null);
        assert_eq!(
            (event.transcript_path, event.source.as_deref()),
            (None, Some("startup"))
        );
    }

    #[test]
    fn cursor_is_known_by_its_payload_whichever_hook_it_runs() {
        let payload = json!({"conversation_id": "c", "generation_id": "g", "workspace_roots": ["/work", "/more"],
            "hook_event_name": "beforeSubmitPrompt", "prompt": "hi"});
        let event = parsed("claude", Some("user-prompt-submit"), &payload);
        assert_eq!(event.agent, "cursor");
        assert_eq!(event.session_id.as_deref(), Some("c"));
        assert_eq!(event.cwd.as_deref(), Some(Path::new("/work")));
    }

    #[test]
    fn an_empty_payload_is_fine_a_broken_one_is_not() {
        let event = parse("generic", Some("stop"), b" \n").expect("nothing is required");
        assert_eq!((event.event, event.session_id), (EventKind::Stop, None));
        for (agent, event, payload) in [
            ("nobody", Some("stop"), "{}"),
            ("claude", None, "{}"),
            ("claude", Some("stop"), "[1]"),
        ] {
            let error = parse(agent, event, payload.as_bytes()).expect_err("refused");
            assert_eq!(error.code(), Code::Usage);
        }
    }
}
