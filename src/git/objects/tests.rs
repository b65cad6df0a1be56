//! Against real repositories, with git as the judge.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::git::fs::Durable;
use crate::git::{ObjectFormat, Oid};
use tempfile::TempDir;

use super::*;
use crate::error::Code;

/// A bare repository.
struct Repo {
    _dir: TempDir,
    path: PathBuf,
}

impl Repo {
    fn new() -> Self {
        Self::named(b"repo")
    }

    fn named(name: &[u8]) -> Self {
        crate::provided::usual_umask();
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join(OsStr::from_bytes(name));
        std::fs::create_dir(&path).expect("made");
        let repo = Self { _dir: dir, path };
        repo.git(&["init", "-q", "--bare", "."]);
        repo
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn objects(&self) -> PathBuf {
        self.path().join("objects")
    }

    fn store(&self) -> ObjectStore {
        ObjectStore::open(self.path(), ObjectFormat::Sha1).expect("opened")
    }

    fn run(&self, args: &[&str], input: &[u8]) -> std::process::Output {
        let mut git = crate::provided::git(self.path());
        git.args(args).current_dir(self.path());
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "t");
            git.env(format!("GIT_{role}_EMAIL"), "t@example.com");
        }
        let mut child = git
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input).expect("input taken");
        drop(stdin);
        child.wait_with_output().expect("git ends")
    }

    fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = self.run(args, b"");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {told}");
        output.stdout
    }

    /// `git fsck --strict` has nothing to say of objects, and `git cat-file` gives these bytes.
    fn assert_sound(&self, objects: &[(Oid, Vec<u8>)]) {
        let output = self.run(&["fsck", "--strict", "--full", "--no-dangling"], b"");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        for (oid, data) in objects {
            let kind = self.git(&["cat-file", "-t", &oid.to_string()]);
            let kind = String::from_utf8_lossy(&kind);
            let bytes = self.git(&["cat-file", kind.trim(), &oid.to_string()]);
            assert!(&bytes == data, "{oid} differs");
        }
    }

    fn files(&self, dir: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.objects().join(dir)) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.expect("entry").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.into_string().expect("text"))
            .collect();
        names.sort();
        names
    }

    fn temporaries(&self) -> Vec<String> {
        let dirs = [String::new(), "pack".into()]
            .into_iter()
            .chain((0..=255).map(|byte| format!("{byte:02x}")));
        dirs.flat_map(|dir| self.files(&dir))
            .filter(|name| name.starts_with("tmp_"))
            .collect()
    }

    fn loose_path(&self, oid: Oid) -> PathBuf {
        let name = String::from_utf8(loose::name(oid).to_vec()).expect("hex");
        self.objects().join(name)
    }
}

fn pack_mode() -> WriteMode {
    WriteMode::Pack {
        keep_note: "tw abc 4242 99".into(),
        durable: Durable::Yes,
    }
}

fn modes() -> [WriteMode; 2] {
    [WriteMode::Loose, pack_mode()]
}

fn noise(length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    getrandom::fill(&mut data).expect("random bytes");
    data
}

fn text(length: usize) -> Vec<u8> {
    (0..)
        .flat_map(|n: u32| format!("line {n}\n").into_bytes())
        .take(length)
        .collect()
}

fn put_all(writer: &ObjectWriter, contents: Vec<Vec<u8>>) -> Vec<(Oid, Vec<u8>)> {
    contents
        .into_iter()
        .map(|data| {
            let size = data.len() as u64;
            let oid = writer.put_reader(size, &mut &data[..]).expect("put");
            (oid, data)
        })
        .collect()
}

/// Fails the way a full disk or a vanished file would.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

#[test]
fn what_is_written_git_reads_and_so_do_we() {
    for mode in modes() {
        let repo = Repo::new();
        let store = repo.store();
        let writer = ObjectWriter::new(&store, mode.clone()).expect("writer");
        let mut all = put_all(
            &writer,
            vec![
                Vec::new(),
                b"small\n".to_vec(),
                text(50_000),
                noise(50_000),
                text(9 << 20),
                noise(5 << 20),
                text(4 << 20),
                text((4 << 20) + 1),
            ],
        );
        let mut tree = b"100644 a\0".to_vec();
        tree.extend_from_slice(all[1].0.as_bytes());
        let tree_oid = writer.put(ObjectKind::Tree, &tree).expect("tree");
        let commit =
            format!("tree {tree_oid}\nauthor t <t@e> 1 +0000\ncommitter t <t@e> 1 +0000\n\nm\n");
        let commit_oid = writer.put(ObjectKind::Commit, commit.as_bytes());
        let commit_oid = commit_oid.expect("commit");
        let written = writer.finish().expect("finished");
        assert_eq!(written.written.len(), 10);
        assert!(written.reused.is_empty());
        assert_eq!(written.pack.is_some(), mode != WriteMode::Loose);

        assert_eq!(store.read_tree(tree_oid).expect("tree"), tree);
        assert_eq!(
            store.read_commit(commit_oid).expect("commit"),
            commit.as_bytes()
        );
        for (oid, data) in &all {
            assert!(store.contains(*oid));
            store.verify(*oid).expect("sound");
            let size = data.len() as u64;
            let header = store.header(*oid).expect("header");
            assert_eq!(header, Some((ObjectKind::Blob, size)));
            let mut copy = Vec::new();
            assert_eq!(store.copy_blob(*oid, &mut copy).expect("copied"), size);
            assert!(&copy == data);
        }
        all.retain(|(_, data)| data.len() < 60_000);
        repo.assert_sound(&all);
        assert!(repo.temporaries().is_empty());
    }
}

#[test]
fn verify_pack_counts_every_object_once() {
    let repo = Repo::new();
    let store = repo.store();
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    let big = noise(6 << 20);
    let contents: Vec<_> = (0..300).map(|n| text(n * 40)).collect();
    put_all(&writer, contents.clone());
    put_all(&writer, vec![big.clone(), big]);
    put_all(&writer, contents);
    let counted = writer.count();
    let written = writer.finish().expect("finished");
    assert_eq!(written.written.len(), 301);
    let pack = written.pack.expect("a pack");
    let name = format!("objects/pack/{}", pack.name());
    let size = std::fs::metadata(repo.path().join(format!("{name}.pack")))
        .expect("pack")
        .len();
    assert_eq!(counted, (301, size - store.format().width() as u64));
    let listing = repo.git(&["verify-pack", "-v", &format!("{name}.idx")]);
    let listing = String::from_utf8_lossy(&listing);
    assert_eq!(listing.matches(" blob ").count(), 301);
    let note = std::fs::read_to_string(repo.path().join(format!("{name}.keep")));
    assert_eq!(note.expect("keep"), "tw abc 4242 99\n");
    for end in ["pack", "idx"] {
        let metadata = std::fs::metadata(repo.path().join(format!("{name}.{end}")));
        let mode = metadata.expect("there").permissions().mode();
        assert_eq!(mode & 0o222, 0, "nobody writes to it");
    }
}

#[test]
fn threads_share_a_writer() {
    for mode in modes() {
        let repo = Repo::new();
        let store = repo.store();
        let writer = ObjectWriter::new(&store, mode).expect("writer");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let writer = &writer;
                scope.spawn(move || {
                    let own = (0..100).map(|n| format!("{thread} {n}").into_bytes());
                    let shared = (0..100).map(|n| format!("all {n}").into_bytes());
                    let mut large = noise(5 << 20);
                    large.extend(text(1 << 20));
                    put_all(writer, own.chain(shared).chain([large]).collect());
                });
            }
        });
        let written = writer.finish().expect("finished");
        assert_eq!(written.written.len(), 4 * 100 + 100 + 4);
        repo.assert_sound(&[]);
        for oid in written.written {
            store.verify(oid).expect("sound");
        }
    }
}

#[test]
fn nothing_new_makes_no_pack_and_names_what_it_reuses() {
    let repo = Repo::new();
    let large = noise(5 << 20);
    let contents = vec![b"one".to_vec(), b"two".to_vec(), large];
    for (first, second) in [(0, 1), (1, 0), (1, 1)] {
        let repo = Repo::new();
        let store = repo.store();
        let writer = ObjectWriter::new(&store, modes()[first].clone()).expect("writer");
        let all = put_all(&writer, contents.clone());
        let _ = writer.finish().expect("finished");

        let writer = ObjectWriter::new(&store, modes()[second].clone()).expect("writer");
        put_all(&writer, contents.clone());
        let written = writer.finish().expect("finished");
        let mut oids: Vec<_> = all.iter().map(|(oid, _)| *oid).collect();
        oids.sort_unstable();
        assert_eq!(written.reused, oids);
        assert!(written.written.is_empty());
        if second == 0 {
            assert!(written.pack.is_none());
        }
        repo.assert_sound(&all);
    }
    let store = repo.store();
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    assert!(writer.finish().expect("finished").pack.is_none());
    assert!(repo.files("pack").is_empty());
}

#[test]
fn a_size_that_changes_undoes_everything_and_the_writer_goes_on() {
    for mode in modes() {
        let repo = Repo::new();
        let store = repo.store();
        let writer = ObjectWriter::new(&store, mode).expect("writer");
        let before = put_all(&writer, vec![text(10_000)]);
        for data in [noise(9 << 20), text(1000)] {
            let size = data.len() as u64;
            for announced in [size - 1, size + 1] {
                let error = writer.put_reader(announced, &mut &data[..]);
                assert!(matches!(error, Err(PutError::SizeChanged)), "{error:?}");
            }
            let mut breaks = data.chain(Broken);
            let error = writer.put_reader(size + 1, &mut breaks);
            assert!(matches!(error, Err(PutError::Source(_))), "{error:?}");
        }
        let after = put_all(&writer, vec![b"after".to_vec(), noise(5 << 20)]);
        let written = writer.finish().expect("finished");
        assert_eq!(written.written.len(), 3);
        assert!(repo.temporaries().is_empty());
        repo.assert_sound(&[before, after].concat());
        if let Some(pack) = written.pack {
            let idx = format!("objects/pack/{}.idx", pack.name());
            repo.git(&["verify-pack", &idx]);
        }
    }
}

#[test]
fn an_unfinished_writer_leaves_no_file() {
    let repo = Repo::new();
    let store = repo.store();
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    put_all(&writer, vec![noise(6 << 20)]);
    assert_eq!(repo.temporaries().len(), 1);
    drop(writer);
    assert!(repo.files("pack").is_empty());
}

#[test]
fn damaged_loose_objects_are_never_read_as_good() {
    let repo = Repo::new();
    let store = repo.store();
    let writer = ObjectWriter::new(&store, WriteMode::Loose).expect("writer");
    let all = put_all(
        &writer,
        vec![b"one".to_vec(), b"two".to_vec(), text(40 << 20)],
    );
    let _ = writer.finish().expect("finished");
    let replace = |oid: Oid, bytes: &[u8]| {
        let path = repo.loose_path(oid);
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(path, bytes).expect("written");
    };
    let [(one, _), (two, _), (large, _)] = &all[..] else {
        panic!("three objects")
    };
    let two_bytes = std::fs::read(repo.loose_path(*two)).expect("read");
    replace(*one, &two_bytes);
    replace(*two, &two_bytes[..two_bytes.len() - 3]);
    let mut bytes = std::fs::read(repo.loose_path(*large)).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    replace(*large, &bytes);
    for oid in [*one, *two, *large] {
        let wanted = format!("object {oid} is damaged");
        for error in [
            store.verify(oid).expect_err("damaged"),
            store.copy_blob(oid, &mut io::sink()).expect_err("damaged"),
            store.read(oid).expect_err("damaged"),
        ] {
            assert_eq!(error.message(), wanted);
            assert_eq!(error.code(), Code::CorruptRecord);
        }
    }
    for oid in [*one, *two, *large] {
        assert!(!store.freshen(oid), "what is damaged is written again");
        assert!(store.still_has(&[oid]), "which its name does not tell");
    }
    std::fs::remove_file(repo.loose_path(*two)).expect("removed");
    assert!(!store.still_has(&[*one, *two, *large]));
    let gone = Oid::from_bytes(&[9; 20]).expect("an id");
    let error = store.read(gone).expect_err("missing");
    assert_eq!(error.message(), format!("object {gone} is missing"));
    assert_eq!(store.header(gone).expect("answered"), None);
}

#[test]
fn an_empty_loose_file_counts_as_absent_and_is_written_again() {
    let repo = Repo::new();
    let store = repo.store();
    let oid = hash(ObjectFormat::Sha1, ObjectKind::Blob, b"content").expect("no attack");
    let path = repo.loose_path(oid);
    std::fs::create_dir_all(path.parent().expect("fan-out")).expect("made");
    std::fs::write(&path, b"").expect("written");
    assert!(!store.contains(oid));
    let writer = ObjectWriter::new(&store, WriteMode::Loose).expect("writer");
    let all = put_all(&writer, vec![b"content".to_vec()]);
    assert_eq!(writer.finish().expect("finished").written, [oid]);
    repo.assert_sound(&all);
}

#[test]
fn a_good_copy_stands_in_for_a_damaged_one() {
    let repo = Repo::new();
    let store = repo.store();
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    let all = put_all(&writer, vec![b"content".to_vec()]);
    let _ = writer.finish().expect("finished");
    let path = repo.loose_path(all[0].0);
    std::fs::create_dir_all(path.parent().expect("fan-out")).expect("made");
    std::fs::write(&path, b"nonsense").expect("written");
    assert_eq!(store.read(all[0].0).expect("packed").1, b"content");
}

/// Makes commits of similar texts and packs them, so that some objects are deltas.
fn packed_by_git(repo: &Repo) -> Vec<(Oid, Vec<u8>)> {
    let mut all = Vec::new();
    let mut stream = Vec::new();
    for n in 0..20 {
        let mut data = text(30_000);
        data.extend_from_slice(format!("end {n}").as_bytes());
        writeln!(stream, "commit refs/heads/main").expect("memory");
        writeln!(stream, "committer t <t@e> {n} +0000\ndata 0").expect("memory");
        writeln!(stream, "M 100644 inline f\ndata {}", data.len()).expect("memory");
        stream.extend_from_slice(&data);
        stream.push(b'\n');
        all.push((
            hash(ObjectFormat::Sha1, ObjectKind::Blob, &data).expect("no attack"),
            data,
        ));
    }
    let output = repo.run(&["fast-import", "--quiet"], &stream);
    assert!(output.status.success());
    repo.git(&["repack", "-q", "-a", "-d", "-f"]);
    all
}

#[test]
fn deltas_that_git_made_are_read() {
    let repo = Repo::new();
    let all = packed_by_git(&repo);
    let listing = repo.git(&["count-objects", "-v"]);
    assert!(String::from_utf8_lossy(&listing).contains("count: 0"));
    let store = repo.store();
    for (oid, data) in &all {
        assert!(store.contains(*oid) && store.freshen(*oid));
        store.verify(*oid).expect("sound");
        let (kind, bytes) = store.read(*oid).expect("read");
        assert_eq!(kind, ObjectKind::Blob);
        assert!(&bytes == data);
        let size = data.len() as u64;
        let header = store.header(*oid).expect("header");
        assert_eq!(header, Some((ObjectKind::Blob, size)));
    }
}

#[test]
fn parts_of_ids_name_what_git_says() {
    let repo = Repo::new();
    packed_by_git(&repo);
    let store = repo.store();
    let writer = ObjectWriter::new(&store, WriteMode::Loose).expect("writer");
    // So many that four digits are not always enough.
    put_all(
        &writer,
        (0..600).map(|n| format!("{n}").into_bytes()).collect(),
    );
    let listed = repo.git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ]);
    let listed = String::from_utf8(listed).expect("text");
    let oids: Vec<&str> = listed.lines().collect();
    let mut ambiguous = 0;
    for oid in &oids {
        for digits in [4, 5, 7, 39, 40] {
            let part = &oid[..digits];
            let fitting = oids.iter().filter(|oid| oid.starts_with(part)).count();
            let found = store.resolve(PartOfId::parse(part.as_bytes()).expect("a part"));
            let found = found.map(|oid| oid.to_string());
            assert_eq!(found.as_deref(), (fitting == 1).then_some(*oid), "{part}");
            ambiguous += usize::from(fitting > 1);
        }
    }
    assert!(ambiguous > 0);
    // One that others made since is found, too.
    let one = repo.run(&["hash-object", "-w", "--stdin"], b"made by git");
    let one = String::from_utf8(one.stdout).expect("text");
    let part = PartOfId::parse(&one.as_bytes()[..12]).expect("a part");
    assert_eq!(store.resolve(part).expect("found").to_string(), one.trim());
}

#[test]
fn deltas_that_name_their_bases_are_read() {
    let repo = Repo::new();
    let all = packed_by_git(&repo);
    repo.git(&["config", "repack.useDeltaBaseOffset", "false"]);
    repo.git(&["repack", "-q", "-a", "-d", "-f"]);
    let store = repo.store();
    for (oid, data) in &all {
        assert!(&store.read(*oid).expect("read").1 == data);
        assert_eq!(
            store.header(*oid).expect("header"),
            Some((ObjectKind::Blob, data.len() as u64))
        );
    }
}

#[test]
fn a_base_that_is_damaged_spoils_what_is_made_of_it_until_it_is_mended() {
    let repo = Repo::new();
    let all = packed_by_git(&repo);
    let pack = repo
        .files("pack")
        .into_iter()
        .find(|name| Path::new(name).extension() == Some("pack".as_ref()));
    let pack = repo.objects().join("pack").join(pack.expect("one"));
    let listed = repo.git(&[
        "verify-pack",
        "-v",
        pack.with_extension("idx").to_str().expect("text"),
    ]);
    // A whole object has a line of five words: name, kind, size, size in the pack, and where it begins.
    let listed = String::from_utf8(listed).expect("text");
    let lines = listed
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let whole: Vec<usize> = lines
        .filter(|words| words.len() == 5 && words[1] == "blob")
        .map(|words| words[4].parse().expect("a number"))
        .collect();
    assert!((1..all.len() / 2).contains(&whole.len()), "{listed}");
    let good = std::fs::read(&pack).expect("read");
    let replace = |bytes: &[u8]| {
        std::fs::remove_file(&pack).expect("removed");
        std::fs::write(&pack, bytes).expect("written");
    };
    // A size that is a little too large, one that is nowhere, and bytes that are others.
    for (place, bits) in [(0, 1), (2, 0x40), (2, 0xc0), (40, 0xff)] {
        let mut bad = good.clone();
        for at in &whole {
            bad[at + place] ^= bits;
        }
        replace(&bad);
        let store = repo.store();
        for (oid, _) in &all {
            let error = store.verify(*oid).expect_err("damaged");
            assert_eq!(error.code(), Code::CorruptRecord, "{place} {bits}");
        }
        replace(&good);
        for (oid, data) in &all {
            assert!(&store.read(*oid).expect("mended").1 == data);
        }
    }
}

#[test]
fn deltas_are_read_where_the_path_is_not_text() {
    let (other, repo) = (Repo::named(b"other \xff"), Repo::named(b"odd \xff\n"));
    let mut all = packed_by_git(&repo);
    let info = repo.objects().join("info");
    std::fs::create_dir_all(&info).expect("made");
    let mut line = other.objects().as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    std::fs::write(info.join("alternates"), line).expect("written");
    let store = other.store();
    let writer = ObjectWriter::new(&store, WriteMode::Loose).expect("writer");
    all.extend(put_all(&writer, vec![b"other".to_vec()]));
    let store = repo.store();
    for (oid, data) in &all {
        assert!(&store.read(*oid).expect("read").1 == data);
    }
}

#[test]
fn damaged_packs_are_never_read_as_good() {
    let repo = Repo::new();
    let store = repo.store();
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    let all = put_all(&writer, vec![noise(10_000), noise(33 << 20)]);
    let kept = writer.finish().expect("finished").pack.expect("a pack");
    let path = repo.objects().join(format!("pack/{}.pack", kept.name()));
    let mut bytes = std::fs::read(&path).expect("read");
    for at in [5_000, 20 << 20] {
        bytes[at] ^= 1;
    }
    std::fs::remove_file(&path).expect("removed");
    std::fs::write(&path, bytes).expect("written");
    for (oid, _) in all {
        let error = store.verify(oid).expect_err("damaged");
        assert_eq!(error.message(), format!("object {oid} is damaged"));
        assert!(store.copy_blob(oid, &mut io::sink()).is_err());
        assert!(store.read(oid).is_err());
    }
}

#[test]
fn the_store_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<ObjectStore>();
    shared::<ObjectWriter>();
    shared::<KeptPack>();
}

#[test]
fn index_version_1_is_read() {
    let repo = Repo::new();
    repo.git(&["config", "pack.indexVersion", "1"]);
    let all = packed_by_git(&repo);
    let store = repo.store();
    for (oid, data) in &all {
        assert!(&store.read(*oid).expect("read").1 == data);
    }
}

#[test]
fn packs_of_others_are_known_after_a_refresh() {
    let repo = Repo::new();
    let store = repo.store();
    let oid = hash(ObjectFormat::Sha1, ObjectKind::Blob, b"theirs").expect("no attack");
    assert!(!store.contains(oid));
    let unsure = repo.store();
    assert!(!unsure.is_sound(oid));
    let theirs = repo.store();
    let writer = ObjectWriter::new(&theirs, pack_mode()).expect("writer");
    put_all(&writer, vec![b"theirs".to_vec()]);
    let kept = writer.finish().expect("finished").pack.expect("a pack");
    assert!(theirs.contains(oid), "its own writer's pack");
    assert!(!store.contains(oid), "no directory is read again unasked");
    assert!(
        unsure.is_sound(oid),
        "what is not found is looked for again"
    );
    assert_eq!(store.read(oid).expect("read").1, b"theirs");
    store.refresh();
    assert!(store.contains(oid));
    for end in ["idx", "pack"] {
        let file = format!("pack/{}.{end}", kept.name());
        std::fs::remove_file(repo.objects().join(file)).expect("removed");
    }
    assert!(!store.freshen(oid), "a pack that is gone keeps nothing");
    store.refresh();
    assert!(!store.contains(oid));
}

/// A pack directory that cannot be read, and why is not that it is absent.
fn with_unreadable_packs(repo: &Repo, meanwhile: impl FnOnce()) {
    let (dir, away) = (repo.objects().join("pack"), repo.objects().join("away"));
    std::fs::rename(&dir, &away).expect("moved");
    std::os::unix::fs::symlink("pack", &dir).expect("a link to itself");
    meanwhile();
    std::fs::remove_file(&dir).expect("removed");
    std::fs::rename(&away, &dir).expect("moved back");
}

#[test]
fn a_list_of_packs_that_cannot_be_read_takes_none_for_gone() {
    let repo = Repo::new();
    let (store, fresh) = (repo.store(), repo.store());
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    let (oid, bytes) = put_all(&writer, vec![b"in a pack".to_vec()]).remove(0);
    let _ = writer.finish().expect("finished");
    assert!(store.contains(oid) && store.has_seen_all_packs());
    with_unreadable_packs(&repo, || {
        store.refresh();
        assert!(store.contains(oid), "what was known is still there");
        assert!(!fresh.contains(oid), "nothing is known yet");
    });
    for store in [&store, &fresh] {
        assert!(!store.has_seen_all_packs(), "what was missed is not lost");
        assert!(store.is_sound(oid), "a miss asks again");
        assert_eq!(store.read(oid).expect("read").1, bytes);
    }
    assert!(repo.store().has_seen_all_packs());
}

#[test]
fn what_cannot_be_looked_at_is_neither_there_nor_gone() {
    let (far, repo) = (Repo::new(), Repo::new());
    let oid = hash(ObjectFormat::Sha1, ObjectKind::Blob, b"bytes").expect("hashed");
    for repo in [&far, &repo] {
        repo.run(&["hash-object", "-w", "--stdin"], b"bytes");
    }
    let place = |repo: &Repo| repo.loose_path(oid);
    let asked = || {
        let store = repo.store();
        [store.is_there(oid), store.is_intact(oid)].map(|said| said.map_err(|error| error.code()))
    };
    assert_eq!(asked(), [Ok(true), Ok(true)]);
    std::fs::remove_file(place(&repo)).expect("removed");
    assert_eq!(asked(), [Ok(false), Ok(false)]);
    std::os::unix::fs::symlink(place(&repo), place(&repo)).expect("a link to itself");
    assert_eq!(asked(), [Err(Code::Io), Err(Code::Io)]);
    // A damaged copy says nothing of one that was not seen.
    let line = format!("{}\n", far.objects().display());
    std::fs::write(repo.objects().join("info/alternates"), line).expect("written");
    std::fs::remove_file(place(&far)).expect("removed");
    std::fs::write(place(&far), b"x damaged").expect("written");
    assert_eq!(asked()[1], Err(Code::Io));
    std::fs::remove_file(place(&repo)).expect("removed");
    assert_eq!(asked(), [Ok(true), Ok(false)]);
    std::fs::write(place(&repo), vec![0; 20]).expect("written");
    std::fs::remove_file(place(&far)).expect("removed");
    assert_eq!(asked(), [Ok(false), Ok(false)]);
}

#[test]
fn objects_of_alternates_count_and_are_copied_all_the_same() {
    let (far, near, repo) = (Repo::new(), Repo::new(), Repo::new());
    let mut all = Vec::new();
    for (other, content) in [(&far, text(100)), (&near, text(200))] {
        let store = other.store();
        let mode = if content.len() == 100 {
            pack_mode()
        } else {
            WriteMode::Loose
        };
        let writer = ObjectWriter::new(&store, mode).expect("writer");
        all.extend(put_all(&writer, vec![content]));
        let _ = writer.finish().expect("finished");
    }
    let link = |from: &Repo, line: String| {
        let info = from.objects().join("info");
        std::fs::create_dir_all(&info).expect("made");
        std::fs::write(info.join("alternates"), line).expect("written");
    };
    link(&near, format!("# far\n{}\n", far.objects().display()));
    let name = near.path().parent().and_then(Path::file_name);
    let name = name.expect("name").to_string_lossy();
    link(&repo, format!("../../../{name}/repo/objects\n"));
    link(&far, format!("{}\n", repo.objects().display()));

    let store = repo.store();
    for (oid, data) in &all {
        assert!(store.contains(*oid));
        assert_eq!(&store.read(*oid).expect("read").1, data);
    }
    assert!(store.borrows() && !store.owns(all[0].0));
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    put_all(&writer, all.iter().map(|(_, data)| data.clone()).collect());
    let written = writer.finish().expect("finished");
    assert_eq!((written.reused.len(), written.written.len()), (0, 2));
    assert!(all.iter().all(|(oid, _)| store.owns(*oid)));
    repo.assert_sound(&all);
    let writer = ObjectWriter::new(&store, WriteMode::Loose).expect("writer");
    put_all(&writer, all.iter().map(|(_, data)| data.clone()).collect());
    let written = writer.finish().expect("finished");
    assert_eq!((written.reused.len(), written.written.len()), (2, 0));
}

#[test]
fn much_that_a_commit_has_is_relied_on_where_it_is_lent() {
    let far = Repo::new();
    let stored = |args: &[&str], input: &[u8]| {
        let oid = far.run(args, input).stdout;
        Oid::from_hex_bytes(oid.trim_ascii()).expect("an id")
    };
    let contents = [text(10), noise(1 << 20), noise(1 << 20)];
    let [small, kept, other] = contents.each_ref().map(|data| {
        let oid = stored(&["hash-object", "-w", "--stdin"], data);
        (oid, data)
    });
    let nodes = [small.0, kept.0].map(|oid| format!("100644 blob {oid}\t{oid}\n"));
    let tree = stored(&["mktree"], nodes.concat().as_bytes());
    let tree = stored(&["mktree"], format!("040000 tree {tree}\tdir\n").as_bytes());
    let commit = stored(&["commit-tree", "-m", "kept", &tree.to_string()], b"");
    for mode in modes() {
        let repo = Repo::new();
        let info = repo.objects().join("info");
        std::fs::create_dir_all(&info).expect("made");
        let line = format!("{}\n", far.objects().display());
        std::fs::write(info.join("alternates"), line).expect("written");
        let store = repo.store();
        let writer = ObjectWriter::new(&store, mode).expect("writer");
        let writer = writer.relying_on(Some(commit));
        // A few are copied before anybody looks at the commit.
        put_all(&writer, vec![small.1.clone(), kept.1.clone()]);
        writer.copy_blob(other.0).expect("copied");
        let written = writer.finish().expect("finished");
        assert_eq!(written.reused, [kept.0]);
        let owned = [small.0, kept.0, other.0].map(|oid| store.owns(oid));
        assert_eq!(owned, [true, false, true]);
    }
}

#[test]
fn deltas_in_an_alternate_are_read() {
    let (other, repo) = (Repo::new(), Repo::new());
    let all = packed_by_git(&other);
    let info = repo.objects().join("info");
    std::fs::create_dir_all(&info).expect("made");
    let line = format!("{}\n", other.objects().display());
    std::fs::write(info.join("alternates"), line).expect("written");
    let store = repo.store();
    for (oid, data) in &all {
        assert!(&store.read(*oid).expect("read").1 == data);
    }
}

#[test]
fn freshening_renews_the_file_that_holds_the_object() {
    let repo = Repo::new();
    let store = repo.store();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    for mode in modes() {
        let content = format!("{mode:?}").into_bytes();
        let writer = ObjectWriter::new(&store, mode).expect("writer");
        let all = put_all(&writer, vec![content]);
        let written = writer.finish().expect("finished");
        let path = match &written.pack {
            Some(pack) => repo.objects().join(format!("pack/{}.pack", pack.name())),
            None => repo.loose_path(all[0].0),
        };
        let mtime = || std::fs::metadata(&path).and_then(|it| it.modified());
        let file = std::fs::File::open(&path).expect("opened");
        file.set_modified(old).expect("aged");
        assert_eq!(mtime().expect("mtime"), old);
        assert!(store.freshen(all[0].0));
        assert!(mtime().expect("mtime") > old);
        assert!(store.still_has(&[all[0].0]));
    }
}

#[test]
fn objects_in_cruft_packs_are_written_again() {
    let repo = Repo::new();
    let content = b"cruft".to_vec();
    repo.run(&["hash-object", "-w", "--stdin"], &content);
    repo.git(&["gc", "-q", "--cruft", "--prune=never"]);
    assert!(
        repo.files("pack")
            .iter()
            .any(|name| name.ends_with(".mtimes"))
    );
    let store = repo.store();
    let writer = ObjectWriter::new(&store, WriteMode::Loose).expect("writer");
    let all = put_all(&writer, vec![content]);
    assert!(store.contains(all[0].0));
    assert_eq!(writer.finish().expect("finished").written.len(), 1);
}

#[test]
fn gc_leaves_a_kept_pack_alone_until_it_is_released() {
    let repo = Repo::new();
    let store = repo.store();
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    let all = put_all(&writer, vec![b"unreferenced".to_vec(), noise(6 << 20)]);
    repo.git(&["gc", "-q", "--prune=now"]);
    let kept = writer.finish().expect("finished though gc ran").pack;
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.assert_sound(&all);
    kept.expect("a pack").release().expect("released");
    repo.git(&["gc", "-q", "--prune=now"]);
    store.refresh();
    assert!(all.iter().all(|(oid, _)| !store.contains(*oid)));
    assert!(!repo.files("pack").concat().contains(".keep"));
}

#[test]
fn equal_packs_have_a_keep_each() {
    let repo = Repo::new();
    let stores = [repo.store(), repo.store()];
    let writers = stores
        .each_ref()
        .map(|store| ObjectWriter::new(store, pack_mode()).expect("writer"));
    for writer in &writers {
        put_all(writer, vec![b"the same".to_vec()]);
    }
    let [first, second] =
        writers.map(|writer| writer.finish().expect("finished").pack.expect("a pack"));
    first.release().expect("released");
    let file = format!("pack/{}.keep", second.name());
    assert!(repo.objects().join(file).exists());
}

#[test]
fn only_keeps_of_our_dead_are_cleared() {
    let repo = Repo::new();
    let store = repo.store();
    let nobody_needs = |_: &str| false;
    assert_eq!(store.clear_dead(&nobody_needs).expect("none"), 0);
    let keep = |name: &str, note: &str| {
        let path = repo.objects().join(format!("pack/pack-{name}.keep"));
        std::fs::write(path, note).expect("written");
    };
    let writer = ObjectWriter::new(&store, pack_mode()).expect("writer");
    put_all(&writer, vec![b"of a process that lives".to_vec()]);
    let live = writer.finish().expect("finished").pack.expect("a pack");
    // Whatever number its process has: from another container it means somebody else.
    keep("dead", "tw a 1 10\n");
    keep("reborn", &format!("tw c {} 0\n", std::process::id()));
    keep("needed", "tw travel-abcdef 1 10\n");
    keep("git", "receive-pack 1 on host\n");
    keep("empty", "");
    let needed = |token: &str| token == "travel-abcdef";
    assert_eq!(store.clear_dead(&needed).expect("cleared"), 2);
    let mut keeps = repo.files("pack");
    keeps.retain(|name| Path::new(name).extension().is_some_and(|end| end == "keep"));
    let ours = format!("{}.keep", live.name());
    let mut wanted = [
        "pack-empty.keep",
        "pack-git.keep",
        "pack-needed.keep",
        &ours,
    ];
    wanted.sort_unstable();
    assert_eq!(keeps, wanted);
    // Dropped without being released, as by a death. A child that another test is just starting still has it open.
    drop(live);
    let mut tries = 0..1000;
    while store.clear_dead(&needed).expect("cleared") == 0 {
        tries.next().expect("cleared in time");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(!repo.files("pack").contains(&ours));
}

#[test]
fn what_our_dead_began_is_cleared() {
    let repo = Repo::new();
    let store = repo.store();
    let write = |name: &str, text: &str| {
        let path = repo.objects().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    let live = format!("tmp_pack_tw-{}-00ff", crate::git::process::Maker::this());
    write("pack/tmp_pack_tw-4294967295-10-00ff", "");
    write(&format!("pack/{live}"), "");
    write("pack/tmp_pack_XyZ123", "git's");
    write("ab/tmp_obj_tw-4294967295-10-00ff", "");
    write("pack/pack-torn.keep", "tw a 1 10\n");
    write("pack/pack-torn.pack", "PACK");
    assert_eq!(store.clear_dead(&|_| false).expect("cleared"), 1);
    assert_eq!(repo.files("pack"), ["tmp_pack_XyZ123", live.as_str()]);
    assert!(repo.files("ab").is_empty());
}

#[test]
fn missing_directories_are_made() {
    for mode in modes() {
        let repo = Repo::new();
        for dir in ["pack", "info"] {
            std::fs::remove_dir(repo.objects().join(dir)).expect("removed");
        }
        let store = repo.store();
        let writer = ObjectWriter::new(&store, mode).expect("writer");
        let all = put_all(&writer, vec![b"content".to_vec()]);
        let _ = writer.finish().expect("finished");
        repo.assert_sound(&all);
    }
}

#[test]
fn a_write_that_fails_fails_the_whole() {
    for mode in modes() {
        let repo = Repo::new();
        let store = repo.store();
        let oid = hash(ObjectFormat::Sha1, ObjectKind::Blob, b"content").expect("no attack");
        // Files where directories must be: fails for root, too.
        std::fs::remove_dir(repo.objects().join("pack")).expect("removed");
        std::fs::write(repo.objects().join("pack"), b"").expect("written");
        let fan_out = repo.loose_path(oid);
        std::fs::write(fan_out.parent().expect("fan-out"), b"").expect("written");
        let writer = ObjectWriter::new(&store, mode).expect("writer");
        let error = writer
            .put(ObjectKind::Blob, b"content")
            .expect_err("no way");
        let path = repo.objects().canonicalize().expect("path");
        let wanted = format!("cannot write objects to '{}': ", path.display());
        assert!(error.message().starts_with(&wanted), "{error}");
        assert!(writer.finish().is_err());
    }
}
