//! Objects that a pack has as differences: down to a whole object, and back up by one difference after the other.
//!
//! No size is taken on its word: memory grows with the bytes that are really there, and each must be what the next one says of
//! it. Leaves out the proof that the result hashes to its name, which is the reader's.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use super::ObjectKind;
use super::entry::{self, Base, Entry};
use super::odb_dir::Pack;
use super::read::{Fault, Loaded, TRUSTED, begin_of, entry_at, inflated};

/// Longer than any chain of differences that git makes (its own limit is 4,095). Names of bases may lead in a circle.
const LONGEST_CHAIN: usize = 10_000;

/// Bytes of bases that a generation keeps.
const ROOM: usize = 16 << 20;

/// Where a pack has the bytes of an object, or of a difference.
#[derive(Clone, Copy)]
struct Data {
    /// Where its entry begins.
    entry: u64,
    /// Where its bytes begin.
    at: u64,
    /// How many there are when they are inflated, as the header says.
    size: u64,
}

/// One entry on the way down.
enum Step {
    Whole(ObjectKind, Data),
    Delta(Data, u64),
}

/// The entry at a place, and where the base of a difference is.
fn step(file: &File, pack: &Pack, at: u64) -> Result<Step, Fault> {
    let data = |size, length: usize| Data {
        entry: at,
        at: at.saturating_add(length as u64),
        size,
    };
    match entry_at(file, at, pack.idx.format())? {
        Entry::Whole(kind, size, length) => Ok(Step::Whole(kind, data(size, length))),
        Entry::Delta(base, size, length) => {
            let base = match base {
                Base::Before(distance) => at.checked_sub(distance),
                Base::Named(oid) => pack.offset(oid),
            };
            let base = base.ok_or(Fault::Damaged)?;
            Ok(Step::Delta(data(size, length), base))
        }
    }
}

/// The object whose entry begins at a place.
pub(super) fn load(file: &File, pack: &Pack, mut at: u64) -> Result<Loaded, Fault> {
    let mut deltas = Vec::new();
    let (kind, mut bytes) = loop {
        if let Some(known) = pack.bases.get(at) {
            break known;
        }
        match step(file, pack, at)? {
            Step::Whole(kind, data) => {
                break (kind, Arc::new(inflated(file, data.at, data.size)?));
            }
            Step::Delta(data, base) if deltas.len() < LONGEST_CHAIN => {
                deltas.push(data);
                at = base;
            }
            Step::Delta(..) => return Err(Fault::Damaged),
        }
    };
    while let Some(delta) = deltas.pop() {
        // What is a base once is the base of others, too.
        pack.bases.put(at, kind, &bytes);
        let changes = inflated(file, delta.at, delta.size)?;
        bytes = Arc::new(apply(&bytes, &changes).ok_or(Fault::Damaged)?);
        at = delta.entry;
    }
    Ok((kind, Arc::unwrap_or_clone(bytes)))
}

/// Kind and size of the object whose entry begins at a place. The difference that makes it says the size, and only the whole
/// object at the end of the chain the kind.
pub(super) fn header(file: &File, pack: &Pack, mut at: u64) -> Result<(ObjectKind, u64), Fault> {
    let mut made = None;
    for _ in 0..LONGEST_CHAIN {
        match step(file, pack, at)? {
            Step::Whole(kind, data) => return Ok((kind, made.unwrap_or(data.size))),
            Step::Delta(data, base) => {
                if made.is_none() {
                    let sizes = begin_of(file, data.at, 20)?;
                    made = Some(entry::made_size(&sizes).ok_or(Fault::Damaged)?);
                }
                at = base;
            }
        }
    }
    Err(Fault::Damaged)
}

/// What a difference makes of its base; nothing when it is not one of this base. gitformat-pack(5) has the form.
fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta.iter();
    let from = entry::number(&mut rest)?;
    let made = entry::number(&mut rest)?;
    if from != base.len() as u64 {
        return None;
    }
    let mut out = Vec::with_capacity(usize::try_from(made.min(TRUSTED)).ok()?);
    while let Some(&code) = rest.next() {
        let piece = if code & 0x80 != 0 {
            let mut field = |bits: std::ops::Range<u32>| {
                let mut value = 0u32;
                for (nth, bit) in bits.enumerate() {
                    if code & (1 << bit) != 0 {
                        value |= u32::from(*rest.next()?) << (8 * nth);
                    }
                }
                usize::try_from(value).ok()
            };
            let start = field(0..4)?;
            let length = match field(4..7)? {
                0 => 0x10000,
                length => length,
            };
            base.get(start..start.checked_add(length)?)?
        } else {
            // A code of 0 is none.
            let (piece, after) = rest.as_slice().split_at_checked(usize::from(code))?;
            rest = after.iter();
            (!piece.is_empty()).then_some(piece)?
        };
        if (out.len() + piece.len()) as u64 > made {
            return None;
        }
        out.extend_from_slice(piece);
    }
    (out.len() as u64 == made).then_some(out)
}

type Known = (ObjectKind, Arc<Vec<u8>>);

#[derive(Default)]
struct Generations {
    young: HashMap<u64, Known>,
    old: HashMap<u64, Known>,
    /// Bytes in the young one.
    total: usize,
}

/// Bases of a pack by where they begin, unproven. Those not asked for again while as many others came go first.
#[derive(Default)]
pub(super) struct Bases(Mutex<Generations>);

impl Bases {
    fn get(&self, at: u64) -> Option<Known> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.young.get(&at) {
            return Some(known.clone());
        }
        let (kind, bytes) = held.old.remove(&at)?;
        held.put(at, kind, &bytes);
        Some((kind, bytes))
    }

    fn put(&self, at: u64, kind: ObjectKind, bytes: &Arc<Vec<u8>>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.put(at, kind, bytes);
    }

    /// Forgets all: one of them may be damaged.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Generations::default();
    }
}

impl Generations {
    fn put(&mut self, at: u64, kind: ObjectKind, bytes: &Arc<Vec<u8>>) {
        if bytes.len() > ROOM || self.young.contains_key(&at) {
            return;
        }
        self.total += bytes.len();
        if self.total > ROOM {
            self.old = std::mem::take(&mut self.young);
            self.total = bytes.len();
        }
        self.young.insert(at, (kind, Arc::clone(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_applied() {
        let base = b"0123456789";
        let made = |delta: &[u8]| apply(base, delta);
        // Copy 3 from 2, insert "ab", copy 2 from 0.
        let delta = [10, 7, 0x91, 2, 3, 2, b'a', b'b', 0x90, 2];
        assert_eq!(made(&delta).as_deref(), Some(&b"234ab01"[..]));
        assert_eq!(made(&[10, 0]).as_deref(), Some(&b""[..]));
        // A length of 0 is 65,536.
        let long = vec![7; 0x10000];
        let all = [0x80, 0x80, 4, 0x80, 0x80, 4, 0x80];
        assert_eq!(apply(&long, &all), Some(long));
    }

    #[test]
    fn differences_of_another_base_or_size_are_refused() {
        for (delta, why) in [
            (&[9, 1, 1, b'a'][..], "another base"),
            (&[10, 2, 1, b'a'], "makes less"),
            (&[10, 1, 2, b'a', b'b'], "makes more"),
            (&[10, 1, 0], "no such code"),
            (&[10, 2, 2, b'a'], "cut short"),
            (&[10, 1, 0x91, 2], "cut short in a copy"),
            (&[10, 3, 0x91, 8, 3], "beyond the base"),
            (&[10], "no size"),
            (
                &[10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, b'a'],
                "claims terabytes",
            ),
        ] {
            assert_eq!(apply(b"0123456789", delta), None, "{why}");
        }
    }

    #[test]
    fn bases_are_bounded_and_those_in_use_stay() {
        let bases = Bases::default();
        let third = Arc::new(vec![1; ROOM / 3]);
        bases.put(1, ObjectKind::Blob, &third);
        for at in 2..20 {
            bases.put(at, ObjectKind::Blob, &third);
            assert!(bases.get(1).is_some(), "asked for each time");
        }
        assert!(bases.get(2).is_none());
        let held = bases.0.lock().expect("whole");
        assert!(held.young.len() + held.old.len() <= 6);
        drop(held);
        bases.put(99, ObjectKind::Blob, &Arc::new(vec![1; ROOM + 1]));
        assert!(bases.get(99).is_none());
        bases.clear();
        assert!(bases.get(1).is_none());
    }
}
