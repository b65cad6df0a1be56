//! A stay in the past: how it begins (`enter`), how it goes on to another past (`hop`), and how it ends. What is there becomes an
//! experiment then, the backup is put back exactly, and that is proved before it counts.
//!
//! For the verbs that begin or end one: `travel`, `issue start`, `return`, and `undo` and `redo` of a swap that began one.

mod aside;
mod commits;
pub mod enter;
mod experiment;
pub mod guard;
mod hidden;
mod home;
mod hop;
mod keep;
mod left_out;
mod limit;
mod written;

use std::collections::BTreeSet;

use super::Context;
use super::here::{before_git, stranded};
use super::swap::goal::Reversal;
use super::swap::made;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::tree;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::snapshot::Lists;
use crate::store::state::{Mode, State};
use crate::store::stored::Stored;
pub use commits::untold_commits;
pub use hop::Crossing;

/// The refusal of a return in the present.
pub fn not_in_past(ctx: &Context<'_>) -> Error {
    let error = Error::new(Code::NotInPast, "not in the past");
    let stranded = before_git(ctx).and_then(|found| match found {
        Some((dir, known)) => stranded(ctx, &dir, &known),
        None => Ok(None),
    });
    // It is asked for what else could be meant: what cannot be read is nothing of that.
    match stranded {
        Ok(Some(stranded)) => error
            .hint(stranded.message)
            .hint(format!("'{}' brings it back", stranded.command)),
        _ => error.hint("run 'tw travel SNAPSHOT' to go there"),
    }
}

/// The end of a stay in the past, or its way on to another past, under a lock that is held.
pub struct ReturnOperation<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    state: State,
    backup: Stored,
    lists: Lists,
    /// The snapshot that the past started from.
    start: Option<Stored>,
    /// Paths that the swaps of this stay made: they go, whatever the present's rules say.
    made: BTreeSet<Vec<u8>>,
    /// What is said of those that made what nobody knows.
    untold: Vec<String>,
    reversal: Option<Reversal>,
    taken_over: bool,
}

/// Whether what a way home asks of the snapshot that the past started from can be read.
fn is_readable(store: &Store, start: &Stored, backup: &Stored) -> bool {
    let files = || tree::diff(&store.objects, Some(backup.tree), Some(start.tree));
    store.index_side(start).is_ok() && store.operation(start).is_ok() && files().is_ok()
}

impl<'a> ReturnOperation<'a> {
    /// Reads what the stay of this state began from.
    ///
    /// # Errors
    /// `NOT_IN_PAST`; `CORRUPT_RECORD` when the state names no backup, or it cannot be read.
    pub fn new(ctx: &'a Context<'a>, store: &'a Store, state: State) -> Result<Self> {
        if state.mode == Mode::Present {
            return Err(not_in_past(ctx));
        }
        let id = state.backup_id.as_deref().and_then(SnapshotId::parse);
        let id = id.ok_or_else(|| {
            Error::new(Code::CorruptRecord, "state.json names no backup")
                .hint("run 'tw list --kind backup' and 'tw restore' the one you came from")
        })?;
        let backup = store
            .read_noted(&id, state.backup_commit.as_deref())
            .context(|| "the backup of the present cannot be read")?;
        let lists = store.lists(&backup)?;
        let start = state
            .current_snapshot_id
            .as_deref()
            .and_then(SnapshotId::parse);
        // A start that was dropped since, or is not all there, holds nobody back: less is known of what was made in the past.
        let start = start.and_then(|id| store.read_id(&id).ok());
        let start = start.filter(|start| is_readable(store, start, &backup));
        let made = made::made_here(store, &state)?;
        Ok(Self {
            ctx,
            store,
            state,
            backup,
            lists,
            start,
            made: made.paths,
            untold: made.untold,
            reversal: None,
            taken_over: false,
        })
    }

    /// For undo and redo.
    pub fn reversing(mut self, reversal: Reversal) -> Self {
        self.reversal = Some(reversal);
        self
    }

    /// The caller is not the one who travelled: the experiment says so.
    pub fn taking_over(mut self, taken_over: bool) -> Self {
        self.taken_over = taken_over;
        self
    }
}
