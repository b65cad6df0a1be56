//! What a blame answers with.

use schemars::JsonSchema;
use serde::Serialize;

use super::exchange::Format;
use super::groups::Group;
use crate::git::ObjectFormat;
use crate::git::blame::About;
use crate::git::path::RepoPath;
use crate::git::textdiff::QuotePath;
use crate::json::{self, Text};

json::fields! {
    PathField = "path",
    /// The line without what ends it.
    TextField = "text",
    /// The file in which the line was written, where that had another name.
    OriginalPathField = "original_path",
}

/// Where a line can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An agent's turn.
    Prompt,
    /// Somebody between turns.
    Between,
    /// One of several, and nothing tells which.
    Ambiguous,
    /// What formats files while a commit is made.
    CommitStep,
    /// A commit that was not made from what was captured here.
    Commit,
    /// A commit of which another tool notes that an agent wrote the line.
    Imported,
    /// Nothing that was captured has it yet.
    Dirty,
}

json::words!(Kind {
    Prompt = "prompt",
    Between = "between",
    Ambiguous = "ambiguous",
    CommitStep = "commit-step",
    Commit = "commit",
    Imported = "imported",
    Dirty = "dirty",
});

/// One of those who may have written a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Candidate {
    /// `prompt` or `between`, `ambiguous` for turns whose snapshots were forgotten, and for the command of a run in a scratch; of what
    /// another tool notes `imported`, or `commit` for a person.
    pub kind: Kind,
    /// The session of the turn; null for a person.
    pub session_id: Option<String>,
    /// The session's agent.
    pub agent: Option<String>,
    /// The checkpoint of the turn's prompt.
    pub checkpoint_id: Option<u64>,
    /// What was asked, redacted.
    pub prompt: Option<String>,
    /// When it was asked: RFC 3339, UTC.
    pub at: Option<String>,
}

/// Where a line comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Origin {
    /// What it is.
    pub kind: Kind,
    /// Those who may have written it, where it is ambiguous.
    pub candidates: Vec<Candidate>,
    /// The session of the turn; of what is imported, as the note has it.
    pub session_id: Option<String>,
    /// The session's agent.
    pub agent: Option<String>,
    /// The model that answered, where the agent records it.
    pub model: Option<String>,
    /// The checkpoint of the turn's prompt.
    pub checkpoint_id: Option<u64>,
    /// What was asked, redacted.
    pub prompt: Option<String>,
    /// The commit that has the line: of a turn's or of somebody's, the one in which it was committed since; null where it was not.
    pub commit: Option<String>,
    /// When: of a prompt when it was asked, of a commit when it was written, else when the line was first captured. RFC 3339, UTC.
    pub at: Option<String>,
    /// The first snapshot that has it; null for what came with a commit or was not captured.
    pub snapshot_id: Option<String>,
    /// Who wrote the commit that the line comes from.
    pub author: Option<String>,
    /// What else git says of that commit.
    #[serde(skip)]
    pub about: Option<About>,
    /// The title of that commit.
    pub title: Option<String>,
    /// The format of the note that names the agent, or the candidates; null for what is known here.
    pub imported_from: Option<Format>,
}

impl Origin {
    /// With nothing known but what it is.
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            candidates: Vec::new(),
            session_id: None,
            agent: None,
            model: None,
            checkpoint_id: None,
            prompt: None,
            commit: None,
            at: None,
            snapshot_id: None,
            author: None,
            about: None,
            title: None,
            imported_from: None,
        }
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Line {
    /// Its number, from 1.
    pub line: usize,
    /// Its text.
    #[serde(flatten, with = "Text::<TextField>")]
    pub text: Vec<u8>,
    /// A carriage return stands before what ends it.
    #[serde(skip)]
    pub has_return: bool,
    /// Its number where it was written.
    pub original_line: usize,
    /// The file in which it was written.
    #[serde(flatten, with = "Text::<OriginalPathField>")]
    pub original_path: RepoPath,
    /// Where it comes from.
    pub origin: Origin,
}

/// Answer of `blame`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Blamed {
    /// The file.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// What its lines were taken from: `present`, or the id of a snapshot or commit.
    pub revision: String,
    /// In the order of the file.
    pub lines: Vec<Line>,
    /// The same by whose they are, those with most lines first; absent where nothing says by what.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Group>")]
    pub groups: Option<Vec<Group>>,
    /// Sentences about what could not be read.
    pub notices: Vec<String>,
    /// How the repository names commits.
    #[serde(skip)]
    pub format: ObjectFormat,
    /// How git is told to quote paths.
    #[serde(skip)]
    pub quote: QuotePath,
}
