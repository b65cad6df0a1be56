//! Notes as git keeps them: a commit whose tree has, for each annotated object, a blob under the object's id.
//!
//! Owns reading such trees in any fan-out that git makes (`2/38`, `2/2/36` and so on, mixed) and building the next commit. What is
//! written here has no fan-out: a record's notes ref annotates few objects. Entries that are no notes are kept, as git
//! keeps them. Leaves the refs alone: a caller reads the tip, builds on it, and moves the ref by compare and swap
//! against that same tip, so that what it read and what it replaces are one state.

use std::collections::BTreeMap;

use crate::env::Moment;
use crate::error::{Code, Error, Result};

use super::Oid;
use super::commit::commit_text;
use super::objects::{NewObjects, ObjectKind, ObjectStore};
use super::tree::{self, GITLINK_MODE, Node, ReadTree};

/// All notes in the notes commit `tip`: the annotated object and the blob, sorted by the former.
///
/// # Errors
/// `CorruptRecord` when it is no notes commit, or cannot be read.
pub fn notes_at(objects: &ObjectStore, tip: Oid) -> Result<Vec<(Oid, Oid)>> {
    let mut found = Vec::new();
    collect(objects, tree_id(objects, tip)?, "", &mut found)?;
    found.sort_unstable();
    found.dedup_by_key(|(annotated, _)| *annotated);
    Ok(found)
}

/// The blob of the note on an object; None where it has none. Of the tree only what leads there is read.
///
/// # Errors
/// As [`notes_at`].
pub fn note_on(objects: &ObjectStore, tip: Oid, annotated: Oid) -> Result<Option<Oid>> {
    let root = tree_id(objects, tip)?;
    let mut places = Vec::new();
    find_places(objects, root, "", &annotated.to_string(), &mut places)?;
    let Some(place) = places.first() else {
        return Ok(None);
    };
    let node = tree::find(objects, root, place)?;
    Ok(node
        .filter(|node| node.mode != GITLINK_MODE)
        .map(|node| node.oid))
}

/// The bytes of a note's blob.
///
/// # Errors
/// `CorruptRecord` when it is missing or no blob.
pub fn blob_bytes(objects: &ObjectStore, blob: Oid) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    objects
        .copy_blob(blob, &mut bytes)
        .map_err(|error| unreadable("note", blob, error))?;
    Ok(bytes)
}

/// Makes the commit that follows `tip` (None: the first) with each of `changes` as the note on an object; None takes a note away.
/// What is made goes to `new`; no ref is moved.
///
/// # Errors
/// When `tip` is no notes commit, or its tree cannot be read.
pub fn prepare_notes(
    objects: &ObjectStore,
    new: &mut NewObjects,
    tip: Option<Oid>,
    changes: &[(Oid, Option<&[u8]>)],
    message: &str,
    at: Moment,
) -> Result<Oid> {
    let base = tip.map(|tip| tree_id(objects, tip)).transpose()?;
    let mut edits = Vec::new();
    for (annotated, body) in changes {
        let hex = annotated.to_string();
        if let Some(base) = base {
            let mut places = Vec::new();
            find_places(objects, base, "", &hex, &mut places)?;
            edits.extend(places.into_iter().map(|path| (path, None)));
        }
        if let Some(body) = body {
            let oid = new.put(ObjectKind::Blob, body)?;
            let mode = 0o100_644;
            edits.push((hex.into_bytes(), Some(Node { mode, oid })));
        }
    }
    let mut put = |bytes: &[u8]| new.put(ObjectKind::Tree, bytes);
    let tree = tree::edit(objects, &mut put, base, &edits)?;
    let commit = commit_text(tree, tip.as_slice(), message, at);
    new.put(ObjectKind::Commit, commit.as_bytes())
}

/// Makes the commit that has the notes of `tip` and, as its second parent, `other`: a version that lost, kept in the
/// history.
///
/// # Errors
/// As [`prepare_notes`].
pub fn prepare_merge(
    objects: &ObjectStore,
    new: &mut NewObjects,
    tip: Oid,
    other: Oid,
    message: &str,
    at: Moment,
) -> Result<Oid> {
    let tree = tree_id(objects, tip)?;
    let commit = commit_text(tree, &[tip, other], message, at);
    new.put(ObjectKind::Commit, commit.as_bytes())
}

/// The note that two become which come to one object: the one that moves, and the one there. None: the first stays where it is.
pub type JoinNotes = fn(&[u8], &[u8]) -> Option<Vec<u8>>;

/// Makes the notes commit that follows `tip` with each note moved to what `moved` answers for the object it annotates.
/// None when none moves. What is made goes to `made`; no ref is moved.
///
/// # Errors
/// As [`notes_at`].
pub fn prepare_moved_notes(
    (objects, made): (&ObjectStore, &mut NewObjects),
    tip: Oid,
    (moved, join): (&dyn Fn(Oid) -> Option<Oid>, JoinNotes),
    message: &str,
    at: Moment,
) -> Result<Option<Oid>> {
    let notes = notes_at(objects, tip)?;
    let mut gone = Vec::new();
    let mut put: BTreeMap<Oid, Vec<u8>> = BTreeMap::new();
    for (annotated, blob) in &notes {
        let Some(new) = moved(*annotated) else {
            continue;
        };
        let text = blob_bytes(objects, *blob)?;
        let there = match put.remove(&new) {
            Some(text) => Some(text),
            None => match notes.binary_search_by_key(&new, |(annotated, _)| *annotated) {
                Ok(at) => Some(blob_bytes(objects, notes[at].1)?),
                Err(_) => None,
            },
        };
        let joined = match &there {
            Some(there) => join(&text, there),
            None => Some(text),
        };
        if joined.is_some() {
            gone.push(*annotated);
        }
        if let Some(text) = joined.or(there) {
            put.insert(new, text);
        }
    }
    if gone.is_empty() {
        return Ok(None);
    }
    let gone = gone.into_iter().map(|old| (old, None));
    let put = put.iter().map(|(new, text)| (*new, Some(&text[..])));
    let changes: Vec<_> = gone.chain(put).collect();
    prepare_notes(objects, made, Some(tip), &changes, message, at).map(Some)
}

/// Every place in a notes tree where the note with these remaining digits stands, whatever the fan-out.
fn find_places(
    trees: &dyn ReadTree,
    tree: Oid,
    above: &str,
    rest: &str,
    places: &mut Vec<Vec<u8>>,
) -> Result<()> {
    let bytes = trees.read_tree(tree)?;
    let entries = tree::parse(&bytes, tree.format())?;
    let entry = |name: &str| entries.iter().find(|entry| entry.name == name.as_bytes());
    if entry(rest).is_some_and(|entry| !entry.node.is_dir()) {
        places.push(format!("{above}{rest}").into_bytes());
    }
    if let Some((head, tail)) = fan_out(rest)
        && let Some(below) = entry(head).filter(|entry| entry.node.is_dir())
    {
        find_places(
            trees,
            below.node.oid,
            &format!("{above}{head}/"),
            tail,
            places,
        )?;
    }
    Ok(())
}

/// The tree that a notes commit names.
fn tree_id(objects: &ObjectStore, tip: Oid) -> Result<Oid> {
    let bytes = objects
        .read_commit(tip)
        .map_err(|error| unreadable("notes commit", tip, error))?;
    let tree = bytes.strip_prefix(b"tree ");
    let oid = tree.and_then(Oid::leading);
    oid.map(|(oid, _)| oid).ok_or_else(|| {
        let message = format!("notes commit {tip} cannot be read: it names no tree");
        Error::new(Code::CorruptRecord, message)
    })
}

/// The first two digits and the others, while both have some.
fn fan_out(rest: &str) -> Option<(&str, &str)> {
    rest.split_at_checked(2)
        .filter(|(_, tail)| !tail.is_empty())
}

fn collect(
    objects: &ObjectStore,
    tree: Oid,
    prefix: &str,
    found: &mut Vec<(Oid, Oid)>,
) -> Result<()> {
    let bytes = objects
        .read_tree(tree)
        .map_err(|error| unreadable("notes tree", tree, error))?;
    let digits = tree.format().digits();
    for entry in tree::parse(&bytes, tree.format())? {
        let Some(name) = std::str::from_utf8(entry.name)
            .ok()
            .filter(|name| is_hex(name))
        else {
            continue;
        };
        let whole = format!("{prefix}{name}");
        if entry.node.is_dir() {
            if name.len() == 2 && whole.len() < digits {
                collect(objects, entry.node.oid, &whole, found)?;
            }
        } else if entry.node.mode != GITLINK_MODE && whole.len() == digits {
            found.push((Oid::from_hex(&whole)?, entry.node.oid));
        }
    }
    Ok(())
}

fn unreadable(what: &str, oid: Oid, error: Error) -> Error {
    let message = format!("{what} {oid} cannot be read: {}", error.message());
    Error::new(Code::CorruptRecord, message).caused_by(error)
}

fn is_hex(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::super::ObjectFormat;
    use super::super::objects::{Storage, Unheld};
    use super::super::refs::Refs;
    use super::super::refs::sandbox::Sandbox;
    use super::*;

    const NOTES: &str = "refs/notes/timewarp/issues/i_1";
    const AT: Moment = Moment(1_772_292_612_000_000_000);

    /// The note on an object in a notes commit.
    fn note_at(objects: &ObjectStore, tip: Oid, annotated: Oid) -> Option<Vec<u8>> {
        let notes = notes_at(objects, tip).expect("notes");
        let (_, blob) = notes.into_iter().find(|(oid, _)| *oid == annotated)?;
        Some(blob_bytes(objects, blob).expect("note"))
    }

    struct Fixture {
        sandbox: Sandbox,
        refs: Refs,
    }

    impl Fixture {
        fn new() -> Self {
            let sandbox = Sandbox::new();
            let refs = sandbox.refs();
            Self { sandbox, refs }
        }

        /// Writes objects, and gives their ids.
        fn write(&self, kind: ObjectKind, all: impl Iterator<Item = Vec<u8>>) -> Vec<Oid> {
            let mut new = NewObjects::new(ObjectFormat::Sha1);
            let oids = all
                .map(|bytes| new.put(kind, &bytes).expect("hashed"))
                .collect();
            new.write(&self.objects(), Storage::Cheapest)
                .expect("written");
            oids
        }

        fn write_one(&self, kind: ObjectKind, bytes: &[u8]) -> Oid {
            self.write(kind, std::iter::once(bytes.to_vec()))[0]
        }

        /// What stands at the top of a notes commit.
        fn names(&self, tip: Oid) -> Vec<String> {
            let objects = self.objects();
            let bytes = objects.read_tree(objects.commit(tip).expect("commit").tree);
            let bytes = bytes.expect("tree");
            let entries = tree::parse(&bytes, ObjectFormat::Sha1).expect("entries");
            let names = entries.iter().map(|entry| entry.name.to_vec());
            names
                .map(|name| String::from_utf8(name).expect("text"))
                .collect()
        }

        fn put(&self, changes: &[(Oid, Option<&[u8]>)]) -> Oid {
            let tip = self.refs.read(NOTES).expect("read");
            let objects = self.objects();
            let mut new = NewObjects::new(ObjectFormat::Sha1);
            let next = prepare_notes(&objects, &mut new, tip, changes, "note", AT);
            let next = next.expect("prepare");
            let mut transaction = self.refs.transaction();
            match tip {
                Some(tip) => transaction.update(NOTES, next, tip),
                None => transaction.create(NOTES, next),
            }
            transaction.commit_with(&objects, &new).expect("commit");
            next
        }

        fn objects(&self) -> ObjectStore {
            ObjectStore::open(&self.sandbox.git_dir(), ObjectFormat::Sha1).expect("opened")
        }

        fn notes(&self) -> Vec<(Oid, Oid)> {
            let tip = self.refs.read(NOTES).expect("read").expect("there");
            notes_at(&self.objects(), tip).expect("notes")
        }

        fn read(&self, annotated: Oid) -> Option<Vec<u8>> {
            let tip = self.refs.read(NOTES).expect("read")?;
            note_at(&self.objects(), tip, annotated)
        }

        fn git_show(&self, annotated: Oid) -> Option<String> {
            let reference = format!("--ref={NOTES}");
            let annotated = annotated.to_string();
            self.sandbox
                .try_git(&["notes", &reference, "show", &annotated])
        }
    }

    #[test]
    fn git_shows_what_was_written() {
        let fixture = Fixture::new();
        let (one, two) = (fixture.sandbox.commit("one"), fixture.sandbox.commit("two"));
        assert_eq!(fixture.read(one), None);
        let first = fixture.put(&[(one, Some(b"{\"version\":1}\n"))]);
        assert_eq!(fixture.git_show(one).as_deref(), Some("{\"version\":1}\n"));
        let second = fixture.put(&[(one, Some(b"{\"version\":2}\n")), (two, Some(b"{}\n"))]);
        assert_eq!(fixture.git_show(one).as_deref(), Some("{\"version\":2}\n"));
        assert_eq!(fixture.git_show(two).as_deref(), Some("{}\n"));
        let old = note_at(&fixture.objects(), first, one);
        assert_eq!(old.as_deref(), Some(&b"{\"version\":1}\n"[..]));
        fixture.put(&[(one, None)]);
        assert_eq!(fixture.git_show(one), None);
        assert_eq!(fixture.read(one), None);
        let left = fixture.notes();
        assert_eq!(left.iter().map(|note| note.0).collect::<Vec<_>>(), [two]);
        let text = fixture
            .sandbox
            .git(&["cat-file", "commit", &second.to_string()]);
        let tree = fixture
            .sandbox
            .git(&["rev-parse", &format!("{second}^{{tree}}")]);
        assert_eq!(
            text,
            format!(
                "tree {tree}parent {first}\n\
                 author timewarp <timewarp@localhost> 1772292612 +0000\n\
                 committer timewarp <timewarp@localhost> 1 +0000\n\nnote\n"
            )
        );
        fixture.sandbox.git(&["fsck", "--strict"]);
    }

    /// Git fans out by itself once there are enough notes; ours must read that and write on top of it.
    #[test]
    fn every_fan_out_is_read_and_written_over() {
        let fixture = Fixture::new();
        let tree = fixture.write_one(ObjectKind::Tree, b"");
        let commits = (0..400).map(|n| commit_text(tree, &[], &n.to_string(), AT).into_bytes());
        let commits = fixture.write(ObjectKind::Commit, commits);
        let bodies: Vec<String> = commits.iter().map(|oid| format!("on {oid}\n")).collect();
        // Each body first stands as the note on its own blob; `git notes copy` then puts them all on the commits.
        let blobs = bodies.iter().map(|body| body.clone().into_bytes());
        let blobs = fixture.write(ObjectKind::Blob, blobs);
        let seed: Vec<(Oid, Option<&[u8]>)> = blobs
            .into_iter()
            .zip(&bodies)
            .map(|(blob, body)| (blob, Some(body.as_bytes())))
            .collect();
        fixture.put(&seed);
        let pairs: Vec<String> = seed
            .iter()
            .zip(&commits)
            .map(|((blob, _), commit)| format!("{blob} {commit}\n"))
            .collect();
        let reference = format!("--ref={NOTES}");
        fixture
            .sandbox
            .git_with_input(&["notes", &reference, "copy", "--stdin"], &pairs.concat());
        let tip = fixture.refs.read(NOTES).expect("read").expect("there");
        let top = fixture.names(tip).len();
        assert!(top <= 256, "git did not fan out: {top}");

        let all = notes_at(&fixture.objects(), tip).expect("notes");
        assert_eq!(all.len(), 800);
        let objects = fixture.objects();
        for oid in &commits {
            let wanted = format!("on {oid}\n").into_bytes();
            assert_eq!(fixture.read(*oid).as_ref(), Some(&wanted));
            let blob = note_on(&objects, tip, *oid).expect("read").expect("there");
            assert_eq!(blob_bytes(&objects, blob).expect("note"), wanted);
        }
        assert_eq!(note_on(&objects, tip, tip).expect("read"), None);
        fixture.put(&[(commits[7], Some(b"new\n")), (commits[8], None)]);
        assert_eq!(fixture.git_show(commits[7]).as_deref(), Some("new\n"));
        assert_eq!(fixture.git_show(commits[8]), None);
        assert_eq!(
            fixture.git_show(commits[9]),
            Some(format!("on {}\n", commits[9]))
        );
        let left = fixture.notes();
        assert_eq!(left.len(), 799);
        fixture.sandbox.git(&["fsck", "--strict"]);
    }

    #[test]
    fn deep_fan_out_and_strangers_are_kept_apart() {
        let fixture = Fixture::new();
        let (one, two) = (fixture.sandbox.commit("one"), fixture.sandbox.commit("two"));
        let blob = fixture.write_one(ObjectKind::Blob, b"deep");
        let hex = one.to_string();
        let tree = |entries: &[(&str, Oid, u32)]| {
            let mut list: Vec<tree::Entry<'_>> = entries
                .iter()
                .map(|&(name, oid, mode)| tree::Entry {
                    name: name.as_bytes(),
                    node: Node { mode, oid },
                })
                .collect();
            fixture.write_one(ObjectKind::Tree, &tree::encode(&mut list))
        };
        let inner = tree(&[(&hex[4..], blob, 0o100_644)]);
        let outer = tree(&[(&hex[2..4], inner, tree::DIR_MODE)]);
        let top = tree(&[
            (&hex[..2], outer, tree::DIR_MODE),
            ("README", blob, 0o100_644),
        ]);
        let commit = commit_text(top, &[], "by hand", AT);
        let tip = fixture.write_one(ObjectKind::Commit, commit.as_bytes());
        let note = note_at(&fixture.objects(), tip, one);
        assert_eq!(note.as_deref(), Some(&b"deep"[..]));
        assert_eq!(note_at(&fixture.objects(), tip, two), None);
        assert_eq!(
            notes_at(&fixture.objects(), tip).expect("notes"),
            [(one, blob)]
        );
        let (objects, mut new) = (fixture.objects(), NewObjects::new(ObjectFormat::Sha1));
        let flat = [(one, Some(&b"flat"[..]))];
        let next = prepare_notes(&objects, &mut new, Some(tip), &flat, "note", AT).expect("next");
        new.write(&objects, Storage::Cheapest).expect("written");
        let mut wanted = vec!["README".to_owned(), hex];
        wanted.sort();
        assert_eq!(fixture.names(next), wanted);
    }

    #[test]
    fn a_ref_that_is_no_notes_commit_is_a_corrupt_record() {
        let fixture = Fixture::new();
        let blob = fixture.write_one(ObjectKind::Blob, b"no commit");
        let error = notes_at(&fixture.objects(), blob).expect_err("a blob");
        assert_eq!(error.code(), Code::CorruptRecord);
        let (objects, mut new) = (fixture.objects(), NewObjects::new(ObjectFormat::Sha1));
        let error = prepare_notes(&objects, &mut new, Some(blob), &[], "", AT).expect_err("a blob");
        assert_eq!(error.code(), Code::CorruptRecord);
    }
}
