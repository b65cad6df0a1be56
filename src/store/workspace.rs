//! A workspace of several repositories, as it is kept: who its members are, where a member finds its head, and the journal of a swap
//! over all of them.
//!
//! All of it stands in the `timewarp` directories of the worktrees. The head's has `workspace.json`, a member's has `member.json`.
//! Paths are relative, so that repositories that are moved or copied together stay together, and a copy of one alone never reaches
//! the other's members: a member has to name its head as well. Unknown fields survive; a newer version is refused by name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::damaged;
use super::state::{Journal, StateDir, path_from_stored, read_json, stored_path};
use super::trigger::SwapKind;
use crate::error::{Code, Error, Result};
use crate::git::fs::{self, Durable};
use crate::git::repo::gitfile_of;
use crate::json;

/// In the head's directory: the members.
const MEMBERS: &str = "workspace.json";
/// In a member's directory: the head.
const POINTER: &str = "member.json";
/// In the head's directory: a swap over all members that is under way, or died.
const TOGETHER: &str = "together.json";
/// The field of a member's journal, and of the level that it becomes.
const FIELD: &str = "workspace";
/// The field of a snapshot's record: which snapshots of the members belong to it.
const COVERED: &str = "members";

/// `workspace.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Workspace {
    /// 1.
    pub version: u32,
    /// The members, as they were added.
    pub members: Vec<Member>,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A member, as the head knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Where its working tree is, from the head's; in the stored form of [`stored_path`].
    pub path: String,
    /// The random id of its repository.
    pub repository_id: String,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Member {
    /// Its working tree, whose head's is `head`.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`.
    pub fn root(&self, head: &Path) -> Result<PathBuf> {
        member_root(head, &self.path)
    }
}

/// `member.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pointer {
    /// 1.
    pub version: u32,
    /// The head's git directory, from the member's.
    pub head_git_dir: String,
    /// The head's working tree, from the member's git directory.
    pub head: String,
    /// The random id of the head's repository.
    pub repository_id: String,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `together.json`: a swap over all members. Until it is `decided`, all of it is undone after a death, from then on all is finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TogetherJournal {
    /// 1.
    pub version: u32,
    /// Names it, in the journals of all who take part.
    pub id: String,
    /// What is done in all of them.
    pub operation: SwapKind,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// Every member has the new state in place: what is left is to say so.
    pub decided: bool,
    /// The members that take part beside the head, from the head's working tree.
    pub members: Vec<String>,
    /// Fields of a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a journal says of the swap over all members that it is part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tie {
    /// The id of the swap over all.
    pub id: String,
    /// The head's git directory, from this one's; empty in the head.
    pub head_git_dir: String,
    /// In the head: the members that take part, from its working tree.
    #[serde(default)]
    pub members: Vec<String>,
}

impl Tie {
    /// What a journal says.
    pub fn of(journal: &Journal) -> Option<Self> {
        let field = journal.extra.get(FIELD)?;
        Self::deserialize(field).ok()
    }

    /// Says it in a journal's other fields.
    pub fn put(&self, extra: &mut Map<String, Value>) {
        let field = serde_json::to_value(self).expect("plain data serialises");
        extra.insert(FIELD.to_owned(), field);
    }

    /// The head's directory, from that of one who takes part.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`.
    pub fn head(&self, own: &StateDir) -> Result<StateDir> {
        Ok(StateDir::new(
            &git_dir_of(own).join(path_of(&self.head_git_dir)?),
        ))
    }
}

/// Which snapshot of a member belongs to a snapshot of the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// The member, from the head's working tree.
    pub path: String,
    /// The random id of its repository.
    pub repository_id: String,
    /// Its snapshot; null when none could be taken.
    pub snapshot_id: Option<String>,
    /// Why none could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Covered {
    /// What a record's other fields say; nothing when it is of no workspace, or they say nothing of that kind.
    pub fn of(extra: &Map<String, Value>) -> Vec<Self> {
        Self::read(extra).unwrap_or_default()
    }

    /// As [`Self::of`], for who relies on what is not said.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`.
    pub fn read(extra: &Map<String, Value>) -> Result<Vec<Self>> {
        let Some(field) = extra.get(COVERED) else {
            return Ok(Vec::new());
        };
        Vec::deserialize(field).map_err(|error| {
            let message = format!("what it says of members of a workspace is not valid: {error}");
            Error::new(Code::CorruptRecord, message)
        })
    }

    /// Says it in a record's other fields.
    pub fn put(covered: &[Self], extra: &mut Map<String, Value>) {
        if !covered.is_empty() {
            let field = serde_json::to_value(covered).expect("plain data serialises");
            extra.insert(COVERED.to_owned(), field);
        }
    }
}

/// The working tree of the member that is at a stored path from the head's.
///
/// # Errors
/// `CORRUPT_RECORD`.
pub fn member_root(head: &Path, stored: &str) -> Result<PathBuf> {
    let mut root = head.to_owned();
    // The way was made of resolved paths: one step up is one name less.
    for step in path_of(stored)?.components() {
        match step {
            Component::ParentDir => {
                root.pop();
            }
            name => root.push(name),
        }
    }
    Ok(root)
}

/// The linked working tree of a git directory, when it is where git says.
fn linked_root(git_dir: &Path) -> Option<PathBuf> {
    let link = gitfile_of(git_dir).ok()??;
    link.is_file().then(|| link.parent().map(Path::to_owned))?
}

fn git_dir_of(dir: &StateDir) -> &Path {
    dir.path().parent().unwrap_or(dir.path())
}

fn path_of(stored: &str) -> Result<PathBuf> {
    let bytes = path_from_stored(stored).ok_or_else(|| {
        Error::new(
            Code::CorruptRecord,
            format!("the workspace names '{stored}', which is not a valid path"),
        )
    })?;
    Ok(PathBuf::from(OsStr::from_bytes(&bytes)))
}

/// The way from one directory to another, both absolute and resolved, in stored form.
pub fn way(from: &Path, to: &Path) -> String {
    let (mut from, mut to) = (from.components(), to.components());
    let (mut left, mut right) = (from.next(), to.next());
    while left.is_some() && left == right {
        (left, right) = (from.next(), to.next());
    }
    let up = left.into_iter().chain(from).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(right.into_iter().chain(to)).collect();
    stored_path(way.as_os_str().as_bytes())
}

impl StateDir {
    /// The workspace whose head this is.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`.
    pub fn workspace(&self) -> Result<Option<Workspace>> {
        read_json(&self.file(MEMBERS)).map_err(with_way_out)
    }

    /// Writes the list of members; without any, the workspace ends.
    pub fn write_workspace(&self, workspace: &Workspace) -> Result<()> {
        if workspace.members.is_empty() {
            return fs::remove_optional(&self.file(MEMBERS));
        }
        write(self, MEMBERS, workspace)
    }

    /// Where the head is that this is a member of; what it says is not looked at.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`.
    pub fn pointer(&self) -> Result<Option<Pointer>> {
        read_json(&self.file(POINTER)).map_err(with_way_out)
    }

    /// Whether the list of members or the pointer to the head is damaged: it says nothing, to nobody.
    pub fn has_damaged_membership(&self) -> bool {
        damaged::is_corrupt(&self.workspace()) || damaged::is_corrupt(&self.pointer())
    }

    /// Gives what is damaged of the list of members and of the pointer to the head another name, and says which.
    pub fn set_damaged_membership_aside(&self) -> Result<Vec<PathBuf>> {
        let mut aside = Vec::new();
        let files = [
            (MEMBERS, damaged::is_corrupt(&self.workspace())),
            (POINTER, damaged::is_corrupt(&self.pointer())),
        ];
        for (name, _) in files.into_iter().filter(|(_, damaged)| *damaged) {
            aside.push(damaged::set_aside(&self.file(name))?);
        }
        Ok(aside)
    }

    /// Makes this a member, or no member any more.
    pub fn write_pointer(&self, pointer: Option<&Pointer>) -> Result<()> {
        match pointer {
            Some(pointer) => write(self, POINTER, pointer),
            None => fs::remove_optional(&self.file(POINTER)),
        }
    }

    /// The directory of the head that a pointer names, from that of the member.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`.
    pub fn head_of(&self, pointer: &Pointer) -> Result<Self> {
        let git_dir = git_dir_of(self).join(path_of(&pointer.head_git_dir)?);
        Ok(Self::new(&fs::resolved(&git_dir)))
    }

    /// The head's directory: this one, or that which `member.json` leads to. `None`: no workspace, or a damaged pointer, which keeps
    /// nobody from saving what is here. The journal of a swap over all names the head itself.
    ///
    /// # Errors
    /// `NEWER_RECORD`.
    pub fn head(&self) -> Result<Option<Self>> {
        if self.file(MEMBERS).symlink_metadata().is_ok() {
            return Ok(Some(self.clone()));
        }
        let pointer = self.pointer();
        if damaged::is_corrupt(&pointer) {
            return Ok(None);
        }
        pointer?.map(|pointer| self.head_of(&pointer)).transpose()
    }

    /// The journal of a swap over all members, in the head's directory.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`.
    pub fn together(&self) -> Result<Option<TogetherJournal>> {
        read_json(&self.file(TOGETHER))
    }

    /// Whether there is one, without reading it.
    pub fn has_together(&self) -> bool {
        self.file(TOGETHER).symlink_metadata().is_ok()
    }

    /// Writes the journal of a swap over all members, and syncs it.
    pub fn write_together(&self, journal: &TogetherJournal) -> Result<()> {
        write(self, TOGETHER, journal)
    }

    /// Removes the journal of a swap over all members.
    pub fn remove_together(&self) -> Result<()> {
        fs::remove_optional(&self.file(TOGETHER))
    }

    /// The working tree of the head that a pointer names, from the directory of the member. Where git knows of a linked one that it
    /// was moved, git is right.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`.
    pub fn root_of_head(&self, pointer: &Pointer) -> Result<PathBuf> {
        if let Some(root) = linked_root(git_dir_of(&self.head_of(pointer)?)) {
            return Ok(fs::resolved(&root));
        }
        Ok(fs::resolved(
            &git_dir_of(self).join(path_of(&pointer.head)?),
        ))
    }
}

/// Says how to go on with a file that says nothing.
fn with_way_out(error: Error) -> Error {
    if error.code() != Code::CorruptRecord {
        return error;
    }
    let hints = [
        "'tw workspace off' sets it aside, and nothing else is lost",
        "in the head, 'tw workspace add DIR' makes a member again",
    ];
    error.with_hints(hints.map(str::to_owned))
}

fn write<T: Serialize>(dir: &StateDir, name: &str, value: &T) -> Result<()> {
    dir.create()?;
    fs::write_atomic(&dir.file(name), &json::pretty(value), Durable::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_damage_leaves_what_was_set_aside_before() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let dir = StateDir::new(room.path());
        dir.create().expect("made");
        for damage in ["{", "torn"] {
            std::fs::write(dir.file(MEMBERS), damage).expect("written");
            dir.set_damaged_membership_aside().expect("renamed");
            assert!(!dir.has_damaged_membership());
        }
        let read = |end: &str| std::fs::read_to_string(dir.file(&format!("{MEMBERS}{end}")));
        assert_eq!(read(".damaged").expect("there"), "{");
        assert_eq!(read(".damaged-2").expect("there"), "torn");
    }

    #[test]
    fn the_way_leads_there() {
        for (from, to, expected) in [
            ("/a/b", "/a/b", ""),
            ("/a/b", "/a/b/c/d", "c/d"),
            ("/a/b/c", "/a", "../.."),
            ("/a/app", "/a/lib", "../lib"),
            ("/a/app/.git", "/b/lib/.git", "../../../b/lib/.git"),
        ] {
            assert_eq!(way(from.as_ref(), to.as_ref()), expected, "{from} {to}");
        }
    }
}
