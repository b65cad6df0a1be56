//! What a search answers with.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::path::RepoPath;
use crate::json::{self, TextOrNull};

json::fields! {
    /// The file; null for a prompt and an issue.
    PathField = "path",
    /// The line without what ends it, of a very long one the part around its first match; null where a binary file matches or too many
    /// lines do, and where only files or counts were asked for.
    TextField = "text",
}

/// Where a match is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// In a file.
    Content,
    /// In a line that came or went.
    Diff,
    /// In what an agent was asked, or in what was noted when it was rewound.
    Prompt,
    /// In a text of an issue.
    Issue,
}

json::words!(Place {
    Content = "content",
    Diff = "diff",
    Prompt = "prompt",
    Issue = "issue",
});

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It came.
    Added,
    /// It went.
    Removed,
}

json::words!(Change {
    Added = "added",
    Removed = "removed",
});

/// A state in which something came or went, and whose turn that was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Removal {
    /// The first snapshot without it.
    pub snapshot_id: String,
    /// The session in whose turn it went; null where that is not known.
    pub session_id: Option<String>,
    /// That turn's checkpoint.
    pub checkpoint: Option<u64>,
    /// What was asked in it, its first line.
    pub prompt: Option<String>,
    /// True: somebody after that turn may have done it as well, as its end was not noted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub or_between: bool,
}

/// A line beside one that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Neighbour {
    /// Its number.
    pub line: u64,
    /// Its text.
    #[serde(flatten, with = "json::Text::<TextField>")]
    pub text: Vec<u8>,
}

/// A match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "hit")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the document"
)]
pub struct Hit {
    /// Where it is.
    #[serde(rename = "in")]
    pub place: Place,
    /// The file.
    #[serde(flatten, with = "TextOrNull::<PathField>")]
    pub path: Option<RepoPath>,
    /// The line, counted from 1: in the last snapshot that has it, for one that came in the first. Null where `text` is.
    pub line: Option<u64>,
    /// The line itself.
    #[serde(flatten, with = "TextOrNull::<TextField>")]
    pub text: Option<Vec<u8>>,
    /// For a diff: whether it came or went.
    pub change: Option<Change>,
    /// The first snapshot that has it. For a prompt, its snapshot; for an issue, the one that it is tied to.
    pub first_snapshot: String,
    /// The last one that has it.
    pub last_snapshot: String,
    /// The checkpoint in whose turn it was added, or removed where `change` says so; null where that is not known, or was nobody's
    /// turn. For a prompt its own.
    pub checkpoint: Option<u64>,
    /// That checkpoint's session. For an issue the one that reported it.
    pub session_id: Option<String>,
    /// What was asked in that turn, its first line. Absent for prompts themselves.
    pub prompt: Option<String>,
    /// True: somebody after that turn may have done it as well, as its end was not noted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub or_between: bool,
    /// The first snapshot without it again, when the newest has it no more; null for what is there still, and for a diff.
    pub removed: Option<Removal>,
    /// True: no snapshot's files have it, its index has.
    pub staged: bool,
    /// True: a binary file matches.
    pub binary: bool,
    /// True: more than 100,000 lines of one version of the file match, which are not told one by one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub too_many: bool,
    /// How many matches there are in the file, prompt or issue, when counts were asked for and there are not too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue_id: Option<String>,
    /// Who is said to have reported the issue, when it came from elsewhere; nobody proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Which text of a rewind or an issue it is in: `note`, `symptom`, `chat`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The lines before it, with `-C`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Neighbour>,
    /// The lines after it, with `-C`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Neighbour>,
    /// When the last snapshot was taken, or the prompt or issue was made: RFC 3339, UTC.
    pub at: String,
}
