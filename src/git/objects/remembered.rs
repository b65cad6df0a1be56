//! Objects' bytes kept in memory, up to a bound.
//!
//! What is here was proven when it was read, and an id never means other bytes. That an object is remembered does not say that
//! it still exists: nothing here answers that question.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::git::Oid;

/// Bytes kept in all. Once that many are there, no more come in.
const ROOM: usize = 16 << 20;

#[derive(Default)]
struct Cached {
    bytes: HashMap<Oid, Vec<u8>>,
    total: usize,
}

/// Bytes by id, for several threads.
#[derive(Default)]
pub(super) struct Remembered(Mutex<Cached>);

impl Remembered {
    pub(super) fn get(&self, oid: Oid) -> Option<Vec<u8>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes.get(&oid).cloned()
    }

    pub(super) fn put(&self, oid: Oid, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let total = kept.total.saturating_add(bytes.len());
        if total <= ROOM && kept.bytes.insert(oid, bytes.to_vec()).is_none() {
            kept.total = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_bound() {
        let remembered = Remembered::default();
        let oid = |nth: u8| Oid::from_bytes(&[nth; 20]).expect("20 bytes");
        let third = vec![1; ROOM / 3];
        for nth in [1, 1, 2, 3] {
            remembered.put(oid(nth), &third);
        }
        remembered.put(oid(4), &[1; 3]);
        assert!((1..4).all(|nth| remembered.get(oid(nth)).as_ref() == Some(&third)));
        assert_eq!(remembered.get(oid(4)), None);
    }
}
