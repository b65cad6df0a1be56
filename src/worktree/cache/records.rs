//! The frame of a cache file and its records of directories. Those of files: [`crate::worktree::manifest::cached`].

use super::patch::Change;
use crate::git::ObjectFormat;
use crate::git::fs::Stamp;
use crate::worktree::manifest::cached;
use crate::worktree::manifest::{DirFlags, DirRec, Ignored, Name};

/// Size of a header.
pub(super) const HEADER: usize = 64;
/// Where a header says how many bytes an id has.
const WIDTH: usize = 56;
/// Where a directory's record says what it is about, in a patch.
const NUMBER: usize = 64;
/// Where a directory's record has its group.
const GROUP: usize = 72;
/// Where a directory's record has what git ignores in it.
const IGNORED: usize = 76;
/// Where a directory's record has its tree, to its end.
const TREE: usize = 92;

/// Size of a directory's record in a repository of this format.
pub(super) const fn dir_size(format: ObjectFormat) -> usize {
    TREE + format.width()
}

/// Where the parts of a cache file, or of a patch of one, are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// How objects are named in it.
    pub(super) format: ObjectFormat,
    /// Of the base; a patch has that of the base that it belongs to.
    pub(super) id: u64,
    /// Where the records of directories begin.
    pub(super) dirs_at: usize,
    /// Where the records of files begin.
    pub(super) files_at: usize,
    /// Where the names begin.
    pub(super) names_at: usize,
}

impl Frame {
    /// Reads a header; `None` when it is of another kind, version or format of ids, or when the parts that it tells of do not
    /// make up the file. The checksum is left to [`is_whole`].
    pub(super) fn read(
        bytes: &[u8],
        (magic, version): Magic,
        format: ObjectFormat,
    ) -> Option<Self> {
        let width = u32_at(bytes, WIDTH)? as usize;
        if bytes.get(..8)? != magic || u32_at(bytes, 8)? != version || width != format.width() {
            return None;
        }
        let mut lengths = [0usize; 4];
        for (at, length) in lengths.iter_mut().enumerate() {
            *length = usize::try_from(u64_at(bytes, 16 + at * 8)?).ok()?;
        }
        let [meta, dirs, files, names] = lengths;
        let dirs_at = HEADER.checked_add(meta)?;
        let files_at = dirs_at.checked_add(dirs.checked_mul(dir_size(format))?)?;
        let names_at = files_at.checked_add(files.checked_mul(cached::size(format))?)?;
        let whole = names_at.checked_add(names)? == bytes.len();
        // Places in it are numbers of 32 bits.
        u32::try_from(names).ok()?;
        u32::try_from(files).ok().filter(|_| whole)?;
        Some(Self {
            format,
            id: u64_at(bytes, 48)?,
            dirs_at,
            files_at,
            names_at,
        })
    }
}

/// What a file of ours begins with, and the version of its layout.
pub(super) type Magic = ([u8; 8], u32);

/// Starts a file; the lengths are those of the meta document, directories, files and names.
pub(super) fn header(
    (magic, version): Magic,
    format: ObjectFormat,
    id: u64,
    lengths: [usize; 4],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER);
    out.extend_from_slice(&magic);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for length in lengths {
        out.extend_from_slice(&(length as u64).to_le_bytes());
    }
    out.extend_from_slice(&id.to_le_bytes());
    let width = u32::try_from(format.width()).expect("a few bytes");
    out.extend_from_slice(&width.to_le_bytes());
    out.resize(HEADER, 0);
    out
}

/// Where the checksum is. It is over all that follows it.
pub(super) const SUM_AT: usize = 12;
const SUMMED_FROM: usize = 16;

/// The checksum of a file that is seen in pieces. The first holds the header.
#[derive(Default)]
pub(super) struct Sum {
    hasher: crc32fast::Hasher,
    begun: bool,
}

impl Sum {
    pub(super) fn add(&mut self, piece: &[u8]) {
        let from = if self.begun { 0 } else { SUMMED_FROM };
        self.begun = true;
        self.hasher.update(piece.get(from..).unwrap_or_default());
    }

    /// As it stands in the file.
    pub(super) fn bytes(self) -> [u8; 4] {
        self.hasher.finalize().to_le_bytes()
    }
}

/// Puts the checksum in.
pub(super) fn seal(out: &mut [u8]) {
    let mut sum = Sum::default();
    sum.add(out);
    if let Some(place) = out.get_mut(SUM_AT..SUMMED_FROM) {
        place.copy_from_slice(&sum.bytes());
    }
}

/// Whether the checksum holds.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let sum = bytes.get(SUMMED_FROM..).map(crc32fast::hash);
    sum.is_some() && u32_at(bytes, SUM_AT) == sum
}

/// Puts a directory's record at the end. `change`: in a patch, which directory of the base it is about, and what it says.
pub(super) fn put_dir(
    out: &mut Vec<u8>,
    format: ObjectFormat,
    dir: &DirRec,
    (number, change): (u32, u8),
) {
    put_name(out, dir.path);
    for field in [dir.parent, dir.first, dir.end, u32::from(dir.flags.0)] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    put_stamp(out, &dir.stamp);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&[change, 0, 0, 0]);
    out.extend_from_slice(&dir.stamp.gid.to_le_bytes());
    out.extend_from_slice(&dir.ignored.entries.to_le_bytes());
    out.extend_from_slice(&dir.ignored.bytes.to_le_bytes());
    out.extend_from_slice(dir.tree.bytes_as(format));
}

fn put_name(out: &mut Vec<u8>, name: Name) {
    out.extend_from_slice(&name.start.to_le_bytes());
    out.extend_from_slice(&name.len.to_le_bytes());
}

/// 40 bytes, without the group: the inode's low 60 bits are enough nowhere, so all fields stand whole.
fn put_stamp(out: &mut Vec<u8>, stamp: &Stamp) {
    out.extend_from_slice(&stamp.mtime.to_le_bytes());
    out.extend_from_slice(&stamp.ctime.to_le_bytes());
    out.extend_from_slice(&stamp.ino.to_le_bytes());
    out.extend_from_slice(&stamp.size.to_le_bytes());
    out.extend_from_slice(&stamp.mode.to_le_bytes());
    out.extend_from_slice(&stamp.uid.to_le_bytes());
}

/// Reads a directory's record.
pub(super) fn read_dir(record: &[u8], format: ObjectFormat) -> Option<DirRec> {
    Some(DirRec {
        path: name_at(record, 0)?,
        parent: u32_at(record, 8)?,
        first: u32_at(record, 12)?,
        end: u32_at(record, 16)?,
        flags: DirFlags(*record.get(20)?),
        stamp: Stamp {
            gid: u32_at(record, GROUP)?,
            ..stamp_at(record, 24)?
        },
        tree: format.first_of(record.get(TREE..)?)?,
        ignored: Ignored {
            entries: u64_at(record, IGNORED)?,
            bytes: u64_at(record, IGNORED + 8)?,
        },
    })
}

/// Which directory of the base the record of a patch is about, and what it says of it.
pub(super) fn change_of(record: &[u8]) -> Option<(usize, Change)> {
    let number = usize::try_from(u32_at(record, NUMBER)?).ok()?;
    Some((number, Change::from_u8(*record.get(NUMBER + 4)?)?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn name_at(bytes: &[u8], at: usize) -> Option<Name> {
    Some(Name {
        start: u32_at(bytes, at)?,
        len: u32_at(bytes, at + 4)?,
    })
}

fn stamp_at(bytes: &[u8], at: usize) -> Option<Stamp> {
    Some(Stamp {
        mtime: i64_at(bytes, at)?,
        ctime: i64_at(bytes, at + 8)?,
        ino: u64_at(bytes, at + 16)?,
        size: u64_at(bytes, at + 24)?,
        mode: u32_at(bytes, at + 32)?,
        uid: u32_at(bytes, at + 36)?,
        gid: 0,
    })
}
