//! A patch of a cache file: what differs from the base, and all of the meta document.
//!
//! As soon as one of its files differs all files of a directory are in it; of one that differs itself alone, its own record. No
//! names are in it but those that the base does not have and something in it needs. There is no patch where a good part of
//! the files would be in it, or for a manifest that does not stand on the base.

use super::records::{Magic, change_of, dir_size, header, put_dir, read_dir, seal};
use super::{Framed, Meta, are_in_order};
use crate::git::ObjectFormat;
use crate::git::mapped::Bytes;
use crate::worktree::manifest::cached::{self, are_right};
use crate::worktree::manifest::{DirRec, FileRec, Manifest, Name, preorder};

pub(super) const MAGIC: Magic = (*b"twpatch\n", 5);

/// One in this many files may be in a patch.
const PART: usize = 4;

/// What a directory of a patch is to the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It comes before the base's directory of that number.
    Comes,
    /// It stands for the base's directory of that number.
    Differs,
    /// The base's directory of that number is gone.
    Goes,
}

impl Change {
    /// The change with this number.
    pub(super) fn from_u8(number: u8) -> Option<Self> {
        [Self::Comes, Self::Differs, Self::Goes]
            .into_iter()
            .find(|change| *change as u8 == number)
    }
}

/// The base, which may be in no order, with a patch put onto it, and what that was made under; `None` on any doubt, and when it
/// belongs to another base.
pub(super) fn put_on(
    base: &Manifest,
    bytes: Vec<u8>,
    format: ObjectFormat,
) -> Option<(Manifest, Meta)> {
    let patch = Framed::open(Bytes::Read(bytes), MAGIC, format)?;
    let cached = base.cached()?;
    if patch.frame.id != cached.id() || !patch.is_whole() {
        return None;
    }
    u32::try_from(base.cached_names().checked_add(patch.names().len())?).ok()?;
    let files = cached::records(patch.files(), format);
    u32::try_from(files.len())
        .ok()?
        .checked_add(cached.count())?;
    let mut manifest = base.without_dirs();
    manifest.intern(patch.names());
    let is_there = |name: Name| manifest.bytes(name).len() == name.len as usize;
    are_right(patch.files(), format, is_there).then_some(())?;
    for file in files.iter() {
        manifest.push_file(file);
    }
    manifest.dirs = changed(base, &patch)?;
    let meta = serde_json::from_slice(patch.meta()).ok()?;
    are_in_order(&manifest).then_some((manifest, meta))
}

/// The directories of the base as the patch has them; `None` when a record cannot be right.
fn changed(base: &Manifest, patch: &Framed) -> Option<Vec<DirRec>> {
    let behind = base.cached_files();
    let mut next = behind;
    let mut dirs = Vec::with_capacity(base.dirs.len() + patch.dirs().len());
    let mut places: Vec<Option<u32>> = Vec::with_capacity(base.dirs.len());
    for record in patch.dirs() {
        let ((number, change), dir) = (change_of(record)?, read_dir(record, patch.frame.format)?);
        let unchanged = base.dirs.get(places.len()..number)?;
        keep(unchanged, &mut dirs, &mut places)?;
        // Its files are those of the base, or the next of the patch.
        let (parent, of_base) = match change {
            Change::Goes => {
                base.dirs.get(number)?;
                places.push(None);
                continue;
            }
            // Its parent is told by the place among these.
            Change::Comes => (dir.parent, false),
            Change::Differs => {
                let known = base.dirs.get(number)?;
                let parent = parent_of(known, &places)?;
                places.push(Some(u32::try_from(dirs.len()).ok()?));
                let same_files = (known.first, known.end) == (dir.first, dir.end);
                (parent, same_files)
            }
        };
        if !of_base {
            (dir.first == next && dir.end >= dir.first).then_some(())?;
            next = dir.end;
        }
        dirs.push(DirRec { parent, ..dir });
    }
    keep(base.dirs.get(places.len()..)?, &mut dirs, &mut places)?;
    let files = patch.files().len() / cached::size(patch.frame.format);
    ((next - behind) as usize == files).then_some(dirs)
}

/// Takes over directories that the patch says nothing of.
fn keep(unchanged: &[DirRec], dirs: &mut Vec<DirRec>, places: &mut Vec<Option<u32>>) -> Option<()> {
    for dir in unchanged {
        places.push(Some(u32::try_from(dirs.len()).ok()?));
        let parent = parent_of(dir, places)?;
        dirs.push(DirRec { parent, ..*dir });
    }
    Some(())
}

/// Where the parent of a directory of the base is now.
fn parent_of(dir: &DirRec, places: &[Option<u32>]) -> Option<u32> {
    match dir.path.len {
        0 => Some(0),
        _ => *places.get(dir.parent as usize)?,
    }
}

/// The patch that makes a manifest of the base; `None` where there is none that is worth it, and where the manifest does not
/// stand on this base.
pub(super) fn encode(base: &Framed, manifest: &Manifest, meta: &Meta) -> Option<Vec<u8>> {
    // Another process has written the cache since it was loaded: places and names would be those of another file.
    if manifest.cached()?.id() != base.frame.id {
        return None;
    }
    let format = base.frame.format;
    let mut builder = PatchBuilder {
        manifest,
        format,
        // With some to spare: in a small tree a quarter would be passed by a handful of changes.
        most: manifest.cached_files() as usize / PART + 64,
        dirs: Vec::new(),
        files: Vec::new(),
        names: Vec::new(),
    };
    builder.compare(base)?;
    let PatchBuilder {
        dirs, files, names, ..
    } = builder;
    let meta = serde_json::to_vec(meta).expect("plain data serialises");
    let lengths = [
        meta.len(),
        dirs.len() / dir_size(format),
        files.len() / cached::size(format),
        names.len(),
    ];
    let mut out = header(MAGIC, format, base.frame.id, lengths);
    out.reserve_exact(meta.len() + dirs.len() + files.len() + names.len());
    for part in [&meta, &dirs, &files, &names] {
        out.extend_from_slice(part);
    }
    seal(&mut out);
    Some(out)
}

/// A patch that is being made.
struct PatchBuilder<'a> {
    manifest: &'a Manifest,
    format: ObjectFormat,
    /// This many files are too many.
    most: usize,
    /// Records.
    dirs: Vec<u8>,
    files: Vec<u8>,
    /// Names that the base does not have, and are needed.
    names: Vec<u8>,
}

impl PatchBuilder<'_> {
    fn compare(&mut self, base: &Framed) -> Option<()> {
        let manifest = self.manifest;
        let mut here = manifest.dirs.iter().peekable();
        for (number, record) in base.dirs().enumerate() {
            let old = read_dir(record, self.format)?;
            let path = manifest.dir_path(&old);
            while let Some(dir) = here.next_if(|dir| {
                old.path != dir.path && preorder(manifest.dir_path(dir), path).is_lt()
            }) {
                self.put(dir, number, None)?;
            }
            match here.next_if(|dir| dir.path == old.path) {
                Some(dir) if self.is_same(&old, dir) => {}
                Some(dir) => self.put(dir, number, Some(&old))?,
                None => self.put_change(&old, number, Change::Goes)?,
            }
        }
        let end = base.dirs().len();
        here.try_for_each(|dir| self.put(dir, end, None))
    }

    /// Whether a directory stands in the base as it is here. Where its parent is follows from the others.
    fn is_same(&self, old: &DirRec, dir: &DirRec) -> bool {
        old.flags == dir.flags
            && old.stamp == dir.stamp
            && old.tree == dir.tree
            && old.ignored == dir.ignored
            && (self.has_files_of(old, dir) || self.has_equal_files(old, dir))
    }

    /// Whether a directory's files are those of the base, where they stand.
    fn has_files_of(&self, old: &DirRec, dir: &DirRec) -> bool {
        self.manifest.is_cached(dir) && (old.first, old.end) == (dir.first, dir.end)
    }

    fn has_equal_files(&self, old: &DirRec, dir: &DirRec) -> bool {
        let (old, new) = (self.manifest.files_of(old), self.manifest.files_of(dir));
        old.len() == new.len() && old.iter().eq(new.iter())
    }

    /// Puts a directory that stands for one of the base, or comes before the one of that number.
    fn put(&mut self, dir: &DirRec, number: usize, old: Option<&DirRec>) -> Option<()> {
        let manifest = self.manifest;
        let path = self.name(dir.path)?;
        // Behind the base's.
        let size = cached::size(self.format);
        let place = |files: &Vec<u8>| {
            let nth = u32::try_from(files.len() / size).ok()?;
            manifest.cached_files().checked_add(nth)
        };
        let (mut first, mut end) = (dir.first, dir.end);
        if !old.is_some_and(|old| self.has_files_of(old, dir)) {
            first = place(&self.files)?;
            for file in manifest.files_of(dir).iter() {
                let name = self.name(file.name)?;
                cached::put(&mut self.files, self.format, &FileRec { name, ..file });
            }
            end = place(&self.files)?;
        }
        let dir = DirRec {
            path,
            first,
            end,
            ..*dir
        };
        let change = old.map_or(Change::Comes, |_| Change::Differs);
        self.put_change(&dir, number, change)?;
        (self.files.len() / size <= self.most).then_some(())
    }

    /// The name as the patch has it: the base's, or one of its own.
    fn name(&mut self, name: Name) -> Option<Name> {
        let behind = self.manifest.cached_names();
        if (name.start as usize) < behind || name.len == 0 {
            return Some(name);
        }
        let start = u32::try_from(behind + self.names.len()).ok()?;
        self.names.extend_from_slice(self.manifest.bytes(name));
        Some(Name { start, ..name })
    }

    fn put_change(&mut self, dir: &DirRec, number: usize, change: Change) -> Option<()> {
        let number = u32::try_from(number).ok()?;
        put_dir(&mut self.dirs, self.format, dir, (number, change as u8));
        Some(())
    }
}
