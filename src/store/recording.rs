//! Whether a snapshot that can be seen is there to stay.
//!
//! Whoever records one makes its ref first, and looks then whether a gc took something beneath it: until that is known the ref may go again.
//! Meanwhile a file is held locked, shared by all who are at it. Promises: what [`Store::is_settled`] stays until somebody drops it.
//! Leaves out who dies in between: nobody takes such a ref back.

use std::time::Duration;

use super::Store;
use super::lock::{HeldFile, hold_file_within, share_file_within};
use super::names;
use super::stored::Stored;
use crate::error::Result;
use crate::git::fs::is_there;

/// In the common `timewarp` directory.
const FILE: &str = "recording";

/// How long those who record are waited for: the look takes a fraction of it, unless the machine is busy.
const WAIT: Duration = Duration::from_secs(5);

impl Store {
    /// Says that a ref may go again, until what is answered is dropped. None: that cannot be said here, which keeps nobody from recording.
    pub fn unsettled_ref(&self) -> Option<HeldFile> {
        share_file_within(&self.common(FILE), WAIT).ok()
    }

    /// Waits until every ref that could be seen before stays or is gone again. False: somebody took too long.
    pub fn wait_until_settled(&self) -> bool {
        let file = self.common(FILE);
        // Nothing was ever recorded here; who only reads makes no file.
        matches!(is_there(&file), Ok(false)) || hold_file_within(&file, WAIT).is_ok()
    }

    /// Whether a snapshot has its ref, which stays.
    ///
    /// # Errors
    /// The ref cannot be read.
    pub fn is_settled(&self, stored: &Stored) -> Result<bool> {
        Ok(self.wait_until_settled() && self.stands(stored)?)
    }

    /// Whether a snapshot has its ref.
    ///
    /// # Errors
    /// The ref cannot be read.
    pub fn stands(&self, stored: &Stored) -> Result<bool> {
        Ok(self.refs.read(&names::snapshot_ref(&stored.id))? == Some(stored.commit))
    }
}
