//! Whether a file that was just read may change without its stamp moving.
//!
//! A write moves the times when it begins, and of the stores through a shared map the first one alone does until the system has
//! written the page back. So what somebody has open for writing may go on changing under the stamp that it has already.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;

use crate::env::clock_nanos;
use crate::git::regular;

/// How long a page may stay dirty at least, in nanoseconds. Linux writes back what is older than 30 seconds, and looks each 5. A later
/// store moves the times again.
const UNTIL_WRITTEN_BACK: i64 = 60_000_000_000;

/// `TMPFS_MAGIC` and `RAMFS_MAGIC`: nothing is ever written back.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];

/// `OVERLAYFS_SUPER_MAGIC`: a map there holds the file beneath, of which the one above does not tell.
pub(super) const OVERLAY: i64 = 0x794c_7630;

/// The number that `statfs` gives for the file system that something is on; `None` where it does not say.
pub fn file_system(file: impl AsFd) -> Option<i64> {
    rustix::fs::fstatfs(file).ok().map(|found| found.f_type)
}

/// Whether somebody may change an open file, whose stamp moved at `time` (nanoseconds since the epoch), without moving it again. To be
/// asked before it is read: who opens it later moves the stamp.
pub fn may_change_unseen(file: &File, time: i64) -> bool {
    let kind = file_system(file);
    let is_young = time >= young_since();
    let is_in_memory = kind.is_some_and(|kind| IN_MEMORY.contains(&kind));
    // A lease, be it held for a moment, lets others' `open` with `O_NONBLOCK` fail: it is asked for only where its answer decides.
    if kind == Some(OVERLAY) || !(is_young || is_in_memory) {
        return is_young;
    }
    is_open_for_writing(file).unwrap_or(is_young)
}

/// Files whose stamps moved since then, in nanoseconds since the epoch, may have pages that are still to be written back.
pub fn young_since() -> i64 {
    clock_nanos().saturating_sub(until_written_back())
}

/// Whether another program is known to have an open file open for writing, or mapped to write in it.
pub fn has_writer(file: &File) -> bool {
    is_open_for_writing(file) == Some(true)
}

/// How long this system lets a page be dirty, with room: `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`, which laptops set
/// to minutes, and whose zero switches writing back off.
fn until_written_back() -> i64 {
    static TIME: OnceLock<i64> = OnceLock::new();
    *TIME.get_or_init(|| {
        let nanos = |name: &str| {
            let text = regular::read(Path::new("/proc/sys/vm").join(name)).ok()?;
            let text = String::from_utf8(text).ok()?;
            text.trim().parse::<i64>().ok()?.checked_mul(10_000_000)
        };
        let expire = nanos("dirty_expire_centisecs").unwrap_or(0);
        match nanos("dirty_writeback_centisecs") {
            Some(0) => i64::MAX,
            period => expire
                .saturating_add(period.unwrap_or(0))
                .saturating_mul(2)
                .max(UNTIL_WRITTEN_BACK),
        }
    })
}

/// Whether somebody has it open for writing, or mapped. None: that cannot be told, as of another user's file, or on NFS.
///
/// A lease for reading is granted while nobody has, and given back at once.
#[cfg(target_os = "linux")]
fn is_open_for_writing(file: &File) -> Option<bool> {
    use std::os::fd::AsRawFd;

    /// Which signal tells of a lease; the crate does not name it.
    const F_SETSIG: libc::c_int = 10;

    let fd = file.as_raw_fd();
    // Who opens it for writing meanwhile waits until the lease is given back, or is told `EAGAIN` where it does not wait, and we are sent
    // a signal: not `SIGIO`, which would end us.
    let set = |command, value: libc::c_int| {
        #[expect(unsafe_code, reason = "no library has leases")]
        // SAFETY: these commands take an integer, and the descriptor is open.
        let result = unsafe { libc::fcntl(fd, command, value) };
        if result == -1 {
            Err(std::io::Error::last_os_error().raw_os_error())
        } else {
            Ok(())
        }
    };
    set(F_SETSIG, libc::SIGURG).ok()?;
    match set(libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            set(libc::F_SETLEASE, libc::F_UNLCK).ok()?;
            Some(false)
        }
        Err(Some(libc::EAGAIN)) => Some(true),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn is_open_for_writing(_: &File) -> Option<bool> {
    None
}
