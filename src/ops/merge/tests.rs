//! Merges over trees in memory.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::*;
use crate::git::ObjectFormat;
use crate::git::objects::{ObjectKind, hash};
use crate::git::path::display;

/// Objects, and how often a merge read a tree.
#[derive(Default)]
struct Memory(RefCell<HashMap<Oid, Vec<u8>>>, Cell<usize>);

/// A path, with `*` before an executable, `@` before a symlink; and what is in it.
type File<'f> = (&'f str, &'f str);

impl Memory {
    fn put(&self, kind: ObjectKind, bytes: &[u8]) -> Result<Oid> {
        let oid = hash(ObjectFormat::Sha1, kind, bytes)?;
        self.0.borrow_mut().insert(oid, bytes.to_vec());
        Ok(oid)
    }

    fn get(&self, oid: Oid) -> Vec<u8> {
        self.0.borrow().get(&oid).cloned().expect("known")
    }

    fn tree(&self, files: &[File<'_>]) -> Oid {
        let edits: Vec<_> = files
            .iter()
            .map(|(name, text)| {
                let (mode, name) = match name.split_at(1) {
                    ("*", rest) => (0o100_755, rest),
                    ("@", rest) => (LINK_MODE, rest),
                    _ => (0o100_644, *name),
                };
                let oid = self.put(ObjectKind::Blob, text.as_bytes()).expect("put");
                (name.as_bytes().to_vec(), Some(Node { mode, oid }))
            })
            .collect();
        let read = |oid| Ok(self.get(oid));
        let mut put = |bytes: &[u8]| self.put(ObjectKind::Tree, bytes);
        tree::edit(&read, &mut put, None, &edits).expect("a tree")
    }

    fn merge(&self, base: &[File<'_>], ours: &[File<'_>], theirs: &[File<'_>]) -> Merged {
        let put = |bytes: &[u8]| self.put(ObjectKind::Blob, bytes);
        let read = |oid| {
            self.1.set(self.1.get() + 1);
            Ok(self.get(oid))
        };
        merge(&Input {
            base: self.tree(base),
            ours: self.tree(ours),
            theirs: self.tree(theirs),
            read_tree: &Lookup::new(&read),
            content: &|_, node| Ok(Some(self.get(node.oid))),
            put: &put,
            labels: Labels {
                base: "b",
                ours: "o",
                theirs: "t",
            },
            style: Style::Merge,
            beside: Beside::Conflicts,
            takes: &|_| true,
            is_known: &|_| true,
            follows: &|path| path == b"bits",
        })
        .expect("merged")
    }

    /// What paths become: `path=mode:text` or `path=-`.
    fn shown(&self, merged: &Merged) -> String {
        let one = |(path, node): (&Vec<u8>, &Option<Node>)| {
            let path = display(path);
            match node {
                None => format!("{path}=-"),
                Some(node) => {
                    let text = String::from_utf8(self.get(node.oid)).expect("text");
                    format!("{path}={:o}:{text}", node.mode & 0o170_777)
                }
            }
        };
        let all: Vec<String> = merged.paths.iter().map(one).collect();
        all.join(" ")
    }
}

fn conflicts(merged: &Merged) -> String {
    let one = |conflict: &Conflict| {
        let stages = conflict.stages.map(|node| u8::from(node.is_some()));
        format!(
            "{} {} {stages:?}",
            display(&conflict.path),
            conflict.reason.as_str()
        )
    };
    let all: Vec<String> = merged.conflicts.iter().map(one).collect();
    all.join("; ")
}

const LONG: &str = "1\n2\n3\n4\n5\n6\n7\n8\n";
const LONG_TOP: &str = "one\n2\n3\n4\n5\n6\n7\n8\n";
const LONG_END: &str = "1\n2\n3\n4\n5\n6\n7\neight\n";
const LONG_BOTH: &str = "one\n2\n3\n4\n5\n6\n7\neight\n";

#[test]
fn what_only_they_changed_is_taken_and_what_only_we_changed_stays() {
    let memory = Memory::default();
    let merged = memory.merge(
        &[("a", "1"), ("b", "1"), ("gone", "zzz"), ("same", "1")],
        &[
            ("a", "1"),
            ("b", "ours"),
            ("gone", "zzz"),
            ("same", "2"),
            ("own", "x"),
        ],
        &[("a", "theirs"), ("b", "1"), ("*new", "n"), ("same", "2")],
    );
    assert_eq!(memory.shown(&merged), "a=100644:theirs gone=- new=100755:n");
    assert!(merged.conflicts.is_empty() && merged.merged.is_empty());
}

#[test]
fn changes_of_one_file_come_together_with_its_mode() {
    let memory = Memory::default();
    let merged = memory.merge(&[("a", LONG)], &[("*a", LONG_TOP)], &[("a", LONG_END)]);
    assert_eq!(memory.shown(&merged), format!("a=100755:{LONG_BOTH}"));
    assert!(merged.conflicts.is_empty());
    assert_eq!(merged.merged.len(), 1);
    let merged = memory.merge(&[("a", "1\n")], &[("a", "2\n")], &[("*a", "1\n")]);
    assert_eq!(memory.shown(&merged), "a=100755:2\n");
}

#[test]
fn every_conflict_has_its_reason_its_stages_and_its_bytes() {
    let memory = Memory::default();
    let merged = memory.merge(
        &[
            ("both", "1\n"),
            ("here", "1"),
            ("there", "1"),
            ("@link", "a"),
            ("bin", "\0a"),
        ],
        &[
            ("both", "2\n"),
            ("there", "2"),
            ("@link", "b"),
            ("bin", "\0b"),
            ("add", "o\n"),
        ],
        &[
            ("both", "3\n"),
            ("here", "3"),
            ("@link", "c"),
            ("bin", "\0c"),
            ("add", "t\n"),
        ],
    );
    assert_eq!(
        conflicts(&merged),
        "add both-added [0, 1, 1]; bin binary [1, 1, 1]; both content [1, 1, 1]; here deleted-here [1, 0, 1]; \
         link kind [1, 1, 1]; there deleted-there [1, 1, 0]"
    );
    assert_eq!(
        memory.shown(&merged),
        "add=100644:<<<<<<< o\no\n=======\nt\n>>>>>>> t\n both=100644:<<<<<<< o\n2\n=======\n3\n>>>>>>> t\n \
         here=100644:3"
    );
}

#[test]
fn their_rename_carries_our_change_along() {
    let memory = Memory::default();
    let merged = memory.merge(&[("a", LONG)], &[("a", LONG_TOP)], &[("d/b", LONG_END)]);
    assert_eq!(memory.shown(&merged), format!("a=- d/b=100644:{LONG_BOTH}"));
    // Without a change of theirs beside the name.
    let merged = memory.merge(&[("a", LONG)], &[("a", LONG_TOP)], &[("b", LONG)]);
    assert_eq!(memory.shown(&merged), format!("a=- b=100644:{LONG_TOP}"));
    assert!(merged.conflicts.is_empty());
    // The new name is taken here.
    let merged = memory.merge(&[("a", LONG)], &[("a", LONG), ("b", "x\n")], &[("b", LONG)]);
    assert_eq!(conflicts(&merged), "b both-added [0, 1, 1]");
    assert!(memory.shown(&merged).starts_with("a=- b=100644:<<<<<<<"));
}

#[test]
fn names_of_ours_are_told_also_of_what_is_only_followed() {
    let memory = Memory::default();
    let merged = memory.merge(
        &[("a", LONG), ("b", LONG_TOP), ("bits", LONG), ("none", "n")],
        &[("a1", LONG), ("b1", LONG_TOP), ("bits1", LONG), ("n1", "n")],
        &[
            ("a", LONG_END),
            ("b2", LONG_TOP),
            ("bits", LONG),
            ("none", "n"),
        ],
    );
    let told = merged.followed.iter().map(|(ours, [base, theirs])| {
        let [ours, base, theirs] = [ours, base, theirs].map(|path| display(path));
        format!("{ours}={base},{theirs}")
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told.join(" "), "a1=a,a b1=b,b2 bits1=bits,bits");
}

#[test]
fn no_empty_file_became_another() {
    let memory = Memory::default();
    let empty = [("bits", ""), ("notes", "")];
    let merged = memory.merge(
        &empty,
        &[("x/1", ""), ("x/2", "")],
        &[("bits", ""), ("notes", "n")],
    );
    assert!(merged.followed.is_empty());
    assert_eq!(conflicts(&merged), "notes deleted-here [1, 0, 1]");
    let merged = memory.merge(
        &empty,
        &[("bits", ""), ("notes", "n")],
        &[("x/1", ""), ("x/2", "")],
    );
    assert_eq!(conflicts(&merged), "notes deleted-there [1, 1, 0]");
}

#[test]
fn of_equal_files_each_is_followed_to_its_own_name() {
    let memory = Memory::default();
    let merged = memory.merge(
        &[("flag", LONG), ("lib/cfg", LONG)],
        &[("pkg/cfg", LONG)],
        &[("flag", LONG_TOP), ("lib/cfg", LONG_END)],
    );
    assert_eq!(conflicts(&merged), "flag deleted-here [1, 0, 1]");
    assert_eq!(merged.followed[&b"pkg/cfg"[..]][0], b"lib/cfg");
}

#[test]
fn our_rename_takes_their_change_in() {
    let memory = Memory::default();
    let merged = memory.merge(&[("a", LONG)], &[("b", LONG_TOP)], &[("a", LONG_END)]);
    assert_eq!(memory.shown(&merged), format!("b=100644:{LONG_BOTH}"));
    // Renamed on both sides: alike, and not.
    let merged = memory.merge(&[("a", LONG)], &[("b", LONG_TOP)], &[("b", LONG_END)]);
    assert_eq!(memory.shown(&merged), format!("b=100644:{LONG_BOTH}"));
    let merged = memory.merge(&[("a", LONG)], &[("b", LONG_TOP)], &[("c", LONG_END)]);
    assert_eq!(memory.shown(&merged), format!("b=100644:{LONG_BOTH}"));
    // Gone and come, and nothing in common: no rename.
    let merged = memory.merge(&[("a", LONG)], &[("b", "other\n")], &[("a", LONG_END)]);
    assert_eq!(conflicts(&merged), "a deleted-here [1, 0, 1]");
}

#[test]
fn a_file_of_ours_in_the_place_of_a_directory_blocks() {
    let memory = Memory::default();
    let blocked = |merged: &Merged| -> Vec<String> {
        merged.blocked.iter().map(|path| display(path)).collect()
    };
    let merged = memory.merge(&[], &[("a", "1")], &[("a/b", "2")]);
    assert_eq!(blocked(&merged), ["a"]);
    let merged = memory.merge(&[], &[("a/b", "1")], &[("a", "2")]);
    assert_eq!(blocked(&merged), ["a"]);
    // They replaced it themselves.
    let merged = memory.merge(&[("a", "zzz")], &[("a", "zzz")], &[("a/b", "2")]);
    assert!(merged.blocked.is_empty(), "{:?}", blocked(&merged));
    assert_eq!(memory.shown(&merged), "a=- a/b=100644:2");
}

#[test]
fn many_renamed_files_cost_no_more_looks_at_trees() {
    let reads = |files: usize| {
        let memory = Memory::default();
        let side = |dir: &str| -> Vec<(String, String)> {
            let names = (0..files).map(|file| format!("{dir}/f{file}"));
            names.map(|name| (name, files.to_string())).collect()
        };
        let (old, new) = (side("old"), side("new"));
        let [old, new] = [&old, &new].map(|side| {
            let files = side.iter();
            let files = files.map(|(name, text)| (name.as_str(), text.as_str()));
            files.collect::<Vec<_>>()
        });
        let merged = memory.merge(&old, &old, &new);
        assert_eq!(merged.renamed.len(), files);
        memory.1.get()
    };
    assert_eq!(reads(3), reads(30));
}
