//! What a verb asks of a swap: which files, what becomes of index, HEAD and operation, and what is recorded of it.
//!
//! A goal leaves everything as it is that nobody asked for: index, HEAD and operation files stay, what was there becomes a backup,
//! and the swap a new level of the undo log.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::extras::stored_extras;
use super::found::FoundDirs;
use super::pathindex::EntryChanges;
use super::session_files::SessionFile;
use super::taken_back::TakenBack;
use super::undo_log::Log;
use crate::error::Result;
use crate::git::Oid;
use crate::git::access::Access;
use crate::git::operation::OperationState;
use crate::git::{path, tree};
use crate::ops::capture::{BeforeHashing, Capture};
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::snapshot::Lists;
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::worktree::capture::Likely;
use crate::worktree::plan::{EmptyDirs, Extras, Side, Takes};

/// Which files the swap is about.
pub enum Aim<'a> {
    /// A snapshot's, whole or as far as `only` says.
    Snapshot(SnapshotAim<'a>),
    /// Single paths and directories.
    Paths(PathsAim),
    /// Single paths that depend on what is there: every scan decides anew.
    Computed {
        /// Decides.
        compute: ComputePaths<'a>,
        /// As in [`PathsAim`].
        forced: BTreeSet<Vec<u8>>,
        /// As in [`PathsAim`].
        saved: &'a Extras,
        /// Blobs that `compute` would have written if it were no dry run.
        unwritten: &'a RefCell<BTreeSet<Oid>>,
    },
}

/// The files of a snapshot.
pub struct SnapshotAim<'a> {
    /// The snapshot.
    pub stored: &'a Stored,
    /// What its tree cannot say.
    pub extras: Extras,
    /// Whether a file or directory is meant; none given means all are.
    pub only: Option<Takes<'a>>,
    /// What becomes of directories that the snapshot does not have.
    pub empty_dirs: EmptyDirs,
    /// Paths that are removed whatever the snapshot's rules say: an earlier swap made them.
    pub made_before: BTreeSet<Vec<u8>>,
    /// Paths that stay as they are.
    pub keep: Vec<Vec<u8>>,
    /// From another past: as a travel from the present enters this one, with what its rules leave out of the present.
    pub as_entered: bool,
    /// What stays where the snapshot has nothing: it was there as well, and was not saved.
    pub stays: Stays,
}

impl<'a> SnapshotAim<'a> {
    /// All of a snapshot's files. Empty directories stay.
    ///
    /// # Errors
    /// The snapshot's lists cannot be read.
    pub fn new(store: &Store, stored: &'a Stored) -> Result<Self> {
        Ok(Self {
            stored,
            extras: stored_extras(store, stored)?,
            only: None,
            empty_dirs: EmptyDirs::Stay,
            made_before: BTreeSet::new(),
            keep: Vec::new(),
            as_entered: false,
            stays: Stays::default(),
        })
    }
}

/// What neither side of a return has, and what stays where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stays {
    /// The names; all that is in them counts as well.
    pub names: BTreeSet<Vec<u8>>,
    /// Nanoseconds since the epoch: a file that changed later is another one.
    pub until: i64,
}

impl Stays {
    /// Whether a path is one of them, or in one.
    pub fn has(&self, path: &[u8]) -> bool {
        path::has_or_is_within(&self.names, path)
    }
}

/// What becomes of single paths and directories.
#[derive(Debug, Default)]
pub struct PathChanges {
    /// What each path becomes.
    pub paths: Vec<(Vec<u8>, Option<Side>)>,
    /// Directories to make (with these bits), or to remove when nothing is left in them.
    pub dirs: Vec<(Vec<u8>, Option<u32>)>,
    /// Of files that get another name, the new one and that of now: who may use them stays the same.
    pub renamed: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The directories over the names that these lose. One that is not known counts as open to all then.
    pub found: FoundDirs,
    /// Owner, group and attributes of files and directories that get others than those of now.
    pub access: BTreeMap<Vec<u8>, Access>,
}

/// Single paths, as a journal or a level of the undo log has them.
pub struct PathsAim {
    /// What becomes of them.
    pub changes: PathChanges,
    /// Paths that the backup has whatever the rules say.
    pub forced: BTreeSet<Vec<u8>>,
    /// The snapshots that the files come from.
    pub from: Vec<Stored>,
    /// What directories that have to be made again had for permission bits.
    pub saved: Extras,
}

/// Decides what becomes of which paths, given what is there.
pub type ComputePaths<'a> = &'a dyn Fn(&Capture<'_>) -> Result<PathChanges>;

impl Aim<'_> {
    /// The snapshot whose files these are, when they are one's.
    pub(super) fn target(&self) -> Option<&Stored> {
        match self {
            Self::Snapshot(aim) => Some(aim.stored),
            Self::Paths(_) | Self::Computed { .. } => None,
        }
    }

    /// Whether single paths come from sides none of which has a directory of this name: that of now stays what it is.
    pub(super) fn knows_nothing_of(&self, store: &Store, dir: &[u8]) -> bool {
        let Self::Paths(aim) = self else {
            return false;
        };
        let has_it = |side: &Stored| {
            let found = tree::find(&store.objects, side.tree, dir).ok().flatten();
            found.is_some_and(|node| node.is_dir() || node.is_gitlink())
        };
        !aim.saved.leads_to_empty_dir(dir) && !aim.from.iter().any(has_it)
    }

    /// What the side that it leads to has beside its tree.
    pub(super) fn extras(&self) -> &Extras {
        match self {
            Self::Snapshot(aim) => &aim.extras,
            Self::Paths(aim) => &aim.saved,
            Self::Computed { saved, .. } => saved,
        }
    }
}

/// What becomes of index, HEAD and operation files.
pub enum GitGoal<'a> {
    /// They stay.
    Stay,
    /// Entries of single paths of the index change, all else stays. Without any the index stays.
    // A cell: paths that are computed are decided anew by every scan, when the goal has long been made.
    Entries(&'a RefCell<EntryChanges>),
    /// They become a snapshot's.
    Snapshot(GitSide<'a>),
}

/// Index, HEAD and operation files of the side that a swap leads to.
pub struct GitSide<'a> {
    /// Whose index.
    pub stored: &'a Stored,
    /// Its lists.
    pub lists: &'a Lists,
    /// The bytes of HEAD.
    pub raw_head: String,
    /// The operation files, exactly these.
    pub operation: OperationState,
    /// Whether they are all that the side has, or what a past that is entered gets of it (`swap::head::past_operation`).
    pub takes: OperationShare,
}

/// How much of a side's operation files is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationShare {
    /// All: the side was there before, and comes back.
    Whole,
    /// What can be revived in a past that is entered, and nothing of somebody else's.
    Revivable,
}

impl GitGoal<'_> {
    /// Whether the index file is replaced.
    pub(super) fn swaps_index(&self) -> bool {
        match self {
            Self::Stay => false,
            Self::Entries(entries) => !entries.borrow().is_empty(),
            Self::Snapshot(_) => true,
        }
    }
}

/// For an undo or redo: what it takes back.
#[derive(Debug, Clone)]
pub struct Reversal {
    /// The log that its level goes from; the swap becomes a level of the other one.
    pub log: Log,
    /// The level's file name.
    pub level: String,
    /// The kind of the swap that was made first.
    pub kind: SwapKind,
}

/// For a swap that leaves a past: what is there becomes an experiment. When it ends the stay, that the present is back is proved.
pub struct Experiment<'a> {
    /// Other fields of its record.
    pub extra: Map<String, Value>,
    /// Finds what the rules hide from a capture although it has to be in it.
    pub hidden: FindHidden<'a>,
    /// What it will probably find of other rules: a capture under these at once spares one that finds it out.
    pub likely_rules: Option<Oid>,
    /// What the paths that were written when the past began probably hold.
    pub likely: Likely<'a>,
    /// Looks at the scan before anything is hashed.
    pub before_hashing: Option<BeforeHashing<'a>>,
    /// Paths that `before_hashing` left out of the experiment; they stay in place.
    // A cell: every scan calls `before_hashing` anew, and only the proof at the end reads what it left out.
    pub discarded: &'a RefCell<Vec<Vec<u8>>>,
    /// What the past was when it was entered: an experiment that equals it is not kept.
    pub start: Option<PastStart<'a>>,
    /// The present is back afterwards; else another past is there.
    pub ends_stay: bool,
}

/// The past as travel left it.
pub struct PastStart<'a> {
    /// The snapshot that was travelled to: its files.
    pub files: &'a Stored,
    /// Whose index and operation files travel left: that snapshot's, or the present's when it left them alone.
    pub git: &'a Stored,
    /// The present that was left: what no snapshot captures was there before, and travel left it in place.
    pub backup: &'a Stored,
    /// HEAD's bytes, as travel left them.
    pub raw_head: String,
    /// The operation files, as travel left them: a rebase or bisect of the snapshot is not revived.
    pub operation: OperationState,
}

/// What a capture misses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// A tree whose ignore rules hold beside those on disk.
    pub other_rules: Option<Oid>,
    /// Paths to capture whatever the rules say.
    pub forced: BTreeSet<Vec<u8>>,
}

/// Looks for what a capture misses.
pub type FindHidden<'a> = &'a dyn Fn(&Capture<'_>) -> Result<Hidden>;

/// Everything about a swap that its verb decides.
#[must_use]
pub struct Goal<'a> {
    pub(super) operation: SwapKind,
    pub(super) title: String,
    pub(super) aim: Aim<'a>,
    pub(super) git: GitGoal<'a>,
    pub(super) reversal: Option<Reversal>,
    pub(super) experiment: Option<Experiment<'a>>,
    pub(super) hints: &'a [&'a str],
    // A cell, as the entries of the index: every scan decides anew.
    pub(super) taken_back: Option<&'a RefCell<Vec<TakenBack>>>,
    pub(super) in_the_way: Option<&'a RefCell<Vec<Vec<u8>>>>,
    pub(super) shown: BTreeSet<Vec<u8>>,
    pub(super) stayed: Vec<Vec<u8>>,
    pub(super) written: Option<Likely<'a>>,
    pub(super) old_names: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) renames: Vec<Vec<u8>>,
    pub(super) rewound: Option<&'a SessionFile>,
}

impl<'a> Goal<'a> {
    /// A swap of these files, of this kind in journal and logs. `title` is what its backup is
    /// called.
    pub fn new(operation: SwapKind, title: String, aim: Aim<'a>) -> Self {
        Self {
            operation,
            title,
            aim,
            git: GitGoal::Stay,
            reversal: None,
            experiment: None,
            hints: &["move these paths away and try again"],
            taken_back: None,
            in_the_way: None,
            shown: BTreeSet::new(),
            stayed: Vec::new(),
            written: None,
            old_names: Vec::new(),
            renames: Vec::new(),
            rewound: None,
        }
    }

    /// Index, HEAD and operation files as well.
    pub fn git(mut self, git: GitGoal<'a>) -> Self {
        self.git = git;
        self
    }

    /// It takes a level of a log back, when there is one.
    pub fn reversing(mut self, reversal: Option<Reversal>) -> Self {
        self.reversal = reversal;
        self
    }

    /// It takes changes back: its level says which.
    pub fn taking_back(mut self, changes: &'a RefCell<Vec<TakenBack>>) -> Self {
        self.taken_back = Some(changes);
        self
    }

    /// For a look: what is in the way and cannot be captured is put here, and the plan is made as if it were not there. What is
    /// git's own is refused all the same.
    pub fn looking_past(mut self, in_the_way: &'a RefCell<Vec<Vec<u8>>>) -> Self {
        self.in_the_way = Some(in_the_way);
        self
    }

    /// These are captured also where the user's own exclude hides them: a swap wrote them, or moved them there.
    pub fn showing(mut self, paths: BTreeSet<Vec<u8>>) -> Self {
        self.shown = paths;
        self
    }

    /// What the swap wrote that is taken back. What it made goes, also where the rules hide it by now; where the user's own exclude
    /// does, as long as it is as it was written: it is saved.
    pub fn unwriting(mut self, written: Likely<'a>) -> Self {
        self.written = Some(written);
        self
    }

    /// What gets its name of the past again when that is there: old and new names.
    pub fn giving_old_names(mut self, pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        self.old_names = pairs;
        self
    }

    /// For a look: what is at these paths has other names before the swap begins, and is not in its way.
    pub fn renaming(mut self, paths: Vec<Vec<u8>>) -> Self {
        self.renames = paths;
        self
    }

    /// These are left out of both sides, changed in the past that it leaves, and stay.
    pub fn staying(mut self, paths: Vec<Vec<u8>>) -> Self {
        self.stayed = paths;
        self
    }

    /// It leaves a past.
    pub fn leaving(mut self, experiment: Experiment<'a>) -> Self {
        self.experiment = Some(experiment);
        self
    }

    /// It goes with a rewind of the session that is kept in this file.
    pub fn rewinding(mut self, file: Option<&'a SessionFile>) -> Self {
        self.rewound = file;
        self
    }

    /// What to do when something is in the way that cannot be captured.
    pub fn hints(mut self, hints: &'a [&'a str]) -> Self {
        self.hints = hints;
        self
    }

    /// These paths stay as they are, too.
    pub fn keep(&mut self, paths: impl Iterator<Item = Vec<u8>>) {
        if let Aim::Snapshot(aim) = &mut self.aim {
            aim.keep.extend(paths);
        }
    }

    /// Whether the working tree is in the present afterwards, when it was in the past.
    pub(super) fn ends_stay(&self) -> bool {
        self.experiment
            .as_ref()
            .is_some_and(|experiment| experiment.ends_stay)
    }

    /// Whether it puts single paths back as a journal has them.
    pub(super) fn takes_paths_back(&self) -> bool {
        let is_recovery = self.operation == SwapKind::Recover;
        matches!(self.aim, Aim::Paths(_)) && (is_recovery || self.reversal.is_some())
    }

    /// Whether it leads from one past to another.
    pub(super) fn is_hop(&self) -> bool {
        self.experiment.is_some() && !self.ends_stay()
    }

    /// As what the state before is saved.
    pub(super) fn saves_as(&self) -> IdKind {
        match self.experiment {
            Some(_) => IdKind::Experiment,
            None => IdKind::Backup,
        }
    }

    /// Paths that the first scan captures already whatever the rules say.
    pub(super) fn forced(&self) -> BTreeSet<Vec<u8>> {
        match &self.aim {
            Aim::Paths(aim) => aim.forced.clone(),
            Aim::Computed { forced, .. } => forced.clone(),
            Aim::Snapshot(_) => BTreeSet::new(),
        }
    }
}
