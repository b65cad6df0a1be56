//! What swaps put in the place of files, as the undo log has it.

use std::collections::HashMap;

use crate::error::Result;
use crate::git::Oid;
use crate::ops::swap::undo_log::{self, Log};
use crate::store::Store;
use crate::store::state::{Mode, stored_path};

/// The files that each swap in the present put in place, by its backup.
#[derive(Debug, Default)]
pub struct Swaps {
    by_backup: HashMap<String, HashMap<String, Oid>>,
}

impl Swaps {
    /// Reads what the log has of these files. A trip is none: it ends as it began.
    ///
    /// # Errors
    /// A level cannot be read.
    pub fn read<'p>(store: &Store, paths: impl Iterator<Item = &'p [u8]>) -> Result<Self> {
        let names: Vec<String> = paths.map(stored_path).collect();
        let mut swaps = Self::default();
        for log in Log::ALL {
            // Oldest first: of two with one backup the later counts.
            for level in undo_log::levels(&store.dir, log)?.into_iter().rev() {
                let journal = level.journal;
                let modes = (journal.state_before.mode, journal.state_after.mode);
                if modes != (Mode::Present, Mode::Present) {
                    continue;
                }
                let put = journal.entries.into_iter();
                let put = put.filter(|entry| names.contains(&entry.path));
                let put = put.filter_map(|entry| {
                    let oid = Oid::from_str(&entry.after?.oid).ok()?;
                    Some((entry.path, oid))
                });
                swaps.by_backup.insert(journal.backup_id, put.collect());
            }
        }
        Ok(swaps)
    }

    /// What the swap that made a backup put in the place of a file.
    pub fn put(&self, backup: &str, path: &[u8]) -> Option<Oid> {
        let put = self.by_backup.get(backup)?;
        put.get(&stored_path(path)).copied()
    }
}
