//! Bytes that wait in memory, deflated where they are many: only those that are worked on are held whole.

use std::borrow::Cow;
use std::io::Read as _;

use super::deflate::with_deflated;
use super::inflate::Inflater;

/// Fewer bytes are held as they are.
const PACKED_FROM: usize = 64 << 10;

/// Bytes that wait.
#[derive(Debug)]
pub struct Packed {
    size: usize,
    is_deflated: bool,
    held: Vec<u8>,
}

impl Packed {
    /// Packs these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let is_deflated = bytes.len() >= PACKED_FROM;
        let held = if is_deflated {
            with_deflated(&[], bytes, <[u8]>::to_vec)
        } else {
            bytes.to_vec()
        };
        Self {
            size: bytes.len(),
            is_deflated,
            held,
        }
    }

    /// The bytes as they were.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        if !self.is_deflated {
            return Cow::Borrowed(&self.held);
        }
        let mut bytes = Vec::with_capacity(self.size);
        Inflater::new(self.held.as_slice(), self.held.len() as u64)
            .read_to_end(&mut bytes)
            .expect("what was deflated here can be inflated");
        Cow::Owned(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let many: Vec<u8> = b"again and again, ".repeat(20_000);
        for bytes in [&b""[..], b"few", &many] {
            assert_eq!(Packed::new(bytes).bytes(), bytes);
        }
        assert!(Packed::new(&many).held.len() < many.len() / 10);
    }
}
