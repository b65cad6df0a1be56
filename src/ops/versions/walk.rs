//! From the trees of states in a row to the versions of each path.
//!
//! Two states are compared from the root down, and equal subtrees are passed over, so that the work is that of what changed. Long
//! rows are cut into parts, for all cores; each part but the first begins by comparing with the last state of the one before.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use super::ChainPlace;
use crate::error::Result;
use crate::git::objects::ObjectStore;
use crate::git::path::{self, RepoPath};
use crate::git::threads;
use crate::git::tree::{self, Entry, GITLINK_MODE, Node, tree_order};
use crate::git::{ObjectFormat, Oid};

/// This many states are worth a thread, whose first one may be a whole tree.
const PART: usize = 64;
/// No path that git can make is longer.
const LONGEST: usize = 65_536;

/// A content of a path, in some states of a chain that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The chain.
    pub chain: usize,
    /// The first state that has it, by its place in the chain.
    pub from: usize,
    /// The last one.
    pub to: usize,
    /// Mode and blob.
    pub node: Node,
}

impl Version {
    /// The place of the first state that has it.
    pub fn first(&self) -> ChainPlace {
        ChainPlace::new(self.chain, self.from)
    }

    /// The place of the last one.
    pub fn last(&self) -> ChainPlace {
        ChainPlace::new(self.chain, self.to)
    }
}

/// A path with all that it has had.
#[derive(Debug)]
pub struct PathVersions {
    /// The path.
    pub path: RepoPath,
    /// By chain, then oldest first; those of a chain do not overlap.
    pub versions: Vec<Version>,
}

/// An object that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its id.
    pub oid: Oid,
    /// Why.
    pub reason: String,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walked {
    /// Sorted by path.
    pub paths: Vec<PathVersions>,
    /// Trees that could not be read: what is in them was passed over.
    pub unreadable: Vec<Unreadable>,
}

/// Which paths are looked at.
pub trait Among: Sync {
    /// Whether a file is.
    fn takes(&self, path: &[u8]) -> bool;
    /// Whether one beneath this directory may be.
    fn enters(&self, dir: &[u8]) -> bool;
}

/// Walks the trees of chains, oldest first. Submodules have no content here and are left out.
pub fn walk(objects: &ObjectStore, chains: &[Vec<Oid>], among: &dyn Among) -> Walked {
    let mut parts = Vec::new();
    for (chain, trees) in chains.iter().enumerate() {
        let length = trees.len().div_ceil(threads::count() * 4).max(PART);
        let starts = (0..trees.len()).step_by(length);
        parts.extend(starts.map(|start| (chain, start..(start + length).min(trees.len()))));
    }
    // What changed differs from part to part: a thread takes the next when it is done with one.
    let order: Vec<usize> = (0..parts.len()).collect();
    let amount = parts.len() * PART;
    let (walked, _) = threads::gather(&order, amount, |nth, walked: &mut Vec<_>| {
        let (chain, range) = &parts[*nth];
        walked.push((*nth, Part::new(objects, among).walk(&chains[*chain], range)));
        Ok::<(), ()>(())
    });
    let mut walked: Vec<_> = walked.into_iter().flatten().collect();
    walked.sort_by_key(|(nth, _)| *nth);
    let mut found = VersionsSoFar::default();
    let mut unreadable = BTreeMap::new();
    for ((chain, range), (_, part)) in parts.iter().zip(walked) {
        for change in part.changes {
            found.take(*chain, change);
        }
        if range.end == chains[*chain].len() {
            found.close(*chain, range.end);
        }
        unreadable.extend(part.unreadable);
    }
    let unreadable = unreadable.into_iter();
    Walked {
        paths: found.sorted(),
        unreadable: unreadable
            .map(|(oid, reason)| Unreadable { oid, reason })
            .collect(),
    }
}

/// What became of some states in a row.
struct Gathered {
    changes: Vec<Change>,
    unreadable: BTreeMap<Oid, String>,
}

/// What a path became in a state.
struct Change {
    at: usize,
    path: Vec<u8>,
    node: Option<Node>,
}

/// Some states in a row.
struct Part<'a> {
    objects: &'a ObjectStore,
    among: &'a dyn Among,
    changes: Vec<Change>,
    unreadable: BTreeMap<Oid, String>,
    /// The trees read for this comparison, and for the last one: its new side is this one's old side.
    read: HashMap<Oid, Rc<Tree>>,
    before: HashMap<Oid, Rc<Tree>>,
}

/// A tree, parsed once.
#[derive(Default)]
struct Tree {
    bytes: Vec<u8>,
    /// Where each entry's name is, and what it is.
    entries: Vec<(Range<usize>, Node)>,
}

impl Tree {
    fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Result<Self> {
        let start = bytes.as_ptr().addr();
        let place = |entry: &Entry<'_>| {
            let at = entry.name.as_ptr().addr() - start;
            (at..at + entry.name.len(), entry.node)
        };
        let entries = tree::parse(&bytes, format)?.iter().map(place).collect();
        Ok(Self { bytes, entries })
    }

    fn entry(&self, nth: usize) -> Option<(&[u8], Node)> {
        let (name, node) = self.entries.get(nth)?;
        Some((self.bytes.get(name.clone())?, *node))
    }
}

impl<'a> Part<'a> {
    fn new(objects: &'a ObjectStore, among: &'a dyn Among) -> Self {
        Self {
            objects,
            among,
            changes: Vec::new(),
            unreadable: BTreeMap::new(),
            read: HashMap::new(),
            before: HashMap::new(),
        }
    }

    fn walk(mut self, trees: &[Oid], range: &Range<usize>) -> Gathered {
        let mut old = range.start.checked_sub(1).map(|before| trees[before]);
        for at in range.clone() {
            self.step(at, old, trees[at]);
            old = Some(trees[at]);
        }
        Gathered {
            changes: self.changes,
            unreadable: self.unreadable,
        }
    }

    fn step(&mut self, at: usize, old: Option<Oid>, new: Oid) {
        if old == Some(new) {
            return;
        }
        self.before = std::mem::take(&mut self.read);
        // A list and not recursion: how deep a tree nests must not depend on the stack.
        let mut pending = vec![(Vec::new(), old, Some(new))];
        while let Some((dir, old, new)) = pending.pop() {
            let (old, new) = (self.tree(old), self.tree(new));
            for (name, old, new) in Pairs::new(&old, &new) {
                if old == new {
                    continue;
                }
                let path = path::join(&dir, name);
                if old.or(new).is_some_and(Node::is_dir) {
                    if path.len() <= LONGEST && self.among.enters(&path) {
                        pending.push((path, old.map(|node| node.oid), new.map(|node| node.oid)));
                    }
                } else {
                    let node = new.filter(|node| node.mode != GITLINK_MODE);
                    if self.among.takes(&path) {
                        self.changes.push(Change { at, path, node });
                    }
                }
            }
        }
    }

    /// A tree; one that cannot be read counts as empty, and is noted.
    fn tree(&mut self, oid: Option<Oid>) -> Rc<Tree> {
        let Some(oid) = oid else { return Rc::default() };
        if let Some(tree) = self.read.get(&oid) {
            return Rc::clone(tree);
        }
        let read = |oid: Oid| Tree::parse(self.objects.read_tree(oid)?, oid.format());
        let tree = match self.before.remove(&oid) {
            Some(tree) => tree,
            None => match read(oid) {
                Ok(tree) => Rc::new(tree),
                Err(error) => {
                    self.unreadable.insert(oid, error.message().to_owned());
                    Rc::default()
                }
            },
        };
        self.read.insert(oid, Rc::clone(&tree));
        tree
    }
}

/// The entries of two trees by name, a file and a directory of one name apart: as git orders them, so that both are in order.
struct Pairs<'a> {
    old: (&'a Tree, usize),
    new: (&'a Tree, usize),
}

impl<'a> Pairs<'a> {
    fn new(old: &'a Tree, new: &'a Tree) -> Self {
        Self {
            old: (old, 0),
            new: (new, 0),
        }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], Option<Node>, Option<Node>);

    fn next(&mut self) -> Option<Self::Item> {
        let (old, new) = (self.old.0.entry(self.old.1), self.new.0.entry(self.new.1));
        let order = match (old, new) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, old)), Some((other, new))) => {
                tree_order((one, old.is_dir()), (other, new.is_dir()))
            }
        };
        let old = old.filter(|_| order.is_le());
        let new = new.filter(|_| order.is_ge());
        self.old.1 += usize::from(old.is_some());
        self.new.1 += usize::from(new.is_some());
        let (name, _) = old.or(new)?;
        Some((name, old.map(|(_, node)| node), new.map(|(_, node)| node)))
    }
}

/// The versions so far.
#[derive(Default)]
struct VersionsSoFar {
    paths: HashMap<Vec<u8>, Vec<Version>>,
}

/// The end of a version that may go on.
const OPEN: usize = usize::MAX;

impl VersionsSoFar {
    fn take(&mut self, chain: usize, Change { at, path, node }: Change) {
        let versions = self.paths.entry(path).or_default();
        if let Some(last) = versions.last_mut().filter(|last| last.to == OPEN) {
            // The mode alone: the content goes on.
            if let Some(node) = node.filter(|node| node.oid == last.node.oid) {
                last.node = node;
                return;
            }
            last.to = at - 1;
        }
        versions.extend(node.map(|node| Version {
            chain,
            from: at,
            to: OPEN,
            node,
        }));
    }

    /// A chain of this many states has ended.
    fn close(&mut self, chain: usize, length: usize) {
        for version in self.paths.values_mut().filter_map(|all| all.last_mut()) {
            if version.to == OPEN && version.chain == chain {
                version.to = length - 1;
            }
        }
    }

    fn sorted(self) -> Vec<PathVersions> {
        let paths = self.paths.into_iter();
        let mut paths: Vec<PathVersions> = paths
            .filter(|(_, versions)| !versions.is_empty())
            .map(|(path, versions)| PathVersions {
                path: RepoPath::new(path),
                versions,
            })
            .collect();
        paths.sort_by(|a, b| a.path.cmp(&b.path));
        paths
    }
}
