//! A reader over bytes that cannot run past their end. Numbers are big-endian, as everywhere in git's files.

use std::ffi::CStr;

use crate::git::{ObjectFormat, Oid};

/// What is left of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn len(self) -> usize {
        self.rest.len()
    }

    pub(super) fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(head)
    }

    /// Reads an object id.
    #[inline]
    pub(super) fn id(&mut self, format: ObjectFormat) -> Option<Oid> {
        let (id, rest) = format.split(self.rest)?;
        self.rest = rest;
        Some(id)
    }

    /// What precedes the next `byte`, which is consumed too.
    pub(super) fn until(&mut self, byte: u8) -> Option<&'a [u8]> {
        let at = self.rest.iter().position(|&other| other == byte)?;
        let head = self.take(at)?;
        self.take(1)?;
        Some(head)
    }

    /// What precedes the next zero, which is consumed too. Faster than [`Self::until`] by whole words.
    pub(super) fn until_nul(&mut self) -> Option<&'a [u8]> {
        let text = CStr::from_bytes_until_nul(self.rest).ok()?;
        self.take(text.count_bytes() + 1)?;
        Some(text.to_bytes())
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().copied().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().copied().map(u64::from_be_bytes)
    }

    /// Git's offset varint: seven bits a byte, high ones first, each continuation adding one.
    pub(super) fn varint(&mut self) -> Option<usize> {
        let [mut byte] = *self.array()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            [byte] = *self.array()?;
            value = value.checked_add(1)?.checked_mul(128)?;
            value |= usize::from(byte & 0x7f);
        }
        Some(value)
    }
}

/// Writes `value` as [`Cursor::varint`] reads it.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    let mut bytes = [0u8; 10];
    let mut used = 0;
    for byte in bytes.iter_mut().rev() {
        let low = u8::try_from(value & 0x7f).expect("seven bits");
        *byte = if used == 0 { low } else { low | 0x80 };
        used += 1;
        value >>= 7;
        if value == 0 {
            break;
        }
        value -= 1;
    }
    out.extend_from_slice(&bytes[bytes.len() - used..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_gits() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 0]),
            (255, &[0x80, 0x7f]),
            (256, &[0x81, 0]),
            (16511, &[0xff, 0x7f]),
            (16512, &[0x80, 0x80, 0]),
        ] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out, bytes, "{value}");
            assert_eq!(Cursor::new(&out).varint(), Some(value));
        }
    }

    #[test]
    fn a_varint_that_overflows_or_ends_early_is_refused() {
        assert_eq!(Cursor::new(&[0xff; 40]).varint(), None);
        assert_eq!(Cursor::new(&[0x80]).varint(), None);
    }

    #[test]
    fn nothing_is_consumed_past_the_end() {
        let mut cursor = Cursor::new(b"abc");
        assert_eq!(cursor.u32(), None);
        assert_eq!(cursor.take(4), None);
        assert_eq!(cursor.until(b'x'), None);
        assert_eq!(cursor.until_nul(), None);
        assert_eq!(cursor.until(b'b'), Some(&b"a"[..]));
        assert_eq!(cursor.len(), 1);
    }
}
