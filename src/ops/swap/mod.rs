//! A swap: the working tree put into another state, in the order that loses nothing.
//!
//! `tw`'s lock → scan → plan → refusals, proofs, room on disk → (a dry run ends here) → git's locks → backup, its ref, synced →
//! journal, synced → files → index, HEAD, operation files → proof, where one is asked for → `state.json`, the commit point → journal to
//! the undo log → locks and `.keep` gone. An error before the commit point rolls back along the journal; a death there leaves
//! it for `recover`.

mod blobs;
pub mod copied;
pub mod head;
pub mod journal;
mod look;
pub mod newindex;
pub mod notices;
pub mod obstacles;
pub mod pathindex;
pub mod prove;
pub mod recover;
mod running;
pub mod secure;
pub mod treerules;
pub mod undo_log;

pub use blobs::Blobs;
pub use look::look;
use running::Running;
pub use running::granted;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use super::Context;
use super::capture::{BeforeHashing, Capture, Storing, index_stamp};
use super::outcome::Changes;
use super::record::Made;
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::access_list::AccessList;
use crate::git::durable::sync_file_system;
use crate::git::fs::{Stamp, remove_optional, write_atomic_with_mode};
use crate::git::index::{Flags, Index};
use crate::git::objects::{KeptPack, NewObjects, ObjectKind, Storage};
use crate::git::operation::OperationState;
use crate::git::path::{self, RepoPath};
use crate::git::tree::{self};
use crate::store::Store;
use crate::store::id::{IdKind, Tail};
use crate::store::lock::{GitLocks, Owner, remove_dead_locks};
use crate::store::state::{Journal, State};
use crate::store::stored::Stored;
use crate::worktree::apply::{Applied, Expected};
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::{EmptyDirs, Extras, Plan, Side};
use newindex::IndexGoal;

/// How often a scan is repeated because index, HEAD or what is in the way moved meanwhile.
const TRIES: usize = 4;

/// Among the journal's other fields: there was no index before the swap.
pub const NO_INDEX: &str = "no_index";

/// Which paths the swap is about.
pub enum Aim<'a> {
    /// A tree, whole or as far as `only` says.
    Tree {
        /// The tree.
        tree: Oid,
        /// What the tree cannot say.
        extras: Extras,
        /// These paths and what lies beneath; empty means all.
        only: Vec<Vec<u8>>,
        /// See [`EmptyDirs`].
        empty_dirs: EmptyDirs,
        /// Paths that are removed whatever the tree's rules say: an earlier swap made them.
        made_before: BTreeSet<Vec<u8>>,
        /// Paths that stay as they are.
        keep: Vec<Vec<u8>>,
    },
    /// Single paths and directories.
    Paths {
        /// What each becomes.
        paths: &'a [(Vec<u8>, Option<Side>)],
        /// Directories to make (with these bits) or to remove.
        dirs: &'a [(Vec<u8>, Option<u32>)],
        /// What directories that have to be made again had for permission bits.
        saved: &'a Extras,
    },
    /// Single paths that depend on what is there: every look decides anew.
    Found {
        /// Decides.
        find: FindPaths<'a>,
        /// As in [`Aim::Paths`].
        saved: &'a Extras,
        /// Blobs that `find` would have written if it were no dry run.
        unwritten: &'a RefCell<BTreeSet<Oid>>,
    },
}

/// Paths and directories, as in [`Aim::Paths`].
#[derive(Debug, Default)]
pub struct FoundPaths {
    /// What each becomes.
    pub paths: Vec<(Vec<u8>, Option<Side>)>,
    /// Directories to remove when nothing is left in them.
    pub dirs: Vec<(Vec<u8>, Option<u32>)>,
}

/// Decides what becomes of which paths, given what is there.
pub type FindPaths<'a> = &'a dyn Fn(&Capture<'_>) -> Result<FoundPaths>;

/// What becomes of HEAD.
pub enum HeadGoal {
    /// It stays.
    Stay,
    /// The file gets these bytes.
    Raw(String),
}

/// What becomes of operation files.
pub enum OperationGoal {
    /// They stay.
    Stay,
    /// Exactly these.
    Set(OperationState),
}

/// How the swap goes into the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logging {
    /// A new level; what could be redone is forgotten.
    NewLevel,
    /// An undo: this level goes from the undo log, the swap becomes a level of the redo log.
    Undo(String),
    /// A redo: the other way round.
    Redo(String),
}

/// What a capture misses: a tree whose ignore rules hold beside those on disk, and paths to force in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// See above.
    pub other_rules: Option<Oid>,
    /// See above.
    pub forced: BTreeSet<Vec<u8>>,
}

/// Looks for what a capture misses.
pub type FindHidden<'a> = &'a dyn Fn(&Capture<'_>) -> Result<Hidden>;

/// Everything about a swap that its command decides.
pub struct Goal<'a> {
    /// `travel`, `return`, …
    pub operation: &'static str,
    /// For undo and redo: the kind of the swap they reverse.
    pub reverses: Option<String>,
    /// Where it leads.
    pub aim: Aim<'a>,
    /// Whose files these are, when they are one snapshot's.
    pub target: Option<&'a Stored>,
    /// Other snapshots that its files come from.
    pub also_from: &'a [Stored],
    /// Index.
    pub index: IndexGoal<'a>,
    /// HEAD.
    pub head: HeadGoal,
    /// Operation files.
    pub operation_files: OperationGoal,
    /// `backup`, or `experiment` when the past is left.
    pub saves_as: IdKind,
    /// Title of what is saved.
    pub title: String,
    /// Other fields of its record.
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// Paths captured whatever the rules say.
    pub forced: BTreeSet<Vec<u8>>,
    /// Finds what the rules hide from a capture although it has to be in it.
    pub hidden: Option<FindHidden<'a>>,
    /// Looks at the scan before anything is hashed.
    pub before_hashing: Option<BeforeHashing<'a>>,
    /// The log.
    pub logging: Logging,
    /// The command that gets home, for refusals.
    pub way_out: &'a [&'a str],
}

/// What the look found: a capture, and a plan that can be carried out.
pub struct Looked<'s> {
    /// What is there.
    pub capture: Capture<'s>,
    /// What would be done.
    pub plan: Plan,
    /// What would be written.
    pub blobs: Blobs,
    /// HEAD's bytes at that moment.
    raw_head: String,
}

/// A finished swap.
pub struct Swapped<'s> {
    /// Its id.
    pub swap_id: String,
    /// What was saved.
    pub saved: Made<'s>,
    /// What was done.
    pub plan: Plan,
    /// Stamps of what was written, and late changes.
    pub applied: Applied,
    /// What the proof said.
    pub proof: Option<prove::Proof>,
    /// `state.json` as it is now.
    pub state: State,
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

/// The extras of a stored snapshot. Permission bits of one that this machine did not make are cut to the plain nine.
pub fn stored_extras(store: &Store, stored: &Stored) -> Result<Extras> {
    let lists = store.lists(stored)?;
    let foreign = store.is_foreign(stored)? || !store.is_made_here(stored.commit)?;
    let mask = if foreign { 0o777 } else { 0o7777 };
    let record = &stored.record;
    let mut access = if foreign {
        AccessList::default()
    } else {
        store.access(stored)?
    };
    access.inherits = store.is_foreign(stored)? || record.seeds_unproven.is_some();
    let defaults =
        [0o100_644, 0o100_755, tree::DIR_MODE].map(|mode| record.default_permissions(mode));
    let [file, executable, directory] = defaults;
    Ok(Extras {
        modes: lists
            .modes
            .into_iter()
            .map(|(path, mode)| (path, mode & mask))
            .collect(),
        defaults: [file? & mask, executable? & mask, directory? & mask],
        empty_dirs: lists
            .empty_dirs
            .into_iter()
            .filter(|dir| path::is_safe(dir))
            .collect(),
        absent: lists.absent.into_iter().collect(),
        access,
        foreign,
    })
}

/// The extras of what is there now.
///
/// # Errors
/// Something that has attributes cannot be looked at.
pub fn captured_extras(ctx: &Context<'_>, capture: &Capture<'_>) -> Result<Extras> {
    let lists = capture.lists();
    Ok(Extras {
        modes: lists.modes,
        defaults: capture.derived().usual_modes,
        empty_dirs: lists.empty_dirs.into_iter().collect(),
        absent: lists.absent.into_iter().collect(),
        access: capture.access(ctx)?.clone(),
        foreign: false,
    })
}

/// Reads trees from the repository, and from a capture that is not stored yet.
pub fn read_tree(store: &Store, capture: &Capture<'_>, oid: Oid) -> Result<Vec<u8>> {
    match capture.made_trees.get(&oid) {
        Some(bytes) => Ok(bytes.clone()),
        None => store.objects.read_tree(oid),
    }
}

/// The directory `tw` was started in and its parents, relative to the root.
pub fn protected_dirs(ctx: &Context<'_>) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
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

/// What the backup's manifest says of a path.
pub fn expected_in(manifest: &Manifest, path: &[u8]) -> Expected {
    match manifest.file(path) {
        Some(file) if matches!(file.kind, Kind::File | Kind::Symlink) => Expected::Known {
            mode: file.stamp.mode,
            size: file.stamp.size,
            oid: file.oid.get(),
        },
        _ => Expected::Absent,
    }
}

/// Asks for the state after the swap, given the saved side.
pub type StateAfter<'a> = &'a dyn Fn(&State, &Made<'_>, &str) -> State;

/// Asks for the proof, given what was done.
pub type Prove<'a> = &'a dyn Fn(&Capture<'_>, &Applied, &Plan) -> Result<prove::Proof>;

/// Carries the swap out.
///
/// # Errors
/// After any, the working tree is as it was (rolled back), but for `INTERRUPTED` and `VERIFY_FAILED`, where the journal stays.
pub fn swap<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    goal: &Goal<'_>,
    state_after: StateAfter<'_>,
    prove: Option<Prove<'_>>,
) -> Result<Swapped<'s>> {
    store.dir.create()?;
    remove_dead_locks(ctx.repo.git_dir())?;
    for _ in 0..TRIES {
        let swap_id = format!("{}-{}", goal.operation, Tail::random()?.as_str());
        let looked = look(ctx, store, goal, &Storing::Durable(swap_id.clone()))?;
        fail_point("swap-looked");
        let guard = crate::interrupt::defer();
        let owner = Owner::this_process(&swap_id);
        let locks = GitLocks::acquire(ctx.repo.git_dir(), &owner, ctx.settings.lock_timeout)?;
        fail_point("swap-locked");
        let moved = index_stamp(ctx) != looked.capture.index_stamp
            || ctx.repo.raw_head()? != looked.raw_head;
        if moved {
            locks.release()?;
            continue;
        }
        let running = Running {
            ctx,
            store,
            goal,
            swap_id,
        };
        let result = running.carry_out(looked, state_after, prove);
        let released = locks.release();
        drop(guard);
        match result {
            Ok(Some(swapped)) => return released.map(|()| swapped),
            Ok(None) => released?,
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(Code::Busy, "index and HEAD keep changing")
        .hint("wait for the git command that runs here"))
}

/// Writes the index beside itself and renames it in. The caller holds `index.lock`.
pub fn install_index(ctx: &Context<'_>, store: &Store, made: &Index) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let kept = write_intended(store, made)?;
    let index = ctx.repo.index_path();
    let after = store.dir.file("index.after");
    let mode = index.metadata().map_or(0o644, |meta| meta.mode() & 0o777);
    let bytes = made.write_bytes();
    write_atomic_with_mode(&after, &bytes, crate::git::fs::Durable::Yes, mode)?;
    fail_point("index-written");
    rename_into(&after, &index)?;
    kept.map_or(Ok(()), KeptPack::release)
}

/// Writes the object that `git add -N` gives a path, which no commit of ours names: a gc since may have taken it. Kept until the
/// index holds it.
fn write_intended(store: &Store, index: &Index) -> Result<Option<KeptPack>> {
    let mut entries = index.entries().iter();
    if !entries.any(|entry| entry.flags.contains(Flags::INTENT_TO_ADD)) {
        return Ok(None);
    }
    let mut new = NewObjects::default();
    new.put(ObjectKind::Blob, b"")?;
    new.write(&store.objects, Storage::SyncedPack)
}

/// Renames, and syncs the directory. An index that a symlink puts on another file system is copied to where it belongs.
pub fn rename_into(from: &Path, to: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let what = || format!("cannot replace '{}'", to.display());
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
            let bytes = crate::git::regular::read(from).context(what)?;
            let mode = from.metadata().context(what)?.mode() & 0o777;
            write_atomic_with_mode(to, &bytes, crate::git::fs::Durable::Yes, mode)?;
            return remove_optional(from);
        }
        other => other.context(what)?,
    }
    crate::git::fs::sync_parent(to).context(what)
}

/// After the commit point: the journal becomes a level of the log, what was kept for going back goes. Can be run again.
pub fn finish(store: &Store, journal: &Journal) -> Result<()> {
    remove_optional(&store.dir.file("index.before"))?;
    remove_optional(&store.dir.file("index.after"))?;
    undo_log::add(store, journal)?;
    fail_point("swap-logged");
    store.dir.end_journal()
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

/// Stamps by path, for the proof.
pub fn stamp_of_path(applied: &Applied, path: &[u8]) -> Option<Stamp> {
    let at = applied
        .stamps
        .binary_search_by(|(known, _)| known.as_slice().cmp(path))
        .ok()?;
    Some(applied.stamps[at].1)
}
