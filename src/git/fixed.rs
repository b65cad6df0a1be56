//! What nobody may change, not even root: files and directories that are immutable or append-only (`chattr(1)`), and file systems that are
//! mounted read-only. Bits and owners do not tell of it. Where the system does not say, nothing is found, and whoever tries is told.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;

/// Why nobody may change the names in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// It is immutable or append-only.
    Flagged,
    /// Its file system, or what is mounted there of it, is read-only.
    ReadOnly,
}

impl Fixed {
    /// Whether nobody may change the names in an open directory.
    pub fn of(dir: impl AsFd) -> Option<Self> {
        let dir = dir.as_fd();
        if is_flagged(dir, b"") {
            return Some(Self::Flagged);
        }
        let wanted = rustix::fs::Access::WRITE_OK;
        let asked = rustix::fs::accessat(dir, ".", wanted, AtFlags::EACCESS);
        (asked == Err(Errno::ROFS)).then_some(Self::ReadOnly)
    }
}

/// Whether what has this name in an open directory is immutable or append-only; an empty name is the directory itself.
pub fn is_flagged(dir: impl AsFd, name: &[u8]) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let told = statx(dir, OsStr::from_bytes(name), flags, StatxFlags::empty());
    let fixed = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    told.is_ok_and(|told| (told.stx_attributes & told.stx_attributes_mask).intersects(fixed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_directory_and_what_is_not_there_are_not_fixed() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let dir = super::super::fs::open_dir(room.path()).expect("opened");
        assert_eq!(Fixed::of(&dir), None);
        assert!(!is_flagged(&dir, b"") && !is_flagged(&dir, b"absent"));
    }
}
