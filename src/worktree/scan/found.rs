//! What a scan found, to be put onto the earlier manifest or in its place.

use std::borrow::Cow;

use super::Way;
use super::merge::{assemble, put_on};
use crate::git::fs::Stamp;
use crate::worktree::manifest::{DirFlags, FileRec, Ignored, Manifest, Name};

/// What is to be put onto the earlier manifest, or in its place.
#[derive(Debug)]
pub struct Findings {
    pub(super) way: Way,
    pub(super) found: Vec<FoundDir>,
    /// Which of the known directories are the same, on the fast way.
    pub(super) same: Vec<bool>,
}

impl Findings {
    /// The new manifest; files flagged `TO_HASH` have no object id yet, directories flagged `DIRTY` no tree. `old`: the
    /// manifest that was given to the scan.
    pub fn onto(self, old: Option<Cow<'_, Manifest>>) -> Manifest {
        match (self.way, old) {
            (Way::Fast, Some(old)) => put_on(old, &self.same, self.found),
            (_, old) => assemble(old.as_deref(), self.found),
        }
    }
}

/// One directory as a worker found it.
#[derive(Debug)]
pub(super) struct FoundDir {
    /// Its place in the earlier manifest, on the fast way.
    pub(super) known: Option<usize>,
    /// Empty where its names were not read again.
    pub(super) path: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) flags: DirFlags,
    pub(super) names: Names,
}

#[derive(Debug)]
pub(super) enum Names {
    /// Those of the earlier manifest; the records at these places differ.
    Known(Vec<(usize, FileRec)>),
    /// All that are there.
    Read(ReadNames),
}

/// The names of a directory that was read, sorted.
#[derive(Debug, Default)]
pub(super) struct ReadNames {
    pub(super) files: Vec<FoundFile>,
    /// The bytes of those that are new, one after the other.
    pub(super) bytes: Vec<u8>,
    /// What git ignores among them, which has no record of its own.
    pub(super) ignored: Ignored,
}

#[derive(Debug)]
pub(super) struct FoundFile {
    /// Whether its name is among the bytes of [`ReadNames`], and not one of the earlier manifest.
    pub(super) is_new: bool,
    pub(super) rec: FileRec,
}

impl ReadNames {
    pub(super) fn with_capacity(files: usize) -> Self {
        Self {
            files: Vec::with_capacity(files),
            // On the fast way most names are the earlier manifest's: no room is made for bytes.
            bytes: Vec::new(),
            ignored: Ignored::default(),
        }
    }

    /// Adds what has a new name.
    pub(super) fn push_new(&mut self, name: &[u8], rec: FileRec) {
        let start = u32::try_from(self.bytes.len()).expect("names stay under 4 GiB");
        let len = u32::try_from(name.len()).expect("a name stays under 4 GiB");
        self.bytes.extend_from_slice(name);
        self.files.push(FoundFile {
            is_new: true,
            rec: FileRec {
                name: Name { start, len },
                ..rec
            },
        });
    }

    /// The bytes of a file's name.
    pub(super) fn name_of<'f>(&'f self, file: &FoundFile, old: &'f Manifest) -> &'f [u8] {
        if !file.is_new {
            return old.bytes(file.rec.name);
        }
        let Name { start, len } = file.rec.name;
        let (start, len) = (start as usize, len as usize);
        self.bytes.get(start..start + len).unwrap_or_default()
    }
}
