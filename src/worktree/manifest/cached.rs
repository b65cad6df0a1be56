//! Files' records and names that stand in a file of the cache, and are read where they stand.
//!
//! Every record is checked once, when the file is opened. From then on reading one cannot fail: nobody writes into the file,
//! it is only ever replaced by another.

use super::{FileFlags, FileRec, Kind, Name};
use crate::git::fs::Stamp;
use crate::git::mapped::Bytes;
use crate::git::{ObjectFormat, Oid};

/// Size of a file's record without the id, which comes last.
const FIXED: usize = 60;
/// Size of a record with an id of SHA-1.
const SHORT: usize = FIXED + ObjectFormat::Sha1.width();
/// Size of a record with an id of SHA-256.
const LONG: usize = FIXED + ObjectFormat::Sha256.width();

/// Size of a file's record in a repository of this format.
#[inline]
pub const fn size(format: ObjectFormat) -> usize {
    FIXED + format.width()
}

/// A file of the cache whose records of files are known to be right.
pub struct CachedRecords {
    bytes: Bytes,
    /// Of this state of the cache.
    id: u64,
    format: ObjectFormat,
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
    pub fn new(
        bytes: Bytes,
        (id, format): (u64, ObjectFormat),
        files_at: usize,
        names_at: usize,
    ) -> Option<Self> {
        let names = u32::try_from(bytes.get(names_at..)?.len()).ok()?;
        let records = bytes.get(files_at..names_at)?;
        u32::try_from(records.len() / size(format)).ok()?;
        let is_there = |name: Name| {
            let end = name.start.checked_add(name.len);
            end.is_some_and(|end| end <= names)
        };
        are_right(records, format, is_there).then_some(Self {
            bytes,
            id,
            format,
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
        u32::try_from((self.names_at - self.files_at) / size(self.format)).unwrap_or(u32::MAX)
    }

    /// The bytes of all names.
    pub fn names(&self) -> &[u8] {
        self.bytes.get(self.names_at..).unwrap_or_default()
    }

    /// The records from one place to another.
    pub fn records(&self, first: u32, end: u32) -> Records<'_> {
        let size = size(self.format);
        let at = |place: u32| self.files_at + place as usize * size;
        let some = self.bytes.get(..self.names_at);
        let some = some.and_then(|all| all.get(at(first)..at(end)));
        records(some.unwrap_or_default(), self.format)
    }
}

/// Records of files that are right, one after the other. Their size is a constant in each of the two formats: tens of thousands of
/// them are read in a command.
#[derive(Debug, Clone, Copy)]
pub enum Records<'m> {
    /// With ids of SHA-1.
    Short(&'m [[u8; SHORT]]),
    /// With ids of SHA-256.
    Long(&'m [[u8; LONG]]),
}

impl<'m> Records<'m> {
    /// How many there are.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Self::Short(records) => records.len(),
            Self::Long(records) => records.len(),
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the record at this place.
    #[inline]
    pub fn get(self, nth: usize) -> Option<FileRec> {
        match self {
            Self::Short(records) => records.get(nth).map(read_short),
            Self::Long(records) => records.get(nth).map(read_long),
        }
    }

    /// The name of one of them.
    #[inline]
    pub fn name(self, nth: usize) -> Option<Name> {
        match self {
            Self::Short(records) => records.get(nth).map(name_of),
            Self::Long(records) => records.get(nth).map(name_of),
        }
    }

    /// Iterates over all records.
    #[inline]
    pub fn iter(self) -> Iter<'m> {
        match self {
            Self::Short(records) => Iter::Short(records.iter()),
            Self::Long(records) => Iter::Long(records.iter()),
        }
    }
}

/// Reads records, one after the other.
#[derive(Debug, Clone)]
pub enum Iter<'m> {
    /// With ids of SHA-1.
    Short(std::slice::Iter<'m, [u8; SHORT]>),
    /// With ids of SHA-256.
    Long(std::slice::Iter<'m, [u8; LONG]>),
}

impl Iterator for Iter<'_> {
    type Item = FileRec;

    #[inline]
    fn next(&mut self) -> Option<FileRec> {
        match self {
            Self::Short(records) => records.next().map(read_short),
            Self::Long(records) => records.next().map(read_long),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Short(records) => records.size_hint(),
            Self::Long(records) => records.size_hint(),
        }
    }
}

/// Whether records are whole, of a known kind, hashed, and have names that are there.
pub fn are_right(bytes: &[u8], format: ObjectFormat, is_there: impl Fn(Name) -> bool) -> bool {
    bytes.len().is_multiple_of(size(format))
        && match records(bytes, format) {
            Records::Short(records) => records.iter().all(|record| is_right(record, &is_there)),
            Records::Long(records) => records.iter().all(|record| is_right(record, &is_there)),
        }
}

#[inline]
fn is_right<const N: usize>(record: &[u8; N], is_there: impl Fn(Name) -> bool) -> bool {
    let name = name_of(record);
    name.len > 0
        && is_there(name)
        && Kind::from_u8(record[8]).is_some()
        // A file without an id would go into a tree with the id zero.
        && !FileFlags(record[9]).has(FileFlags::TO_HASH)
}

/// Records that were found right ([`are_right`]).
#[inline]
pub fn records(bytes: &[u8], format: ObjectFormat) -> Records<'_> {
    match format {
        ObjectFormat::Sha1 => Records::Short(bytes.as_chunks().0),
        ObjectFormat::Sha256 => Records::Long(bytes.as_chunks().0),
    }
}

/// Puts a file's record at the end.
pub fn put(out: &mut Vec<u8>, format: ObjectFormat, file: &FileRec) {
    let mut record = [0; FIXED];
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
    record[56..60].copy_from_slice(&file.stamp.gid.to_le_bytes());
    out.extend_from_slice(&record);
    out.extend_from_slice(file.oid.bytes_as(format));
}

/// Reads a file's record that was found right ([`are_right`]).
#[inline]
fn read_short(record: &[u8; SHORT]) -> FileRec {
    read(record, Oid::from(&part::<20, SHORT>(record, FIXED)))
}

/// As [`read_short`].
#[inline]
fn read_long(record: &[u8; LONG]) -> FileRec {
    read(record, Oid::from(&part::<32, LONG>(record, FIXED)))
}

#[inline]
fn read<const N: usize>(record: &[u8; N], oid: Oid) -> FileRec {
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
            gid: u32::from_le_bytes(part(record, 56)),
        },
        oid,
    }
}

/// The name in a file's record.
#[inline]
fn name_of<const N: usize>(record: &[u8; N]) -> Name {
    Name {
        start: u32::from_le_bytes(part(record, 0)),
        len: u32::from_le_bytes(part(record, 4)),
    }
}

/// The bytes of one field.
#[inline]
fn part<const M: usize, const N: usize>(record: &[u8; N], at: usize) -> [u8; M] {
    let mut field = [0; M];
    field.copy_from_slice(&record[at..at + M]);
    field
}
