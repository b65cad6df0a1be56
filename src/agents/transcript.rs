//! The neutral conversation: what every agent's session file is read into.
//!
//! Owns messages, the prompts a person typed, the places where a fork may be cut, token counts and selections. It knows no
//! agent's format and reads no file. Synthetic records (reminders, hook output, compaction summaries) are no messages.
//! Order is the order of the file: timestamps are shown, never sorted by.

use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value;

use super::lines::Counts;

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool call together with its result.
    Tool,
}

impl Role {
    /// The role as it stands in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A place in a session file: the start of a record, which is a line in all formats but one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Line number, counted from 1; 0 when the file does not hold the record any more.
    pub line: u64,
    /// Byte offset of the record's first byte.
    pub offset: u64,
}

/// A tool call and what came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The tool's name as the agent calls it.
    pub name: String,
    /// The call's arguments; text where the agent recorded no JSON.
    pub input: Value,
    /// What the tool answered; `None` when no result was recorded.
    pub output: Option<String>,
    /// Whether the agent marked the result as an error.
    pub error: bool,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// When, as the agent recorded it (RFC 3339), if it did.
    pub at: Option<String>,
    /// The text, as typed or said; empty for tool messages.
    pub text: String,
    /// How many images or documents came along.
    pub images: u32,
    /// The call, for tool messages.
    pub tool: Option<Tool>,
    /// The agent's own id of the record, message or call.
    pub id: Option<String>,
    /// Which file it was read from: 0 the session file, 1 its companion.
    pub file: u8,
    /// Where it begins in that file.
    pub position: Position,
}

/// Token counts at one point of the conversation. `None` when the agent records none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// The model's context: input, both cache fields and output of the last usage.
    pub context: Option<u64>,
    /// Everything so far: input, output and both cache fields, each message counted once.
    pub total: Option<u64>,
}

/// A place where a fork may be cut: what stands before it is kept, and no tool call is open there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first line that the fork leaves out.
    pub position: Position,
    /// The same place in the companion file (kimi-cli's `wire.jsonl`).
    pub companion: Option<Position>,
    /// Token counts at that point.
    pub tokens: Tokens,
    /// How many neutral messages stand before it.
    pub messages: usize,
}

/// A prompt that a person typed: one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Counted from 0 over the prompts of the conversation as it stands.
    pub index: usize,
    /// Where the prompt's own record begins.
    pub position: Position,
    /// The agent's id of the prompt, when it has one.
    pub prompt_id: Option<String>,
    /// When it was sent.
    pub at: Option<String>,
    /// The text as typed.
    pub text: String,
    /// How many images came along.
    pub images: u32,
    /// Its index in `messages`.
    pub message: usize,
    /// Token counts just before it.
    pub tokens: Tokens,
    /// Where a fork without this prompt is cut; `None` when the file does not hold that place any more.
    pub cut: Option<Cut>,
}

/// What happened to the model's context at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shrink {
    /// Summarised: the conversation goes on from a summary.
    Compaction,
    /// Cleared by the user.
    Clear,
}

/// A point where the model's context was summarised or cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// Which file the record is in: 0 the session file, 1 its companion.
    pub file: u8,
    /// Where it stands in that file.
    pub position: Position,
    /// How many neutral messages precede it.
    pub messages: usize,
    /// Which of the two it was.
    pub kind: Shrink,
}

/// How much of each message is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Everything but images.
    #[default]
    Full,
    /// Prompts, names and positions; no texts, inputs or outputs. For positions and counts in large files.
    Outline,
}

/// A conversation, whichever agent held it.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    /// The agent's name in the table of agents.
    pub agent: &'static str,
    /// The session file.
    pub path: PathBuf,
    /// A second file that belongs to the session, when it was read too.
    pub companion: Option<PathBuf>,
    /// The agent's id of the session; empty when the file names none.
    pub session_id: String,
    /// The directory the session runs in, as recorded.
    pub cwd: Option<String>,
    /// The agent's version, as recorded.
    pub version: Option<String>,
    /// The session that this one was forked from, as recorded.
    pub forked_from: Option<String>,
    /// The conversation as it stands: without rewound or rolled-back turns, but with what precedes a compaction.
    pub messages: Vec<Message>,
    /// The prompts in it.
    pub prompts: Vec<Prompt>,
    /// What came like a prompt and began no turn of a person's, in the order of the file: sent while the agent was at work, or a
    /// notice of its own. Each stands in the turn that `index` names.
    pub asides: Vec<Prompt>,
    /// Prompts of timelines that were rewound or rolled back, in the order of the file.
    pub abandoned: Vec<Prompt>,
    /// Where the context was summarised or cleared.
    pub compactions: Vec<Compaction>,
    /// Every place after the first prompt where a fork may be cut, in the order of the file.
    pub boundaries: Vec<Cut>,
    /// Token counts at the end.
    pub tokens: Tokens,
    /// Lines read.
    pub lines: u64,
    /// Bytes read; the file may have grown since.
    pub bytes: u64,
    /// Lines that could not be read: bad, or torn at the end.
    pub skipped: u64,
    /// Why its beginning, which lies in other files, is not in it.
    pub lacks: Option<String>,
}

/// Where a conversation stands that goes on in another file than the one it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoesOn {
    /// How many messages it has now.
    pub messages: usize,
    /// How many of those are in the first file, or precede it.
    pub kept: usize,
    /// Token counts at its end.
    pub tokens: Tokens,
}

/// Which part of a conversation is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// All of it, also what precedes a compaction.
    #[default]
    Whole,
    /// The last turns, each from its prompt on.
    LastTurns(usize),
    /// This many messages before and after an anchor (an index in `messages`; the last message when `None`).
    Window {
        /// Messages before the anchor.
        before: usize,
        /// Messages after the anchor.
        after: usize,
        /// The message in the middle.
        anchor: Option<usize>,
    },
}

impl Selection {
    /// The selection of a conversation as the head of a chat names it.
    pub fn describe(&self, transcript: &Transcript) -> String {
        match self {
            Self::Whole if transcript.lacks.is_some() => {
                "whole session without its beginning".to_owned()
            }
            Self::Whole => "whole session".to_owned(),
            Self::LastTurns(turns) => format!("last {turns} turns"),
            Self::Window { before, after, .. } => format!("window {before},{after}"),
        }
    }
}

impl Transcript {
    /// Notes how much of the file was read.
    pub fn set_counts(&mut self, counts: Counts) {
        self.lines = counts.lines;
        self.bytes = counts.bytes;
        self.skipped = counts.skipped;
    }

    /// What is to be said of a conversation that is not whole.
    pub fn caveat(&self) -> Option<String> {
        let why = self.lacks.as_ref()?;
        Some(format!("the conversation lacks its beginning: {why}"))
    }

    /// The messages that a selection means, as a range of `messages`.
    pub fn select(&self, selection: &Selection) -> Range<usize> {
        let all = self.messages.len();
        match *selection {
            Selection::Whole => 0..all,
            Selection::LastTurns(turns) => {
                let first = self.prompts.len().saturating_sub(turns);
                let start = match self.prompts.get(first) {
                    // What stands before the first prompt belongs to it.
                    Some(_) if first == 0 => 0,
                    Some(prompt) => prompt.message,
                    None => all,
                };
                start..all
            }
            Selection::Window {
                before,
                after,
                anchor,
            } => {
                let anchor = anchor
                    .unwrap_or(all.saturating_sub(1))
                    .min(all.saturating_sub(1));
                let end = anchor.saturating_add(after).saturating_add(1).min(all);
                anchor.saturating_sub(before).min(end)..end
            }
        }
    }

    /// The prompts with this id of the agent's, also on an abandoned timeline; and what was sent like a prompt.
    pub fn with_id(&self, id: &str) -> impl Iterator<Item = &Prompt> {
        let all = self.prompts.iter().chain(&self.abandoned);
        all.chain(&self.asides)
            .filter(move |prompt| prompt.prompt_id.as_deref() == Some(id))
    }

    /// The message at which a turn ends that begins with this one: the next prompt, whoever sent it and whenever.
    pub fn end_of_turn(&self, from: usize) -> usize {
        let all = self.prompts.iter().chain(&self.asides);
        let later = all.map(|prompt| prompt.message);
        let next = later.filter(|message| *message > from).min();
        next.unwrap_or(self.messages.len())
    }

    /// The prompts that the session file holds, with their cuts.
    fn held(&self) -> impl Iterator<Item = (&Prompt, Cut)> {
        let all = self.prompts.iter().chain(&self.abandoned);
        all.filter_map(|prompt| Some((prompt, prompt.cut?)))
    }

    /// The first prompt whose record stands at or after `offset`: the one that was sent when the file ended there.
    pub fn prompt_from(&self, offset: u64) -> Option<&Prompt> {
        self.held()
            .map(|(prompt, _)| prompt)
            .filter(|prompt| prompt.position.offset >= offset)
            .min_by_key(|prompt| prompt.position.offset)
    }

    /// The last place at or before `offset` where no tool call is open; `None` before the first prompt, where there is
    /// nothing to fork.
    pub fn cut_at(&self, offset: u64) -> Option<&Cut> {
        let after = self
            .boundaries
            .partition_point(|cut| cut.position.offset <= offset);
        after
            .checked_sub(1)
            .and_then(|last| self.boundaries.get(last))
            .filter(|cut| cut.messages > 0)
    }

    /// The session's title: the first line of the first prompt.
    pub fn title(&self) -> Option<&str> {
        let first = self.prompts.first()?;
        first
            .text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role) -> Message {
        Message {
            role,
            at: None,
            text: String::new(),
            images: 0,
            tool: None,
            id: None,
            file: 0,
            position: Position::default(),
        }
    }

    fn prompt(index: usize, message: usize, offset: u64) -> Prompt {
        let position = Position {
            line: offset + 1,
            offset,
        };
        Prompt {
            index,
            position,
            prompt_id: Some(format!("p{index}")),
            at: None,
            text: format!("\n  prompt {index}\nmore"),
            images: 0,
            message,
            tokens: Tokens::default(),
            cut: Some(Cut {
                position,
                companion: None,
                tokens: Tokens::default(),
                messages: message,
            }),
        }
    }

    fn sample() -> Transcript {
        let roles = [
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::User,
            Role::Assistant,
        ];
        let boundary = |offset, messages| Cut {
            position: Position { line: 1, offset },
            companion: None,
            tokens: Tokens::default(),
            messages,
        };
        Transcript {
            messages: roles.into_iter().map(message).collect(),
            prompts: vec![prompt(0, 0, 10), prompt(1, 3, 50)],
            boundaries: vec![
                boundary(10, 0),
                boundary(40, 3),
                boundary(50, 3),
                boundary(70, 5),
            ],
            ..Transcript::default()
        }
    }

    #[test]
    fn selections_count_turns_and_messages() {
        let sample = sample();
        assert_eq!(sample.select(&Selection::Whole), 0..5);
        assert_eq!(sample.select(&Selection::LastTurns(1)), 3..5);
        assert_eq!(sample.select(&Selection::LastTurns(9)), 0..5);
        assert_eq!(sample.select(&Selection::LastTurns(0)), 5..5);
        let window = |before, after, anchor| Selection::Window {
            before,
            after,
            anchor,
        };
        assert_eq!(sample.select(&window(1, 0, None)), 3..5);
        assert_eq!(sample.select(&window(1, 1, Some(2))), 1..4);
        assert_eq!(sample.select(&window(9, 9, Some(99))), 0..5);
        assert_eq!(Transcript::default().select(&window(1, 1, None)), 0..0);
    }

    #[test]
    fn a_cut_in_mid_turn_goes_back_to_the_last_place_without_an_open_call() {
        let sample = sample();
        assert_eq!(sample.cut_at(45).map(|cut| cut.position.offset), Some(40));
        assert_eq!(sample.cut_at(50).map(|cut| cut.position.offset), Some(50));
        assert_eq!(sample.cut_at(u64::MAX).map(|cut| cut.messages), Some(5));
        assert!(
            sample.cut_at(20).is_none(),
            "nothing precedes the first prompt"
        );
        assert!(sample.cut_at(3).is_none());
    }

    #[test]
    fn prompts_are_found_by_id_and_place() {
        let sample = sample();
        let by_id = sample.with_id("p1").map(|prompt| prompt.index);
        assert_eq!(by_id.collect::<Vec<_>>(), [1]);
        assert_eq!(sample.prompt_from(11).map(|prompt| prompt.index), Some(1));
        assert_eq!(sample.prompt_from(51), None);
        assert_eq!(sample.title(), Some("prompt 0"));
    }
}
