//! Which commits that an operation names a state commit may hold.
//!
//! Holding one makes its whole history part of what git's gc has to find. A commit that only `ORIG_HEAD` or the like names may be damaged
//! or half gone without git ever minding; what is held must not be what makes a gc fail.

use std::collections::HashSet;

use super::Capture;
use crate::git::{Oid, tree};
use crate::ops::Context;
use crate::store::Store;

/// How much history beyond HEAD's is looked at for one commit. Whoever lost more than this has other worries.
const MOST: usize = 50;

/// The commits that the operation names, but for those of which something is gone. What the snapshot before holds is not looked at again.
pub fn held(ctx: &Context<'_>, store: &Store, capture: &Capture<'_>) -> Vec<Oid> {
    let named = &capture.operation.commits;
    if named.is_empty() {
        return Vec::new();
    }
    let known = held_before(store, capture);
    let named = named.iter().copied();
    named
        .filter(|oid| known.contains(oid) || is_whole(ctx, store, *oid, capture.head.oid))
        .collect()
}

/// The commits that the state commit of the snapshot before holds.
fn held_before(store: &Store, capture: &Capture<'_>) -> HashSet<Oid> {
    let parents = |oid| store.commit(oid).map(|commit| commit.parents);
    let index = capture.known_index_commit.and_then(|oid| parents(oid).ok());
    let state = index.and_then(|parents| parents.last().copied());
    let state = state.filter(|oid| Some(*oid) != capture.head.oid);
    let held = state.and_then(|oid| parents(oid).ok());
    held.unwrap_or_default().into_iter().collect()
}

/// Whether everything is there that a commit has and HEAD's history has not.
fn is_whole(ctx: &Context<'_>, store: &Store, oid: Oid, head: Option<Oid>) -> bool {
    let beyond = ctx.repo.commits_beyond(oid, head, MOST);
    beyond.is_ok_and(|commits| commits.into_iter().all(|oid| is_there(store, oid)))
}

/// Whether everything is there that a commit has and its first parent, where there is one (a shallow clone ends somewhere), has not.
fn is_there(store: &Store, oid: Oid) -> bool {
    let objects = &store.objects;
    let read = |oid| objects.read_safe_tree(oid);
    let changes = || {
        let commit = store.commit(oid)?;
        let parent = commit.parents.first();
        let before = parent.and_then(|parent| Some(store.commit(*parent).ok()?.tree));
        tree::diff(&read, before, Some(commit.tree))
    };
    let has = |node: tree::Node| {
        node.mode == tree::GITLINK_MODE || node.is_dir() || objects.is_sound(node.oid)
    };
    changes().is_ok_and(|changes| changes.into_iter().filter_map(|it| it.new).all(has))
}
