//! The directories that are git's own, and a file that `.git` leads to, known by what they are and never by how they are called.
//!
//! A git directory may lie in the working tree under any name: behind a `.git` file or symlink, by `core.worktree`, or as the
//! store that an alternate borrows from. To capture one would be to capture the repository, and to put one back would be to take
//! its later commits away. Owns which directories these are; leaves to scan and plans what follows from that.

use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::fs::Stamp;
use super::objects::ObjectStore;
use super::private;
use super::repo::{Repo, holds_repository, is_git_directory};

/// What in a git directory may be a symlink to where the rest of the repository is. Hooks, `info` and the like are no part of
/// it: people keep them in the working tree on purpose, and track them.
const PARTS: [&str; 5] = ["refs", "reftable", "logs", "worktrees", "timewarp"];

/// A directory, wherever it is reached from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    dev: u64,
    ino: u64,
}

impl Identity {
    fn at(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        let (dev, ino) = (meta.dev(), meta.ino());
        meta.is_dir().then_some(Self { dev, ino })
    }

    /// Of the file that a symlink leads to.
    fn behind_symlink(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        let (dev, ino) = (meta.dev(), meta.ino());
        (path.is_symlink() && meta.is_file()).then_some(Self { dev, ino })
    }
}

/// The directories of one repository, as one of its worktrees sees them.
#[derive(Debug, Clone, Default)]
pub struct OwnDirs {
    dirs: Vec<Identity>,
    /// The file that says where the git directory is, when `.git` is a symlink to it.
    pointer: Option<Identity>,
}

impl OwnDirs {
    /// The git directory, the common one, every object directory, and of an alternate in a repository that repository, whose
    /// refs say what its gc keeps; with what any of them has elsewhere by a symlink. And where the user's private repositories are.
    pub fn of(repo: &Repo, objects: &ObjectStore) -> Self {
        let mut own = Self {
            dirs: Vec::new(),
            pointer: Identity::behind_symlink(&repo.worktree_root().join(".git")),
        };
        for dir in [repo.git_dir(), repo.common_dir()] {
            own.add(dir);
            own.add_linked_parts(dir);
        }
        let worktrees = repo.common_dir().join("worktrees");
        own.add_symlinks_in(&worktrees);
        if let Some(dir) = private::inside(repo.worktree_root(), repo.env()) {
            own.add(&dir);
        }
        for dir in objects.object_dirs() {
            own.add(dir);
            if let Some(above) = dir.parent()
                && above != repo.common_dir()
                && is_git_directory(above)
            {
                own.add(above);
            }
        }
        own
    }

    fn add(&mut self, dir: &Path) {
        let identity = Identity::at(dir);
        self.dirs
            .extend(identity.filter(|found| !self.dirs.contains(found)));
    }

    fn add_linked_parts(&mut self, git_dir: &Path) {
        for part in PARTS.map(|name| git_dir.join(name)) {
            if part.is_symlink() {
                self.add(&part);
            }
        }
    }

    fn add_symlinks_in(&mut self, dir: &Path) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.add(&entry.path());
            }
        }
    }

    /// Whether this directory is one of them. `stamp` is its own: mostly it settles the question.
    pub fn contains(&self, dir: BorrowedFd<'_>, stamp: &Stamp) -> bool {
        let mut alike = self
            .dirs
            .iter()
            .filter(|own| own.ino == stamp.ino)
            .peekable();
        alike.peek().is_some() && device_of(dir).is_some_and(|dev| alike.any(|own| own.dev == dev))
    }

    /// Whether a file with this stamp, in this directory, is what `.git` leads to: without it there is no repository.
    pub fn is_pointer(&self, dir: BorrowedFd<'_>, stamp: &Stamp) -> bool {
        let alike = self.pointer.filter(|own| own.ino == stamp.ino);
        alike.is_some_and(|own| device_of(dir) == Some(own.dev))
    }

    /// Whether the directory at a path, symlinks followed, is one of them.
    pub fn contains_path(&self, dir: &Path) -> bool {
        Identity::at(dir).is_some_and(|found| self.dirs.contains(&found))
    }

    /// Whether a directory is the working tree of another repository, or of another worktree of this one. As for git, this
    /// worktree's own git directory makes none of the directory that holds it.
    pub fn is_nested_repository(&self, dir: &Path) -> bool {
        let is_own = |dot_git: &Path| {
            let found = Identity::at(dot_git);
            found.is_some() && found.as_ref() == self.dirs.first()
        };
        holds_repository(dir) && !is_own(&dir.join(".git"))
    }

    /// Tells one set from another. The numbers of devices are left out: they differ from boot to boot.
    pub fn fingerprint(&self) -> Vec<u8> {
        self.dirs
            .iter()
            .chain(&self.pointer)
            .flat_map(|own| own.ino.to_le_bytes())
            .collect()
    }
}

fn device_of(dir: BorrowedFd<'_>) -> Option<u64> {
    let file = std::fs::File::from(dir.try_clone_to_owned().ok()?);
    Some(file.metadata().ok()?.dev())
}
