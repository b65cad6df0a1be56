//! Records, files, configuration and environments made to do harm: clear errors, nothing lost, nothing outside touched, no
//! panic.

mod records;
mod surroundings;
mod trees;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;
use timewarp::git::objects::{ObjectKind, hash};

use crate::damage::{document, walk};
use crate::sandbox::{Ran, Sandbox};

/// Writes a loose object, whatever is in it, and gives its id.
fn put(sandbox: &Sandbox, kind: ObjectKind, bytes: &[u8]) -> String {
    let oid = hash(sandbox.kind().format(), kind, bytes)
        .unwrap()
        .to_string();
    let path = sandbox.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    write!(out, "{} {}\0", kind.name(), bytes.len()).unwrap();
    out.write_all(bytes).unwrap();
    std::fs::write(path, out.finish().unwrap()).unwrap();
    oid
}

fn raw(oid: &str) -> Vec<u8> {
    let pair = |at| u8::from_str_radix(&oid[at..at + 2], 16).unwrap();
    (0..oid.len() / 2).map(|byte| pair(2 * byte)).collect()
}

fn tree(sandbox: &Sandbox, entries: &[(&str, &[u8], &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, oid) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(&raw(oid));
    }
    put(sandbox, ObjectKind::Tree, &bytes)
}

/// The parts of a real snapshot, to forge others from.
struct Model {
    tree: String,
    parents: Vec<String>,
    json: Value,
}

const FORGED: &str = "s_20260101_000000_forged";

impl Model {
    fn new(sandbox: &Sandbox, id: &str) -> Self {
        let text = sandbox.git([
            "cat-file",
            "commit",
            &format!("refs/timewarp/snapshots/{id}"),
        ]);
        let (head, message) = text.split_once("\n\n").unwrap();
        let of = |key: &str| {
            let values = head.lines().filter_map(|line| line.strip_prefix(key));
            values.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut json: Value = serde_json::from_str(message.split_once("\n\n").unwrap().1).unwrap();
        json["snapshot_id"] = FORGED.into();
        Self {
            tree: of("tree ").remove(0),
            parents: of("parent "),
            json,
        }
    }

    fn commit(&self, sandbox: &Sandbox, tree: &str, document: &[u8]) -> String {
        let mut bytes = format!("tree {tree}\n").into_bytes();
        for parent in &self.parents {
            bytes.extend(format!("parent {parent}\n").into_bytes());
        }
        let who = "timewarp <timewarp@localhost>";
        bytes.extend(
            format!("author {who} 1767225600 +0000\ncommitter {who} 1 +0000\n\n").into_bytes(),
        );
        bytes.extend(b"snapshot: forged\n\n");
        bytes.extend(document);
        put(sandbox, ObjectKind::Commit, &bytes)
    }

    fn plant(&self, sandbox: &Sandbox, tree: &str, document: &[u8]) {
        plant(sandbox, &self.commit(sandbox, tree, document));
    }

    fn document(&self) -> Vec<u8> {
        serde_json::to_vec(&self.json).unwrap()
    }
}

fn plant(sandbox: &Sandbox, oid: &str) {
    let path = format!(".git/refs/timewarp/snapshots/{FORGED}");
    sandbox.write(path, format!("{oid}\n"));
}

/// Everything in the sandbox but the repository and what is scratch.
fn outside(sandbox: &Sandbox) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let repo = sandbox.repo();
    walk(&sandbox.root(), &mut |path| {
        if !path.starts_with(&repo) {
            found.insert(path.to_owned(), path.symlink_metadata().unwrap().len());
        }
    });
    found
}

/// No panic, and one document on stdout.
#[track_caller]
fn calm(ran: &Ran, context: &str) -> Value {
    let said = format!("{context}: {}{}", ran.out(), ran.err());
    assert!(ran.code != 101 && ran.code < 128, "{said}");
    assert!(!ran.err().contains("panicked"), "{said}");
    let document = document(ran);
    assert_eq!(document["ok"] == true, ran.code == 0, "{said}");
    document
}

/// Travel, restore and show of the forged snapshot are refused, or do no harm; the rest goes on working.
fn assert_harmless(sandbox: &Sandbox, what: &str) {
    let before = sandbox.state();
    let around = outside(sandbox);
    for command in ["travel", "restore"] {
        let refused = calm(&sandbox.tw(["--json", command, FORGED]), what);
        assert_eq!(refused["ok"], false, "{what}: {command} took it");
        let code = refused["error"]["code"].as_str().unwrap();
        assert!(
            [
                "CORRUPT_RECORD",
                "NEWER_RECORD",
                "SNAPSHOT_NOT_FOUND",
                "WOULD_OVERWRITE"
            ]
            .contains(&code),
            "{what}: {refused}"
        );
        let far = before.differences(&sandbox.state());
        assert!(far.is_empty(), "{what}: {command}: {far:?}");
    }
    calm(&sandbox.tw(["--json", "show", FORGED]), what);
    let listed = calm(&sandbox.tw(["--json", "list"]), what);
    assert!(
        listed["snapshots"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["snapshot_id"] != FORGED),
        "{what}: {listed}"
    );
    assert_eq!(
        calm(&sandbox.tw(["--json", "snapshot"]), what)["ok"],
        true,
        "{what}"
    );
    assert_eq!(outside(sandbox), around, "{what}");
    before.assert_same(&sandbox.state());
}
