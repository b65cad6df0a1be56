//! What swaps put in the place of files, as the undo log has it.

use std::collections::HashMap;

use crate::error::Result;
use crate::git::Oid;
use crate::ops::swap::undo_log::{self, Log};
use crate::ops::versions::States;
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::state::{Mode, stored_path};
use crate::store::trigger::{SwapKind, Trigger};

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
                    let oid = Oid::from_hex(&entry.after?.oid).ok()?;
                    Some((entry.path, oid))
                });
                swaps.by_backup.insert(journal.backup_id, put.collect());
            }
        }
        Ok(swaps)
    }

    /// Whether the log still has the swap that made a backup.
    pub fn knows(&self, backup: &str) -> bool {
        self.by_backup.contains_key(backup)
    }

    /// What the swap that made a backup put in the place of a file.
    pub fn put(&self, backup: &str, path: &[u8]) -> Option<Oid> {
        let put = self.by_backup.get(backup)?;
        put.get(&stored_path(path)).copied()
    }
}

/// Of each backup that an undo or a redo made, in one chain: the state that it took contents from, as the order of the backups tells.
/// For a swap that the log has no more.
pub fn reversals(states: &States, chain: usize) -> HashMap<usize, usize> {
    let mut found = HashMap::new();
    let (mut done, mut undone): (Vec<Option<usize>>, Vec<Option<usize>>) = Default::default();
    for at in &states.chains[chain].states {
        let state = &states.all[*at];
        if state.id.kind() != IdKind::Backup {
            continue;
        }
        let (from, to) = match state.trigger() {
            Trigger::Swap(SwapKind::Undo) => (&mut done, &mut undone),
            Trigger::Swap(SwapKind::Redo) => (&mut undone, &mut done),
            trigger => {
                undone.clear();
                let is_travel = trigger == Trigger::Swap(SwapKind::Travel);
                done.push((!is_travel).then_some(*at));
                // The return is a step, too, whose backup is an experiment.
                done.extend(is_travel.then_some(None));
                continue;
            }
        };
        if let Some(source) = from.pop().flatten() {
            found.insert(*at, source);
        }
        to.push(Some(*at));
    }
    found
}
