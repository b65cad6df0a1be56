//! File systems: whether one tells of all that happens in it, and what is mounted beneath a directory.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::git::fs::{Root, file_system};

/// The file systems whose changes all come through this machine's kernel, by the number that `statfs` gives: ext, xfs, btrfs,
/// tmpfs, f2fs, zfs, bcachefs, overlay, reiserfs, jfs.
const LOCAL: [i64; 10] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0xca45_1a4e,
    0x794c_7630,
    0x5265_4973,
    0x3153_464a,
];

/// Why a directory cannot be watched; `None` when it can.
pub fn refusal(root: &Root) -> Option<String> {
    let Some(kind) = file_system(root.fd()) else {
        return Some("the file system does not say what it is".into());
    };
    (!LOCAL.contains(&kind)).then(|| {
        format!(
            "others may change this file system without this machine seeing it (type {kind:#x})"
        )
    })
}

/// Something that is mounted on a directory or beneath it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// What the system says of it: another mount at the same place may have the same number.
    line: Vec<u8>,
    /// Where it is, from that directory on; empty: on itself.
    pub place: Vec<u8>,
}

/// What is mounted on a directory and beneath it, by the text of `/proc/self/mountinfo`.
pub fn beneath(text: &[u8], root: &Path) -> Vec<Mount> {
    // Of `/` nothing is left, and all is beneath it.
    let root = root.as_os_str().as_bytes();
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let mut found = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        let Some(point) = line.split(|&byte| byte == b' ').nth(4) else {
            continue;
        };
        let point = unescaped(point);
        let Some(rest) = point.strip_prefix(root) else {
            continue;
        };
        if rest.is_empty() || rest.starts_with(b"/") {
            found.push(Mount {
                line: line.to_vec(),
                place: rest.strip_prefix(b"/").unwrap_or(rest).to_vec(),
            });
        }
    }
    found
}

/// Spaces and the like stand as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| first == b'\\');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = byte {
            out.push(byte);
            rest = behind.get(3..).unwrap_or_default();
        } else {
            out.push(first);
            rest = behind;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_beneath_are_told_from_their_neighbours() {
        let text = b"21 1 0:19 / /proc rw - proc proc rw\n\
            30 1 8:1 / /work\\040tree/a rw shared:1 - ext4 /dev/sda1 rw\n\
            31 1 8:1 / /work\\040trees rw - ext4 /dev/sda1 rw\n\
            32 1 8:1 / /work\\040tree rw - ext4 /dev/sda1 rw\nhalf a line";
        let places = |root: &str| -> Vec<String> {
            let found = beneath(text, Path::new(root)).into_iter();
            found
                .map(|mount| String::from_utf8(mount.place).unwrap())
                .collect()
        };
        assert_eq!(places("/work tree"), ["a", ""]);
        assert_eq!(
            places("/"),
            ["proc", "work tree/a", "work trees", "work tree"]
        );
        // One in the place of another may have its number.
        let other = String::from_utf8(text.to_vec())
            .unwrap()
            .replace("8:1 / /work\\040tree/a", "8:1 /b /work\\040tree/a");
        let root = Path::new("/work tree");
        assert_ne!(beneath(text, root), beneath(other.as_bytes(), root));
        assert_eq!(unescaped(b"\\9\\04"), b"\\9\\04");
    }
}
