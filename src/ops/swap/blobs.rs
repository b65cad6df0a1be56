//! The blobs that a plan writes, each proven readable and true to its name before anything is touched.
//!
//! Small ones stay in memory, up to a bound: what was proven is then what is written, and need not be read again.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Result, ResultExt};
use crate::git::objects::ObjectStore;
use crate::git::{Oid, threads};
use crate::progress::Progress;

/// Larger blobs are read once more when they are written.
const SMALL: usize = 1 << 20;
/// No more than this is kept of one swap's.
const ROOM: usize = 32 << 20;

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
        let room = AtomicUsize::new(ROOM);
        let prove = |oid: &Oid| -> Result<_> {
            let mut bytes = Keeping::default();
            let size = objects.copy_blob(*oid, &mut bytes)?;
            progress.advance(1);
            Ok((*oid, size, bytes.finish(&room)))
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

/// Takes a blob's bytes, as long as they are few.
#[derive(Default)]
struct Keeping {
    bytes: Vec<u8>,
    too_many: bool,
}

impl Keeping {
    /// The bytes, when they are all there and there is room for them.
    fn finish(self, room: &AtomicUsize) -> Option<Vec<u8>> {
        // What is allocated counts, which may be nearly twice what is used.
        let take = |room: usize| room.checked_sub(self.bytes.capacity());
        let kept = !self.too_many
            && room
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok();
        kept.then_some(self.bytes)
    }
}

impl Write for Keeping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.too_many |= self.bytes.len() + bytes.len() > SMALL;
        if self.too_many {
            // The memory goes back at once: from here on the blob is only hashed.
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
        let contents = [b"small".to_vec(), vec![7; SMALL + 1], Vec::new()];
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
        let room = AtomicUsize::new(10);
        let keep = |count: usize| {
            let mut keeping = Keeping::default();
            keeping.bytes.reserve_exact(count);
            keeping.write_all(&vec![1; count]).expect("memory");
            keeping.finish(&room).is_some()
        };
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
