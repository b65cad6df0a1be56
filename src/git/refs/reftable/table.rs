//! One table: an immutable file of refs, and of entries of their logs.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::block::{Block, Cursor, HEADER, Section, inflate};
use super::{Record, corrupt};
use crate::error::{Result, ResultExt};
use crate::git::regular;

/// How a table, and its footer, begin.
pub(super) const MAGIC: &[u8] = b"REFT";
/// In a table of version 1, whose ids are SHA-1's.
pub(super) const FILE_HEADER: usize = 24;
/// So much more where the hash is named: version 2.
pub(super) const HASH_NAME: usize = 4;
/// What a footer has after its copy of the header: five positions and a checksum.
pub(super) const FOOTER: usize = 5 * 8 + 4;
/// What is read of a block before it has said how long it is; git's are no longer.
const GUESS: usize = 4096;

/// An open table whose header and footer make sense.
#[derive(Debug)]
pub(super) struct Table {
    file: File,
    /// Without the footer.
    end: u64,
    pub(super) size: u64,
    file_header: usize,
    pub(super) width: usize,
    pub(super) block_size: usize,
    pub(super) first_update: u64,
    pub(super) last_update: u64,
    refs: Start,
    logs: Start,
}

/// Where a section begins, if there is one, and its index.
#[derive(Debug, Clone, Copy)]
struct Start {
    records: Option<u64>,
    index: u64,
}

impl Table {
    /// Opens a table.
    ///
    /// # Errors
    /// `CorruptRecord` when it is none. The outer error: it cannot be opened, it may be gone.
    pub(super) fn open(path: &Path) -> io::Result<Result<Self>> {
        let file = regular::open(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::of(file).context(|| format!("reading '{name}'")))
    }

    fn of(file: File) -> Result<Self> {
        let size = file.metadata()?.len();
        let mut header = vec![0; FILE_HEADER + HASH_NAME + 1];
        let there = regular::read_up_to(&file, &mut header, 0)?;
        header.truncate(there);
        let form = Form::parse(&header)?;
        let footer_length = form.file_header + FOOTER;
        let end = size
            .checked_sub(footer_length as u64)
            .ok_or_else(|| corrupt("cut short"))?;
        let mut footer = vec![0; footer_length];
        file.read_exact_at(&mut footer, end)?;
        let (copy, positions) = footer.split_at(form.file_header);
        if header.get(..form.file_header) != Some(copy) {
            return Err(corrupt("header and footer differ"));
        }
        let (covered, checksum) = footer.split_at(footer_length - 4);
        if crc32fast::hash(covered).to_be_bytes() != checksum {
            return Err(corrupt("the checksum is wrong"));
        }
        let mut positions = Cursor(positions);
        let [ref_index, _, _, log_start, log_index] =
            [(); 5].map(|()| number(&mut positions).unwrap_or_default());
        // An empty table has a footer where the first block would be.
        let first = header
            .get(form.file_header)
            .filter(|_| end > form.file_header as u64);
        let first = first.and_then(|byte| Section::of(*byte));
        let logs = (log_start > 0 || first == Some(Section::Logs)).then_some(log_start);
        Ok(Self {
            file,
            end,
            size,
            file_header: form.file_header,
            width: form.width,
            block_size: form.block_size,
            first_update: form.first_update,
            last_update: form.last_update,
            refs: Start {
                records: (first == Some(Section::Refs)).then_some(0),
                index: ref_index,
            },
            logs: Start {
                records: logs,
                index: log_index,
            },
        })
    }

    /// When its file was written, in seconds.
    pub(super) fn written_at(&self) -> Option<i64> {
        Some(self.file.metadata().ok()?.mtime())
    }

    /// The records of a section from the first whose key is not less than `key`.
    pub(super) fn seek(&self, section: Section, key: &[u8]) -> Result<Records<'_>> {
        let start = match section {
            Section::Logs => self.logs,
            Section::Refs | Section::Index => self.refs,
        };
        let at = match (start.records, start.index) {
            (None, _) => None,
            (Some(first), 0) => Some(first),
            (Some(_), index) => self.descend(index, key)?,
        };
        let mut records = Records {
            table: self,
            section,
            block: at.map_or(Ok(None), |at| self.block_of(section, at))?,
            is_ahead: false,
        };
        while records.advance()? {
            if records.key() >= key {
                records.is_ahead = true;
                break;
            }
        }
        Ok(records)
    }

    /// Where the block is that has the first key which is not less, by the index that begins at `index`.
    fn descend(&self, index: u64, key: &[u8]) -> Result<Option<u64>> {
        let mut at = index;
        let mut is_top = true;
        while let Some(mut block) = self.block(at)? {
            if block.section != Section::Index {
                // After the last block of the topmost index there is nothing that is not less.
                return Ok((!is_top).then_some(at));
            }
            let child = self.child(&mut block, key)?;
            at = match child {
                // Always to what was written before, so that there is an end.
                Some(child) if child < at => {
                    is_top = false;
                    child
                }
                None if is_top => block.next,
                Some(_) | None => return Err(corrupt("an index that leads nowhere")),
            };
        }
        Ok(None)
    }

    fn child(&self, block: &mut Block, key: &[u8]) -> Result<Option<u64>> {
        while block.advance(self.width)? {
            if block.key() >= key {
                return Cursor(block.body()).varint().map(Some);
            }
        }
        Ok(None)
    }

    fn block_of(&self, section: Section, at: u64) -> Result<Option<Block>> {
        let block = self.block(at)?;
        Ok(block.filter(|block| block.section == section))
    }

    /// The block at a position; `None` where the table, or its section, ends.
    fn block(&self, at: u64) -> Result<Option<Block>> {
        if at >= self.end {
            return Ok(None);
        }
        let room = self.end - at;
        let head = if at == 0 { self.file_header } else { 0 };
        let mut bytes = self.read(at, GUESS, room)?;
        let Some(section) = bytes.get(head).and_then(|byte| Section::of(*byte)) else {
            // Padding, or what nobody here asks for.
            return Ok(None);
        };
        let skip = head + HEADER;
        let length = bytes
            .get(head + 1..skip)
            .and_then(|bytes| bytes.first_chunk::<3>())
            .map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c]) as usize)
            .filter(|length| *length >= skip + 2)
            .ok_or_else(|| corrupt("a block that is too short"))?;
        if section == Section::Logs {
            // What does not compress grows by a few bytes for each 16 KiB.
            bytes = self.read(at, length + length / 1000 + 64, room)?;
            let packed = bytes.get(skip..).unwrap_or_default();
            let (inflated, taken) = inflate(packed, length - skip)?;
            let next = at + skip as u64 + taken;
            return Block::new(section, inflated, 0, next).map(Some);
        }
        if length as u64 > room {
            return Err(corrupt("a block that is too long"));
        }
        if length >= bytes.len() {
            bytes = self.read(at, length + 1, room)?;
        }
        // git: a block that is not filled is padded, unless what follows begins at once.
        let follows = bytes.get(length).is_some_and(|byte| *byte != 0);
        let step = if length < self.block_size && !follows {
            self.block_size
        } else {
            length
        };
        bytes.truncate(length);
        Block::new(section, bytes, skip, at + step as u64).map(Some)
    }

    fn read(&self, at: u64, length: usize, room: u64) -> Result<Vec<u8>> {
        let length = usize::try_from(room).map_or(length, |room| room.min(length));
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }
}

/// Records of a section, one after the other.
pub(super) struct Records<'t> {
    table: &'t Table,
    section: Section,
    block: Option<Block>,
    /// The record that was read last comes once more.
    is_ahead: bool,
}

impl Records<'_> {
    /// Goes to the next record. False: there is none.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_ahead) {
            return Ok(true);
        }
        while let Some(block) = &mut self.block {
            if block.advance(self.table.width)? {
                return Ok(true);
            }
            self.block = self.table.block_of(self.section, block.next)?;
        }
        Ok(false)
    }

    /// The record's key.
    pub(super) fn key(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], Block::key)
    }

    /// What it says: type and body.
    pub(super) fn value(&self) -> (u8, &[u8]) {
        let block = self.block.as_ref();
        block.map_or((0, &[]), |block| (block.kind(), block.body()))
    }

    /// The whole record.
    pub(super) fn record(&self) -> Result<Record> {
        let block = self.block.as_ref().ok_or_else(|| corrupt("no record"))?;
        block.record(self.table.first_update)
    }
}

/// What a header says.
struct Form {
    file_header: usize,
    width: usize,
    block_size: usize,
    first_update: u64,
    last_update: u64,
}

impl Form {
    fn parse(header: &[u8]) -> Result<Self> {
        let mut cursor = Cursor(header);
        if cursor.take(4)? != MAGIC {
            return Err(corrupt("no table"));
        }
        let version = cursor.take(1)?;
        let size = cursor.take(3)?;
        let block_size = size
            .iter()
            .fold(0, |size, byte| (size << 8) | usize::from(*byte));
        let first_update = number(&mut cursor)?;
        let last_update = number(&mut cursor)?;
        let (more, width) = match version {
            [1] => (0, 20),
            [2] => match cursor.take(HASH_NAME)? {
                b"sha1" => (HASH_NAME, 20),
                b"s256" => (HASH_NAME, 32),
                _ => return Err(corrupt("an unknown hash")),
            },
            _ => return Err(corrupt("an unknown version")),
        };
        Ok(Self {
            file_header: FILE_HEADER + more,
            width,
            block_size,
            first_update,
            last_update,
        })
    }
}

fn number(cursor: &mut Cursor<'_>) -> Result<u64> {
    let bytes = cursor.take(8)?.first_chunk::<8>();
    Ok(bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes)))
}
