//! Which trees of the cache tree equal the entries beneath them.
//!
//! git itself writes others: while `git replace` gives a tree another content it fills its index with that content, under the id that
//! stands for the true one again as soon as nothing is replaced. Who took such a tree for what is tracked would write the wrong files.
//! An id is the hash of its tree: made of the entries, it proves them, and no object is read.

use super::arena::Arena;
use super::tree::{is_odd, push_node};
use super::{CacheTree, Entry, MODE_DIRECTORY};
use crate::git::Oid;
use crate::git::objects::is_tree;

/// Keeps of a cache tree what is true of these entries, which are in order.
pub(super) fn keep_true(root: &mut CacheTree, entries: &[Entry], paths: &Arena) {
    let mut walk = Walk {
        entries,
        paths,
        at: 0,
    };
    walk.directory(root, b"");
}

struct Walk<'a> {
    entries: &'a [Entry],
    paths: &'a Arena,
    /// The position of the next entry.
    at: usize,
}

impl<'a> Walk<'a> {
    /// Goes through the entries beneath a directory, whose path ends with a slash where it is not the root. Answers its tree, if that is true.
    fn directory(&mut self, node: &mut CacheTree, prefix: &[u8]) -> Option<Oid> {
        let start = self.at;
        let mut content = node.valid.map(|_| Vec::new());
        let mut met = 0;
        while let Some((entry, path)) = self.next_within(prefix) {
            let name = path.get(prefix.len()..).unwrap_or_default();
            let slash = name.iter().position(|byte| *byte == b'/');
            let added = if let Some(slash) = slash {
                let (name, within) = (&name[..slash], &path[..=prefix.len() + slash]);
                let tree = if let Some(child) = node.child_if_there(name) {
                    met += 1;
                    self.directory(child, within)
                } else {
                    self.pass(within);
                    None
                };
                tree.map(|tree| (MODE_DIRECTORY, name, tree))
            } else {
                self.at += 1;
                (!is_odd(entry)).then_some((entry.mode, name, entry.oid))
            };
            match (&mut content, added) {
                (Some(content), Some((mode, name, oid))) => push_node(content, mode, name, oid),
                _ => content = None,
            }
        }
        if met < node.children().len() {
            let beneath = &self.entries[start..self.at];
            node.retain_children(|name| {
                let dir = [prefix, name, b"/"].concat();
                let path = |entry: &Entry| self.paths.get(entry.span);
                let first = beneath.partition_point(|entry| path(entry) < dir.as_slice());
                let first = beneath.get(first);
                first.is_some_and(|entry| path(entry).starts_with(&dir))
            });
        }
        let count = self.at - start;
        node.valid = node.valid.filter(|valid| {
            valid.entries as usize == count
                && content.is_some_and(|bytes| is_tree(valid.oid, &bytes))
        });
        node.valid.map(|valid| valid.oid)
    }

    fn next_within(&self, prefix: &[u8]) -> Option<(&'a Entry, &'a [u8])> {
        let entry = self.entries.get(self.at)?;
        let path = self.paths.get(entry.span);
        path.starts_with(prefix).then_some((entry, path))
    }

    fn pass(&mut self, within: &[u8]) {
        while self.next_within(within).is_some() {
            self.at += 1;
        }
    }
}
