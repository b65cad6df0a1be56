//! Making an index from entries in any order, or changing one that was read.

use super::{Entry, Index, split};
use crate::error::Result;
use crate::git::ObjectFormat;

/// An index under construction, whose entries need no order yet.
#[derive(Debug)]
pub struct Builder {
    index: Index,
}

impl Builder {
    /// Starts with nothing, for a repository of this format.
    pub fn new(format: ObjectFormat) -> Self {
        Self {
            index: Index::new(format),
        }
    }

    /// Starts with what `index` holds.
    pub fn edit(index: Index) -> Self {
        Self { index }
    }

    /// Makes room for `count` more entries.
    pub fn reserve(&mut self, count: usize) {
        self.index.entries.reserve(count);
    }

    /// Adds `entry` as `path`. One of the same path and stage that was there before gives way.
    ///
    /// # Errors
    /// When all paths together pass 4 GiB.
    pub fn push(&mut self, path: &[u8], mut entry: Entry) -> Result<()> {
        entry.span = self.index.paths.add(path)?;
        self.index.entries.push(entry);
        if let Some(tree) = &mut self.index.cache_tree {
            tree.invalidate(path);
        }
        Ok(())
    }

    /// Drops the entries that `keep` refuses.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &Entry) -> bool) {
        let Index {
            entries,
            paths,
            cache_tree,
            ..
        } = &mut self.index;
        entries.retain(|entry| {
            let path = paths.get(entry.span);
            let kept = keep(path, entry);
            if !kept && let Some(tree) = cache_tree {
                tree.invalidate(path);
            }
            kept
        });
    }

    /// Sets the raw `REUC` payload.
    pub fn set_resolve_undo(&mut self, payload: Option<Vec<u8>>) {
        self.index.resolve_undo = payload;
    }

    /// Sets the cache tree, after the last change of entries. It must tell the truth: git writes commits from it.
    #[cfg(test)]
    pub fn set_cache_tree(&mut self, tree: Option<super::CacheTree>) {
        self.index.cache_tree = tree;
    }

    /// Sorts, and gives the index.
    pub fn finish(mut self) -> Index {
        split::sort(&mut self.index.entries, &self.index.paths);
        self.index
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CacheTree, Oid};
    use super::*;

    fn entry(byte: u8, stage: u8) -> Entry {
        Entry {
            stage,
            ..Entry::new(0o100_644, Oid::from(&[byte; 20]))
        }
    }

    #[test]
    fn entries_in_any_order_end_up_sorted_and_the_last_of_a_key_stays() {
        let mut builder = Builder::new(ObjectFormat::Sha1);
        for (path, byte, stage) in [
            ("b", 1, 3),
            ("a/x", 2, 0),
            ("b", 3, 1),
            ("a-x", 4, 0),
            ("a/x", 5, 0),
            ("a/x", 6, 0),
        ] {
            builder
                .push(path.as_bytes(), entry(byte, stage))
                .expect("small");
        }
        let index = builder.finish();
        let seen: Vec<_> = index
            .iter()
            .map(|(path, entry)| (path, entry.oid.as_bytes()[0], entry.stage))
            .collect();
        let wanted: [(&[u8], u8, u8); 4] =
            [(b"a-x", 4, 0), (b"a/x", 6, 0), (b"b", 3, 1), (b"b", 1, 3)];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn lookups_find_what_is_there_and_nothing_else() {
        let mut builder = Builder::new(ObjectFormat::Sha1);
        for (path, stage) in [
            ("a", 0),
            ("d-x", 0),
            ("d/a", 2),
            ("d/a", 3),
            ("d/b", 0),
            ("d0", 0),
        ] {
            builder
                .push(path.as_bytes(), entry(1, stage))
                .expect("small");
        }
        let index = builder.finish();
        assert_eq!(index.get(b"d/a", 3).map(|entry| entry.stage), Some(3));
        assert!(index.get(b"d/a", 0).is_none());
        assert!(index.has_path(b"d/a"));
        assert!(!index.has_path(b"d"));
        assert_eq!(index.position(b"d", 0), Err(1));
        assert_eq!(index.stages(b"d/a").len(), 2);
        assert_eq!(index.stages(b"x").len(), 0);
        assert_eq!(index.within(b"d"), 2..5);
        assert_eq!(index.within(b""), 0..6);
        assert_eq!(index.within(b"e"), 6..6);
    }

    #[test]
    fn changes_invalidate_the_cache_tree_above_them() {
        let mut builder = Builder::new(ObjectFormat::Sha1);
        builder.push(b"d/a", entry(1, 0)).expect("small");
        let mut tree = CacheTree::of(1, Oid::from(&[9; 20]));
        *tree.child_mut(b"d") = CacheTree::of(1, Oid::from(&[8; 20]));
        builder.set_cache_tree(Some(tree));
        builder.retain(|path, _| path != b"d/a");
        let index = builder.finish();
        assert!(index.is_empty());
        let tree = index.cache_tree.expect("kept");
        assert_eq!(tree.valid, None);
        assert_eq!(tree.child(b"d").expect("kept").valid, None);
    }
}
