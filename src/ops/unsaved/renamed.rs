//! What has another name in the past than in the present that its stay left.
//!
//! The undo of a return gives what that had renamed, to be out of its way, its name of the past again, and the next way home the present's.
//! Both names are noted before anything is renamed, and which file it is: what somebody put under one of them meanwhile keeps its name.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::Unsaved;
use crate::error::{Result, ResultExt};
use crate::git::fs::{Root, rename_to_free};
use crate::git::path;
use crate::store::state::{path_from_stored, stored_path};

/// One of them. Both names are in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// Its name in the past.
    pub past: Vec<u8>,
    /// Its name in the present.
    pub present: Vec<u8>,
    inode: u64,
}

/// Whose name it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOf {
    /// That of the past.
    Past,
    /// That of the present.
    Present,
}

/// As it is noted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    past: String,
    present: String,
    inode: u64,
}

impl From<&Renamed> for Stored {
    fn from(renamed: &Renamed) -> Self {
        Self {
            past: stored_path(&renamed.past),
            present: stored_path(&renamed.present),
            inode: renamed.inode,
        }
    }
}

impl Stored {
    pub(super) fn read(&self) -> Option<Renamed> {
        Some(Renamed {
            past: path_from_stored(&self.past)?,
            present: path_from_stored(&self.present)?,
            inode: self.inode,
        })
    }
}

impl Renamed {
    fn name(&self, of: NameOf) -> &[u8] {
        match of {
            NameOf::Past => &self.past,
            NameOf::Present => &self.present,
        }
    }

    /// Whether it is there under this name.
    pub fn has_name(&self, root: &Root, of: NameOf) -> bool {
        let stamp = root.stamp(self.name(of)).ok().flatten();
        stamp.is_some_and(|stamp| stamp.ino == self.inode)
    }

    /// Gives it this name, when it has the other one. Whether it has it now.
    ///
    /// # Errors
    /// `EXIST` where something else has it; what the file system says.
    pub fn give(&self, root: &Root, of: NameOf) -> rustix::io::Result<bool> {
        let other = match of {
            NameOf::Past => NameOf::Present,
            NameOf::Present => NameOf::Past,
        };
        if !self.has_name(root, other) {
            return Ok(self.has_name(root, of));
        }
        let (dir, from) = path::split(self.name(other));
        let to = path::split(self.name(of)).1;
        let dir = root.open_dir(dir)?;
        let rename = || rename_to_free(dir.as_fd(), from, to);
        match rename() {
            // As a submodule of the present has, that was not checked out in the past.
            Err(Errno::EXIST) if of == NameOf::Present => {
                rustix::fs::unlinkat(&dir, OsStr::from_bytes(to), AtFlags::REMOVEDIR)
                    .map_err(|_| Errno::EXIST)?;
                rename()
            }
            renamed => renamed,
        }
        .map(|()| true)
    }
}

/// Gives all of them this name, each once it is free. What could not have it, and why.
pub fn give_all<'r>(root: &Root, all: &'r [Renamed], of: NameOf) -> Vec<(&'r Renamed, Errno)> {
    let mut left: Vec<&Renamed> = all.iter().collect();
    if of == NameOf::Past {
        // A directory over one of them was renamed after it.
        left.reverse();
    }
    loop {
        let tried = left.len();
        let given = left.into_iter().map(|one| (one, one.give(root, of)));
        let failed: Vec<_> = given
            .filter_map(|(one, given)| Some((one, given.err()?)))
            .collect();
        if failed.is_empty() || failed.len() == tried {
            return failed;
        }
        left = failed.into_iter().map(|(one, _)| one).collect();
    }
}

impl Unsaved {
    /// Takes note, in the present, of what gets its old name when the past begins. `pairs`: old and new names, in the order in which it was
    /// renamed.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn rename_in_past(&mut self, root: &Root, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        for (nth, (from, to)) in pairs.iter().enumerate() {
            let stamp_at = |at: &[u8]| {
                let stamp = root.stamp(at);
                stamp.context(|| format!("cannot inspect '{}'", path::display(at)))
            };
            let mut stamp = stamp_at(to)?;
            if stamp.is_none() {
                // A directory over it was renamed after it.
                let later = pairs.iter().skip(nth + 1);
                stamp = stamp_at(&later.fold(to.clone(), |at, (from, to)| {
                    if path::is_within(&at, from) {
                        [to, &at[from.len()..]].concat()
                    } else {
                        at
                    }
                }))?;
            }
            self.renamed.extend(stamp.map(|stamp| Renamed {
                past: from.clone(),
                present: to.clone(),
                inode: stamp.ino,
            }));
        }
        Ok(())
    }

    /// Whether a path is, or lies in, the name that something of the present has in the past.
    pub fn has_old_name(&self, path: &[u8]) -> bool {
        let mut all = self.renamed.iter();
        all.any(|one| path::is_within(path, &one.past))
    }

    /// Whether a path of the present is, or lies in, what has its name of the past now.
    pub fn is_under_old_name(&self, root: &Root, path: &[u8]) -> bool {
        let mut all = self.renamed.iter();
        all.any(|one| path::is_within(path, &one.present) && one.has_name(root, NameOf::Past))
    }
}
