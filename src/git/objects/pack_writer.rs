//! One new pack: objects appended whole, then trailer, idx and `.keep`, then its name.

use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use super::hash::PlainHash;
use super::idx::{self, IdxEntry};
use super::keep::KeptPack;
use super::odb_dir::OdbDir;
use super::temp::{Target, Temp, random};
use super::{ObjectKind, PutError, entry, stream};
use crate::git::fs::Durable;
use crate::git::{ObjectFormat, Oid};

const HEADER: usize = 12;
const BUFFER: usize = 1 << 20;

/// A pack that is being written.
pub(super) struct PackWriter {
    temp: Temp,
    /// Bytes on disk.
    flushed: u64,
    /// Bytes that follow them.
    buffer: Vec<u8>,
    entries: Vec<IdxEntry>,
    pub(super) format: ObjectFormat,
}

/// A blob that was streamed to the end of the pack and is not counted yet.
#[must_use = "accept it or undo it"]
pub(super) struct Streamed(IdxEntry);

impl Streamed {
    pub(super) fn oid(&self) -> Oid {
        self.0.oid
    }
}

impl PackWriter {
    /// Makes the file. The count in its header is filled in at the end.
    pub(super) fn create(target: &Target, format: ObjectFormat) -> io::Result<Self> {
        // It is flushed when it passes `BUFFER`: the object that does so mostly fits as well.
        let mut buffer = Vec::with_capacity(BUFFER + BUFFER / 4);
        buffer.extend_from_slice(&header(0));
        Ok(Self {
            temp: target.create(b"pack/tmp_pack_")?,
            flushed: 0,
            buffer,
            entries: Vec::new(),
            format,
        })
    }

    /// Whether no object was added, or each was taken away again.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns how many bytes the pack has so far.
    pub(super) fn size(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Adds an object: its entry header, its zlib stream, the CRC-32 of both.
    pub(super) fn append(
        &mut self,
        oid: Oid,
        head: &[u8],
        body: &[u8],
        crc: u32,
    ) -> io::Result<()> {
        let offset = self.size();
        self.buffer.extend_from_slice(head);
        self.buffer.extend_from_slice(body);
        self.count(IdxEntry { oid, crc, offset })?;
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn count(&mut self, entry: IdxEntry) -> io::Result<()> {
        if u32::try_from(self.entries.len() + 1).is_err() {
            return Err(io::Error::other("a pack holds at most 2^32 - 1 objects"));
        }
        self.entries.push(entry);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temp.file.write_all_at(&self.buffer, self.flushed)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Streams a blob to the end of the pack. After an error the pack is as it was before, or, when that fails too, the
    /// error is [`PutError::Failed`].
    pub(super) fn stream(
        &mut self,
        size: u64,
        reader: &mut dyn Read,
    ) -> Result<Streamed, PutError> {
        self.flush().map_err(PutError::failed)?;
        let offset = self.flushed;
        let mut end = offset;
        let mut crc = crc32fast::Hasher::new();
        let file = &self.temp.file;
        let mut write = |bytes: &[u8]| {
            crc.update(bytes);
            file.write_all_at(bytes, end)?;
            end += bytes.len() as u64;
            Ok(())
        };
        let done = write(&entry::encode(ObjectKind::Blob, size))
            .map_err(PutError::failed)
            .and_then(|()| stream::run((self.format, size), reader, &[], &mut write));
        match done {
            Ok(oid) => {
                self.flushed = end;
                let crc = crc.finalize();
                Ok(Streamed(IdxEntry { oid, crc, offset }))
            }
            Err(error) => {
                file.set_len(offset).map_err(PutError::failed)?;
                Err(error)
            }
        }
    }

    /// Counts a streamed blob.
    pub(super) fn accept(&mut self, streamed: &Streamed) -> io::Result<()> {
        self.count(streamed.0)
    }

    /// Takes a streamed blob away again.
    pub(super) fn undo(&mut self, streamed: &Streamed) -> io::Result<()> {
        self.temp.file.set_len(streamed.0.offset)?;
        self.flushed = streamed.0.offset;
        Ok(())
    }

    /// Completes the pack and puts it in place, `.keep` first and idx last; `own` learns of it.
    pub(super) fn install(
        mut self,
        target: &Target,
        own: &OdbDir,
        note: &str,
        durable: Durable,
    ) -> io::Result<KeptPack> {
        let sum = self.complete()?;
        let index = idx::encode(&mut self.entries, sum);
        let idx_temp = target.create(b"pack/tmp_idx_")?;
        idx_temp.file.write_all_at(&index, 0)?;
        if durable == Durable::Yes {
            self.temp.file.sync_all()?;
            idx_temp.file.sync_all()?;
        }
        let name = unique_name(sum)?;
        let pack_file = format!("pack/{name}.pack");
        let idx_file = format!("pack/{name}.idx");
        let kept = KeptPack::create(target, name, note)?;
        let placed = self
            .temp
            .place(pack_file.as_bytes())
            .and_then(|()| idx_temp.place(idx_file.as_bytes()))
            .and_then(|()| match durable {
                Durable::Yes => target.sync_pack_dir(),
                Durable::No => Ok(()),
            });
        if let Err(error) = placed {
            // The first error is the one to tell; without idx a pack is only litter.
            let _ = target.remove(idx_file.as_bytes());
            let _ = target.remove(pack_file.as_bytes());
            let _ = kept.release();
            return Err(error);
        }
        own.adopt(kept.name());
        Ok(kept)
    }

    /// Fills in the count and writes the checksum. The count comes first and is known last, so the file is read once more.
    fn complete(&mut self) -> io::Result<Oid> {
        self.flush()?;
        let count = u32::try_from(self.entries.len()).map_err(io::Error::other)?;
        self.temp.file.write_all_at(&header(count), 0)?;
        let mut sum = PlainHash::new(self.format);
        let mut buffer = vec![0; BUFFER];
        let mut at = 0;
        while at < self.flushed {
            let length = usize::try_from((self.flushed - at).min(BUFFER as u64))
                .map_err(io::Error::other)?;
            let piece = buffer.get_mut(..length).unwrap_or_default();
            self.temp.file.read_exact_at(piece, at)?;
            sum.update(piece);
            at += length as u64;
        }
        let sum = sum.finish();
        self.temp.file.write_all_at(sum.as_bytes(), self.flushed)?;
        Ok(sum)
    }
}

fn header(count: u32) -> [u8; HEADER] {
    let mut bytes = *b"PACK\0\0\0\x02\0\0\0\0";
    bytes[8..].copy_from_slice(&count.to_be_bytes());
    bytes
}

/// A name that no other pack has, not even one with the same objects: two writers must not share a `.keep`. It has as many
/// digits as those that git gives, which keeps any other pack for ever. The last eight of them are a checksum of the others, by
/// which [`is_ours`] knows it.
fn unique_name(sum: Oid) -> io::Result<String> {
    let random = random()?;
    let mut seed = sum.as_bytes().to_vec();
    seed.extend_from_slice(&random.to_be_bytes());
    let mut name = PlainHash::of(sum.format(), &seed).to_string();
    name.truncate(sum.format().digits() - MARK);
    Ok(format!("pack-{name}{}", mark(&name)))
}

/// Whether a pack's name, without extension, is one that was made here.
pub(super) fn is_ours(name: &str) -> bool {
    let digits = name.strip_prefix("pack-").unwrap_or_default();
    let formats = ObjectFormat::ALL.map(ObjectFormat::digits);
    let name = digits.len().checked_sub(MARK);
    let parts = name.and_then(|length| digits.split_at_checked(length));
    formats.contains(&digits.len()) && parts.is_some_and(|(name, end)| end == mark(name))
}

/// Digits of a checksum in a name.
const MARK: usize = 8;

fn mark(name: &str) -> String {
    format!("{:08x}", crc32fast::hash(name.as_bytes()))
}
