//! Where captured objects go: into the repository.

use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::{ObjectKind, ObjectWriter, PutError};
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

    fn has(&self, oid: Oid) -> bool {
        self.0.reuse(oid)
    }
}
