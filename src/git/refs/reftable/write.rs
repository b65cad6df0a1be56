//! The bytes of a new table, as git lays one out.

use super::block::{HEADER, Section, push_varint};
use super::table::{FILE_HEADER, MAGIC};
use super::{Record, corrupt};
use crate::error::Result;
use flate2::{Compress, Compression, FlushCompress, Status};

/// git's default.
pub(super) const BLOCK_SIZE: usize = 4096;
/// One record in this many has its whole key.
const RESTART_EVERY: usize = 16;
/// A section of more blocks gets an index.
const UNINDEXED: usize = 3;

/// A table as it is to be written. Records are sorted by key, each key once.
pub(super) struct Plan<'a> {
    pub(super) width: usize,
    pub(super) block_size: usize,
    pub(super) first_update: u64,
    pub(super) last_update: u64,
    pub(super) refs: &'a [Record],
    pub(super) logs: &'a [Record],
}

/// The bytes of a table.
///
/// # Errors
/// A record does not fit into a block.
pub(super) fn table(plan: &Plan<'_>) -> Result<Vec<u8>> {
    let header = header(plan)?;
    let mut writer = Writer {
        plan,
        out: Vec::new(),
        padding: 0,
        header: &header,
    };
    let refs = writer.section(Section::Refs, plan.refs)?;
    let logs = writer.section(Section::Logs, plan.logs)?;
    let mut out = writer.out;
    if out.is_empty() {
        out.extend_from_slice(&header);
    }
    let mut footer = header;
    for number in [refs.index, 0, 0, logs.start, logs.index] {
        footer.extend_from_slice(&number.to_be_bytes());
    }
    let checksum = crc32fast::hash(&footer);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&checksum.to_be_bytes());
    Ok(out)
}

fn header(plan: &Plan<'_>) -> Result<Vec<u8>> {
    let (version, hash): (u8, &[u8]) = match plan.width {
        20 => (1, b""),
        32 => (2, b"s256"),
        _ => return Err(corrupt("an unknown hash")),
    };
    let size = u32::try_from(plan.block_size).map_err(|_| too_long())?;
    let mut out = Vec::with_capacity(FILE_HEADER + hash.len());
    out.extend_from_slice(MAGIC);
    out.push(version);
    out.extend_from_slice(size.to_be_bytes().get(1..).unwrap_or_default());
    out.extend_from_slice(&plan.first_update.to_be_bytes());
    out.extend_from_slice(&plan.last_update.to_be_bytes());
    out.extend_from_slice(hash);
    Ok(out)
}

fn too_long() -> crate::error::Error {
    corrupt("a record that does not fit into a block")
}

struct Writer<'a> {
    plan: &'a Plan<'a>,
    out: Vec<u8>,
    /// Missing to the end of the last block, should another one follow.
    padding: usize,
    header: &'a [u8],
}

/// Where a section begins, and its index; 0: there is none, or it begins the file.
#[derive(Default)]
struct Place {
    start: u64,
    index: u64,
}

impl Writer<'_> {
    fn section(&mut self, section: Section, records: &[Record]) -> Result<Place> {
        if records.is_empty() {
            return Ok(Place::default());
        }
        let start = self.position();
        let mut blocks = self.blocks(section, records)?;
        let mut index = 0;
        while blocks.len() > UNINDEXED {
            index = self.position();
            blocks = self.blocks(Section::Index, &blocks)?;
        }
        Ok(Place { start, index })
    }

    /// Where the next block will begin.
    fn position(&self) -> u64 {
        (self.out.len() + self.padding) as u64
    }

    /// Writes records into as many blocks as it takes. Answers with what an index has of each: its last key and its place.
    fn blocks(&mut self, section: Section, records: &[Record]) -> Result<Vec<Record>> {
        let mut index = Vec::new();
        let mut block = self.begin(section);
        for record in records {
            if !block.push(record, self.plan)? {
                index.push(self.end(block)?);
                block = self.begin(section);
                if !block.push(record, self.plan)? {
                    return Err(too_long());
                }
            }
        }
        index.push(self.end(block)?);
        Ok(index)
    }

    fn begin(&self, section: Section) -> NewBlock {
        let mut bytes = Vec::with_capacity(self.plan.block_size);
        if self.position() == 0 {
            bytes.extend_from_slice(self.header);
        }
        let begin = bytes.len();
        bytes.extend_from_slice(&[section.byte(), 0, 0, 0]);
        NewBlock {
            section,
            begin,
            bytes,
            restarts: Vec::new(),
            count: 0,
            last: Vec::new(),
        }
    }

    fn end(&mut self, block: NewBlock) -> Result<Record> {
        let at = self.position();
        self.out.resize(self.out.len() + self.padding, 0);
        let section = block.section;
        let last = block.last.clone();
        let bytes = block.finish()?;
        self.out.extend_from_slice(&bytes);
        self.padding = match section {
            Section::Logs => 0,
            Section::Refs | Section::Index => self.plan.block_size.saturating_sub(bytes.len()),
        };
        let mut body = Vec::new();
        push_varint(&mut body, at);
        Ok(Record {
            key: last,
            kind: 0,
            update: 0,
            body,
        })
    }
}

/// A block that is being filled.
struct NewBlock {
    section: Section,
    /// Where its own header is: after the file's, in the first one.
    begin: usize,
    bytes: Vec<u8>,
    restarts: Vec<usize>,
    count: usize,
    last: Vec<u8>,
}

impl NewBlock {
    /// Adds a record. False: there is no room for it.
    fn push(&mut self, record: &Record, plan: &Plan<'_>) -> Result<bool> {
        let is_restart = self.count.is_multiple_of(RESTART_EVERY);
        let same = |(a, b): &(&u8, &u8)| a == b;
        let prefix = if is_restart {
            0
        } else {
            let pairs = self.last.iter().zip(&record.key);
            pairs.take_while(same).count()
        };
        let suffix = record.key.get(prefix..).unwrap_or_default();
        let mut bytes = Vec::with_capacity(suffix.len() + record.body.len() + 16);
        push_varint(&mut bytes, prefix as u64);
        push_varint(
            &mut bytes,
            ((suffix.len() as u64) << 3) | u64::from(record.kind),
        );
        bytes.extend_from_slice(suffix);
        if self.section == Section::Refs {
            let since = record.update.checked_sub(plan.first_update);
            push_varint(
                &mut bytes,
                since.ok_or_else(|| corrupt("an update that cannot be"))?,
            );
        }
        bytes.extend_from_slice(&record.body);
        let restarts = self.restarts.len() + usize::from(is_restart);
        if self.bytes.len() + bytes.len() + 3 * restarts + 2 > plan.block_size {
            return Ok(false);
        }
        if is_restart {
            self.restarts.push(self.bytes.len());
        }
        self.bytes.extend_from_slice(&bytes);
        self.count += 1;
        self.last.clone_from(&record.key);
        Ok(true)
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        for at in &self.restarts {
            push_three(&mut self.bytes, *at)?;
        }
        let count = u16::try_from(self.restarts.len()).map_err(|_| too_long())?;
        self.bytes.extend_from_slice(&count.to_be_bytes());
        let mut length = Vec::new();
        push_three(&mut length, self.bytes.len())?;
        let records = self.begin + HEADER;
        if let Some(place) = self.bytes.get_mut(self.begin + 1..records) {
            place.copy_from_slice(&length);
        }
        if self.section == Section::Logs {
            let packed = deflate(self.bytes.get(records..).unwrap_or_default())?;
            self.bytes.truncate(records);
            self.bytes.extend_from_slice(&packed);
        }
        Ok(self.bytes)
    }
}

fn push_three(out: &mut Vec<u8>, number: usize) -> Result<()> {
    let [0, rest @ ..] = u32::try_from(number).map_err(|_| too_long())?.to_be_bytes() else {
        return Err(too_long());
    };
    out.extend_from_slice(&rest);
    Ok(())
}

fn deflate(bytes: &[u8]) -> Result<Vec<u8>> {
    // So much at most, by zlib's own reckoning and some to spare.
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 1000 + 64);
    let mut stream = Compress::new(Compression::best(), true);
    match stream.compress_vec(bytes, &mut out, FlushCompress::Finish) {
        Ok(Status::StreamEnd) => Ok(out),
        _ => Err(corrupt("a block that cannot be compressed")),
    }
}
