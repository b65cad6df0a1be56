//! What undo and redo take back, said before and after: the list, the dry run, and the question before the past.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::terminal::Terminal;
use crate::trip::{everything, list, snapshot};

/// A restore, then a trip into the past in which something was made; gives the snapshot's id.
fn restored_and_travelled(sandbox: &Sandbox) -> String {
    sandbox.write("b.txt", "then\n");
    let id = snapshot(sandbox);
    sandbox.write("b.txt", "now\n");
    sandbox.json(["restore", &id, "b.txt"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.wait(60);
    sandbox.json(["travel", &id]);
    sandbox.write("tried.txt", "tried\n");
    sandbox.json(["return"]);
    id
}

fn operations(answer: &Value) -> Vec<&str> {
    let levels = answer["levels"].as_array().unwrap().iter();
    levels
        .map(|level| level["operation"].as_str().unwrap())
        .collect()
}

#[test]
fn the_list_says_what_comes_next_and_when_it_was_made() {
    let sandbox = Sandbox::new();
    assert_eq!(
        operations(&sandbox.json(["undo", "--list"])),
        Vec::<&str>::new()
    );
    let id = restored_and_travelled(&sandbox);
    let before = everything(&sandbox.repo());
    let answer = sandbox.json(["undo", "--list"]);
    assert_eq!(operations(&answer), ["return", "travel", "restore"]);
    for (number, level) in (1..).zip(answer["levels"].as_array().unwrap()) {
        assert_eq!(level["level"], number);
        assert_eq!(level["snapshot_id"], *id);
        assert!(level["backup_id"].is_string() && level["swap_id"].is_string());
    }
    let of = |at: usize, name: &str| answer["levels"][at][name].as_str().unwrap().to_owned();
    assert_eq!(
        (of(0, "mode_before"), of(0, "mode_after")),
        ("past".into(), "present".into())
    );
    assert_eq!(
        (of(2, "mode_before"), of(2, "mode_after")),
        ("present".into(), "present".into())
    );
    assert!(of(1, "at") > of(2, "at"));
    assert_eq!(answer["levels"][2]["paths"], 1);
    let page = sandbox.ok(["undo", "--list"]);
    assert!(
        page.contains(&format!("return from {id}: back to the past")),
        "{page}"
    );
    assert!(
        page.contains(&format!("restore from {id}: 1 path")),
        "{page}"
    );
    assert_eq!(everything(&sandbox.repo()), before);

    sandbox.json(["undo", "--into-past"]);
    sandbox.json(["undo"]);
    let answer = sandbox.json(["redo", "--list"]);
    assert_eq!(operations(&answer), ["travel", "return"]);
}

#[test]
fn a_dry_run_says_what_would_be_taken_back_and_writes_nothing() {
    let sandbox = Sandbox::new();
    let id = restored_and_travelled(&sandbox);
    loop {
        let before = everything(&sandbox.repo());
        let ran = sandbox.tw(["--json", "undo", "--dry-run"]);
        let answer: Value = crate::schema::read(&ran.stdout).unwrap();
        if ran.code != 0 {
            assert_eq!(answer["error"]["code"], "NOTHING_TO_UNDO");
            break;
        }
        assert_eq!(everything(&sandbox.repo()), before);
        assert_eq!(answer["dry_run"], true);
        assert_eq!(answer["backup_id"], Value::Null);
        assert_eq!(answer["level"]["snapshot_id"], *id);
        let done = sandbox.json(["undo", "-y"]);
        for name in ["changes", "mode", "operation", "level"] {
            assert_eq!(answer[name], done[name], "{name}");
        }
    }
}

#[test]
fn the_past_is_entered_only_when_somebody_says_so() {
    let sandbox = Sandbox::new();
    let id = restored_and_travelled(&sandbox);
    let before = sandbox.state();
    let (error, code) = sandbox.json_error(["undo"]);
    assert_eq!((error["code"].as_str(), code), (Some("NOT_APPROVED"), 5));
    assert!(error["message"].as_str().unwrap().contains(&id), "{error}");
    before.assert_same(&sandbox.state());
    let looked = sandbox.tw(["undo", "--dry-run"]);
    let said = "hint: 'tw undo --into-past' does it\n";
    assert!(looked.err().contains(said), "{}", looked.err());
    assert_eq!(sandbox.json(["undo", "--into-past"])["mode"], "past");
    let looked = sandbox.tw(["undo", "--dry-run"]);
    let said = "hint: 'tw undo' does it\n";
    assert!(looked.err().contains(said), "{}", looked.err());

    // Out of the past nobody is asked, and back into it by redo they are.
    assert_eq!(sandbox.json(["undo"])["mode"], "present");
    let (error, _) = sandbox.json_error(["redo"]);
    assert_eq!(error["code"], "NOT_APPROVED");
    assert_eq!(sandbox.json(["redo", "--into-past"])["mode"], "past");
    sandbox.json(["return"]);

    let mut terminal = Terminal::tw(&sandbox, &["undo"]);
    terminal.shows("Go there? [y/N] ");
    terminal.types(b"\n");
    assert_eq!(terminal.ends().0, 5);
    before.assert_same(&sandbox.state());
    let mut terminal = Terminal::tw(&sandbox, &["undo"]);
    terminal.shows("Go there? [y/N] ");
    terminal.types(b"y\n");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.json(["status"])["mode"], "past");
}

#[test]
fn what_was_dropped_is_no_swap_and_it_says_so() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["-y", "drop", &snapshot(&sandbox)]);
    let (error, _) = sandbox.json_error(["undo"]);
    assert!(
        error["hints"].to_string().contains("tw recover --dropped"),
        "{error}"
    );

    sandbox.json(["restore", &id]);
    assert_eq!(
        list(&sandbox.json(["undo", "--dry-run"])["notices"]),
        Vec::<String>::new()
    );
    sandbox.json(["redo", "--list"]);
    sandbox.wait(60);
    sandbox.write("b.txt", "another\n");
    sandbox.json(["-y", "drop", &snapshot(&sandbox)]);
    let undone = sandbox.json(["undo"]);
    assert!(
        undone["notices"]
            .to_string()
            .contains("tw recover --dropped"),
        "{undone}"
    );
}
