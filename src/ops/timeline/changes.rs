//! What an entry changed: the paths, and how many lines.

use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::git::textdiff::{self, Hunks, LARGEST, Layout, PatchSide, QuotePath};
use crate::git::tree::{self, Change, GITLINK_MODE, Node};
use crate::ops::pathspec::Pathspec;

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files that differ.
    pub files: u64,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
}

impl Counts {
    /// Adds both up.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            insertions: self.insertions + other.insertions,
            deletions: self.deletions + other.deletions,
        }
    }
}

/// The paths that differ between two trees, the first of which may be that of a commit of the user's.
pub(super) fn between(objects: &ObjectStore, old: Option<Oid>, new: Oid) -> Result<Vec<Change>> {
    let (of_old, of_new) = (
        |oid| objects.read_safe_tree(oid),
        |oid| objects.read_tree(oid),
    );
    tree::diff_sides((&of_old, old), (&of_new, Some(new)))
}

/// How many lines of a path came and went. What is binary, too large to be compared, or not there has none.
pub(super) fn count(objects: &ObjectStore, change: &Change) -> Result<Counts> {
    let mut counts = Counts {
        files: 1,
        ..Counts::default()
    };
    if change.old.map(|node| node.oid) == change.new.map(|node| node.oid) {
        return Ok(counts);
    }
    if let (Some(old), Some(new)) = (text(objects, change.old)?, text(objects, change.new)?) {
        let lines = textdiff::compare(&old, &new, Hunks::None)?;
        counts.insertions = lines.insertions as u64;
        counts.deletions = lines.deletions as u64;
    }
    Ok(counts)
}

/// The lines of one side; None where there is nothing to compare by lines.
fn text(objects: &ObjectStore, node: Option<Node>) -> Result<Option<Vec<u8>>> {
    let Some(node) = node else {
        return Ok(Some(Vec::new()));
    };
    if node.mode == GITLINK_MODE {
        return Ok(Some(textdiff::gitlink_text(node.oid)));
    }
    match objects.header(node.oid)? {
        Some((_, size)) if size <= LARGEST => {
            let (_, bytes) = objects.read(node.oid)?;
            Ok((!textdiff::is_binary(&bytes)).then_some(bytes))
        }
        _ => Ok(None),
    }
}

/// What is compared to tell what an entry changed.
#[derive(Debug)]
pub(super) enum Sides {
    /// Two trees; None: nothing was there before.
    Trees(Option<Oid>, Oid),
    /// The paths that a swap's level names.
    Paths(Vec<Change>),
}

impl Sides {
    /// The paths that differ, of those that are wanted.
    pub(super) fn changes(&self, objects: &ObjectStore, paths: &Pathspec) -> Result<Vec<Change>> {
        let mut changes = match self {
            Self::Trees(old, new) => between(objects, *old, *new)?,
            Self::Paths(changes) => changes.clone(),
        };
        if !paths.is_everything() {
            changes.retain(|change| paths.matches(&change.path));
        }
        Ok(changes)
    }
}

/// What a path's patch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPatch {
    /// As git writes it.
    Text(Vec<u8>),
    /// This many bytes are more than were to be compared.
    TooLarge(u64),
}

/// The patch of one path, unless one of its sides has more bytes than `largest`.
pub(super) fn patch(objects: &ObjectStore, change: &Change, largest: u64) -> Result<PathPatch> {
    let same = change.old.map(|node| node.oid) == change.new.map(|node| node.oid);
    for node in [change.old, change.new].into_iter().flatten() {
        if !same
            && node.mode != GITLINK_MODE
            && let Some((_, size)) = objects.header(node.oid)?
            && size > largest
        {
            return Ok(PathPatch::TooLarge(size));
        }
    }
    let load = |node: Option<Node>| match node {
        Some(node) if !same && node.mode != GITLINK_MODE => {
            let (_, bytes) = objects.read(node.oid)?;
            Ok((!textdiff::is_binary(&bytes)).then_some(bytes))
        }
        _ => Result::Ok(Some(Vec::new())),
    };
    let (old, new) = (load(change.old)?, load(change.new)?);
    let old = change.old.map(|node| PatchSide {
        node,
        text: old.as_deref(),
        bytes: None,
    });
    let new = change.new.map(|node| PatchSide {
        node,
        text: new.as_deref(),
        bytes: None,
    });
    let text = textdiff::patch(
        &change.path,
        old,
        new,
        QuotePath::ControlOnly,
        Layout::default(),
    )?;
    Ok(PathPatch::Text(text))
}
