//! The tree that an index stands for, as `git write-tree` makes it.
//!
//! Intent-to-add entries are left out; unmerged paths, at which git refuses, get what the caller says. Directories whose
//! tree the cache tree knows, and which was proven, are taken over.

use super::{CacheTree, Entry, Flags, Index, MODE_DIRECTORY, TYPE_MASK, corrupt};
use crate::error::Result;
use crate::git::tree::LINK_MODE;
use crate::git::{Oid, path};

/// What an unmerged path becomes in the tree: mode and id, or nothing. A directory counts as nothing.
pub type Unmerged<'a> = dyn Fn(&[u8]) -> Result<Option<(u32, Oid)>> + 'a;

/// Where trees go, and which are there.
pub trait TreeSink {
    /// True when the tree `oid`, which the cache tree names, is in the object database: git, too, asks before it relies on
    /// one. No means that it is built and put.
    fn has(&mut self, oid: Oid) -> bool;

    /// Stores a tree object with this content.
    ///
    /// # Errors
    /// When it cannot be stored.
    fn put(&mut self, content: &[u8]) -> Result<Oid>;
}

/// Builds the tree of `index`, children first, and gives the root's id. An empty index is one empty tree.
///
/// What is staged wins over what `unmerged` says where a file of one is a directory of the other.
///
/// # Errors
/// What `unmerged` and `sink` give; `CORRUPT_RECORD` for a path that no tree can hold.
pub fn build_tree(index: &Index, unmerged: &Unmerged, sink: &mut dyn TreeSink) -> Result<Oid> {
    build_tree_without(index, &[], unmerged, sink)
}

/// As [`build_tree`], without the entries at some positions, given in order: their objects are not there, or their names unsafe.
///
/// # Errors
/// As [`build_tree`].
pub fn build_tree_without(
    index: &Index,
    left_out: &[usize],
    unmerged: &Unmerged,
    sink: &mut dyn TreeSink,
) -> Result<Oid> {
    let mut build = Build {
        index,
        odd: odd(index, left_out, unmerged)?,
        sink,
        open: Vec::new(),
    };
    let root = Directory {
        path: b"",
        content: Vec::new(),
        cache: index.true_trees(),
    };
    if let Some(known) = build.known(&root, 0) {
        return Ok(known.oid);
    }
    build.open.push(root);
    let mut at = 0;
    while at < index.len() {
        at = build.step(at)?;
    }
    while build.open.len() > 1 {
        build.close()?;
    }
    let root = build.open.pop().unwrap_or_default();
    build.sink.put(&root.content)
}

/// The positions of merged entries that git took and that no tree of ours may have, for their names are unsafe; in order.
pub fn unsafe_names(index: &Index) -> Vec<usize> {
    let is_unsafe = |(path, entry): (&[u8], &Entry)| {
        let name = path::split(path).1;
        let is_link = entry.mode & TYPE_MASK == LINK_MODE;
        let is_safe = path::is_safe(path) && (!is_link || path::is_safe_link(name));
        !is_safe && path::is_indexable(path) && !is_odd(entry)
    };
    let all = index.iter().enumerate();
    all.filter(|(_, one)| is_unsafe(*one))
        .map(|(at, _)| at)
        .collect()
}

/// Entries that a tree does not take as they are: an intent-to-add one, one that is left out, or an unmerged path.
struct Odd {
    at: usize,
    len: usize,
    /// What stands in the tree instead.
    instead: Option<(u32, Oid)>,
}

/// Finds the odd entries, in order.
fn odd(index: &Index, left_out: &[usize], unmerged: &Unmerged) -> Result<Vec<Odd>> {
    let mut list: Vec<Odd> = Vec::new();
    for (at, entry) in index.entries().iter().enumerate() {
        let seen = list.last().is_some_and(|odd| at < odd.at + odd.len);
        let is_left_out = left_out.binary_search(&at).is_ok();
        if seen || !(is_left_out || is_odd(entry)) {
            continue;
        }
        let path = index.path(entry);
        let (mut len, mut instead) = (1, None);
        if entry.stage != 0 {
            len = index.stages(path).len();
            instead = unmerged(path)?
                .filter(|(mode, _)| mode & TYPE_MASK != MODE_DIRECTORY)
                .filter(|_| !is_taken(index, path));
        }
        list.push(Odd { at, len, instead });
    }
    Ok(list)
}

/// Whether a tree does not take an entry as it is.
pub(super) fn is_odd(entry: &Entry) -> bool {
    entry.stage != 0 || entry.flags.contains(Flags::INTENT_TO_ADD)
}

/// True when what is staged has a directory where `path` is, or a file where one of its directories is.
fn is_taken(index: &Index, path: &[u8]) -> bool {
    let beneath = index.entries().get(index.within(path)).unwrap_or_default();
    let slashes = path.iter().enumerate().filter(|&(_, &byte)| byte == b'/');
    let mut above = slashes.filter_map(|(at, _)| index.get(&path[..at], 0));
    beneath.iter().any(|entry| !is_odd(entry)) || above.any(|entry| !is_odd(entry))
}

/// A directory whose tree is being put together.
#[derive(Default)]
struct Directory<'a> {
    path: &'a [u8],
    content: Vec<u8>,
    cache: Option<&'a CacheTree>,
}

/// A tree that need not be built, and the position behind its entries.
struct Known {
    oid: Oid,
    end: usize,
}

struct Build<'a, 's> {
    index: &'a Index,
    odd: Vec<Odd>,
    sink: &'s mut dyn TreeSink,
    /// The root and the directories down to the entry at hand.
    open: Vec<Directory<'a>>,
}

impl<'a> Build<'a, '_> {
    /// Takes in the entry at `at`, or a whole known directory that begins with it; gives the position behind.
    ///
    /// Index order is tree order: a directory is added when the first path behind it comes.
    fn step(&mut self, at: usize) -> Result<usize> {
        let Some(entry) = self.index.entries().get(at) else {
            return Ok(at + 1);
        };
        let path = self.index.path(entry);
        let (end, leaf) = match self.odd_at(at) {
            Some(odd) => (at + odd.len, odd.instead),
            None => (at + 1, Some((entry.mode, entry.oid))),
        };
        let Some((mode, oid)) = leaf else {
            return Ok(end);
        };
        while !path::is_within(path, self.top()) {
            self.close()?;
        }
        loop {
            let start = match self.top().len() {
                0 => 0,
                len => len + 1,
            };
            let name = path.get(start..).unwrap_or_default();
            let Some(slash) = name.iter().position(|&byte| byte == b'/') else {
                self.add(mode, name, oid)?;
                return Ok(end);
            };
            if let Some(end) = self.enter(&path[..start + slash], start, at)? {
                return Ok(end);
            }
        }
    }

    fn top(&self) -> &'a [u8] {
        self.open.last().map_or(b"", |directory| directory.path)
    }

    fn odd_at(&self, at: usize) -> Option<&Odd> {
        let place = self.odd.binary_search_by_key(&at, |odd| odd.at).ok()?;
        self.odd.get(place)
    }

    /// Opens the directory `path`, whose name begins at `start`; or adds it, when its tree is known, and gives the position
    /// behind its entries.
    fn enter(&mut self, path: &'a [u8], start: usize, at: usize) -> Result<Option<usize>> {
        if self.has_leaf(path) {
            let path = path::display(path);
            return Err(corrupt(format!("'{path}' is both a file and a directory")));
        }
        let name = named(path.get(start..).unwrap_or_default())?;
        let directory = Directory {
            path,
            content: Vec::new(),
            cache: self.open.last().and_then(|up| up.cache?.child(name)),
        };
        if let Some(known) = self.known(&directory, at) {
            self.add(MODE_DIRECTORY, name, known.oid)?;
            return Ok(Some(known.end));
        }
        self.open.push(directory);
        Ok(None)
    }

    /// True when the tree gets a file at `path`.
    fn has_leaf(&self, path: &[u8]) -> bool {
        let at = self.index.position(path, 0).unwrap_or_else(|at| at);
        let entry = self.index.entries().get(at);
        entry.is_some_and(|entry| self.index.path(entry) == path)
            && self.odd_at(at).is_none_or(|odd| odd.instead.is_some())
    }

    /// The tree of `directory`, whose first entry would be the one at `at`, when the cache tree knows it and nothing odd is among
    /// what lies there, be it before that one.
    fn known(&mut self, directory: &Directory, at: usize) -> Option<Known> {
        let valid = directory.cache?.valid.filter(|valid| valid.entries > 0)?;
        let end = at + valid.entries as usize;
        let before = at
            .checked_sub(1)
            .and_then(|before| self.index.entries().get(before));
        if before.is_some_and(|entry| path::is_within(self.index.path(entry), directory.path)) {
            return None;
        }
        let next_odd = self.odd.partition_point(|odd| odd.at < at);
        if self.odd.get(next_odd).is_some_and(|odd| odd.at < end) {
            return None;
        }
        let oid = valid.oid;
        has_all(directory.cache?, self.sink).then_some(Known { oid, end })
    }

    /// Puts the innermost directory and adds it to the one above.
    fn close(&mut self) -> Result<()> {
        if let Some(directory) = self.open.pop() {
            let oid = self.sink.put(&directory.content)?;
            let (_, name) = path::split(directory.path);
            self.add(MODE_DIRECTORY, name, oid)?;
        }
        Ok(())
    }

    /// Adds an entry to the innermost directory.
    fn add(&mut self, mode: u32, name: &[u8], oid: Oid) -> Result<()> {
        let name = named(name)?;
        if let Some(directory) = self.open.last_mut() {
            push_node(&mut directory.content, mode, name, oid);
        }
        Ok(())
    }
}

/// Adds an entry to the content of a tree.
pub(super) fn push_node(content: &mut Vec<u8>, mode: u32, name: &[u8], oid: Oid) {
    match mode {
        0o100_644 => content.extend_from_slice(b"100644 "),
        // Without leading zeros, as git has it in trees: `40000`, not `040000`.
        _ => content.extend_from_slice(format!("{mode:o} ").as_bytes()),
    }
    content.extend_from_slice(name);
    content.push(0);
    content.extend_from_slice(oid.as_bytes());
}

/// Whether a tree that the cache tree knows is there with all beneath it. In a partial clone one may be there and those in it not.
fn has_all(known: &CacheTree, sink: &mut dyn TreeSink) -> bool {
    known.valid.is_none_or(|valid| sink.has(valid.oid))
        && known.children().all(|(_, child)| has_all(child, sink))
}

/// A component, unless it is empty.
fn named(name: &[u8]) -> Result<&[u8]> {
    if name.is_empty() {
        return Err(corrupt("a path has an empty component"));
    }
    Ok(name)
}
