//! Loose objects: their names, and opening one for reading.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

use super::ObjectKind;
use super::inflate::Inflater;
use super::read::{Fault, Opened};
use crate::git::oid::LONGEST;
use crate::git::{ObjectFormat, Oid};

/// `ab/cdef…`, relative to the objects directory.
pub(super) struct Name {
    /// Of the longest id.
    text: [u8; 2 * LONGEST + 1],
    length: usize,
}

impl Deref for Name {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

/// The name of an object's file.
pub(super) fn name(oid: Oid) -> Name {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'/'; 2 * LONGEST + 1];
    let digits = oid
        .as_bytes()
        .iter()
        .flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    for (at, digit) in digits.enumerate() {
        let shift = usize::from(at >= 2);
        if let Some(slot) = text.get_mut(at + shift) {
            *slot = digit;
        }
    }
    let length = oid.format().digits() + 1;
    Name { text, length }
}

/// The object that a file of this name is, in the fan-out directory of this byte. Digits of another case, or another number of them, are
/// no object's name.
pub(super) fn oid_of(fan_out: u8, file: &OsStr, format: ObjectFormat) -> Option<Oid> {
    let rest = file.to_str()?;
    let oid = Oid::from_hex(&format!("{fan_out:02x}{rest}")).ok()?;
    let is_its = oid.format() == format && name(oid).ends_with(rest.as_bytes());
    is_its.then_some(oid)
}

/// Reads the header of a loose object, whose file has this length; its bytes follow.
pub(super) fn open(file: File, length: u64) -> Result<Opened, Fault> {
    let mut data = Inflater::new(file, length);
    let header = read_header(&mut data)?;
    let (kind, size) = parse_header(&header).ok_or(Fault::Damaged)?;
    Ok(Opened::Stream {
        kind,
        size,
        data: Box::new(data),
    })
}

/// The bytes up to the first NUL, which is at most the 32nd.
fn read_header(data: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(32);
    let mut byte = [0];
    while header.len() < 32 {
        data.read_exact(&mut byte)?;
        if byte[0] == 0 {
            return Ok(header);
        }
        header.push(byte[0]);
    }
    Err(io::ErrorKind::InvalidData.into())
}

fn parse_header(header: &[u8]) -> Option<(ObjectKind, u64)> {
    let space = header.iter().position(|&byte| byte == b' ')?;
    let kind = ObjectKind::from_name(header.get(..space)?)?;
    let digits = header.get(space + 1..)?;
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((kind, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_id_split_after_two_digits() {
        let oid: Oid = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
            .parse()
            .expect("an id");
        assert_eq!(&*name(oid), b"e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        let oid: Oid = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
            .parse()
            .expect("an id");
        assert_eq!(
            &*name(oid),
            b"47/3a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }

    #[test]
    fn only_gits_headers_are_read() {
        assert_eq!(parse_header(b"blob 42"), Some((ObjectKind::Blob, 42)));
        for bad in ["blob", "blob ", "blob +1", "file 1", "blob 1x", " 1"] {
            assert_eq!(parse_header(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
