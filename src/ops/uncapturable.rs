//! What no snapshot captures and what therefore must not be replaced or removed: where it is, and why it is refused.

use std::fmt;
use std::path::Path;

use crate::git::path;
use crate::text::typed_path;
use crate::worktree::manifest::Kind;

/// Something that no snapshot captures, which keeps a command from what it would do to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uncapturable {
    /// Where it is.
    pub path: Vec<u8>,
    /// Why it is refused.
    pub why: Why,
}

impl Uncapturable {
    /// What is at `path`, refused for this reason.
    pub fn new(path: &[u8], why: Why) -> Self {
        let path = path.to_vec();
        Self { path, why }
    }
}

/// As people read it: the path, and why.
impl fmt::Display for Uncapturable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' ({})", path::display(&self.path), self.why)
    }
}

/// Why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is of a kind that snapshots leave out.
    Kind(Kind),
    /// A directory stands where something else is to be.
    Directory,
    /// Ignored in the present: the backup of the present does not have it.
    IgnoredInThePresent,
    /// The current directory, which is kept, stands where a file is to be.
    CurrentDirectory,
    /// No scan finds it, although it is there whenever its name is asked for.
    ComesAndGoes,
    /// It is another name of something else here, where case does not count.
    SameButForCase,
    /// Another file system is mounted there.
    MountPoint,
    /// It lies in the directory that `tw` keeps for itself in a working tree.
    Desk,
    /// With other ignored files it is more than an experiment may have of them.
    IgnoredAndTooLargeTogether,
    /// It was something else a moment ago.
    ChangedMeanwhile,
    /// It belongs to another user, who lets nobody else change what is in it.
    OfAnotherUser,
    /// It is in the directory of another user, who lets nobody else change the names in it, and which cannot be renamed.
    InAnothersDirectory,
    /// It is nothing that a snapshot could have, or has no name that it could have there.
    CannotBeCaptured,
}

impl Why {
    /// That it is of this kind. None where snapshots have the kind, or do without it.
    pub fn kind(kind: Kind) -> Option<Self> {
        kind.reason()?;
        // For whoever reads it both are names that git refuses.
        let is_name = kind == Kind::StrayGit;
        Some(Self::Kind(if is_name { Kind::UnsafeName } else { kind }))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind(kind) => kind.reason().unwrap_or("cannot be captured"),
            Self::Directory => "directory",
            Self::IgnoredInThePresent => "ignored in the present, whose backup does not have it",
            Self::CurrentDirectory => "the current directory",
            Self::ComesAndGoes => "it comes and goes",
            Self::SameButForCase => "differs from another name only in case",
            Self::MountPoint => "something else is mounted there",
            Self::Desk => "tw's own directory, never captured",
            Self::IgnoredAndTooLargeTogether => {
                "ignored, and larger than the experiment limit together"
            }
            Self::ChangedMeanwhile => "changed meanwhile",
            Self::OfAnotherUser => "only its owner may change what is in it",
            Self::InAnothersDirectory => "only the owner of its directory may change it",
            Self::CannotBeCaptured => "cannot be captured",
        })
    }
}

/// The command that makes the user the owner of a directory, and of nothing in it.
pub fn make_only_dir_own(dir: &Path) -> String {
    format!("sudo chown \"$(id -u):$(id -g)\" {}", typed_path(dir))
}

/// The command that makes the user the owner of all that is in a directory.
pub fn make_own(dir: &Path) -> String {
    format!("sudo chown -R \"$(id -u):$(id -g)\" {}", typed_path(dir))
}
