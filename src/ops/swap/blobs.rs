//! The blobs that a plan writes, each proven readable and true to its name before anything is touched.
//!
//! Small ones stay in memory, up to a bound: what was proven is then what is written, and need not be read again. The bound is a small
//! part of the memory that is free, so that a swap of many files reads each once where there is plenty.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Result, ResultExt};
use crate::git::objects::ObjectStore;
use crate::git::{Oid, memory, threads};
use crate::progress::Progress;

/// Larger blobs are read once more when they are written.
const SMALL: u64 = 1 << 20;
/// So much is kept of one swap's, whatever memory there is.
const ROOM: usize = 32 << 20;
/// And no more than this, however much there is.
const MOST: usize = 256 << 20;
/// The part of the free memory that is taken.
const PART: u64 = 16;
/// Fewer blobs are not worth asking how much is free.
const MANY: usize = 1000;

/// How many bytes may be kept of so many blobs.
fn room(count: usize) -> usize {
    let free = (count >= MANY).then(memory::free).flatten();
    free.map_or(ROOM, |free| {
        usize::try_from(free / PART).map_or(MOST, |part| part.clamp(ROOM, MOST))
    })
}

/// Proven blobs.
#[derive(Debug, Default)]
pub struct Blobs {
    sizes: HashMap<Oid, u64>,
    kept: HashMap<Oid, Vec<u8>>,
}

impl Blobs {
    /// Proves them, on all cores.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`: one is missing, damaged, or no blob.
    pub(super) fn prove(
        objects: &ObjectStore,
        oids: &[Oid],
        progress: &dyn Progress,
    ) -> Result<Self> {
        let room = AtomicUsize::new(room(oids.len()));
        let prove = |oid: &Oid| -> Result<_> {
            let bytes = objects.read_blob_up_to(*oid, SMALL)?;
            let size = match &bytes {
                Some(bytes) => bytes.len() as u64,
                None => objects.copy_blob(*oid, &mut io::sink())?,
            };
            progress.advance(1);
            Ok((*oid, size, bytes.filter(|bytes| has_room(bytes, &room))))
        };
        let proven = threads::map(oids, prove);
        let mut blobs = Self::default();
        for proven in proven {
            let (oid, size, bytes) = proven?;
            blobs.sizes.insert(oid, size);
            blobs.kept.extend(bytes.map(|bytes| (oid, bytes)));
        }
        Ok(blobs)
    }

    /// The size of a blob that was proven.
    pub(super) fn size(&self, oid: Oid) -> Option<u64> {
        self.sizes.get(&oid).copied()
    }

    /// Writes a blob's bytes to `out`; what is not kept comes from the repository, proven again.
    ///
    /// # Errors
    /// As [`ObjectStore::copy_blob`].
    pub fn copy(&self, objects: &ObjectStore, oid: Oid, out: &mut dyn Write) -> Result<u64> {
        let Some(bytes) = self.kept.get(&oid) else {
            return objects.copy_blob(oid, out);
        };
        out.write_all(bytes)
            .context(|| format!("cannot write the bytes of object {oid}"))?;
        Ok(bytes.len() as u64)
    }
}

/// Whether there is room for these bytes, which is taken then.
fn has_room(bytes: &Vec<u8>, room: &AtomicUsize) -> bool {
    // What is allocated counts, which may be more than what is used. One that is a difference is read whole, however large.
    let take = |room: usize| room.checked_sub(bytes.capacity());
    bytes.len() as u64 <= SMALL
        && room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::objects::{ObjectKind, ObjectWriter, WriteMode};
    use crate::progress::Silent;

    #[test]
    fn small_ones_are_kept_and_large_ones_read_again() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir_all(dir.path().join("objects/pack")).expect("mkdir");
        let objects =
            ObjectStore::open(dir.path(), crate::git::ObjectFormat::Sha1).expect("opened");
        let large = vec![7; usize::try_from(SMALL).expect("it fits into memory") + 1];
        let contents = [b"small".to_vec(), large, Vec::new()];
        let writer = ObjectWriter::new(&objects, WriteMode::Loose).expect("writer");
        let put = |bytes: &Vec<u8>| writer.put(ObjectKind::Blob, bytes).expect("written");
        let oids: Vec<Oid> = contents.iter().map(put).collect();
        writer.finish().expect("finished");
        let blobs = Blobs::prove(&objects, &oids, &Silent).expect("proven");
        let kept = |oid: &Oid| blobs.kept.contains_key(oid);
        assert_eq!(
            oids.iter().map(kept).collect::<Vec<_>>(),
            [true, false, true]
        );
        for (oid, bytes) in oids.iter().zip(&contents) {
            let mut out = Vec::new();
            let size = blobs.copy(&objects, *oid, &mut out).expect("copied");
            assert_eq!((size, blobs.size(*oid)), (bytes.len() as u64, Some(size)));
            assert!(out == *bytes);
        }
        std::fs::remove_dir_all(dir.path().join("objects")).expect("removed");
        let again = |oid: Oid| blobs.copy(&objects, oid, &mut Vec::new());
        assert_eq!(
            oids.iter()
                .map(|oid| again(*oid).is_ok())
                .collect::<Vec<_>>(),
            [true, false, true]
        );
        assert!(Blobs::prove(&objects, &oids, &Silent).is_err());
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        assert_eq!(super::room(MANY - 1), ROOM);
        assert!((ROOM..=MOST).contains(&super::room(MANY)));
        let room = AtomicUsize::new(10);
        let keep = |count: usize| has_room(&vec![1; count], &room);
        assert!(keep(6) && !keep(6) && keep(4) && !keep(1));
    }

    #[test]
    fn a_tree_is_no_blob() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir_all(dir.path().join("objects/pack")).expect("mkdir");
        let objects =
            ObjectStore::open(dir.path(), crate::git::ObjectFormat::Sha1).expect("opened");
        let writer = ObjectWriter::new(&objects, WriteMode::Loose).expect("writer");
        let tree = writer.put(ObjectKind::Tree, b"").expect("written");
        writer.finish().expect("finished");
        assert!(Blobs::prove(&objects, &[tree], &Silent).is_err());
    }
}
