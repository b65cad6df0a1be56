//! Messages to an earlier self that wait to be taken: one per session, a small file in the worktree's `timewarp` directory.
//!
//! Promises: a file is whole or absent, private (0600), and changed by one process at a time; a newer version is refused
//! by name. Leaves out which checkpoints there are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::damaged;
use super::lock::{HeldFile, hold_file_within};
use super::names::session_component;
use super::state::read_json;
use crate::error::{Error, Result};
use crate::git::fs::{self, Durable};
use crate::json;

const VERSION: u32 = 1;

/// Where the checkpoints of a session are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum CheckpointSource {
    /// In its notes.
    #[default]
    Session,
    /// In its context log.
    Context,
}

/// A message that waits, as it is stored. Fields of a later version go with it when it is taken.
#[derive(Serialize, Deserialize)]
struct Stored<M> {
    version: u32,
    #[serde(flatten)]
    message: M,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Message {
    /// Whose it is.
    pub session_id: String,
    /// The checkpoint to go back to.
    pub checkpoint_id: i64,
    /// Where that checkpoint is kept: in the session's notes or in its context log.
    pub of: CheckpointSource,
    /// What the earlier self is told.
    pub note: String,
    /// Why.
    pub rationale: Option<String>,
    /// When it was scheduled: RFC 3339, UTC.
    pub created_at: String,
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
    pub fn get(&self, session_id: &str) -> Result<Option<Message>> {
        read(&self.file(session_id))
    }

    /// The messages that cannot be read, each with a name that means its session, and why.
    ///
    /// # Errors
    /// Their directory cannot be read.
    pub fn unreadable(&self) -> Result<Vec<(String, Error)>> {
        let mut files = fs::entries(&self.dir)?;
        files.retain(|file| file.extension().is_some_and(|end| end == "json"));
        let unreadable = files.iter().filter_map(|file| {
            let session = file.file_stem()?.to_string_lossy().into_owned();
            Some((session, read(file).err()?))
        });
        Ok(unreadable.collect())
    }

    /// Puts a message down, or gives back the one that waits already.
    ///
    /// # Errors
    /// As [`Self::get`]; `BUSY`.
    pub fn put(&self, message: &Message) -> Result<Option<Message>> {
        crate::git::create::private_dir(&self.dir)?;
        let _lock = self.lock()?;
        if let Some(waiting) = self.get(&message.session_id)? {
            return Ok(Some(waiting));
        }
        let stored = Stored {
            version: VERSION,
            message,
        };
        let bytes = json::pretty(&stored);
        fs::write_atomic(&self.file(&message.session_id), &bytes, Durable::Yes)?;
        Ok(None)
    }

    /// Takes the message away, for one caller only.
    ///
    /// # Errors
    /// As [`Self::get`]; the message stays then. `BUSY`.
    pub fn take(&self, session_id: &str) -> Result<Option<Message>> {
        // Most worktrees never have one: asking writes nothing there.
        if !fs::is_there(&self.dir)? {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let message = self.get(session_id)?;
        fs::remove_optional(&self.file(session_id))?;
        Ok(message)
    }

    /// Takes it away also when it cannot be read; then the reason is the answer. What is no file gets another name.
    ///
    /// # Errors
    /// `BUSY`, `IO`.
    pub fn discard(&self, session_id: &str) -> Result<std::result::Result<Option<Message>, Error>> {
        if !fs::is_there(&self.dir)? {
            return Ok(Ok(None));
        }
        let _lock = self.lock()?;
        let message = self.get(session_id);
        let file = self.file(session_id);
        if file.is_dir() {
            damaged::set_aside(&file)?;
        } else {
            fs::remove_optional(&file)?;
        }
        Ok(message)
    }

    fn lock(&self) -> Result<HeldFile> {
        hold_file_within(&self.dir.join("lock"), self.wait)
    }
}

fn read(file: &Path) -> Result<Option<Message>> {
    let stored: Option<Stored<Message>> = read_json(file)?;
    Ok(stored.map(|stored| stored.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use std::os::unix::fs::PermissionsExt as _;

    fn message(note: &str) -> Message {
        Message {
            session_id: "s/1".to_owned(),
            checkpoint_id: 3,
            of: CheckpointSource::Session,
            note: note.to_owned(),
            rationale: None,
            created_at: "2026-02-28T15:30:12Z".to_owned(),
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
                                .put(&message(&at.to_string()))
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
        backtracks.put(&message("x")).expect("put");
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
