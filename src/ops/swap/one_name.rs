//! Names that are one to a file system that does not tell upper case from lower: what one of them is written to, the other one is.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::git::fs::Root;
use crate::git::path;
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::Plan;

/// The paths that a plan writes and that are one here with another that it writes, or with what is there by another name.
///
/// # Errors
/// The working tree's root cannot be read.
pub(super) fn one_name(root: &Root, manifest: &Manifest, plan: &Plan) -> Result<Vec<Vec<u8>>> {
    if !is_one_here(root)? {
        return Ok(Vec::new());
    }
    let files = manifest
        .entries()
        .map(|(dir, file)| manifest.path_of(dir, &file));
    let dirs = manifest.dirs.iter().map(|dir| manifest.dir_path(dir));
    let there = files.chain(dirs.map(<[u8]>::to_vec));
    Ok(alike(plan, there))
}

/// Whether what is found at a path that the manifest lacks is one that it has, by another spelling.
///
/// # Errors
/// As [`one_name`].
pub(super) fn is_another_spelling(root: &Root, manifest: &Manifest, full: &[u8]) -> Result<bool> {
    if !is_one_here(root)? {
        return Ok(false);
    }
    let wanted = folded(full);
    let mut entries = manifest.entries();
    Ok(entries.any(|(dir, file)| folded(&manifest.path_of(dir, &file)) == wanted))
}

/// Whether this file system finds a name by another spelling. `core.ignorecase` says what held where the repository was made, and
/// inode numbers say nothing where they go by the name (FUSE): what can be found and is in no list of names is another spelling.
fn is_one_here(root: &Root) -> Result<bool> {
    let finds = |name: &[u8]| Ok(root.stamp(name)?.is_some());
    // The usual case: one look.
    if finds(b".git")? && !finds(b".GIT")? {
        return Ok(false);
    }
    let names = root.names(b"")?;
    let mut others = names.iter().map(|name| (name, spelled_otherwise(name)));
    match others.find(|(name, other)| *name != other && !names.contains(other)) {
        Some((_, other)) => finds(&other),
        // Nothing is there that could be asked for.
        None => Ok(false),
    }
}

/// A name with its ASCII letters in the other case.
fn spelled_otherwise(name: &[u8]) -> Vec<u8> {
    let flipped = name.iter().map(|byte| match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        other => other.to_ascii_lowercase(),
    });
    flipped.collect()
}

/// Of the paths that a plan writes those that are alike but for their case, with one another or with what is there.
fn alike(plan: &Plan, there: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let files = plan.entries.iter().filter(|entry| entry.after.is_some());
    let dirs = plan.dirs.iter().filter(|dir| dir.after.is_some());
    let files = files.map(|entry| &entry.path);
    let written: Vec<&Vec<u8>> = files.chain(dirs.map(|dir| &dir.path)).collect();
    let mut spelled: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for path in there {
        spelled.entry(folded(&path)).or_insert(path);
    }
    let mut found = Vec::new();
    for path in written {
        let is_other = path::with_parents(path).any(|at| {
            let known = spelled.entry(folded(at)).or_insert_with(|| at.to_vec());
            known.as_slice() != at
        });
        if is_other {
            found.push(path.clone());
        }
    }
    found
}

fn folded(path: &[u8]) -> String {
    String::from_utf8_lossy(path).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Oid;
    use crate::git::tree::Node;
    use crate::worktree::plan::{PlanEntry, Side};

    fn plan(written: &[&str], removed: &[&str]) -> Plan {
        let node = Node {
            mode: 0o100_644,
            oid: Oid::NULL,
        };
        let side = Side { node, perm: 0o644 };
        let entry = |path: &&str, is_written: bool| PlanEntry {
            path: path.as_bytes().to_vec(),
            before: (!is_written).then_some(side),
            after: is_written.then_some(side),
        };
        let written = written.iter().map(|path| entry(path, true));
        Plan {
            entries: written
                .chain(removed.iter().map(|path| entry(path, false)))
                .collect(),
            ..Plan::default()
        }
    }

    #[test]
    fn here_names_are_told_apart_whatever_else_is_there() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = Root::open(dir.path()).expect("root");
        let is_one = || is_one_here(&root).expect("looked");
        assert!(!is_one(), "empty");
        for name in ["readme", "README", "123", ".GIT", ".git"] {
            std::fs::create_dir(dir.path().join(name)).expect("mkdir");
            assert!(!is_one(), "{name}");
        }
        assert_eq!(spelled_otherwise(b".gIt \xc3\x84"), b".GiT \xc3\x84");
    }

    #[test]
    fn names_are_alike_in_any_part_and_with_what_goes_or_stays() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let cases: [Case<'_>; 6] = [
            (&["Dir/a", "dir/b"], &[], &[], &["dir/b"]),
            (&["README"], &["readme"], &["readme"], &["README"]),
            (&["ÄRGER"], &[], &["ärger"], &["ÄRGER"]),
            (&["x/new"], &[], &["X"], &["x/new"]),
            (&["a", "b"], &["c"], &["a", "c"], &[]),
            (&["same/a"], &[], &["same", "same/a"], &[]),
        ];
        for (written, removed, there, expected) in cases {
            let there = there.iter().map(|path| path.as_bytes().to_vec());
            let found = alike(&plan(written, removed), there);
            let expected: Vec<Vec<u8>> = expected
                .iter()
                .map(|path| path.as_bytes().to_vec())
                .collect();
            assert_eq!(found, expected, "{written:?}");
        }
    }
}
