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

#[test]
fn other_directories_and_other_names_are_saved_whole() {
    let mut gone = twenty(0);
    gone.dirs.pop();
    gone.files.truncate(10);
    let mut renamed = twenty(0);
    renamed.names = renamed.names.to_ascii_uppercase();
    for manifest in [gone, renamed] {
        let dir = tempfile::tempdir().expect("directory");
        let (file, base, _) = patched(&dir);
        save(&file, &manifest, &meta("whole")).expect("saved");
        assert_ne!(std::fs::read(&file).expect("read"), base);
        assert!(!patch_of(&file).exists());
        assert_eq!(loaded(&file), (told(&manifest), "whole".to_owned()));
    }
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
