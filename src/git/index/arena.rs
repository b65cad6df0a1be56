//! The bytes of paths: those in a mapped index file, read where they stand, and those that came since.

use std::sync::Arc;

use memmap2::Mmap;

use super::Span;
use crate::error::Result;
use crate::git::mapped::{Bytes, slice_of};

/// What the spans of entries point into.
#[derive(Debug, Clone, Default)]
pub(super) struct Arena {
    /// Its bytes come first.
    file: Option<Arc<Mmap>>,
    own: Vec<u8>,
}

impl From<Vec<u8>> for Arena {
    fn from(own: Vec<u8>) -> Self {
        Self { file: None, own }
    }
}

impl From<Bytes> for Arena {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Mapped(map) => Self {
                file: Some(Arc::new(map)),
                own: Vec::new(),
            },
            Bytes::Read(bytes) => bytes.into(),
        }
    }
}

impl Arena {
    /// The bytes of a span.
    pub(super) fn get(&self, span: Span) -> &[u8] {
        let file: &[u8] = self.file.as_ref().map_or(&[], |map| map);
        slice_of(file, &self.own, span.start, span.len)
    }

    /// Keeps a copy of bytes, and returns where they are.
    ///
    /// # Errors
    /// All of them together pass 4 GiB.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Result<Span> {
        let start = self.file.as_ref().map_or(0, |map| map.len()) + self.own.len();
        let span = Span::new(start..start + bytes.len())?;
        self.own.extend_from_slice(bytes);
        Ok(span)
    }

    /// How many bytes it takes in memory.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.own.capacity()
    }
}
