//! The header of one object in a pack.

use super::ObjectKind;

/// What an entry's header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A whole object: kind, size, length of the header.
    Whole(ObjectKind, u64, usize),
    /// A difference from another object.
    Delta,
}

/// The longest header of a whole object: 4 bits of size in the first byte, 7 in each of nine more.
pub(super) const LONGEST: usize = 10;

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

/// Decodes a header; nothing when it is none.
pub(super) fn decode(bytes: &[u8]) -> Option<Entry> {
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
        6 | 7 => return Some(Entry::Delta),
        _ => return None,
    };
    Some(Entry::Whole(kind, size, length))
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
                decode(&bytes),
                Some(Entry::Whole(ObjectKind::Blob, size, bytes.len()))
            );
        }
    }

    #[test]
    fn nonsense_is_no_header() {
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[0b1011_0000]), None, "cut short");
        assert_eq!(decode(&[0]), None, "kind 0");
        assert_eq!(decode(&[0b0101_0000]), None, "kind 5");
        assert_eq!(decode(&[0xb0; 12]), None, "over 64 bits");
        assert_eq!(decode(&[0b0110_0001]), Some(Entry::Delta));
    }
}
