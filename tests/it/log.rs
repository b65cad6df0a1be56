//! What happened, newest first: `tw log`.

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::sandbox::Sandbox;
use crate::terminal::Terminal;
use crate::transcripts::{Kind, Talk};

fn entries(sandbox: &Sandbox, words: &[&str]) -> Vec<Value> {
    sandbox.json(words)["entries"].as_array().unwrap().clone()
}

/// Kind and title of each entry.
fn told(entries: &[Value]) -> Vec<(&str, &str)> {
    let pairs = entries
        .iter()
        .map(|entry| (&entry["kind"], &entry["title"]));
    pairs
        .map(|(kind, title)| (kind.as_str().unwrap(), title.as_str().unwrap()))
        .collect()
}

fn counts(entry: &Value) -> [Value; 3] {
    ["files", "insertions", "deletions"].map(|name| entry[name].clone())
}

/// A turn of an agent, a person's edit, a trip, and an issue.
fn eventful() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("write the parser\nand its tests");
    sandbox.write("parser.txt", "one\ntwo\n");
    talk.hook("Stop", &json!({}));
    sandbox.write("a.txt", "one\nby a person\n");
    talk.submits("now the printer");
    sandbox.ok(["travel", "latest~1"]);
    sandbox.ok(["return"]);
    let report = [
        "--symptom",
        "too slow",
        "--task-context",
        "t",
        "--success-criteria",
        "c",
    ];
    sandbox.ok([&["issue", "report"], &report[..]].concat());
    let id = talk.id.clone();
    (sandbox, id)
}

#[test]
fn all_that_happened_stands_in_one_line_with_what_it_changed() {
    let (sandbox, session) = eventful();
    let all = entries(&sandbox, &["log"]);
    let kinds: Vec<&str> = told(&all).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [
            "issue", "swap", "swap", "prompt", "snapshot", "turn-end", "prompt", "snapshot"
        ]
    );
    let [issue, back, trip, second, edited, end, first, start] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!(issue["title"], "too slow");
    assert_eq!(issue["status"], "open");
    assert!(issue["id"].as_str().unwrap().starts_with("i_"));
    assert_eq!(counts(issue), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(
        (&back["operation"], &trip["operation"]),
        (&json!("return"), &json!("travel"))
    );
    // The edit of `a.txt` went, and came back.
    assert_eq!(counts(trip), [json!(1), json!(0), json!(1)]);
    assert_eq!(counts(back), [json!(1), json!(1), json!(0)]);
    // The turn of the second prompt has not ended.
    assert_eq!(second["title"], "now the printer");
    assert_eq!(second["checkpoint_id"], 1);
    assert_eq!(counts(second), [Value::Null, Value::Null, Value::Null]);
    // What a person changed is in the snapshot that the prompt took.
    assert_eq!(edited["id"], second["id"]);
    assert_eq!(edited["checkpoint_id"], 1);
    assert_eq!(counts(edited), [json!(1), json!(1), json!(0)]);
    // What the agent changed is told with its prompt and with the end of the turn, whose snapshot is not told of again.
    for entry in [end, first] {
        assert_eq!(counts(entry), [json!(1), json!(2), json!(0)]);
        assert_eq!(entry["checkpoint_id"], 0);
        assert_eq!(entry["session_id"], session.as_str());
        assert_eq!(entry["agent"], "claude");
    }
    assert_eq!(first["title"], "write the parser");
    assert_eq!(start["operation"], "session-start");
    assert_eq!(counts(start), [json!(0), json!(0), json!(0)]);
}

#[test]
fn what_happened_does_not_change_when_it_is_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    sandbox.write("b.txt", "one\n");
    sandbox.ok(["snapshot"]);
    sandbox.write("a.txt", "one\ntwo\n");
    sandbox.write("b.txt", "one\ntwo\n");
    sandbox.ok(["snapshot"]);
    // Nothing was made in the past: only a level tells of the return.
    sandbox.ok(["travel", "latest~1"]);
    sandbox.ok(["return"]);
    sandbox.ok(["restore", "latest~1", "a.txt"]);
    let before = entries(&sandbox, &["log", "--kind", "swap"]);
    let operations: Vec<&Value> = before.iter().map(|entry| &entry["operation"]).collect();
    assert_eq!(operations, ["restore", "return", "travel"]);
    assert_eq!(before[0]["files"], 1);
    let stays = |after: &str| {
        let mut now = entries(&sandbox, &["log", "--kind", "swap"]);
        let now = now.split_off(now.len() - before.len());
        assert_eq!(now, before, "after {after}");
    };
    sandbox.ok(["undo"]);
    stays("an undo");
    // One level is taken back into the other log, and the next swap clears that one.
    sandbox.ok(["undo", "--into-past"]);
    stays("an undo of the return");
    sandbox.ok(["return"]);
    sandbox.ok(["restore", "latest~1", "b.txt"]);
    stays("a swap that leaves nothing to redo");
    sandbox.ok(["prune"]);
    stays("a prune");
}

#[test]
fn each_filter_leaves_what_it_says() {
    let (sandbox, session) = eventful();
    sandbox.ok(["label", "latest", "done-once"]);
    let titles = |words: &[&str]| -> Vec<String> {
        let found = entries(&sandbox, words);
        let titles = told(&found).into_iter();
        titles
            .map(|(kind, title)| format!("{kind} {title}"))
            .collect()
    };
    let of_one_kind = [
        (entries(&sandbox, &["log", "--kind", "prompt"]), "prompt", 2),
        (entries(&sandbox, &["log", "--kind", "swap"]), "swap", 2),
        (entries(&sandbox, &["log", "--kind", "issue"]), "issue", 1),
    ];
    for (found, kind, count) in of_one_kind {
        assert!(found.len() == count && found.iter().all(|entry| entry["kind"] == kind));
    }
    assert_eq!(titles(&["log", "-n", "1"]), ["issue too slow"]);
    assert_eq!(titles(&["log", "--limit", "0"]), [""; 0]);
    assert_eq!(titles(&["log", "--grep", "SLOW"]), [""; 0]);
    assert_eq!(
        titles(&["log", "--grep", "its tests"]),
        ["prompt write the parser"]
    );
    assert_eq!(
        titles(&["log", "--kind", "prompt,turn-end", "-n", "2"]),
        [
            "prompt now the printer",
            "turn-end end of turn, after checkpoint 0"
        ]
    );
    // Asked for by themselves, the snapshots of turns are told, too.
    assert_eq!(entries(&sandbox, &["log", "--kind", "snapshot"]).len(), 3);
    assert_eq!(
        titles(&["log", "--label", "done-*"]),
        ["prompt now the printer", "snapshot now the printer"]
    );
    let all = entries(&sandbox, &["log"]).len();
    assert_eq!(
        entries(&sandbox, &["log", "--agent", "claude"]).len(),
        all - 1
    );
    assert_eq!(entries(&sandbox, &["log", "--agent", "nobody"]).len(), 0);
    assert!(entries(&sandbox, &["log", "--session", &session[..8]]).len() >= 5);
    assert_eq!(
        titles(&["log", "--", "parser.txt"]),
        [
            "turn-end end of turn, after checkpoint 0",
            "prompt write the parser"
        ]
    );
    let at = entries(&sandbox, &["log", "--kind", "turn-end"])[0]["at"].clone();
    let at = at.as_str().unwrap();
    assert_eq!(entries(&sandbox, &["log", "--until", at]).len(), 3);
    assert_eq!(entries(&sandbox, &["log", "--since", at]).len(), all - 2);
    assert_eq!(
        sandbox.json(["log", "--all-worktrees"])["entries"],
        json!(entries(&sandbox, &["log"]))
    );
    let (error, code) = sandbox.json_error(["log", "--grep", "("]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
    let (error, code) = sandbox.json_error(["log", "--since", "whenever"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
}

#[test]
fn each_entry_is_a_line_beside_the_lines_of_the_sessions() {
    let (sandbox, session) = eventful();
    sandbox.ok(["label", "latest", "done"]);
    let ran = sandbox.tw(["-v", "log"]);
    let short = &session[..8];
    assert_eq!(
        sandbox.show(&ran).replace(short, "[session]"),
        "exit 0\n\
         --- stdout\n\
         | !  i_[1]  15:39  issue, open: too slow  (claude [session])\n\
         ~ |  s_[2]  15:38  return to b_[3]  1 file, +1 -0\n\
         ~ |  b_[3]  15:37  travel to s_[2]  1 file, +0 -1\n\
         | >  s_[4]  15:36  prompt 1: now the printer  [done]\n\
         o |  s_[4]  15:36  changed before prompt 1  [done]  1 file, +1 -0\n\
         | *  s_[2]  15:35  end of turn 0  1 file, +2 -0\n\
         | >  s_[5]  15:34  prompt 0: write the parser  1 file, +2 -0\n\
         | o  s_[5]  15:33  session starts  (claude [session])\n"
    );
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let sandbox = Sandbox::new();
    sandbox.ok([
        "snapshot",
        "-m",
        "一つの長い題 of a snapshot that no screen has room for, not even a wide one",
    ]);
    sandbox.write("a.txt", "one\n".repeat(1200));
    sandbox.ok(["snapshot", "--label", "a-label", "-m", "the other"]);
    for columns in [20, 40, 60, 80] {
        let mut prepared = sandbox.tw_command();
        prepared.env("COLUMNS", columns.to_string());
        prepared.env("GIT_PAGER", "cat");
        let terminal = Terminal::start(&sandbox, &prepared, &["log"]);
        let (code, shown) = terminal.ends();
        assert_eq!((code, shown.lines().count()), (0, 2), "{shown}");
        for line in shown.lines() {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
        // What happened goes last of all that does not fit.
        assert_eq!(shown.contains("the other"), columns > 20, "{shown}");
        assert_eq!(shown.contains("+1199"), columns > 40, "{shown}");
    }
}

#[test]
fn what_people_and_agents_wrote_moves_no_cursor() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("\u{1b}[2J\u{202e}hostile\u{9b}");
    sandbox.write("a.txt", "b\n");
    sandbox.ok(["snapshot", "-m", "\u{1b}]0;title\u{7}"]);
    for words in [
        ["log"].as_slice(),
        &["-v", "log"],
        &["--color", "always", "log"],
    ] {
        let shown = sandbox.ok(words).replace("\u{1b}[", "");
        assert!(
            shown.contains("hostile") && shown.contains("0;title"),
            "{shown}"
        );
        let is_bad = |ch: char| ch != '\n' && ch.is_control() || ch == '\u{202e}';
        assert!(!shown.contains(is_bad), "{shown:?}");
    }
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.show(&sandbox.tw(["log"])),
        "exit 0\n--- stderr\nnote: nothing happened yet\nhint: 'tw snapshot' takes a snapshot\n"
    );
    assert!(!sandbox.exists(".git/timewarp"), "looking writes nothing");
    sandbox.snap();
    assert_eq!(
        sandbox.show(&sandbox.tw(["log", "--grep", "nowhere"])),
        "exit 0\n--- stderr\nnote: nothing matches\n"
    );
}

#[test]
fn what_came_from_another_repository_is_marked() {
    let (other, sandbox) = (Sandbox::new(), Sandbox::new());
    other.ok(["snapshot", "-m", "elsewhere"]);
    sandbox.ok(["snapshot", "-m", "here"]);
    let refs = "refs/timewarp/snapshots/*:refs/timewarp/snapshots/*";
    sandbox.git(["fetch", "-q", other.repo().to_str().unwrap(), refs]);
    let shown = sandbox.ok(["log"]);
    let marked: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("(foreign)"))
        .collect();
    assert!(
        marked.len() == 1 && marked[0].contains("elsewhere"),
        "{shown}"
    );
    let foreign = entries(&sandbox, &["log", "--grep", "elsewhere"])[0]["foreign"].clone();
    assert_eq!(foreign, true);
}

#[test]
fn since_a_day_of_the_week_is_since_that_morning_on_that_day_too() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot", "-m", "a week ago"]);
    sandbox.wait(7 * 86_400 - 30 * 60);
    let days = [
        "monday",
        "tue",
        "last wednesday",
        "thursday",
        "friday",
        "sat",
        "sunday",
    ];
    let since = |day: &&str| entries(&sandbox, &["log", "--since", day]).len() == 1;
    // One of them is today's.
    assert_eq!(days.iter().filter(|day| since(day)).count(), 1);
}

#[test]
fn what_somebody_s_checkpoint_counts_ends_with_the_turn() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    let add = |line: &str| {
        let before = sandbox.text("lines.txt");
        sandbox.write("lines.txt", format!("{before}{line}\n"));
    };
    sandbox.write("lines.txt", "");
    let checkpoint = || sandbox.ok(["checkpoint", "-m", "by hand", "--session", &talk.id]);
    talk.submits("first");
    add("agent");
    talk.hook("Stop", &json!({}));
    checkpoint();
    add("person");
    talk.submits("second");
    add("agent");
    checkpoint();
    add("agent");
    talk.hook("Stop", &json!({}));
    add("person");
    talk.submits("third");
    let all = entries(&sandbox, &["log"]);
    let of = |n: u64| {
        let is_it = |one: &&Value| one["checkpoint_id"] == n && one["kind"] == "prompt";
        all.iter().find(is_it).unwrap()["insertions"].clone()
    };
    let insertions: Vec<Value> = [0, 1, 2, 3].map(of).into();
    assert_eq!(insertions, [1, 0, 2, 1]);
}

#[test]
fn the_scratch_of_a_run_is_no_swap() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    sandbox.tw(["try", "-n", "1", "--", "echo two >a.txt"]);
    sandbox.json(["travel", "latest"]);
    sandbox.json(["return"]);
    let swaps = entries(&sandbox, &["log", "--all-worktrees", "--kind", "swap"]);
    let operations: Vec<_> = swaps.iter().map(|swap| &swap["operation"]).collect();
    assert_eq!(operations, ["return", "travel"], "{swaps:?}");
    let taken = entries(&sandbox, &["log", "--all-worktrees", "--kind", "snapshot"]);
    let of_run = taken.iter().filter(|one| one["operation"] == "scratch");
    assert_eq!(of_run.count(), 1, "{taken:?}");
}

#[test]
fn what_happened_in_other_worktrees_is_the_same_wherever_it_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.root().join("linked");
    // A return without a change leaves no record, and an undo's tells no target.
    for dir in [sandbox.repo(), linked.clone()] {
        for words in [&["snapshot"][..], &["travel", "latest"], &["return"]] {
            assert_eq!(sandbox.tw_in(&dir, words).code, 0);
        }
        std::fs::write(dir.join("a.txt"), "two\n").unwrap();
        for words in [&["restore", "latest"][..], &["undo"], &["redo"]] {
            assert_eq!(sandbox.tw_in(&dir, words).code, 0);
        }
    }
    let asked = |dir: &std::path::Path, words: &[&str]| {
        let mut command = sandbox.tw_command();
        command.current_dir(dir);
        Sandbox::json_of(command, [&["log", "--kind", "swap"], words].concat())
    };
    let all = asked(&sandbox.repo(), &["--all-worktrees"]);
    assert_eq!(asked(&linked, &["--all-worktrees"]), all);
    let swaps = all["entries"].as_array().unwrap();
    let counted = |swap: &Value| (swap["worktree"].clone(), swap["operation"].clone());
    let found: Vec<_> = swaps.iter().map(counted).collect();
    let of = |worktree: &str| {
        let swaps = ["redo", "undo", "restore", "return", "travel"];
        swaps.map(|operation| (json!(worktree), json!(operation)))
    };
    assert_eq!(found, [of("linked"), of("main")].concat());
    assert!(swaps.iter().all(|swap| !swap["files"].is_null()), "{all}");
    let own = asked(&linked, &[]);
    assert_eq!(own["entries"].as_array().unwrap().len(), 5, "{own}");
}

#[test]
fn a_step_of_an_agent_s_stands_on_its_own_line() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.checkpoints", "steps"]);
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("one");
    sandbox.write("a.txt", "a\n");
    talk.hook(
        "PostToolUse",
        &json!({"tool_name": "Write", "tool_input": {}}),
    );
    let said = sandbox.ok(["log"]);
    let line = said.lines().find(|line| line.contains("step 1"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    assert!(line.starts_with("| o"), "{said}");
    let entries = sandbox.json(["log"])["entries"].clone();
    let is_step = |entry: &&Value| entry["checkpoint_id"] == 1;
    let step = entries
        .as_array()
        .unwrap()
        .iter()
        .find(is_step)
        .unwrap()
        .clone();
    assert_eq!(step["operation"], "step", "{entries}");
}
