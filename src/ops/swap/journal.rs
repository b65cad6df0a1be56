//! The journal's words for what a plan does, and what they mean.

use std::collections::BTreeMap;

use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::path;
use crate::git::tree::Node;
use crate::store::snapshot::{octal, parse_octal};
use crate::store::state::{
    Journal, JournalDir, JournalEntry, Side as StoredSide, path_from_stored, stored_path,
};
use crate::worktree::plan::{Plan, Side};

/// One of the two sides of a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapSide {
    /// As before the swap.
    Before,
    /// As the swap leaves it.
    After,
}

impl SwapSide {
    /// What this side has.
    pub(super) fn of<T>(self, before: T, after: T) -> T {
        match self {
            Self::Before => before,
            Self::After => after,
        }
    }
}

fn stored_side(side: Side) -> StoredSide {
    StoredSide {
        mode: format!("{:06o}", side.node.mode),
        oid: side.node.oid.to_string(),
        perm: octal(side.perm),
    }
}

/// The paths that a plan touches.
pub(super) fn entries(plan: &Plan) -> Vec<JournalEntry> {
    let entries = plan.entries.iter().map(|entry| JournalEntry {
        path: stored_path(&entry.path),
        before: entry.before.map(stored_side),
        after: entry.after.map(stored_side),
    });
    entries.collect()
}

/// The directories that a plan makes, removes or changes.
pub(super) fn dirs(plan: &Plan) -> Vec<JournalDir> {
    let dirs = plan.dirs.iter().map(|dir| JournalDir {
        path: stored_path(&dir.path),
        before: dir.before.map(octal),
        after: dir.after.map(octal),
    });
    dirs.collect()
}

/// The files that a swap made where nothing was, and the blobs that they hold.
///
/// # Errors
/// `CORRUPT_RECORD`.
pub fn made_files(journal: &Journal) -> Result<BTreeMap<Vec<u8>, Oid>> {
    let mut made = BTreeMap::new();
    let entries = journal.entries.iter();
    for entry in entries.filter(|entry| entry.before.is_none()) {
        if let Some(after) = side_of(entry.after.as_ref())? {
            made.insert(path_of(&entry.path)?, after.node.oid);
        }
    }
    Ok(made)
}

/// A side as the journal has it; None where it has none.
///
/// # Errors
/// `CORRUPT_RECORD`.
pub fn side_of(stored: Option<&StoredSide>) -> Result<Option<Side>> {
    let Some(stored) = stored else {
        return Ok(None);
    };
    let mode = u32::from_str_radix(&stored.mode, 8).map_err(|_| {
        Error::new(
            Code::CorruptRecord,
            "the journal has a mode that is not valid",
        )
    })?;
    Ok(Some(Side {
        node: Node {
            mode,
            oid: Oid::from_hex(&stored.oid)?,
        },
        perm: parse_octal(&stored.perm)?,
    }))
}

/// A directory's permission bits as the journal has them; None where it has none.
///
/// # Errors
/// `CORRUPT_RECORD`.
pub fn permissions_of(stored: Option<&str>) -> Result<Option<u32>> {
    stored.map(parse_octal).transpose()
}

/// A path as the journal has it.
///
/// # Errors
/// `CORRUPT_RECORD`, also for one that leads out of the working tree.
pub fn path_of(stored: &str) -> Result<Vec<u8>> {
    path_from_stored(stored)
        .filter(|path| path::is_safe(path))
        .ok_or_else(|| {
            Error::new(
                Code::CorruptRecord,
                "the journal has a path that is not valid",
            )
        })
}
