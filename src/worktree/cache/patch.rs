//! A patch of a cache file: what differs from the base, and all of the meta document.
//!
//! A directory is in it whole, with all its files, as soon as one record differs. There is none where directories came or went,
//! where names moved, or where a good part of the files would be in it.

use super::records::{
    DIR, FILE, Frame, HEADER, header, is_whole, number_of, put_dir, put_file, read_dir, seal,
};
use super::{Base, Known, Meta};
use crate::worktree::manifest::{DirRec, Manifest};

const MAGIC: [u8; 8] = *b"twpatch\n";
const VERSION: u32 = 1;

/// One of so many files may be in a patch.
const PART: usize = 4;

/// A patch that belongs to its base.
pub(super) struct Patch {
    bytes: Vec<u8>,
    frame: Frame,
}

impl Patch {
    fn part(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn files(&self, first: u32, end: u32) -> &[u8] {
        let at = |index: u32| self.frame.files_at + index as usize * FILE;
        self.part(at(first), at(end))
    }

    pub(super) fn names(&self) -> &[u8] {
        self.part(self.frame.names_at, self.bytes.len())
    }
}

/// Puts a patch onto its base; on any doubt, and when it belongs to another, the base is left as it is.
pub(super) fn add(known: &mut Known, bytes: Vec<u8>) {
    let Some(frame) = Frame::read(&bytes, MAGIC, VERSION) else {
        return;
    };
    let belongs = frame.id == known.base.frame.id
        && known.base.frame.names.checked_add(frame.names).is_some()
        && known
            .base
            .frame
            .files()
            .checked_add(frame.files())
            .is_some();
    if !belongs || !is_whole(&bytes) {
        return;
    }
    let patch = Patch { bytes, frame };
    let meta = serde_json::from_slice(patch.part(HEADER, frame.dirs_at));
    let (Ok(meta), Some(dirs)) = (meta, changed(known, &patch)) else {
        return;
    };
    for (at, dir) in dirs {
        known.dirs[at] = dir;
    }
    known.meta = meta;
    known.patch = Some(patch);
}

/// The directories of a patch, with their places; `None` when one cannot be right.
fn changed(known: &Known, patch: &Patch) -> Option<Vec<(usize, DirRec)>> {
    let behind = known.base.frame.files();
    let mut next = behind;
    let mut dirs = Vec::with_capacity(patch.frame.dirs());
    let records = patch.part(patch.frame.dirs_at, patch.frame.files_at);
    for record in records.chunks_exact(DIR) {
        let (at, dir) = (number_of(record)?, read_dir(record)?);
        let base = known.dirs.get(at)?;
        let sound = dir.path == base.path
            && dir.parent == base.parent
            && dir.first == next
            && dir.end >= dir.first;
        next = dir.end;
        sound.then(|| dirs.push((at, dir)))?;
    }
    (next - behind == patch.frame.files()).then_some(dirs)
}

/// The patch that makes a manifest of the base; `None` where there is none that is worth it.
pub(super) fn encode(base: &Base, manifest: &Manifest, meta: &Meta) -> Option<Vec<u8>> {
    let names = base.names();
    if base.dirs().len() != manifest.dirs.len() || !manifest.names.starts_with(names) {
        return None;
    }
    let behind = base.frame.files();
    let most = behind as usize / PART + 64;
    let (mut dirs, mut files) = (Vec::new(), Vec::new());
    let mut record = Vec::with_capacity(FILE);
    for (at, (old, dir)) in base.dirs().zip(&manifest.dirs).enumerate() {
        let old = read_dir(old)?;
        if old.path != dir.path || old.parent != dir.parent {
            return None;
        }
        let here = manifest.files_of(dir);
        let is_same = old.flags == dir.flags && old.stamp == dir.stamp && old.tree == dir.tree;
        let known = base.files(old.first, old.end);
        let is_same = is_same
            && known.len() == here.len() * FILE
            && here
                .iter()
                .zip(known.chunks_exact(FILE))
                .all(|(file, known)| {
                    record.clear();
                    put_file(&mut record, file);
                    record == known
                });
        if is_same {
            continue;
        }
        let first = behind.checked_add(u32::try_from(files.len() / FILE).ok()?)?;
        for file in here {
            put_file(&mut files, file);
        }
        let end = behind.checked_add(u32::try_from(files.len() / FILE).ok()?)?;
        put_dir(
            &mut dirs,
            &DirRec { first, end, ..*dir },
            u32::try_from(at).ok()?,
        );
        if files.len() / FILE > most {
            return None;
        }
    }
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
