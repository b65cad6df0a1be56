//! The files of one directory, wherever their records are.

use super::cached::{self, FILE};
use super::{FileRec, Name};

/// The files of one directory.
#[derive(Debug, Clone, Copy)]
pub enum Files<'m> {
    /// In a file of the cache, read where they stand.
    Cached(&'m [[u8; FILE]]),
    /// In memory.
    InMemory(&'m [FileRec]),
}

impl<'m> Files<'m> {
    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            Self::Cached(records) => records.len(),
            Self::InMemory(files) => files.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// One of them.
    #[inline]
    pub fn get(self, nth: usize) -> Option<FileRec> {
        match self {
            Self::Cached(records) => records.get(nth).map(cached::read),
            Self::InMemory(files) => files.get(nth).copied(),
        }
    }

    /// The name of one of them.
    #[inline]
    pub fn name(self, nth: usize) -> Option<Name> {
        match self {
            Self::Cached(records) => records.get(nth).map(cached::name_of),
            Self::InMemory(files) => files.get(nth).map(|file| file.name),
        }
    }

    /// All of them, sorted by name.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = FileRec> + use<'m> {
        let (cached, in_memory) = match self {
            Self::Cached(records) => (records, &[][..]),
            Self::InMemory(files) => (&[][..], files),
        };
        cached
            .iter()
            .map(cached::read)
            .chain(in_memory.iter().copied())
    }
}
