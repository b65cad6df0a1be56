//! Blocks of a table, and the records in them.

use std::ops::Range;

use flate2::{Decompress, FlushDecompress, Status};

use super::{Record, corrupt, kind};
use crate::error::Result;

/// Type and length.
pub(super) const HEADER: usize = 4;
/// The longest key that is taken. git's are shorter than a block, and blocks are of 4 KiB.
const LONGEST_KEY: usize = 8192;

/// What the records of a block are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Refs,
    Logs,
    Index,
}

impl Section {
    pub(super) fn of(byte: u8) -> Option<Self> {
        match byte {
            b'r' => Some(Self::Refs),
            b'g' => Some(Self::Logs),
            b'i' => Some(Self::Index),
            _ => None,
        }
    }

    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Refs => b'r',
            Self::Logs => b'g',
            Self::Index => b'i',
        }
    }
}

/// One block whose records can be read one after the other.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) section: Section,
    /// Where the block after it begins.
    pub(super) next: u64,
    /// The records alone.
    records: Vec<u8>,
    /// Where the next one begins.
    at: usize,
    key: Vec<u8>,
    kind: u8,
    update: u64,
    body: Range<usize>,
}

impl Block {
    /// A block from its bytes, uncompressed, of which the first `skip` are headers. Where it says that its records end
    /// counts from there.
    pub(super) fn new(
        section: Section,
        mut bytes: Vec<u8>,
        skip: usize,
        next: u64,
    ) -> Result<Self> {
        let count = bytes.last_chunk::<2>().ok_or_else(short)?;
        let restarts = 2 + 3 * usize::from(u16::from_be_bytes(*count));
        let end = bytes.len().checked_sub(restarts).ok_or_else(short)?;
        if skip > end {
            return Err(short());
        }
        bytes.truncate(end);
        bytes.drain(..skip);
        Ok(Self {
            section,
            next,
            records: bytes,
            at: 0,
            key: Vec::new(),
            kind: 0,
            update: 0,
            body: 0..0,
        })
    }

    /// The key of the record that [`Block::advance`] read last.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its type.
    pub(super) fn kind(&self) -> u8 {
        self.kind
    }

    /// What follows the key, the type and the update.
    pub(super) fn body(&self) -> &[u8] {
        self.records.get(self.body.clone()).unwrap_or_default()
    }

    /// The whole record, for one that is written again. `first` is the first update of its table.
    pub(super) fn record(&self, first: u64) -> Result<Record> {
        let update = first.checked_add(self.update);
        Ok(Record {
            key: self.key.clone(),
            kind: self.kind,
            update: update.ok_or_else(|| corrupt("an update that cannot be"))?,
            body: self.body().to_vec(),
        })
    }

    /// Reads the next record. False: there is no more. Ids have `width` bytes.
    pub(super) fn advance(&mut self, width: usize) -> Result<bool> {
        let mut cursor = Cursor(self.records.get(self.at..).unwrap_or_default());
        if cursor.0.is_empty() {
            return Ok(false);
        }
        let prefix = cursor.length()?;
        let suffix = cursor.varint()?;
        let kind = suffix.to_le_bytes()[0] & 7;
        let suffix = cursor.take(usize::try_from(suffix >> 3).map_err(|_| short())?)?;
        if prefix > self.key.len() || prefix + suffix.len() > LONGEST_KEY {
            return Err(corrupt("a key that cannot be"));
        }
        self.key.truncate(prefix);
        self.key.extend_from_slice(suffix);
        self.update = match self.section {
            Section::Refs => cursor.varint()?,
            Section::Logs | Section::Index => 0,
        };
        let begin = self.records.len() - cursor.0.len();
        match (self.section, kind) {
            (Section::Refs | Section::Logs, kind::DELETED) => {}
            (Section::Refs, kind::OID) => drop(cursor.take(width)?),
            (Section::Refs, kind::PEELED) => drop(cursor.take(2 * width)?),
            (Section::Refs, kind::SYMBOLIC) => drop(cursor.text()?),
            (Section::Logs, kind::OID) => skip_log(&mut cursor, width)?,
            (Section::Index, 0) => drop(cursor.varint()?),
            _ => return Err(corrupt("a record of an unknown type")),
        }
        self.kind = kind;
        self.at = self.records.len() - cursor.0.len();
        self.body = begin..self.at;
        Ok(true)
    }
}

/// Passes over what a log's record says: both ids, name, address, time, zone, message.
fn skip_log(cursor: &mut Cursor<'_>, width: usize) -> Result<()> {
    cursor.take(2 * width)?;
    cursor.text()?;
    cursor.text()?;
    cursor.varint()?;
    cursor.take(2)?;
    cursor.text()?;
    Ok(())
}

/// What a compressed block of `length` bytes, header and all, has after its header; and how much of `bytes` it took.
pub(super) fn inflate(bytes: &[u8], length: usize) -> Result<(Vec<u8>, u64)> {
    let mut out = Vec::with_capacity(length);
    let mut stream = Decompress::new(true);
    let end = stream.decompress_vec(bytes, &mut out, FlushDecompress::Finish);
    if !matches!(end, Ok(Status::StreamEnd)) || out.len() != length {
        return Err(corrupt("a block that does not inflate"));
    }
    Ok((out, stream.total_in()))
}

fn short() -> crate::error::Error {
    corrupt("cut short")
}

fn too_large() -> crate::error::Error {
    corrupt("a number that is too large")
}

/// Bytes that are read from their beginning.
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number as git writes offsets: seven bits at a time, each but the last one more than what it says.
    pub(super) fn varint(&mut self) -> Result<u64> {
        let mut value: u64 = 0;
        for nth in 0..10 {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            if nth > 0 {
                let more = value
                    .checked_add(1)
                    .filter(|more| more.leading_zeros() >= 7);
                value = more.ok_or_else(too_large)? << 7;
            }
            value |= u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(too_large())
    }

    fn length(&mut self) -> Result<usize> {
        usize::try_from(self.varint()?).map_err(|_| short())
    }

    /// Bytes with their number before them.
    pub(super) fn text(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }
}

/// Writes a number as [`Cursor::varint`] reads it.
pub(super) fn push_varint(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; 10];
    let mut at = bytes.len();
    let mut rest = value;
    let mut mark = 0;
    loop {
        at -= 1;
        if let Some(byte) = bytes.get_mut(at) {
            *byte = (rest.to_le_bytes()[0] & 0x7f) | mark;
        }
        mark = 0x80;
        rest >>= 7;
        if rest == 0 || at == 0 {
            break;
        }
        rest -= 1;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
}

/// Writes bytes with their number before them.
pub(super) fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    push_varint(out, text.len() as u64);
    out.extend_from_slice(text);
}
