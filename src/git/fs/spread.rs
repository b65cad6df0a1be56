//! Where ext4 puts new directories on the disk.

use std::os::fd::AsFd;

use rustix::fs::IFlags;

/// Asks ext4 to put each directory that is made in this one into a part of the disk that has room, with all that will be in it (the flag
/// `T` of `chattr(1)`): each is the top of a tree of its own. Others do not know that, and nothing depends on it.
pub fn spread_dirs_in(dir: impl AsFd) {
    let dir = dir.as_fd();
    if let Ok(flags) = rustix::fs::ioctl_getflags(dir)
        && !flags.contains(IFlags::TOPDIR)
    {
        let _ = rustix::fs::ioctl_setflags(dir, flags | IFlags::TOPDIR);
    }
}
