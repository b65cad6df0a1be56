//! What another directory lends (`objects/info/alternates`: `git clone --shared`, `--reference`), and what of it may be relied on.
//!
//! Whoever lends lets an object go when no ref of its own needs it any more, and knows of none of ours. So what is written here is written
//! also where it is lent. But whoever borrows relies on the other repository for HEAD's commit, as git does: its files need no copy.
//! Of a few objects one is made all the same, for that costs less than to read HEAD's trees.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::store::ObjectStore;
use crate::git::{Oid, tree};

/// So many bytes are copied before HEAD's trees are read.
const FREE: u64 = 1 << 20;

/// What a small object takes on disk.
const BLOCK: u64 = 4 << 10;

/// What a writer relies on, of what is lent.
#[derive(Default)]
pub(super) struct Lent {
    /// What keeps objects where they are lent; nothing does when there is none.
    pub(super) commit: Option<Oid>,
    /// The bytes that were copied so far.
    copied: AtomicU64,
    /// The trees and files of the commit.
    kept: OnceLock<HashSet<Oid>>,
}

impl Lent {
    /// Whether an object of that size, which the repository's own directory does not have, is kept where another has it.
    pub(super) fn keeps(&self, store: &ObjectStore, oid: Oid, size: u64) -> bool {
        let Some(commit) = self.commit.filter(|_| store.borrows()) else {
            return false;
        };
        if !store.is_sound_as_listed(oid) {
            return false;
        }
        let size = size.max(BLOCK);
        let copied = self.copied.fetch_add(size, Ordering::Relaxed);
        copied.saturating_add(size) > FREE
            && self
                .kept
                .get_or_init(|| all_of(store, commit))
                .contains(&oid)
    }
}

/// The trees and files of a commit. What cannot be read has none.
fn all_of(store: &ObjectStore, commit: Oid) -> HashSet<Oid> {
    let mut found = HashSet::new();
    let mut pending: Vec<Oid> = store
        .commit(commit)
        .ok()
        .map(|it| it.tree)
        .into_iter()
        .collect();
    while let Some(oid) = pending.pop() {
        if !found.insert(oid) {
            continue;
        }
        let bytes = store.read_tree(oid).unwrap_or_default();
        for node in tree::leads_to(&bytes, oid.format()).unwrap_or_default() {
            if node.is_dir() {
                pending.push(node.oid);
            } else if !node.is_gitlink() {
                found.insert(node.oid);
            }
        }
    }
    found
}
