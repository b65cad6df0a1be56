//! `log.jsonl` in a worktree's `timewarp` directory, one JSON document a line, 0600.
//!
//! In it stands what happened to refs (dropped, restored, purged, lost with the power), what hooks did, and which stays in the past
//! somebody else ended. The forms of the lines that are never read again stand beside those who write them.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Result, ResultExt};
use crate::git::fs::read_optional;
use crate::git::regular::{self, Links};
use crate::json;
use crate::store::state::StateDir;

/// The file's name.
const NAME: &str = "log.jsonl";

/// What became of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefFate {
    /// It was let go.
    Dropped,
    /// It was made again.
    Restored,
    /// It names a commit from which paths were taken out.
    Purged,
    /// It names an older commit, for the last one was lost with the power.
    SetBack,
    /// It is gone, and its commit was lost with the power.
    Lost,
    /// A word that this version does not know. Made by `from` alone, which knows the others.
    Other(String),
}

json::open_words!(RefFate {
    Dropped = "dropped",
    Restored = "restored",
    Purged = "purged",
    SetBack = "set-back",
    Lost = "lost",
});

/// A ref that went, came back, or moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefEvent {
    /// RFC 3339.
    pub at: String,
    /// Which of these.
    pub event: RefFate,
    /// The full ref name.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit it names or named.
    pub commit: String,
    /// The commit it named before, when it moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_commit: Option<String>,
    /// The snapshot's id, or what else the ref is called.
    pub id: String,
}

/// Appends lines and syncs them.
///
/// # Errors
/// When the file cannot be written.
pub fn append<T: Serialize>(dir: &StateDir, events: &[T]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    dir.create()?;
    let path = dir.file(NAME);
    let what = || format!("cannot write '{}'", path.display());
    let mut text = Vec::new();
    // A line that a dying process left half-written ends here.
    if let Some(bytes) = read_optional(&path)?
        && bytes.last().is_some_and(|last| *last != b'\n')
    {
        text.push(b'\n');
    }
    for event in events {
        let line = serde_json::to_vec(event).map_err(std::io::Error::from);
        text.extend(line.context(what)?);
        text.push(b'\n');
    }
    let mut file = regular::append(&path, 0o600, Links::Refuse).context(what)?;
    file.write_all(&text)
        .and_then(|()| file.sync_data())
        .context(what)
}

/// The ref events in the log, oldest first. Other lines, and torn ones, are passed over.
pub fn ref_events(dir: &StateDir) -> Result<Vec<RefEvent>> {
    let bytes = read_optional(&dir.file(NAME))?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter_map(|line| serde_json::from_value(line).ok())
        .collect())
}
