//! `tw revert`: what one prompt changed, taken back; what came later stays.

mod model;

use serde_json::{Value, json};

use crate::sandbox::{STEP, Sandbox};
use crate::transcripts::{Kind, Talk};
use crate::trip::list;

const LONG: &str = "1\n2\n3\n4\n5\n6\n7\n8\n";

/// A session in a repository with a committed file of eight lines.
fn talk(sandbox: &Sandbox) -> Talk<'_> {
    sandbox.write("long.txt", LONG);
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "long"]);
    let talk = Talk::new(sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk
}

/// A turn in which the agent does something, from its prompt to its end.
fn turn(talk: &Talk<'_>, prompt: &str, work: impl FnOnce(&Sandbox)) {
    talk.submits(prompt);
    talk.writes_prompt(prompt);
    work(talk.sandbox);
    talk.answers(prompt, 100);
    talk.hook("Stop", &json!({}));
}

/// The agent writes a file by a tool, and writes down that it did.
fn edits(talk: &Talk<'_>, path: &str, text: &str) {
    let file = talk.sandbox.path(path);
    talk.sandbox.write(path, text);
    let input = json!({"file_path": file, "old_string": "a", "new_string": "b"});
    talk.edits(&format!("edit-{path}"), "Edit", &input);
}

fn revert(sandbox: &Sandbox, words: &[&str]) -> Value {
    let document = sandbox.json(["revert"].iter().chain(words));
    crate::schema::check("revert", &document);
    document
}

fn numbers(reverted: &Value) -> Vec<u64> {
    let all = reverted["reverted"].as_array().unwrap().iter();
    all.map(|one| one["checkpoint_id"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_prompt_goes_and_later_ones_and_people_s_work_stay() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("long.txt", LONG.replace('2', "two"));
        sandbox.write("made/by-one.txt", "one\n");
        sandbox.chmod("made/by-one.txt", 0o755);
    });
    sandbox.write("person.txt", "mine\n");
    turn(&talk, "two", |sandbox| {
        sandbox.write("long.txt", LONG.replace('2', "two").replace('7', "seven"));
    });
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(["add", "staged.txt"]);
    let before = sandbox.state();

    let planned = revert(&sandbox, &["0", "--dry-run"]);
    before.assert_same(&sandbox.state());
    let reverted = revert(&sandbox, &["0"]);
    assert_eq!(planned["changes"], reverted["changes"]);
    assert_eq!(
        (&planned["dry_run"], &planned["backup_id"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(sandbox.text("long.txt"), LONG.replace('7', "seven"));
    assert!(!sandbox.exists("made"), "the directory went with its file");
    assert_eq!(sandbox.text("person.txt"), "mine\n");
    assert_eq!(list(&reverted["changes"]["written"]), ["long.txt"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["made/by-one.txt"]);
    assert_eq!(reverted["merged"], json!(["long.txt"]));
    assert_eq!(numbers(&reverted), [0]);
    let one = &reverted["reverted"][0];
    assert_eq!(
        (&one["session_id"], &one["prompt"], &one["end_noted"]),
        (&json!(talk.id), &json!("one"), &json!(true))
    );
    let status = sandbox.git(["status", "--porcelain", "-uall"]);
    assert_eq!(status, " M long.txt\nA  staged.txt\n?? person.txt\n");
    let undone = sandbox.json(["undo"]);
    assert_eq!(undone["operation"], "revert");
    before.assert_same(&sandbox.state());
    sandbox.json(["redo"]);
    assert_eq!(sandbox.text("long.txt"), LONG.replace('7', "seven"));
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn reverting_twice_or_a_prompt_without_a_change_does_nothing() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("long.txt", LONG.replace('2', "two"));
    });
    turn(&talk, "two", |_| {});
    revert(&sandbox, &["0"]);
    // A later change in the line beside it does not hide that it was taken back.
    sandbox.write("long.txt", LONG.replace('3', "three"));
    let before = sandbox.state();
    for number in ["0", "1"] {
        let again = revert(&sandbox, &[number]);
        assert_eq!(again["changes"], json!({"written": [], "removed": []}));
        assert_eq!(again["backup_id"], Value::Null);
    }
    before.assert_same(&sandbox.state());
    let said = sandbox.ok(["revert", "1"]);
    assert!(
        said.starts_with("nothing to revert of checkpoint 1"),
        "{said}"
    );
    assert_eq!(
        sandbox.json(["undo", "--list"])["levels"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

/// Two prompts that make the same change, with a revert of the first between them.
fn made_again(sandbox: &Sandbox) -> Talk<'_> {
    let talk = talk(sandbox);
    let work = |sandbox: &Sandbox| {
        sandbox.write("long.txt", LONG.replace('2', "two"));
        sandbox.write("new.txt", "new\n");
    };
    turn(&talk, "one", work);
    revert(sandbox, &["0"]);
    assert!(!sandbox.exists("new.txt"));
    turn(&talk, "two", work);
    talk
}

#[track_caller]
fn is_already_reverted(sandbox: &Sandbox, words: &[&str]) {
    let before = sandbox.state();
    let again = revert(sandbox, words);
    assert_eq!(again["changes"], json!({"written": [], "removed": []}));
    assert_eq!(again["backup_id"], Value::Null);
    assert_ne!(again["already_reverted"], json!([]));
    before.assert_same(&sandbox.state());
}

#[test]
fn what_a_later_prompt_made_again_is_its_own() {
    let sandbox = Sandbox::new();
    let talk = made_again(&sandbox);
    is_already_reverted(&sandbox, &["0"]);
    let said = sandbox.ok(["revert", "0"]);
    assert!(
        said.starts_with("already reverted: checkpoint 0 of session"),
        "{said}"
    );
    // What else came in between does not count, and the later prompt can be taken back.
    turn(&talk, "three", |sandbox| sandbox.write("third.txt", "3\n"));
    sandbox.write("person.txt", "mine\n");
    is_already_reverted(&sandbox, &["0"]);
    let reverted = revert(&sandbox, &["1"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["new.txt"]);
    assert_eq!(sandbox.text("long.txt"), LONG);
    sandbox.json(["undo"]);
    is_already_reverted(&sandbox, &["0"]);
    let both = revert(&sandbox, &["0", "1"]);
    assert_eq!(list(&both["changes"]["removed"]), ["new.txt"]);
}

#[test]
fn a_revert_that_was_undone_does_not_count_until_it_is_redone() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| sandbox.write("new.txt", "new\n"));
    revert(&sandbox, &["0"]);
    sandbox.json(["undo"]);
    let planned = revert(&sandbox, &["0", "--dry-run"]);
    assert_eq!(list(&planned["changes"]["removed"]), ["new.txt"]);
    sandbox.json(["redo"]);
    turn(&talk, "two", |sandbox| sandbox.write("new.txt", "new\n"));
    is_already_reverted(&sandbox, &["0"]);
    // That swap alone.
    sandbox.json(["restore", "latest", "long.txt"]);
    sandbox.write("other.txt", "o\n");
    revert(&sandbox, &["1"]);
    let levels = sandbox.json(["undo", "--list"]);
    let count = levels["levels"].as_array().unwrap().len();
    sandbox.json(["undo", &count.to_string()]);
    let planned = revert(&sandbox, &["0", "--dry-run"]);
    assert_eq!(planned["already_reverted"], json!([]), "{planned}");
}

#[test]
fn a_revert_of_some_paths_leaves_the_others_to_be_reverted() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    let work = |sandbox: &Sandbox| {
        for file in ["aa.txt", "b.txt", "dir/c.txt"] {
            sandbox.write(file, "new\n");
        }
    };
    turn(&talk, "one", work);
    let first = revert(&sandbox, &["0", "--", "aa.txt"]);
    assert_eq!(list(&first["changes"]["removed"]), ["aa.txt"]);
    turn(&talk, "two", |sandbox| sandbox.write("aa.txt", "new\n"));
    let rest = revert(&sandbox, &["0"]);
    assert_eq!(list(&rest["changes"]["removed"]), ["b.txt", "dir/c.txt"]);
    assert_eq!(list(&rest["already_reverted"]), ["aa.txt"]);
    turn(&talk, "three", work);
    is_already_reverted(&sandbox, &["0"]);
    // As a snapshot, which holds the same change.
    let end = rest["reverted"][0]["end_snapshot_id"].as_str().unwrap();
    is_already_reverted(&sandbox, &[end]);
}

#[test]
fn a_revert_is_void_where_an_older_state_came_back() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    sandbox.write("long.txt", "0\n");
    turn(&talk, "one", |sandbox| {
        sandbox.write("aa.txt", "new\n");
        sandbox.write("b.txt", "new\n");
    });
    let reverted = revert(&sandbox, &["0"]);
    let end = reverted["reverted"][0]["end_snapshot_id"].as_str().unwrap();
    let start = reverted["reverted"][0]["snapshot_id"].as_str().unwrap();
    // One comes back by tw, the other by hand.
    sandbox.json(["restore", end, "aa.txt"]);
    sandbox.write("b.txt", "new\n");
    let again = revert(&sandbox, &["0"]);
    assert_eq!(list(&again["changes"]["removed"]), ["aa.txt", "b.txt"]);
    sandbox.json(["restore", end]);
    let again = revert(&sandbox, &["0"]);
    assert_eq!(list(&again["changes"]["removed"]), ["aa.txt", "b.txt"]);
    sandbox.json(["restore", end]);
    sandbox.json(["restore", start]);
    assert!(!sandbox.exists("aa.txt"));
    // Before the prompt: what another makes there is that one's.
    turn(&talk, "two", |sandbox| sandbox.write("aa.txt", "new\n"));
    is_already_reverted(&sandbox, &["0"]);
}

#[test]
fn lines_directly_beside_it_stay_and_are_named() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("long.txt", LONG.replace("4\n", "4\nnew\n"));
    });
    turn(&talk, "two", |sandbox| {
        sandbox.write("long.txt", LONG.replace("4\n", "4\nnew\nnewer\n"));
    });
    let reverted = revert(&sandbox, &["0"]);
    assert_eq!(sandbox.text("long.txt"), LONG.replace("4\n", "4\nnewer\n"));
    let beside = json!([{"path": "long.txt", "lines": [{"first": 5, "last": 5}]}]);
    assert_eq!(reverted["adjacent"], beside);
}

#[test]
fn a_line_whose_place_nobody_knows_is_a_conflict() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("long.txt", LONG.replace("5\n", ""));
    });
    let text = LONG.replace("5\n6\n", "before or after five\nand six\n");
    turn(&talk, "two", |sandbox| sandbox.write("long.txt", &text));
    let before = sandbox.state();
    let (error, _) = sandbox.json_error(["revert", "0"]);
    assert_eq!(error["code"], "CONFLICT");
    before.assert_same(&sandbox.state());
}

#[test]
fn a_prompt_that_put_a_line_directly_beside_is_named_and_goes_when_asked() {
    for (three, beside) in [
        ("total = compute()\n", "total = compute()\nprint(total)\n"),
        ("total = compute()\n", "import compute\ntotal = compute()\n"),
        ("", "or is this three?\nand four\n"),
    ] {
        let sandbox = Sandbox::new();
        let talk = talk(&sandbox);
        let edited = LONG.replace("3\n", three);
        turn(&talk, "one", |sandbox| sandbox.write("long.txt", &edited));
        // Far from it, and no cause of it.
        let far = edited.replace("7\n", "seven\n");
        turn(&talk, "two", |sandbox| sandbox.write("long.txt", &far));
        let all = if three.is_empty() {
            far.replace("4\n", beside)
        } else {
            far.replace(three, beside)
        };
        turn(&talk, "three", |sandbox| sandbox.write("long.txt", &all));
        let before = sandbox.state();
        let (error, _) = sandbox.json_error(["revert", "0"]);
        let conflict = &error["conflicts"][0];
        assert_eq!(conflict["adjacent"], true, "{error}");
        assert_eq!(conflict["prompts"].as_array().unwrap().len(), 1, "{error}");
        assert_eq!(conflict["prompts"][0]["checkpoint_id"], 2, "{error}");
        let said = error["message"].as_str().unwrap();
        let place = match (three, beside.starts_with("import")) {
            ("", _) => "before line 3",
            (_, true) => "line 4",
            (_, false) => "line 3",
        };
        let wanted = format!(
            "changed since, directly beside the same lines: 'long.txt' {place} by {}:2",
            talk.id
        );
        assert_eq!(said, wanted);
        assert!(
            error["hint"]
                .as_str()
                .unwrap()
                .contains("--with-dependents")
        );
        before.assert_same(&sandbox.state());
        let reverted = revert(&sandbox, &["0", "--with-dependents"]);
        assert_eq!(numbers(&reverted), [0, 2]);
        assert_eq!(sandbox.text("long.txt"), LONG.replace("7\n", "seven\n"));
    }
}

#[test]
fn what_lies_beside_a_conflict_without_a_part_in_it_is_not_taken_back_with_it() {
    let total = LONG.replace("3\n", "total = compute()\n");
    let four = total.replace("4\n", "four = another(4)\n");
    let before = |text: &str| text.replace("total", "import compute\ntotal");
    let behind = |line: &str| total.replace("compute()\n", &format!("compute()\n{line}\n"));
    for (texts, kept, gone) in [
        // An edit of the next line makes no conflict of its own.
        (vec![total.clone(), four.clone(), before(&four)], 1, [0, 2]),
        // What was put beside is gone again.
        (
            vec![
                total.clone(),
                behind("B"),
                total.clone(),
                behind("print(total)"),
            ],
            1,
            [0, 3],
        ),
    ] {
        let sandbox = Sandbox::new();
        let talk = talk(&sandbox);
        for (n, text) in texts.iter().enumerate() {
            turn(&talk, &format!("turn {n}"), |sandbox| {
                sandbox.write("long.txt", text);
                if n == kept {
                    sandbox.write("other.txt", "its own work\n");
                }
            });
        }
        let (error, _) = sandbox.json_error(["revert", "0"]);
        let prompts = error["conflicts"][0]["prompts"].as_array().unwrap();
        assert_eq!(prompts.len(), 1, "{error}");
        let reverted = revert(&sandbox, &["0", "--with-dependents"]);
        assert_eq!(numbers(&reverted), gone);
        assert_eq!(sandbox.text("other.txt"), "its own work\n");
    }
}

#[test]
fn a_line_comes_back_beside_one_that_was_edited() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    let long = LONG.replace('6', "let six = 6;");
    sandbox.write("long.txt", &long);
    turn(&talk, "one", |sandbox| {
        sandbox.write("long.txt", long.replace("5\n", ""));
    });
    let edited = long.replace("= 6", "= 2 * 3");
    turn(&talk, "two", |sandbox| {
        sandbox.write("long.txt", edited.replace("5\n", ""));
    });
    let reverted = revert(&sandbox, &["0"]);
    assert_eq!(sandbox.text("long.txt"), edited);
    let beside = json!([{"path": "long.txt", "lines": [{"first": 6, "last": 6}]}]);
    assert_eq!(reverted["adjacent"], beside);
}

/// Three prompts: the second changes a line of the first, the third one in another place.
fn built_on(sandbox: &Sandbox) -> (Talk<'_>, String) {
    let talk = talk(sandbox);
    let mut text = LONG.to_owned();
    for (prompt, line, becomes) in [
        ("one", "2\n", "two\n2b\n"),
        ("two", "2b\n", "to be\n"),
        ("three", "8\n", "eight\n"),
    ] {
        text = text.replace(line, becomes);
        turn(&talk, prompt, |sandbox| sandbox.write("long.txt", &text));
    }
    (talk, text)
}

#[test]
fn a_conflict_writes_nothing_and_names_lines_and_prompts() {
    let sandbox = Sandbox::new();
    let (talk, _) = built_on(&sandbox);
    let before = sandbox.state();
    for words in [&["revert", "0"][..], &["revert", "0", "--dry-run"]] {
        let (error, code) = sandbox.json_error(words);
        assert_eq!((code, &error["code"]), (5, &json!("CONFLICT")));
        let conflicts = error["conflicts"].as_array().unwrap();
        assert_eq!(conflicts.len(), 1, "{error}");
        assert_eq!(conflicts[0]["path"], "long.txt");
        assert_eq!(conflicts[0]["lines"], json!([{"first": 2, "last": 3}]));
        let prompts = conflicts[0]["prompts"].as_array().unwrap();
        assert_eq!(
            prompts.len(),
            1,
            "only those that touched the lines: {error}"
        );
        assert_eq!(
            (&prompts[0]["checkpoint_id"], &prompts[0]["session_id"]),
            (&json!(1), &json!(talk.id))
        );
        before.assert_same(&sandbox.state());
    }
    let ran = sandbox.tw(["revert", "0"]);
    assert!(
        ran.err().contains("'long.txt' lines 2-3 by"),
        "{}",
        ran.err()
    );
    assert!(ran.err().contains("--with-dependents"), "{}", ran.err());
}

#[test]
fn only_the_lines_themselves_are_named_where_all_around_them_changed() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    let mut text = LONG.to_owned();
    turn(&talk, "one", |sandbox| {
        text = text.replace("4\n", "four\n");
        sandbox.write("long.txt", &text);
    });
    for (prompt, line) in [("two", "3\n"), ("three", "four\n"), ("four", "5\n")] {
        text = text.replace(line, &format!("by {prompt}\n"));
        turn(&talk, prompt, |sandbox| sandbox.write("long.txt", &text));
    }
    let (error, _) = sandbox.json_error(["revert", "0"]);
    let conflict = &error["conflicts"][0];
    assert_eq!(
        conflict["lines"],
        json!([{"first": 4, "last": 4}]),
        "{error}"
    );
    assert_eq!(conflict["prompts"].as_array().unwrap().len(), 1);
    assert_eq!(conflict["prompts"][0]["checkpoint_id"], 2);
}

#[test]
fn prompts_that_were_built_on_it_go_with_it_when_asked() {
    let sandbox = Sandbox::new();
    built_on(&sandbox);
    let reverted = revert(&sandbox, &["0", "--with-dependents"]);
    assert_eq!(numbers(&reverted), [0, 1]);
    assert_eq!(sandbox.text("long.txt"), LONG.replace('8', "eight"));
}

#[test]
fn both_sides_come_into_the_file_when_asked() {
    let sandbox = Sandbox::new();
    let (_, text) = built_on(&sandbox);
    let staged = sandbox.git(["ls-files", "-s"]);
    let ran = sandbox.tw(["--json", "revert", "0", "--conflicts"]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.code, &document["ok"]), (1, &json!(true)), "{document}");
    crate::schema::check("revert", &document);
    assert_eq!(document["conflicts"][0]["reason"], "content");
    let marked = sandbox.text("long.txt");
    assert!(
        marked.contains("<<<<<<< present\ntwo\nto be\n=======\n2\n>>>>>>> s_"),
        "{marked}"
    );
    assert_eq!(sandbox.git(["ls-files", "-s"]), staged, "the index stays");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("long.txt"), text);
}

#[test]
fn what_people_changed_since_conflicts_without_a_prompt() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("long.txt", LONG.replace('2', "two"));
    });
    sandbox.write("long.txt", LONG.replace('2', "mine"));
    let (error, code) = sandbox.json_error(["revert", "0", "--with-dependents"]);
    assert_eq!((code, &error["code"]), (5, &json!("CONFLICT")));
    assert_eq!(error["conflicts"][0]["prompts"], json!([]));
    assert_eq!(sandbox.text("long.txt"), LONG.replace('2', "mine"));
}

#[test]
fn a_file_that_was_renamed_since_is_followed() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("long.txt", LONG.replace('2', "two"));
    });
    turn(&talk, "two", |sandbox| {
        sandbox.git(["mv", "long.txt", "moved.txt"]);
        sandbox.write("moved.txt", LONG.replace('2', "two").replace('7', "seven"));
    });
    let reverted = revert(&sandbox, &["0"]);
    assert_eq!(list(&reverted["changes"]["written"]), ["moved.txt"]);
    assert_eq!(sandbox.text("moved.txt"), LONG.replace('7', "seven"));
    assert!(!sandbox.exists("long.txt"));
    // And a renaming is taken back with what was changed since.
    let reverted = revert(&sandbox, &["1"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["moved.txt"]);
    assert_eq!(sandbox.text("long.txt"), LONG);
}

#[test]
fn a_session_goes_whole_and_paths_choose() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    for (number, prompt) in ["one", "two", "three"].into_iter().enumerate() {
        turn(&talk, prompt, |sandbox| {
            sandbox.write("log.txt", "line\n".repeat(number + 1));
            sandbox.write(format!("src/{prompt}.txt"), prompt);
        });
        sandbox.write("person.txt", prompt);
    }
    let before = sandbox.state();
    let session = &talk.id[..8];
    let reverted = revert(&sandbox, &["--session", session, "--", "src/t*"]);
    let gone = ["src/three.txt", "src/two.txt"];
    assert_eq!(list(&reverted["changes"]["removed"]), gone);
    assert_eq!(list(&reverted["changes"]["written"]), [""; 0]);
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    let reverted = revert(&sandbox, &["--session", session]);
    assert_eq!(numbers(&reverted), [0, 1, 2]);
    assert!(!sandbox.exists("src") && !sandbox.exists("log.txt"));
    assert_eq!(sandbox.text("person.txt"), "three");
    sandbox.json(["undo"]);
    let reverted = revert(&sandbox, &["1", &format!("{session}:2")]);
    assert_eq!(numbers(&reverted), [1, 2]);
    assert_eq!(sandbox.text("log.txt"), "line\n");
}

#[test]
fn a_snapshot_is_what_it_changed() {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    for (path, text) in [("a.txt", "a\n"), ("b.txt", "b\n"), ("a.txt", "A\n")] {
        sandbox.write(path, text);
        ids.push(sandbox.ok(["-q", "snapshot"]).trim().to_owned());
    }
    let reverted = revert(&sandbox, &[&ids[1]]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["b.txt"]);
    let taken = &reverted["reverted"][0];
    assert_eq!(
        (&taken["snapshot_id"], &taken["end_snapshot_id"]),
        (&json!(ids[0]), &json!(ids[1]))
    );
    assert_eq!(taken["checkpoint_id"], Value::Null);
    let (error, code) = sandbox.json_error(["revert", &ids[0]]);
    assert_eq!(
        (code, &error["code"]),
        (2, &json!("USAGE")),
        "the first one"
    );
}

/// A second session of the same agent.
fn another_talk(sandbox: &Sandbox) -> Talk<'_> {
    let two = Talk::with_id(
        sandbox,
        Kind::Claude,
        "22222222-2222-4333-8444-555555555555",
    );
    two.hook("SessionStart", &json!({}));
    two
}

#[test]
fn what_only_one_session_s_tools_named_is_its_and_the_rest_stays() {
    let sandbox = Sandbox::new();
    let one = talk(&sandbox);
    let two = another_talk(&sandbox);
    one.submits("one");
    one.writes_prompt("one");
    two.submits("two");
    two.writes_prompt("two");
    edits(&one, "one.txt", "one\n");
    edits(&two, "two.txt", "two\n");
    edits(&one, "both.txt", "one\n");
    edits(&two, "both.txt", "one\ntwo\n");
    sandbox.write("shell.txt", "whose?\n");
    one.hook("Stop", &json!({}));
    two.hook("Stop", &json!({}));
    let reverted = revert(&sandbox, &[&format!("{}:0", one.id)]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["one.txt"]);
    let sessions = json!([one.id, two.id]);
    let shared = json!([
        {"path": "both.txt", "session_ids": sessions},
        {"path": "shell.txt", "session_ids": sessions},
    ]);
    assert_eq!(reverted["unattributed"], shared);
    sandbox.json(["undo"]);
    let word = format!("{}:0", one.id);
    let reverted = sandbox.json(["revert", &word, "--include-shared"]);
    let gone = ["both.txt", "one.txt", "shell.txt"];
    assert_eq!(list(&reverted["changes"]["removed"]), gone);
    assert!(sandbox.exists("two.txt"));
    // Both together: no change is another's.
    let reverted = revert(&sandbox, &[&word, &format!("{}:0", two.id)]);
    assert_eq!(reverted["unattributed"], json!([]));
    assert!(!sandbox.exists("two.txt"));
}

/// Two turns that overlap: the first session runs a shell, the second one writes `beta` at the end of the long file by a tool.
fn shell_and_tool<'s>(sandbox: &'s Sandbox, text: &str) -> (Talk<'s>, Talk<'s>) {
    let one = talk(sandbox);
    let two = another_talk(sandbox);
    for talk in [&one, &two] {
        talk.submits("go");
        talk.writes_prompt("go");
    }
    one.calls("shell");
    one.results("shell");
    let input = json!({"file_path": sandbox.path("long.txt"), "old_string": "8\n", "new_string": "8\nbeta\n"});
    two.edits("edit", "Edit", &input);
    sandbox.write("long.txt", text);
    one.hook("Stop", &json!({}));
    two.hook("Stop", &json!({}));
    (one, two)
}

#[test]
fn a_file_that_a_shell_may_have_written_is_nobody_s_where_a_line_is_not_named() {
    let sandbox = Sandbox::new();
    let (one, two) = shell_and_tool(&sandbox, &format!("alpha\n{LONG}beta\n"));
    let shared = json!([{"path": "long.txt", "session_ids": [one.id, two.id]}]);
    for id in [&one.id, &two.id] {
        let reverted = revert(&sandbox, &[&format!("{id}:0")]);
        assert_eq!(reverted["unattributed"], shared, "{reverted}");
        assert_eq!(reverted["backup_id"], Value::Null);
        let said = reverted["notices"].to_string();
        assert!(!said.contains("has none of it"), "{said}");
    }
}

#[test]
fn a_file_in_which_tools_name_each_line_is_theirs_beside_a_shell() {
    let sandbox = Sandbox::new();
    let (one, two) = shell_and_tool(&sandbox, &format!("{LONG}beta\n"));
    let reverted = revert(&sandbox, &[&format!("{}:0", one.id)]);
    assert_eq!(reverted["unattributed"], json!([]));
    assert_eq!(reverted["backup_id"], Value::Null);
    let reverted = revert(&sandbox, &[&format!("{}:0", two.id)]);
    assert_eq!(reverted["unattributed"], json!([]));
    assert_eq!(sandbox.text("long.txt"), LONG);
}

#[test]
fn a_turn_without_a_conversation_may_have_written_any_file() {
    let sandbox = Sandbox::new();
    let one = talk(&sandbox);
    let two = another_talk(&sandbox);
    one.submits("one");
    two.submits("two");
    two.writes_prompt("two");
    edits(&two, "two.txt", "two\n");
    one.hook("Stop", &json!({}));
    two.hook("Stop", &json!({}));
    for id in [&one.id, &two.id] {
        let reverted = revert(&sandbox, &[&format!("{id}:0")]);
        assert_eq!(reverted["unattributed"][0]["path"], "two.txt", "{reverted}");
        assert!(sandbox.exists("two.txt"));
    }
}

#[test]
fn a_prompt_under_a_clock_that_was_behind_stays_when_the_one_before_goes() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    let makes = |nth: usize| {
        talk.submits(&format!("prompt {nth}"));
        sandbox.write(format!("{nth}.txt"), "made\n");
    };
    makes(0);
    sandbox.wait(-3600);
    makes(1);
    sandbox.wait(7200);
    makes(2);
    let reverted = revert(&sandbox, &["0"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["0.txt"]);
    let again = revert(&sandbox, &["0"]);
    assert_eq!(list(&again["already_reverted"]), ["0.txt"]);
    let reverted = revert(&sandbox, &["1"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["1.txt"]);
}

#[test]
fn a_turn_that_a_trip_cut_is_refused_and_stays() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    talk.submits("travel");
    talk.writes_prompt("travel");
    sandbox.write("by-agent.txt", "1\n");
    let first = talk.checkpoints()[0]["snapshot_id"].clone();
    sandbox.json(["travel", first.as_str().unwrap()]);
    talk.hook("Stop", &json!({}));
    talk.submits("return");
    talk.writes_prompt("return");
    sandbox.json(["return"]);
    sandbox.write("long.txt", "by agent\n");
    talk.hook("Stop", &json!({}));
    sandbox.write("by-person.txt", "1\n");
    sandbox.json(["snapshot"]);
    let before = sandbox.state();
    for words in [
        &["revert", "0"][..],
        &["revert", "1"],
        &["revert", "--session", &talk.id],
    ] {
        let (error, _) = sandbox.json_error(words);
        assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE", "{words:?}");
    }
    before.assert_same(&sandbox.state());
    turn(&talk, "goes on", |sandbox| {
        sandbox.write("after.txt", "1\n");
    });
    let reverted = revert(&sandbox, &["--session", &talk.id]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["after.txt"]);
    let said = reverted["notices"].to_string();
    assert!(
        said.contains("checkpoint 0") && said.contains("checkpoint 1"),
        "{said}"
    );
}

#[test]
fn a_turn_of_another_session_that_goes_on_shares_what_is_changed() {
    let sandbox = Sandbox::new();
    let one = talk(&sandbox);
    let two = another_talk(&sandbox);
    one.submits("goes on");
    sandbox.write("before.txt", "1\n");
    turn(&two, "two", |sandbox| sandbox.write("whose.txt", "?\n"));
    let word = format!("{}:0", two.id);
    let reverted = revert(&sandbox, &[&word]);
    assert_eq!(reverted["unattributed"][0]["path"], "whose.txt");
    assert!(sandbox.exists("whose.txt"));
    let said = sandbox.tw(["revert", &word]);
    assert_eq!(
        sandbox.show(&said),
        "exit 0\n--- stdout\n\
         nothing to revert of checkpoint 0 of session 22222222-2222-4333-8444-555555555555: two\n\
         \x20 may be another session's, left alone: whose.txt\n\
         --- stderr\n\
         note: nothing to revert but what may be another session's\n\
         hint: '--include-shared' takes that back, too\n"
    );
    // A day without a sign of life: it ended, and nobody said so.
    sandbox.wait(2 * 24 * 3600);
    let reverted = revert(&sandbox, &[&word]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["whose.txt"]);
}

#[test]
fn what_came_since_the_last_snapshot_beside_an_open_turn_of_another_session_stays_and_is_said() {
    let sandbox = Sandbox::new();
    let one = talk(&sandbox);
    let two = another_talk(&sandbox);
    one.submits("goes on");
    two.submits("this, too");
    sandbox.write("whose.txt", "?\n");
    let word = format!("{}:0", two.id);
    let said = revert(&sandbox, &[&word])["notices"].to_string();
    assert!(said.contains("'--include-shared'"), "{said}");
    assert!(!said.contains("has none of it"), "{said}");
    assert!(sandbox.exists("whose.txt"));
    let reverted = revert(&sandbox, &[&word, "--include-shared"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["whose.txt"]);
}

#[test]
fn a_mark_made_by_hand_takes_no_turn_of_an_agent() {
    let sandbox = Sandbox::new();
    sandbox.json(["checkpoint", "-m", "before the agent"]);
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| sandbox.write("one.txt", "1\n"));
    let hit = &sandbox.json(["search", "-F", "1", "--", "one.txt"])["hits"][0];
    assert_eq!(
        (&hit["checkpoint"], &hit["session_id"]),
        (&json!(0), &json!(talk.id))
    );
    let line = &sandbox.json(["blame", "one.txt"])["lines"][0]["origin"];
    assert_eq!(
        (&line["kind"], &line["session_id"]),
        (&json!("prompt"), &json!(talk.id))
    );
    let reverted = revert(&sandbox, &[&format!("{}:0", talk.id)]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["one.txt"]);
    assert_eq!(reverted["unattributed"], json!([]));
}

#[test]
fn a_turn_without_an_end_lasts_until_the_next_prompt_or_now_and_says_so() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    talk.submits("one");
    sandbox.write("one.txt", "1\n");
    talk.submits("two");
    sandbox.write("two.txt", "2\n");
    let reverted = revert(&sandbox, &["0"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["one.txt"]);
    assert_eq!(reverted["reverted"][0]["end_noted"], false);
    assert!(
        reverted["notices"].to_string().contains("was not noted"),
        "{reverted}"
    );
    let reverted = revert(&sandbox, &["1"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["two.txt"]);
    assert_eq!(reverted["reverted"][0]["end_snapshot_id"], Value::Null);
}

#[test]
fn a_turn_that_the_end_of_its_session_cut_within_a_second_is_its() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    talk.submits("one");
    sandbox.write("one.txt", "1\n");
    sandbox.wait(-STEP);
    talk.hook("SessionEnd", &json!({}));
    sandbox.json(["snapshot"]);
    let hit = &sandbox.json(["search", "-F", "1", "--", "one.txt"])["hits"][0];
    assert_eq!(hit["checkpoint"], 0, "{hit}");
    let line = &sandbox.json(["blame", "one.txt"])["lines"][0]["origin"];
    assert_eq!(line["kind"], "ambiguous", "{line}");
    let reverted = revert(&sandbox, &["--session", &talk.id]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["one.txt"]);
}

#[test]
fn a_step_and_a_checkpoint_made_by_hand_end_with_the_next() {
    let sandbox = Sandbox::new();
    sandbox.json(["checkpoint", "-m", "first"]);
    sandbox.write("first.txt", "1\n");
    sandbox.json(["checkpoint", "-m", "second"]);
    sandbox.write("second.txt", "2\n");
    let reverted = revert(&sandbox, &["0"]);
    assert_eq!(list(&reverted["changes"]["removed"]), ["first.txt"]);
    assert!(sandbox.exists("second.txt"));
}

#[test]
fn a_directory_that_was_empty_before_stays() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    sandbox.mkdir("logs");
    turn(&talk, "one", |sandbox| {
        sandbox.write("logs/one", "1\n");
        sandbox.write("new/deep/one", "1\n");
    });
    revert(&sandbox, &["0"]);
    assert!(sandbox.path("logs").is_dir() && !sandbox.exists("logs/one"));
    assert!(!sandbox.exists("new"));
}

#[test]
fn what_is_ignored_since_stays_and_is_named() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("gen/one", "1\n");
    });
    sandbox.write(".gitignore", "gen/\n");
    let named = "left out of snapshots since, and stays as it is: 'gen/one'";
    for args in [&["0", "--dry-run"][..], &["0"]] {
        let answer = revert(&sandbox, args);
        assert_eq!(list(&answer["notices"]), [named], "{answer}");
        assert_eq!(answer["backup_id"], Value::Null);
    }
    assert_eq!(sandbox.text("gen/one"), "1\n");
    sandbox.remove("gen");
    let answer = revert(&sandbox, &["0"]);
    assert!(
        answer["notices"][0]
            .as_str()
            .unwrap()
            .starts_with("nothing to revert")
    );
}

#[test]
fn permission_bits_and_empty_directories_are_taken_back_too() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    for file in ["private", "shared", "both"] {
        sandbox.write(file, "1\n2\n3\n4\n5\n");
        sandbox.chmod(file, 0o640);
    }
    sandbox.mkdir("dir");
    sandbox.mkdir("old/empty");
    sandbox.chmod("dir", 0o750);
    turn(&talk, "one", |sandbox| {
        sandbox.chmod("private", 0o600);
        sandbox.chmod("shared", 0o666);
        sandbox.write("both", "one\n2\n3\n4\n5\n");
        sandbox.chmod("both", 0o600);
        sandbox.chmod("dir", 0o700);
        sandbox.mkdir("new/empty");
        sandbox.mkdir("filled");
        std::fs::remove_dir(sandbox.path("old/empty")).unwrap();
    });
    sandbox.chmod("shared", 0o664);
    sandbox.write("both", "one\n2\n3\n4\nfive\n");
    sandbox.write("filled/since", "mine\n");
    let before = sandbox.state();
    let reverted = revert(&sandbox, &["0"]);
    let bits = |path: &str| {
        let metadata = std::fs::metadata(sandbox.path(path)).unwrap();
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777
    };
    assert_eq!((bits("private"), bits("dir")), (0o640, 0o750));
    assert_eq!(bits("shared"), 0o664, "changed since");
    assert_eq!(
        (bits("both"), sandbox.text("both").as_str()),
        (0o640, "1\n2\n3\n4\nfive\n")
    );
    assert!(!sandbox.exists("new") && sandbox.path("old/empty").is_dir());
    assert!(sandbox.exists("filled/since"));
    assert_eq!(list(&reverted["changes"]["written"]), ["both", "private"]);
    let again = revert(&sandbox, &["0"]);
    assert_eq!(again["backup_id"], Value::Null, "{again}");
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    // Only in some paths.
    revert(&sandbox, &["0", "--", "private"]);
    assert_eq!(
        (bits("private"), bits("dir"), bits("both")),
        (0o640, 0o700, 0o600)
    );
    assert!(sandbox.exists("new/empty"));
}

#[test]
fn permission_bits_are_taken_back_under_the_names_of_now() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    for (file, bits) in [("key", 0o600), ("both", 0o600), ("tool", 0o644)] {
        sandbox.write(file, format!("{file}\n").repeat(20));
        sandbox.chmod(file, bits);
    }
    let rename = |from: &str, to: &str| {
        std::fs::rename(sandbox.path(from), sandbox.path(to)).unwrap();
    };
    let bits = |names: [&str; 3]| names.map(|name| crate::trip::mode(&sandbox, name));
    turn(&talk, "one", |sandbox| {
        sandbox.chmod("key", 0o644);
        sandbox.write("both", "both\n".repeat(21));
        sandbox.chmod("both", 0o644);
        sandbox.chmod("tool", 0o755);
    });
    turn(&talk, "two", |_| {
        rename("key", "key2");
        rename("both", "both2");
        rename("tool", "tool2");
    });
    turn(&talk, "three", |sandbox| sandbox.chmod("key2", 0o640));
    let here = ["key2", "both2", "tool2"];
    let before = sandbox.state();
    revert(&sandbox, &["0"]);
    assert_eq!(bits(here), [0o640, 0o600, 0o644], "changed since");
    sandbox.json(["undo"]);
    revert(&sandbox, &["0", "2"]);
    assert_eq!(bits(here), [0o600, 0o600, 0o644]);
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    // Under a name that nobody's prompt gave it.
    rename("tool2", "last");
    revert(&sandbox, &["0", "1"]);
    assert_eq!(bits(["key", "both", "last"]), [0o640, 0o600, 0o644]);
}

#[test]
fn a_directory_that_is_named_back_has_its_bits_and_what_is_left_of_the_other_name_keeps_its_own() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    sandbox.write("dir/file", "1\n");
    sandbox.chmod("dir", 0o700);
    turn(&talk, "one", |sandbox| sandbox.chmod("dir", 0o755));
    turn(&talk, "two", |sandbox| sandbox.write("other", "1\n"));
    turn(&talk, "three", |sandbox| {
        std::fs::rename(sandbox.path("dir"), sandbox.path("dir2")).unwrap();
    });
    sandbox.write("dir2/since", "2\n");
    revert(&sandbox, &["0", "2"]);
    assert!(sandbox.exists("dir/file") && sandbox.exists("dir2/since"));
    assert_eq!(
        ["dir", "dir2"].map(|name| crate::trip::mode(&sandbox, name)),
        [0o700, 0o755]
    );
}

#[test]
fn a_directory_comes_back_with_all_that_is_empty_in_it_where_a_file_gives_way() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    sandbox.write("dir/file", "1\n");
    sandbox.mkdir("dir/empty/deep");
    turn(&talk, "one", |sandbox| {
        std::fs::remove_dir_all(sandbox.path("dir")).unwrap();
        sandbox.write("dir", "a file\n");
    });
    let before = sandbox.state();
    revert(&sandbox, &["0"]);
    assert_eq!(sandbox.text("dir/file"), "1\n");
    assert!(sandbox.path("dir/empty/deep").is_dir());
    let after = sandbox.state();
    sandbox.json(["undo"]);
    before.assert_same(&sandbox.state());
    sandbox.json(["redo"]);
    after.assert_same(&sandbox.state());
}

#[test]
fn an_empty_directory_that_one_prompt_made_and_another_removed_does_not_come_back() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.mkdir("made/deep");
        sandbox.mkdir("stays/made");
    });
    turn(&talk, "two", |sandbox| {
        sandbox.write("other", "1\n");
        sandbox.mkdir("stays/since");
    });
    turn(&talk, "three", |sandbox| {
        for dir in ["made", "stays"] {
            std::fs::remove_dir_all(sandbox.path(dir)).unwrap();
        }
    });
    revert(&sandbox, &["0", "2"]);
    assert!(!sandbox.exists("made") && !sandbox.exists("stays/made"));
    assert!(sandbox.path("stays/since").is_dir());
}

#[test]
fn it_is_refused_where_it_cannot_be_meant() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    turn(&talk, "one", |sandbox| {
        sandbox.write("a.txt", "a\n");
        sandbox.write("gone.txt", "a\n");
    });
    let refused = |words: &[&str], wanted: (i32, &str)| {
        let (error, code) = sandbox.json_error(words);
        assert_eq!(
            (code, &error["code"]),
            (wanted.0, &json!(wanted.1)),
            "{words:?}"
        );
    };
    refused(&["revert"], (2, "USAGE"));
    refused(&["revert", "9"], (3, "INVALID_CHECKPOINT"));
    refused(&["revert", "--session", "nobody"], (3, "SESSION_NOT_FOUND"));
    refused(&["revert", "no-such-label"], (3, "SNAPSHOT_NOT_FOUND"));
    refused(
        &["revert", "0", "--conflicts", "--with-dependents"],
        (2, "USAGE"),
    );
    turn(&talk, "two", |sandbox| {
        std::fs::remove_file(sandbox.path("gone.txt")).unwrap();
    });
    for word in ["no-such-file", "*.nothing", ":(glob)src/**/*.none"] {
        let before = sandbox.state();
        refused(&["revert", "0", "--", word], (3, "PATH_NOT_FOUND"));
        refused(&["revert", "0", "--", "a.txt", word], (3, "PATH_NOT_FOUND"));
        before.assert_same(&sandbox.state());
    }
    // What is there, or was there, is no typing error, also where the prompt did not change it.
    for word in ["gone.txt", "long.txt", "*.txt", ":!a.txt"] {
        revert(&sandbox, &["0", "--dry-run", "--", word]);
    }
    sandbox.json(["travel", "latest"]);
    refused(&["revert", "0"], (4, "ALREADY_IN_PAST"));
}

/// Forgets all snapshots but these and the newest.
fn forget(sandbox: &Sandbox, kept: &[&Value]) {
    let all = sandbox.json(["list", "--all"])["snapshots"].clone();
    let ids = all.as_array().unwrap().iter().skip(1);
    let ids = ids.map(|one| &one["snapshot_id"]);
    let dropped = ids.filter(|id| !kept.contains(id));
    let dropped: Vec<&str> = dropped.map(|id| id.as_str().unwrap()).collect();
    sandbox.ok([&["drop", "-y", "--force"], &dropped[..]].concat());
}

#[test]
fn what_is_no_longer_known_is_not_taken_back() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    for n in 0..3 {
        turn(&talk, &format!("prompt {n}"), |sandbox| {
            sandbox.write(format!("agent{n}"), format!("by agent {n}\n"));
        });
        sandbox.write(format!("person{n}"), format!("by person {n}\n"));
    }
    sandbox.json(["snapshot"]);
    let listed = sandbox.json(["checkpoint", "list", "--session", &talk.id]);
    let prompt = |n: usize| &listed["checkpoints"][n]["snapshot_id"];
    let last_end = &listed["turn_ends"][2]["snapshot_id"];
    forget(&sandbox, &[prompt(0), prompt(2), last_end]);
    let before = sandbox.state();
    let (error, _) = sandbox.json_error(["revert", "0"]);
    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE", "{error}");
    let (error, _) = sandbox.json_error(["revert", "1"]);
    assert_eq!(error["code"], "SNAPSHOT_NOT_FOUND", "{error}");
    let all = revert(&sandbox, &["--session", &talk.id, "--dry-run"]);
    assert_eq!(numbers(&all), [2]);
    assert_eq!(list(&all["changes"]["removed"]), ["agent2"]);
    let said = all["notices"].to_string();
    assert!(said.contains("checkpoint 0 was forgotten"), "{said}");
    assert!(said.contains("of checkpoint 1 is not there"), "{said}");
    // Whose what came in the gap is, nobody knows.
    for path in ["agent0", "person0", "agent1", "person1"] {
        let line = sandbox.json(["blame", path])["lines"][0]["origin"].clone();
        let kinds = line["candidates"].as_array().unwrap().iter();
        let kinds: Vec<_> = kinds.map(|one| one["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["prompt", "between", "ambiguous"], "{line}");
        let hit = sandbox.json(["find", path])["versions"][0].clone();
        assert_eq!(hit["checkpoint"], Value::Null, "{hit}");
    }
    let hits = sandbox.json(["search", "by person"])["hits"].clone();
    let known = hits.as_array().unwrap().iter();
    assert!(
        known.map(|hit| &hit["checkpoint"]).all(Value::is_null),
        "{hits}"
    );
    forget(&sandbox, &[]);
    let (error, _) = sandbox.json_error(["revert", "--session", &talk.id]);
    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE", "{error}");
    before.assert_same(&sandbox.state());
}

#[test]
fn where_the_next_prompt_was_forgotten_a_turn_without_an_end_is_left() {
    let sandbox = Sandbox::new();
    let talk = talk(&sandbox);
    for n in 0..3 {
        talk.submits(&format!("prompt {n}"));
        sandbox.write(format!("agent{n}"), "x\n");
    }
    let prompts = talk.checkpoints();
    forget(&sandbox, &[&prompts[0]["snapshot_id"]]);
    let (error, _) = sandbox.json_error(["revert", "0"]);
    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE", "{error}");
}

/// It was too large in one of the snapshots: whether a turn made or removed it is not known.
#[test]
fn what_a_snapshot_could_not_capture_is_neither_removed_nor_put_back() {
    let sandbox = Sandbox::new();
    let taken = |limit: &str, text: &str| {
        sandbox.git(["config", "timewarp.maxFileSize", limit]);
        sandbox.write("data", text);
        sandbox.write("other", text);
        sandbox.git(["add", "other"]);
        crate::trip::snapshot(&sandbox)
    };
    taken("1k", "first\n");
    let without = taken("3", "second\n");
    let with = taken("1k", "third\n");
    for (id, other) in [(&with, "second\n"), (&without, "first\n")] {
        let reverted = revert(&sandbox, &[id]);
        assert_eq!(sandbox.text("data"), "third\n", "{reverted}");
        assert_eq!(sandbox.text("other"), other, "{reverted}");
        let said = reverted["notices"].to_string();
        assert!(said.contains("did not capture it"), "{said}");
        assert!(
            said.contains("'data'") && !said.contains("'other'"),
            "{said}"
        );
    }
}
