//! Many paths looked up in a few trees: each tree is read once, however many names in it are asked for.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::{Node, ReadTree, parse, walk};
use crate::error::Result;
use crate::git::Oid;

/// What the names of one tree stand for.
type Names = Rc<HashMap<Vec<u8>, Node>>;

/// Reads trees, and knows what it looked at.
pub struct Lookup<'a> {
    trees: &'a dyn ReadTree,
    known: RefCell<HashMap<Oid, Names>>,
    /// How many names that is.
    names: Cell<usize>,
}

/// So many names are known at once: of a long history all would be too many.
const MOST: usize = 1 << 20;

impl<'a> Lookup<'a> {
    /// One that knows nothing yet.
    pub fn new(trees: &'a dyn ReadTree) -> Self {
        Self {
            trees,
            known: RefCell::default(),
            names: Cell::default(),
        }
    }

    /// What stands at a path in a tree: as [`super::find`].
    ///
    /// # Errors
    /// A tree is missing, torn or none.
    pub fn find(&self, root: Oid, wanted: &[u8]) -> Result<Option<Node>> {
        walk(root, wanted, |tree, name| {
            Ok(self.names(tree)?.get(name).copied())
        })
    }

    /// The same, where a directory is nothing.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn file(&self, root: Oid, wanted: &[u8]) -> Result<Option<Node>> {
        let found = self.find(root, wanted)?;
        Ok(found.filter(|node| !node.is_dir()))
    }

    fn names(&self, tree: Oid) -> Result<Names> {
        if let Some(known) = self.known.borrow().get(&tree) {
            return Ok(Rc::clone(known));
        }
        let bytes = self.trees.read_tree(tree)?;
        let entries = parse(&bytes, tree.format())?.into_iter();
        let names = entries.map(|entry| (entry.name.to_vec(), entry.node));
        let names = Names::new(names.collect());
        let mut known = self.known.borrow_mut();
        if self.names.get() > MOST {
            known.clear();
            self.names.set(0);
        }
        self.names.set(self.names.get() + names.len());
        known.insert(tree, Rc::clone(&names));
        Ok(names)
    }
}

impl ReadTree for Lookup<'_> {
    fn read_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        self.trees.read_tree(oid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tree::{DIR_MODE, Entry, encode};

    #[test]
    fn a_tree_is_read_once_and_what_is_found_is_as_always() {
        let oid = |byte: u8| Oid::from_bytes(&[byte; 20]).expect("20 bytes");
        let file = Node {
            mode: 0o100_644,
            oid: oid(9),
        };
        let dir = Node {
            mode: DIR_MODE,
            oid: oid(2),
        };
        let tree = |names: &[(&[u8], Node)]| {
            let entries = names.iter().map(|(name, node)| Entry { name, node: *node });
            encode(&mut entries.collect::<Vec<_>>())
        };
        let trees = HashMap::from([
            (oid(1), tree(&[(b"a", file), (b"d", dir)])),
            (oid(2), tree(&[(b"b", file), (b"c", file)])),
        ]);
        let reads = Cell::new(0);
        let read = |oid: Oid| {
            reads.set(reads.get() + 1);
            Ok(trees[&oid].clone())
        };
        let lookup = Lookup::new(&read);
        for (path, found, is_file) in [
            ("a", Some(file), true),
            ("d", Some(dir), false),
            ("d/b", Some(file), true),
            ("d/c", Some(file), true),
            ("d/none", None, false),
            ("a/b", None, false),
            ("none", None, false),
        ] {
            let at = path.as_bytes();
            assert_eq!(lookup.find(oid(1), at).expect("readable"), found, "{path}");
            let as_file = lookup.file(oid(1), at).expect("readable");
            assert_eq!(as_file.is_some(), is_file, "{path}");
        }
        assert_eq!(reads.get(), 2);
    }
}
