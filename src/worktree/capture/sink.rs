//! Where the objects of a capture go.

use std::io::Read;

use crate::error::Result;
use crate::git::objects::{Hasher, ObjectKind, PutError, hash};
use crate::git::{ObjectFormat, Oid};

/// What is only hashed is read in pieces of this size.
const BUFFER: usize = 1 << 20;

/// Where objects go: the repository, or nowhere when only their ids are wanted.
pub trait Sink: Sync {
    /// Stores an object.
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid>;
    /// Stores a blob of exactly `size` bytes.
    ///
    /// # Errors
    /// `SizeChanged` when the reader gives fewer or more; nothing is stored then.
    fn put_reader(&self, size: u64, reader: &mut dyn Read) -> std::result::Result<Oid, PutError>;
    /// Whether a blob is there already and will stay: then it need not be put.
    fn has(&self, oid: Oid) -> bool;
}

/// The sink that only hashes.
pub struct HashOnly(pub ObjectFormat);

impl Sink for HashOnly {
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        hash(self.0, kind, data)
    }

    fn put_reader(&self, size: u64, reader: &mut dyn Read) -> std::result::Result<Oid, PutError> {
        let mut hasher = Hasher::new(self.0, ObjectKind::Blob, size);
        let most = usize::try_from(size).unwrap_or(BUFFER).min(BUFFER);
        // One byte more than announced, so that growth shows in the same read.
        let mut buffer = vec![0; most + 1];
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

    fn has(&self, _: Oid) -> bool {
        true
    }
}
