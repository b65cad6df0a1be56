//! Messages to an earlier self that wait to be taken: one per session, a small file in the worktree's `timewarp` directory.
//!
//! Promises: a file is whole or absent, private (0600), and changed by one process at a time; a newer version is refused
//! by name. Leaves out which checkpoints there are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lock::hold_file_within;
use super::names::session_component;
use super::state::parse_versioned;
use crate::error::{Error, Result};
use crate::git::fs::{self, Durable};

const VERSION: u32 = 1;

/// Where the checkpoints of a session are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// In its notes.
    #[default]
    Session,
    /// In its context log.
    Context,
}

impl Kept {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Context => "context",
        }
    }
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// 1.
    pub version: u32,
    /// Whose it is.
    pub session_id: String,
    /// The checkpoint to go back to.
    pub checkpoint_id: i64,
    /// Where that checkpoint is kept.
    pub of: Kept,
    /// What the earlier self is told.
    pub note: String,
    /// Why.
    pub rationale: Option<String>,
    /// When it was scheduled, RFC 3339.
    pub created_at: String,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Pending {
    /// A message of now.
    pub fn new(session_id: &str, checkpoint_id: i64, of: Kept, created_at: String) -> Self {
        Self {
            version: VERSION,
            session_id: session_id.to_owned(),
            checkpoint_id,
            of,
            note: String::new(),
            rationale: None,
            created_at,
            extra: Map::new(),
        }
    }
}

/// The messages of a worktree.
#[derive(Debug)]
pub struct Backtracks {
    dir: PathBuf,
    wait: Duration,
}

impl Backtracks {
    /// Those under a worktree's `timewarp` directory. Writes nothing.
    pub fn new(timewarp_dir: &Path, wait: Duration) -> Self {
        Self {
            dir: timewarp_dir.join("backtracks"),
            wait,
        }
    }

    fn file(&self, session_id: &str) -> PathBuf {
        let name = session_component(session_id);
        self.dir.join(format!("{name}.json"))
    }

    /// The message that waits for a session.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`, `NEWER_RECORD`.
    pub fn get(&self, session_id: &str) -> Result<Option<Pending>> {
        let file = self.file(session_id);
        match fs::read_optional(&file)? {
            Some(bytes) => parse_versioned(&bytes, VERSION, &file.display().to_string()).map(Some),
            None => Ok(None),
        }
    }

    /// Puts a message down, or gives back the one that waits already.
    ///
    /// # Errors
    /// As [`Self::get`]; `BUSY`.
    #[expect(clippy::missing_panics_doc, reason = "plain data serialises")]
    pub fn put(&self, pending: &Pending) -> Result<Option<Pending>> {
        crate::git::create::private_dir(&self.dir)?;
        let _lock = self.lock()?;
        if let Some(waiting) = self.get(&pending.session_id)? {
            return Ok(Some(waiting));
        }
        let mut bytes = serde_json::to_vec_pretty(pending).expect("plain data serialises");
        bytes.push(b'\n');
        fs::write_atomic(&self.file(&pending.session_id), &bytes, Durable::Yes)?;
        Ok(None)
    }

    /// Takes the message away, for one caller only.
    ///
    /// # Errors
    /// As [`Self::get`]; the message stays then. `BUSY`.
    pub fn take(&self, session_id: &str) -> Result<Option<Pending>> {
        if !self.dir.exists() {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let pending = self.get(session_id)?;
        fs::remove_optional(&self.file(session_id))?;
        Ok(pending)
    }

    /// Takes it away also when it cannot be read; then the reason is the answer.
    ///
    /// # Errors
    /// `BUSY`, `IO`.
    pub fn discard(&self, session_id: &str) -> Result<std::result::Result<Option<Pending>, Error>> {
        if !self.dir.exists() {
            return Ok(Ok(None));
        }
        let _lock = self.lock()?;
        let pending = self.get(session_id);
        fs::remove_optional(&self.file(session_id))?;
        Ok(pending)
    }

    fn lock(&self) -> Result<std::fs::File> {
        hold_file_within(&self.dir.join("lock"), self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use std::os::unix::fs::PermissionsExt as _;

    fn pending(note: &str) -> Pending {
        Pending {
            note: note.to_owned(),
            ..Pending::new("s/1", 3, Kept::Session, "2026-02-28T15:30:12Z".to_owned())
        }
    }

    #[test]
    fn one_waits_at_a_time_and_one_takes_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let backtracks = Backtracks::new(dir.path(), Duration::from_secs(5));
        assert_eq!(backtracks.take("s/1").expect("nothing"), None);
        let refused = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|at| {
                    scope.spawn({
                        let backtracks = &backtracks;
                        move || {
                            backtracks
                                .put(&pending(&at.to_string()))
                                .expect("put")
                                .is_some()
                        }
                    })
                })
                .collect();
            let ended = workers
                .into_iter()
                .map(|worker| worker.join().expect("no panic"));
            ended.filter(|refused| *refused).count()
        });
        assert_eq!(refused, 3);
        let file = backtracks.file("s/1");
        let mode = file.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let waiting = backtracks.get("s/1").expect("readable");
        assert!(waiting.is_some());
        assert_eq!(backtracks.get("other").expect("readable"), None);
        assert_eq!(backtracks.take("s/1").expect("taken"), waiting);
        assert_eq!(backtracks.take("s/1").expect("nothing"), None);
    }

    #[test]
    fn one_that_cannot_be_read_can_be_discarded() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let backtracks = Backtracks::new(dir.path(), Duration::from_secs(5));
        backtracks.put(&pending("x")).expect("put");
        fs::write_atomic(&backtracks.file("s/1"), b"{\"version\": 2}", Durable::No).expect("newer");
        assert_eq!(
            backtracks.take("s/1").expect_err("refused").code(),
            Code::NewerRecord
        );
        let discarded = backtracks.discard("s/1").expect("removed");
        assert_eq!(discarded.expect_err("unreadable").code(), Code::NewerRecord);
        assert_eq!(backtracks.get("s/1").expect("gone"), None);
    }
}
