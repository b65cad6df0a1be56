use std::borrow::Cow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::git::ObjectFormat;
use crate::git::own::OwnDirs;
use crate::progress::Silent;
use crate::worktree::cache;
use crate::worktree::capture::{HashOnly, Hashing, build_trees, drop_gone, hash_files};
use crate::worktree::globs::{GlobSettings, Globs};
use crate::worktree::ignore::{Globals, PatternFile};
use crate::worktree::manifest::FileFlags;
use crate::worktree::oracle::random::Random;

const FORMAT: ObjectFormat = ObjectFormat::Sha1;

/// Takes everything but names that end in `.skip`.
fn most() -> Rules<'static> {
    let globals = Globals {
        info_exclude: PatternFile::parse(b"*.skip", b""),
        ..Globals::default()
    };
    let globs = Globs::new(&GlobSettings::default()).expect("no globs");
    Rules::new(globals.into(), globs.into(), None)
}

/// A git that knows of nothing.
struct Untracked;

impl Tracked for Untracked {
    fn is_tracked(&self, _: &[u8]) -> bool {
        false
    }

    fn any_beneath(&self, _: &[u8]) -> bool {
        false
    }

    fn is_in_index(&self, _: &[u8]) -> bool {
        false
    }

    fn index_beneath(&self, _: &[u8]) -> bool {
        false
    }

    fn is_forced_dir(&self, _: &[u8]) -> bool {
        false
    }

    fn gitlink(&self, _: &[u8]) -> Option<Oid> {
        None
    }

    fn seeds<'t>(&'t self, _: &[u8], _: bool) -> Seeds<'t> {
        Box::new(|_, _| None)
    }

    fn filtered_clean(&self, _: &[u8], _: &Stamp) -> Option<Oid> {
        None
    }

    fn index_mode(&self, _: &[u8]) -> Option<u32> {
        None
    }

    fn sparse_ignore_file(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// No stamp need be held for racy: every change of a file below moves a size or an inode, and directories that change have a
/// tick of the clock between two looks ([`wait_a_tick`]).
const LATER: i64 = i64::MAX / 2;

/// Waits until a file that is made now gets a later time than one made before.
fn wait_a_tick(dir: &Path) {
    let probe = dir.join("probe");
    let time = || {
        std::fs::write(&probe, "").expect("written");
        let meta = probe.metadata().expect("there");
        std::fs::remove_file(&probe).expect("removed");
        meta.modified().expect("a time")
    };
    let before = time();
    while time() == before {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Waits until nobody has a file in it open for writing: a process that another test has just begun still has what this one wrote, and
/// such a file may change without a sign.
fn wait_for_writers(dir: &Path) {
    for entry in std::fs::read_dir(dir).expect("listed") {
        let path = entry.expect("there").path();
        let meta = path.symlink_metadata().expect("there");
        if meta.is_dir() {
            wait_for_writers(&path);
        } else if meta.is_file() {
            let file = std::fs::File::open(&path).expect("opened");
            while crate::git::fs::has_writer(&file) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Looks, hashes and makes trees; the way that it went in the end.
fn look(root: &Root, old: Option<&Manifest>) -> (Manifest, Way) {
    let seen = match old.map(|old| {
        compare_with_cache(
            root,
            &OwnDirs::default(),
            old,
            Ctime::Trusted,
            &Suspects::All,
        )
    }) {
        Some(Comparison::Differs(seen)) => seen,
        Some(Comparison::Same) => vec![DirChange::Same; old.map_or(0, |old| old.dirs.len())],
        _ => Vec::new(),
    };
    let what = Scan {
        root,
        rules: &most(),
        tracked: &Untracked,
        max_file_size: u64::MAX,
        file_mode: FileMode::Trusted,
        ctime: Ctime::Trusted,
        threads: 2,
        started: LATER,
        own: &OwnDirs::default(),
        seen: &seen,
    };
    let mut way = Way::Fast;
    let mut scanned = scan(&what, old, way).expect("scanned");
    if old.is_none() || matches!(scanned, Scanned::NeedsFull) {
        way = Way::Full;
        scanned = scan(&what, old, way).expect("scanned");
    }
    let mut manifest = match (scanned, old) {
        (Scanned::Unchanged, Some(old)) => old.clone(),
        (Scanned::Changed(found), old) => found.onto(old.map(Cow::Borrowed)),
        other => panic!("{other:?}"),
    };
    let how = Hashing {
        likely: None,
        started: LATER,
        ctime: Ctime::Trusted,
        modes_from_disk: true,
    };
    hash_files(root, &mut manifest, &HashOnly(FORMAT), how, &Silent).expect("hashed");
    drop_gone(&mut manifest);
    build_trees(&mut manifest, &HashOnly(FORMAT), &mut |_, _| {}).expect("built");
    (manifest, way)
}

/// Everything that a manifest says, in words.
fn told(manifest: &Manifest) -> Vec<String> {
    let dirs = manifest.dirs.iter().map(|dir| {
        let parent = manifest.dir_path(&manifest.dirs[dir.parent as usize]);
        format!(
            "{:?} in {:?} {:?} {:?} {}",
            manifest.dir_path(dir),
            parent,
            dir.stamp,
            dir.flags,
            dir.tree
        )
    });
    let files = manifest.entries().map(|(dir, file)| {
        assert!(!file.flags.has(FileFlags::RACY | FileFlags::TO_HASH));
        format!(
            "{:?} {:?} {:?} {:o} {}",
            manifest.path_of(dir, &file),
            file.kind,
            file.stamp,
            file.git_mode,
            file.oid
        )
    });
    dirs.chain(files).collect()
}

fn any_path(random: &mut Random, root: &Path) -> PathBuf {
    let mut path = root.to_owned();
    for _ in 0..=random.below(3) {
        path.push(random.pick(&["a", "b", "b.c", "b-", "z", "no.skip"]));
    }
    path
}

fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path).expect("removed"),
        Ok(_) => std::fs::remove_file(path).expect("removed"),
        Err(_) => {}
    }
}

/// One of the things that happen to a path.
fn disturb(random: &mut Random, root: &Path, round: usize) {
    let path = any_path(random, root);
    let what = random.below(8);
    let parent = path.parent().expect("beneath the root");
    if what < 5 {
        // What stands in the way of its parents gives way.
        let mut at = root.to_owned();
        for part in parent.strip_prefix(root).expect("beneath").components() {
            at.push(part);
            if at.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                clear(&at);
            }
        }
        std::fs::create_dir_all(parent).expect("made");
    }
    let text = "x".repeat(round + 1);
    match what {
        0 | 1 if path.is_file() => {
            // In place: the directory does not move.
            std::fs::write(&path, &text).expect("written");
        }
        0..=2 => {
            clear(&path);
            std::fs::write(&path, &text).expect("written");
        }
        3 => {
            clear(&path);
            symlink(&text, &path).expect("linked");
        }
        4 => {
            clear(&path);
            std::fs::create_dir(&path).expect("made");
        }
        5 if path.is_file() && !path.is_symlink() => {
            let mode = [0o644, 0o755, 0o600][round % 3];
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("set");
        }
        _ => clear(&path),
    }
}

#[test]
fn the_fast_way_finds_what_a_look_at_everything_finds() {
    let mut fast = 0;
    for seed in 1..=12 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let dir = tempfile::tempdir().expect("directory");
        let root = Root::open(dir.path()).expect("opened");
        let cache = tempfile::tempdir().expect("directory");
        let mut known = None;
        for round in 0..24 {
            for _ in 0..=random.below(6) {
                disturb(&mut random, dir.path(), round);
            }
            wait_for_writers(dir.path());
            let (manifest, way) = look(&root, known.as_ref());
            fast += usize::from(way == Way::Fast);
            let (afresh, _) = look(&root, None);
            assert_eq!(told(&manifest), told(&afresh), "seed {seed}, round {round}");
            let (read, _) = through_cache(cache.path(), &manifest);
            assert_eq!(told(&read), told(&afresh), "seed {seed}, round {round}");
            known = Some(read);
            wait_a_tick(cache.path());
        }
    }
    assert!(fast > 200, "only {fast} of 288 rounds went the fast way");
}

#[test]
fn a_time_of_the_future_makes_no_file_racy() {
    let dir = tempfile::tempdir().expect("directory");
    let root = Root::open(dir.path()).expect("opened");
    let file = std::fs::File::create(dir.path().join("file")).expect("created");
    let later = Duration::from_nanos(LATER.unsigned_abs()) * 3 / 2;
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + later)
        .expect("set");
    drop(file);
    wait_for_writers(dir.path());
    let (manifest, _) = look(&root, None);
    let file = manifest.entries().map(|(_, file)| file).next();
    let file = file.expect("the file");
    assert!(file.stamp.mtime > LATER && !file.flags.has(FileFlags::RACY));
}

/// The manifest as the cache gives it back, and how long the cache's files are together.
fn through_cache(dir: &Path, manifest: &Manifest) -> (Manifest, u64) {
    let file = dir.join("cache");
    cache::save(&file, manifest, &cache::Meta::default(), FORMAT).expect("saved");
    let (read, _) = cache::load(&file, FORMAT).expect("a cache");
    let files = std::fs::read_dir(dir).expect("listed");
    let length = files.map(|file| file.expect("there").metadata().expect("there").len());
    (read, length.sum())
}

#[test]
fn names_that_nothing_names_any_more_do_not_pile_up() {
    let dir = tempfile::tempdir().expect("directory");
    let cache = tempfile::tempdir().expect("directory");
    let root = Root::open(dir.path()).expect("opened");
    let mut known = None;
    for round in 0..200 {
        for at in 0..3 {
            let before = dir.path().join(format!("name-{at}-{}", round.max(1) - 1));
            clear(&before);
            std::fs::write(dir.path().join(format!("name-{at}-{round}")), "x").expect("written");
        }
        let (manifest, _) = look(&root, known.as_ref());
        assert_eq!(manifest.entries().count(), 3);
        let (read, length) = through_cache(cache.path(), &manifest);
        assert!(length < 2500, "{length} bytes");
        known = Some(read);
        wait_a_tick(cache.path());
    }
}
