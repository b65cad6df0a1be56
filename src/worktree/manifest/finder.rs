//! Finds names of a manifest in the order of git's index.

use std::cell::Cell;

use super::{FileRec, Manifest};
use crate::git::path;

/// Finds names of a manifest that are asked for in the order of git's index, or nearly so: the directory and the place of the
/// last answer are where it looks first.
#[derive(Debug)]
pub struct Finder<'a> {
    manifest: &'a Manifest,
    /// The directory last asked about, and where its next name would be.
    last: Cell<Option<(usize, usize)>>,
}

impl<'a> Finder<'a> {
    /// Over a manifest.
    pub fn new(manifest: &'a Manifest) -> Self {
        Self {
            manifest,
            last: Cell::new(None),
        }
    }

    /// The name at a path.
    pub fn file(&self, path: &[u8]) -> Option<FileRec> {
        let manifest = self.manifest;
        let (dir_path, name) = path::split(path);
        let known = self.last.get().and_then(|(at, next)| {
            let dir = manifest.dirs.get(at)?;
            (manifest.dir_path(dir) == dir_path).then_some((at, next))
        });
        let (at, next) = match known {
            Some(known) => known,
            None => (manifest.find_dir(dir_path)?, 0),
        };
        let dir = manifest.dirs.get(at)?;
        let files = manifest.files_of(dir);
        if files
            .name(next)
            .is_some_and(|it| manifest.bytes(it) == name)
        {
            self.last.set(Some((at, next + 1)));
            return files.get(next);
        }
        let found = manifest.find_in(dir, name)?;
        self.last.set(Some((at, found + 1)));
        files.get(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fs::Stamp;
    use crate::worktree::manifest::{DirFlags, DirRec, FileFlags, Kind, no_oid};

    #[test]
    fn a_finder_finds_what_the_manifest_has_in_any_order() {
        type Names<'n> = &'n [&'n [u8]];
        let mut manifest = Manifest::default();
        let dirs: [(&[u8], u32, Names<'_>); 4] = [
            (b"", 0, &[b"a", b"c", b"z"]),
            (b"b", 0, &[b"1", b"2"]),
            (b"b/d", 1, &[]),
            (b"b.c", 0, &[b"1"]),
        ];
        for (dir, parent, names) in dirs {
            let first = manifest.next_place();
            for name in names {
                let name = manifest.intern(name);
                manifest.push_file(FileRec {
                    name,
                    kind: Kind::File,
                    flags: FileFlags::NONE,
                    stamp: Stamp::default(),
                    git_mode: 0o100_644,
                    oid: no_oid(),
                });
            }
            let path = manifest.intern(dir);
            manifest.dirs.push(DirRec {
                path,
                parent,
                first,
                end: manifest.next_place(),
                flags: DirFlags::NONE,
                stamp: Stamp::default(),
                tree: no_oid(),
                ignored: Default::default(),
            });
        }
        let paths: [&[u8]; 11] = [
            b"a", b"b/1", b"b/2", b"b/3", b"b/d/1", b"b.c/1", b"c", b"d", b"z", b"no/1", b"b",
        ];
        let finder = Finder::new(&manifest);
        for first in paths {
            for second in paths {
                for path in [first, second] {
                    let (one, other) = (finder.file(path), manifest.file(path));
                    assert_eq!(one.map(|file| file.name), other.map(|file| file.name));
                    assert_eq!(one.is_some(), other.is_some(), "{path:?}");
                }
            }
        }
    }
}
