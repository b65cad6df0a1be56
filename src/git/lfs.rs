//! What git LFS puts into a repository in the place of a large file: a short text that names the file's bytes by their hash.
//!
//! It proves without the filter whether a file has the bytes that it stands for. Texts of extensions of git LFS, whose hash is of what
//! they made of the file, are none.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

use super::hex::hex;

/// The longest text that git LFS takes for one of its own.
pub const MOST: u64 = 1024;

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The hash of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
}

impl Pointer {
    /// Reads such a text; None for any other.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        if lines.next() != Some("version https://git-lfs.github.com/spec/v1") {
            return None;
        }
        let sha256 = lines.next()?.strip_prefix("oid sha256:")?;
        let size = lines.next()?.strip_prefix("size ")?.parse().ok()?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = sha256.len() == 64 && sha256.bytes().all(is_digit) && lines.next().is_none();
        is_whole.then(|| Self {
            sha256: sha256.to_owned(),
            size,
        })
    }
}

/// The hash by which a [`Pointer`] names bytes.
///
/// # Errors
/// They cannot be read.
pub fn hash(bytes: &mut dyn Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(bytes, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_its_bytes() {
        let sha256 = hash(&mut &b"x"[..]).expect("read");
        let text =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 1\n");
        let size = 1;
        assert_eq!(
            Pointer::parse(text.as_bytes()),
            Some(Pointer { sha256, size })
        );
        let extension = text.replace("\noid", "\next-0-case sha256:00\noid");
        let others = [&text[1..], &text[..text.len() - 4], &extension, ""];
        for other in others {
            assert_eq!(Pointer::parse(other.as_bytes()), None, "{other}");
        }
    }
}
