//! Files on which another program has a lease (`fcntl(2)`, `F_SETLEASE`: file servers take them on what they serve).
//!
//! Who opens such a file is waited for by the system until the holder, who is told, has given the lease back, or has lost it after
//! 45 seconds (`/proc/sys/fs/lease-break-time`). An open that must not wait, since a pipe may be in the file's place, fails with
//! `EAGAIN` instead, and the holder is told all the same. Most give it back within milliseconds: it is tried again until then, for as
//! long as a hook can bear. All files together have `LONGEST`, so that a tree full of leases costs no more than one; each has
//! `LEAST`, however long the others took.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// How long is waited within a [`SPAN`], for all files together.
const LONGEST: Duration = Duration::from_secs(2);
/// How long is waited for each file.
const LEAST: Duration = Duration::from_millis(20);
/// After this long waiting begins anew: a process may go on for days.
const SPAN: Duration = Duration::from_secs(30);
/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(1);

/// When a span began, and how long was waited in it.
static WAITED: Mutex<Option<(Instant, Duration)>> = Mutex::new(None);

/// An error of an open.
pub trait OpenError {
    /// Whether it is that of a file with a lease. The same says that a rename came in between a look-up by `openat2`.
    fn is_leased(&self) -> bool;
}

impl OpenError for Errno {
    fn is_leased(&self) -> bool {
        *self == Self::AGAIN
    }
}

impl OpenError for io::Error {
    fn is_leased(&self) -> bool {
        Errno::from_io_error(self).is_some_and(|errno| errno.is_leased())
    }
}

/// Opens a file as `open` does, without waiting for anything but a lease.
///
/// # Errors
/// Those of `open`: `EAGAIN` where the lease was kept.
pub fn open_leased<T, E: OpenError>(mut open: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let first = open();
    if !matches!(&first, Err(error) if error.is_leased()) {
        return first;
    }
    let begun = Instant::now();
    let limit = left(begun).max(LEAST);
    loop {
        std::thread::sleep(PAUSE);
        let opened = open();
        let is_leased = matches!(&opened, Err(error) if error.is_leased());
        if !is_leased || begun.elapsed() >= limit {
            spend(begun.elapsed());
            return opened;
        }
    }
}

/// How long may be waited still.
fn left(now: Instant) -> Duration {
    let mut waited = WAITED.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, spent) = match *waited {
        Some(span) if now.saturating_duration_since(span.0) < SPAN => span,
        _ => *waited.insert((now, Duration::ZERO)),
    };
    LONGEST.saturating_sub(spent)
}

fn spend(time: Duration) {
    let mut waited = WAITED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, spent)) = &mut *waited {
        *spent += time;
    }
}
