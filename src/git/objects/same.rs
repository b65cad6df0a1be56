//! Whether bytes at hand are those of a blob whose id is known.
//!
//! In a repository of SHA-1 by the plain hash, four times as fast as the look for collision attacks that new ids get. Of two contents
//! made to collide each one carries the traces of the attack, so none that an id was made of ([`super::hash()`], and git's own) has a
//! twin.

use std::io::{self, ErrorKind, Read};

use super::ObjectKind;
use super::hash::Proof;
use crate::git::Oid;

/// What is read at once.
const BUFFER: u64 = 1 << 20;

/// Whether these are the bytes of a blob.
pub fn is_blob(oid: Oid, data: &[u8]) -> bool {
    is_object(oid, ObjectKind::Blob, data)
}

/// Whether these are the bytes of a tree.
pub fn is_tree(oid: Oid, data: &[u8]) -> bool {
    is_object(oid, ObjectKind::Tree, data)
}

fn is_object(oid: Oid, kind: ObjectKind, data: &[u8]) -> bool {
    let mut proof = Proof::new(oid, kind, data.len() as u64);
    proof.update(data);
    proof.holds()
}

/// Whether a reader that is at its beginning, and is said to have `size` bytes, gives those of a blob. `buffer` is room to read in, to
/// be used again.
///
/// # Errors
/// It cannot be read.
pub fn reads_blob(
    oid: Oid,
    size: u64,
    reader: &mut impl Read,
    buffer: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut proof = Proof::new(oid, ObjectKind::Blob, size);
    let mut left = size;
    while left > 0 {
        // One byte more than there should be: what has grown since shows in the same read.
        let most = usize::try_from(left.min(BUFFER) + 1).map_err(io::Error::other)?;
        if buffer.len() < most {
            buffer.resize(most, 0);
        }
        let room = buffer.get_mut(..most).unwrap_or_default();
        let count = match reader.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        };
        let Some(rest) = left.checked_sub(count as u64).filter(|_| count > 0) else {
            return Ok(false);
        };
        proof.update(room.get(..count).unwrap_or_default());
        left = rest;
    }
    Ok(proof.holds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::ObjectFormat;
    use crate::git::objects::hash;

    /// Gives one byte at a time, interrupted before each.
    struct Slow<'a>(&'a [u8], bool);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn only_the_very_bytes_are_the_blob() {
        let large = vec![7; usize::try_from(BUFFER).expect("a buffer fits into memory") + 3];
        let contents = [&b"content"[..], b"", b"x", &large];
        for (format, content) in ObjectFormat::ALL
            .into_iter()
            .flat_map(|format| contents.map(|content| (format, content)))
        {
            let oid = hash(format, ObjectKind::Blob, content).expect("no attack");
            let size = content.len() as u64;
            let mut buffer = Vec::new();
            let mut reads =
                |mut bytes: &[u8]| reads_blob(oid, size, &mut bytes, &mut buffer).expect("memory");
            assert!(is_blob(oid, content) && reads(content));
            if let Some((last, rest)) = content.split_last() {
                assert!(!reads(rest) && !is_blob(oid, rest));
                assert!(!reads(&[content, b"more"].concat()));
                let other = [rest, &[last ^ 1]].concat();
                assert!(!reads(&other) && !is_blob(oid, &other));
            }
            if size < BUFFER {
                let mut slow = Slow(content, false);
                assert!(reads_blob(oid, size, &mut slow, &mut buffer).expect("memory"));
            }
        }
    }
}
