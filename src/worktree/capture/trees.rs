//! From changed directories to trees: taken from git's cache tree where that has them, else made, the deepest first.

use std::collections::HashMap;

use super::Sink;
use crate::error::Result;
use crate::git::objects::ObjectKind;
use crate::git::{Oid, path, threads, tree};
use crate::worktree::manifest::{DirFlags, FileFlags, Manifest, no_oid};

/// Called with the bytes of each tree made.
pub type SeeTree<'a> = &'a mut dyn FnMut(Oid, Vec<u8>);

/// Marks a directory and all above it as changed: their trees are made anew.
pub(super) fn set_dirty(manifest: &mut Manifest, mut at: usize) {
    while let Some(dir) = manifest.dirs.get_mut(at) {
        dir.flags |= DirFlags::DIRTY;
        if at == 0 {
            return;
        }
        at = dir.parent as usize;
    }
}

/// What git's cache tree knows of a directory: the number of entries beneath it and its tree, if that is valid.
pub trait KnownTrees: Copy {
    /// The tree, and how many entries of the index lie beneath.
    fn tree(self) -> Option<(Oid, usize)>;
    /// What it knows of a directory in this one.
    fn child(self, name: &[u8]) -> Option<Self>;
}

/// Takes the trees of dirty directories from git's cache tree, as far as they hold what the index has and nothing else:
/// there every captured name has its entry's id and mode, and there are as many as entries. `has`: the tree exists.
pub fn take_known_trees(
    manifest: &mut Manifest,
    root: Option<impl KnownTrees>,
    has: &dyn Fn(Oid) -> bool,
) {
    let mut counts: Vec<(usize, usize)> = Vec::with_capacity(manifest.dirs.len());
    for dir in &manifest.dirs {
        let captured = manifest.files_of(dir).iter();
        let captured = captured.filter(|file| file.kind.in_tree());
        counts.push(captured.fold((0, 0), |(all, seeded), file| {
            (
                all + 1,
                seeded + usize::from(file.flags.has(FileFlags::SEEDED)),
            )
        }));
    }
    // Backwards, so that a directory is counted whole before it is added to the one above.
    for at in (1..manifest.dirs.len()).rev() {
        let parent = manifest.dirs[at].parent as usize;
        counts[parent].0 += counts[at].0;
        counts[parent].1 += counts[at].1;
    }
    let mut nodes = Vec::with_capacity(manifest.dirs.len());
    for (at, (all, seeded)) in counts.into_iter().enumerate() {
        let dir = &manifest.dirs[at];
        let node = match at {
            0 => root,
            _ => nodes
                .get(dir.parent as usize)
                .copied()
                .flatten()
                .and_then(|above| KnownTrees::child(above, path::split(manifest.dir_path(dir)).1)),
        };
        nodes.push(node);
        let known = node.and_then(KnownTrees::tree);
        if dir.flags.has(DirFlags::DIRTY)
            && let Some((tree, entries)) = known
            // git's count is of entries of the index: where as many names were captured and all are seeded, both have the same.
            && entries > 0
            && all == entries
            && seeded == entries
            && has(tree)
        {
            let dir = &mut manifest.dirs[at];
            dir.tree = tree;
            dir.flags = dir.flags.without(DirFlags::DIRTY);
        }
    }
    for at in manifest.dirs_in_memory() {
        for file in manifest.files_mut(at) {
            // It holds for this index alone; the next full scan asks the index of its time.
            file.flags = file.flags.without(FileFlags::SEEDED);
        }
    }
}

/// From this many directories of one depth on their trees are made by several threads.
const FEW_TREES: usize = 16;

/// Makes the trees of dirty directories, the deepest first, and answers the root's. Directories without captured files have
/// none.
pub fn build_trees(manifest: &mut Manifest, sink: &dyn Sink, see: SeeTree<'_>) -> Result<Oid> {
    let mut depths: Vec<usize> = Vec::with_capacity(manifest.dirs.len());
    let mut levels: Vec<Vec<usize>> = Vec::new();
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, dir) in manifest.dirs.iter().enumerate() {
        let parent = dir.parent as usize;
        let depth = depths.get(parent).map_or(0, |above| above + 1);
        depths.push(depth);
        if dir.flags.has(DirFlags::DIRTY) {
            levels.resize(levels.len().max(depth + 1), Vec::new());
            levels[depth].push(at);
        }
        if at > 0 && manifest.dirs[parent].flags.has(DirFlags::DIRTY) {
            below.entry(parent).or_default().push(at);
        }
    }
    for level in levels.iter().rev() {
        // Directories of one depth need nothing of one another.
        let made = threads::map_from(FEW_TREES, level, |&at| {
            let children = below.get(&at).map_or(&[][..], Vec::as_slice);
            tree_of(manifest, at, children, sink)
        });
        for (&at, made) in level.iter().zip(made) {
            let dir = &mut manifest.dirs[at];
            dir.flags = dir.flags.without(DirFlags::DIRTY);
            dir.tree = match made? {
                Some((oid, bytes)) => {
                    see(oid, bytes);
                    oid
                }
                None => no_oid(),
            };
        }
    }
    let root = manifest.dirs.first().map_or_else(no_oid, |root| root.tree);
    if root != no_oid() {
        return Ok(root);
    }
    // Directories without files have no tree, but a commit must have one.
    let empty = sink.put(ObjectKind::Tree, b"")?;
    see(empty, Vec::new());
    if let Some(dir) = manifest.dirs.first_mut() {
        dir.tree = empty;
    }
    Ok(empty)
}

/// A directory's tree and its bytes; None when it would be empty. `children`: the directories in it, whose trees are made.
fn tree_of(
    manifest: &Manifest,
    at: usize,
    children: &[usize],
    sink: &dyn Sink,
) -> Result<Option<(Oid, Vec<u8>)>> {
    let dir = &manifest.dirs[at];
    let files = manifest
        .files_of(dir)
        .iter()
        .filter(|file| file.kind.in_tree())
        .map(|file| tree::Entry {
            name: manifest.bytes(file.name),
            node: tree::Node {
                mode: file.git_mode,
                oid: file.oid,
            },
        });
    let children = children.iter().map(|&child| &manifest.dirs[child]);
    let dirs = children
        .filter(|child| child.tree != no_oid())
        .map(|child| tree::Entry {
            name: path::split(manifest.dir_path(child)).1,
            node: tree::Node {
                mode: tree::DIR_MODE,
                oid: child.tree,
            },
        });
    let mut entries: Vec<_> = files.chain(dirs).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    let bytes = tree::encode(&mut entries);
    let oid = sink.put(ObjectKind::Tree, &bytes)?;
    Ok(Some((oid, bytes)))
}
