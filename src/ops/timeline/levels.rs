//! Swaps as the undo and redo logs of a worktree have them.
//!
//! A swap leaves a backup or an experiment, and that is its entry. One that left neither, since the past was as it had been
//! entered, stands in the logs alone. The logs also tell which paths a swap touched. Both are told, too, of the levels that an undo,
//! a redo or a later swap took out of their log: what happened does not change by that. A level of a large swap has megabytes
//! of paths: no more of them are read than are asked for.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::meta::Meta;
use crate::env::Moment;
use crate::error::Result;
use crate::git::Oid;
use crate::git::tree::{Change, Node};
use crate::ops::history::Here;
use crate::ops::swap::undo_log::{self, Log};
use crate::store::state::{Journal, Side, StateDir, path_from_stored, read_json};
use crate::store::trigger::SwapKind;

/// What is read of a level.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Head {
    /// The kind of the swap.
    pub(super) operation: SwapKind,
    /// When it began, RFC 3339.
    pub(super) started_at: String,
    /// What was there before.
    pub(super) backup_id: String,
    /// The snapshot that was put in place.
    pub(super) target_id: Option<String>,
}

impl Head {
    fn second(&self) -> i64 {
        Moment::seconds_of(&self.started_at)
    }

    /// Whether what was there before was saved for this swap, and is told of by that.
    fn has_record(&self) -> bool {
        self.backup_id.starts_with(['b', 'x'])
    }
}

/// Both logs of a worktree and what was put aside.
pub(super) struct Levels {
    worktree: Here,
    logs: [Unread; 3],
    until: i64,
    /// Of both logs, newest last; before them what was put aside.
    files: Vec<PathBuf>,
    /// The newest of them, as far as they were read.
    read: RefCell<Vec<Option<(PathBuf, Head)>>>,
}

/// The levels of a log that may have no record and were not given yet.
#[derive(Default)]
struct Unread {
    /// Newest last.
    files: Vec<PathBuf>,
    /// The newest, taken from the files once it is read.
    top: Option<(PathBuf, Head)>,
}

/// Swaps of these names may leave no record of their own.
const BARE: [&str; 3] = ["-return-", "-undo-", "-redo-"];

impl Unread {
    fn new(mut files: Vec<PathBuf>) -> Self {
        files.retain(|file| {
            let name = undo_log::name_of(file);
            BARE.iter().any(|word| name.contains(word))
        });
        let mut unread = Self { files, top: None };
        unread.advance();
        unread
    }

    /// Reads the newest that is left.
    fn advance(&mut self) {
        while self.top.is_none()
            && let Some(file) = self.files.pop()
        {
            self.top = head(&file).map(|head| (file, head));
        }
    }

    fn second(&self) -> Option<i64> {
        self.top.as_ref().map(|(_, head)| head.second())
    }
}

/// A swap that left no record.
pub(super) struct Bare {
    /// The worktree that it happened in.
    pub(super) worktree: Here,
    /// Its level.
    pub(super) file: PathBuf,
    /// What that says.
    pub(super) head: Head,
}

impl Levels {
    pub(super) fn new(worktree: Here, dir: &StateDir, until: Option<Moment>) -> Result<Self> {
        let undo = undo_log::files(dir, Log::Undo)?;
        let redo = undo_log::files(dir, Log::Redo)?;
        let aside = undo_log::files_aside(dir)?;
        let mut in_logs = [undo.as_slice(), redo.as_slice()].concat();
        in_logs.sort_by_key(|file| undo_log::name_of(file));
        let all = [aside.as_slice(), in_logs.as_slice()].concat();
        let logs = [undo, redo, aside].map(Unread::new);
        Ok(Self {
            worktree,
            logs,
            until: until.map_or(i64::MAX, Moment::seconds),
            files: all,
            read: RefCell::default(),
        })
    }

    /// There is no newer one than this.
    pub(super) fn second(&self) -> Option<i64> {
        self.logs.iter().filter_map(Unread::second).max()
    }

    /// The swaps of this second, or newer, that left no record, which are given with this.
    pub(super) fn take(&mut self, second: i64) -> Vec<Bare> {
        let mut taken = Vec::new();
        for log in &mut self.logs {
            while log.second().is_some_and(|newest| newest >= second) {
                taken.extend(log.top.take());
                log.advance();
            }
        }
        let taken = taken.into_iter();
        let taken = taken.filter(|(_, head)| !head.has_record() && head.second() <= self.until);
        let bare = taken.map(|(file, head)| Bare {
            worktree: self.worktree.clone(),
            file,
            head,
        });
        bare.collect()
    }

    /// The level of the swap that left this backup or experiment. No other worktree's are read for it.
    pub(super) fn of_backup(&self, meta: &Meta) -> Option<PathBuf> {
        if !self.worktree.is_named(meta) {
            return None;
        }
        let id = meta.id.to_string();
        let mut read = self.read.borrow_mut();
        let is_it = |level: &Option<(PathBuf, Head)>| {
            let level = level.as_ref().filter(|(_, head)| head.backup_id == id);
            level.map(|(file, _)| file.clone())
        };
        if let Some(known) = read.iter().find_map(is_it) {
            return Some(known);
        }
        for file in self.files.iter().rev().skip(read.len()) {
            let level = head(file).map(|head| (file.clone(), head));
            let found = is_it(&level);
            read.push(level);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// The paths that a level's swap touched, sorted.
pub(super) fn changes(file: &Path) -> Result<Option<Vec<Change>>> {
    let Some(journal) = read_json::<Journal>(file)? else {
        return Ok(None);
    };
    let mut changes = Vec::new();
    for entry in &journal.entries {
        changes.extend(path_from_stored(&entry.path).map(|path| Change {
            path,
            old: entry.before.as_ref().and_then(node),
            new: entry.after.as_ref().and_then(node),
        }));
    }
    changes.retain(|change| change.old != change.new);
    Ok(Some(changes))
}

fn node(side: &Side) -> Option<Node> {
    Some(Node {
        mode: u32::from_str_radix(&side.mode, 8).ok()?,
        oid: Oid::from_hex(&side.oid).ok()?,
    })
}

/// None for a level that is gone or cannot be read: `tw undo` says so, and it hides nothing else here.
fn head(file: &Path) -> Option<Head> {
    read_json(file).ok().flatten()
}
