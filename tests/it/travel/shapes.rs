//! Travel in every shape of repository that changes how files and blobs relate.

use crate::sandbox::Sandbox;
use crate::trip::{backdate, commit, snapshot, stored};

#[test]
fn a_linked_worktree_travels_alone() {
    let sandbox = Sandbox::new();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
    std::fs::write(linked.join("b.txt"), "then\n").unwrap();
    let tw = |args: &[&str]| {
        let ran = sandbox.tw_in(&linked, args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out(), ran.err());
        ran.out()
    };
    let id = tw(&["-q", "snapshot"]);
    std::fs::write(linked.join("b.txt"), "now\n").unwrap();
    std::fs::write(linked.join("c.txt"), "staged\n").unwrap();
    sandbox.git_in(&linked, ["add", "c.txt"]);
    let main = sandbox.state();
    let before = crate::state::State::capture(&sandbox, &linked);
    tw(&["travel", id.trim()]);
    assert_eq!(
        std::fs::read_to_string(linked.join("b.txt")).unwrap(),
        "then\n"
    );
    main.assert_same(&sandbox.state());
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "NOT_IN_PAST", "the main worktree never left");
    tw(&["return"]);
    before.assert_same(&crate::state::State::capture(&sandbox, &linked));
    main.assert_same(&sandbox.state());
}

#[test]
fn a_detached_head_comes_back_detached() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    sandbox.git(["checkout", "-q", "--detach"]);
    sandbox.write("a.txt", "three\n");
    sandbox.assert_round_trip(&id, |_| {});
}

#[test]
fn line_ends_stay_byte_for_byte() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.autocrlf", "true"]);
    sandbox.write("crlf.txt", "one\r\ntwo\r\n");
    sandbox.write("lf.txt", "one\ntwo\n");
    sandbox.write(".gitattributes", "*.lf text eol=lf\n");
    sandbox.write("x.lf", "one\ntwo\n");
    commit(&sandbox, "text");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    let id = snapshot(&sandbox);
    sandbox.write("crlf.txt", "three\r\n");
    commit(&sandbox, "three");
    sandbox.write("lf.txt", "three\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("crlf.txt"), "one\r\ntwo\r\n");
        assert_eq!(sandbox.text("lf.txt"), "one\ntwo\n");
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    });
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M lf.txt\n");
}

/// A file that git holds for clean although it has other bytes than its entry, and an edit of it.
fn converted(edit: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.txt text eol=crlf\n");
    sandbox.write("f.txt", "one\n");
    commit(&sandbox, "text");
    sandbox.remove("f.txt");
    sandbox.git(["checkout", "-q", "f.txt"]);
    sandbox.write("f.txt", edit);
    sandbox
}

#[test]
fn an_edit_of_a_converted_file_that_is_kept_is_not_clean() {
    let sandbox = converted("AAA\r\n");
    let past = snapshot(&sandbox);
    sandbox.git(["checkout", "-q", "f.txt"]);
    sandbox.json(["travel", &past]);
    sandbox.write("f.txt", "KKK\r\n");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    sandbox.json(["return", "--keep", "f.txt"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M f.txt\n");
}

#[test]
fn a_converted_file_is_not_clean_under_another_entry() {
    let sandbox = converted("AAA\r\n");
    let past = snapshot(&sandbox);
    sandbox.git(["add", "f.txt"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(sandbox.git(["status", "--porcelain"]), "M  f.txt\n");
    sandbox.json(["restore", "--staged", &past, "f.txt"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M f.txt\n");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "M  f.txt\n");
}

#[test]
fn ident_and_working_tree_encoding_stay_byte_for_byte() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".gitattributes",
        "*.id ident\n*.u16 text working-tree-encoding=UTF-16LE eol=lf\n",
    );
    sandbox.write("x.id", "$Id$\none\n");
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    sandbox.write("x.u16", utf16("één\n"));
    commit(&sandbox, "converted");
    sandbox.remove("x.id");
    sandbox.git(["checkout", "-q", "x.id"]);
    let expanded = sandbox.text("x.id");
    assert!(expanded.contains("$Id: "), "{expanded}");
    let id = snapshot(&sandbox);
    sandbox.write("x.id", "$Id$\ntwo\n");
    sandbox.write("x.u16", utf16("twee\n"));
    commit(&sandbox, "two");
    sandbox.remove("x.id");
    sandbox.git(["checkout", "-q", "x.id"]);
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.text("x.id"), expanded);
        assert_eq!(sandbox.read("x.u16"), utf16("één\n"));
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    });
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_filter_is_never_run_and_its_files_stay_clean() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.bin filter=big\n");
    let filter = sandbox.root().join("filter");
    let script = "#!/bin/sh\nif [ \"$1\" = clean ]; then cat >/dev/null; echo pointer; else cat >/dev/null; echo content; fi\n";
    sandbox.program(&filter, script);
    let run = |way: &str| format!("{} {way}", filter.display());
    sandbox.git(["config", "filter.big.required", "true"]);
    sandbox.git(["config", "filter.big.clean", &run("clean")]);
    sandbox.git(["config", "filter.big.smudge", &run("smudge")]);
    sandbox.write("x.bin", "content, raw\n");
    sandbox.write("y.bin", "content, raw, too\n");
    backdate(&sandbox, "x.bin");
    backdate(&sandbox, "y.bin");
    commit(&sandbox, "big");
    assert_eq!(sandbox.git(["cat-file", "blob", "HEAD:x.bin"]), "pointer\n");
    let absent = |yes: bool| {
        let aside = filter.with_extension("aside");
        let (from, to) = if yes {
            (&filter, &aside)
        } else {
            (&aside, &filter)
        };
        std::fs::rename(from, to).unwrap();
    };
    absent(true);
    let id = snapshot(&sandbox);
    assert_eq!(stored(&sandbox, &id, "x.bin"), "content, raw\n");
    absent(false);
    sandbox.write("x.bin", "other content\n");
    backdate(&sandbox, "x.bin");
    sandbox.git(["add", "x.bin"]);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    absent(true);
    // A clean entry needs no filter: git would fail over the missing program otherwise. What a swap wrote in the second in
    // which it wrote the index is racy for git, which looks for itself.
    let status = |path: &str| {
        let args = ["--no-optional-locks", "status", "--porcelain", "--", path];
        let ran = sandbox.try_git(args);
        (ran.code, ran.out(), ran.err())
    };
    sandbox.json(["travel", &id]);
    assert_eq!(sandbox.text("x.bin"), "content, raw\n");
    assert_eq!(status("y.bin"), (0, String::new(), String::new()));
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(status("y.bin"), (0, String::new(), String::new()));
    absent(false);
    assert_eq!(status("."), (0, String::new(), String::new()));
    assert_eq!(sandbox.text("x.bin"), "other content\n");
    assert_eq!(sandbox.text("y.bin"), "content, raw, too\n");
}

#[test]
fn without_file_mode_the_executable_bit_is_the_indexs() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.fileMode", "false"]);
    sandbox.write("run.sh", "then\n");
    sandbox.git(["add", "run.sh"]);
    sandbox.git(["update-index", "--chmod=+x", "run.sh"]);
    sandbox.git(["commit", "-q", "-m", "run"]);
    sandbox.chmod("a.txt", 0o755);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    let id = snapshot(&sandbox);
    let tree = sandbox.git(["ls-tree", &crate::trip::commit_of(&sandbox, &id)]);
    assert!(tree.contains("100755 blob"), "{tree}");
    sandbox.write("run.sh", "now\n");
    sandbox.write("a.txt", "now\n");
    sandbox.assert_round_trip(&id, |sandbox| {
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
        assert_eq!(crate::trip::mode(sandbox, "a.txt"), 0o755);
        assert_eq!(crate::trip::mode(sandbox, "run.sh") & 0o111, 0);
    });
}

#[test]
fn sparse_entries_are_never_materialised() {
    for form in ["--no-sparse-index", "--sparse-index"] {
        let sandbox = Sandbox::new();
        sandbox.write("in/x", "one\n");
        sandbox.write("out/y", "one\n");
        sandbox.write("out/deep/z", "one\n");
        commit(&sandbox, "dirs");
        let whole = snapshot(&sandbox);
        sandbox.git(["sparse-checkout", "set", "--cone", form, "in"]);
        assert!(!sandbox.exists("out"));
        let sparse = snapshot(&sandbox);
        assert_eq!(stored(&sandbox, &sparse, "out/y"), "one\n", "in its tree");
        sandbox.write("in/x", "two\n");
        sandbox.git(["commit", "-q", "-am", "two"]);
        sandbox.write("in/x", "three\n");
        sandbox.assert_round_trip(&sparse, |sandbox| {
            assert!(!sandbox.exists("out"), "{form}");
            assert_eq!(sandbox.text("in/x"), "one\n");
            assert_eq!(sandbox.git(["status", "--porcelain"]), "");
        });
        sandbox.assert_round_trip(&whole, |sandbox| {
            assert_eq!(sandbox.text("out/deep/z"), "one\n", "it was on disk then");
            assert_eq!(sandbox.git(["status", "--porcelain"]), "");
        });
        assert!(!sandbox.exists("out"), "{form}");
    }
}

#[test]
fn split_index_untracked_cache_and_index_versions_come_back_readable() {
    for setup in [
        &["update-index", "--split-index"][..],
        &["update-index", "--untracked-cache"],
        &["update-index", "--index-version", "4"],
        &["update-index", "--index-version", "2"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("b.txt", "b\n");
        commit(&sandbox, "b");
        sandbox.git(setup);
        let id = snapshot(&sandbox);
        sandbox.write("a.txt", "two\n");
        sandbox.git(["add", "a.txt"]);
        sandbox.assert_round_trip(&id, |sandbox| {
            assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{setup:?}");
        });
        sandbox.git(["commit", "-q", "-m", "after"]);
        assert_eq!(sandbox.try_git(["fsck"]).err(), "");
    }
}

#[test]
fn the_directory_of_a_submodule_comes_back_and_goes_with_it() {
    let sandbox = Sandbox::new();
    let without = snapshot(&sandbox);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let entry = format!("160000,{},sub", head.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.mkdir("sub");
    sandbox.git(["commit", "-q", "-m", "a submodule, not initialised"]);
    let with = snapshot(&sandbox);
    // It goes in the past, and is back in the present.
    sandbox.assert_round_trip(&without, |sandbox| {
        if sandbox.exists("sub") {
            sandbox.remove("sub");
        }
    });
    assert!(sandbox.exists("sub"));
    // It is not there in the present: the past has it as it was, the present does without again.
    sandbox.git(["rm", "-q", "--cached", "sub"]);
    sandbox.remove("sub");
    sandbox.git(["commit", "-q", "-m", "no submodule"]);
    sandbox.assert_round_trip(&with, |sandbox| {
        assert!(sandbox.exists("sub"));
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    });
    assert!(!sandbox.exists("sub"));
    // Somebody else's repository in its place is left alone.
    sandbox.git(["init", "-q", "sub"]);
    sandbox.write("sub/f", "not ours\n");
    sandbox.assert_round_trip(&with, |_| ());
    assert_eq!(sandbox.text("sub/f"), "not ours\n");
}

#[test]
fn empty_directories_in_an_ignored_one_give_way_to_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ig/\n");
    sandbox.write("ig/t", "tracked\n");
    sandbox.git(["add", "-f", ".gitignore", "ig/t"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    let past = snapshot(&sandbox);
    sandbox.remove("ig");
    sandbox.mkdir("ig/t/deep/er");
    sandbox.json(["travel", &past]);
    assert_eq!(sandbox.text("ig/t"), "tracked\n");
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert!(!sandbox.path("ig/t").is_file());
    sandbox.mkdir("ig/t/deep");
    sandbox.write("ig/t/deep/u", "untracked\n");
    sandbox.json(["travel", &past]);
    assert_eq!(sandbox.text("ig/t"), "tracked\n");
    sandbox.json(["return"]);
    assert_eq!(sandbox.text("ig/t/deep/u"), "untracked\n");
}

/// git takes a file of another size than its entry tells for modified, and looks no further.
#[test]
fn a_converted_file_is_clean_after_a_restore_and_its_undo() {
    for (attributes, config, here, there) in [
        ("", true, "one\r\n", "one\n"),
        ("*.txt text eol=crlf\n", false, "one\r\n", "one\n"),
        ("*.txt ident\n", false, "$Id: 5626abf0 $\n", "$Id$\n"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", attributes);
        sandbox.write("f.txt", there);
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-qm", "f"]);
        let lf = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
        if config {
            sandbox.git(["config", "core.autocrlf", "true"]);
        }
        sandbox.write("f.txt", here);
        sandbox.git(["add", "f.txt"]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{attributes}");
        let crlf = sandbox.json(["snapshot"])["snapshot"]["snapshot_id"].clone();
        let before = sandbox.state();
        sandbox.json(["restore", lf.as_str().unwrap()]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{attributes}");
        sandbox.json(["undo"]);
        before.assert_same(&sandbox.state());
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{attributes}");
        // Without an undo as well.
        sandbox.json(["restore", lf.as_str().unwrap()]);
        sandbox.json(["restore", crlf.as_str().unwrap()]);
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "{attributes}");
        sandbox.git(["switch", "-qc", "other"]);
    }
}
