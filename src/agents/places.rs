//! Looking for session files: the user's directories, newest first, and whose recorded directory matches.
//!
//! Reads no environment of its own: what decides where agents keep their files is handed in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::git::fs;

/// How much of a file's end is read for what was recorded last.
const TAIL: u64 = 256 << 10;

/// What of the environment decides where agents keep their files.
#[derive(Debug, Clone, Default)]
pub struct Places {
    home: Option<PathBuf>,
    vars: BTreeMap<OsString, OsString>,
}

impl Places {
    /// A home directory and no variables.
    #[cfg(test)]
    pub fn new(home: Option<PathBuf>) -> Self {
        Self {
            home,
            vars: BTreeMap::new(),
        }
    }

    /// The same with a variable set.
    #[cfg(test)]
    #[must_use]
    pub fn with_var(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// The home directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// A variable as text, when it is set, not empty, and UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        let value = self.vars.get(std::ffi::OsStr::new(name))?.to_str()?;
        (!value.is_empty()).then_some(value)
    }

    /// A variable that names a directory.
    pub fn dir(&self, name: &str) -> Option<PathBuf> {
        let value = self.vars.get(std::ffi::OsStr::new(name))?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    }
}

impl From<&crate::env::Env> for Places {
    fn from(env: &crate::env::Env) -> Self {
        Self {
            home: env.home(),
            vars: env
                .vars()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }
}

/// A session file that may be the one meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The agent's name.
    pub agent: &'static str,
    /// The session's id.
    pub session_id: String,
    /// The file to read.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// The directory it records, when it records one.
    pub cwd: Option<String>,
}

/// A sub-agent, as its own session file tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgent {
    /// Its own session's id; None where the file says it nowhere.
    pub id: Option<String>,
    /// The session that it belongs to; None where the file says that nowhere.
    pub parent: Option<String>,
}

/// A file and its time.
pub struct SessionFile {
    /// Its path.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
}

impl SessionFile {
    /// The file at `path` with its time, when there is one.
    pub fn at(path: PathBuf) -> Option<Self> {
        let meta = std::fs::metadata(&path).ok()?;
        meta.is_file().then(|| Self {
            modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            path,
        })
    }

    /// The file's name.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }
}

/// What has a file that was written at some time.
pub trait Dated {
    /// When, and the file.
    fn written(&self) -> (SystemTime, &Path);
}

impl Dated for SessionFile {
    fn written(&self) -> (SystemTime, &Path) {
        (self.modified, &self.path)
    }
}

impl Dated for Candidate {
    fn written(&self) -> (SystemTime, &Path) {
        (self.modified, &self.path)
    }
}

/// The directories in `directory`; nothing when it cannot be read.
pub fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

/// The files in `directory` whose names end in `suffix`.
pub fn files(directory: &Path, suffix: &str) -> Vec<SessionFile> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(suffix))
        .filter_map(|entry| SessionFile::at(entry.path()))
        .collect()
}

/// Newest first; equal times by path, so that the order is the same each time.
pub fn newest_first(found: &mut [impl Dated]) {
    found.sort_by(|a, b| b.written().cmp(&a.written()));
}

/// Those of `found` whose recorded directory is `cwd` or lies beneath it, newest first.
pub fn matching(
    agent: &'static str,
    mut found: Vec<SessionFile>,
    cwd: &Path,
    recorded: impl Fn(&Path) -> Option<String>,
    session: impl Fn(&SessionFile) -> Option<String>,
) -> Vec<Candidate> {
    newest_first(&mut found);
    let wanted = fs::resolved(cwd);
    found
        .into_iter()
        .filter_map(|file| {
            let recorded = recorded(&file.path)?;
            let here = Path::new(&recorded);
            // As it is written first: that asks no file system, and the recorded directory may be gone.
            let within = here.starts_with(cwd) || fs::resolved(here).starts_with(&wanted);
            within.then(|| Candidate {
                agent,
                session_id: session(&file).unwrap_or_default(),
                modified: file.modified,
                cwd: Some(recorded),
                path: file.path,
            })
        })
        .collect()
}

/// The end of a file, from the start of a line on where it is not whole.
pub fn tail(path: &Path) -> Option<Vec<u8>> {
    let mut file = crate::git::regular::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let start = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    if start > 0 {
        let line = bytes
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        bytes.drain(..line);
    }
    Some(bytes)
}

/// The id in the name of a sub-agent's own file, `agent-<id>.jsonl`: sessions' ids are none of this form.
pub fn id_of_sub_agent(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
    (!id.is_empty()).then(|| id.to_owned())
}

/// The last name of a path, when it is text.
pub fn name_of(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

/// Whether an id may stand in a file name.
pub fn is_plain_id(id: &str) -> bool {
    !id.is_empty()
        && !id.starts_with('.')
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_paths_are_refused() {
        assert!(is_plain_id("0b1c-2"));
        for id in ["", "..", "../x", "a/b", ".hidden"] {
            assert!(!is_plain_id(id), "{id}");
        }
    }

    #[test]
    fn a_tail_begins_with_a_whole_line() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("long");
        let line = format!("{}\n", "x".repeat(999));
        std::fs::write(&path, line.repeat(400)).expect("written");
        let tail = tail(&path).expect("readable");
        assert_eq!(tail.len() % 1000, 0);
        assert!(tail.len() > 200_000);
    }

    #[test]
    fn candidates_come_newest_first_and_only_from_beneath() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut found = Vec::new();
        for (name, age) in [("old", 100), ("new", 10), ("other", 1)] {
            let path = dir.path().join(name);
            std::fs::write(&path, name).expect("written");
            let modified = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 - age);
            found.push(SessionFile { path, modified });
        }
        let recorded = |path: &Path| {
            let name = path.file_name()?.to_str()?;
            Some(if name == "other" {
                "/elsewhere".to_owned()
            } else {
                "/work/sub".to_owned()
            })
        };
        let matched = matching("test", found, Path::new("/work"), recorded, |file| {
            Some(file.name().into_owned())
        });
        let ids: Vec<&str> = matched
            .iter()
            .map(|found| found.session_id.as_str())
            .collect();
        assert_eq!(ids, ["new", "old"]);
    }
}
