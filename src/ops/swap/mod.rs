//! A swap: the working tree put into another state, in the order that loses nothing.
//!
//! `tw`'s lock → scan → plan → refusals, proofs, room on disk → (a dry run ends here) → git's locks → backup, its ref, synced →
//! journal, synced → files → index, HEAD, operation files → when the past is left, proof → `state.json`, the commit point → journal to
//! the undo log → locks and `.keep` gone. An error before the commit point rolls back along the journal; a death there leaves
//! it for `recover`.

mod blobs;
mod closed;
pub mod copied;
pub mod extras;
pub mod filtered;
mod flagged;
pub mod found;
mod from_present;
pub mod given;
pub mod goal;
pub mod head;
mod index_file;
pub mod journal;
pub mod left_out;
pub mod made;
mod needs;
pub mod newindex;
pub mod notices;
pub mod obstacles;
mod old_names;
mod one_name;
pub mod pathindex;
mod place;
mod plan;
mod prepare;
mod present_own;
mod prove;
pub mod recover;
mod refusal;
pub mod renamed;
pub mod repositories;
mod run;
pub mod same_index;
mod secure;
pub mod session_files;
pub mod taken_back;
mod treerules;
mod unchanged;
pub mod undo_log;

use std::convert::Infallible;
use std::ops::ControlFlow;

pub use super::capture::read_tree;
use goal::Goal;
pub use prepare::{Prepared, prepare};
pub use refusal::{GIT_DIRECTORY, RAW_PATHS};
use run::SwapRun;
pub use run::is_hop;

use super::Context;
use super::capture::{Storing, index_stamp};
use super::outcome::Changes;
use super::record::Made;
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::durable::sync_file_system;
use crate::git::path::RepoPath;
use crate::ops::stages::Stage;
use crate::ops::unsaved;
use crate::store::Store;
use crate::store::id::Tail;
use crate::store::lock::{GitLocks, Owner, remove_dead_locks};
use crate::store::state::{Journal, Mode, State};
use crate::worktree::apply::Applied;
use crate::worktree::plan::Plan;

/// How often a scan is repeated because index, HEAD or what is in the way moved meanwhile.
const TRIES: usize = 4;

/// A finished swap.
pub struct Swapped<'s> {
    /// What was saved.
    pub saved: Made<'s>,
    /// Whether that is kept: an experiment in which nothing was made is not.
    pub is_saved: bool,
    /// What was done.
    pub plan: Plan,
    /// Stamps of what was written, and late changes.
    pub applied: Applied,
    /// For one that left the past: paths that somebody else changed after they were put back.
    pub changed_since: Vec<Vec<u8>>,
    /// `state.json` as it is now.
    pub state: State,
    /// What is said of what could not have its name of the past again.
    pub names_kept: Vec<String>,
}

impl Swapped<'_> {
    /// The paths touched.
    pub fn changes(&self) -> Changes {
        changes(&self.plan)
    }
}

/// The paths a plan touches.
pub fn changes(plan: &Plan) -> Changes {
    let (written, removed) = plan.changes();
    Changes {
        written: written.into_iter().map(RepoPath::new).collect(),
        removed: removed.into_iter().map(RepoPath::new).collect(),
    }
}

/// The directory `tw` was started in and its parents, relative to the root.
pub fn protected_dirs(ctx: &Context<'_>) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    // A shell whose directory is removed underneath it can go on with nothing.
    let root = ctx.repo.worktree_root();
    let Ok(inside) = ctx.cwd.strip_prefix(root) else {
        return Vec::new();
    };
    inside
        .ancestors()
        .filter(|dir| !dir.as_os_str().is_empty())
        .map(|dir| dir.as_os_str().as_bytes().to_vec())
        .collect()
}

/// Asks for the state after the swap, given the one before and the saved side. The swap's id is filled in.
pub type StateAfter<'a> = &'a dyn Fn(&State, &Made<'_>) -> State;

/// Carries the swap out. The caller holds the worktree's lock alone.
///
/// # Errors
/// After any, the working tree is as it was (rolled back), but for `INTERRUPTED` and `VERIFY_FAILED`, where the journal stays.
pub fn swap<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    goal: &Goal<'_>,
    state_after: StateAfter<'_>,
) -> Result<Swapped<'s>> {
    match swap_unless::<Infallible>(ctx, store, goal, state_after, &|_| None)? {
        ControlFlow::Continue(swapped) => Ok(swapped),
        ControlFlow::Break(never) => match never {},
    }
}

/// [`swap`], unless `needless` finds in what was prepared that there is nothing to do: its finding is the answer then, nothing is
/// saved, and no log gets a level.
///
/// # Errors
/// As [`swap`].
pub fn swap_unless<'s, Finding>(
    ctx: &Context<'_>,
    store: &'s Store,
    goal: &Goal<'_>,
    state_after: StateAfter<'_>,
    needless: &dyn Fn(&Prepared<'_>) -> Option<Finding>,
) -> Result<ControlFlow<Finding, Swapped<'s>>> {
    store.dir.create()?;
    // A lock that a dead process of ours left would make every try fail.
    remove_dead_locks(ctx.repo.git_dir())?;
    for _ in 0..TRIES {
        let swap_id = format!("{}-{}", goal.operation, Tail::random()?.as_str());
        // Without git's locks: a scan takes as long as the tree is large, and nobody has to wait for it.
        let prepared = prepare(ctx, store, goal, &Storing::Durable(swap_id.clone()))?;
        if let Some(finding) = needless(&prepared)
            && !ctx.together().map_or(Ok(false), |all| all.others_move())?
        {
            return Ok(ControlFlow::Break(finding));
        }
        fail_point("swap-prepared");
        // From here on Ctrl-C waits for the end: nobody asks for half a swap.
        let guard = crate::interrupt::defer();
        let owner = Owner::this_process(&swap_id);
        let locks = GitLocks::acquire(ctx.repo.git_dir(), &owner, ctx.settings.lock_timeout)?;
        fail_point("swap-locked");
        let moved = index_stamp(ctx) != prepared.capture.index_stamp
            || ctx.repo.raw_head()? != prepared.raw_head;
        // Somebody staged or committed during the scan: the plan is of another state.
        if moved {
            locks.release()?;
            continue;
        }
        wait_for_all(ctx, Stage::Prepared)?;
        let run = SwapRun {
            ctx,
            store,
            goal,
            swap_id,
            state_after,
        };
        let result = run.run(prepared);
        let released = locks.release();
        drop(guard);
        match result {
            Ok(Some(swapped)) => return released.map(|()| ControlFlow::Continue(swapped)),
            Ok(None) if ctx.together().is_none() => released?,
            // The others wait, with their locks: nothing of this may take long.
            Ok(None) => return Err(gc_came()),
            // Why the swap failed says more than why a lock could not be released.
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(Code::Busy, "index and HEAD keep changing")
        .hint("wait for the git command that runs here"))
}

fn gc_came() -> Error {
    Error::new(Code::Busy, "git gc removed objects while they were saved")
        .hint("run the command again")
}

/// Waits until all swaps that this one is part of have come to a stage.
fn wait_for_all(ctx: &Context<'_>, stage: Stage) -> Result<()> {
    ctx.together().map_or(Ok(()), |all| all.reach(stage))
}

/// After the commit point: the journal becomes a level of the log, what was kept for going back goes. Can be run again.
pub fn finish(store: &Store, journal: &Journal) -> Result<()> {
    index_file::forget(store)?;
    // The journal goes last: who dies in here is followed by a recovery that does all of it again.
    undo_log::add(store, journal)?;
    made::forget(store, journal)?;
    fail_point("swap-logged");
    store.dir.end_journal()?;
    // It says what a return renamed, which a recovery has to tell. Of a stay that has ended it says nothing to anybody else.
    if journal.state_after.mode == Mode::Present {
        unsaved::forget(&store.dir)?;
    }
    Ok(())
}

/// Waits until what the last swap wrote is on disk; its journal is no longer needed then.
///
/// # Errors
/// The disk refuses.
pub fn settle_last(ctx: &Context<'_>, store: &Store) -> Result<()> {
    if !store.dir.is_unsettled() {
        return Ok(());
    }
    sync_file_system(ctx.repo.worktree_root())?;
    store.dir.settled()
}
