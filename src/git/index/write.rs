//! From an [`Index`] to the bytes of its file, or of its two files where it is split.

use super::cursor::put_varint;
use super::entries::{
    HEADER, NAME_MASK, ON_DISK_EXTENDED, ON_DISK_INTENT, ON_DISK_SKIP, ON_DISK_VALID,
};
use super::{Entry, Flags, Index, sparse, split};
use crate::git::Oid;
use crate::git::objects::PlainHash;

/// See [`Index::write_bytes`].
pub(super) fn bytes(index: &Index) -> Vec<u8> {
    let folded = sparse::folded(index);
    let index = folded.as_ref().unwrap_or(index);
    let mut out = header(index, index.len());
    let mut names = Names::new(index);
    for (path, entry) in index.iter() {
        names.entry(path, entry, &mut out);
    }
    extensions(index, &mut out);
    if folded.is_some() {
        extension(&mut out, *b"sdir", |_| {});
    }
    finish(index, &mut out);
    out
}

/// An index in two files.
pub(super) struct Split {
    /// The shared file's checksum, which is a part of its name.
    pub(super) id: Oid,
    /// The shared file: all entries, none with a mark of [`Split::MARKS`].
    pub(super) shared: Vec<u8>,
    /// The file that links to it: the entries that have one, and all the rest.
    pub(super) small: Vec<u8>,
}

impl Split {
    /// Outside of the sparse checkout: git folds what is marked so in a shared file, in memory and while it reads, and counts other
    /// entries then than the link does. Added by `git add -N`: of what has such an entry it can make no tree to fold, and dies of it.
    const MARKS: Flags = Flags::SKIP_WORKTREE.union(Flags::INTENT_TO_ADD);
}

/// The two files of a split index. No directory is folded: git folds none of a split index.
pub(super) fn split(index: &Index) -> Split {
    let mut replaced = Vec::new();
    let mut marked = Vec::new();
    for (place, entry) in index.entries().iter().enumerate() {
        if entry.flags != entry.flags.without(Split::MARKS) {
            replaced.push(place);
            marked.push(entry);
        }
    }

    let mut shared = header(index, index.len());
    let mut names = Names::new(index);
    for (path, entry) in index.iter() {
        let mut entry = entry.clone();
        entry.flags = entry.flags.without(Split::MARKS);
        names.entry(path, &entry, &mut shared);
    }
    let id = finish(index, &mut shared);

    let mut small = header(index, marked.len());
    let mut names = Names::new(index);
    for entry in marked {
        // It has the name of the one that it replaces.
        names.entry(b"", entry, &mut small);
    }
    extensions(index, &mut small);
    extension(&mut small, *b"link", |out| {
        split::write_link(id, &replaced, out);
    });
    finish(index, &mut small);
    Split { id, shared, small }
}

fn header(index: &Index, count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + count * 128);
    out.extend_from_slice(b"DIRC");
    out.extend_from_slice(&version(index).to_be_bytes());
    out.extend_from_slice(&length(count));
    out
}

/// Writes entries one after another: version 4 says of a name only what differs from the one before.
struct Names<'a> {
    version: u32,
    last: &'a [u8],
}

impl<'a> Names<'a> {
    fn new(index: &Index) -> Self {
        Self {
            version: version(index),
            last: b"",
        }
    }

    fn entry(&mut self, path: &'a [u8], entry: &Entry, out: &mut Vec<u8>) {
        let start = out.len();
        fixed(out, entry, path.len());
        if self.version == 4 {
            let kept = common(self.last, path);
            put_varint(out, self.last.len() - kept);
            out.extend_from_slice(&path[kept..]);
            out.push(0);
            self.last = path;
        } else {
            out.extend_from_slice(path);
            let len = (out.len() - start + 8) & !7;
            out.resize(start + len, 0);
        }
    }
}

/// The cache tree and resolve-undo.
fn extensions(index: &Index, out: &mut Vec<u8>) {
    if let Some(tree) = &index.cache_tree {
        extension(out, *b"TREE", |out| tree.write(out));
    }
    if let Some(payload) = &index.resolve_undo {
        extension(out, *b"REUC", |out| out.extend_from_slice(payload));
    }
}

/// Appends the checksum of all before it.
fn finish(index: &Index, out: &mut Vec<u8>) -> Oid {
    let checksum = PlainHash::of(index.format, out);
    out.extend_from_slice(checksum.as_bytes());
    checksum
}

/// Version 4 where it was asked for; else 3 when an entry has marks that 2 cannot hold.
fn version(index: &Index) -> u32 {
    let extended = |entry: &Entry| extended(entry.flags) != 0;
    match index.version {
        4 => 4,
        _ if index.entries().iter().any(extended) => 3,
        _ => 2,
    }
}

/// Stat data, mode, id and flags.
fn fixed(out: &mut Vec<u8>, entry: &Entry, name_len: usize) {
    let stat = &entry.stat;
    let words = [
        stat.ctime.0,
        stat.ctime.1,
        stat.mtime.0,
        stat.mtime.1,
        stat.dev,
        stat.ino,
        entry.mode,
        stat.uid,
        stat.gid,
        stat.size,
    ];
    let mut first = [0; 40];
    let (places, _) = first.as_chunks_mut();
    for (place, word) in places.iter_mut().zip(words) {
        *place = word.to_be_bytes();
    }
    out.extend_from_slice(&first);
    out.extend_from_slice(entry.oid.as_bytes());
    let mut flags = u16::try_from(name_len).map_or(NAME_MASK, |len| len.min(NAME_MASK));
    flags |= u16::from(entry.stage & 3) << 12;
    if entry.flags.contains(Flags::ASSUME_VALID) {
        flags |= ON_DISK_VALID;
    }
    let extended = extended(entry.flags);
    if extended != 0 {
        flags |= ON_DISK_EXTENDED;
    }
    out.extend_from_slice(&flags.to_be_bytes());
    if extended != 0 {
        out.extend_from_slice(&extended.to_be_bytes());
    }
}

/// The second flags word; zero when none is needed.
fn extended(flags: Flags) -> u16 {
    let mut bits = 0;
    if flags.contains(Flags::SKIP_WORKTREE) {
        bits |= ON_DISK_SKIP;
    }
    if flags.contains(Flags::INTENT_TO_ADD) {
        bits |= ON_DISK_INTENT;
    }
    bits
}

/// Appends an extension, whose length is known once `payload` has written it.
fn extension(out: &mut Vec<u8>, name: [u8; 4], payload: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&name);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    payload(out);
    let len = length(out.len() - start - 4);
    out[start..start + 4].copy_from_slice(&len);
}

/// A count or length as the file has it.
pub(super) fn length(count: usize) -> [u8; 4] {
    u32::try_from(count)
        .expect("entries and extensions of an index in memory stay under 4 GiB")
        .to_be_bytes()
}

/// How many bytes two paths have in common at their start.
fn common(left: &[u8], right: &[u8]) -> usize {
    let pairs = left.iter().zip(right);
    pairs.take_while(|(left, right)| left == right).count()
}
