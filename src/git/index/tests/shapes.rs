//! Split and sparse indexes, and what only caches.

use super::*;

/// A split index whose small file replaces, deletes and adds.
fn split(version: &str) -> Sandbox {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["config", "splitIndex.maxPercentChange", "100"]);
    sandbox.git(&["update-index", "--index-version", version]);
    sandbox.git(&["update-index", "--split-index"]);
    sandbox.write("d/one", "changed");
    sandbox.write("aa", "new");
    sandbox.write("d/e/zz", "new");
    sandbox.git(&["add", "-A", ":!module"]);
    sandbox.git(&["rm", "-q", "--cached", "d/two", "z/y/x/deep"]);
    sandbox.git(&["update-index", "--skip-worktree", "run"]);
    sandbox
}

#[test]
fn a_split_index_reads_as_one_and_is_written_whole() {
    for version in ["2", "4"] {
        let sandbox = split(version);
        let small = fs::read(sandbox.file()).expect("read");
        let at = small.windows(4).position(|name| name == b"link");
        let len = &small[at.expect("split") + 4..][..4];
        assert!(len > &[0, 0, 0, 20][..], "with bitmaps");

        let before = sandbox.read();
        assert!(before.was_split);
        sandbox.assert_tree(&before);
        let index = sandbox.assert_round_trip();
        assert!(index.has_path(b"d/e/zz") && !index.has_path(b"d/two"));
        assert!(!sandbox.read().was_split, "written whole");
        sandbox.assert_tree(&index);
    }
}

#[test]
fn a_split_index_without_changes_and_with_conflicts() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["update-index", "--split-index"]);
    assert!(sandbox.read().was_split);
    assert_eq!(sandbox.read().len(), 9);
    sandbox.git(&["config", "splitIndex.maxPercentChange", "100"]);
    sandbox.git(&["switch", "-qc", "theirs"]);
    sandbox.write("d/one", "theirs");
    sandbox.git(&["commit", "-qam", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("d/one", "ours");
    sandbox.git(&["commit", "-qam", "ours"]);
    sandbox.git_fails(&["merge", "theirs"]);
    let index = sandbox.read();
    assert!(index.was_split);
    assert_eq!(index.stages(b"d/one").len(), 3);
    sandbox.assert_round_trip();
}

#[test]
fn a_shared_file_that_is_missing_or_another_is_named() {
    for damage in ["missing", "other"] {
        let sandbox = split("2");
        let files = fs::read_dir(sandbox.git_dir()).expect("read");
        let shared = files
            .map(|file| file.expect("read").path())
            .find(|path| path.to_string_lossy().contains("sharedindex."))
            .expect("split");
        match damage {
            "missing" => fs::remove_file(&shared).expect("remove"),
            _ => fs::write(&shared, Index::new(ObjectFormat::Sha1).write_bytes()).expect("write"),
        }
        let error = sandbox.try_read().expect_err("no base");
        assert_eq!(error.code(), Code::CorruptRecord);
        assert!(error.message().contains("sharedindex."), "{error}");
    }
}

/// A sparse index with `z` and `d/e` folded.
fn sparse() -> Sandbox {
    let sandbox = Sandbox::with_files();
    for path in ["z/y/b", "z/y.c", "z/y0/c", "z/last"] {
        sandbox.write(path, path);
    }
    sandbox.git(&["add", "-A", ":!module"]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.git(&[
        "sparse-checkout",
        "set",
        "--cone",
        "--sparse-index",
        "other",
    ]);
    sandbox
}

#[test]
fn an_index_that_git_may_split_and_fold_is_written_split() {
    let sandbox = sparse();
    let mut index = sandbox.read();
    for (dir, oid) in index.was_folded.clone() {
        index.fold(&dir, oid, &sandbox).expect("a tree");
    }
    sandbox.git(&["config", "core.splitIndex", "true"]);
    fs::write(sandbox.file(), index.write_bytes()).expect("write");
    sandbox.git_fails(&["status"]);
    index.splits = true;
    for format_version in [2, 4] {
        index.version = format_version;
        let (file, git_dir) = (sandbox.file(), sandbox.git_dir());
        let written = index.write(&file, &git_dir, Durable::No, 0o644);
        written.expect("two files");
        let small = fs::read(&file).expect("read");
        assert!(has(&small, b"link") && !has(&small, b"sdir"));
        let again = sandbox.read();
        assert!(again.was_split);
        assert_eq!(show(&again), show(&index));
        sandbox.assert_tree(&again);
        // Whatever git writes next, it can read.
        for _ in 0..2 {
            sandbox.git(&["update-index", "--force-write-index"]);
            assert!(sandbox.read().was_split);
            sandbox.assert_tree(&index);
        }
    }
}

#[test]
fn a_sparse_index_unfolds_to_skipped_entries() {
    let sandbox = sparse();
    let folded = sandbox.git(&["ls-files", "--sparse", "z", "d"]);
    assert_eq!(String::from_utf8_lossy(&folded), "d/\nz/\n");

    let before = sandbox.read();
    assert!(before.was_sparse);
    for at in before.within(b"z") {
        assert_eq!(before.entries()[at].flags, Flags::SKIP_WORKTREE);
    }
    assert_eq!(before.within(b"z").len(), 5);
    let mut sink = Sink::of(&sandbox);
    let tree = build_tree(&before, &|_| Ok(None), &mut sink).expect("builds");
    assert_eq!((tree, sink.count), (sandbox.write_tree(), 0), "all known");
    sandbox.assert_tree(&before);
    let index = sandbox.assert_round_trip();
    sandbox.assert_tree(&index);
}

#[test]
fn the_cache_tree_of_a_sparse_index_counts_what_is_unfolded() {
    let sandbox = sparse();
    sandbox.write("a.txt", "changed");
    sandbox.git(&["add", "--sparse", "a.txt"]);
    let index = sandbox.read();
    assert!(index.was_sparse);
    let root = index.cache_tree.as_ref().expect("kept");
    assert_eq!(root.valid, None);
    let z = root.child(b"z").expect("known by its entry");
    assert_eq!(z.valid.map(|valid| valid.entries), Some(5));
    assert_eq!(
        z.child(b"y").and_then(|y| y.valid).map(|y| y.entries),
        Some(2)
    );
    let mut sink = Sink::of(&sandbox);
    let tree = build_tree(&index, &|_| Ok(None), &mut sink).expect("builds");
    assert_eq!(
        (tree, sink.count),
        (sandbox.write_tree(), 1),
        "the root alone"
    );
    sandbox.assert_round_trip();
}

#[test]
fn a_sparse_index_whose_trees_are_missing_is_an_error() {
    let sandbox = sparse();
    let read = Index::read(
        &sandbox.file(),
        &sandbox.git_dir(),
        &NoTrees(sandbox.format),
        Checksum::Trust,
    );
    let error = read.expect_err("no trees");
    assert!(error.message().contains("sparse directory 'd/'"), "{error}");
}

/// Whether an index file has an extension.
fn has(bytes: &[u8], name: &[u8]) -> bool {
    bytes.windows(4).any(|window| window == name)
}

#[test]
fn what_only_caches_is_left_out() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["update-index", "--force-untracked-cache"]);
    sandbox.git(&["status"]);
    assert!(has(&fs::read(sandbox.file()).expect("read"), b"UNTR"));
    let index = sandbox.assert_round_trip();
    assert!(!has(&index.write_bytes(), b"UNTR"));
}

#[test]
fn an_index_without_a_checksum_is_read() {
    let sandbox = Sandbox::with_files();
    sandbox.git(&["config", "index.skipHash", "true"]);
    sandbox.git(&["update-index", "--force-write-index"]);
    let index = sandbox.read();
    assert!(index.checksum.is_null());
    assert_eq!(index.len(), 9);
    sandbox.assert_round_trip();
}
