//! Versions, marks, stages, names, stat data.

use std::os::unix::fs::MetadataExt;

use super::*;
use crate::git::fs::Root;

#[test]
fn a_missing_index_is_empty_and_a_written_one_is_gits() {
    let sandbox = Sandbox::new();
    let index = sandbox.read();
    assert!(index.is_empty());
    assert!(index.file.is_none());
    fs::write(sandbox.file(), index.write_bytes()).expect("write");
    assert_eq!(sandbox.git(&["ls-files"]), b"");
    assert!(sandbox.assert_round_trip().file.is_some());
    sandbox.assert_tree(&index);
}

#[test]
fn versions_2_and_4_with_every_kind_of_entry() {
    let sandbox = Sandbox::with_files();
    for (number, version) in [("2", 2), ("4", 4)] {
        sandbox.git(&["update-index", "--index-version", number]);
        let index = sandbox.assert_round_trip();
        assert_eq!(index.version, version);
        let modes: Vec<u32> = ["a.txt", "run", "link", "module"]
            .iter()
            .filter_map(|path| Some(index.get(path.as_bytes(), 0)?.mode))
            .collect();
        assert_eq!(modes, [0o100_644, 0o100_755, 0o120_000, 0o160_000]);
        sandbox.assert_tree(&index);
    }
}

#[test]
fn version_4_written_in_blocks_for_threads() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["config", "index.threads", "3"]);
    sandbox.git(&["update-index", "--index-version", "4"]);
    let bytes = fs::read(sandbox.file()).expect("read");
    assert!(bytes.windows(4).any(|name| name == b"IEOT"));
    sandbox.assert_round_trip();
}

#[test]
fn the_cache_tree_spares_every_tree() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["write-tree"]);
    let index = sandbox.assert_round_trip();
    let mut sink = Sink::of(&sandbox);
    let tree = build_tree(&index, &|_| Ok(None), &mut sink).expect("builds");
    assert_eq!((tree, sink.count), (sandbox.write_tree(), 0));

    sandbox.write("d/e/three", "changed");
    sandbox.git(&["add", "d/e/three"]);
    let index = sandbox.assert_round_trip();
    let mut sink = Sink::of(&sandbox);
    let tree = build_tree(&index, &|_| Ok(None), &mut sink).expect("builds");
    assert_eq!(
        (tree, sink.count),
        (sandbox.write_tree(), 3),
        "d/e, d, root"
    );
}

#[test]
fn marks_make_version_3() {
    let sandbox = Sandbox::with_files();
    sandbox.write("d/e/new", "intended");
    sandbox.write("only/new", "intended");
    sandbox.git(&["add", "-N", "d/e/new", "only/new"]);
    sandbox.git(&["update-index", "--skip-worktree", "d/one"]);
    sandbox.git(&["update-index", "--assume-unchanged", "d/two", "d/one"]);
    for (number, version) in [("3", 3), ("4", 4)] {
        sandbox.git(&["update-index", "--index-version", number]);
        let index = sandbox.assert_round_trip();
        assert_eq!(index.version, version);
        let flags = |path: &str| index.get(path.as_bytes(), 0).map(|entry| entry.flags);
        assert_eq!(flags("d/e/new"), Some(Flags::INTENT_TO_ADD));
        assert_eq!(flags("d/two"), Some(Flags::ASSUME_VALID));
        let both = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID;
        assert_eq!(flags("d/one"), Some(both));
        assert_eq!(flags("a.txt"), Some(Flags::empty()));
        sandbox.assert_tree(&index);
    }
}

#[test]
fn names_around_and_beyond_the_length_that_flags_hold() {
    let sandbox = Sandbox::with_files();
    let blob = sandbox.oid(&["hash-object", "a.txt"]);
    for len in [4093, 4094, 4095, 4096, 5000, 70_000] {
        let path = format!("long/{}", "n".repeat(len - 5));
        let info = format!("100644 {blob}\t{path}\n");
        sandbox.git_with_input(&["update-index", "--index-info"], info.as_bytes());
    }
    for version in ["2", "4"] {
        sandbox.git(&["update-index", "--index-version", version]);
        let index = sandbox.assert_round_trip();
        assert_eq!(index.within(b"long").len(), 6);
    }
    sandbox.assert_tree(&sandbox.read());
}

#[test]
fn names_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::with_files();
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe\n\"tab\t");
    fs::write(sandbox.dir.path().join(name), "x").expect("write");
    sandbox.git(&["add", "-A"]);
    let index = sandbox.assert_round_trip();
    assert!(index.has_path(b"\xff\xfe\n\"tab\t"));
    sandbox.assert_tree(&index);
}

/// Ours and theirs change `both`, each deletes what the other changes, and a file meets a directory.
fn conflicted() -> Sandbox {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["switch", "-qc", "theirs"]);
    sandbox.write("a.txt", "theirs");
    sandbox.write("d/one", "theirs");
    sandbox.git(&["rm", "-q", "d/two"]);
    sandbox.write("meet/file", "theirs");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("a.txt", "ours");
    sandbox.git(&["rm", "-q", "d/one"]);
    sandbox.write("d/two", "ours");
    sandbox.write("meet", "ours");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "ours"]);
    sandbox.git_fails(&["merge", "theirs"]);
    sandbox
}

#[test]
fn conflicts_keep_their_stages_and_stand_as_head_in_the_tree() {
    let sandbox = conflicted();
    let index = sandbox.assert_round_trip();
    let stages = |path: &[u8]| -> Vec<u8> {
        let stages = index.stages(path).iter();
        stages.map(|entry| entry.stage).collect()
    };
    assert_eq!(stages(b"a.txt"), [1, 2, 3]);
    assert_eq!(stages(b"d/one"), [1, 3]);
    assert_eq!(stages(b"d/two"), [1, 2]);
    assert!(index.has_path(b"d/one") && index.get(b"d/one", 0).is_none());

    let head = |path: &[u8]| {
        let line = sandbox.git(&["ls-tree", "HEAD", &String::from_utf8_lossy(path)]);
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split_ascii_whitespace();
        let mode = words
            .next()
            .and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let oid = words.nth(1).map(|oid| id(oid.as_bytes()));
        Ok(mode.zip(oid))
    };
    let tree = build_tree(&index, &head, &mut Sink::of(&sandbox)).expect("builds");
    // Ours `meet` stands aside in the index as an unmerged `meet~HEAD`, which HEAD does not have.
    for path in ["a.txt", "d/one", "d/two", "meet~HEAD"] {
        sandbox.git(&["reset", "-q", "--", path]);
    }
    assert_eq!(tree, sandbox.write_tree());
}

#[test]
fn resolved_conflicts_can_still_be_brought_back() {
    let sandbox = conflicted();
    sandbox.git(&["add", "a.txt", "d/two"]);
    let index = sandbox.assert_round_trip();
    assert!(index.resolve_undo.is_some());
    sandbox.git(&["update-index", "--unresolve", "a.txt"]);
    let stages = sandbox.read().stages(b"a.txt").len();
    assert_eq!(stages, 3, "git unresolves from what was written");
}

#[test]
fn stat_data_is_what_git_would_write() {
    let sandbox = Sandbox::with_files();
    let mut index = sandbox.read();
    for path in ["a.txt", "run", "link", "z/y/x/deep"] {
        let meta = fs::symlink_metadata(sandbox.path(path)).expect("lstat");
        let at = index.position(path.as_bytes(), 0).expect("tracked");
        assert_eq!(index.entries()[at].stat, Stat::from(&meta), "{path}");
        let root = Root::open(&sandbox.path("")).expect("root");
        let stamp = root.stamp(path.as_bytes()).expect("lstat").expect("there");
        assert_eq!(Stat::of(&stamp, meta.dev()), Stat::from(&meta), "{path}");
        index.set_stat(at, Stat::default());
        assert_eq!(index.entries()[at].stat, Stat::default());
    }
    fs::write(sandbox.file(), index.write_bytes()).expect("write");
    assert!(
        !sandbox.git(&["diff-files"]).is_empty(),
        "stat data is gone"
    );
    for path in ["a.txt", "run", "link", "z/y/x/deep"] {
        let meta = fs::symlink_metadata(sandbox.path(path)).expect("lstat");
        let at = index.position(path.as_bytes(), 0).expect("tracked");
        index.set_stat(at, Stat::from(&meta));
    }
    fs::write(sandbox.file(), index.write_bytes()).expect("write");
    let fresh = ["a.txt", "run", "link", "z/y/x/deep"];
    let dirty = sandbox.git(&[&["diff-files", "--name-only", "--"], &fresh[..]].concat());
    assert_eq!(String::from_utf8_lossy(&dirty), "");
}

#[test]
fn a_smudged_entry_has_size_zero() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["config", "core.trustctime", "false"]);
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000);
    for content in ["one", "two"] {
        sandbox.write("racy", content);
        let file = fs::File::open(sandbox.path("racy")).expect("open");
        file.set_modified(later).expect("utimes");
        let add = if content == "one" { "racy" } else { "other" };
        sandbox.write("other", content);
        sandbox.git(&["add", add]);
    }
    let index = sandbox.assert_round_trip();
    let entry = index.get(b"racy", 0).expect("tracked");
    assert_eq!(entry.stat.size, 0);
    assert_eq!(entry.stat.mtime.0, 4_000_000_000);
}
