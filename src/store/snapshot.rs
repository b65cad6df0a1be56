//! The snapshot record: the JSON document in a snapshot commit's message, and the commit around it.
//!
//! Long lists stand in the state commit as NUL-separated blobs; the document keeps the first 100 entries and the count.
//! Unknown fields survive reading; a newer version is refused by name. Commits are encoded here byte for byte, so that the
//! same index gives the same index commit and nothing is written twice.

mod parts;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::state::{parse_versioned, path_from_stored, stored_path};
use super::trigger::Trigger;
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::Oid;

pub use parts::{DefaultModes, HeadRecord, IgnoredRecord, IndexRecord, Stats, TakenIn, Uncaptured};

/// The version this `tw` writes.
pub const VERSION: u32 = 1;
/// This many entries of a list stand in the document.
pub const LIST_LIMIT: usize = 100;
/// Who makes our commits.
const IDENTITY: &str = "timewarp <timewarp@localhost>";

/// The document of a snapshot, backup or experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotRecord {
    /// The record's version.
    pub version: u32,
    /// The id.
    pub snapshot_id: String,
    /// `snapshot`, `backup` or `experiment`.
    pub kind: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The session it was taken in.
    pub session_id: Option<String>,
    /// The session's agent.
    pub agent: Option<String>,
    /// `main`, or the linked worktree's name.
    pub worktree: String,
    /// The linked worktree's random id: another one may have its name once it was removed. Absent for `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_id: Option<String>,
    /// The working tree's root.
    pub workspace_root: String,
    /// What made it: `manual`, `travel`, `session-start`, …
    pub trigger: Trigger,
    /// The label given when it was taken.
    pub label: Option<String>,
    /// The session's task, as far as it was told.
    pub initial_task_hint: Option<String>,
    /// Globs of ours that left things out.
    pub exclude_globs: Vec<String>,
    /// Versions of the tools around; null for one that was not found, or not asked yet: a snapshot waits for none but git.
    pub env_fingerprint: Map<String, Value>,
    /// HEAD.
    pub head: HeadRecord,
    /// The operation under way: `merge`, `rebase-merge`, …
    pub in_progress: Option<String>,
    /// The index.
    pub index: IndexRecord,
    /// Counts up per repository.
    pub seq: u64,
    /// The repository's random id.
    pub repository_id: String,
    /// Where the working tree was.
    #[schemars(extend("enum" = ["present", "past"]))]
    pub taken_in: TakenIn,
    /// Permission bits that differ from `default_modes`, octal, by path; also of directories. A path that is not UTF-8, or begins with a
    /// double quote, is quoted as git quotes it; so it is in all lists of a snapshot.
    pub modes: BTreeMap<String, String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes_count: Option<usize>,
    /// What the others have.
    #[serde(default)]
    pub default_modes: DefaultModes,
    /// Directories without anything captured beneath; quoted as in `modes`.
    pub empty_dirs: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_dirs_count: Option<usize>,
    /// Sizes.
    pub stats: Stats,
    /// What git ignores; absent where nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "IgnoredRecord")]
    pub ignored: Option<IgnoredRecord>,
    /// What was not captured.
    pub uncaptured: Vec<Uncaptured>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncaptured_count: Option<usize>,
    /// Files that changed while they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstable: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstable_count: Option<usize>,
    /// Paths captured although the rules leave them out, because a swap needed their place; those of directories end with a slash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_count: Option<usize>,
    /// Paths of the tree that stand for the index alone and were not on disk (sparse checkout).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent_count: Option<usize>,
    /// Paths that git held for clean although their raw bytes differ from the index (filters, line ends).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub converted: Vec<String>,
    /// How many there are, when the list is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converted_count: Option<usize>,
    /// How many of the files have the id of their entry in git's index, which nobody has proven by their bytes yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub seeds_unproven: Option<u64>,
    /// Of a backup or experiment: the snapshot that the swap put in place, when it was the whole of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub target_id: Option<String>,
    /// Taken while a dead swap waited for recovery.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Fields of a later version or another layer.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The long lists of a record, whole: raw path bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    /// Unmerged paths.
    pub conflicts: Vec<Vec<u8>>,
    /// `git add -N` paths.
    pub intent_to_add: Vec<Vec<u8>>,
    /// skip-worktree paths.
    pub skip_worktree: Vec<Vec<u8>>,
    /// assume-unchanged paths.
    pub assume_unchanged: Vec<Vec<u8>>,
    /// Directories that stood folded in a sparse index.
    pub folded: Vec<Vec<u8>>,
    /// Permission bits by path.
    pub modes: BTreeMap<Vec<u8>, u32>,
    /// Empty directories.
    pub empty_dirs: Vec<Vec<u8>>,
    /// Unstable files.
    pub unstable: Vec<Vec<u8>>,
    /// Forced paths.
    pub forced: Vec<Vec<u8>>,
    /// Sparse paths not on disk.
    pub absent: Vec<Vec<u8>>,
    /// Clean, but converted.
    pub converted: Vec<Vec<u8>>,
    /// Not captured: path and the rest of the entry.
    pub uncaptured: Vec<(Vec<u8>, Uncaptured)>,
}

/// Names the lists that are plain lists of paths, with their places.
macro_rules! path_lists {
    ($record:expr, $lists:expr, $do:ident) => {
        $do!(
            "conflicts",
            $record.index.conflicts,
            $record.index.conflicts_count,
            $lists.conflicts
        );
        $do!(
            "intent_to_add",
            $record.index.intent_to_add,
            $record.index.intent_to_add_count,
            $lists.intent_to_add
        );
        $do!(
            "skip_worktree",
            $record.index.skip_worktree,
            $record.index.skip_worktree_count,
            $lists.skip_worktree
        );
        $do!(
            "assume_unchanged",
            $record.index.assume_unchanged,
            $record.index.assume_unchanged_count,
            $lists.assume_unchanged
        );
        $do!(
            "folded",
            $record.index.folded,
            $record.index.folded_count,
            $lists.folded
        );
        $do!(
            "empty_dirs",
            $record.empty_dirs,
            $record.empty_dirs_count,
            $lists.empty_dirs
        );
        $do!(
            "unstable",
            $record.unstable,
            $record.unstable_count,
            $lists.unstable
        );
        $do!(
            "forced",
            $record.forced,
            $record.forced_count,
            $lists.forced
        );
        $do!(
            "absent",
            $record.absent,
            $record.absent_count,
            $lists.absent
        );
        $do!(
            "converted",
            $record.converted,
            $record.converted_count,
            $lists.converted
        );
    };
}

impl SnapshotRecord {
    /// Puts the lists into the document, and answers those too long for it: name and NUL-separated bytes.
    pub fn set_lists(&mut self, lists: &Lists) -> Vec<(&'static str, Vec<u8>)> {
        let mut long = Vec::new();
        macro_rules! put {
            ($name:literal, $field:expr, $count:expr, $list:expr) => {
                $field = $list
                    .iter()
                    .take(LIST_LIMIT)
                    .map(|path| stored_path(path))
                    .collect();
                if $list.len() > LIST_LIMIT {
                    $count = Some($list.len());
                    long.push(($name, joined($list.iter().map(Vec::as_slice))));
                }
            };
        }
        path_lists!(self, lists, put);
        self.modes = lists
            .modes
            .iter()
            .take(LIST_LIMIT)
            .map(|(path, mode)| (stored_path(path), octal(*mode)))
            .collect();
        if lists.modes.len() > LIST_LIMIT {
            self.modes_count = Some(lists.modes.len());
            let lines = lists
                .modes
                .iter()
                .map(|(path, mode)| prefixed(&octal(*mode), path));
            long.push(("modes", lines.flatten().collect()));
        }
        self.uncaptured = lists
            .uncaptured
            .iter()
            .take(LIST_LIMIT)
            .map(|(_, entry)| entry.clone())
            .collect();
        if lists.uncaptured.len() > LIST_LIMIT {
            self.uncaptured_count = Some(lists.uncaptured.len());
            let lines = lists.uncaptured.iter().map(|(path, entry)| {
                let bytes = entry
                    .bytes
                    .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
                let head = entry.head.as_deref().unwrap_or("-");
                prefixed(&format!("{} {bytes} {head}", entry.reason), path)
            });
            long.push(("uncaptured", lines.flatten().collect()));
        }
        long
    }

    /// Puts the lists into the document whole, for readers; counts go.
    pub fn set_lists_whole(&mut self, lists: &Lists) {
        macro_rules! put {
            ($name:literal, $field:expr, $count:expr, $list:expr) => {
                $field = $list.iter().map(|path| stored_path(path)).collect();
            };
        }
        path_lists!(self, lists, put);
        self.modes = lists
            .modes
            .iter()
            .map(|(path, mode)| (stored_path(path), octal(*mode)))
            .collect();
        self.uncaptured = lists
            .uncaptured
            .iter()
            .map(|(_, entry)| entry.clone())
            .collect();
    }

    /// The lists, whole: from the document, or from the blobs that `read_list` finds for the long ones.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when a list is missing or malformed.
    pub fn lists(&self, read_list: &dyn Fn(&str) -> Result<Vec<u8>>) -> Result<Lists> {
        let mut lists = Lists::default();
        macro_rules! get {
            ($name:literal, $field:expr, $count:expr, $list:expr) => {
                $list = if $count.is_some() {
                    split_list(&read_list($name)?)
                } else {
                    $field
                        .iter()
                        .map(|stored| raw(stored))
                        .collect::<Result<_>>()?
                };
            };
        }
        path_lists!(self, lists, get);
        lists.modes = self.all_modes(read_list)?;
        lists.uncaptured = self.all_uncaptured(read_list)?;
        Ok(lists)
    }

    fn all_modes(
        &self,
        read_list: &dyn Fn(&str) -> Result<Vec<u8>>,
    ) -> Result<BTreeMap<Vec<u8>, u32>> {
        if self.modes_count.is_none() {
            return self
                .modes
                .iter()
                .map(|(stored, mode)| Ok((raw(stored)?, parse_octal(mode)?)))
                .collect();
        }
        split_list(&read_list("modes")?)
            .iter()
            .map(|line| {
                let (mode, path) = cut(line, b'\t')?;
                Ok((path.to_vec(), parse_octal(&String::from_utf8_lossy(mode))?))
            })
            .collect()
    }

    fn all_uncaptured(
        &self,
        read_list: &dyn Fn(&str) -> Result<Vec<u8>>,
    ) -> Result<Vec<(Vec<u8>, Uncaptured)>> {
        if self.uncaptured_count.is_none() {
            return self
                .uncaptured
                .iter()
                .map(|entry| Ok((entry.raw_path()?, entry.clone())))
                .collect();
        }
        split_list(&read_list("uncaptured")?)
            .iter()
            .map(|line| {
                let (words, path) = cut(line, b'\t')?;
                let words = String::from_utf8_lossy(words).into_owned();
                let mut words = words.split(' ');
                let mut entry = Uncaptured::new(path, words.next().unwrap_or_default());
                entry.bytes = words.next().and_then(|word| word.parse().ok());
                entry.head = words.next().filter(|word| *word != "-").map(str::to_owned);
                Ok((path.to_vec(), entry))
            })
            .collect()
    }

    /// The permission bits a path has: listed, or what most of its kind have.
    pub fn default_permissions(&self, git_mode: u32) -> Result<u32> {
        match git_mode {
            0o100_755 => parse_octal(&self.default_modes.executable),
            0o040_000 => parse_octal(&self.default_modes.directory),
            _ => parse_octal(&self.default_modes.file),
        }
    }

    /// The commit message: title, blank line, document.
    pub fn message(&self, title: &str) -> String {
        let document = serde_json::to_string_pretty(self).expect("plain data serialises");
        format!("snapshot: {}\n\n{document}\n", one_line(title))
    }

    /// Reads a commit message of ours: title and document.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`.
    pub fn from_message(message: &[u8], name: &str) -> Result<(String, Self)> {
        let (title, body) = split_message(message, name)?;
        Ok((title, parse_versioned(body, VERSION, name)?))
    }

    /// A new record of this version.
    pub fn new(id: &str, kind: &str) -> Self {
        Self {
            version: VERSION,
            snapshot_id: id.to_owned(),
            kind: kind.to_owned(),
            ..Self::default()
        }
    }
}

impl Uncaptured {
    /// An entry for a path.
    pub fn new(path: &[u8], reason: &str) -> Self {
        use base64::Engine;
        let exact = std::str::from_utf8(path).is_err();
        Self {
            path: String::from_utf8_lossy(path).into_owned(),
            path_bytes: exact.then(|| base64::engine::general_purpose::STANDARD.encode(path)),
            reason: reason.to_owned(),
            bytes: None,
            head: None,
        }
    }

    /// The path's exact bytes.
    pub fn raw_path(&self) -> Result<Vec<u8>> {
        use base64::Engine;
        match &self.path_bytes {
            None => Ok(self.path.as_bytes().to_vec()),
            Some(text) => base64::engine::general_purpose::STANDARD
                .decode(text)
                .map_err(|_| corrupt("a path is not well formed")),
        }
    }
}

/// Title and document of a commit message of ours.
pub fn split_message<'a>(message: &'a [u8], name: &str) -> Result<(String, &'a [u8])> {
    let end = message
        .windows(2)
        .position(|pair| pair == b"\n\n")
        .ok_or_else(|| corrupt(&format!("'{name}' has no record in its message")))?;
    let title = String::from_utf8_lossy(&message[..end]).into_owned();
    let title = title
        .strip_prefix("snapshot: ")
        // Somebody may have amended the message: the document beneath it counts.
        .unwrap_or(&title)
        .to_owned();
    Ok((title, &message[end + 2..]))
}

fn corrupt(what: &str) -> Error {
    Error::new(Code::CorruptRecord, what.to_owned())
}

fn raw(stored: &str) -> Result<Vec<u8>> {
    path_from_stored(stored).ok_or_else(|| corrupt("a path is not well formed"))
}

fn one_line(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Permission bits as four octal digits.
pub fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// Permission bits from octal digits.
pub fn parse_octal(text: &str) -> Result<u32> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
        .ok_or_else(|| corrupt(&format!("'{text}' is not a file mode")))
}

fn prefixed(words: &str, path: &[u8]) -> Vec<u8> {
    let mut line = words.as_bytes().to_vec();
    line.push(b'\t');
    line.extend_from_slice(path);
    line.push(0);
    line
}

fn cut(line: &[u8], at: u8) -> Result<(&[u8], &[u8])> {
    let place = line
        .iter()
        .position(|&byte| byte == at)
        .ok_or_else(|| corrupt("a list is not well formed"))?;
    Ok((&line[..place], &line[place + 1..]))
}

/// Paths, each ended by NUL.
pub fn joined<'a>(paths: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for path in paths {
        out.extend_from_slice(path);
        out.push(0);
    }
    out
}

/// The inverse of [`joined`].
pub fn split_list(bytes: &[u8]) -> Vec<Vec<u8>> {
    // Else the list would end with an empty path.
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

/// The bytes of a commit of ours: fixed identity, no signature, committer date `@1 +0000` always.
pub fn encode_commit(tree: Oid, parents: &[Oid], author_time: i64, message: &str) -> Vec<u8> {
    let mut out = format!("tree {tree}\n");
    for parent in parents {
        out.push_str(&format!("parent {parent}\n"));
    }
    out.push_str(&format!(
        // The committer's date never changes, so that what is captured again gives the same commit; git asks for a date that is not before 1970.
        "author {IDENTITY} {author_time} +0000\ncommitter {IDENTITY} 1 +0000\n\n"
    ));
    // Git cuts a message at a NUL, and fsck complains.
    out.extend(message.chars().filter(|ch| *ch != '\0'));
    out.into_bytes()
}

/// The bytes of an index or a state commit, which say its place in the message. Its time is fixed, so that the same state is the same commit and is
/// stored once. But no other repository has the same one: git takes an object for its own that another one lends (`git clone --shared`), and
/// that lets it go when it likes.
pub fn encode_part(place: &str, repository_id: &str, tree: Oid, parents: &[Oid]) -> Vec<u8> {
    let message = format!("timewarp: {place}\n\nrepository: {repository_id}\n");
    encode_commit(tree, parents, FIXED_TIME, &message)
}

/// Author time of a commit that must come out the same each time.
const FIXED_TIME: i64 = 1;

/// Seconds for a commit's author line: never before 1970, which git's fsck refuses.
pub fn author_time(moment: Moment) -> i64 {
    moment.seconds().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_has_a_nul() {
        let tree = Oid::from_hex(&"a".repeat(40)).expect("an id");
        let record = SnapshotRecord::new("s_20260101_000000_aaaaaa", "snapshot");
        let message = record.message("t (claimed by a\0b)");
        let bytes = encode_commit(tree, &[], FIXED_TIME, &message);
        assert!(!bytes.contains(&0));
        assert!(String::from_utf8_lossy(&bytes).contains("claimed by ab"));
    }

    fn no_lists(name: &str) -> Result<Vec<u8>> {
        Err(corrupt(name))
    }

    #[test]
    fn short_lists_stand_in_the_document_and_long_ones_beside_it() {
        let mut lists = Lists {
            empty_dirs: vec![b"logs".to_vec(), b"\xff".to_vec()],
            ..Lists::default()
        };
        lists.modes.insert(b"secret.key".to_vec(), 0o600);
        let mut entry = Uncaptured::new(b"big", "larger-than-limit");
        entry.bytes = Some(7);
        lists.uncaptured.push((b"big".to_vec(), entry));
        let mut record = SnapshotRecord::new("s_20260228_153012_ab12cd", "snapshot");
        assert!(record.set_lists(&lists).is_empty());
        let (title, read) =
            SnapshotRecord::from_message(record.message("a\n title").as_bytes(), "x")
                .expect("read");
        assert_eq!(title, "a title");
        assert_eq!(read.lists(&no_lists).expect("lists"), lists);

        for nth in 0..150u32 {
            lists.skip_worktree.push(format!("p{nth:03}").into_bytes());
            lists.modes.insert(format!("m{nth:03}").into_bytes(), 0o400);
            let path = format!("u\t{nth:03}").into_bytes();
            lists
                .uncaptured
                .push((path.clone(), Uncaptured::new(&path, "socket")));
        }
        let long = record.set_lists(&lists);
        assert_eq!(record.index.skip_worktree.len(), LIST_LIMIT);
        assert_eq!(record.index.skip_worktree_count, Some(150));
        let read_list = |name: &str| {
            let found = long.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, bytes)| bytes.clone())
                .ok_or_else(|| corrupt(name))
        };
        assert_eq!(record.lists(&read_list).expect("lists"), lists);
    }

    #[test]
    fn unknown_fields_survive() {
        let mut record = SnapshotRecord::new("s_20260228_153012_ab12cd", "snapshot");
        record.extra.insert("later".into(), Value::from(1));
        let (_, read) =
            SnapshotRecord::from_message(record.message("t").as_bytes(), "x").expect("read");
        assert_eq!(read, record);
        let newer = b"snapshot: t\n\n{\"version\": 9}\n";
        let error = SnapshotRecord::from_message(newer, "x").expect_err("newer");
        assert_eq!(error.code(), Code::NewerRecord);
    }
}
