//! A patch of a cache file: what differs from the base, and all of the meta document.
//!
//! A directory is in it whole, with all its files, as soon as one record differs. There is none where names moved, or where a
//! good part of the files would be in it.

use super::records::{Bytes, DIR, FILE, change_of, header, put_dir, put_file, read_dir, seal};
use super::{Framed, Known, Meta, Source, are_in_order};
use crate::worktree::manifest::{DirRec, Manifest, preorder};

const MAGIC: [u8; 8] = *b"twpatch\n";
const VERSION: u32 = 1;

/// One of so many files may be in a patch.
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

/// Puts a patch onto its base; on any doubt, and when it belongs to another, the base is left as it is.
pub(super) fn add(known: &mut Known, bytes: Vec<u8>) {
    let Some(patch) = Framed::open(Source::Read(bytes), MAGIC, VERSION) else {
        return;
    };
    let (base, more) = (known.base.frame, patch.frame);
    let belongs = more.id == base.id
        && base.names.checked_add(more.names).is_some()
        && base.files().checked_add(more.files()).is_some();
    if !belongs || !patch.is_whole() {
        return;
    }
    let names = Bytes {
        base: known.base.names(),
        more: patch.names(),
    };
    let dirs = changed(known, &patch).filter(|dirs| are_in_order(dirs, &names));
    if let (Some(dirs), Some(meta)) = (dirs, patch.meta()) {
        known.dirs = dirs;
        known.meta = meta;
        known.patch = Some(patch);
    }
}

/// The directories of the base as the patch has them; `None` when a record cannot be right.
fn changed(known: &Known, patch: &Framed) -> Option<Vec<DirRec>> {
    let behind = known.base.frame.files();
    let mut next = behind;
    let mut dirs = Vec::with_capacity(known.dirs.len() + patch.frame.dirs());
    let mut places: Vec<Option<u32>> = Vec::with_capacity(known.dirs.len());
    for record in patch.dirs() {
        let ((number, change), dir) = (change_of(record)?, read_dir(record)?);
        let unchanged = known.dirs.get(places.len()..number)?;
        keep(unchanged, &mut dirs, &mut places)?;
        if change == Change::Goes {
            known.dirs.get(number)?;
            places.push(None);
            continue;
        }
        let sound = dir.first == next && dir.end >= dir.first;
        next = dir.end;
        let parent = match change {
            // Its place among these.
            Change::Comes => dir.parent,
            _ => parent_of(known.dirs.get(number)?, &places)?,
        };
        if change == Change::Differs {
            places.push(Some(u32::try_from(dirs.len()).ok()?));
        }
        sound.then(|| dirs.push(DirRec { parent, ..dir }))?;
    }
    keep(known.dirs.get(places.len()..)?, &mut dirs, &mut places)?;
    (next - behind == patch.frame.files()).then_some(dirs)
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

/// The patch that makes a manifest of the base; `None` where there is none that is worth it.
pub(super) fn encode(base: &Framed, manifest: &Manifest, meta: &Meta) -> Option<Vec<u8>> {
    let names = base.names();
    if !manifest.names.starts_with(names) {
        return None;
    }
    let mut making = Making {
        base,
        manifest,
        most: base.frame.files() as usize / PART + 64,
        dirs: Vec::new(),
        files: Vec::new(),
    };
    making.compare()?;
    let Making { dirs, files, .. } = making;
    let meta = serde_json::to_vec(meta).expect("plain data serialises");
    let more = manifest.names.get(names.len()..)?;
    let lengths = [meta.len(), dirs.len() / DIR, files.len() / FILE, more.len()];
    let mut out = header(MAGIC, VERSION, base.frame.id, lengths);
    for part in [&meta[..], &dirs, &files, more] {
        out.extend_from_slice(part);
    }
    seal(&mut out);
    Some(out)
}

/// A patch that is being made.
struct Making<'a> {
    base: &'a Framed,
    manifest: &'a Manifest,
    /// So many files are too many.
    most: usize,
    /// Records.
    dirs: Vec<u8>,
    files: Vec<u8>,
}

impl Making<'_> {
    fn compare(&mut self) -> Option<()> {
        let manifest = self.manifest;
        let mut here = manifest.dirs.iter().peekable();
        for (number, record) in self.base.dirs().enumerate() {
            let old = read_dir(record)?;
            let path = manifest.bytes(old.path);
            while let Some(dir) = here.next_if(|dir| {
                old.path != dir.path && preorder(manifest.dir_path(dir), path).is_lt()
            }) {
                self.put(dir, number, Change::Comes)?;
            }
            match here.next_if(|dir| dir.path == old.path) {
                Some(dir) if self.is_same(&old, dir) => {}
                Some(dir) => self.put(dir, number, Change::Differs)?,
                None => put_change(&mut self.dirs, &old, number, Change::Goes)?,
            }
        }
        let end = self.base.dirs().len();
        here.try_for_each(|dir| self.put(dir, end, Change::Comes))
    }

    /// Whether a directory, with its files, stands in the base as it is here. Where its parent is follows from the others.
    fn is_same(&self, old: &DirRec, dir: &DirRec) -> bool {
        let files = self.manifest.files_of(dir);
        let known = self.base.files(old.first, old.end);
        let mut record = Vec::with_capacity(FILE);
        old.flags == dir.flags
            && old.stamp == dir.stamp
            && old.tree == dir.tree
            && known.len() == files.len() * FILE
            && files
                .iter()
                .zip(known.chunks_exact(FILE))
                .all(|(file, known)| {
                    record.clear();
                    put_file(&mut record, file);
                    record == known
                })
    }

    fn put(&mut self, dir: &DirRec, number: usize, change: Change) -> Option<()> {
        let behind = |files: &Vec<u8>| {
            let nth = u32::try_from(files.len() / FILE).ok()?;
            self.base.frame.files().checked_add(nth)
        };
        let first = behind(&self.files)?;
        for file in self.manifest.files_of(dir) {
            put_file(&mut self.files, file);
        }
        let end = behind(&self.files)?;
        put_change(
            &mut self.dirs,
            &DirRec { first, end, ..*dir },
            number,
            change,
        )?;
        (self.files.len() / FILE <= self.most).then_some(())
    }
}

fn put_change(dirs: &mut Vec<u8>, dir: &DirRec, number: usize, change: Change) -> Option<()> {
    put_dir(dirs, dir, (u32::try_from(number).ok()?, change as u8));
    Some(())
}
