//! What is offered while a command line is typed: ids, labels, paths, and nothing that is not meant.

mod shells;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::sandbox::Sandbox;

/// What is offered for the last of these words, as a script asks for it that needs no quotes: name and description.
fn offered(sandbox: &Sandbox, words: &[&str]) -> Vec<(String, String)> {
    let mut command = sandbox.tw_command();
    let output = command
        .env("COMPLETE", "fish")
        .args(["--", "tw"])
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let (name, about) = line.split_once('\t').unwrap_or((line, ""));
        (name.to_owned(), about.to_owned())
    });
    lines.filter(|(name, _)| !name.starts_with('-')).collect()
}

fn names(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let offered = offered(sandbox, words).into_iter();
    offered.map(|(name, _)| name).collect()
}

/// Two snapshots, the first with a file that is gone, and a backup of the travel between them.
fn travelled() -> (Sandbox, [String; 3]) {
    let sandbox = Sandbox::new();
    sandbox.write("gone.txt", "1");
    sandbox.write("old/deep.txt", "1");
    sandbox.write("kept.txt", "1");
    let first = sandbox.ok(["-q", "snapshot", "-m", "the first"]);
    sandbox.remove("gone.txt");
    sandbox.remove("old");
    sandbox.write("new.txt", "2");
    sandbox.wait(60);
    let second = sandbox.ok(["-q", "snapshot", "-m", "the second"]);
    sandbox.write("kept.txt", "3");
    sandbox.wait(60);
    sandbox.ok(["-q", "restore", first.trim(), "kept.txt"]);
    let backups = sandbox.json(["list", "--kind", "backup"]);
    let backup = backups["snapshots"][0]["snapshot_id"].as_str().unwrap();
    let ids = [first.trim(), second.trim(), backup].map(str::to_owned);
    (sandbox, ids)
}

#[test]
fn snapshots_come_newest_first_and_backups_last_where_they_make_sense() {
    let (sandbox, [first, second, backup]) = travelled();
    for verb in ["show", "restore", "open", "drop"] {
        let all = names(&sandbox, &[verb, ""]);
        assert_eq!(
            all,
            ["latest", "session", &second, &first, &backup],
            "{verb}"
        );
    }
    assert_eq!(
        names(&sandbox, &["diff", ""]),
        ["latest", "session", "present", &second, &first, &backup]
    );
    // Nobody goes to a backup, or names one, unless its letter is typed.
    for words in [
        &["travel"][..],
        &["label"],
        &["issue", "report", "--snapshot"],
    ] {
        let asked = |typed| names(&sandbox, &[words, &[typed]].concat());
        assert_eq!(asked(""), ["latest", "session", &second, &first]);
        assert_eq!(asked("b_"), [backup.as_str()]);
    }
    let titled = offered(&sandbox, &["travel", &first[..18]]);
    assert_eq!(titled, [(first.clone(), "the first".to_owned())]);
    let tail = first.rsplit('_').next().unwrap();
    assert_eq!(names(&sandbox, &["show", tail]), [first.as_str()]);
    assert_eq!(
        names(&sandbox, &["diff", &format!("{first}..{}", &second[..18])]),
        [format!("{first}..{second}")]
    );
}

#[test]
fn restore_offers_what_the_snapshot_has_whether_it_is_on_disk_or_not() {
    let (sandbox, [first, second, _]) = travelled();
    let paths = |words: &[&str]| names(&sandbox, words);
    assert_eq!(paths(&["restore", &first, "g"]), ["gone.txt"]);
    assert_eq!(paths(&["restore", &first, "old"]), ["old/"]);
    assert_eq!(paths(&["restore", &first, "old/"]), ["old/deep.txt"]);
    assert_eq!(paths(&["restore", &second, "g"]), [""; 0]);
    assert_eq!(paths(&["restore", &first, "new"]), [""; 0], "it has none");
    assert_eq!(paths(&["restore", &first, "--", "g"]), ["gone.txt"]);
    let told = offered(&sandbox, &["restore", &first, "g"]);
    assert_eq!(told[0].1, "not here now");

    // Also in the past, and from a directory below.
    sandbox.ok(["travel", &first]);
    sandbox.remove("gone.txt");
    assert_eq!(paths(&["restore", &second, "new"]), ["new.txt"]);
    assert_eq!(paths(&["restore", &first, "g"]), ["gone.txt"]);
    assert_eq!(
        paths(&["-C", "old", "restore", &second, "../n"]),
        ["../new.txt"]
    );
    assert_eq!(paths(&["return", "--keep", "ke"]), ["kept.txt"]);
}

#[test]
fn pathspecs_are_paths_on_disk_and_of_the_snapshots_that_are_compared() {
    let (sandbox, [first, second, _]) = travelled();
    sandbox.write("next.txt", "4");
    let both = ["new.txt", "next.txt"];
    for words in [
        &["diff", "--", "ne"][..],
        &["diff", &first, "--", "ne"],
        &["search", "x", "--", "ne"],
        &["search", "-e", "x", "--", "ne"],
        &["search", "x", "ne"],
        &["find", "ne"],
        &["list", "--", "ne"],
        &["log", "ne"],
        &["purge", "ne"],
    ] {
        assert_eq!(names(&sandbox, words), both, "{words:?}");
    }
    // Or an id, whose last part may begin with any two letters; none has a dot.
    assert_eq!(names(&sandbox, &["blame", "new."]), ["new.txt"]);
    assert_eq!(names(&sandbox, &["diff", "--", "g"]), [""; 0]);
    assert_eq!(names(&sandbox, &["diff", &first, "--", "g"]), ["gone.txt"]);
    assert_eq!(names(&sandbox, &["diff", &first, "gone."]), ["gone.txt"]);
    assert_eq!(
        names(&sandbox, &["diff", &first, &second, "g"]),
        ["gone.txt"]
    );
    let range = format!("{first}..{second}");
    assert_eq!(names(&sandbox, &["diff", &range, "--", "g"]), ["gone.txt"]);
}

#[test]
fn where_the_past_is_looked_at_paths_are_offered_that_are_only_there() {
    let (sandbox, [first, _, _]) = travelled();
    // No id has a dot.
    for words in [
        &["find", "gone."][..],
        &["purge", "gone."],
        &["blame", &first, "gone."],
        &["show", &first, "--", "gone."],
        &["show", "--", "gone."],
        &["search", "x", "gone."],
        &["search", "x", "--", "gone."],
        &["search", "-e", "x", "--", "gone."],
        &["log", "--", "gone."],
        &["list", "--", "gone."],
        &["revert", "0", "--", "gone."],
    ] {
        assert_eq!(names(&sandbox, words), ["gone.txt"], "{words:?}");
    }
    assert_eq!(names(&sandbox, &["find", "old/"]), ["old/deep.txt"]);
    // Of the present it is no file.
    assert_eq!(names(&sandbox, &["blame", "gone."]), [""; 0]);
}

#[test]
fn issues_sessions_checkpoints_labels_agents_and_opened_directories_are_offered() {
    let (sandbox, [first, ..]) = travelled();
    sandbox.ok(["label", &first, "milestone"]);
    sandbox.ok([
        "-q",
        "session",
        "start",
        "--agent",
        "generic",
        "--session",
        "talk-1",
    ]);
    sandbox.ok(["checkpoint", "-m", "before the parser"]);
    let report = [
        "issue",
        "report",
        "--symptom",
        "it hangs",
        "--success-criteria",
        "it ends",
    ];
    sandbox.ok(report.iter().chain(&["--task-context", "tests"]));
    sandbox.ok(["-q", "open", &first, "../laid-out"]);

    let one = |words: &[&str]| {
        let mut found = offered(&sandbox, words);
        assert_eq!(found.len(), 1, "{words:?}: {found:?}");
        found.remove(0)
    };
    let issue = one(&["issue", "show", ""]);
    assert!(
        issue.0.starts_with("i_") && issue.1 == "it hangs",
        "{issue:?}"
    );
    for words in [
        &["issue", "close", ""][..],
        &["issue", "close", "--of", ""],
        &["issue", "verify", ""],
    ] {
        assert_eq!(one(words).0, issue.0);
    }
    assert_eq!(one(&["travel", "issue:"]).0, format!("issue:{}", issue.0));
    for words in [
        &["session", "end", ""][..],
        &["list", "--session", "ta"],
        &["checkpoint", "--session", ""],
    ] {
        assert_eq!(one(words), ("talk-1".to_owned(), "generic".to_owned()));
    }
    let checkpoint = ("0".to_owned(), "before the parser".to_owned());
    for words in [
        &["checkpoint", "show", ""][..],
        &["rewind", ""],
        &["rewind", "--session", "talk-1", ""],
    ] {
        assert_eq!(one(words), checkpoint);
    }
    assert_eq!(one(&["rewind", "talk-1:"]).0, "talk-1:0");
    assert_eq!(one(&["travel", "checkpoint:"]).0, "checkpoint:0");
    for words in [
        &["list", "--label", "m"][..],
        &["label", "--remove", ""],
        &["travel", "mile"],
    ] {
        assert_eq!(one(words), ("milestone".to_owned(), "label".to_owned()));
    }
    assert_eq!(one(&["list", "--agent", "gen"]).0, "generic");
    assert_eq!(one(&["close", ""]), ("../laid-out".to_owned(), first));
    assert_eq!(one(&["config", "keep_l"]).0, "keep_last");
    assert!(one(&["undo", ""]).1.starts_with("restore "));
    assert_eq!(names(&sandbox, &["redo", ""]), [""; 0]);
}

/// Every file beneath a directory: when it was written, and what is in it.
fn files(root: PathBuf) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root];
    while let Some(dir) = pending.pop() {
        found.insert(
            dir.clone(),
            (dir.metadata().unwrap().modified().unwrap(), Vec::new()),
        );
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let written = path.metadata().unwrap().modified().unwrap();
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path, (written, bytes));
            }
        }
    }
    found
}

const QUESTIONS: &[&[&str]] = &[
    &[""],
    &["restore", ""],
    &["restore", "latest", ""],
    &["diff", "latest..", ""],
    &["diff", "--", ""],
    &["issue", "show", ""],
    &["session", "end", ""],
    &["rewind", ""],
    &["list", "--label", ""],
    &["list", "--agent", ""],
    &["close", ""],
    &["undo", ""],
    &["travel", "checkpoint:"],
    &["search", "x", "--", ""],
];

#[test]
fn nothing_is_written_for_an_offer() {
    let (sandbox, _) = travelled();
    let before = files(sandbox.root());
    for words in QUESTIONS {
        offered(&sandbox, words);
    }
    assert!(before == files(sandbox.root()), "something was written");
}

#[test]
fn outside_of_a_repository_and_in_a_broken_one_nothing_is_said() {
    let outside = Sandbox::bare_room();
    let (broken, _) = travelled();
    broken.write(".git/config", "[core\n");
    let unborn = Sandbox::unborn();
    for sandbox in [&outside, &broken, &unborn] {
        for words in QUESTIONS {
            let found = names(sandbox, words);
            assert!(found.iter().all(|name| !name.contains('_')), "{found:?}");
        }
    }
    // A directory that is not there, and words that no command has.
    for words in [
        &["-C", "nowhere", "show", ""][..],
        &["nonsense", "--what", ""],
    ] {
        offered(&unborn, words);
    }
}

/// A command is offered by its own name, and by another to who has typed that.
#[test]
fn another_name_never_hides_a_command() {
    let sandbox = Sandbox::new();
    let offers = |words: &[&str], has: &[&str], not: &[&str]| {
        let all = names(&sandbox, words);
        let is_there = |name: &&&str| all.iter().any(|one| one == **name);
        assert_eq!(
            has.iter().filter(|one| !is_there(one)).count(),
            0,
            "{all:?}"
        );
        assert_eq!(not.iter().filter(is_there).count(), 0, "{all:?}");
    };
    offers(&["s"], &["status", "snapshot", "show"], &["st", "snap"]);
    offers(&["l"], &["list", "log", "label"], &["ls"]);
    offers(&["ls"], &["ls"], &["list"]);
    offers(&["issue", ""], &["report", "get"], &["create", "show"]);
    offers(&["issue", "c"], &["chat", "close"], &[]);
    offers(&["issue", "cr"], &["create"], &["report"]);
}

#[test]
fn a_path_that_leads_upwards_is_offered_where_a_side_stands() {
    let (sandbox, _) = travelled();
    sandbox.mkdir("sub");
    assert_eq!(
        names(&sandbox, &["-C", "sub", "diff", "../ne"]),
        ["../new.txt"]
    );
    let behind = names(&sandbox, &["-C", "sub", "diff", "latest..pre"]);
    assert_eq!(behind, ["latest..present"]);
}
