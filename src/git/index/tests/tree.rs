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

#[test]
fn known_trees_are_neither_put_nor_trusted_where_they_cannot_hold() {
    let known = Oid::from(&[9; 20]);
    let put = |index: &Index, has: bool| {
        let mut memory = Memory {
            has,
            ..Memory::default()
        };
        build_tree(index, &|_| Ok(None), &mut memory).expect("builds");
        let uses = |tree: &Vec<u8>| tree.windows(20).any(|id| id == known.as_bytes());
        (memory.trees.len(), memory.trees.values().any(uses))
    };
    let with = |mut index: Index, entries| {
        let root = index.cache_tree.insert(CacheTree::default());
        *root.child_mut(b"d") = CacheTree::of(entries, known);
        index
    };
    let plain = || index(&[("d/a", 0, NONE), ("d/b", 0, NONE), ("e", 0, NONE)]);
    assert_eq!(put(&with(plain(), 2), true), (1, true));
    assert_eq!(put(&with(plain(), 2), false), (2, false), "missing tree");
    assert_eq!(
        put(&with(plain(), 1), true),
        (2, false),
        "covers too little"
    );
    assert_eq!(put(&with(plain(), 3), true), (2, false), "covers too much");
    let intent = index(&[("d/a", 0, Flags::INTENT_TO_ADD), ("d/b", 0, NONE)]);
    assert_eq!(
        put(&with(intent, 1), true),
        (2, false),
        "not from the start"
    );
    let intent = index(&[("d/a", 0, NONE), ("d/b", 0, Flags::INTENT_TO_ADD)]);
    assert_eq!(
        put(&with(intent, 2), true),
        (2, false),
        "an intention within"
    );
}

#[test]
fn a_path_of_endless_directories_needs_no_stack() {
    let path = "d/".repeat(20_000) + "f";
    let index = index(&[(&path, 0, NONE)]);
    let mut memory = Memory::default();
    build_tree(&index, &|_| Ok(None), &mut memory).expect("builds");
    assert_eq!(memory.trees.len(), 20_001);
}
