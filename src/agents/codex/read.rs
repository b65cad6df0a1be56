//! A Codex rollout as a neutral conversation.
//!
//! Two streams share the file: `response_item` is what the model sees, `event_msg` what people see. Prompts come from the
//! events (from the items where there are none), everything else from the items. Rolled-back turns are taken back. What a
//! session of Codex's own fork goes on from (see `base`) is read before it, and cannot be cut at.

use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use super::NAME;
use super::base::{self, Stretch};
use super::place;
use crate::agents::builder::{Builder, Call, Typed};
use crate::agents::fork::calls::{Half, ToolUse};
use crate::agents::lines::{self, Entry, Line};
use crate::agents::transcript::{Detail, GoesOn, Position, Shrink, Tokens, Transcript};
use crate::agents::value::{content, items, number, owned, shown, text, unquoted};
use crate::error::{Code, Error, Result};

/// Beginnings of user items that no person typed.
const SYNTHETIC: [&str; 8] = [
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<permissions instructions>",
    "<skill>",
    "<user_shell_command>",
];

/// What the IDE extension writes before the words of the person.
const REQUEST: &str = "## My request for Codex:";

/// What a line is to a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The session's head.
    Head,
    /// The same in the old form, without a wrapper.
    BareHead,
    /// A tool call.
    Call(String),
    /// A tool's answer.
    Output(String),
    /// Thoughts: valid only before what they led to.
    Reasoning,
    /// Another part of the model's context.
    Said,
    /// Not seen by the model; about a call, when it names one.
    Event(Option<String>),
}

impl ToolUse for Item {
    fn half(&self) -> Option<Half<'_>> {
        match self {
            Item::Call(id) => Some(Half::Call(id)),
            Item::Output(id) => Some(Half::Result(id)),
            _ => None,
        }
    }
}

/// A rollout, read.
pub struct Scan {
    /// The conversation, with what it goes on from.
    pub transcript: Transcript,
    /// The readable lines of its own file.
    pub entries: Vec<Entry<Item>>,
    /// Bytes of rolled-back turns, with the markers that took them back.
    pub dropped: Vec<Range<u64>>,
    /// Why a fork would not be what the session is: what it goes on from cannot be read, or turns of that were rolled back.
    pub unsound: Option<String>,
}

/// Where prompts are taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prompts {
    Events,
    Items,
}

/// Reads the rollout at `path`.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    Ok(scan(path, detail, None)?.transcript)
}

/// Reads the rollout at `path`, up to `limit` bytes.
pub fn scan(path: &Path, detail: Detail, limit: Option<u64>) -> Result<Scan> {
    if place::is_compressed(path) {
        let shown = path.display();
        let message = format!("session file '{shown}' is compressed: Codex archived it");
        let error = Error::new(Code::TranscriptNotFound, message);
        return Err(error.hint(place::how_to_unpack(path)));
    }
    let (stretches, broken) = match base::stretches(path) {
        Ok(stretches) => (stretches, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let mut scan = scan_by(path, detail, limit, (&stretches, Prompts::Events))?;
    if scan.transcript.prompts.is_empty() && scan.transcript.abandoned.is_empty() {
        scan = scan_by(path, detail, limit, (&stretches, Prompts::Items))?;
    }
    scan.transcript.lacks.clone_from(&broken);
    scan.unsound = broken.or(scan.unsound);
    Ok(scan)
}

/// Where the session of a rollout stands that goes on in another one; None when it ends in this one.
pub fn goes_on(transcript: &Transcript) -> Option<GoesOn> {
    let last = place::goes_on_in(&transcript.path)?;
    let stretches = base::stretches(&last).ok()?;
    let is_this = |stretch: &&Stretch| stretch.path.file_name() == transcript.path.file_name();
    let end = stretches.iter().find(is_this).map_or(0, |here| here.end);
    let now = read(&last, Detail::Outline).ok()?;
    let messages = transcript.messages.iter();
    let kept = messages.filter(|message| message.file == 1 || message.position.offset < end);
    Some(GoesOn {
        messages: now.messages.len(),
        kept: kept.count(),
        tokens: now.tokens,
    })
}

fn scan_by(
    path: &Path,
    detail: Detail,
    limit: Option<u64>,
    (stretches, prompts): (&[Stretch], Prompts),
) -> Result<Scan> {
    let mut state = State::new(detail, prompts);
    for stretch in stretches {
        state.builder.file = 1;
        lines::each_record(&stretch.path, Some(stretch.end), |record, line| {
            state.take(record, line);
        })?;
    }
    state.builder.file = 0;
    state.turn = None;
    let counts = lines::each_record(path, limit, |record, line| state.take(record, line))?;
    let mut transcript = state.builder.transcript;
    // What the older rollouts took back is no timeline of this session.
    transcript.abandoned.retain(|prompt| prompt.cut.is_some());
    path.clone_into(&mut transcript.path);
    transcript.set_counts(counts);
    if transcript.session_id.is_empty() {
        transcript.session_id = place::id_of(path).unwrap_or_default();
    }
    Ok(Scan {
        transcript,
        entries: state.entries,
        dropped: state.dropped,
        unsound: state.unsound,
    })
}

struct State {
    builder: Builder,
    prompts: Prompts,
    entries: Vec<Entry<Item>>,
    dropped: Vec<Range<u64>>,
    /// Where the turn that is about to begin begins: its context comes before its prompt.
    turn: Option<Position>,
    headed: bool,
    unsound: Option<String>,
}

impl State {
    fn new(detail: Detail, prompts: Prompts) -> Self {
        Self {
            builder: Builder::new(NAME, detail),
            prompts,
            entries: Vec::new(),
            dropped: Vec::new(),
            turn: None,
            headed: false,
            unsound: None,
        }
    }

    fn take(&mut self, record: &Value, line: &Line<'_>) {
        let at = owned(record, "timestamp");
        let position = line.position;
        let wrapped = record.get("payload");
        let payload = wrapped.unwrap_or(record);
        let kind = if wrapped.is_some() {
            text(record, "type").unwrap_or_default()
        } else if record.get("type").is_some() {
            "response_item"
        } else if record.get("id").is_some() {
            "session_meta"
        } else {
            ""
        };
        let item = match kind {
            "session_meta" => match self.head(payload) {
                Item::Head if wrapped.is_none() => Item::BareHead,
                item => item,
            },
            "turn_context" => {
                self.turn_begins(position);
                self.context(payload);
                Item::Event(None)
            }
            "response_item" => self.item(payload, position, at),
            "event_msg" => self.event(payload, line, at),
            "compacted" => {
                self.builder.shrink(position, Shrink::Compaction);
                self.turn = None;
                Item::Said
            }
            _ => Item::Event(None),
        };
        if self.is_older() {
            return;
        }
        self.entries.push(Entry::new(line, item));
        self.builder.boundary(line.end(), None);
    }

    /// Whether the rows are those that the session goes on from.
    fn is_older(&self) -> bool {
        self.builder.file != 0
    }

    /// Only the first head counts: a fork holds those of the sessions it came from, too.
    fn head(&mut self, payload: &Value) -> Item {
        if self.is_older() || std::mem::replace(&mut self.headed, true) {
            return Item::Event(None);
        }
        let transcript = &mut self.builder.transcript;
        transcript.session_id = owned(payload, "id").unwrap_or_default();
        transcript.cwd = owned(payload, "cwd");
        transcript.version = owned(payload, "cli_version");
        transcript.forked_from = owned(payload, "forked_from_id");
        Item::Head
    }

    fn context(&mut self, payload: &Value) {
        let transcript = &mut self.builder.transcript;
        if transcript.cwd.is_none() {
            transcript.cwd = owned(payload, "cwd");
        }
    }

    fn turn_begins(&mut self, position: Position) {
        self.turn.get_or_insert(position);
    }

    fn item(&mut self, payload: &Value, position: Position, at: Option<String>) -> Item {
        let id = text(payload, "call_id")
            .or_else(|| text(payload, "id"))
            .unwrap_or_default()
            .to_owned();
        match text(payload, "type").unwrap_or_default() {
            "message" => self.message(payload, position, at),
            "reasoning" => {
                self.turn = None;
                Item::Reasoning
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                self.call(payload, id.clone(), position, at);
                Item::Call(id)
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                let (output, error) = output(payload.get("output"));
                self.builder.result(&id, output, error);
                Item::Output(id)
            }
            "web_search_call" => {
                // Answered by the service: there is no output of its own, and nothing stays open.
                let id = format!("web-search-{}", position.line);
                self.call(payload, id.clone(), position, at);
                self.builder.result(&id, String::new(), false);
                Item::Said
            }
            "compaction" => {
                self.builder.shrink(position, Shrink::Compaction);
                Item::Said
            }
            "ghost_snapshot" => Item::Event(None),
            _ => Item::Said,
        }
    }

    fn message(&mut self, payload: &Value, position: Position, at: Option<String>) -> Item {
        let (said, images) = content(payload.get("content"));
        if text(payload, "role") == Some("assistant") {
            self.turn = None;
            if !said.trim().is_empty() {
                self.builder.assistant(position, None, at, said);
            }
            return Item::Said;
        }
        self.turn_begins(position);
        let synthetic = SYNTHETIC
            .iter()
            .any(|start| said.trim_start().starts_with(start));
        if self.prompts == Prompts::Items && text(payload, "role") == Some("user") && !synthetic {
            self.prompt(&said, images, position, at);
        }
        Item::Said
    }

    fn prompt(&mut self, said: &str, images: u32, position: Position, at: Option<String>) {
        let typed = said
            .split_once(REQUEST)
            .map_or(said, |(_, request)| request);
        let cut = self.turn.take().unwrap_or(position);
        self.builder.prompt(Typed {
            position,
            cut: Some(cut).filter(|_| !self.is_older()),
            companion: None,
            prompt_id: None,
            id: None,
            at,
            text: typed.trim().to_owned(),
            images,
        });
    }

    fn call(&mut self, payload: &Value, id: String, position: Position, at: Option<String>) {
        self.turn = None;
        let input = ["arguments", "input", "action"]
            .iter()
            .find_map(|key| payload.get(*key));
        let name = match text(payload, "type") {
            Some("local_shell_call") => "local_shell",
            Some("web_search_call") => "web_search",
            _ => text(payload, "name").unwrap_or_default(),
        };
        self.builder.call(Call {
            id,
            name: name.to_owned(),
            input: input.map(unquoted).unwrap_or_default(),
            at,
            position,
        });
    }

    fn event(&mut self, payload: &Value, line: &Line<'_>, at: Option<String>) -> Item {
        match text(payload, "type").unwrap_or_default() {
            "user_message" if self.prompts == Prompts::Events => {
                let said = text(payload, "message").unwrap_or_default();
                let images = ["images", "local_images"]
                    .iter()
                    .map(|key| items(payload.get(*key)).len())
                    .sum::<usize>();
                self.prompt(
                    said,
                    u32::try_from(images).unwrap_or(u32::MAX),
                    line.position,
                    at,
                );
            }
            "task_started" | "turn_started" => {
                self.turn = Some(line.position);
                if let Some(id) = text(payload, "turn_id") {
                    return Item::Event(Some(id.to_owned()));
                }
            }
            "task_complete" | "turn_complete" | "turn_aborted" | "agent_message" => {
                self.turn = None;
            }
            "token_count" => self.usage(payload),
            "thread_rolled_back" => self.roll_back(payload, line),
            "item_completed" => self.turn_item(payload, line.position, at),
            _ => {}
        }
        Item::Event(owned(payload, "call_id"))
    }

    fn roll_back(&mut self, payload: &Value, line: &Line<'_>) {
        let turns = usize::try_from(number(payload, "num_turns")).unwrap_or(usize::MAX);
        let end = line.end().offset;
        let prompts = &self.builder.transcript.prompts;
        let own = prompts.iter().filter(|prompt| prompt.cut.is_some()).count();
        if !self.is_older() && turns > own && own < prompts.len() {
            let why = "it took back turns of the session that it goes on from";
            self.unsound = Some(why.to_owned());
        }
        let start = self.builder.roll_back(turns).unwrap_or(line.position);
        if !self.is_older() {
            self.dropped.push(start.offset..end);
        }
        self.turn = None;
    }

    /// The newest form of history: finished items instead of single events.
    fn turn_item(&mut self, payload: &Value, position: Position, at: Option<String>) {
        let Some(item) = payload.get("item") else {
            return;
        };
        let (said, images) = content(item.get("content"));
        let kind = text(item, "type").unwrap_or_default();
        let user = matches!(kind, "UserMessage" | "userMessage" | "user_message");
        if user && self.prompts == Prompts::Events {
            self.prompt(&said, images, position, at);
        }
    }

    fn usage(&mut self, payload: &Value) {
        let Some(info) = payload.get("info").filter(|info| info.is_object()) else {
            return;
        };
        // Cached input is a part of the input here, reasoning a part of the output.
        let sum = |usage: &Value| match number(usage, "total_tokens") {
            0 => number(usage, "input_tokens") + number(usage, "output_tokens"),
            total => total,
        };
        self.builder.tokens(Tokens {
            context: info.get("last_token_usage").map(sum),
            total: info.get("total_token_usage").map(sum),
        });
    }
}

/// A call's output, and whether it failed: text, JSON in text with an exit code, or a list of parts.
fn output(value: Option<&Value>) -> (String, bool) {
    let Some(value) = value else {
        return (String::new(), false);
    };
    let opened = unquoted(value);
    if let Some(inner) = opened.get("output").or_else(|| opened.get("content")) {
        let code = opened
            .get("metadata")
            .and_then(|meta| meta.get("exit_code")?.as_i64());
        let failed = code.is_some_and(|code| code != 0)
            || opened.get("success").and_then(Value::as_bool) == Some(false);
        return (shown(inner), failed);
    }
    if value.is_array() {
        return (content(Some(value)).0, false);
    }
    (shown(value), false)
}
