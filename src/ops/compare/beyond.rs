//! What differs between two sides beyond the content of their files: all that a restore, a travel or a return would act on, too.
//!
//! Permission bits that a tree does not know, empty directories, owners and attributes; and of git: the index, HEAD, the operation
//! under way. Only looks.

use std::collections::{BTreeMap, BTreeSet};

use super::{Contents, Side};
use crate::error::Result;
use crate::git::Oid;
use crate::git::operation::{OperationState, kinds};
use crate::git::path::{self, RepoPath};
use crate::git::tree::{self, Node};
use crate::ops::Context;
use crate::ops::outcome::{OtherDiff, OtherKind};
use crate::ops::pathspec::Pathspec;
use crate::ops::swap::extras::{captured_extras, stored_extras};
use crate::store::Store;
use crate::store::snapshot::{HeadRecord, Lists};
use crate::store::state::Mode;
use crate::store::stored::part;
use crate::worktree::plan::Extras;

/// Everything of a side but the content of its files.
struct Whole {
    nodes: BTreeMap<Vec<u8>, Node>,
    extras: Extras,
    lists: Lists,
    index: Oid,
    unmerged: Vec<u8>,
    resolve_undo: Option<Vec<u8>>,
    head: HeadRecord,
    operation: OperationState,
}

/// What differs beyond contents, sorted: first by kind, then by path.
///
/// # Errors
/// As [`super::sides`].
pub(super) fn compare(
    ctx: &Context<'_>,
    store: &Store,
    contents: &Contents<'_>,
    (from, to): (&Side, &Side),
    only: &Pathspec,
) -> Result<Vec<OtherDiff>> {
    let old = Whole::of(ctx, store, contents, from)?;
    let new = Whole::of(ctx, store, contents, to)?;
    let mut found = modes(&old, &new);
    found.extend(empty_dirs(&old, &new));
    found.extend(access(&old, &new));
    found.extend(index(contents, &old, &new)?);
    found.retain(|one| one.path.as_ref().is_none_or(|path| only.matches(path)));
    if only.is_everything() {
        // A trip leaves HEAD on the snapshot's commit, and on no branch.
        let is_trip = matches!(from, Side::Present) != matches!(to, Side::Present)
            && store.dir.state()?.mode == Mode::Past;
        if !is_trip || old.head.oid != new.head.oid {
            found.extend(head(&old.head, &new.head));
        }
        found.extend(operation(&old, &new));
    }
    Ok(found)
}

impl Whole {
    fn of(ctx: &Context<'_>, store: &Store, contents: &Contents<'_>, side: &Side) -> Result<Self> {
        let nodes = tree::flatten(contents, contents.tree(side)?)?
            .into_iter()
            .collect();
        match (side, contents.seen) {
            (Side::Present, Some(seen)) => Ok(Self {
                nodes,
                extras: captured_extras(ctx, seen)?,
                lists: seen.lists(),
                index: seen.index.tree_oid()?,
                unmerged: seen.index.unmerged.clone(),
                resolve_undo: seen.index.resolve_undo.clone(),
                head: HeadRecord::from(&seen.head),
                operation: seen.operation.clone(),
            }),
            (Side::Stored(stored), _) => {
                let side = store.index_side(stored)?;
                Ok(Self {
                    nodes,
                    extras: stored_extras(store, stored)?,
                    lists: store.lists(stored)?,
                    index: side.tree,
                    unmerged: store
                        .state_blob(side.state, part::UNMERGED)?
                        .unwrap_or_default(),
                    resolve_undo: store.state_blob(side.state, part::RESOLVE_UNDO)?,
                    head: stored.record.head.clone(),
                    operation: store.operation(stored)?,
                })
            }
            (Side::Present, None) => Err(super::not_looked_at()),
        }
    }

    /// The permission bits of a file, when a tree says the same of it on the other side.
    fn bits(&self, path: &[u8], other: &Self) -> Option<u32> {
        let node = self.nodes.get(path)?;
        let is_file = node.mode & 0o170_000 == 0o100_000;
        (is_file && other.nodes.get(path).map(|node| node.mode) == Some(node.mode))
            .then(|| self.extras.permissions(path, node.mode))
    }

    fn has_beneath(&self, dir: &[u8]) -> bool {
        let start = path::join(dir, b"");
        let mut after = self.nodes.range(start.clone()..);
        after
            .next()
            .is_some_and(|(path, _)| path.starts_with(&start))
    }

    fn has_dir(&self, dir: &[u8]) -> bool {
        self.extras.leads_to_empty_dir(dir) || self.has_beneath(dir)
    }

    /// The permission bits of a directory that is there; of a submodule's where they were recorded.
    fn dir_bits(&self, dir: &[u8]) -> Option<u32> {
        let is_submodule = || self.nodes.get(dir).is_some_and(|node| node.is_gitlink());
        let is_known = self.extras.modes.contains_key(dir) && is_submodule();
        (is_known || self.has_dir(dir)).then(|| self.extras.permissions(dir, tree::DIR_MODE))
    }
}

fn other(kind: OtherKind, path: &[u8], old: Option<String>, new: Option<String>) -> OtherDiff {
    OtherDiff {
        kind,
        path: Some(RepoPath::new(path.to_vec())),
        old,
        new,
    }
}

fn modes(old: &Whole, new: &Whole) -> Vec<OtherDiff> {
    let same_defaults = old.extras.defaults == new.extras.defaults;
    let mut paths: BTreeSet<&[u8]> = BTreeSet::new();
    for path in old.extras.modes.keys().chain(new.extras.modes.keys()) {
        paths.insert(path);
    }
    if !same_defaults {
        let all = old.nodes.keys();
        paths.extend(all.flat_map(|path| path::with_parents(path)));
    }
    let octal = |bits: u32| Some(format!("{bits:04o}"));
    let differing = paths.into_iter().filter_map(|path| {
        let file = old.bits(path, new).zip(new.bits(path, old));
        let bits = file.or_else(|| old.dir_bits(path).zip(new.dir_bits(path)));
        let (before, after) = bits.filter(|(before, after)| before != after)?;
        Some(other(OtherKind::Mode, path, octal(before), octal(after)))
    });
    differing.collect()
}

fn empty_dirs(old: &Whole, new: &Whole) -> Vec<OtherDiff> {
    let word = |is_there: bool| is_there.then(|| "there".to_owned());
    let all: BTreeSet<&Vec<u8>> = old
        .extras
        .empty_dirs
        .union(&new.extras.empty_dirs)
        .collect();
    all.into_iter()
        .map(|dir| (dir, old.has_dir(dir), new.has_dir(dir)))
        .filter(|(_, before, after)| before != after)
        .map(|(dir, before, after)| {
            other(OtherKind::EmptyDirectory, dir, word(before), word(after))
        })
        .collect()
}

fn access(old: &Whole, new: &Whole) -> Vec<OtherDiff> {
    let both = || {
        let paths = old
            .nodes
            .keys()
            .filter(|path| new.nodes.contains_key(*path));
        paths.cloned().collect()
    };
    let differing = old.extras.access.differing(&new.extras.access, both);
    let is_on_both = |path: &&Vec<u8>| {
        let there = |side: &Whole| side.nodes.contains_key(*path) || side.dir_bits(path).is_some();
        there(old) && there(new)
    };
    let paths = differing.iter().filter(is_on_both);
    paths
        .map(|path| other(OtherKind::Access, path, None, None))
        .collect()
}

/// What the index says of paths beside their entries.
fn marks(side: &Whole) -> BTreeSet<(&'static str, Vec<u8>)> {
    let list = |name: &'static str, list: &[Vec<u8>]| {
        list.iter()
            .map(move |path| (name, path.clone()))
            .collect::<Vec<_>>()
    };
    let lists = &side.lists;
    [
        list("conflict", &lists.conflicts),
        list("intent-to-add", &lists.intent_to_add),
        list("skip-worktree", &lists.skip_worktree),
        list("assume-unchanged", &lists.assume_unchanged),
    ]
    .concat()
    .into_iter()
    .collect()
}

fn index(contents: &Contents<'_>, old: &Whole, new: &Whole) -> Result<Vec<OtherDiff>> {
    let mut paths: BTreeMap<Vec<u8>, (Option<String>, Option<String>)> = BTreeMap::new();
    let entry = |node: Option<Node>| node.map(|node| format!("{:06o} {}", node.mode, node.oid));
    for change in tree::diff(contents, Some(old.index), Some(new.index))? {
        paths.insert(change.path, (entry(change.old), entry(change.new)));
    }
    let (before, after) = (marks(old), marks(new));
    for (word, path) in before.symmetric_difference(&after) {
        let found = paths.entry(path.clone()).or_default();
        let side = if before.contains(&(*word, path.clone())) {
            &mut found.0
        } else {
            &mut found.1
        };
        side.get_or_insert_with(|| (*word).to_owned());
    }
    if old.unmerged != new.unmerged {
        // The same paths in conflict, with other stages.
        for path in old
            .lists
            .conflicts
            .iter()
            .filter(|path| new.lists.conflicts.contains(path))
        {
            let both = Some("conflict".to_owned());
            paths.entry(path.clone()).or_insert((both.clone(), both));
        }
    }
    let mut found: Vec<OtherDiff> = paths
        .iter()
        .map(|(path, (before, after))| other(OtherKind::Index, path, before.clone(), after.clone()))
        .collect();
    if old.resolve_undo != new.resolve_undo {
        let word = |side: &Whole| {
            side.resolve_undo
                .as_ref()
                .map(|_| "resolve-undo".to_owned())
        };
        found.push(OtherDiff {
            kind: OtherKind::Index,
            path: None,
            old: word(old),
            new: word(new),
        });
    }
    Ok(found)
}

fn head(old: &HeadRecord, new: &HeadRecord) -> Option<OtherDiff> {
    (old != new).then(|| OtherDiff {
        kind: OtherKind::Head,
        path: None,
        old: Some(head_text(old)),
        new: Some(head_text(new)),
    })
}

/// `refs/heads/main 1a2b…`, a commit alone when detached, a branch alone when unborn; then `(tag 3c4d…)` where one leads there.
fn head_text(head: &HeadRecord) -> String {
    let tag = head.tag.as_ref().map(|tag| format!("(tag {tag})"));
    let words = [
        head.reference.as_deref(),
        head.oid.as_deref(),
        tag.as_deref(),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is under way; where that is nothing, the files that differ, such as `ORIG_HEAD`.
fn operation(old: &Whole, new: &Whole) -> Option<OtherDiff> {
    let (before, after) = (&old.operation, &new.operation);
    if before.files == after.files && before.refs == after.refs {
        return None;
    }
    let text = |one: &OperationState, other: &OperationState| {
        let kinds = kinds(one);
        let files = one.files.iter().filter(|file| !other.files.contains(file));
        let words: Vec<&str> = if kinds.is_empty() {
            files.map(|(name, _, _)| name.as_str()).collect()
        } else {
            kinds
        };
        (!words.is_empty()).then(|| words.join("+"))
    };
    Some(OtherDiff {
        kind: OtherKind::Operation,
        path: None,
        old: text(before, after),
        new: text(after, before),
    })
}
