//! From an [`Index`] to the bytes of its file.

use super::cursor::put_varint;
use super::entries::{
    HEADER, NAME_MASK, ON_DISK_EXTENDED, ON_DISK_INTENT, ON_DISK_SKIP, ON_DISK_VALID,
};
use super::{Entry, Flags, Index, sparse};
use crate::git::objects::PlainHash;

/// See [`Index::write_bytes`].
pub(super) fn bytes(index: &Index) -> Vec<u8> {
    let folded = sparse::folded(index);
    let index = folded.as_ref().unwrap_or(index);
    let version = version(index);
    let mut out = Vec::with_capacity(HEADER + index.len() * 128);
    out.extend_from_slice(b"DIRC");
    out.extend_from_slice(&version.to_be_bytes());
    out.extend_from_slice(&length(index.len()));
    let mut last: &[u8] = b"";
    for (path, entry) in index.iter() {
        let start = out.len();
        fixed(&mut out, entry, path.len());
        if version == 4 {
            let kept = common(last, path);
            put_varint(&mut out, last.len() - kept);
            out.extend_from_slice(&path[kept..]);
            out.push(0);
            last = path;
        } else {
            out.extend_from_slice(path);
            let len = (out.len() - start + 8) & !7;
            out.resize(start + len, 0);
        }
    }
    if let Some(tree) = &index.cache_tree {
        extension(&mut out, *b"TREE", |out| tree.write(out));
    }
    if let Some(payload) = &index.resolve_undo {
        extension(&mut out, *b"REUC", |out| out.extend_from_slice(payload));
    }
    if folded.is_some() {
        extension(&mut out, *b"sdir", |_| {});
    }
    if index.splits {
        let none = index.format.null();
        extension(&mut out, *b"link", |out| {
            out.extend_from_slice(none.as_bytes());
        });
    }
    let checksum = PlainHash::of(index.format, &out);
    out.extend_from_slice(checksum.as_bytes());
    out
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
fn length(count: usize) -> [u8; 4] {
    u32::try_from(count)
        .expect("entries and extensions of an index in memory stay under 4 GiB")
        .to_be_bytes()
}

/// How many bytes two paths have in common at their start.
fn common(left: &[u8], right: &[u8]) -> usize {
    let pairs = left.iter().zip(right);
    pairs.take_while(|(left, right)| left == right).count()
}
