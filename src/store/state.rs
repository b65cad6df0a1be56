//! Where a worktree stands: `state.json`, the journal of a swap under way, and the log of swaps that can be undone.
//!
//! `state.json` is the commit point of a swap: it carries the swap's id, so a journal of the same id is only waiting to be
//! cleaned away, and any other one belongs to a swap that died. The journal of the last swap that ended stays under another name
//! until its files are on disk. Unknown fields survive; a newer version is refused by name.

mod journal;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};
use serde_json::{Map, Value};

use self::journal::is_of_another_boot;
use super::trigger::SwapKind;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{self, Durable};
use crate::git::regular;
use crate::json;
pub use journal::{Journal, JournalDir, JournalEntry, JournalHead, Side};

/// The version of state and journal that this `tw` writes.
const VERSION: u32 = 1;

/// In which time a working tree stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The user's own.
    #[default]
    Present,
    /// A snapshot's.
    Past,
}

json::words!(Mode {
    Present = "present",
    Past = "past",
});

/// `state.json`: fields as in the Timewarp protocol, and ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// 1.
    pub version: u32,
    /// The working tree's root.
    pub workspace_root: String,
    /// The last session started here.
    pub session_id: Option<String>,
    /// Its snapshot.
    pub session_snapshot_id: Option<String>,
    /// That session has ended: what is done here is no longer its doing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session_ended: bool,
    /// Present or past.
    pub mode: Mode,
    /// The snapshot the working tree stands in, when in the past.
    pub current_snapshot_id: Option<String>,
    /// The present, saved, when in the past.
    pub backup_id: Option<String>,
    /// The backup's ref.
    pub backup_path: Option<String>,
    /// When the past was entered, RFC 3339.
    pub entered_at: Option<String>,
    /// Token that `return` over MCP needs.
    pub guard_token: Option<String>,
    /// The issue whose snapshot this is, when it was entered by `issue start`.
    pub issue_id: Option<String>,
    /// The backup's commit.
    pub backup_commit: Option<String>,
    /// Another program rewrote the backup since the past was entered, and that commit is what became of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backup_rewritten: bool,
    /// The last swap that was completed.
    pub swap_id: Option<String>,
    /// HEAD and index were left alone by travel.
    #[serde(default)]
    pub files_only: bool,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl State {
    /// The state once the stay in the past is over.
    #[must_use]
    pub fn after_stay(self) -> Self {
        Self {
            mode: Mode::Present,
            current_snapshot_id: None,
            backup_id: None,
            backup_path: None,
            backup_commit: None,
            backup_rewritten: false,
            entered_at: None,
            guard_token: None,
            issue_id: None,
            files_only: false,
            ..self
        }
    }
}

/// What is told of a swap that had ended when the power went.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PowerLost {
    /// `travel`, `return`, …
    pub operation: SwapKind,
    /// Names the swap.
    pub swap_id: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    boot_id: Option<String>,
}

/// The journal of the last swap, as long as its files may not be on disk.
pub const UNSETTLED: &str = "unsettled.json";

/// The directory in which a swap makes its files, and leaves those that it replaced to be deleted, where that is quicker.
pub const WORKSHOP: &str = "workshop";

/// The files of one worktree's `timewarp` directory.
#[derive(Debug, Clone)]
pub struct StateDir {
    dir: PathBuf,
}

impl StateDir {
    /// The `timewarp` directory in this worktree's git directory.
    pub fn new(git_dir: &Path) -> Self {
        Self {
            dir: git_dir.join("timewarp"),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Makes it, private. What an older run as root left in it is its owner's from then on.
    pub fn create(&self) -> Result<()> {
        create::private_dir(&self.dir)?;
        let what = || format!("cannot give away '{}'", self.dir.display());
        create::give_all(&self.dir).context(what)
    }

    /// Whether the worktree is in the past, as far as its state can be read.
    pub fn is_in_past(&self) -> bool {
        self.state().is_ok_and(|state| state.mode == Mode::Past)
    }

    /// `state.json`; the default before any was written.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`, naming the file; also when it is gone.
    pub fn state(&self) -> Result<State> {
        let file = self.file("state.json");
        match read_json(&file)? {
            Some(state) => Ok(state),
            None if self.lacks_state()? => {
                let message = format!(
                    "'{}' is gone, and a swap that ended had written it",
                    file.display()
                );
                Err(Error::new(Code::CorruptRecord, message).hint("run 'tw recover'"))
            }
            None => Ok(State::default()),
        }
    }

    /// Whether the state is gone: the swaps that ended left more than that. Who took it for the present would have the past for it.
    ///
    /// # Errors
    /// What they left cannot be looked at.
    pub fn lacks_state(&self) -> Result<bool> {
        // One that is a symlink to nowhere is gone as well.
        if self.file("state.json").try_exists()? {
            return Ok(false);
        }
        if fs::is_there(&self.file(UNSETTLED))? {
            return Ok(true);
        }
        for log in ["stay", "undo", "redo"] {
            if !fs::entries(&self.file(log))?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes `state.json`, whole and synced.
    pub fn write_state(&self, state: &State) -> Result<()> {
        self.create()?;
        let state = State {
            version: VERSION,
            ..state.clone()
        };
        fs::write_atomic(
            &self.file("state.json"),
            &json::pretty(&state),
            Durable::Yes,
        )
    }

    /// The journal of a swap under way or one that died.
    pub fn journal(&self) -> Result<Option<Journal>> {
        read_json(&self.file("journal.json"))
    }

    /// What [`StateDir::journal`] says before its paths.
    pub fn journal_head(&self) -> Result<Option<JournalHead>> {
        read_head(&self.file("journal.json"))
    }

    /// Whether nobody lets us look at what is kept here: it is another user's.
    pub fn is_closed_to_us(&self) -> bool {
        let looked = self.file("journal.json").symlink_metadata();
        looked.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    }

    /// Whether there is a journal, without reading it. One that cannot be looked at counts: reading it says what is wrong.
    pub fn has_journal(&self) -> bool {
        match self.file("journal.json").symlink_metadata() {
            Ok(_) => true,
            Err(error) => !regular::is_absent(&error),
        }
    }

    /// Writes the journal, synced.
    pub fn write_journal(&self, journal: &Journal) -> Result<()> {
        // Before the first file is touched: after a power cut it is all that tells what was going on.
        fs::write_atomic(
            &self.file("journal.json"),
            &json::pretty(journal),
            Durable::Yes,
        )
    }

    /// The journal of a swap that has ended and whose files may not be on disk yet. A damaged one tells nothing: it must not hold up
    /// what does not need it.
    ///
    /// # Errors
    /// As [`StateDir::state`], but for that.
    pub fn unsettled(&self) -> Result<Option<Journal>> {
        unless_corrupt(read_json(&self.file(UNSETTLED)))
    }

    /// Whether there is one, without reading it.
    pub fn is_unsettled(&self) -> bool {
        self.file(UNSETTLED).symlink_metadata().is_ok()
    }

    /// Which swap that is, when the power went since: another boot is running than the one that it ended in.
    ///
    /// # Errors
    /// As [`StateDir::unsettled`].
    pub fn lost_power(&self) -> Result<Option<PowerLost>> {
        // Only the head is read: 'status' asks each time.
        let lost: Option<PowerLost> = unless_corrupt(read_head(&self.file(UNSETTLED)))?;
        Ok(lost.filter(|lost| is_of_another_boot(lost.boot_id.as_deref())))
    }

    /// Whether a swap died, or may have lost files with the power, and nothing was put right yet.
    ///
    /// # Errors
    /// As [`StateDir::state`].
    pub fn needs_recovery(&self) -> Result<bool> {
        Ok(self.has_journal() || self.lost_power()?.is_some())
    }

    /// The swap has ended: its journal stays as evidence until its files are on disk.
    pub fn end_journal(&self) -> Result<()> {
        let (from, to) = (self.file("journal.json"), self.file(UNSETTLED));
        match std::fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context(|| format!("cannot rename '{}'", from.display()))
            }
            _ => Ok(()),
        }
    }

    /// What the swap wrote is on disk.
    pub fn settled(&self) -> Result<()> {
        fs::remove_optional(&self.file(UNSETTLED))
    }

    /// Takes the journal away.
    pub fn remove_journal(&self) -> Result<()> {
        fs::remove_optional(&self.file("journal.json"))
    }
}

/// Nothing, where a record is damaged.
fn unless_corrupt<T>(read: Result<Option<T>>) -> Result<Option<T>> {
    match read {
        Err(error) if error.code() == Code::CorruptRecord => Ok(None),
        other => other,
    }
}

/// Reads a JSON file of ours with a `version`; `None` when it does not exist.
///
/// # Errors
/// `NEWER_RECORD` when its version is not known here, `CORRUPT_RECORD` when it cannot be read.
pub fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>> {
    match regular::read(path) {
        Ok(bytes) => parse_versioned(&bytes, VERSION, &path.display().to_string()).map(Some),
        Err(error) if regular::is_absent(&error) => Ok(None),
        Err(error) => Err(unreadable(error, path)),
    }
}

/// Reads as much of a journal or level as `T` needs: where that comes before the lists of paths, these are not read.
///
/// # Errors
/// As [`read_json`], of what is read.
pub fn read_head<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>> {
    let file = match regular::open(path) {
        Ok(file) => file,
        Err(error) if regular::is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error, path)),
    };
    let name = path.display().to_string();
    let is_enough = |fields: &Map<String, Value>| T::deserialize(fields).is_ok();
    let fields = journal_fields(std::io::BufReader::new(file), &is_enough).map_err(|error| {
        if error.is_io() {
            unreadable(error.into(), path)
        } else {
            unparsed(&error, &name)
        }
    })?;
    let bytes = serde_json::to_vec(&fields).expect("plain data serialises");
    parse_versioned(&bytes, VERSION, &name).map(Some)
}

/// The fields of a journal but for its paths, up to these when what stands before them is enough.
fn journal_fields(
    file: impl std::io::Read,
    is_enough: &dyn Fn(&Map<String, Value>) -> bool,
) -> serde_json::Result<Map<String, Value>> {
    /// What was found before the reader had enough.
    struct Fields<'a> {
        found: &'a mut Map<String, Value>,
        stopped: &'a mut bool,
        is_enough: &'a dyn Fn(&Map<String, Value>) -> bool,
    }

    impl<'de> Visitor<'de> for Fields<'_> {
        type Value = ();

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if !matches!(key.as_str(), "entries" | "dirs") {
                    self.found.insert(key, map.next_value()?);
                } else if (self.is_enough)(self.found) {
                    *self.stopped = true;
                    // An error is the only way out before the end.
                    return Err(A::Error::custom("enough"));
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }

    let (mut found, mut stopped) = (Map::new(), false);
    let mut document = serde_json::Deserializer::from_reader(file);
    let read = document.deserialize_map(Fields {
        found: &mut found,
        stopped: &mut stopped,
        is_enough,
    });
    match read {
        Err(error) if !stopped => Err(error),
        _ => Ok(found),
    }
}

fn unreadable(error: std::io::Error, path: &Path) -> Error {
    let message = format!("cannot read '{}'", path.display());
    if regular::is_unfit(&error) {
        let message = format!("{message}: {error}");
        Error::new(Code::CorruptRecord, message).hint("run 'tw doctor'")
    } else {
        with_way_in(Error::from(error).while_doing(message), path)
    }
}

fn unparsed(error: &serde_json::Error, name: &str) -> Error {
    Error::new(
        Code::CorruptRecord,
        format!("cannot read '{name}': {error}"),
    )
    .hint("run 'tw doctor'")
}

/// Says how to get at a file of ours that somebody else owns, or whose permissions keep its owner out.
pub(super) fn with_way_in(error: Error, path: &Path) -> Error {
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
    let denied = cause
        .is_some_and(|cause: &std::io::Error| cause.kind() == std::io::ErrorKind::PermissionDenied);
    if !denied {
        return error;
    }
    let stat = |at: &Path| rustix::fs::stat(at).ok();
    let owner = path.ancestors().find_map(stat);
    let mut above = path.ancestors().skip(1);
    let there = above.find(|at| stat(at).is_some());
    let dir = there.unwrap_or(path).display();
    let me = rustix::process::geteuid().as_raw();
    error.hint(if owner.is_some_and(|owner| owner.st_uid == me) {
        format!("it is yours, but its permissions keep you out; 'chmod -R u+rwX {dir}' lets you in")
    } else {
        format!("it belongs to somebody else; 'sudo chown -R \"$(id -u)\" {dir}' makes it yours")
    })
}

/// Parses a JSON document of ours with a `version` of at most `known`; `name` is for the message.
pub fn parse_versioned<T: for<'de> Deserialize<'de>>(
    bytes: &[u8],
    known: u32,
    name: &str,
) -> Result<T> {
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let corrupt = |error: serde_json::Error| unparsed(&error, name);
    // First alone: of a newer version the other fields may not parse, and the reason would be hidden.
    let version: Version = serde_json::from_slice(bytes).map_err(corrupt)?;
    if version.version > u64::from(known) {
        return Err(Error::new(
            Code::NewerRecord,
            format!(
                "'{name}' was written by a newer tw (version {})",
                version.version
            ),
        )
        .hint("upgrade tw"));
    }
    serde_json::from_slice(bytes).map_err(corrupt)
}

/// As [`parse_versioned`], with the whole document beside it: its text is parsed once for both.
pub fn parse_versioned_object<T: for<'de> Deserialize<'de>>(
    bytes: &[u8],
    known: u32,
    name: &str,
) -> Result<(T, serde_json::Map<String, Value>)> {
    let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let version = object.get("version").and_then(Value::as_u64);
    if version.is_some_and(|version| version <= u64::from(known))
        && let Ok(typed) = T::deserialize(&object)
        && let Value::Object(map) = object
    {
        return Ok((typed, map));
    }
    // What is wrong is said with its place in the text.
    let typed = parse_versioned(bytes, known, name)?;
    let map = parse_versioned(bytes, known, name)?;
    Ok((typed, map))
}

/// A path as it stands in our JSON: as it is when it is UTF-8 and does not start with a double quote, else quoted as git
/// quotes paths (`"a\377b"`). Exact in both directions.
pub fn stored_path(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !text.starts_with('"') => text.to_owned(),
        _ => {
            let mut out = String::from('"');
            for &byte in path {
                match byte {
                    // As git quotes: so it can be read by eye and by the tools that know git's output.
                    b'"' | b'\\' => {
                        out.push('\\');
                        out.push(char::from(byte));
                    }
                    0x20..=0x7e => out.push(char::from(byte)),
                    _ => out.push_str(&format!("\\{byte:03o}")),
                }
            }
            out.push('"');
            out
        }
    }
}

/// The bytes of a stored path; `None` when it is not well formed.
pub fn path_from_stored(stored: &str) -> Option<Vec<u8>> {
    let Some(quoted) = stored.strip_prefix('"') else {
        return Some(stored.as_bytes().to_vec());
    };
    let quoted = quoted.strip_suffix('"')?;
    let mut out = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next()? {
            plain @ (b'"' | b'\\') => out.push(plain),
            high @ b'0'..=b'3' => {
                let digit = |byte: u8| matches!(byte, b'0'..=b'7').then(|| byte - b'0');
                let (middle, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                out.push((high - b'0') * 64 + middle * 8 + low);
            }
            _ => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_ours_is_not_said_to_be_somebody_else_s() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let denied = || {
            let io = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
            Error::new(Code::Io, "cannot open it").caused_by(io)
        };
        // Of what is not there yet, the directory that keeps it from being made.
        let file = room.path().join("timewarp/state.json");
        let dir = room.path();
        let hint = format!(
            "it is yours, but its permissions keep you out; 'chmod -R u+rwX {}' lets you in",
            dir.display()
        );
        assert_eq!(with_way_in(denied(), &file).hints(), [hint]);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(room.path(), Some(4321), None).expect("root may");
            let error = with_way_in(denied(), &file);
            assert!(
                error.hints()[0].contains("sudo chown"),
                "{:?}",
                error.hints()
            );
        }
    }

    #[test]
    fn of_a_level_no_more_is_read_than_what_stands_before_its_paths() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let file = room.path().join("level.json");
        let state = r#"{"version":1,"workspace_root":"/w","mode":"present"}"#;
        let head = format!(
            r#""swap_id":"x","operation":"travel","started_at":"2026-02-28T15:30:12Z","pid":1,"process_start":1,"backup_id":"b","backup_commit":"c","target_id":null,"target_commit":null,"experiment_id":"e","head":null,"swaps_index":false,"swaps_operation":false,"state_before":{state},"state_after":{state}"#
        );
        let path = r#"{"path":"a","before":null,"after":null}"#;
        // As they are written, as they were written once, and torn in what is not read.
        for (text, is_whole) in [
            (
                format!(r#"{{"version":1,{head},"entries":[{path}],"dirs":[]}}"#),
                true,
            ),
            (
                format!(r#"{{"version":1,"entries":[{path}],"dirs":[],{head}}}"#),
                true,
            ),
            (format!(r#"{{"version":1,{head},"entries":[{{"#), false),
        ] {
            std::fs::write(&file, &text).expect("written");
            let journal = read_json::<Journal>(&file).ok().flatten();
            assert_eq!(journal.is_some(), is_whole, "{text}");
            let read: JournalHead = read_head(&file).expect(&text).expect("it is there");
            assert_eq!(
                (read.backup_id.as_str(), read.experiment_id.as_deref()),
                ("b", Some("e"))
            );
        }
        let journal: Journal = serde_json::from_str(&format!(
            r#"{{"version":1,{head},"entries":[{path}],"dirs":[],"more":1}}"#
        ))
        .expect("a journal");
        let written = serde_json::to_string(&journal).expect("plain data serialises");
        let at = |field: &str| written.find(field).expect("it is written");
        assert!(at("\"state_after\"") < at("\"entries\""), "{written}");
        for (text, code) in [
            (
                format!(r#"{{"version":9,{head},"entries":["#),
                Code::NewerRecord,
            ),
            (r#"{"version":1,"swap_id""#.to_owned(), Code::CorruptRecord),
            (
                r#"{"version":1,"entries":[]}"#.to_owned(),
                Code::CorruptRecord,
            ),
        ] {
            std::fs::write(&file, text).expect("written");
            let error = read_head::<JournalHead>(&file).expect_err("it is not known");
            assert_eq!(error.code(), code);
        }
    }

    #[test]
    fn logs_that_cannot_be_read_do_not_make_it_the_present() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let dir = StateDir::new(room.path());
        dir.create().expect("made");
        assert_eq!(dir.state().expect("the present").mode, Mode::Present);
        std::os::unix::fs::symlink("stay", dir.file("stay")).expect("a link to itself");
        let error = dir.state().expect_err("nobody knows");
        assert!(error.message().contains("cannot read"), "{error}");
    }

    #[test]
    fn stored_paths_are_exact() {
        for path in [
            &b"plain"[..],
            "ünï".as_bytes(),
            b"\"quoted",
            b"a\xff\n\\b\"",
            b"",
            b"a\nb",
        ] {
            let stored = stored_path(path);
            assert_eq!(path_from_stored(&stored).as_deref(), Some(path), "{stored}");
        }
        for bad in ["\"a", "\"\\9\"", "\"\\40", "\"\\x41\""] {
            assert!(path_from_stored(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn unknown_fields_survive_and_newer_versions_are_refused() {
        let dir = tempfile::tempdir().expect("tempdir");
        let states = StateDir::new(dir.path());
        assert_eq!(states.state().expect("none").mode, Mode::Present);
        let mut state = State {
            mode: Mode::Past,
            ..State::default()
        };
        state.extra.insert("later".into(), Value::Bool(true));
        states.write_state(&state).expect("write");
        let read = states.state().expect("read");
        assert_eq!(read.mode, Mode::Past);
        assert_eq!(read.extra.get("later"), Some(&Value::Bool(true)));
        fs::write_atomic(&states.file("state.json"), b"{\"version\": 2}", Durable::No)
            .expect("write");
        assert_eq!(states.state().expect_err("newer").code(), Code::NewerRecord);
        fs::write_atomic(&states.file("state.json"), b"{\"version\": 1,", Durable::No)
            .expect("write");
        assert_eq!(
            states.state().expect_err("torn").code(),
            Code::CorruptRecord
        );
    }
}
