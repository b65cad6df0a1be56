//! Where captured objects go: into the repository, or nowhere when only their ids are wanted.

use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::{ObjectKind, ObjectWriter, PutError, hash};
use crate::worktree::capture::Sink;

/// The sink over a writer.
pub struct Writing<'a, 's>(pub &'a ObjectWriter<'s>);

impl Sink for Writing<'_, '_> {
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        self.0.put(kind, data)
    }

    fn put_reader(
        &self,
        size: u64,
        reader: &mut dyn std::io::Read,
    ) -> std::result::Result<Oid, PutError> {
        self.0.put_reader(size, reader)
    }
}

/// The sink that only hashes.
pub struct HashOnly;

impl Sink for HashOnly {
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        hash(kind, data)
    }

    fn put_reader(
        &self,
        size: u64,
        reader: &mut dyn std::io::Read,
    ) -> std::result::Result<Oid, PutError> {
        let mut hasher = crate::git::objects::Hasher::new(ObjectKind::Blob, size);
        let mut buffer = vec![0; 1 << 20];
        let mut total = 0;
        loop {
            let count = reader.read(&mut buffer).map_err(PutError::Source)?;
            if count == 0 {
                break;
            }
            total += count as u64;
            if total > size {
                return Err(PutError::SizeChanged);
            }
            hasher.update(&buffer[..count]);
        }
        if total != size {
            return Err(PutError::SizeChanged);
        }
        hasher.finish().map_err(PutError::Failed)
    }
}
