//! The sparse index: directories outside the cone stand folded, as one entry `dir/` of mode 040000 that names a tree.
//!
//! Expanding gives every file in them an entry, skip-worktree and without stat data, as git's `ensure_full_index` does. The
//! cache tree is carried over: a folded directory's tree is known by its very entry.

use super::arena::Arena;
use super::cache_tree::{CacheTree, MAX_DEPTH, Valid};
use super::cursor::Cursor;
use super::{Entry, Flags, Index, MODE_DIRECTORY, TYPE_MASK, TreeSource, corrupt, unsupported};
use crate::error::{Result, ResultExt};
use crate::git::{ObjectFormat, Oid, path, tree};

/// More entries than any repository has: trees that name one another over and over unfold without end.
const MAX_ENTRIES: usize = 1 << 24;

/// Folds out every directory entry of `index`. On an error the index is left in pieces.
pub(super) fn expand(index: &mut Index, trees: &dyn TreeSource) -> Result<()> {
    // Where each folded entry's successors begin.
    let mut places = Vec::with_capacity(index.entries.len() + 1);
    let mut nodes = Vec::new();
    let mut unfold = Unfold {
        entries: Vec::with_capacity(index.entries.len()),
        paths: std::mem::take(&mut index.paths),
        trees,
    };
    for entry in &index.entries {
        places.push(unfold.entries.len());
        if entry.mode & TYPE_MASK == MODE_DIRECTORY {
            let (dir, node) = unfold.directory(entry)?;
            index.was_folded.push((dir.clone(), entry.oid));
            nodes.push((dir, node));
        } else {
            unfold.entries.push(entry.clone());
        }
    }
    places.push(unfold.entries.len());
    index.paths = unfold.paths;

    let mut root = index.cache_tree.take().unwrap_or_default();
    recount(&mut root, &mut Vec::new(), index, &places);
    for (dir, node) in nodes {
        let components = dir.split(|&byte| byte == b'/');
        *components.fold(&mut root, CacheTree::child_mut) = node;
    }
    index.cache_tree = Some(root);
    index.entries = unfold.entries;
    Ok(())
}

/// Whether the tree `id` unfolds to the very entries that `index` has beneath `dir`, of which there is one at least.
pub(super) fn is_all(index: &Index, dir: &[u8], id: Oid, trees: &dyn TreeSource) -> Result<bool> {
    let mut unfold = Unfold {
        entries: Vec::new(),
        paths: Arena::default(),
        trees,
    };
    unfold.tree(id, &mut [dir, &b"/"[..]].concat(), 0)?;
    let beneath = index.entries.get(index.within(dir)).unwrap_or_default();
    let is_same = |(entry, other): (&Entry, &Entry)| {
        (entry.mode, entry.oid, entry.stage, entry.flags)
            == (other.mode, other.oid, other.stage, other.flags)
            // git folds no directory with a submodule in it.
            && entry.mode != tree::GITLINK_MODE
            && index.path(entry) == unfold.paths.get(other.span)
    };
    Ok(!beneath.is_empty()
        && beneath.len() == unfold.entries.len()
        && beneath.iter().zip(&unfold.entries).all(is_same))
}

/// `index` as its file is to be, with one entry for each directory to fold in the place of all beneath it; `None` when there
/// is none. As git has it, an index with conflicts stays whole. What the cache tree counts are entries that are not folded, so it goes.
pub(super) fn folded(index: &Index) -> Option<Index> {
    if index.fold.is_empty() || index.entries.iter().any(|entry| entry.stage != 0) {
        return None;
    }
    let dirs = index.fold.iter().map(|dir| (index.within(&dir.0), dir));
    let mut dirs: Vec<_> = dirs.collect();
    // A directory before those in it: the outermost is folded.
    dirs.sort_by_key(|(range, (dir, _))| (range.start, dir.len()));
    let mut whole = Index {
        entries: Vec::new(),
        cache_tree: None,
        ..index.clone()
    };
    let mut at = 0;
    let plain = |range| index.entries.get(range).unwrap_or_default();
    for (range, (dir, oid)) in dirs {
        if range.start < at {
            continue;
        }
        whole.entries.extend_from_slice(plain(at..range.start));
        at = range.end;
        let mut entry = Entry::new(MODE_DIRECTORY, *oid);
        entry.flags = Flags::SKIP_WORKTREE;
        // The path of any entry beneath begins with that of the directory and its slash.
        entry.span = index.entries.get(range.start)?.span.first(dir.len() + 1);
        whole.entries.push(entry);
    }
    whole.entries.extend_from_slice(plain(at..index.len()));
    Some(whole)
}

/// Entries being unfolded.
struct Unfold<'a> {
    entries: Vec<Entry>,
    paths: Arena,
    trees: &'a dyn TreeSource,
}

impl Unfold<'_> {
    /// Unfolds one directory entry; gives its path without the slash, and what the cache tree says of it.
    fn directory(&mut self, entry: &Entry) -> Result<(Vec<u8>, CacheTree)> {
        let name = self.paths.get(entry.span);
        let Some(dir) = name.strip_suffix(b"/").filter(|dir| !dir.is_empty()) else {
            let name = path::display(name);
            return Err(corrupt(format!("'{name}' is folded but no directory")));
        };
        let dir = dir.to_vec();
        if entry.stage != 0 {
            return Err(corrupt("a folded directory is unmerged"));
        }
        let mut prefix = [&dir, &b"/"[..]].concat();
        let node = self.tree(entry.oid, &mut prefix, 0)?;
        Ok((dir, node))
    }

    /// Adds everything in the tree `id`, whose path with the slash is `prefix`.
    fn tree(&mut self, id: Oid, prefix: &mut Vec<u8>, depth: usize) -> Result<CacheTree> {
        if depth > MAX_DEPTH {
            return Err(unsupported("directories nest too deep to unfold"));
        }
        let naming = || format!("sparse directory '{}'", path::display(prefix));
        let bytes = self.trees.tree(id).context(naming)?;
        let first = self.entries.len();
        let mut node = CacheTree::default();
        let mut rest = Cursor::new(&bytes);
        while !rest.is_empty() {
            let (mode, name, id) = tree_entry(&mut rest, id.format())
                .ok_or_else(|| corrupt(format!("tree {id} cannot be read")))?;
            let len = prefix.len();
            prefix.extend_from_slice(name);
            if mode & TYPE_MASK == MODE_DIRECTORY {
                prefix.push(b'/');
                *node.child_mut(name) = self.tree(id, prefix, depth + 1)?;
            } else {
                self.push(prefix, mode, id)?;
            }
            prefix.truncate(len);
        }
        let entries = u32::try_from(self.entries.len() - first).unwrap_or(u32::MAX);
        node.valid = Some(Valid { entries, oid: id });
        Ok(node)
    }

    fn push(&mut self, path: &[u8], mode: u32, id: Oid) -> Result<()> {
        if self.entries.len() >= MAX_ENTRIES {
            return Err(unsupported("the sparse index unfolds to too many entries"));
        }
        let mut entry = Entry::new(canonical(mode), id);
        entry.span = self.paths.add(path)?;
        entry.flags = Flags::SKIP_WORKTREE;
        self.entries.push(entry);
        Ok(())
    }
}

/// One entry of a tree object: mode, name, id.
fn tree_entry<'a>(rest: &mut Cursor<'a>, format: ObjectFormat) -> Option<(u32, &'a [u8], Oid)> {
    let mode = std::str::from_utf8(rest.until(b' ')?).ok()?;
    let mode = u32::from_str_radix(mode, 8).ok()?;
    let name = rest.until_nul()?;
    let id = rest.id(format)?;
    (!name.is_empty() && !name.contains(&b'/')).then_some((mode, name, id))
}

/// The mode as git's `create_ce_mode` makes it: trees of old hold others, such as 100664.
fn canonical(mode: u32) -> u32 {
    match mode & TYPE_MASK {
        0o120_000 => 0o120_000,
        0o160_000 => 0o160_000,
        _ if mode & 0o100 != 0 => 0o100_755,
        _ => 0o100_644,
    }
}

/// Gives each valid directory beneath `dir` the number of entries that it covers once unfolded: `places` says where the
/// successors of each entry of `folded` begin. One that does not cover what it says is forgotten.
fn recount(node: &mut CacheTree, dir: &mut Vec<u8>, folded: &Index, places: &[usize]) {
    node.valid = node.valid.and_then(|valid| {
        let range = folded.within(dir);
        let count = places.get(range.end)? - places.get(range.start)?;
        let entries = u32::try_from(count).ok()?;
        (range.len() == valid.entries as usize).then_some(Valid { entries, ..valid })
    });
    let len = dir.len();
    for (name, child) in node.children_mut() {
        if len > 0 {
            dir.push(b'/');
        }
        dir.extend_from_slice(name);
        recount(child, dir, folded, places);
        dir.truncate(len);
    }
}
