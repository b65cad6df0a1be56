//! A pattern in everything that snapshots have: `tw search`.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::schema;
use crate::transcripts::{Kind, Talk};

mod naive;

fn hits(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    let ran = sandbox.tw([&["--json"], words].concat());
    let document: Value = crate::schema::read(&ran.stdout).unwrap();
    let hits = document["hits"].as_array().unwrap().clone();
    schema::check("search", &document);
    assert_eq!(ran.code, i32::from(hits.is_empty()), "{document}");
    hits
}

/// A snapshot's id.
fn take(sandbox: &Sandbox) -> String {
    sandbox.ok(["-q", "snapshot"]).trim().to_owned()
}

fn text<'a>(hit: &'a Value, name: &str) -> &'a str {
    hit[name].as_str().unwrap_or_default()
}

/// Path, line and text of each.
fn places(hits: &[Value]) -> Vec<String> {
    let place = |hit: &Value| {
        format!(
            "{}:{}:{}",
            text(hit, "path"),
            hit["line"],
            text(hit, "text")
        )
    };
    hits.iter().map(place).collect()
}

#[test]
fn a_line_is_one_hit_with_its_first_and_its_last_snapshot() {
    let sandbox = Sandbox::new();
    take(&sandbox);
    sandbox.write("n.txt", "needle\n");
    let first = take(&sandbox);
    // The file is another one, the line is the same.
    sandbox.write("n.txt", "more\nneedle\n");
    let last = take(&sandbox);
    sandbox.write("n.txt", "more\n");
    let gone = take(&sandbox);
    take(&sandbox);
    let found = hits(&sandbox, &["search", "needle"]);
    let [hit] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(text(hit, "in"), "content");
    assert_eq!(places(&found), ["n.txt:2:needle"]);
    assert_eq!(text(hit, "first_snapshot"), first);
    assert_eq!(text(hit, "last_snapshot"), last);
    assert_eq!(hit["removed"]["snapshot_id"], json!(gone));
    assert_eq!(hit["checkpoint"], Value::Null);
    let printed = sandbox.ok(["search", "needle"]);
    assert_eq!(printed, format!("{last}:n.txt:2:needle\n"));
    // It comes again: the last one is another, and it is there still.
    sandbox.write("n.txt", "needle\n");
    let again = take(&sandbox);
    let found = hits(&sandbox, &["search", "needle"]);
    assert_eq!(found.len(), 1);
    assert_eq!(text(&found[0], "first_snapshot"), first);
    assert_eq!(text(&found[0], "last_snapshot"), again);
    assert_eq!(found[0]["removed"], Value::Null);
}

#[test]
fn a_hit_names_the_prompts_that_added_and_removed_it() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("add the needle\nplease");
    sandbox.write("n.txt", "needle\n");
    talk.hook("Stop", &json!({}));
    sandbox.write("n.txt", "needle\nby a person: needles\n");
    talk.submits("take it out");
    sandbox.write("n.txt", "nothing\n");
    talk.hook("Stop", &json!({}));
    talk.submits("and now?");
    let found = hits(&sandbox, &["search", "needle"]);
    assert_eq!(found.len(), 2);
    let [person, agent] = &found[..] else {
        panic!()
    };
    assert_eq!(text(agent, "text"), "needle");
    assert_eq!(agent["checkpoint"], 0);
    assert_eq!(text(agent, "session_id"), talk.id);
    assert_eq!(text(agent, "prompt"), "add the needle");
    assert_eq!(person["checkpoint"], Value::Null);
    for hit in [agent, person] {
        assert_eq!(hit["removed"]["checkpoint"], 1);
        assert_eq!(text(&hit["removed"], "prompt"), "take it out");
        assert_eq!(text(&hit["removed"], "session_id"), talk.id);
    }
    // A diff names the prompt of each event.
    let events = hits(&sandbox, &["search", "needle", "--in", "diff"]);
    let told: Vec<_> = events
        .iter()
        .map(|hit| {
            (
                text(hit, "change"),
                text(hit, "text"),
                hit["checkpoint"].clone(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("removed", "by a person: needles", json!(1)),
            ("removed", "needle", json!(1)),
            ("added", "by a person: needles", Value::Null),
            ("added", "needle", json!(0)),
        ]
    );
    let headed = sandbox.ok(["search", "needle", "--heading", "-w"]);
    let headed = sandbox.redact(&headed);
    assert!(headed.contains("  added in "), "{headed}");
    assert!(headed.contains(":0 'add the needle'\n"), "{headed}");
    assert!(headed.contains(":1 'take it out'\n"), "{headed}");
    assert!(headed.contains("\n1:needle\n"), "{headed}");
}

#[test]
fn patterns_are_ripgreps() {
    let sandbox = Sandbox::new();
    sandbox.write("p.txt", "Foo bar\nfoo.bar\nfoobar\n-x\n");
    take(&sandbox);
    let lines = |words: &[&str]| -> Vec<u64> {
        let found = hits(&sandbox, &[words, &["--", "p.txt"]].concat());
        found
            .iter()
            .filter_map(|hit| hit["line"].as_u64())
            .collect()
    };
    assert_eq!(lines(&["search", "foo"]), [1, 2, 3]);
    assert_eq!(lines(&["search", "Foo"]), [1]);
    assert_eq!(lines(&["search", "-i", "FOO"]), [1, 2, 3]);
    assert_eq!(lines(&["search", "-s", "foo"]), [2, 3]);
    assert_eq!(lines(&["search", "-i", "-s", "foo"]), [2, 3]);
    assert_eq!(lines(&["search", "-w", "foo"]), [1, 2]);
    assert_eq!(lines(&["search", "foo.bar"]), [1, 2]);
    assert_eq!(lines(&["search", "-F", "foo.bar"]), [2]);
    assert_eq!(lines(&["search", "^foo"]), [1, 2, 3]);
    assert_eq!(lines(&["search", "-s", "bar$"]), [1, 2, 3]);
    assert_eq!(lines(&["search", "-e", "-x", "-e", "^foobar$"]), [3, 4]);
    assert_eq!(lines(&["search", "--regexp", "-x", "--ignore-case"]), [4]);
    assert_eq!(lines(&["search", "nothing"]), [0u64; 0]);
    // Behind -e the first word is a path.
    assert_eq!(
        places(&hits(&sandbox, &["search", "-e", "foobar", "p.txt"])).len(),
        1
    );
    assert_eq!(
        places(&hits(&sandbox, &["search", "-e", "foobar", "a.txt"])).len(),
        0
    );
}

#[test]
fn exit_codes_are_those_of_grep() {
    let sandbox = Sandbox::new();
    take(&sandbox);
    let none = sandbox.tw(["search", "no such thing"]);
    assert_eq!((none.code, none.out().as_str()), (1, ""));
    assert!(none.err().contains("no match"), "{}", none.err());
    let quiet = sandbox.tw(["-q", "search", "one"]);
    assert_eq!(
        (quiet.code, quiet.out(), quiet.err()),
        (0, String::new(), String::new())
    );
    assert_eq!(sandbox.tw(["-q", "search", "no such thing"]).code, 1);
    for words in [
        &["search", "a("][..],
        &["search"],
        &["search", "x", "--", "../.."],
        &["search", "x", "-g", "a["],
        &["search", "x", "--since", "whenever"],
        &["search", "x", "--session", "nobody"],
        &["search", "x", "--in", "prompt", "--", "a.txt"],
        &["search", "x", "--in", "content", "--added"],
    ] {
        let (error, code) = sandbox.json_error(words);
        assert_eq!(code, 2, "{words:?} {error}");
    }
    let outside = sandbox.tw_in(sandbox.root(), ["search", "x"]);
    assert_eq!(outside.code, 2, "{}", outside.err());
}

#[test]
fn files_counts_context_and_headings() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "d/c.txt",
        "1\n2\nneedle a\n4\nneedle b\n6\n7\n8\n9\nneedle c\n",
    );
    sandbox.write("d/d.txt", "needle\n");
    let id = take(&sandbox);
    assert_eq!(sandbox.ok(["search", "-l", "needle"]), "d/c.txt\nd/d.txt\n");
    assert_eq!(
        sandbox.ok(["search", "-c", "needle"]),
        "d/c.txt:3\nd/d.txt:1\n"
    );
    let counted = hits(&sandbox, &["search", "--count", "needle"]);
    assert_eq!(
        (&counted[0]["count"], counted[0].get("text")),
        (&json!(3), Some(&Value::Null))
    );
    let listed = hits(&sandbox, &["search", "--files-with-matches", "needle"]);
    assert_eq!(places(&listed), ["d/c.txt:null:", "d/d.txt:null:"]);
    let printed = sandbox.ok(["search", "-C", "1", "needle"]);
    let expected = [
        "d/c.txt-2-2",
        "d/c.txt:3:needle a",
        "d/c.txt-4-4",
        "d/c.txt:5:needle b",
        "d/c.txt-6-6",
    ];
    let last = ["d/c.txt-9-9", "d/c.txt:10:needle c"];
    let line = |line: &&str| format!("{id}:{line}\n");
    let expected: String = expected.iter().map(line).collect::<String>()
        + "--\n"
        + &last.iter().map(line).collect::<String>()
        // A file of one line is a group as well.
        + &format!("--\n{id}:d/d.txt:1:needle\n");
    assert_eq!(printed, expected);
    let around = hits(&sandbox, &["search", "--context", "1", "needle b"]);
    assert_eq!(around[0]["before"], json!([{"line": 4, "text": "4"}]));
    assert_eq!(around[0]["after"], json!([{"line": 6, "text": "6"}]));
    let headed = sandbox.ok(["search", "--heading", "needle"]);
    let parts: Vec<&str> = headed.split("\n\n").collect();
    assert_eq!(parts.len(), 2, "{headed}");
    assert!(parts[0].starts_with(&format!("d/c.txt {id}  ")), "{headed}");
    assert!(
        parts[0].ends_with("\n3:needle a\n5:needle b\n10:needle c"),
        "{headed}"
    );
    let flat = sandbox.ok(["search", "--heading", "--no-heading", "needle a"]);
    assert_eq!(flat, format!("{id}:d/c.txt:3:needle a\n"));
    let some = sandbox.json(["search", "needle", "--max-count", "2"]);
    assert_eq!(some["hits"].as_array().unwrap().len(), 2);
    assert_eq!(some["truncated"], true);
    let all = sandbox.json(["search", "needle", "-m", "4"]);
    assert_eq!(
        (all["hits"].as_array().unwrap().len(), &all["truncated"]),
        (4, &json!(false))
    );
}

#[test]
fn what_came_and_went_is_told_like_that() {
    let sandbox = Sandbox::new();
    sandbox.write("w.txt", "x needle\n");
    let first = take(&sandbox);
    sandbox.write("w.txt", "x needle\nx needle\n");
    let second = take(&sandbox);
    // Moved within its file it neither came nor went.
    sandbox.write("w.txt", "y\nx needle\nx needle\n");
    let third = take(&sandbox);
    sandbox.remove("w.txt");
    take(&sandbox);
    let told = |words: &[&str]| -> Vec<[String; 4]> {
        let found = hits(&sandbox, &[words, &["needle"]].concat());
        let told = found.iter().map(|hit| {
            assert_eq!(text(hit, "in"), "diff");
            ["change", "line", "first_snapshot", "last_snapshot"].map(|name| {
                hit[name]
                    .as_str()
                    .map_or(hit[name].to_string(), str::to_owned)
            })
        });
        told.collect()
    };
    let row = |words: [&str; 4]| words.map(str::to_owned);
    let removed = [
        row(["removed", "3", &second, &third]),
        row(["removed", "2", &first, &third]),
    ];
    let added = [
        row(["added", "2", &second, &third]),
        row(["added", "1", &first, &third]),
    ];
    assert_eq!(
        told(&["search", "--in", "diff"]),
        [&removed[..], &added[..]].concat()
    );
    assert_eq!(told(&["search", "--added"]), added);
    assert_eq!(told(&["search", "--removed"]), removed);
    assert_eq!(told(&["search", "--removed", "--in", "diff"]), removed);
    let printed = sandbox.ok(["search", "--removed", "-m", "1", "needle"]);
    assert_eq!(printed, format!("{third}:w.txt:3:-x needle\n"));
    // Both places in one answer.
    let both = hits(
        &sandbox,
        &["search", "needle", "--in", "content", "--in", "diff"],
    );
    assert_eq!(both.len(), 6);
}

#[test]
fn prompts_rewinds_and_issues_are_searched_as_they_are_stored() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("mend the parser\nwith the\x1b[2J needle, password=hunter2hunter2");
    sandbox.write("n.txt", "needle\n");
    talk.submits("go on");
    sandbox.ok(["rewind", "0", "--code", "--note", "the needle was wrong"]);
    let report = [
        "--symptom",
        "first line\nneedle in it",
        "--task-context",
        "t",
        "--success-criteria",
        "c",
    ];
    sandbox.ok([&["issue", "report"], &report[..]].concat());
    let prompts = hits(&sandbox, &["search", "needle", "--in", "prompt"]);
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    let [note, asked] = &prompts[..] else {
        panic!()
    };
    assert_eq!(
        (text(note, "field"), text(note, "text")),
        ("note", "the needle was wrong")
    );
    assert_eq!(
        (asked["checkpoint"].clone(), asked["line"].clone()),
        (json!(0), json!(2))
    );
    assert_eq!(text(asked, "session_id"), talk.id);
    assert!(!text(asked, "text").contains("hunter2"), "{asked}");
    assert!(text(asked, "first_snapshot").starts_with("s_"));
    let issues = hits(&sandbox, &["search", "needle", "--in", "issue"]);
    let symptom = issues.iter().find(|hit| hit["field"] == "symptom").unwrap();
    assert_eq!(
        (symptom["line"].clone(), text(symptom, "text")),
        (json!(2), "needle in it")
    );
    assert!(text(symptom, "issue_id").starts_with("i_"));
    // The shape is the same wherever a hit is.
    for hit in prompts.iter().chain(&issues) {
        assert_eq!(hit.get("path"), Some(&Value::Null), "{hit}");
    }
    let all = hits(
        &sandbox,
        &["search", "needle", "--in", "prompt,issue,content"],
    );
    assert_eq!(all.len(), 2 + issues.len() + 1);
    // Nothing of what was said to an agent steers a terminal.
    let printed = sandbox.ok(["search", "mend|needle", "--in", "prompt"]);
    assert!(
        !printed.contains('\x1b') && printed.contains("\\u{1b}[2J"),
        "{printed}"
    );
    let counted = sandbox.ok(["search", "-c", "e", "--in", "prompt"]);
    assert!(
        counted.lines().any(|line| line.ends_with(":0:3")),
        "{counted}"
    );
    assert_eq!(
        hits(
            &sandbox,
            &["search", "needle", "--in", "prompt", "--agent", "codex"]
        )
        .len(),
        0
    );
}

#[test]
fn only_what_was_asked_for_is_searched() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    sandbox.write("src/a.rs", "needle one\n");
    sandbox.write("doc/a.md", "needle two\n");
    sandbox.write("doc/b.rs", "needle three\n");
    let before = take(&sandbox);
    sandbox.write("src/a.rs", "needle four\n");
    talk.hook("SessionStart", &json!({}));
    talk.submits("go");
    let at = |words: &[&str]| {
        let mut found = places(&hits(
            &sandbox,
            &[&["search", "needle"], &words[1..]].concat(),
        ));
        found.sort();
        found
    };
    let four = "src/a.rs:1:needle four";
    let three = "doc/b.rs:1:needle three";
    assert_eq!(at(&["search"]).len(), 4);
    assert_eq!(
        at(&["search", "--", "src"]),
        [four, "src/a.rs:1:needle one"]
    );
    assert_eq!(at(&["search", "src"]), [four, "src/a.rs:1:needle one"]);
    assert_eq!(at(&["search", "--", "*.rs", ":!src"]), [three]);
    assert_eq!(
        at(&["search", "-g", "*.{md,txt}"]),
        ["doc/a.md:1:needle two"]
    );
    assert_eq!(
        at(&["search", "--glob", "!*.md", "--glob", "!/src/"]),
        [three]
    );
    assert_eq!(hits(&sandbox, &["search", "needle", "src/a.rs"]).len(), 2);
    let session = &talk.id[..8];
    assert_eq!(at(&["search", "--session", session]).len(), 3);
    assert_eq!(at(&["search", "--agent", "claude"]).len(), 3);
    assert_eq!(at(&["search", "--agent", "codex"]), [""; 0]);
    let shown = sandbox.json(["show", &before]);
    let time = text(&shown["snapshot"], "created_at");
    assert_eq!(at(&["search", "--until", time]).len(), 3);
    assert_eq!(at(&["search", "--until", "2020-01-01"]), [""; 0]);
    assert_eq!(at(&["search", "--since", time]).len(), 4);
    // A day is whole at both ends.
    let day = &time[..10];
    let all_day = at(&["search", "--since", day, "--until", day]);
    assert_eq!(all_day.len(), 4);
    // The first snapshot that has it is told, whether or not it was searched.
    let now = hits(&sandbox, &["search", "two", "--session", session]);
    assert_eq!(text(&now[0], "first_snapshot"), before);
}

#[test]
fn staged_ignored_and_odd_contents_are_found() {
    let sandbox = Sandbox::new();
    sandbox.write("staged.txt", "needle staged\n");
    sandbox.git(["add", "staged.txt"]);
    sandbox.write("staged.txt", "something else\n");
    sandbox.write(".gitignore", "*.env\n");
    sandbox.write("x.env", "needle ignored\n");
    let odd = sandbox.path(std::ffi::OsStr::new("")).join(odd_name());
    std::fs::write(odd, "needle odd \u{202e}\n").unwrap();
    sandbox.write("latin1.txt", b"needle \xe4\n");
    sandbox.write("binary", b"\x00\x01needle\n");
    sandbox.write("utf16.txt", utf16("needle wide\n"));
    sandbox.symlink("needle", "link");
    sandbox.ok(["snapshot", "--include", "x.env"]);
    let found = hits(&sandbox, &["search", "needle"]);
    let by = |path: &str| {
        let is = |hit: &&Value| text(hit, "path") == path;
        found
            .iter()
            .find(is)
            .unwrap_or_else(|| panic!("{path}: {found:?}"))
    };
    assert_eq!(by("staged.txt")["staged"], true);
    assert_eq!(by("x.env")["staged"], false);
    assert_eq!(by("odd\u{fffd}")["path_bytes"], "b2Rk/w==");
    assert_eq!(by("latin1.txt")["text_bytes"], "bmVlZGxlIOQ=");
    assert_eq!(
        (&by("binary")["binary"], &by("binary")["text"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(text(by("utf16.txt"), "text"), "needle wide");
    assert_eq!(found.len(), 6, "{found:?}");
    let printed = sandbox.tw(["search", "needle"]).stdout;
    let printed = String::from_utf8_lossy(&printed);
    assert!(
        printed.contains(":binary: binary file matches\n"),
        "{printed}"
    );
    assert!(printed.contains(":\"odd\\377\":1:needle odd"), "{printed}");
    let names = sandbox.tw(["search", "-l", "needle"]).stdout;
    let names = String::from_utf8_lossy(&names);
    assert!(names.lines().any(|line| line == "binary"), "{names}");
}

fn odd_name() -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(b"odd\xff".to_vec())
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

#[test]
fn what_is_not_there_is_told_and_hides_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("gone.txt", "needle gone\n");
    sandbox.write("dir/lost.txt", "needle lost\n");
    sandbox.write("kept.txt", "needle kept\n");
    let id = take(&sandbox);
    let commit = format!("refs/timewarp/snapshots/{id}");
    for path in ["gone.txt", "dir"] {
        let oid = sandbox.git(["rev-parse", &format!("{commit}:{path}")]);
        let (dir, name) = oid.trim().split_at(2);
        sandbox.remove(format!(".git/objects/{dir}/{name}"));
    }
    let ran = sandbox.tw(["search", "needle", "--json"]);
    let document: Value = crate::schema::read(&ran.stdout).unwrap();
    assert_eq!(ran.code, 0);
    assert_eq!(
        places(document["hits"].as_array().unwrap()),
        ["kept.txt:1:needle kept"]
    );
    let unreadable = document["unreadable"].as_array().unwrap();
    assert_eq!(unreadable.len(), 2, "{document}");
    assert!(
        unreadable.iter().any(|one| one["path"] == "gone.txt"),
        "{document}"
    );
    let told = sandbox.tw(["search", "needle"]);
    assert!(
        told.err().contains("not searched: 'gone.txt': object "),
        "{}",
        told.err()
    );
}

#[test]
fn what_the_newest_snapshot_has_is_told_before_the_others_are_walked() {
    let sandbox = Sandbox::new();
    sandbox.write("old/lost.txt", "needle lost\n");
    sandbox.write("a.txt", "needle one\n");
    let first = take(&sandbox);
    let lost = format!("refs/timewarp/snapshots/{first}:old");
    let oid = sandbox.git(["rev-parse", &lost]);
    sandbox.remove("old/lost.txt");
    sandbox.write("a.txt", "needle two\nneedle one\n");
    sandbox.write("b.txt", "needle three\n");
    let last = take(&sandbox);
    // Whoever walks through the first snapshot meets a tree that is lost.
    let (dir, name) = oid.trim().split_at(2);
    sandbox.remove(format!(".git/objects/{dir}/{name}"));
    let all = sandbox.json(["search", "needle"]);
    assert_eq!(all["unreadable"].as_array().unwrap().len(), 1, "{all}");
    let wanted = [
        "a.txt:2:needle one",
        "a.txt:1:needle two",
        "b.txt:1:needle three",
    ];
    let mut found = places(all["hits"].as_array().unwrap());
    found.sort();
    let mut sorted = wanted.map(str::to_owned);
    sorted.sort();
    assert_eq!(found, sorted);
    for count in ["1", "2"] {
        let some = sandbox.json(["search", "needle", "-m", count]);
        assert_eq!(some["truncated"], true);
        assert_eq!(some["unreadable"], json!([]), "{some}");
        let number: usize = count.parse().unwrap();
        let hits = some["hits"].as_array().unwrap();
        assert_eq!(hits[..], all["hits"].as_array().unwrap()[..number]);
        for hit in hits {
            let is_old = text(hit, "text") == "needle one";
            let came = if is_old { &first } else { &last };
            assert_eq!(
                (text(hit, "first_snapshot"), text(hit, "last_snapshot")),
                (&came[..], &last[..])
            );
        }
    }
}

#[test]
fn what_comes_before_the_walk_is_in_the_order_of_all() {
    let sandbox = Sandbox::new();
    sandbox.write("b.txt", "staged needle\n");
    sandbox.git(["add", "b.txt"]);
    sandbox.write("b.txt", "needle\n");
    for file in 0..9 {
        let lines: String = (0..9).map(|line| format!("needle {line}\n")).collect();
        sandbox.write(format!("c{file}.txt"), lines);
        take(&sandbox);
    }
    sandbox.write("a.txt", "needle\n");
    sandbox.write("c3.txt", "hay\n");
    take(&sandbox);
    for words in [
        &["search", "needle"][..],
        &["search", "needle", "-c"],
        &["search", "needle", "-l"],
    ] {
        // With prompts looked at, too, nothing is told before the walk.
        let early = hits(&sandbox, words);
        let late = hits(&sandbox, &[words, &["--in", "content,prompt"]].concat());
        assert_eq!(early, late, "{words:?}");
        assert!(early.len() > 8, "{words:?}");
    }
    assert_eq!(hits(&sandbox, &["search", "staged needle"]).len(), 1);
}

#[test]
fn contents_that_are_large_pass_in_pieces() {
    let sandbox = Sandbox::new();
    // Larger than what is read whole, and no two lines are equal.
    let mut bytes = Vec::new();
    let mut seed = 1u64;
    let mut lines = 0;
    while bytes.len() < (33 << 20) {
        lines += 1;
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.extend_from_slice(format!("{seed:x}{:x}\n", seed.rotate_left(7)).as_bytes());
    }
    bytes.extend_from_slice(b"the needle\n");
    sandbox.write("large.txt", &bytes);
    take(&sandbox);
    let found = hits(&sandbox, &["search", "the needle"]);
    assert_eq!(
        places(&found),
        [format!("large.txt:{}:the needle", lines + 1)]
    );
    assert_eq!(hits(&sandbox, &["search", "-l", "[0-9]"]).len(), 1);
}

#[test]
fn backups_experiments_and_other_worktrees_only_on_demand() {
    let sandbox = Sandbox::new();
    sandbox.write("n.txt", "needle one\n");
    take(&sandbox);
    sandbox.write("n.txt", "needle two\n");
    sandbox.ok(["restore", "latest"]);
    sandbox.ok(["travel", "latest"]);
    sandbox.write("n.txt", "needle three\n");
    sandbox.ok(["return"]);
    sandbox.git(["worktree", "add", "-q", "../other"]);
    let other = sandbox.root().join("other");
    std::fs::write(other.join("n.txt"), "needle four\n").unwrap();
    assert_eq!(sandbox.tw_in(&other, ["snapshot"]).code, 0);
    let texts = |words: &[&str]| {
        let found = hits(&sandbox, &[&["search", "needle"], &words[1..]].concat());
        let mut texts: Vec<String> = found
            .iter()
            .map(|hit| text(hit, "text").to_owned())
            .collect();
        texts.sort();
        texts
    };
    assert_eq!(texts(&["search"]), ["needle one"]);
    assert_eq!(
        texts(&["search", "--all-worktrees"]),
        ["needle four", "needle one"]
    );
    assert_eq!(
        texts(&["search", "--all"]),
        ["needle four", "needle one", "needle three", "needle two"]
    );
}

#[test]
fn searching_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("n.txt", "needle\n");
    take(&sandbox);
    let before = sandbox.state();
    hits(
        &sandbox,
        &["search", "needle", "--in", "content,diff,prompt,issue"],
    );
    assert_eq!(sandbox.state(), before);
}

#[test]
fn a_file_in_which_nearly_every_line_matches_is_named_and_the_others_are_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("log", "needle\n".repeat(100_001));
    sandbox.write("n.txt", "needle\n");
    take(&sandbox);
    let ran = sandbox.tw(["search", "needle"]);
    let whole = "exit 0\n--- stdout\ns_[1]:log: more than 100000 lines match\n";
    let shown = format!("{whole}s_[1]:n.txt:1:needle\n");
    assert_eq!(sandbox.show(&ran), shown);
    let counted = sandbox.tw(["search", "--count", "needle"]);
    let shown = format!("{whole}n.txt:1\n");
    assert_eq!(sandbox.show(&counted), shown);
    let listed = sandbox.ok(["search", "-l", "--added", "needle"]);
    assert_eq!(listed, "log\nn.txt\n");
    sandbox.ok(["search", "-q", "needle", "--", "log"]);
}

#[test]
fn lines_went_from_no_version_in_which_too_many_match() {
    let sandbox = Sandbox::new();
    for text in ["needle 1\n", &"needle\n".repeat(100_001), "needle 2\n"] {
        sandbox.write("log", text);
        take(&sandbox);
    }
    let went = sandbox.tw(["search", "--removed", "needle"]);
    let shown = "exit 0\n--- stdout\ns_[1]:log: more than 100000 lines match\n";
    assert_eq!(sandbox.show(&went), shown);
    let found = sandbox.json(["search", "needle"]);
    let hits = found["hits"].as_array().unwrap();
    let whole = hits.iter().find(|hit| hit["too_many"] == true).unwrap();
    assert!(whole["text"].is_null(), "{whole}");
    assert_eq!(found["unreadable"], serde_json::json!([]));
    let first = hits.iter().find(|hit| hit["text"] == "needle 1").unwrap();
    assert_eq!(first["first_snapshot"], first["last_snapshot"]);
    // Of the one between nobody knows.
    let newest = sandbox.json(["list", "-n", "1"])["snapshots"][0]["snapshot_id"].clone();
    assert_eq!(first["removed"]["snapshot_id"], newest);
}

#[test]
fn a_line_is_given_without_its_carriage_return() {
    let sandbox = Sandbox::new();
    sandbox.write("n.txt", "one needle\r\n");
    take(&sandbox);
    let found = sandbox.json(["search", "needle"]);
    assert_eq!(
        places(found["hits"].as_array().unwrap()),
        ["n.txt:1:one needle"]
    );
}
