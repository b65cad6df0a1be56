//! The header of one object in a pack.

use std::io::Read;

use super::ObjectKind;
use super::inflate::Inflater;
use crate::git::oid::LONGEST as LONGEST_ID;
use crate::git::{ObjectFormat, Oid};

/// What an entry's header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A whole object: kind, size, length of the header.
    Whole(ObjectKind, u64, usize),
    /// A difference: what it is from, its own size, length of the header.
    Delta(Base, u64, usize),
}

/// What a difference is from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The entry this many bytes before.
    Before(u64),
    /// The object of this name, in the same pack.
    Named(Oid),
}

/// The longest header: 4 bits of size in the first byte, 7 in each of nine more, then the name of a base.
pub(super) const LONGEST: usize = 10 + LONGEST_ID;

/// Encodes the header of a whole object.
pub(super) fn encode(kind: ObjectKind, size: u64) -> Vec<u8> {
    let code = match kind {
        ObjectKind::Commit => 1,
        ObjectKind::Tree => 2,
        ObjectKind::Blob => 3,
        ObjectKind::Tag => 4,
    };
    let mut byte = (code << 4) | (size & 0x0f) as u8;
    let mut rest = size >> 4;
    let mut out = Vec::with_capacity(LONGEST);
    while rest != 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
    out
}

/// Decodes a header in a pack of this format; nothing when it is none.
pub(super) fn decode(bytes: &[u8], format: ObjectFormat) -> Option<Entry> {
    let first = *bytes.first()?;
    let mut size = u64::from(first & 0x0f);
    let mut length = 1;
    let mut last = first;
    let mut shift = 4;
    while last & 0x80 != 0 {
        last = *bytes.get(length)?;
        let bits = u64::from(last & 0x7f);
        if shift >= 64 || (bits << shift) >> shift != bits {
            return None;
        }
        size |= bits << shift;
        shift += 7;
        length += 1;
    }
    let kind = match (first >> 4) & 7 {
        1 => ObjectKind::Commit,
        2 => ObjectKind::Tree,
        3 => ObjectKind::Blob,
        4 => ObjectKind::Tag,
        6 => return distance(bytes, size, length),
        7 => {
            let base = Base::Named(format.first_of(bytes.get(length..)?)?);
            return Some(Entry::Delta(base, size, length + format.width()));
        }
        _ => return None,
    };
    Some(Entry::Whole(kind, size, length))
}

/// The size of the blob whose entry these bytes begin with; nothing when it is no blob, or damaged there. Of a difference it is
/// not known what it is from.
pub(super) fn size_of_blob(bytes: &[u8], format: ObjectFormat) -> Option<u64> {
    match decode(bytes.get(..LONGEST.min(bytes.len()))?, format)? {
        Entry::Whole(kind, size, _) => (kind == ObjectKind::Blob).then_some(size),
        Entry::Delta(_, _, length) => {
            let mut sizes = Vec::with_capacity(20);
            let data = Inflater::new(bytes.get(length..)?, 64);
            data.take(20).read_to_end(&mut sizes).ok()?;
            made_size(&sizes)
        }
    }
}

/// How far back the base is: 7 bits in each byte, the highest first, one added for each byte but the last.
fn distance(bytes: &[u8], size: u64, mut at: usize) -> Option<Entry> {
    let mut byte = *bytes.get(at)?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        distance = distance.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
    }
    Some(Entry::Delta(Base::Before(distance), size, at + 1))
}

/// The size of what a difference makes, from the beginning of its bytes: it comes after the size of its base.
pub(super) fn made_size(bytes: &[u8]) -> Option<u64> {
    let mut rest = bytes.iter();
    number(&mut rest)?;
    number(&mut rest)
}

/// A number at the beginning of a difference: 7 bits in each byte, the lowest first.
pub(super) fn number(rest: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *rest.next()?;
        let bits = u64::from(byte & 0x7f);
        if (bits << shift) >> shift != bits {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive() {
        for size in [0, 15, 16, 2047, 2048, 1 << 32, u64::MAX] {
            let bytes = encode(ObjectKind::Blob, size);
            assert!(bytes.len() <= LONGEST);
            assert_eq!(
                decode(&bytes, ObjectFormat::Sha1),
                Some(Entry::Whole(ObjectKind::Blob, size, bytes.len()))
            );
        }
    }

    #[test]
    fn nonsense_is_no_header() {
        assert_eq!(decode(&[], ObjectFormat::Sha1), None);
        assert_eq!(
            decode(&[0b1011_0000], ObjectFormat::Sha1),
            None,
            "cut short"
        );
        assert_eq!(decode(&[0], ObjectFormat::Sha1), None, "kind 0");
        assert_eq!(decode(&[0b0101_0000], ObjectFormat::Sha1), None, "kind 5");
        assert_eq!(
            decode(&[0xb0; 12], ObjectFormat::Sha1),
            None,
            "over 64 bits"
        );
        assert_eq!(decode(&[0b0110_0001], ObjectFormat::Sha1), None, "no base");
        assert_eq!(
            decode(&[0b0111_0001, 1, 2], ObjectFormat::Sha1),
            None,
            "half a name"
        );
    }

    #[test]
    fn differences_say_what_they_are_from() {
        let before = |distance, length| Some(Entry::Delta(Base::Before(distance), 1, length));
        assert_eq!(decode(&[0b0110_0001, 5], ObjectFormat::Sha1), before(5, 2));
        assert_eq!(
            decode(&[0b0110_0001, 0x80, 0], ObjectFormat::Sha1),
            before(128, 3)
        );
        assert_eq!(
            decode(&[0b0110_0001, 0x81, 0x82, 3], ObjectFormat::Sha1),
            before((((1 + 1) * 128 + 2) + 1) * 128 + 3, 4)
        );
        for format in ObjectFormat::ALL {
            let name = &[7; 32][..format.width()];
            let named = [&[0b0111_0001][..], name].concat();
            let base = Base::Named(Oid::from_bytes(name).expect("oid"));
            let length = 1 + format.width();
            assert_eq!(decode(&named, format), Some(Entry::Delta(base, 1, length)));
            assert_eq!(decode(&named[..format.width()], format), None);
        }
        assert_eq!(made_size(&[0x81, 1, 0x82, 2, 9]), Some(2 + 256));
        assert_eq!(made_size(&[0x81, 1, 0x82]), None);
        assert_eq!(made_size(&[0xff; 30]), None);
    }
}
