//! Trees of indexes that git would refuse or rarely make; the others are compared with git's.

use std::collections::HashMap;

use sha1::{Digest, Sha1};

use super::*;

/// Keeps what is put, under ids as git gives them.
#[derive(Default)]
struct Memory {
    trees: HashMap<Oid, Vec<u8>>,
    has: bool,
}

impl TreeSink for Memory {
    fn has(&mut self, _: Oid) -> bool {
        self.has
    }

    fn put(&mut self, content: &[u8]) -> Result<Oid> {
        let mut hash = Sha1::new();
        hash.update(format!("tree {}\0", content.len()));
        hash.update(content);
        let id = Oid::from_bytes(&hash.finalize())?;
        self.trees.insert(id, content.to_vec());
        Ok(id)
    }
}

fn index(paths: &[(&str, u8, Flags)]) -> Index {
    let mut builder = Builder::new(ObjectFormat::Sha1);
    for &(path, stage, flags) in paths {
        let entry = Entry {
            stage,
            flags,
            ..Entry::new(0o100_644, Oid::from(&[7; 20]))
        };
        builder.push(path.as_bytes(), entry).expect("small");
    }
    builder.finish()
}

/// Every file in the tree of `index`.
fn files(index: &Index, head: &[&str]) -> Result<Vec<String>> {
    let mut memory = Memory::default();
    let unmerged = |path: &[u8]| {
        let known = head.iter().any(|head| head.as_bytes() == path);
        Ok(known.then(|| (0o100_644, Oid::from(&[5; 20]))))
    };
    let root = build_tree(index, &unmerged, &mut memory)?;
    let mut list = Vec::new();
    walk(&memory, root, "", &mut list);
    Ok(list)
}

fn walk(memory: &Memory, id: Oid, prefix: &str, list: &mut Vec<String>) {
    let mut rest = &memory.trees[&id][..];
    while let Some(space) = rest.iter().position(|&byte| byte == b' ') {
        let nul = rest.iter().position(|&byte| byte == 0).expect("a name");
        let name = String::from_utf8_lossy(&rest[space + 1..nul]);
        let path = format!("{prefix}{name}");
        let id = Oid::from_bytes(&rest[nul + 1..nul + 21]).expect("20 bytes");
        if rest.starts_with(b"40000 ") {
            walk(memory, id, &format!("{path}/"), list);
        } else {
            list.push(path);
        }
        rest = &rest[nul + 21..];
    }
}

const NONE: Flags = Flags::empty();

#[test]
fn an_empty_index_is_the_empty_tree() {
    let mut memory = Memory::default();
    let root =
        build_tree(&Index::new(ObjectFormat::Sha1), &|_| Ok(None), &mut memory).expect("builds");
    assert_eq!(root.to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

#[test]
fn directories_of_nothing_but_intentions_vanish() {
    let index = index(&[("a/b/new", 0, Flags::INTENT_TO_ADD), ("a-", 0, NONE)]);
    assert_eq!(files(&index, &[]).expect("builds"), ["a-"]);
}

#[test]
fn unmerged_paths_become_what_the_caller_says() {
    let index = index(&[
        ("a", 1, NONE),
        ("a", 2, NONE),
        ("b", 3, NONE),
        ("c", 0, NONE),
    ]);
    assert_eq!(files(&index, &["a"]).expect("builds"), ["a", "c"]);
}

#[test]
fn what_is_staged_wins_over_an_unmerged_path_in_its_way() {
    let folder = index(&[("d", 2, NONE), ("d-x", 0, NONE), ("d/f", 0, NONE)]);
    assert_eq!(files(&folder, &["d"]).expect("builds"), ["d-x", "d/f"]);
    let file = index(&[("d", 0, NONE), ("d/e/f", 2, NONE)]);
    assert_eq!(files(&file, &["d/e/f"]).expect("builds"), ["d"]);
    let intended = index(&[("d", 2, NONE), ("d/f", 0, Flags::INTENT_TO_ADD)]);
    assert_eq!(files(&intended, &["d"]).expect("builds"), ["d"]);
}

#[test]
fn paths_that_no_tree_can_hold_are_refused() {
    for paths in [&["d", "d-x", "d/f"][..], &["/a"], &["a//b"], &["a/"]] {
        let list: Vec<_> = paths.iter().map(|&path| (path, 0, NONE)).collect();
        let error = files(&index(&list), &[]).expect_err("no tree");
        assert_eq!(error.code(), Code::CorruptRecord, "{paths:?}");
    }
}

/// The trees that are put for an index, and whether one of them has another one that was not.
fn put(index: &Index, has: bool) -> (usize, bool) {
    let mut memory = Memory {
        has,
        ..Memory::default()
    };
    let root = build_tree(index, &|_| Ok(None), &mut memory).expect("builds");
    let Some(root) = memory.trees.get(&root) else {
        return (memory.trees.len(), true);
    };
    let relies = memory.trees.len() == 1 && root.windows(6).any(|part| part == b"40000 ");
    (memory.trees.len(), relies)
}

/// The tree of the directory `d` of an index.
fn tree_of_d(index: &Index) -> Oid {
    let mut memory = Memory::default();
    let root = build_tree(index, &|_| Ok(None), &mut memory).expect("builds");
    let at = memory.trees[&root]
        .windows(8)
        .position(|part| part == b"40000 d\0");
    let id = at.expect("a directory") + 8;
    Oid::from_bytes(&memory.trees[&root][id..id + 20]).expect("20 bytes")
}

fn with_tree_of_d(mut index: Index, entries: u32, tree: Oid) -> Index {
    let root = index.cache_tree.insert(CacheTree::default());
    *root.child_mut(b"d") = CacheTree::of(entries, tree);
    index
}

#[test]
fn known_trees_are_neither_put_nor_trusted_where_they_cannot_hold() {
    let plain = || index(&[("d/a", 0, NONE), ("d/b", 0, NONE), ("e", 0, NONE)]);
    let true_tree = tree_of_d(&plain());
    let proven = |index: Index, entries| {
        let mut index = with_tree_of_d(index, entries, true_tree);
        index.prove_trees();
        index
    };
    assert_eq!(put(&proven(plain(), 2), true), (1, true));
    assert_eq!(put(&proven(plain(), 2), false), (2, false), "missing tree");
    let unproven = with_tree_of_d(plain(), 2, true_tree);
    assert_eq!(put(&unproven, true), (2, false), "nobody proved it");
    for (entries, why) in [(1, "covers too little"), (3, "covers too much")] {
        assert_eq!(put(&proven(plain(), entries), true), (2, false), "{why}");
    }
    let intent = index(&[("d/a", 0, Flags::INTENT_TO_ADD), ("d/b", 0, NONE)]);
    let index = proven(intent, 1);
    assert_eq!(put(&index, true), (2, false), "not from the start");
    let intent = self::index(&[("d/a", 0, NONE), ("d/b", 0, Flags::INTENT_TO_ADD)]);
    let index = proven(intent, 2);
    assert_eq!(put(&index, true), (2, false), "an intention within");
}

/// Of what lies in a known directory nothing behind it is taken for a part.
#[test]
fn a_known_tree_of_which_something_is_left_out_is_built() {
    let plain = index(&[("d/a", 0, NONE), ("d/b", 0, NONE), ("e/f", 0, NONE)]);
    let tree = tree_of_d(&plain);
    for left_out in 0..2 {
        let mut index = with_tree_of_d(plain.clone(), 2, tree);
        index.prove_trees();
        let mut memory = Memory {
            has: true,
            ..Memory::default()
        };
        let root = build_tree_without(&index, &[left_out], &|_| Ok(None), &mut memory);
        let mut list = Vec::new();
        walk(&memory, root.expect("builds"), "", &mut list);
        let kept = if left_out == 0 { "d/b" } else { "d/a" };
        assert_eq!(list, [kept, "e/f"]);
    }
}

/// As 'git replace' leaves them: the id of another tree.
#[test]
fn a_known_tree_that_is_another_one_than_its_entries_make_is_forgotten() {
    let plain = || index(&[("d/a", 0, NONE), ("d/b", 0, NONE), ("d/in/f", 0, NONE)]);
    let others = index(&[("d/a", 0, NONE), ("d/c", 0, NONE), ("d/in/f", 0, NONE)]);
    let mut index = with_tree_of_d(plain(), 3, tree_of_d(&others));
    let root = index.cache_tree.as_mut().expect("made");
    let inner = tree_of_d(&plain_in());
    *root.child_mut(b"d").child_mut(b"in") = CacheTree::of(1, inner);
    // One that no entry is beneath is of nobody.
    *root.child_mut(b"d").child_mut(b"i") = CacheTree::of(1, inner);
    index.prove_trees();
    let trees = index.true_trees().expect("proven");
    let d = trees.child(b"d").expect("known");
    assert_eq!(d.valid, None);
    assert_eq!(
        d.child(b"in")
            .and_then(|inner| inner.valid)
            .map(|valid| valid.oid),
        Some(inner)
    );
    assert_eq!(d.child(b"i"), None);

    let mut index = with_tree_of_d(plain(), 3, tree_of_d(&plain()));
    let root = index.cache_tree.as_mut().expect("made");
    *root.child_mut(b"d").child_mut(b"in") = CacheTree::of(1, inner);
    let kept = index.cache_tree.clone();
    index.prove_trees();
    assert_eq!(index.cache_tree, kept);
}

/// The directory `in` of the above, by the name `d`.
fn plain_in() -> Index {
    index(&[("d/f", 0, NONE)])
}

#[test]
fn a_path_of_endless_directories_needs_no_stack() {
    let path = "d/".repeat(20_000) + "f";
    let index = index(&[(&path, 0, NONE)]);
    let mut memory = Memory::default();
    build_tree(&index, &|_| Ok(None), &mut memory).expect("builds");
    assert_eq!(memory.trees.len(), 20_001);
}
