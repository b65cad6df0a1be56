//! The counter of the order of taking, a number in a file: nobody else counts while it is held.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use super::lock::{HeldFile, hold_file_within};
use crate::error::{Result, ResultExt};

/// As many digits as the greatest number has.
const DIGITS: usize = 20;

/// A counter that is locked as long as this is held.
pub(super) struct Counter {
    file: HeldFile,
    path: PathBuf,
}

impl Counter {
    /// Takes hold of it, and makes it.
    ///
    /// # Errors
    /// `BUSY` when others hold it for this long; the disk refuses.
    pub(super) fn hold(path: PathBuf, wait: Duration) -> Result<Self> {
        let file = hold_file_within(&path, wait)?;
        Ok(Self { file, path })
    }

    /// The last number that was given; None where that cannot be read.
    pub(super) fn last(&self) -> Result<Option<u64>> {
        let mut text = [0u8; DIGITS];
        let count = self.file.read_at(&mut text, 0).context(|| self.what())?;
        let text = std::str::from_utf8(&text[..count]).ok();
        Ok(text.and_then(|text| text.trim().parse().ok()))
    }

    /// Says which number was given last.
    pub(super) fn set(&self, last: u64) -> Result<()> {
        // All digits always: it is written over in place and never gets shorter.
        let text = format!("{last:0DIGITS$}");
        self.file
            .write_all_at(text.as_bytes(), 0)
            .context(|| self.what())
    }

    fn what(&self) -> String {
        format!("cannot count in '{}'", self.path.display())
    }
}
