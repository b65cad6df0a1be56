//! The register of sessions: one small file per session in the repository's common `timewarp/sessions/` directory.
//!
//! Promises: a file is whole or absent, private (0600), and changed by one process at a time; unknown fields survive, a newer
//! version is refused by name. All worktrees share the register; a record names the worktree that its session works in.
//! Leaves out: checkpoints, which are notes.

use std::fmt;
use std::ops::Not;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::address::of_checkpoint;
use super::lock::{HeldFile, hold_file_within};
use super::names::session_component;
use super::state::{parse_versioned, with_way_in};
use crate::env::Moment;
use crate::error::{Error, Result};
use crate::git::fs::{self, Durable};
use crate::json;

const VERSION: u32 = 1;

/// A session without a sign of life for this long is no longer live.
const LIVE_SECONDS: i64 = 24 * 3600;

/// One run of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// 1.
    pub version: u32,
    /// The true id, whatever characters it has.
    pub session_id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The session that this one is a sub-agent of.
    pub parent: Option<String>,
    /// The worktree that it works in.
    pub worktree: String,
    /// The id of a linked one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_id: Option<String>,
    /// When it was first started, RFC 3339.
    pub started_at: String,
    /// When it last started or was resumed; None for a fork that nobody has resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_started_at: Option<String>,
    /// Its last sign of life.
    pub last_active_at: String,
    /// When it ended; None while it goes on, and again once it was resumed.
    pub ended_at: Option<String>,
    /// Snapshots taken at its starts, oldest first.
    #[serde(default)]
    pub snapshot_ids: Vec<String>,
    /// How it last started: `startup`, `resume`, `clear`, ….
    #[serde(default)]
    pub source: Option<String>,
    /// When the model's context was last compacted or cleared: what was before is no longer in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted_at: Option<String>,
    /// Its conversation's file.
    #[serde(default)]
    pub transcript: Option<String>,
    /// What it is about.
    #[serde(default)]
    pub hint: Option<String>,
    /// The checkpoint that this session goes on from, after a rewind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// No checkpoint was ever given this number or a higher one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_checkpoint_id: Option<u64>,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A checkpoint of another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The session.
    pub session_id: String,
    /// Its checkpoint.
    pub checkpoint_id: u64,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&of_checkpoint(&self.session_id, self.checkpoint_id))
    }
}

impl SessionRecord {
    /// A session that is first heard of now.
    pub fn new(session_id: &str, worktree: &str, now: Moment) -> Self {
        Self {
            version: VERSION,
            session_id: session_id.to_owned(),
            worktree: worktree.to_owned(),
            started_at: now.rfc3339(),
            last_active_at: now.rfc3339(),
            ..Self::default()
        }
    }

    /// Its current snapshot.
    pub fn snapshot_id(&self) -> Option<&str> {
        self.snapshot_ids.last().map(String::as_str)
    }

    /// Whether it goes on: not ended, and active within 24 hours.
    pub fn is_live(&self, now: Moment) -> bool {
        self.ended_at.is_none() && !self.is_silent_for(now, LIVE_SECONDS)
    }

    /// Whether its agent went on in it when another session of that agent had ended.
    pub fn follows(&self, ended: &Self) -> bool {
        let at = ended.ended_at.as_ref();
        let begun = self.last_started_at.as_ref();
        self.agent.is_some()
            && self.agent == ended.agent
            && self.parent.is_none()
            && (&self.worktree, &self.worktree_id) == (&ended.worktree, &ended.worktree_id)
            && begun.zip(at).is_some_and(|(begun, ended)| begun >= ended)
    }

    /// Whether this many seconds have passed since its last sign of life. A time that cannot be read is now.
    pub fn is_silent_for(&self, now: Moment, seconds: i64) -> bool {
        Moment::parse_rfc3339(&self.last_active_at)
            .is_some_and(|last| last < now.minus_seconds(seconds))
    }
}

/// Records that cannot be read: name, and why.
pub type Invalid = Vec<(String, Error)>;

/// The register of a repository.
#[derive(Debug, Clone)]
pub struct Sessions {
    dir: PathBuf,
    wait: Duration,
}

impl Sessions {
    /// The register under this common git directory, whose lock is waited for no longer than `wait`. Writes nothing.
    pub fn new(common_dir: &Path, wait: Duration) -> Self {
        Self {
            dir: common_dir.join("timewarp/sessions"),
            wait,
        }
    }

    fn file(&self, session_id: &str) -> PathBuf {
        self.dir
            .join(format!("{}.json", session_component(session_id)))
    }

    /// The record of a session.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`, `NEWER_RECORD`.
    pub fn get(&self, session_id: &str) -> Result<Option<SessionRecord>> {
        read(&self.file(session_id))
    }

    /// The record in the file of this name, which [`session_component`] makes of an id.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`, `NEWER_RECORD`.
    pub fn named(&self, component: &str) -> Result<Option<SessionRecord>> {
        read(&self.dir.join(format!("{component}.json")))
    }

    fn make_dir(&self) -> Result<()> {
        crate::git::create::private_dir(&self.dir).map_err(|error| with_way_in(error, &self.dir))
    }

    /// Every record that can be read, last active first, and the files that cannot be, each with its reason.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn list(&self) -> Result<(Vec<SessionRecord>, Invalid)> {
        self.list_of(|_| true)
    }

    /// Those that may be live, as far as the times of their files tell: a register of years is not read for the few of today. For who can do
    /// with one too few, where somebody set such a time back.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn list_young(&self, now: Moment) -> Result<(Vec<SessionRecord>, Invalid)> {
        // Every sign of life writes the file. Twice the time: its clock may be another.
        let oldest = now.minus_seconds(2 * LIVE_SECONDS).seconds();
        self.list_of(|path| {
            let written = path.metadata().map(|meta| meta.mtime());
            written.is_ok_and(|written| written < oldest).not()
        })
    }

    fn list_of(&self, wanted: impl Fn(&Path) -> bool) -> Result<(Vec<SessionRecord>, Invalid)> {
        let (mut records, mut invalid) = (Vec::new(), Vec::new());
        for path in fs::entries(&self.dir)? {
            let is_record = path
                .extension()
                .is_some_and(|extension| extension == "json");
            if !is_record || !wanted(&path) {
                continue;
            }
            match read(&path) {
                Ok(record) => records.extend(record),
                Err(error) => {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy();
                    invalid.push((name.into_owned(), error));
                }
            }
        }
        // Within one second a fork is younger than what it was forked from.
        records.sort_by(|a: &SessionRecord, b| newness(b).cmp(&newness(a)));
        invalid.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok((records, invalid))
    }

    /// Changes the record of a session, made first when there is none, and gives what was written. One process at a time.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD` when there is one that cannot be read; it stays. `BUSY` when others hold the register.
    pub fn update(
        &self,
        new: SessionRecord,
        edit: impl FnOnce(&mut SessionRecord),
    ) -> Result<SessionRecord> {
        self.make_dir()?;
        let _lock = self.lock()?;
        let file = self.file(&new.session_id);
        let mut record = read(&file)?.unwrap_or(new);
        edit(&mut record);
        // Written at many prompts, and not waited for: a power cut may take the record ([`read`]), which the next prompt makes again.
        fs::write_atomic(&file, &json::pretty(&record), Durable::No)?;
        Ok(record)
    }

    fn note_file(&self, session_id: &str) -> PathBuf {
        self.dir
            .join(format!("{}.note", session_component(session_id)))
    }

    /// Leaves a text for the next start of a session.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn leave_note(&self, session_id: &str, text: &str) -> Result<()> {
        self.make_dir()?;
        // Waited for: it is all that is left of what the session wanted to tell itself.
        fs::write_atomic(&self.note_file(session_id), text.as_bytes(), Durable::Yes)
    }

    /// Takes the text that was left for a session: one caller gets it, once.
    ///
    /// # Errors
    /// When it cannot be read. `BUSY` as [`Self::update`].
    pub fn take_note(&self, session_id: &str) -> Result<Option<String>> {
        let file = self.note_file(session_id);
        // Asked at every start: where no note is, neither a lock nor a directory is made.
        if !fs::is_there(&file)? {
            return Ok(None);
        }
        self.make_dir()?;
        let _lock = self.lock()?;
        let Some(bytes) = fs::read_optional(&file)? else {
            return Ok(None);
        };
        fs::remove_optional(&file)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Leaves a text again that was taken and reached nobody. One that was left meanwhile stays.
    ///
    /// # Errors
    /// As [`Self::leave_note`]. `BUSY` as [`Self::update`].
    pub fn leave_again(&self, session_id: &str, text: &str) -> Result<()> {
        let _lock = self.lock()?;
        if fs::is_there(&self.note_file(session_id))? {
            return Ok(());
        }
        self.leave_note(session_id, text)
    }

    /// Held for the few microseconds of a change; freed by death.
    fn lock(&self) -> Result<HeldFile> {
        hold_file_within(&self.dir.join("lock"), self.wait)
    }

    /// The session at the top of a sub-agent's chain of parents, as far as it is known.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`, `NEWER_RECORD`.
    pub fn root_of(&self, session_id: &str) -> Result<String> {
        let mut id = session_id.to_owned();
        // Parents are what agents say: a circle must not hold us.
        for _ in 0..32 {
            match self.get(&id)?.and_then(|record| record.parent) {
                Some(parent) if parent != id => id = parent,
                _ => break,
            }
        }
        Ok(id)
    }
}

/// What orders sessions, the newest greatest.
fn newness(record: &SessionRecord) -> (&str, &str, bool, &str) {
    (
        &record.last_active_at,
        &record.started_at,
        record.forked_from.is_some(),
        &record.session_id,
    )
}

/// None also for a file without a byte, or of zeros alone: a power cut leaves that of one that was not waited for.
fn read(path: &Path) -> Result<Option<SessionRecord>> {
    let bytes = fs::read_optional(path)?.unwrap_or_default();
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    parse_versioned(&bytes, VERSION, &path.display().to_string()).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use std::os::unix::fs::PermissionsExt;

    const NOW: Moment = Moment(1_772_292_600_000_000_000);

    fn register() -> (tempfile::TempDir, Sessions) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let sessions = Sessions::new(dir.path(), Duration::from_secs(60));
        (dir, sessions)
    }

    #[test]
    fn a_record_that_a_power_cut_took_is_made_again() {
        let (_dir, sessions) = register();
        let new = || SessionRecord::new("s1", "main", NOW);
        sessions.update(new(), |_| {}).expect("written");
        let whole = std::fs::read(sessions.file("s1")).expect("read");
        for left in [Vec::new(), vec![0; whole.len()]] {
            std::fs::write(sessions.file("s1"), left).expect("torn");
            assert!(sessions.get("s1").expect("none").is_none());
            assert!(sessions.list().expect("read").1.is_empty());
            sessions.update(new(), |_| {}).expect("made again");
            assert_eq!(std::fs::read(sessions.file("s1")).expect("read"), whole);
        }
    }

    #[test]
    fn any_id_has_one_private_file_and_unknown_fields_survive() {
        let (dir, sessions) = register();
        let id = "../../etc/passwd";
        let new = || SessionRecord::new(id, "main", NOW);
        sessions
            .update(new(), |record| {
                record.extra.insert("later".to_owned(), 7.into());
            })
            .expect("written");
        sessions
            .update(new(), |record| record.snapshot_ids.push("s_1".to_owned()))
            .expect("changed");
        let read = sessions.get(id).expect("readable").expect("there");
        assert_eq!(
            (read.session_id.as_str(), read.snapshot_id()),
            (id, Some("s_1"))
        );
        assert_eq!(read.extra.get("later"), Some(&7.into()));
        let file = sessions.file(id);
        assert!(file.starts_with(dir.path().join("timewarp/sessions")));
        let mode = file.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_torn_record_hides_no_other_and_is_never_overwritten() {
        let (_dir, sessions) = register();
        let good = SessionRecord::new("good", "main", NOW);
        sessions.update(good, |_| {}).expect("written");
        fs::write_atomic(&sessions.file("torn"), b"{\"version\": 1,", Durable::No).expect("torn");
        fs::write_atomic(&sessions.file("new"), b"{\"version\": 2}", Durable::No).expect("newer");
        let (records, invalid) = sessions.list().expect("listed");
        assert_eq!(records.len(), 1);
        let of = |(name, error): &(String, Error)| (name.clone(), error.code());
        let invalid: Vec<(String, Code)> = invalid.iter().map(of).collect();
        let (newer, torn) = (Code::NewerRecord, Code::CorruptRecord);
        assert_eq!(
            invalid,
            [("new".to_owned(), newer), ("torn".to_owned(), torn)]
        );
        let error = sessions
            .update(SessionRecord::new("torn", "main", NOW), |_| {})
            .expect_err("refused");
        assert_eq!(error.code(), Code::CorruptRecord);
    }

    #[test]
    fn no_change_of_many_is_lost() {
        let (_dir, sessions) = register();
        std::thread::scope(|scope| {
            for worker in 0..8 {
                let sessions = &sessions;
                scope.spawn(move || {
                    for at in 0..20 {
                        let new = SessionRecord::new("s", "main", NOW);
                        sessions
                            .update(new, |record| {
                                record.snapshot_ids.push(format!("{worker}-{at}"));
                            })
                            .expect("written");
                    }
                });
            }
        });
        let read = sessions.get("s").expect("readable").expect("there");
        assert_eq!(read.snapshot_ids.len(), 160);
    }

    #[test]
    fn live_means_not_ended_and_heard_of_within_a_day() {
        let mut record = SessionRecord::new("s", "main", NOW);
        let later = |seconds: i64| NOW.minus_seconds(-seconds);
        assert!(record.is_live(later(LIVE_SECONDS)));
        assert!(!record.is_live(later(LIVE_SECONDS + 1)));
        record.ended_at = Some(NOW.rfc3339());
        assert!(!record.is_live(NOW));
    }

    #[test]
    fn the_root_is_found_and_a_circle_ends() {
        let (_dir, sessions) = register();
        for (id, parent) in [
            ("a", None),
            ("b", Some("a")),
            ("c", Some("b")),
            ("x", Some("y")),
            ("y", Some("x")),
        ] {
            sessions
                .update(SessionRecord::new(id, "main", NOW), |record| {
                    record.parent = parent.map(str::to_owned);
                })
                .expect("written");
        }
        assert_eq!(sessions.root_of("c").expect("readable"), "a");
        assert_eq!(sessions.root_of("unknown").expect("readable"), "unknown");
        sessions.root_of("x").expect("ends");
    }
}
