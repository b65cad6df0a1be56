//! Files that git converts: what commits have is not what is on disk and in snapshots.

use serde_json::json;

use super::{commit, said, session, turn};
use crate::sandbox::Sandbox;

/// Takes `f` out of the working tree, and has git write it again.
fn checked_out_anew(sandbox: &Sandbox) {
    sandbox.remove("f");
    sandbox.git(["checkout", "-q", "f"]);
}

/// Whose the lines of `f` are, before a snapshot and after one.
fn before_and_after(sandbox: &Sandbox, expected: &[&str]) {
    assert_eq!(said(sandbox, &["blame", "f"]), expected, "not captured");
    sandbox.ok(["snapshot"]);
    assert_eq!(said(sandbox, &["blame", "f"]), expected, "captured");
}

#[test]
fn lines_of_a_commit_are_its_own_whatever_line_ends_git_gives_them() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "1\n2\n3\n");
    commit(&sandbox, "lines");
    sandbox.write(".gitattributes", "* text=auto eol=crlf\n");
    commit(&sandbox, "attributes");
    checked_out_anew(&sandbox);
    assert_eq!(sandbox.text("f"), "1\r\n2\r\n3\r\n");
    before_and_after(&sandbox, &["commit"; 3]);
    let document = sandbox.json(["blame", "f"]);
    assert_eq!(document["lines"][0]["origin"]["title"], "lines");
    // What is not committed is told from it.
    sandbox.write("f", "1\r\nmine\r\n2\r\n3\r\n");
    assert_eq!(
        said(&sandbox, &["blame", "f"]),
        ["commit", "dirty", "commit", "commit"]
    );
    sandbox.ok(["snapshot"]);
    assert_eq!(
        said(&sandbox, &["blame", "f"]),
        ["commit", "between", "commit", "commit"]
    );
}

#[test]
fn a_turn_s_lines_keep_their_turn_where_git_converts_them() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.autocrlf", "true"]);
    sandbox.write("f", "1\n2\n3\n");
    commit(&sandbox, "base");
    checked_out_anew(&sandbox);
    let talk = session(&sandbox);
    turn(&talk, "write", || {
        sandbox.write("f", "1\r\n2\r\n3\r\nfour\r\n");
    });
    let made = commit(&sandbox, "four");
    let expected = ["commit", "commit", "commit", "0"];
    before_and_after(&sandbox, &expected);
    assert_eq!(said(&sandbox, &["blame", "HEAD", "f"]), expected);
    let origins = super::origins(&sandbox, &["blame", "f"]);
    assert_eq!(origins[3]["commit"], json!(made));
    let exported = sandbox.json(["blame", "--export", "git-ai", "f"]);
    assert_eq!(exported["commits"][0]["commit"], json!(made), "{exported}");
    // What comes from elsewhere with such line ends.
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", ".", other.to_str().unwrap()]);
    std::fs::write(other.join("f"), "theirs\n1\n2\n3\nfour\n").unwrap();
    sandbox.git_in(&other, ["commit", "-qam", "theirs"]);
    turn(&talk, "pull", || {
        sandbox.git(["pull", "-q", other.to_str().unwrap()]);
    });
    assert_eq!(sandbox.text("f"), "theirs\r\n1\r\n2\r\n3\r\nfour\r\n");
    let expected = ["commit", "commit", "commit", "commit", "0"];
    before_and_after(&sandbox, &expected);
    // Without conversion from now on, and with it again.
    sandbox.git(["config", "core.autocrlf", "input"]);
    checked_out_anew(&sandbox);
    before_and_after(&sandbox, &expected);
    sandbox.git(["config", "core.autocrlf", "true"]);
    checked_out_anew(&sandbox);
    before_and_after(&sandbox, &expected);
}

#[test]
fn a_line_with_an_id_that_git_fills_in_is_its_commit_s() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "f ident\n");
    sandbox.write("f", "$Id$\none\n");
    commit(&sandbox, "base");
    checked_out_anew(&sandbox);
    assert!(sandbox.text("f").starts_with("$Id: "));
    before_and_after(&sandbox, &["commit", "commit"]);
}

#[test]
fn line_ends_count_where_git_converts_none() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "1\n2\n");
    commit(&sandbox, "base");
    sandbox.ok(["snapshot"]);
    sandbox.write("f", "1\r\n2\n");
    assert_eq!(said(&sandbox, &["blame", "f"]), ["dirty", "commit"]);
    sandbox.ok(["snapshot"]);
    assert_eq!(said(&sandbox, &["blame", "f"]), ["between", "commit"]);
}
