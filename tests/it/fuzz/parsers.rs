//! What each parser is put through with bytes that may be damaged or hostile: an answer or an error, never a panic, and what is
//! written is read again.
//!
//! The tests beside this call these functions with real files damaged at random; the targets of `fuzz/` call them with whatever
//! libFuzzer comes upon.

use std::cell::LazyCell;
use std::path::Path;

use timewarp::agents::{self, transcript::Detail};
use timewarp::env::{Env, Moment};
use timewarp::error::Result;
use timewarp::git::commit::RawCommit;
use timewarp::git::index::{Checksum, Index, TreeSource};
use timewarp::git::objects::{ObjectStore, hash};
use timewarp::git::refs::{RefFormat, Refs};
use timewarp::git::repo::Repo;
use timewarp::git::{ObjectFormat, Oid};
use timewarp::ops::blame::agent_trace::{Note, Records};
use timewarp::ops::blame::git_ai::Log;
use timewarp::ops::sharing::fields::{Kind, put_together, take_apart};
use timewarp::ops::sharing::record::Shared;
use timewarp::redact::Redactor;
use timewarp::store::id::SnapshotId;
use timewarp::store::issue::Issue;
use timewarp::store::lock::Owner;
use timewarp::store::session::SessionRecord;
use timewarp::store::snapshot::SnapshotRecord;
use timewarp::store::state::{Journal, State, parse_versioned, path_from_stored, stored_path};
use timewarp::store::{address, names};
use timewarp::worktree::attributes::{AttributeConfig, AttributeFiles, DirAttributes};
use timewarp::worktree::cache;
use timewarp::worktree::globs::{GlobSettings, Globs, Source};
use timewarp::worktree::ignore::{DirRules, PatternFile};
use timewarp::worktree::pattern::Pattern;
use timewarp::worktree::watch::message::{Answer, Request};
use timewarp::worktree::watch::mounts;
use timewarp::worktree::watch::seen::{self, Seen};

thread_local! {
    /// A directory for what is read from files. It stands as long as its thread.
    static ROOM: LazyCell<tempfile::TempDir> = LazyCell::new(|| tempfile::tempdir().unwrap());
}

fn in_room(test: impl FnOnce(&Path)) {
    ROOM.with(|room| test(room.path()));
}

/// No tree is there.
struct NoTrees(ObjectFormat);

impl TreeSource for NoTrees {
    fn format(&self) -> ObjectFormat {
        self.0
    }

    fn tree(&self, _: Oid) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// An index file, of either format.
pub fn index(bytes: &[u8]) {
    for format in ObjectFormat::ALL {
        index_of(format, bytes);
    }
}

fn index_of(format: ObjectFormat, bytes: &[u8]) {
    let (nowhere, trees) = (Path::new("/nonexistent"), NoTrees(format));
    let Ok(index) = Index::parse(bytes.to_vec(), nowhere, &trees, Checksum::Trust) else {
        return;
    };
    for (path, entry) in index.iter() {
        assert!(index.has_path(path));
        assert!(index.position(path, entry.stage).is_ok());
    }
    let written = index.write_bytes();
    let again = Index::parse(written, nowhere, &trees, Checksum::Verify);
    assert_eq!(again.expect("what is written is read").len(), index.len());
}

/// A tree object, without its header, of either format.
pub fn tree(bytes: &[u8]) {
    for format in ObjectFormat::ALL {
        tree_of(format, bytes);
    }
}

fn tree_of(format: ObjectFormat, bytes: &[u8]) {
    let Ok(entries) = timewarp::git::tree::parse(bytes, format) else {
        return;
    };
    for entry in entries {
        assert!(!entry.name.is_empty() && !entry.name.contains(&b'/'));
        assert!(
            timewarp::git::path::is_safe_component(entry.name),
            "{:?}",
            entry.name.escape_ascii()
        );
    }
}

/// An object that is given out is the one that was asked for, or `verify` says that it is not. Answers how many are sound.
pub fn read_objects(git_dir: &Path, oids: &[Oid]) -> usize {
    let mut sound = 0;
    let format = oids.first().map(Oid::format).unwrap_or_default();
    let Ok(store) = ObjectStore::open(git_dir, format) else {
        return sound;
    };
    for oid in oids {
        let _ = store.contains(*oid);
        let header = store.header(*oid);
        let verified = store.verify(*oid);
        if let Ok((kind, bytes)) = store.read(*oid)
            && verified.is_ok()
        {
            assert_eq!(hash(format, kind, &bytes).unwrap(), *oid);
            let same = Some((kind, bytes.len() as u64));
            sound += usize::from(header.is_ok_and(|header| header == same));
        }
    }
    sound
}

/// A loose object; or, where the first byte is odd, an index of a pack and the pack: the length of the former comes before. Where
/// its second bit is set ids are of SHA-256.
pub fn objects(bytes: &[u8]) {
    let Some((&form, rest)) = bytes.split_first() else {
        return;
    };
    let format = ObjectFormat::ALL[usize::from(form >> 1 & 1)];
    in_room(|room| {
        let oid = format.first_of(&[0xaa; 32]).unwrap();
        let objects = room.join("objects");
        let (loose, packs) = (objects.join("aa"), objects.join("pack"));
        for dir in [&loose, &packs] {
            std::fs::create_dir_all(dir).unwrap();
        }
        if form % 2 == 0 {
            let file = loose.join("a".repeat(format.digits() - 2));
            std::fs::write(&file, rest).unwrap();
            read_objects(room, &[oid]);
            std::fs::remove_file(file).unwrap();
        } else if let Some((length, both)) = rest.split_first_chunk::<2>() {
            let length = usize::from(u16::from_le_bytes(*length)).min(both.len());
            let (idx, pack) = both.split_at(length);
            let stem = packs.join(format!("pack-{}", "a".repeat(40)));
            std::fs::write(stem.with_extension("pack"), pack).unwrap();
            std::fs::write(stem.with_extension("idx"), idx).unwrap();
            // The ids of an index begin behind its header and fan-out.
            let ids = idx
                .get(8 + 1024..)
                .unwrap_or_default()
                .chunks_exact(format.width());
            let oids: Vec<Oid> = ids.take(8).map(|id| Oid::from_bytes(id).unwrap()).collect();
            read_objects(room, &[vec![oid], oids].concat());
            std::fs::remove_dir_all(&packs).unwrap();
        }
    });
}

/// `packed-refs`.
pub fn packed_refs(bytes: &[u8]) {
    in_room(|room| {
        std::fs::write(room.join("packed-refs"), bytes).unwrap();
        let refs = Refs::new(room.to_owned(), room.to_owned(), RefFormat::Files);
        let _ = refs.list("refs/timewarp/");
        for name in refs.names("refs/").unwrap_or_default() {
            let _ = refs.read(&name);
        }
    });
}

/// A table of refs and logs, as the only one of a stack.
pub fn reftable(bytes: &[u8]) {
    in_room(|room| {
        let room = room.join("tables");
        let dir = room.join("reftable");
        let _ = std::fs::remove_dir_all(&room);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("a.ref"), bytes).unwrap();
        std::fs::write(dir.join("tables.list"), "a.ref\n").unwrap();
        let refs = || Refs::new(&room, &room, RefFormat::Reftable);
        let read = refs();
        let names = read.names("refs/").unwrap_or_default();
        let _ = (read.list("refs/heads/"), read.read("HEAD"));
        for name in &names {
            let _ = read.read(name);
        }
        // Takes in all that the table has, logs too.
        let oid = Oid::from_hex(&crate::sandbox::Kind::of_all().id("8")).unwrap();
        let mut change = read.transaction();
        change.create("refs/timewarp/made", oid);
        if change.commit().is_ok() {
            assert_eq!(refs().read("refs/timewarp/made").unwrap(), Some(oid));
        }
    });
}

/// The configuration of a repository, conditional includes and all.
pub fn config(bytes: &[u8]) {
    in_room(|room| {
        let git_dir = room.join("repo/.git");
        for dir in ["objects", "refs"] {
            std::fs::create_dir_all(git_dir.join(dir)).unwrap();
        }
        std::fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git_dir.join("config"), bytes).unwrap();
        if let Ok(repo) = Repo::discover(&room.join("repo"), &Env::default()) {
            let _ = (repo.ignore_case(), repo.file_mode(), repo.excludes_file());
        }
    });
}

/// Ignore files, attributes, and globs of ours.
pub fn patterns(bytes: &[u8]) {
    let _ = PatternFile::parse(bytes, b"d");
    if let Some(pattern) = Pattern::parse(bytes) {
        let _ = pattern.is_negative();
    }
    let rules = DirRules::root(Default::default()).descend(b"", Some(bytes));
    let files = AttributeFiles {
        root: Some(bytes),
        ..AttributeFiles::default()
    };
    let attributes = DirAttributes::root(files, AttributeConfig::default());
    for path in [&b"a"[..], b"a/b/c.txt", b"\xff*[", b"foo.log"] {
        let _ = (rules.is_ignored(path, true), attributes.conversion(path));
    }
    let text = String::from_utf8_lossy(bytes);
    let settings = GlobSettings {
        use_defaults: true,
        exclude: vec![(text.clone().into_owned(), Source::User)],
        include: vec![(text.into_owned(), Source::Team)],
        ..GlobSettings::default()
    };
    if let Ok(globs) = Globs::new(&settings) {
        let _ = globs.hits(b"a/b/c.txt", false);
        let _ = globs.leads_into(b"a", None);
    }
}

/// Names, ids and addresses.
pub fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = Owner::parse(bytes);
    let _ = address::parse(&text, Moment(1_772_292_600_000_000_000));
    let _ = path_from_stored(&text);
    if let Some(id) = SnapshotId::parse(&text) {
        assert_eq!(id.to_string(), text);
        let parsed = names::parse_snapshot_ref(&names::snapshot_ref(&id));
        assert_eq!(parsed, Some(id));
    }
    let _ = names::parse_snapshot_ref(&text);
    assert_eq!(
        path_from_stored(&stored_path(bytes)).as_deref(),
        Some(bytes)
    );
}

/// A commit of ours with its record, and the records that stand in notes.
pub fn records(bytes: &[u8]) {
    let _ = SnapshotRecord::from_message(bytes, "whole");
    if let Some(commit) = RawCommit::parse(bytes)
        && let Ok((title, record)) = SnapshotRecord::from_message(&commit.message, "damaged")
    {
        let again = record.message(&title);
        SnapshotRecord::from_message(again.as_bytes(), "again").expect("what is written is read");
    }
    let _ = parse_versioned::<SessionRecord>(bytes, 1, "session");
    if let Ok(json) = serde_json::from_slice(bytes)
        && let Ok(issue) = Issue::from_json(&json)
    {
        Issue::from_json(&issue.to_json()).expect("what is written is read");
    }
}

/// `state.json`, and journals of swaps.
pub fn state(bytes: &[u8]) {
    let _ = parse_versioned::<State>(bytes, 1, "state");
    let Ok(journal) = parse_versioned::<Journal>(bytes, 1, "journal") else {
        return;
    };
    for entry in &journal.entries {
        if let Some(path) = path_from_stored(&entry.path) {
            assert_eq!(path_from_stored(&stored_path(&path)), Some(path));
        }
    }
}

/// A file of the stat cache, of either format. Answers whether it got past the checks.
pub fn stat_cache(bytes: &[u8]) -> bool {
    ObjectFormat::ALL
        .map(|format| stat_cache_of(format, bytes))
        .contains(&true)
}

fn stat_cache_of(format: ObjectFormat, bytes: &[u8]) -> bool {
    let Some((manifest, _)) = cache::decode(bytes, format) else {
        return false;
    };
    assert!(manifest.cached_names() + manifest.cached_files() as usize <= bytes.len());
    for (dir, file) in manifest.entries() {
        let path = manifest.path_of(dir, &file);
        let _ = manifest.file(&path);
    }
    for dir in &manifest.dirs {
        let _ = manifest.find_dir(manifest.dir_path(dir));
    }
    assert_eq!(manifest.subtree_ends().len(), manifest.dirs.len());
    true
}

/// As [`stat_cache`], with the checksum put right: without that no damage gets past the first look.
pub fn sealed_stat_cache(bytes: &[u8]) -> bool {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 16 {
        let sum = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    }
    stat_cache(&bytes)
}

/// A session file, as every agent's.
pub fn transcript(bytes: &[u8]) {
    in_room(|room| {
        let file = room.join("session.jsonl");
        std::fs::write(&file, bytes).unwrap();
        let _ = agents::read(&file, Detail::Full);
        for agent in agents::AGENTS {
            let _ = agent.read(&file, Detail::Outline);
        }
    });
}

/// Text with secrets.
pub fn redact(bytes: &[u8]) {
    let redactor = Redactor::new();
    let text = String::from_utf8_lossy(bytes);
    let redacted = redactor.text(&text);
    let again = redactor.text(&redacted.text);
    assert_eq!(again.text, redacted.text, "redacting settles");
    let _ = redactor.json_lines(&text);
    let _ = redactor.beginning(&text, 60);
    let _ = timewarp::redact::redacted_bytes(bytes, |text| redactor.text(text));
}

/// What other tools note of who wrote a line.
pub fn claims(bytes: &[u8]) {
    for path in ["a.txt", "my file.txt"] {
        if let Ok(log) = Log::parse(bytes) {
            let _ = log.claims(path);
            let _ = Log::parse(log.text().as_bytes()).map(|again| again.is_ours());
        }
        for record in Records::parse(bytes, |_| true).records {
            let _ = (record.claims(path), record.commit(None));
        }
    }
    if let Some(note) = Note::parse(bytes) {
        assert_eq!(Note::parse(note.text().as_bytes()), Some(note));
    }
}

/// What a watcher is asked and answers, and the moment that is kept of it.
pub fn watcher(bytes: &[u8]) {
    if let Some(answer) = Answer::parse(bytes) {
        let written = answer.encode();
        let again = Answer::parse(written.get(4..).unwrap_or_default());
        assert_eq!(again, Some(answer), "what is written is read again");
    }
    if let Some(request) = Request::parse(bytes) {
        assert_eq!(request.encode(), bytes);
    }
    let _ = mounts::beneath(bytes, Path::new("/work tree"));
    in_room(|room| {
        std::fs::write(room.join(seen::FILE), bytes).unwrap();
        let _ = seen::moment(room);
        if let Some(seen) = Seen::load(room) {
            seen.save(room).unwrap();
            assert_eq!(Seen::load(room), Some(seen));
        }
    });
}

/// The file of a shared issue.
pub fn shared(bytes: &[u8]) {
    let id = "i_20260228_153012_ab12cd";
    let Ok(read) = Shared::decode(Kind::Issue, id, bytes) else {
        return;
    };
    let written = read.encode(Kind::Issue, id);
    let again = Shared::decode(Kind::Issue, id, &written);
    assert_eq!(again.as_ref(), Ok(&read), "what is written is read again");
    assert_eq!(read.merge(&read), read);
    let json = put_together(Kind::Issue, &read.view());
    let _ = take_apart(Kind::Issue, id, "here", &json);
    let _ = Issue::from_json(&json);
    let _ = (
        read.conflicts(),
        read.deletion(),
        read.revived_from(),
        read.origin(),
    );
}
