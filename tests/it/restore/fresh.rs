//! The index's stat data after a restore and its undo: what has the index's bytes again is clean to git's plumbing, which never looks.

use crate::sandbox::Sandbox;
use crate::trip::snapshot;

fn changed_by_plumbing(sandbox: &Sandbox) -> String {
    sandbox.git(["diff-files", "--name-only"])
}

/// A merge that stopped at `b`, with `a` merged, and a snapshot from before it.
fn in_a_merge() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one\n");
    sandbox.write("b", "one\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "one"]);
    let id = snapshot(&sandbox);
    sandbox.git(["checkout", "-qb", "other"]);
    sandbox.write("a", "merged\n");
    sandbox.write("b", "theirs\n");
    sandbox.git(["commit", "-qam", "other"]);
    sandbox.git(["checkout", "-q", "-"]);
    sandbox.write("b", "ours\n");
    sandbox.git(["commit", "-qam", "ours"]);
    assert_eq!(sandbox.try_git(["merge", "-q", "other"]).code, 1);
    (sandbox, id)
}

/// Makes a file so old that its stat data is not racy.
fn age(sandbox: &Sandbox, file: &str) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    let opened = std::fs::File::options()
        .write(true)
        .open(sandbox.path(file));
    opened.unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn a_merge_can_be_aborted_after_a_restore_and_its_undo() {
    let (sandbox, id) = in_a_merge();
    let before = changed_by_plumbing(&sandbox);
    let entries = sandbox.git(["ls-files", "-s", "-v"]);
    sandbox.ok(["restore", &id, "a"]);
    assert_eq!(changed_by_plumbing(&sandbox), format!("a\n{before}"));
    sandbox.ok(["undo"]);
    assert_eq!(changed_by_plumbing(&sandbox), before);
    assert_eq!(sandbox.git(["ls-files", "-s", "-v"]), entries);
    sandbox.git(["merge", "--abort"]);
    assert_eq!(sandbox.text("b"), "ours\n");
}

#[test]
fn what_a_restore_makes_clean_is_clean_and_what_it_changes_is_not() {
    let sandbox = Sandbox::new();
    sandbox.write("staged", "staged\n");
    sandbox.write("crlf", "one\n");
    sandbox.write("dirty", "one\n");
    sandbox.write(".gitattributes", "crlf text eol=crlf\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "one"]);
    // As git lays it out.
    sandbox.remove("crlf");
    sandbox.git(["checkout", "--", "crlf"]);
    assert_eq!(sandbox.read("crlf"), b"one\r\n");
    age(&sandbox, "crlf");
    sandbox.git(["update-index", "--refresh"]);
    sandbox.write("dirty", "then\n");
    let id = snapshot(&sandbox);
    for file in ["staged", "dirty"] {
        sandbox.write(file, "now\n");
    }
    let entries = sandbox.git(["ls-files", "-s", "-v"]);
    sandbox.ok(["restore", &id]);
    assert_eq!(changed_by_plumbing(&sandbox), "dirty\n");
    assert_eq!(sandbox.git(["ls-files", "-s", "-v"]), entries);
    sandbox.ok(["undo"]);
    assert_eq!(changed_by_plumbing(&sandbox), "dirty\nstaged\n");
}

/// A file with carriage returns that was committed before it was called text: git would add it as another one, and holds it for clean by its
/// stat data, until somebody touches it.
#[test]
fn a_file_that_is_clean_by_its_stat_data_alone_is_clean_after_a_trip() {
    let sandbox = Sandbox::new();
    sandbox.write("c", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("c", "one\r\n");
    age(&sandbox, "c");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "one"]);
    sandbox.write(".gitattributes", "* text\n");
    sandbox.git(["add", ".gitattributes"]);
    sandbox.git(["commit", "-qm", "text"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.assert_round_trip(&id, |_| {});
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    // One that git calls modified stays so.
    sandbox.write("c", "one\r\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M c\n");
    sandbox.assert_round_trip(&id, |_| {});
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M c\n");
}

/// What a merge or a checkout writes is as new as the index that it writes: git looks at the bytes, as it would add them.
#[test]
fn a_converted_file_that_is_as_new_as_the_index_is_clean_after_a_trip() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".gitattributes",
        "*.txt text eol=crlf\n*.auto text=auto eol=crlf\n",
    );
    let lines = |changed: usize, to: &str| -> String {
        let line = |nth| {
            if nth == changed {
                format!("{to}\r\n")
            } else {
                format!("{nth}\r\n")
            }
        };
        (0..20).map(line).collect()
    };
    let write = |changed: usize, to: &str, conflict: &str| {
        for path in ["m.txt", "m.auto"] {
            sandbox.write(path, lines(changed, to));
        }
        sandbox.write("c", conflict);
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-qm", conflict]);
    };
    write(99, "", "base");
    let id = snapshot(&sandbox);
    sandbox.git(["checkout", "-qb", "other"]);
    write(3, "theirs", "theirs");
    sandbox.git(["checkout", "-q", "main"]);
    write(17, "ours", "ours");
    assert_eq!(sandbox.try_git(["merge", "-q", "other"]).code, 1);
    assert_eq!(sandbox.text("m.auto"), sandbox.text("m.txt"));
    sandbox.json(["travel", &id]);
    assert_eq!(sandbox.json(["return"])["verified"], true);
    assert_eq!(sandbox.git(["diff-files", "--name-only"]), "c\nc\n");
    sandbox.git(["merge", "--abort"]);
    assert_eq!(sandbox.text("c"), "ours");
}

/// No attribute says that git converts it.
#[test]
fn a_file_with_the_word_of_ident_is_clean_where_line_ends_may_be_converted() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.eol", "lf"]);
    sandbox.write("f.c", "/* $Id$ */\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "f"]);
    let id = snapshot(&sandbox);
    sandbox.write("f.c", "/* $Id$ */\nmore\n");
    sandbox.ok(["restore", &id]);
    assert_eq!(sandbox.git(["diff-files", "--name-only"]), "");
}

#[test]
fn what_another_file_s_time_is_makes_a_clean_one_not_modified() {
    let sandbox = Sandbox::new();
    sandbox.write("c", "one\r\n");
    sandbox.write("g", "1\n");
    let id = snapshot(&sandbox);
    sandbox.write("c", "two\r\n");
    sandbox.write("g", "2\n");
    age(&sandbox, "c");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "two"]);
    sandbox.write(".gitattributes", "c text\n");
    sandbox.git(["add", ".gitattributes"]);
    sandbox.git(["commit", "-qm", "text"]);
    for _ in 0..4 {
        sandbox.ok(["restore", &id, "g"]);
        sandbox.ok(["undo"]);
    }
    // Two sides of a file of one size are never of one second, and none is further ahead of the clock than the next.
    let meta = std::fs::metadata(sandbox.path("g")).unwrap();
    let ahead = meta
        .modified()
        .unwrap()
        .duration_since(std::time::SystemTime::now());
    let ahead = ahead.unwrap_or_default();
    assert!(ahead < std::time::Duration::from_secs(1), "{ahead:?}");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.assert_round_trip(&id, |_| {});
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_restore_of_what_the_index_has_not_leaves_the_index_file_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "then\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    let index = sandbox.read(".git/index");
    sandbox.ok(["restore", &id]);
    sandbox.ok(["undo"]);
    assert_eq!(sandbox.read(".git/index"), index);
}
