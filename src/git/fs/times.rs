//! The times that files are given.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_NOW};

/// Makes a file as new as one that is written now.
pub fn touch_at(dir: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> rustix::io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    set_times_at(dir, name, now, flags)
}

/// Sets both times of a name in a directory.
pub fn set_times_at(
    dir: BorrowedFd<'_>,
    name: &[u8],
    time: Timespec,
    flags: AtFlags,
) -> rustix::io::Result<()> {
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(dir, OsStr::from_bytes(name), &times, flags)
}
