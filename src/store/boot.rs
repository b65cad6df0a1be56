//! In which boot a repository was last looked at after the power may have gone.
//!
//! `timewarp/boot` in the common directory: the boot id in which it was made, or in which a command last looked whether everything that
//! nobody had waited for is there. Another boot may follow a power cut; a shutdown that waits for the disk looks the same.

use super::Store;
use crate::error::Result;
use crate::git::durable::boot_id;
use crate::git::fs::{self, Durable};

const FILE: &str = "boot";

/// A file system may count in two seconds, and a commit's time in one.
const COARSE_NANOS: i64 = 2_000_000_000;

impl Store {
    /// Whether another boot is running than the one that this repository was last looked at in. No, where nothing was ever recorded, or
    /// the system does not say.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_another_boot(&self) -> Result<bool> {
        let Some(now) = boot_id() else {
            return Ok(false);
        };
        let known = fs::read_optional(&self.common(FILE))?;
        Ok(match known {
            Some(known) => known.trim_ascii() != now.as_bytes(),
            None => self.made_at().is_some(),
        })
    }

    /// Notes that it was looked at in this one.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn note_boot(&self) -> Result<()> {
        let Some(now) = boot_id() else {
            return Ok(());
        };
        let text = format!("{now}\n");
        fs::write_atomic(&self.common(FILE), text.as_bytes(), Durable::Yes)
    }

    /// The time, in nanoseconds since the epoch, before which everything that was written is on disk, or is not ours.
    ///
    /// # Errors
    /// The mark cannot be read.
    pub fn on_disk_until(&self) -> Result<i64> {
        let synced = self.objects.synced_until(&self.common("synced"))?;
        Ok(synced.or_else(|| self.made_at()).unwrap_or_default())
    }

    /// When the repository got its id: nothing of ours is older.
    fn made_at(&self) -> Option<i64> {
        let stat = rustix::fs::stat(self.common("id")).ok()?;
        Some(fs::Stamp::of(&stat).mtime.saturating_sub(COARSE_NANOS))
    }
}
