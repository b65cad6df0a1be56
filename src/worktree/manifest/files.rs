//! The files of one directory, wherever their records are.

use super::cached::{self, Records};
use super::{FileRec, Name};

/// The files of one directory.
#[derive(Debug, Clone, Copy)]
pub enum Files<'m> {
    /// In a file of the cache, read where they stand.
    Cached(Records<'m>),
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

    /// Returns the record at this place.
    #[inline]
    pub fn get(self, nth: usize) -> Option<FileRec> {
        match self {
            Self::Cached(records) => records.get(nth),
            Self::InMemory(files) => files.get(nth).copied(),
        }
    }

    /// The name of one of them.
    #[inline]
    pub fn name(self, nth: usize) -> Option<Name> {
        match self {
            Self::Cached(records) => records.name(nth),
            Self::InMemory(files) => files.get(nth).map(|file| file.name),
        }
    }

    /// All of them, sorted by name.
    #[inline]
    pub fn iter(self) -> Iter<'m> {
        match self {
            Self::Cached(records) => Iter::Cached(records.iter()),
            Self::InMemory(files) => Iter::InMemory(files.iter()),
        }
    }
}

/// Reads the files of one directory.
#[derive(Debug, Clone)]
pub enum Iter<'m> {
    /// In a file of the cache.
    Cached(cached::Iter<'m>),
    /// In memory.
    InMemory(std::slice::Iter<'m, FileRec>),
}

impl Iterator for Iter<'_> {
    type Item = FileRec;

    #[inline]
    fn next(&mut self) -> Option<FileRec> {
        match self {
            Self::Cached(records) => records.next(),
            Self::InMemory(files) => files.next().copied(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Cached(records) => records.size_hint(),
            Self::InMemory(files) => files.size_hint(),
        }
    }
}
