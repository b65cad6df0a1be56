//! Whether a file that was just read may change without its stamp moving.
//!
//! A write moves the times when it begins, and of the stores through a shared map the first one alone does until the system has
//! written the page back. So what somebody has open for writing may go on changing under the stamp that it has already.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

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

/// How often a file is looked at that somebody may be saving: all together, as long as a save takes.
const LOOKS: u32 = 10;
/// How long is waited between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// As [`has_writer`], and still after the time that a save takes. Who is about to run another program has what it inherited open for a
/// moment, too.
pub(super) fn keeps_writer(file: &File) -> bool {
    (0..LOOKS).all(|nth| {
        if nth > 0 {
            std::thread::sleep(PAUSE);
        }
        has_writer(file)
    })
}

/// Up to `limit` bytes of an open file, as those who save it in place have left it; None: somebody is at it for longer than a save takes.
///
/// Nobody opens it for writing meanwhile. Where that cannot be told, it has to read the same after a moment.
///
/// # Errors
/// When it cannot be read.
pub fn read_settled(file: &File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let read = || {
        let (mut bytes, mut from) = (Vec::new(), file);
        from.rewind()?;
        from.take(limit).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    for _ in 0..LOOKS {
        match writers(file) {
            Writers::None(_lease) => return read().map(Some),
            Writers::Unknown => {
                let bytes = read()?;
                std::thread::sleep(PAUSE);
                if read()? == bytes {
                    return Ok(Some(bytes));
                }
            }
            Writers::Some => std::thread::sleep(PAUSE),
        }
    }
    Ok(None)
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

/// Who has a file open for writing, or mapped.
enum Writers<'a> {
    /// Nobody, nor will anybody while this is kept.
    None(Lease<'a>),
    /// Somebody has.
    Some,
    /// That cannot be told, as of another user's file, or on NFS.
    Unknown,
}

fn writers(file: &File) -> Writers<'_> {
    match take_lease(file) {
        Ok(()) => Writers::None(Lease(file)),
        Err(Some(libc::EAGAIN)) => Writers::Some,
        Err(_) => Writers::Unknown,
    }
}

/// Whether somebody has it open for writing, or mapped. None: that cannot be told.
fn is_open_for_writing(file: &File) -> Option<bool> {
    match writers(file) {
        Writers::None(_) => Some(false),
        Writers::Some => Some(true),
        Writers::Unknown => None,
    }
}

/// A lease for reading, which is granted while nobody has a file open for writing, and given back when this is dropped.
///
/// Who opens it for writing meanwhile waits until then, or is told `EAGAIN` where it does not wait, and we are sent a signal: not `SIGIO`,
/// which would end us.
struct Lease<'a>(&'a File);

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        give_back_lease(self.0);
    }
}

#[cfg(target_os = "linux")]
fn take_lease(file: &File) -> Result<(), Option<i32>> {
    /// Which signal tells of a lease; the crate does not name it.
    const F_SETSIG: libc::c_int = 10;

    control(file, F_SETSIG, libc::SIGURG)?;
    control(file, libc::F_SETLEASE, libc::F_RDLCK)
}

#[cfg(target_os = "linux")]
fn give_back_lease(file: &File) {
    // It goes with the descriptor at the latest.
    let _ = control(file, libc::F_SETLEASE, libc::F_UNLCK);
}

#[cfg(target_os = "linux")]
fn control(file: &File, command: libc::c_int, value: libc::c_int) -> Result<(), Option<i32>> {
    use std::os::fd::AsRawFd;

    #[expect(unsafe_code, reason = "no library has leases")]
    // SAFETY: these commands take an integer, and the descriptor is open.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, value) };
    if result == -1 {
        Err(io::Error::last_os_error().raw_os_error())
    } else {
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn take_lease(_: &File) -> Result<(), Option<i32>> {
    Err(None)
}

#[cfg(not(target_os = "linux"))]
fn give_back_lease(_: &File) {}
