//! What other tools note of who wrote a line, read and written: git-ai's notes and the records of Agent Trace.
//!
//! Each format is a file: what bytes that a stranger wrote say, and how what is known here is said in it. `claims` looks up what is said
//! of lines, `export` collects what is known of a file, `publish` makes git notes of it. Promises: whatever the bytes are, there is an
//! answer or a sentence about them, in time and memory in proportion to their size; no note of another tool's is changed.

pub mod agent_trace;
pub mod claims;
pub mod export;
pub mod git_ai;
mod publish;

use crate::error::{Code, Error};
use crate::git::path;
use crate::json;
use crate::text::visible;

/// A note with more bytes than this is not read.
const LARGEST_NOTE: u64 = 8 << 20;

/// More characters of a name or an id are not taken over.
const LONGEST_WORD: usize = 250;

/// A format in which tools note who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// The authorship log of git-ai.
    GitAi,
    /// The records of Agent Trace.
    AgentTrace,
}

json::words!(Format {
    GitAi = "git-ai",
    AgentTrace = "agent-trace",
});

impl Format {
    /// The ref of its notes on commits.
    pub fn notes_ref(self) -> &'static str {
        match self {
            Self::GitAi => "refs/notes/ai",
            Self::AgentTrace => "refs/notes/agent-trace",
        }
    }

    /// A path as the format can name it; None when it cannot.
    fn name(self, path: &[u8]) -> Option<&str> {
        let name = std::str::from_utf8(path).ok()?;
        let is_nameable = match self {
            Self::GitAi => git_ai::can_name(name),
            Self::AgentTrace => true,
        };
        is_nameable.then_some(name)
    }
}

/// Who a note says that wrote a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Claim {
    /// An agent.
    Agent(Writer),
    /// An agent and a person.
    Mixed(Writer),
    /// A person.
    Person,
}

/// An agent, as far as it is named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Writer {
    /// Its name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The session, in the words of whoever wrote the note.
    pub session_id: Option<String>,
}

/// Lines from one to another, both among them, from 1.
pub type Lines = (u32, u32);

/// A claim, and what it is made of.
pub type Claimed = (Claim, Vec<Lines>);

/// What is known here of the lines that a commit brought into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLines {
    /// The file's name in the commit.
    pub path: String,
    /// The lines of each turn.
    pub turns: Vec<TurnLines>,
}

/// Lines that were written in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLines {
    /// The session.
    pub session_id: String,
    /// The checkpoint of the turn's prompt.
    pub checkpoint_id: u64,
    /// The session's agent.
    pub agent: Option<String>,
    /// The model that answered, where that is known.
    pub model: Option<String>,
    /// When it was asked.
    pub at: Option<String>,
    /// The lines, in order.
    pub lines: Vec<Lines>,
}

/// A word of a note as it is taken over: no longer than a name can be; what says nothing is none.
fn word(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text == "unknown" {
        return None;
    }
    Some(text.chars().take(LONGEST_WORD).collect())
}

/// The digits of a digest, as many as a format takes.
fn digits(text: &str, count: usize) -> String {
    use sha2::{Digest, Sha256};
    let mut digits = crate::git::hex::hex(&Sha256::digest(text.as_bytes()));
    digits.truncate(count);
    digits
}

/// Why bytes are no record of a format.
fn unreadable(reason: &str) -> Error {
    Error::new(Code::CorruptRecord, visible(reason))
}

/// Why a file is left out.
fn cannot_name(format: Format, path: &[u8]) -> String {
    let path = path::display(path);
    format!("'{path}' is left out: {} cannot name it", format.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_strangers_are_short_and_say_something() {
        assert_eq!(word(" cursor "), Some("cursor".to_owned()));
        assert_eq!(word("unknown"), None);
        assert_eq!(word(" \n"), None);
        assert_eq!(word(&"é".repeat(900)).map(|word| word.len()), Some(500));
    }
}
