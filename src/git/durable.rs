//! Waiting for the disk: everything at once, where many files of others count.
//!
//! One `syncfs` instead of an `fsync` for each of thousands of files that we and git wrote without waiting, and their
//! directories. Single files of ours are synced where they are written ([`super::fs`]).

use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::regular;
use crate::env::told_boot_id;
use crate::error::{Result, ResultExt};

/// Waits until all that was written to the file system of `path` so far is on disk.
///
/// # Errors
/// The disk refuses, now or for anything written since it was last asked.
pub fn sync_file_system(path: &Path) -> Result<()> {
    let what = || format!("cannot sync the file system of '{}'", path.display());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).context(what)?;
    match rustix::fs::syncfs(&file) {
        // A sandbox that forbids it: all file systems, then, which waits on Linux as well.
        Err(Errno::NOSYS | Errno::PERM) => {
            sync_everything();
            Ok(())
        }
        done => done.context(what),
    }
}

/// Waits until all that was written anywhere is on disk, without being told whether it is.
pub fn sync_everything() {
    rustix::fs::sync();
}

/// What the system calls this boot; `None` where it does not say.
pub fn boot_id() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let text = regular::read("/proc/sys/kernel/random/boot_id").ok()?;
        let text = String::from_utf8(text).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    BOOT.get_or_init(|| told_boot_id().or_else(read)).as_deref()
}
