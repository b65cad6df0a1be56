use super::records::{HEADER, seal};
use super::*;
use crate::git::Oid;
use crate::git::fs::Stamp;
use crate::worktree::manifest::{DirFlags, FileFlags, Ignored, Kind, no_oid};

const FORMAT: ObjectFormat = ObjectFormat::Sha1;

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
        uid: 5,
        gid: 6,
    };
    let dir = |path, first, end| DirRec {
        path,
        parent: 0,
        first,
        end,
        flags: DirFlags::NONE,
        stamp,
        tree: no_oid(),
        ignored: Ignored {
            entries: 3,
            bytes: 1 << 40,
        },
    };
    manifest.dirs = vec![dir(root, 0, 0), dir(sub, 0, 1)];
    manifest.push_file(FileRec {
        name,
        kind: Kind::File,
        flags: FileFlags(3),
        stamp,
        git_mode: 0o100_644,
        oid: Oid::from_hex("1234567890123456789012345678901234567890").expect("oid"),
    });
    let meta = Meta {
        options: "o".into(),
        ..Meta::default()
    };
    (manifest, meta)
}

#[test]
fn what_was_written_is_read() {
    for format in ObjectFormat::ALL {
        let (mut manifest, meta) = sample();
        let oid = Oid::from_hex(&"12".repeat(format.width())).expect("an id");
        manifest.files_mut(1)[0].oid = oid;
        let bytes = encode(&manifest, &meta, 7, format);
        let (read, read_meta) = decode(&bytes, format).expect("sound");
        assert_eq!(read_meta, meta);
        let record = |manifest: &Manifest| {
            let file = manifest.file(b"sub/f\xff").expect("there");
            (file.kind, file.flags, file.git_mode, file.stamp, file.oid)
        };
        assert_eq!(record(&read), record(&manifest));
        assert_eq!(record(&read).4.to_string(), oid.to_string());
        assert_eq!(read.dirs[1].ignored, manifest.dirs[1].ignored);
        assert!(read.file(b"sub/f").is_none());
        // One of the other format is none.
        let mut others = ObjectFormat::ALL
            .into_iter()
            .filter(|other| *other != format);
        assert!(others.all(|other| decode(&bytes, other).is_none()));
    }
}

#[test]
fn in_sha_1_records_are_as_small_as_they_were() {
    let size = |format| (cached::size(format), records::dir_size(format));
    assert_eq!(size(ObjectFormat::Sha1), (80, 112));
    assert_eq!(size(ObjectFormat::Sha256), (92, 124));
}

#[test]
fn a_cache_of_many_pieces_is_whole() {
    let mut manifest = twenty();
    let first = manifest.next_place();
    for nth in 0..5000 {
        let name = manifest.intern(format!("{nth:04}{}", "x".repeat(nth % 90)).as_bytes());
        let some = manifest.file(b"name3").expect("there");
        manifest.push_file(FileRec { name, ..some });
    }
    (manifest.dirs[1].first, manifest.dirs[1].end) = (first, manifest.next_place());
    let dir = tempfile::tempdir().expect("directory");
    let file = dir.path().join("cache");
    save(&file, &manifest, &meta("many"), FORMAT).expect("saved");
    assert_eq!(says(&file), (told(&manifest), "many".to_owned()));
    let bytes = std::fs::read(&file).expect("read");
    let frame = Frame::read(&bytes, MAGIC, FORMAT).expect("a frame");
    assert!(bytes == encode(&manifest, &meta("many"), frame.id, FORMAT));
}

#[test]
fn a_damaged_cache_is_no_cache() {
    let (manifest, meta) = sample();
    let good = encode(&manifest, &meta, 7, FORMAT);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        assert!(decode(&bad, FORMAT).is_none(), "byte {at}");
        assert!(decode(&good[..at], FORMAT).is_none(), "length {at}");
    }
}

#[test]
fn offsets_are_validated_behind_a_right_checksum() {
    let (manifest, meta) = sample();
    for at in HEADER..encode(&manifest, &meta, 7, FORMAT).len() {
        let mut bad = encode(&manifest, &meta, 7, FORMAT);
        bad[at] = 0xff;
        let sum = crc32fast::hash(&bad[16..]);
        bad[12..16].copy_from_slice(&sum.to_le_bytes());
        // Must not panic, whatever it answers; and what it answers must be walkable.
        if let Some((read, _)) = decode(&bad, FORMAT) {
            for (dir, file) in read.entries() {
                let _ = read.path_of(dir, &file);
            }
        }
    }
}

/// Two directories of ten files each.
fn twenty() -> Manifest {
    let mut manifest = Manifest::default();
    for path in [&b""[..], b"sub"] {
        let path = manifest.intern(path);
        let first = manifest.next_place();
        for nth in 0..10 {
            let name = manifest.intern(format!("name{nth}").as_bytes());
            manifest.push_file(FileRec {
                name,
                kind: Kind::File,
                flags: FileFlags::NONE,
                stamp: Stamp {
                    size: nth,
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
            end: manifest.next_place(),
            flags: DirFlags::NONE,
            stamp: Stamp::default(),
            tree: no_oid(),
            ignored: Ignored::default(),
        });
    }
    manifest
}

/// The sizes of the first three files of the second directory are so much more.
fn grown(mut manifest: Manifest, more: u64) -> Manifest {
    for file in manifest.files_mut(1).iter_mut().take(3) {
        file.stamp.size += more;
    }
    manifest
}

fn meta(options: &str) -> Meta {
    Meta {
        options: options.to_owned(),
        ..Meta::default()
    }
}

/// All that a manifest says, but for where it says it.
fn told(manifest: &Manifest) -> Vec<(Vec<u8>, Stamp)> {
    let entries = manifest.entries();
    let files = entries.map(|(dir, file)| (manifest.path_of(dir, &file), file.stamp));
    let dirs = manifest.dirs.iter();
    let dirs = dirs.map(|dir| (manifest.dir_path(dir).to_vec(), dir.stamp));
    dirs.chain(files).collect()
}

/// A cache of `twenty()` and a patch of it that makes it `grown`: both files' bytes, and the path.
fn patched(dir: &tempfile::TempDir) -> (std::path::PathBuf, Vec<u8>, Vec<u8>) {
    let file = dir.path().join("cache");
    save(&file, &twenty(), &meta("first"), FORMAT).expect("saved");
    let base = std::fs::read(&file).expect("read");
    save(
        &file,
        &grown(loaded(&file).0, 1000),
        &meta("second"),
        FORMAT,
    )
    .expect("saved");
    assert_eq!(std::fs::read(&file).expect("read"), base, "left alone");
    let patch = std::fs::read(patch_of(&file)).expect("a patch");
    (file, base, patch)
}

fn loaded(file: &Path) -> (Manifest, String) {
    let (manifest, meta) = load(file, FORMAT).expect("a cache");
    (manifest, meta.options)
}

/// What the cache says now, and what it was made under.
fn says(file: &Path) -> (Vec<(Vec<u8>, Stamp)>, String) {
    let (manifest, options) = loaded(file);
    (told(&manifest), options)
}

#[test]
fn a_patch_makes_the_base_what_was_saved() {
    let dir = tempfile::tempdir().expect("directory");
    let (file, base, patch) = patched(&dir);
    assert!(patch.len() < base.len(), "{} {}", patch.len(), base.len());
    let second = grown(twenty(), 1000);
    assert_eq!(says(&file), (told(&second), "second".to_owned()));
    // The next one is against the same base again.
    let (mut more, _) = loaded(&file);
    let at = more.next_place();
    for file in more.files_of(&more.dirs[1]).iter().collect::<Vec<_>>() {
        more.push_file(file);
    }
    let name = more.intern(b"name99");
    let last = more.file(b"sub/name9").expect("there");
    more.push_file(FileRec { name, ..last });
    (more.dirs[1].first, more.dirs[1].end) = (at, more.next_place());
    save(&file, &more, &meta("third"), FORMAT).expect("saved");
    assert_eq!(std::fs::read(&file).expect("read"), base, "left alone");
    assert_eq!(says(&file), (told(&more), "third".to_owned()));
    assert!(loaded(&file).0.file(b"sub/name99").is_some());
    let (mut as_before, _) = loaded(&file);
    as_before.retain_files(1, |file| file.name != name);
    for file in as_before.files_mut(1) {
        file.stamp.size %= 1000;
    }
    save(&file, &as_before, &meta("fourth"), FORMAT).expect("saved");
    assert_eq!(says(&file), (told(&twenty()), "fourth".to_owned()));
    let patch = std::fs::read(patch_of(&file)).expect("a patch");
    assert!(patch.len() < 500, "{} bytes for nothing", patch.len());
}

#[test]
fn of_a_directory_that_differs_itself_alone_no_file_is_in_a_patch() {
    let dir = tempfile::tempdir().expect("directory");
    let (file, base, with_files) = patched(&dir);
    let (mut moved, _) = decode(&base, FORMAT).expect("sound");
    moved.dirs[1].stamp.mtime = 77;
    save(&file, &moved, &meta("moved"), FORMAT).expect("saved");
    assert_eq!(says(&file), (told(&moved), "moved".to_owned()));
    let patch = std::fs::read(patch_of(&file)).expect("a patch");
    assert!(patch.len() + 800 <= with_files.len(), "{}", patch.len());
    // One that is emptied, beside one whose files differ.
    let (mut emptied, _) = loaded(&file);
    emptied.retain_files(0, |_| false);
    save(&file, &grown(emptied, 5), &meta("emptied"), FORMAT).expect("saved");
    assert_eq!(loaded(&file).1, "emptied");
    assert_eq!(loaded(&file).0.entries().count(), 10);
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
    let some = manifest.file(b"name0").expect("there");
    let first = manifest.next_place();
    manifest.push_file(FileRec { name, ..some });
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
fn without_dir(mut manifest: Manifest, gone: &str) -> Manifest {
    let before = std::mem::take(&mut manifest.dirs);
    for dir in before {
        let path = manifest.dir_path(&dir).to_vec();
        if crate::git::path::is_within(&path, gone.as_bytes()) {
            continue;
        }
        let above = crate::git::path::split(&path).0;
        let parent = manifest.find_dir(above).unwrap_or(0);
        let parent = u32::try_from(parent).expect("few");
        manifest.dirs.push(DirRec { parent, ..dir });
    }
    manifest
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
    let first = with_dir(with_dir(twenty(), "sub/deep"), "sub/deep/er");
    save(&file, &first, &meta("first"), FORMAT).expect("saved");
    let base = std::fs::read(&file).expect("read");
    let (mut now, _) = loaded(&file);
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
            _ => without_dir(now, path),
        };
        save(&file, &now, &meta(path), FORMAT).expect("saved");
        assert!(std::fs::read(&file).expect("read") == base, "{what}{path}");
        assert_eq!(says(&file), (told(&now), path.to_owned()));
        let (read, _) = loaded(&file);
        assert_eq!(parents(&read), parents(&now), "{what}{path}");
        now = read;
    }
}

#[test]
fn what_does_not_stand_on_the_base_is_saved_whole() {
    let dir = tempfile::tempdir().expect("directory");
    let (file, base, _) = patched(&dir);
    let (standing, _) = loaded(&file);
    save(&file, &grown(twenty(), 3), &meta("whole"), FORMAT).expect("saved");
    let whole = std::fs::read(&file).expect("read");
    assert_ne!(whole, base);
    assert!(!patch_of(&file).exists());
    let other = (told(&grown(twenty(), 3)), "whole".to_owned());
    assert_eq!(says(&file), other);
    // Nor does one of the base before: it is read from there still.
    save(&file, &standing, &meta("before"), FORMAT).expect("saved");
    assert!(!patch_of(&file).exists());
    assert_ne!(std::fs::read(&file).expect("read"), whole);
    let before = (told(&grown(twenty(), 1000)), "before".to_owned());
    assert_eq!(says(&file), before);
}

#[test]
fn what_nothing_names_is_not_saved() {
    let mut renamed = twenty();
    for round in 0..50 {
        let name = renamed.intern(format!("another{round:03}").as_bytes());
        renamed.files_mut(1)[0].name = name;
    }
    let length = encode(&renamed, &meta(""), 7, FORMAT).len();
    let once = encode(&grown(twenty(), 1), &meta(""), 7, FORMAT).len();
    assert_eq!(length, once + "another049".len() - "name0".len());
    let dir = tempfile::tempdir().expect("directory");
    let file = dir.path().join("cache");
    save(&file, &twenty(), &meta(""), FORMAT).expect("saved");
    let mut lengths = Vec::new();
    for round in 0..50 {
        let (mut now, _) = loaded(&file);
        let name = now.intern(format!("another{round:03}").as_bytes());
        now.files_mut(1)[0].name = name;
        save(&file, &now, &meta(""), FORMAT).expect("saved");
        lengths.push(std::fs::metadata(patch_of(&file)).expect("there").len());
    }
    assert!(lengths.iter().all(|length| *length == lengths[0]));
}

#[test]
fn a_patch_of_another_base_is_nothing() {
    let dir = tempfile::tempdir().expect("directory");
    let (file, _, _) = patched(&dir);
    std::fs::write(&file, encode(&twenty(), &meta("another"), 7, FORMAT)).expect("written");
    assert_eq!(says(&file), (told(&twenty()), "another".to_owned()));
    remove(&file).expect("removed");
    assert!(load(&file, FORMAT).is_none());
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
            assert_eq!(says(&file).1, "first", "byte {at}");
        }
        // Behind a right checksum: whatever it answers, and no panic.
        if at >= 16 {
            bad[at] = 0xff;
            seal(&mut bad);
            std::fs::write(patch_of(&file), bad).expect("written");
            says(&file);
        }
    }
}
