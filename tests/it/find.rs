//! Which versions a path has had: `tw find`.

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::sandbox::Sandbox;
use crate::terminal::Terminal;
use crate::transcripts::{Kind, Talk};

fn versions(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    let document = sandbox.json(words);
    document["versions"].as_array().unwrap().clone()
}

fn take(sandbox: &Sandbox) -> String {
    sandbox.ok(["-q", "snapshot"]).trim().to_owned()
}

fn column(versions: &[Value], name: &str) -> Vec<Value> {
    versions.iter().map(|one| one[name].clone()).collect()
}

#[test]
fn each_content_is_listed_once_with_its_prompt() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    sandbox.write("n.txt", "one\n");
    let first = take(&sandbox);
    talk.submits("make it two\nplease");
    sandbox.write("n.txt", "two!\n");
    talk.hook("Stop", &json!({}));
    sandbox.write("n.txt", "one\n");
    let again = take(&sandbox);
    sandbox.remove("n.txt");
    take(&sandbox);
    let found = versions(&sandbox, &["find", "n.txt"]);
    assert_eq!(column(&found, "path"), [json!("n.txt"), json!("n.txt")]);
    assert_eq!(column(&found, "bytes"), [json!(4), json!(5)]);
    let [one, two] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (&one["first_snapshot"], &one["last_snapshot"]),
        (&json!(first), &json!(again))
    );
    // The prompt found nothing new, and has the first one.
    assert_eq!(one["snapshots"], 2);
    assert_eq!(one["checkpoint"], Value::Null);
    assert_eq!(two["first_snapshot"], two["last_snapshot"]);
    assert_eq!(
        (&two["checkpoint"], &two["session_id"]),
        (&json!(0), &json!(talk.id))
    );
    assert_eq!(two["prompt"], "make it two\nplease");
    let oid = sandbox.git([
        "rev-parse",
        &format!("refs/timewarp/snapshots/{again}:n.txt"),
    ]);
    assert_eq!(one["oid"], oid.trim());
    let printed = sandbox.ok(["find", "n.txt"]);
    assert!(
        printed.starts_with(&format!("n.txt\n  {}", &oid[..10])),
        "{printed}"
    );
    assert!(printed.contains("(2 snapshots)\n"), "{printed}");
    assert!(printed.ends_with(":0 'make it two'\n"), "{printed}");
    assert_eq!(
        sandbox.ok(["-q", "find", "n.txt"]).lines().next(),
        Some(again.as_str())
    );
}

#[test]
fn a_line_is_broken_where_a_terminal_ends() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    sandbox.write("n.txt", "one\n");
    talk.submits(&"make it two ".repeat(20));
    sandbox.write("n.txt", "two!\n");
    talk.hook("Stop", &json!({}));
    sandbox.write("b.txt", "other\n");
    take(&sandbox);
    for (columns, lines) in [(60, 4), (80, 3), (200, 2)] {
        let mut prepared = sandbox.tw_command();
        prepared.env("COLUMNS", columns.to_string());
        prepared.env("GIT_PAGER", "cat");
        let (code, shown) = Terminal::start(&sandbox, &prepared, &["find", "n.txt"]).ends();
        assert_eq!(code, 0, "{shown}");
        for line in shown.lines().filter(|line| !line.starts_with("hint:")) {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
        let newest = shown.lines().skip(1);
        let newest = newest.take_while(|line| !line.contains("made in"));
        assert_eq!(newest.count() + 1, lines, "{shown}");
        assert!(shown.contains("(2 snapshots)"), "{shown}");
    }
}

#[test]
fn pathspecs_choose_and_what_no_snapshot_has_is_not_found() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "a\n");
    sandbox.write("src/b.rs", "b\n");
    sandbox.symlink("a.rs", "src/link");
    sandbox.write("src/staged.rs", "s\n");
    sandbox.git(["add", "src/staged.rs"]);
    sandbox.remove("src/staged.rs");
    take(&sandbox);
    let paths = |words: &[&str]| column(&versions(&sandbox, words), "path");
    assert_eq!(paths(&["find", "src/a.rs"]), ["src/a.rs"]);
    assert_eq!(
        paths(&["find", "*.rs"]),
        ["src/a.rs", "src/b.rs", "src/staged.rs"]
    );
    assert_eq!(paths(&["find", "src", ":!*.rs"]), ["src/link"]);
    let found = versions(&sandbox, &["find", "src"]);
    let by = |path: &str| found.iter().find(|one| one["path"] == path).unwrap();
    assert_eq!(by("src/staged.rs")["staged"], true);
    assert_eq!(by("src/link")["mode"], "120000");
    let (error, code) = sandbox.json_error(["find", "nowhere.rs"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
    let (error, code) = sandbox.json_error(["find", "--all", "nowhere.rs"]);
    assert_eq!((error["code"].as_str(), code), (Some("PATH_NOT_FOUND"), 3));
    assert_eq!(sandbox.json_error(["find", "../.."]).1, 2);
    // What a restore replaced is in a backup.
    sandbox.write("src/a.rs", "changed\n");
    sandbox.ok(["restore", "latest", "src/a.rs"]);
    assert_eq!(paths(&["find", "--all", "src/a.rs"]).len(), 2);
    assert_eq!(paths(&["find", "--all-worktrees", "src/a.rs"]).len(), 1);
    assert_eq!(paths(&["find", "src/a.rs"]).len(), 1);
}

#[test]
fn an_absolute_path_may_come_by_a_symlink_to_the_working_tree() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/file", "1\n");
    sandbox.symlink("dir", "inside");
    sandbox.json(["snapshot"]);
    let link = sandbox.root().join("link");
    std::os::unix::fs::symlink(sandbox.repo(), &link).unwrap();
    for path in ["dir/file", "inside"] {
        let found = sandbox.json(["find", link.join(path).to_str().unwrap()]);
        assert_eq!(found["versions"][0]["path"], path);
    }
    let beside = sandbox.root().join("other");
    let (error, _) = sandbox.json_error(["find", beside.to_str().unwrap()]);
    assert_eq!(error["code"], "USAGE");
}
