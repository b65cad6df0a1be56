//! Whether a gc of git's is under way, by the file that it holds meanwhile.
//!
//! A gc finds out what is reachable first and removes loose objects last: what became reachable in between goes with
//! `--prune=now`, but nothing in a pack that came after. Whoever sees one under way writes a pack, and trusts no object for being
//! there. A bare `git prune` says nothing of itself and is not seen.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::fs::{Durable, write_atomic};
use super::process;
use super::regular::is_absent;
use crate::error::Result;

/// git: a file older than this was left behind.
const STALE: Duration = Duration::from_secs(12 * 60 * 60);

/// The file of the last gc that was found dead: device, inode, time. One command asks several times.
static DEAD: Mutex<Option<(u64, u64, i64, i64)>> = Mutex::new(None);

/// Whether one is under way in the repository with this common git directory. When in doubt, yes: the file does not say
/// in which pid namespace its pid is one, so that a gc counts as dead only where every process is seen.
pub fn is_running(common_dir: &Path) -> bool {
    let file = common_dir.join("gc.pid");
    let meta = match file.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) => return !is_absent(&error),
    };
    let age = meta.modified().ok().and_then(|time| time.elapsed().ok());
    if age.is_some_and(|age| age > STALE) {
        return false;
    }
    let text = crate::git::regular::read_to_string(&file).unwrap_or_default();
    let mut words = text.split_whitespace();
    let pid = words.next().and_then(|pid| pid.parse().ok());
    let here = words
        .next()
        .is_some_and(|name| host().as_deref() == Some(name));
    let Some(pid) = pid.filter(|_| here) else {
        return true;
    };
    let this = (meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec());
    let mut dead = DEAD.lock().unwrap_or_else(PoisonError::into_inner);
    if *dead != Some(this) && process::is_nobodys(pid) {
        *dead = Some(this);
    }
    *dead != Some(this)
}

/// A gc of our own, in a repository in which git runs none: it holds the same file, and goes by the same rules for others.
#[must_use]
pub struct Collecting(PathBuf);

impl Collecting {
    /// Says that one begins; None while another is under way. Whoever calls holds a lock against a second one of ours.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn begin(common_dir: &Path) -> Result<Option<Self>> {
        if is_running(common_dir) {
            return Ok(None);
        }
        let file = common_dir.join("gc.pid");
        let text = format!("{} {}", std::process::id(), host().unwrap_or_default());
        write_atomic(&file, text.as_bytes(), Durable::No)?;
        Ok(Some(Self(file)))
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        // One that stays counts as dead as soon as this process is.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// This machine's name, where it can be read.
fn host() -> Option<String> {
    let name = crate::git::regular::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gc_runs_while_its_process_lives() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let file = temp.path().join("gc.pid");
        let Some(host) = host() else { return };
        assert!(!is_running(temp.path()));
        let unfit = temp.path().join("x".repeat(300));
        assert!(is_running(&unfit), "what cannot be looked at may be one");
        for (text, running) in [
            (format!("{} {host}", std::process::id()), true),
            (
                format!("4294967295 {host}"),
                !process::is_nobodys(4_294_967_295),
            ),
            (format!("2147483646 not-{host}"), true),
            (String::new(), true),
        ] {
            std::fs::write(&file, &text).expect("written");
            assert_eq!(is_running(temp.path()), running, "{text:?}");
        }
        let times = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
        let opened = std::fs::File::options().append(true).open(&file);
        opened
            .expect("opened")
            .set_times(times)
            .expect("times are set");
        assert!(!is_running(temp.path()));
    }
}
