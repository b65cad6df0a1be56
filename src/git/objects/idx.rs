//! Pack indexes: a reader over the mapped file (versions 1 and 2), and the encoder of version 2.
//!
//! Files come from disk and are not trusted: sizes and the fan-out table are checked when opened, every access is bounded.

use std::fs::File;
use std::io;

use super::hash::PlainHash;
use super::part::PartOfId;
use crate::git::mapped::{self, Bytes, Use};
use crate::git::{ObjectFormat, Oid};

const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT: usize = 256 * 4;
/// In the 32-bit offset table: the rest is a row in the 64-bit table.
const LARGE: u32 = 0x8000_0000;

/// One object's place in a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdxEntry {
    pub(super) oid: Oid,
    pub(super) crc: u32,
    pub(super) offset: u64,
}

/// An opened idx file.
pub(super) struct Idx {
    map: Bytes,
    count: usize,
    layout: Layout,
    format: ObjectFormat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    V1,
    V2,
}

impl Idx {
    /// Maps and checks the idx file of a pack of this format. The file itself does not say which that is.
    pub(super) fn open(file: &File, format: ObjectFormat) -> io::Result<Self> {
        let map = mapped::map_or_read(file, Use::Parts)?;
        let layout = if map.starts_with(&MAGIC) {
            Layout::V2
        } else {
            Layout::V1
        };
        let mut idx = Self {
            map,
            count: 0,
            layout,
            format,
        };
        idx.count = idx
            .checked_count()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a pack index"))?;
        Ok(idx)
    }

    /// The number of objects, when fan-out and file size agree.
    fn checked_count(&self) -> Option<usize> {
        let mut sum = 0;
        for row in 0..256 {
            let count = self.u32_at(self.fanout() + 4 * row)?;
            if count < sum {
                return None;
            }
            sum = count;
        }
        let count = usize::try_from(sum).ok()?;
        let row = match self.layout {
            Layout::V1 => 4 + self.width(),
            Layout::V2 => 8 + self.width(),
        };
        let least = count.checked_mul(row)? + self.table() + 2 * self.width();
        (self.map.len() >= least).then_some(count)
    }

    /// The format of the pack.
    pub(super) fn format(&self) -> ObjectFormat {
        self.format
    }

    fn width(&self) -> usize {
        self.format.width()
    }

    fn fanout(&self) -> usize {
        match self.layout {
            Layout::V1 => 0,
            Layout::V2 => MAGIC.len(),
        }
    }

    fn table(&self) -> usize {
        self.fanout() + FANOUT
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        let bytes = self.map.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    fn oid_at(&self, row: usize) -> Option<&[u8]> {
        let width = self.width();
        let at = match self.layout {
            Layout::V1 => self.table() + (4 + width) * row + 4,
            Layout::V2 => self.table() + width * row,
        };
        self.map.get(at..at + width)
    }

    /// The row of an object.
    pub(super) fn find(&self, oid: Oid) -> Option<usize> {
        self.search(oid.as_bytes())?.ok()
    }

    /// The objects whose ids begin so.
    pub(super) fn beginning_with(&self, part: PartOfId) -> impl Iterator<Item = Oid> {
        let row = self
            .search(part.least(self.format))
            .map(|row| row.unwrap_or_else(|row| row));
        let rows = row.unwrap_or(self.count)..self.count;
        rows.map_while(|row| self.oid_at(row))
            .take_while(move |oid| part.begins(oid))
            .filter_map(|oid| Oid::from_bytes(oid).ok())
    }

    /// The row of an object, or the one that it would have.
    fn search(&self, wanted: &[u8]) -> Option<Result<usize, usize>> {
        let first = usize::from(*wanted.first()?);
        let bound = |row: usize| self.u32_at(self.fanout() + 4 * row).map(|n| n as usize);
        let mut low = if first == 0 { 0 } else { bound(first - 1)? };
        let mut high = bound(first)?;
        while low < high {
            let middle = low + (high - low) / 2;
            match self.oid_at(middle)?.cmp(wanted) {
                std::cmp::Ordering::Equal => return Some(Ok(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Some(Err(low))
    }

    /// Every object; nothing when this is no index of version 2, or not a sound one.
    pub(super) fn entries(&self) -> Option<Vec<IdxEntry>> {
        // It has no checksums of entries, without which none may be copied as it stands.
        if self.layout == Layout::V1 {
            return None;
        }
        let crcs = self.table() + self.width() * self.count;
        let entry = |row| {
            Some(IdxEntry {
                oid: Oid::from_bytes(self.oid_at(row)?).ok()?,
                crc: self.u32_at(crcs + 4 * row)?,
                offset: self.offset(row)?,
            })
        };
        (0..self.count).map(entry).collect()
    }

    /// Where in the pack the object of a row begins.
    pub(super) fn offset(&self, row: usize) -> Option<u64> {
        if self.layout == Layout::V1 {
            return self
                .u32_at(self.table() + (4 + self.width()) * row)
                .map(u64::from);
        }
        let offsets = self.table() + (4 + self.width()) * self.count;
        let short = self.u32_at(offsets + 4 * row)?;
        if short & LARGE == 0 {
            return Some(u64::from(short));
        }
        let at = offsets + 4 * self.count + 8 * (short & !LARGE) as usize;
        let end = self.map.len() - 2 * self.width();
        let bytes = self.map.get(at..at + 8).filter(|_| at + 8 <= end)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }
}

/// An idx file of version 2. Sorts the entries, which must be of distinct objects.
pub(super) fn encode(entries: &mut [IdxEntry], pack_checksum: Oid) -> Vec<u8> {
    let format = pack_checksum.format();
    entries.sort_unstable_by(|a, b| a.oid.as_bytes().cmp(b.oid.as_bytes()));
    let mut out = Vec::with_capacity(
        MAGIC.len() + FANOUT + (8 + format.width()) * entries.len() + 2 * format.width(),
    );
    out.extend_from_slice(&MAGIC);
    for first in 0..=255u8 {
        let upto = entries.partition_point(|entry| entry.oid.as_bytes()[0] <= first);
        let count = u32::try_from(upto).expect("a pack's count is 32 bits, checked when adding");
        out.extend_from_slice(&count.to_be_bytes());
    }
    for entry in &*entries {
        out.extend_from_slice(entry.oid.as_bytes());
    }
    for entry in &*entries {
        out.extend_from_slice(&entry.crc.to_be_bytes());
    }
    encode_offsets(entries, &mut out);
    out.extend_from_slice(pack_checksum.as_bytes());
    let sum = PlainHash::of(format, &out);
    out.extend_from_slice(sum.as_bytes());
    out
}

fn encode_offsets(entries: &[IdxEntry], out: &mut Vec<u8>) {
    let mut large = Vec::new();
    for entry in entries {
        let short = match u32::try_from(entry.offset) {
            Ok(short) if short & LARGE == 0 => short,
            _ => {
                let row = u32::try_from(large.len()).expect("no more rows than objects");
                large.push(entry.offset);
                LARGE | row
            }
        };
        out.extend_from_slice(&short.to_be_bytes());
    }
    for offset in large {
        out.extend_from_slice(&offset.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::process::Stdio;

    use super::*;

    fn entries(format: ObjectFormat) -> Vec<IdxEntry> {
        let offsets = [
            12,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x1_0000_0000,
            7 << 40,
        ];
        (0u32..)
            .zip(offsets)
            .map(|(n, offset)| IdxEntry {
                oid: PlainHash::of(format, &n.to_be_bytes()),
                crc: n,
                offset,
            })
            .collect()
    }

    fn sum(format: ObjectFormat) -> Oid {
        PlainHash::of(format, b"a pack")
    }

    fn written(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("temporary file");
        file.write_all(bytes).expect("written");
        file
    }

    #[test]
    fn offsets_past_2_31_survive() {
        for format in ObjectFormat::ALL {
            let mut list = entries(format);
            let bytes = encode(&mut list, sum(format));
            let idx = Idx::open(&written(&bytes), format).expect("valid");
            for entry in list {
                let row = idx.find(entry.oid).expect("present");
                assert_eq!(idx.offset(row), Some(entry.offset));
            }
            assert!(idx.find(format.null()).is_none());
        }
    }

    #[test]
    fn git_reads_the_same_offsets() {
        ObjectFormat::ALL.into_iter().for_each(git_reads);
    }

    fn git_reads(format: ObjectFormat) {
        let mut list = entries(format);
        let bytes = encode(&mut list, sum(format));
        let mut git = crate::provided::git(Path::new("/"))
            // Outside of a repository that it trusts, git knows no hash of its own.
            .args(["show-index", &format!("--object-format={format}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git runs");
        let mut stdin = git.stdin.take().expect("piped");
        stdin.write_all(&bytes).expect("written");
        drop(stdin);
        let output = git.wait_with_output().expect("git ends");
        let wanted: Vec<_> = list
            .iter()
            .map(|entry| format!("{} {} ({:08x})", entry.offset, entry.oid, entry.crc))
            .collect();
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(told.lines().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn damaged_files_are_refused_not_believed() {
        ObjectFormat::ALL.into_iter().for_each(damaged);
    }

    fn damaged(format: ObjectFormat) {
        let open = |bytes: &[u8]| Idx::open(&written(bytes), format);
        let good = encode(&mut entries(format), sum(format));
        assert!(open(&good[..good.len() - 80]).is_err());
        assert!(open(b"short").is_err());
        let mut falling = good.clone();
        falling[8] = 0xff;
        assert!(open(&falling).is_err());
        let mut list = entries(format);
        let mut beyond = good;
        let table = 8 + FANOUT + (4 + format.width()) * list.len();
        beyond[table..table + 4].copy_from_slice(&(LARGE | 0xffff).to_be_bytes());
        let idx = open(&beyond).expect("the shape is right");
        list.sort_unstable_by(|a, b| a.oid.as_bytes().cmp(b.oid.as_bytes()));
        assert_eq!(idx.offset(0), None);
    }
}
