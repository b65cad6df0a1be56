//! Notes as git keeps them: a commit whose tree has, for each annotated object, a blob under the object's id.
//!
//! Owns reading such trees in any fan-out that git makes (`2/38`, `2/2/36`, mixed) and building the next commit. What is
//! written here has no fan-out: a record's notes ref annotates few objects. Entries that are no notes are kept, as git
//! keeps them. Leaves the refs alone: a caller reads the tip, builds on it, and moves the ref by compare and swap
//! against that same tip, so that what it read and what it replaces are one state.

use git2::{ObjectType, Repository, Tree};

use crate::env::Moment;
use crate::error::{Code, Error, Result, ResultExt};

use super::Oid;
use super::objects::{NewObjects, ObjectKind, ObjectStore};
use super::refs::Refs;
use super::tree::{self, Node, ReadTree};

/// Length of an object id in hex.
const HEX: usize = 40;

/// The note on `annotated` in the notes ref `refname`, when there is one.
///
/// # Errors
/// `CorruptRecord` when the ref does not lead to a notes tree.
pub fn read_note(
    repo: &Repository,
    refs: &Refs,
    refname: &str,
    annotated: Oid,
) -> Result<Option<Vec<u8>>> {
    match refs.read(refname)? {
        Some(tip) => note_at(repo, tip, annotated).context(|| format!("reading '{refname}'")),
        None => Ok(None),
    }
}

/// All notes in the notes ref `refname`: the annotated object and the blob, sorted by the former.
///
/// # Errors
/// As [`read_note`].
pub fn notes(repo: &Repository, refs: &Refs, refname: &str) -> Result<Vec<(Oid, Oid)>> {
    match refs.read(refname)? {
        Some(tip) => notes_at(repo, tip).context(|| format!("reading '{refname}'")),
        None => Ok(Vec::new()),
    }
}

/// The note on `annotated` in the notes commit `tip`.
///
/// # Errors
/// As [`read_note`].
pub fn note_at(repo: &Repository, tip: Oid, annotated: Oid) -> Result<Option<Vec<u8>>> {
    let tree = tree_of(repo, tip)?;
    match find(repo, &tree, &annotated.to_string())? {
        Some(blob) => blob_bytes(repo, blob).map(Some),
        None => Ok(None),
    }
}

/// All notes in the notes commit `tip`: the annotated object and the blob, sorted by the former.
///
/// # Errors
/// As [`read_note`].
pub fn notes_at(repo: &Repository, tip: Oid) -> Result<Vec<(Oid, Oid)>> {
    let mut found = Vec::new();
    collect(repo, &tree_of(repo, tip)?, "", &mut found)?;
    found.sort_unstable();
    found.dedup_by_key(|(annotated, _)| *annotated);
    Ok(found)
}

/// The bytes of a note's blob.
///
/// # Errors
/// `CorruptRecord` when it is missing or no blob.
pub fn blob_bytes(repo: &Repository, blob: Oid) -> Result<Vec<u8>> {
    let blob = repo
        .find_blob(blob)
        .map_err(|error| unreadable("note", blob, error))?;
    Ok(blob.content().to_vec())
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
    let read = |oid| objects.read_tree(oid);
    let base = tip.map(|tip| tree_id(objects, tip)).transpose()?;
    let mut edits = Vec::new();
    for (annotated, body) in changes {
        let hex = annotated.to_string();
        if let Some(base) = base {
            let mut places = Vec::new();
            find_places(&read, base, "", &hex, &mut places)?;
            edits.extend(places.into_iter().map(|path| (path, None)));
        }
        if let Some(body) = body {
            let oid = new.put(ObjectKind::Blob, body)?;
            let mode = 0o100_644;
            edits.push((hex.into_bytes(), Some(Node { mode, oid })));
        }
    }
    let mut put = |bytes: &[u8]| new.put(ObjectKind::Tree, bytes);
    let tree = tree::edit(&read, &mut put, base, &edits)?;
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

/// Every place in a notes tree where the note with these remaining digits stands, whatever the fan-out.
fn find_places(
    read: ReadTree<'_>,
    tree: Oid,
    above: &str,
    rest: &str,
    places: &mut Vec<Vec<u8>>,
) -> Result<()> {
    let bytes = read(tree)?;
    let entries = tree::parse(&bytes)?;
    let entry = |name: &str| entries.iter().find(|entry| entry.name == name.as_bytes());
    if entry(rest).is_some_and(|entry| !entry.node.is_dir()) {
        places.push(format!("{above}{rest}").into_bytes());
    }
    if let Some((head, tail)) = fan_out(rest)
        && let Some(below) = entry(head).filter(|entry| entry.node.is_dir())
    {
        find_places(
            read,
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
    let bytes = objects.read_commit(tip)?;
    let digits = bytes
        .strip_prefix(b"tree ")
        .and_then(|rest| rest.get(..HEX));
    let oid = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    oid.ok_or_else(|| {
        let message = format!("notes commit {tip} cannot be read: it names no tree");
        Error::new(Code::CorruptRecord, message)
    })
}

/// A commit by the fixed identity, unsigned. Its committer date is the epoch's first second: git orders fetch
/// negotiation and `log --all` by it, and our commits must never come first there.
fn commit_text(tree: Oid, parents: &[Oid], message: &str, at: Moment) -> String {
    use std::fmt::Write as _;
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        let _ = writeln!(text, "parent {parent}");
    }
    let date = at.seconds().max(0);
    let _ = write!(
        text,
        "author timewarp <timewarp@localhost> {date} +0000\n\
         committer timewarp <timewarp@localhost> 1 +0000\n\n"
    );
    // Git cuts a message at a NUL, and fsck complains.
    text.extend(message.trim_end().chars().filter(|ch| *ch != '\0'));
    text.push('\n');
    text
}

fn tree_of(repo: &Repository, tip: Oid) -> Result<Tree<'_>> {
    repo.find_commit(tip)
        .and_then(|commit| commit.tree())
        .map_err(|error| unreadable("notes commit", tip, error))
}

fn unreadable(what: &str, oid: Oid, error: git2::Error) -> Error {
    let message = format!("{what} {oid} cannot be read: {}", error.message());
    Error::new(Code::CorruptRecord, message).caused_by(error)
}

fn subtree(repo: &Repository, oid: Oid) -> Result<Tree<'_>> {
    repo.find_tree(oid)
        .map_err(|error| unreadable("notes tree", oid, error))
}

/// The blob under the id whose remaining hex digits are `rest`, here or one level down.
fn find(repo: &Repository, tree: &Tree<'_>, rest: &str) -> Result<Option<Oid>> {
    if let Some(entry) = tree.get_name(rest)
        && entry.kind() == Some(ObjectType::Blob)
    {
        return Ok(Some(entry.id()));
    }
    let Some((head, tail)) = fan_out(rest) else {
        return Ok(None);
    };
    match tree.get_name(head) {
        Some(entry) if entry.kind() == Some(ObjectType::Tree) => {
            find(repo, &subtree(repo, entry.id())?, tail)
        }
        _ => Ok(None),
    }
}

/// The first two digits and the others, while both have some.
fn fan_out(rest: &str) -> Option<(&str, &str)> {
    rest.split_at_checked(2)
        .filter(|(_, tail)| !tail.is_empty())
}

fn collect(
    repo: &Repository,
    tree: &Tree<'_>,
    prefix: &str,
    found: &mut Vec<(Oid, Oid)>,
) -> Result<()> {
    for entry in tree {
        let Ok(name) = entry.name() else { continue };
        if !is_hex(name) {
            continue;
        }
        let whole = format!("{prefix}{name}");
        match entry.kind() {
            Some(ObjectType::Blob) if whole.len() == HEX => {
                found.push((Oid::from_str(&whole)?, entry.id()));
            }
            Some(ObjectType::Tree) if name.len() == 2 && whole.len() < HEX => {
                collect(repo, &subtree(repo, entry.id())?, &whole, found)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_hex(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::super::objects::Storage;
    use super::super::refs::sandbox::Sandbox;
    use super::*;

    const NOTES: &str = "refs/notes/timewarp/issues/i_1";
    const AT: Moment = Moment(1_772_292_612_000_000_000);

    struct Fixture {
        sandbox: Sandbox,
        repo: Repository,
        refs: Refs,
    }

    impl Fixture {
        fn new() -> Self {
            let sandbox = Sandbox::new();
            let repo = Repository::open(sandbox.repo()).expect("open");
            let refs = sandbox.refs();
            Self {
                sandbox,
                repo,
                refs,
            }
        }

        fn put(&self, changes: &[(Oid, Option<&[u8]>)]) -> Oid {
            let tip = self.refs.read(NOTES).expect("read");
            let objects = self.objects();
            let mut new = NewObjects::default();
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
            ObjectStore::open(&self.sandbox.git_dir()).expect("opened")
        }

        fn read(&self, annotated: Oid) -> Option<Vec<u8>> {
            read_note(&self.repo, &self.refs, NOTES, annotated).expect("read")
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
        let old = note_at(&fixture.repo, first, one).expect("history");
        assert_eq!(old.as_deref(), Some(&b"{\"version\":1}\n"[..]));
        fixture.put(&[(one, None)]);
        assert_eq!(fixture.git_show(one), None);
        assert_eq!(fixture.read(one), None);
        let left = notes(&fixture.repo, &fixture.refs, NOTES).expect("notes");
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
        let odb = fixture.repo.odb().expect("odb");
        let tree = fixture.sandbox.git(&["mktree"]);
        let tree = Oid::from_str(tree.trim()).expect("hex");
        let commits: Vec<Oid> = (0..400)
            .map(|n| commit_text(tree, &[], &n.to_string(), AT))
            .map(|text| {
                odb.write(ObjectType::Commit, text.as_bytes())
                    .expect("write")
            })
            .collect();
        let bodies: Vec<String> = commits.iter().map(|oid| format!("on {oid}\n")).collect();
        // Each body first stands as the note on its own blob; `git notes copy` then puts them all on the commits.
        let seed: Vec<(Oid, Option<&[u8]>)> = bodies
            .iter()
            .map(|body| {
                let blob = odb.write(ObjectType::Blob, body.as_bytes()).expect("blob");
                (blob, Some(body.as_bytes()))
            })
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
        let top = tree_of(&fixture.repo, tip).expect("tree");
        assert!(top.len() <= 256, "git did not fan out: {}", top.len());

        let all = notes_at(&fixture.repo, tip).expect("notes");
        assert_eq!(all.len(), 800);
        for oid in &commits {
            let wanted = format!("on {oid}\n").into_bytes();
            assert_eq!(fixture.read(*oid), Some(wanted));
        }
        fixture.put(&[(commits[7], Some(b"new\n")), (commits[8], None)]);
        assert_eq!(fixture.git_show(commits[7]).as_deref(), Some("new\n"));
        assert_eq!(fixture.git_show(commits[8]), None);
        assert_eq!(
            fixture.git_show(commits[9]),
            Some(format!("on {}\n", commits[9]))
        );
        let left = notes(&fixture.repo, &fixture.refs, NOTES).expect("notes");
        assert_eq!(left.len(), 799);
        fixture.sandbox.git(&["fsck", "--strict"]);
    }

    #[test]
    fn deep_fan_out_and_strangers_are_kept_apart() {
        let fixture = Fixture::new();
        let (one, two) = (fixture.sandbox.commit("one"), fixture.sandbox.commit("two"));
        let blob = fixture.repo.blob(b"deep").expect("blob");
        let hex = one.to_string();
        let tree = |name: &str, oid: Oid, mode: i32| {
            let mut builder = fixture.repo.treebuilder(None).expect("builder");
            builder.insert(name, oid, mode).expect("insert");
            builder.write().expect("write")
        };
        let inner = tree(&hex[4..], blob, 0o100_644);
        let outer = tree(&hex[2..4], inner, 0o040_000);
        let mut builder = fixture.repo.treebuilder(None).expect("builder");
        builder.insert(&hex[..2], outer, 0o040_000).expect("insert");
        builder.insert("README", blob, 0o100_644).expect("insert");
        let top = builder.write().expect("write");
        let commit = commit_text(top, &[], "by hand", AT);
        let odb = fixture.repo.odb().expect("odb");
        let tip = odb
            .write(ObjectType::Commit, commit.as_bytes())
            .expect("write");
        let note = note_at(&fixture.repo, tip, one).expect("note");
        assert_eq!(note.as_deref(), Some(&b"deep"[..]));
        assert_eq!(note_at(&fixture.repo, tip, two).expect("none"), None);
        assert_eq!(notes_at(&fixture.repo, tip).expect("notes"), [(one, blob)]);
        let (objects, mut new) = (fixture.objects(), NewObjects::default());
        let flat = [(one, Some(&b"flat"[..]))];
        let next = prepare_notes(&objects, &mut new, Some(tip), &flat, "note", AT).expect("next");
        new.write(&objects, Storage::Loose).expect("written");
        let tree = tree_of(&fixture.repo, next).expect("tree");
        let names: Vec<_> = tree
            .iter()
            .map(|e| e.name().expect("name").to_owned())
            .collect();
        let mut wanted = vec!["README".to_owned(), hex];
        wanted.sort();
        assert_eq!(names, wanted);
    }

    #[test]
    fn a_ref_that_is_no_notes_commit_is_a_corrupt_record() {
        let fixture = Fixture::new();
        let blob = fixture.repo.blob(b"no commit").expect("blob");
        let error = note_at(&fixture.repo, blob, blob).expect_err("a blob");
        assert_eq!(error.code(), Code::CorruptRecord);
        let (objects, mut new) = (fixture.objects(), NewObjects::default());
        let error = prepare_notes(&objects, &mut new, Some(blob), &[], "", AT).expect_err("a blob");
        assert_eq!(error.code(), Code::CorruptRecord);
    }
}
