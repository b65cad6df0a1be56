//! Files' records and names that stand in a file of the cache, and are read where they stand.
//!
//! Every record is checked once, when the file is opened. From then on reading one cannot fail: nobody writes into the file,
//! it is only ever replaced by another.

use super::{FileFlags, FileRec, Kind, Name, RawOid};
use crate::git::fs::Stamp;
use crate::git::mapped::Bytes;

/// Size of a file's record.
pub const FILE: usize = 80;

/// A file of the cache whose records of files are known to be right.
pub struct CachedRecords {
    bytes: Bytes,
    /// Of this state of the cache.
    id: u64,
    files_at: usize,
    names_at: usize,
}

impl std::fmt::Debug for CachedRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CachedRecords({:x}, {} files)", self.id, self.count())
    }
}

impl CachedRecords {
    /// A file whose records of files begin at one place and whose names, to the end, at another; `None` when a record
    /// cannot be right.
    pub fn new(bytes: Bytes, id: u64, files_at: usize, names_at: usize) -> Option<Self> {
        let names = u32::try_from(bytes.get(names_at..)?.len()).ok()?;
        let records = bytes.get(files_at..names_at)?;
        u32::try_from(records.len() / FILE).ok()?;
        let is_there = |name: Name| {
            let end = name.start.checked_add(name.len);
            end.is_some_and(|end| end <= names)
        };
        are_right(records, is_there).then_some(Self {
            bytes,
            id,
            files_at,
            names_at,
        })
    }

    /// Which state of the cache it is.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How many files there are.
    pub fn count(&self) -> u32 {
        u32::try_from((self.names_at - self.files_at) / FILE).unwrap_or(u32::MAX)
    }

    /// The bytes of all names.
    pub fn names(&self) -> &[u8] {
        self.bytes.get(self.names_at..).unwrap_or_default()
    }

    /// The records from one place to another.
    pub fn records(&self, first: u32, end: u32) -> &[u8] {
        let at = |place: u32| self.files_at + place as usize * FILE;
        let records = self.bytes.get(..self.names_at);
        let records = records.and_then(|all| all.get(at(first)..at(end)));
        records.unwrap_or_default()
    }
}

/// Whether records are whole, of a known kind, hashed, and have names that are there.
pub fn are_right(records: &[u8], is_there: impl Fn(Name) -> bool) -> bool {
    let (records, rest) = records.as_chunks::<FILE>();
    rest.is_empty()
        && records.iter().all(|record| {
            let name = name_of(record);
            name.len > 0
                && is_there(name)
                && Kind::from_u8(record[8]).is_some()
                // A file without an id would go into a tree with the id zero.
                && !FileFlags(record[9]).has(FileFlags::TO_HASH)
        })
}

/// Puts a file's record at the end.
pub fn put(out: &mut Vec<u8>, file: &FileRec) {
    out.extend_from_slice(&record(file));
}

/// A file's record.
pub fn record(file: &FileRec) -> [u8; FILE] {
    let mut record = [0; FILE];
    record[..4].copy_from_slice(&file.name.start.to_le_bytes());
    record[4..8].copy_from_slice(&file.name.len.to_le_bytes());
    record[8] = file.kind as u8;
    record[9] = file.flags.0;
    record[12..16].copy_from_slice(&file.git_mode.to_le_bytes());
    record[16..24].copy_from_slice(&file.stamp.mtime.to_le_bytes());
    record[24..32].copy_from_slice(&file.stamp.ctime.to_le_bytes());
    record[32..40].copy_from_slice(&file.stamp.ino.to_le_bytes());
    record[40..48].copy_from_slice(&file.stamp.size.to_le_bytes());
    record[48..52].copy_from_slice(&file.stamp.mode.to_le_bytes());
    record[52..56].copy_from_slice(&file.stamp.uid.to_le_bytes());
    record[56..76].copy_from_slice(&file.oid.0);
    record[76..80].copy_from_slice(&file.stamp.gid.to_le_bytes());
    record
}

/// Reads a file's record that was found right ([`are_right`]).
#[inline]
pub fn read(record: &[u8; FILE]) -> FileRec {
    FileRec {
        name: name_of(record),
        kind: Kind::from_u8(record[8]).expect("the kind was checked when the cache was opened"),
        flags: FileFlags(record[9]),
        git_mode: u32::from_le_bytes(part(record, 12)),
        stamp: Stamp {
            mtime: i64::from_le_bytes(part(record, 16)),
            ctime: i64::from_le_bytes(part(record, 24)),
            ino: u64::from_le_bytes(part(record, 32)),
            size: u64::from_le_bytes(part(record, 40)),
            mode: u32::from_le_bytes(part(record, 48)),
            uid: u32::from_le_bytes(part(record, 52)),
            gid: u32::from_le_bytes(part(record, 76)),
        },
        oid: RawOid(part(record, 56)),
    }
}

/// The name in a file's record.
#[inline]
pub fn name_of(record: &[u8; FILE]) -> Name {
    Name {
        start: u32::from_le_bytes(part(record, 0)),
        len: u32::from_le_bytes(part(record, 4)),
    }
}

/// The bytes of one field.
#[inline]
fn part<const N: usize>(record: &[u8; FILE], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&record[at..at + N]);
    field
}
