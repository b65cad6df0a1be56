//! Nested repositories, and a `.git` that makes none.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::git::fs::{Root, Stamp};
use crate::git::own::OwnDirs;
use crate::git::path;
use crate::worktree::manifest::{DirRec, FileRec, Kind, Manifest};

/// Tells the working trees of other repositories.
pub(super) struct Nested<'a> {
    pub(super) root: &'a Root,
    pub(super) own: &'a OwnDirs,
}

impl Nested<'_> {
    fn path(&self, full: &[u8]) -> PathBuf {
        self.root.path().join(OsStr::from_bytes(full))
    }

    /// Whether the directory is one.
    pub(super) fn is_repository(&self, dir: &[u8]) -> bool {
        self.own.is_nested_repository(&self.path(dir))
    }

    /// What the name `.git` is in a directory.
    pub(super) fn kind_of_dot_git(&self, dir: &[u8]) -> Kind {
        let dot_git = self.path(&path::join(dir, b".git"));
        if self.own.contains_path(&dot_git) {
            Kind::GitDirectory
        } else if self.is_repository(dir) {
            Kind::Nested
        } else {
            Kind::StrayGit
        }
    }

    /// Whether a record still says what is there, of a nested repository or of a `.git` that makes none.
    pub(super) fn is_as_before(
        &self,
        old: &Manifest,
        dir: &DirRec,
        file: &FileRec,
        now: &Stamp,
    ) -> bool {
        let full = old.path_of(dir, file);
        match old.bytes(file.name) {
            b".git" => (file.kind == Kind::Nested) == self.is_repository(old.dir_path(dir)),
            _ => now.is_dir() && self.is_repository(&full),
        }
    }
}
