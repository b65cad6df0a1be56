use super::records::{HEADER, seal};
use super::*;
use crate::git::Oid;
use crate::git::fs::Stamp;
use crate::worktree::manifest::{Kind, no_oid};

fn sample() -> (Manifest, Meta) {
    let mut manifest = Manifest::default();
    let root = manifest.intern(b"");
    let sub = manifest.intern(b"sub");
    let name = manifest.intern(b"f\xff");
    let stamp = Stamp {
        mtime: 1,
        ctime: -2,
        ino: 3,
        size: 4,
        mode: 0o100_644,
    };
    let dir = |path, first, end| DirRec {
        path,
        parent: 0,
        first,
        end,
        flags: 0,
        stamp,
        tree: no_oid(),
    };
    manifest.dirs = vec![dir(root, 0, 0), dir(sub, 0, 1)];
    manifest.files = vec![FileRec {
        name,
        kind: Kind::File,
        flags: 3,
        stamp,
        git_mode: 0o100_644,
        oid: Oid::from_str("1234567890123456789012345678901234567890").expect("oid"),
    }];
    let meta = Meta {
        options: "o".into(),
        ..Meta::default()
    };
    (manifest, meta)
}

#[test]
fn what_was_written_is_read() {
    let (manifest, meta) = sample();
    let (read, read_meta) = decode(&encode(&manifest, &meta, 7)).expect("sound");
    assert_eq!(read_meta, meta);
    assert_eq!(
        read.file(b"sub/f\xff").map(|file| (file.oid, file.stamp)),
        Some((manifest.files[0].oid, manifest.files[0].stamp))
    );
}

#[test]
fn a_damaged_cache_is_no_cache() {
    let (manifest, meta) = sample();
    let good = encode(&manifest, &meta, 7);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        assert!(decode(&bad).is_none(), "byte {at}");
        assert!(decode(&good[..at]).is_none(), "length {at}");
    }
}

#[test]
fn offsets_are_validated_behind_a_right_checksum() {
    let (manifest, meta) = sample();
    for at in HEADER..encode(&manifest, &meta, 7).len() {
        let mut bad = encode(&manifest, &meta, 7);
        bad[at] = 0xff;
        let sum = crc32fast::hash(&bad[16..]);
        bad[12..16].copy_from_slice(&sum.to_le_bytes());
        // Must not panic, whatever it answers; and what it answers must be walkable.
        if let Some((read, _)) = decode(&bad) {
            for (dir, file) in read.entries() {
                let _ = read.path_of(dir, file);
            }
        }
    }
}

/// Two directories of ten files each; `touched`: how many of the second's are not as at first.
fn twenty(touched: u64) -> Manifest {
    let mut manifest = Manifest::default();
    for (at, path) in [&b""[..], b"sub"].iter().enumerate() {
        let path = manifest.intern(path);
        let first = u32::try_from(manifest.files.len()).expect("few");
        for nth in 0..10 {
            let name = manifest.intern(format!("name{nth}").as_bytes());
            let moved = at == 1 && nth < touched;
            manifest.files.push(FileRec {
                name,
                kind: Kind::File,
                flags: 0,
                stamp: Stamp {
                    size: nth + u64::from(moved) * 1000,
                    ..Stamp::default()
                },
                git_mode: 0o100_644,
                oid: no_oid(),
            });
        }
        manifest.dirs.push(DirRec {
            path,
            parent: 0,
            first,
            end: first + 10,
            flags: 0,
            stamp: Stamp::default(),
            tree: no_oid(),
        });
    }
    manifest
}

fn meta(options: &str) -> Meta {
    Meta {
        options: options.to_owned(),
        ..Meta::default()
    }
}

/// All that a manifest says, but for where its names are.
fn told(manifest: &Manifest) -> Vec<(Vec<u8>, Stamp)> {
    let entries = manifest.entries();
    entries
        .map(|(dir, file)| (manifest.path_of(dir, file), file.stamp))
        .collect()
}

/// A cache of `twenty(0)` and a patch of it that makes it `twenty(3)`: both files' bytes, and the path.
fn patched(dir: &tempfile::TempDir) -> (std::path::PathBuf, Vec<u8>, Vec<u8>) {
    let file = dir.path().join("cache");
    save(&file, &twenty(0), &meta("first")).expect("saved");
    let base = std::fs::read(&file).expect("read");
    save(&file, &twenty(3), &meta("second")).expect("saved");
    assert_eq!(std::fs::read(&file).expect("read"), base, "left alone");
    let patch = std::fs::read(patch_of(&file)).expect("a patch");
    (file, base, patch)
}

fn loaded(file: &Path) -> (Vec<(Vec<u8>, Stamp)>, String) {
    let known = load(file).expect("a cache");
    let manifest = known.manifest().expect("sound");
    for (dir, read) in known.dirs.iter().zip(&manifest.dirs) {
        let there: Vec<_> = known
            .files_of(dir)
            .map(|file| file.expect("sound").stamp)
            .collect();
        let read: Vec<_> = manifest
            .files_of(read)
            .iter()
            .map(|file| file.stamp)
            .collect();
        assert_eq!(there, read);
    }
    (told(&manifest), known.meta.options)
}

#[test]
fn a_patch_makes_the_base_what_was_saved() {
    let dir = tempfile::tempdir().expect("directory");
    let (file, base, patch) = patched(&dir);
    assert!(patch.len() < base.len(), "{} {}", patch.len(), base.len());
    assert_eq!(loaded(&file), (told(&twenty(3)), "second".to_owned()));
    // The next one is against the same base again.
    let mut more = load(&file)
        .and_then(|known| known.manifest())
        .expect("sound");
    let name = more.intern(b"name99");
    let last = *more.files.last().expect("a file");
    more.files.push(FileRec { name, ..last });
    more.dirs[1].end += 1;
    save(&file, &more, &meta("third")).expect("saved");
    assert_eq!(std::fs::read(&file).expect("read"), base, "left alone");
    assert_eq!(loaded(&file), (told(&more), "third".to_owned()));
    save(&file, &twenty(0), &meta("fourth")).expect("saved");
    assert_eq!(loaded(&file), (told(&twenty(0)), "fourth".to_owned()));
}

/// Adds a directory with one file, in its place.
fn with_dir(mut manifest: Manifest, path: &str) -> Manifest {
    let path_name = manifest.intern(path.as_bytes());
    let name = manifest.intern(b"inside");
    let at = manifest.dirs.partition_point(|dir| {
        crate::worktree::manifest::preorder(manifest.dir_path(dir), path.as_bytes()).is_lt()
    });
    let above = crate::git::path::split(path.as_bytes()).0;
    let parent = manifest.find_dir(above).expect("its parent");
    let first = manifest.dirs[at - 1].end;
    let file = FileRec {
        name,
        ..manifest.files[0]
    };
    manifest.files.insert(first as usize, file);
    for dir in &mut manifest.dirs[at..] {
        dir.first += 1;
        dir.end += 1;
    }
    let dir = DirRec {
        path: path_name,
        parent: u32::try_from(parent).expect("few"),
        first,
        end: first + 1,
        ..manifest.dirs[0]
    };
    manifest.dirs.insert(at, dir);
    for dir in &mut manifest.dirs[at + 1..] {
        dir.parent += u32::from(dir.parent as usize >= at);
    }
    manifest
}

/// Takes out directories, with what lies beneath.
fn without_dir(manifest: &Manifest, gone: &str) -> Manifest {
    let mut left = Manifest {
        names: manifest.names.clone(),
        ..Manifest::default()
    };
    for dir in &manifest.dirs {
        let path = manifest.dir_path(dir).to_vec();
        if crate::git::path::is_within(&path, gone.as_bytes()) {
            continue;
        }
        let above = crate::git::path::split(&path).0;
        let parent = left.find_dir(above).unwrap_or(0);
        let first = u32::try_from(left.files.len()).expect("few");
        left.files.extend_from_slice(manifest.files_of(dir));
        left.dirs.push(DirRec {
            parent: u32::try_from(parent).expect("few"),
            first,
            end: u32::try_from(left.files.len()).expect("few"),
            ..*dir
        });
    }
    left
}

/// The parent of each directory, by path.
fn parents(manifest: &Manifest) -> Vec<(Vec<u8>, Vec<u8>)> {
    let path = |dir: &DirRec| manifest.dir_path(dir).to_vec();
    let above = |dir: &DirRec| path(&manifest.dirs[dir.parent as usize]);
    manifest
        .dirs
        .iter()
        .map(|dir| (path(dir), above(dir)))
        .collect()
}

#[test]
fn directories_come_and_go_in_a_patch() {
    let dir = tempfile::tempdir().expect("directory");
    let file = dir.path().join("cache");
    let mut now = with_dir(with_dir(twenty(0), "sub/deep"), "sub/deep/er");
    save(&file, &now, &meta("first")).expect("saved");
    let base = std::fs::read(&file).expect("read");
    let steps: [(&str, &str); 9] = [
        ("+", "a"),
        ("+", "sub/a"),
        ("+", "sub/deep/er/est"),
        ("-", "sub/deep/er"),
        ("+", "zoo"),
        ("+", "sub/deep/er"),
        ("-", "a"),
        ("-", "sub"),
        ("+", "sub"),
    ];
    for (what, path) in steps {
        now = match what {
            "+" => with_dir(now, path),
            _ => without_dir(&now, path),
        };
        save(&file, &now, &meta(path)).expect("saved");
        assert!(std::fs::read(&file).expect("read") == base, "{what}{path}");
        assert_eq!(loaded(&file), (told(&now), path.to_owned()));
        let read = load(&file)
            .and_then(|known| known.manifest())
            .expect("sound");
        assert_eq!(parents(&read), parents(&now), "{what}{path}");
        now = read;
    }
}

#[test]
fn other_names_are_saved_whole() {
    let mut renamed = twenty(0);
    renamed.names = renamed.names.to_ascii_uppercase();
    let dir = tempfile::tempdir().expect("directory");
    let (file, base, _) = patched(&dir);
    save(&file, &renamed, &meta("whole")).expect("saved");
    assert_ne!(std::fs::read(&file).expect("read"), base);
    assert!(!patch_of(&file).exists());
    assert_eq!(loaded(&file), (told(&renamed), "whole".to_owned()));
}

#[test]
fn a_patch_of_another_base_is_nothing() {
    let dir = tempfile::tempdir().expect("directory");
    let (file, _, _) = patched(&dir);
    std::fs::write(&file, encode(&twenty(0), &meta("another"), 7)).expect("written");
    assert_eq!(loaded(&file), (told(&twenty(0)), "another".to_owned()));
    remove(&file).expect("removed");
    assert!(load(&file).is_none());
    assert!(!patch_of(&file).exists());
}

#[test]
fn a_damaged_patch_is_nothing() {
    let dir = tempfile::tempdir().expect("directory");
    let (file, _, good) = patched(&dir);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        for bad in [&bad[..], &good[..at]] {
            std::fs::write(patch_of(&file), bad).expect("written");
            assert_eq!(loaded(&file).1, "first", "byte {at}");
        }
        // Behind a right checksum: whatever it answers, and no panic.
        if at >= 16 {
            bad[at] = 0xff;
            seal(&mut bad);
            std::fs::write(patch_of(&file), bad).expect("written");
            let known = load(&file).expect("at least the base");
            if let Some(manifest) = known.manifest() {
                told(&manifest);
            }
        }
    }
}
