//! Object ids, and the two formats that they and all that holds them come in: SHA-1 and SHA-256.
//!
//! A repository has one format (`extensions.objectFormat`). [`Repo`](super::repo::Repo) reads it from the configuration, and
//! hands it to whatever reads or writes ids as bytes: [`ObjectStore`](super::objects::ObjectStore),
//! [`Index`](super::index::Index), the stat cache. From then on an id carries it: what was found by an id, such as a tree, has
//! ids of the same width in it, and what is proven by an id is hashed as that id was. Text needs no telling, for the number of
//! digits says it. Two formats never meet in one repository.
//!
//! Ids are compared by their bytes alone, so that "no id" is the same in both formats.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::error::{Code, Error};

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ObjectFormat {
    /// Twenty bytes, and git's default.
    #[default]
    Sha1,
    /// Thirty-two bytes.
    Sha256,
}

impl ObjectFormat {
    /// Both object formats.
    pub const ALL: [Self; 2] = [Self::Sha1, Self::Sha256];

    /// As git's configuration has it; nothing for a format that is not known.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// As git's configuration has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// How many bytes an id has.
    #[inline]
    pub const fn width(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// How many hex digits an id has.
    pub const fn digits(self) -> usize {
        2 * self.width()
    }

    /// The id of zeros, which no object has.
    pub const fn null(self) -> Oid {
        Oid {
            bytes: [0; LONGEST],
            format: self,
        }
    }

    /// The id that some bytes begin with; nothing when there are too few.
    #[inline]
    pub fn first_of(self, bytes: &[u8]) -> Option<Oid> {
        match self {
            Self::Sha1 => bytes.first_chunk::<20>().map(Oid::from),
            Self::Sha256 => bytes.first_chunk::<32>().map(Oid::from),
        }
    }

    /// The id that some bytes begin with, and what follows it.
    pub fn split(self, bytes: &[u8]) -> Option<(Oid, &[u8])> {
        Some((self.first_of(bytes)?, bytes.get(self.width()..)?))
    }
}

impl fmt::Display for ObjectFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bytes of the longest id.
pub const LONGEST: usize = 32;

/// The id of an object.
#[derive(Clone, Copy)]
pub struct Oid {
    /// Zeros fill up what the format leaves.
    bytes: [u8; LONGEST],
    format: ObjectFormat,
}

/// What was to be an id is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnId;

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an object id")
    }
}

impl std::error::Error for NotAnId {}

impl From<NotAnId> for Error {
    fn from(error: NotAnId) -> Self {
        Self::new(Code::CorruptRecord, error.to_string()).caused_by(error)
    }
}

impl Oid {
    /// The id of nothing, where it does not matter in which format: it equals that of the other one.
    pub const NULL: Self = ObjectFormat::Sha1.null();

    /// The id in twenty or thirty-two bytes.
    ///
    /// # Errors
    /// Any other number of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotAnId> {
        ObjectFormat::ALL
            .into_iter()
            .find(|format| format.width() == bytes.len())
            .and_then(|format| format.first_of(bytes))
            .ok_or(NotAnId)
    }

    /// The id in forty or sixty-four hex digits, of either case.
    ///
    /// # Errors
    /// Anything else.
    pub fn from_hex(text: &str) -> Result<Self, NotAnId> {
        Self::from_hex_bytes(text.as_bytes())
    }

    /// As [`Self::from_hex`].
    ///
    /// # Errors
    /// As there.
    pub fn from_hex_bytes(text: &[u8]) -> Result<Self, NotAnId> {
        let format = ObjectFormat::ALL
            .into_iter()
            .find(|format| format.digits() == text.len());
        let mut oid = format.ok_or(NotAnId)?.null();
        let (pairs, _) = text.as_chunks::<2>();
        for (byte, [high, low]) in oid.bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(oid)
    }

    /// The id that a text begins with, and what follows it, which is no further digit.
    pub fn leading(text: &[u8]) -> Option<(Self, &[u8])> {
        let (hex, rest) = leading_digits(text);
        Some((Self::from_hex_bytes(hex).ok()?, rest))
    }

    /// Its format.
    #[inline]
    pub const fn format(&self) -> ObjectFormat {
        self.format
    }

    /// As many bytes as its format has.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.format.width()]
    }

    /// As many bytes as this format has. What is no id yet has none of its own.
    #[inline]
    pub fn bytes_as(&self, format: ObjectFormat) -> &[u8] {
        &self.bytes[..format.width()]
    }

    /// Whether it is zeros, the id of nothing.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.bytes == [0; LONGEST]
    }
}

/// The hex digits that a text begins with, no more than any id has and one, and what follows them.
pub fn leading_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let digits = text.iter().take(2 * LONGEST + 1);
    let count = digits.take_while(|byte| byte.is_ascii_hexdigit()).count();
    text.split_at(count)
}

/// Whether this many digits make an id.
pub fn is_whole(digits: usize) -> bool {
    ObjectFormat::ALL
        .map(ObjectFormat::digits)
        .contains(&digits)
}

/// The value of a hex digit.
#[inline]
fn digit(byte: u8) -> Result<u8, NotAnId> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(NotAnId),
    }
}

impl From<&[u8; 20]> for Oid {
    #[inline]
    fn from(id: &[u8; 20]) -> Self {
        let mut bytes = [0; LONGEST];
        bytes[..20].copy_from_slice(id);
        Self {
            bytes,
            format: ObjectFormat::Sha1,
        }
    }
}

impl From<&[u8; 32]> for Oid {
    #[inline]
    fn from(id: &[u8; 32]) -> Self {
        Self {
            bytes: *id,
            format: ObjectFormat::Sha256,
        }
    }
}

impl FromStr for Oid {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Self::from_hex(text)
    }
}

impl PartialEq for Oid {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Oid {}

impl PartialOrd for Oid {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Oid {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl Hash for Oid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Ids are as good as random: these tell any two apart.
        state.write(&self.bytes[..16]);
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 2 * LONGEST];
        let (pairs, _) = text.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.as_bytes()) {
            *pair = [byte >> 4, byte & 15].map(|half| DIGITS[usize::from(half)]);
        }
        let text = &text[..self.format.digits()];
        f.pad(std::str::from_utf8(text).expect("hex digits are ASCII"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_digits_tells_the_format() {
        for format in ObjectFormat::ALL {
            let text = "0aB9".repeat(format.digits() / 4);
            let oid = Oid::from_hex(&text).expect("an id");
            assert_eq!(oid.format(), format);
            assert_eq!(oid.to_string(), text.to_lowercase());
            assert_eq!(Oid::from_bytes(oid.as_bytes()), Ok(oid));
            assert_eq!(format!("{oid:.7}"), "0ab90ab");
            assert_eq!(ObjectFormat::from_name(format.name()), Some(format));
            let line = format!("{text} refs/x");
            let (first, rest) = Oid::leading(line.as_bytes()).expect("an id");
            assert_eq!((first, rest), (oid, &b" refs/x"[..]));
            let (first, rest) = format
                .split(&[oid.as_bytes(), b"x"].concat())
                .map(|(oid, rest)| (oid, rest.to_vec()))
                .expect("an id");
            assert_eq!((first, rest), (oid, b"x".to_vec()));
            let longer = format!("{text}0 refs/x");
            assert_eq!(Oid::leading(longer.as_bytes()), None);
        }
        let odd = "g".repeat(40);
        for text in ["", "0", &"0".repeat(39), &"0".repeat(41), &odd] {
            assert_eq!(Oid::from_hex(text), Err(NotAnId), "{text}");
        }
        assert_eq!(Oid::from_bytes(&[1; 21]), Err(NotAnId));
        assert_eq!(ObjectFormat::Sha256.first_of(&[1; 31]), None);
    }

    #[test]
    fn nothing_is_the_same_in_both_formats() {
        let [sha1, sha256] = ObjectFormat::ALL.map(ObjectFormat::null);
        assert_eq!(sha1, sha256);
        assert!(sha1.is_null() && sha256.is_null());
        assert_eq!(sha256.to_string(), "0".repeat(64));
    }
}
