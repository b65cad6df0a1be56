//! `tw restore -L`: the lines of one file that are named, beside what git makes of the same hunk.

use crate::sandbox::Sandbox;
use crate::trip::{mode, snapshot};

/// Lines of which some are others, some are missing, and some were put in front.
fn text(changed: &[(usize, &str)], end: &str) -> String {
    let line = |n: usize| {
        let other = changed.iter().find(|(at, _)| *at == n);
        other.map_or(format!("line {n}\n"), |(_, text)| (*text).to_owned())
    };
    (1..=60).map(line).collect::<String>() + end
}

/// A snapshot of `then`, and `now` in its place.
fn changed(then: &str, now: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("x.txt", then);
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "then"]);
    let id = snapshot(&sandbox);
    sandbox.write("x.txt", now);
    (sandbox, id)
}

/// The patch from now to then with one hunk each, and the lines that its head names of what was then.
fn patches(sandbox: &Sandbox) -> Vec<(String, String)> {
    sandbox.git(["diff", "-R", "--output=../all.patch", "x.txt"]);
    let all = std::fs::read_to_string(sandbox.root().join("all.patch")).unwrap();
    let mut parts = all.split("\n@@ ");
    let header = parts.next().unwrap().to_owned();
    let mut hunks: Vec<String> = parts.map(|hunk| format!("@@ {hunk}\n")).collect();
    if let Some(last) = hunks.last_mut() {
        last.pop();
    }
    let hunks = hunks.into_iter().map(|hunk| {
        let range = hunk.split(' ').nth(2).unwrap().trim_start_matches('+');
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        (format!("{header}\n{hunk}"), format!("{start},+{count}"))
    });
    hunks.collect()
}

#[test]
fn each_hunk_becomes_what_git_apply_makes_of_it_and_undo_takes_it_back() {
    let then = text(&[], "");
    let nows = [
        text(
            &[
                (1, ""),
                (20, "twenty\n"),
                (29, "line 29\nmore\nand more\n"),
                (40, "line 40\nnew\n"),
                (50, ""),
                (60, "last"),
            ],
            "",
        ),
        text(&[(1, "first\nline 1\n"), (30, "")], "behind\nthe end\n"),
        text(&[(1, ""), (2, ""), (59, ""), (60, "")], ""),
    ];
    let (sandbox, id) = changed(&then, &nows[0]);
    let index = sandbox.git(["ls-files", "-s"]);
    let mut hunks = 0;
    for now in &nows {
        sandbox.write("x.txt", now);
        for (patch, range) in patches(&sandbox) {
            std::fs::write(sandbox.root().join("one.patch"), &patch).unwrap();
            sandbox.git(["apply", "../one.patch"]);
            let expected = sandbox.text("x.txt");
            sandbox.write("x.txt", now);
            assert_ne!(&expected, now);
            sandbox.ok(["restore", &id, "-L", &range, "x.txt"]);
            assert_eq!(sandbox.text("x.txt"), expected, "{range}\n{patch}");
            sandbox.ok(["undo"]);
            assert_eq!(&sandbox.text("x.txt"), now, "{range}");
            hunks += 1;
        }
    }
    assert!(hunks >= 9, "{hunks}");
    assert_eq!(sandbox.git(["ls-files", "-s"]), index);
    // All of them at once is all of it.
    sandbox.ok(["restore", &id, "-L", "1,60", "x.txt"]);
    assert_eq!(sandbox.text("x.txt"), then);
}

#[test]
fn a_dry_run_shows_the_lines_and_the_file_is_refused_when_it_is_another_one_by_then() {
    let (sandbox, id) = changed(
        &text(&[], ""),
        &text(&[(2, "two\n"), (40, "forty\n")], "end\n"),
    );
    sandbox.chmod("x.txt", 0o750);
    let looks = ["restore", &id, "-L", "2,2", "x.txt", "--dry-run"];
    let before = sandbox.state();
    let said = sandbox.ok(looks);
    assert!(said.contains("-two") && said.contains("+line 2"), "{said}");
    assert!(!said.contains("forty"), "{said}");
    let looked = sandbox.json(looks);
    before.assert_same(&sandbox.state());
    assert_eq!(looked["dry_run"], true);
    assert_eq!(looked["changes"]["written"].as_array().unwrap().len(), 1);
    let found = looked["lines"]["found"].as_str().unwrap().to_owned();
    assert_eq!(found, sandbox.git(["hash-object", "x.txt"]).trim());
    let patch = looked["lines"]["patch"].as_str().unwrap();
    std::fs::write(sandbox.root().join("told.patch"), patch).unwrap();
    sandbox.git(["apply", "--check", "../told.patch"]);
    let does = ["restore", &id, "-L", "2,2", "--expect", &found, "x.txt"];
    // Somebody wrote elsewhere in the file meanwhile.
    let now = sandbox.text("x.txt");
    sandbox.write("x.txt", format!("{now}more\n"));
    sandbox.chmod("x.txt", 0o750);
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(does);
    assert_eq!((error["code"].as_str(), code), (Some("BUSY"), 4), "{error}");
    before.assert_same(&sandbox.state());
    sandbox.write("x.txt", now);
    sandbox.chmod("x.txt", 0o750);
    let done = sandbox.json(does);
    assert_eq!(done["lines"], looked["lines"]);
    assert_eq!(
        sandbox.text("x.txt"),
        text(&[(40, "forty\n")], "end\n"),
        "no other line, and no mode"
    );
    assert_eq!(mode(&sandbox, "x.txt"), 0o750);
    // It is as the snapshot has it now: nothing is saved, and no level of the undo log made.
    let levels = sandbox.json(["undo", "--list"]);
    let again = sandbox.json(["restore", &id, "-L", "1,3", "x.txt"]);
    assert!(again["backup_id"].is_null() && again["lines"]["patch"].is_null());
    assert_eq!(sandbox.json(["undo", "--list"]), levels);
}

#[test]
fn what_has_no_such_lines_is_refused_and_nothing_is_done() {
    let (sandbox, id) = changed("then\n", "now\n");
    sandbox.write("dir/bin", b"\0then");
    sandbox.write("dir/gone", "then\n");
    let second = snapshot(&sandbox);
    sandbox.write("dir/bin", b"\0now");
    sandbox.remove("dir/gone");
    let before = sandbox.state();
    for (words, told) in [
        (&[&id[..], "-L", "2,3", "x.txt"][..], "the file has 1 lines"),
        (&[&id, "-L", "0,1", "x.txt"], "not a range of lines"),
        (&[&id, "-L", "1,1"], "lines of one file"),
        (&[&id, "-L", "1,1", "x.txt", "dir"], "lines of one file"),
        (&[&id, "-L", "1,1", "*.txt"], "lines of one file"),
        (&[&second, "-L", "1,1", "dir"], "lines of one file"),
        (
            &[&second, "-L", "1,1", "dir/bin"],
            "no lines to choose from",
        ),
        (
            &[&second, "-L", "1,1", "dir/gone"],
            "no lines to choose from",
        ),
        (&[&id, "-L", "1,1", "dir/bin"], "no lines to choose from"),
        (
            &[&id, "-L", "1,1", "--expect", "0123", "x.txt"],
            "not a full object id",
        ),
        (&[&id, "-p", "-L", "1,1", "x.txt"], "cannot be used with"),
        (&[&id, "--expect", "0123", "x.txt"], "required"),
    ] {
        let ran = sandbox.tw([&["restore"][..], words].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err());
        let said = format!("{}{}", ran.err(), ran.out());
        assert!(said.contains(told), "{words:?}: {said}");
    }
    let (error, _) = sandbox.json_error(["restore", &id, "-L", "1,1", "nowhere"]);
    assert_eq!(error["code"], "PATH_NOT_FOUND");
    before.assert_same(&sandbox.state());
}
