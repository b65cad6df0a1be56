//! What a return had renamed, to be out of its way, on the trips after that: each time has it under its own name.

use std::fs;

use serde_json::{Value, json};

use crate::access::{USER, json_as, may_act_for_others, snapshot_as, somebodys};
use crate::faults::killed_at;
use crate::sandbox::Sandbox;
use crate::stage::Stage;
use crate::trip::{list, snapshot, state_json};

/// In the past a repository is in the place of the present's file `sub`. The present, and the past.
fn in_the_way() -> (Sandbox, crate::state::State, crate::state::State) {
    let sandbox = Sandbox::new();
    sandbox.write("sub", "a file\n");
    sandbox.git(["add", "sub"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    let home = sandbox.state();
    sandbox.json(["travel", &id]);
    repository(&sandbox);
    let past = sandbox.state();
    (sandbox, home, past)
}

/// Puts a repository with a commit where `sub` was.
fn repository(sandbox: &Sandbox) {
    if sandbox.exists("sub") {
        sandbox.remove("sub");
    }
    sandbox.git(["init", "-q", "sub"]);
    sandbox.write("sub/in", "made there\n");
    sandbox.git(["-C", "sub", "add", "in"]);
    sandbox.git(["-C", "sub", "commit", "-qm", "in"]);
}

/// The new name of the only thing that an answer says was renamed.
fn renamed(answer: &Value) -> String {
    let moved = answer["moved_aside"].as_array().unwrap();
    assert_eq!(moved.len(), 1, "{answer}");
    assert_eq!(moved[0]["from"], "sub", "{answer}");
    moved[0]["to"].as_str().unwrap().to_owned()
}

/// As [`in_the_way`], home with the repository under another name, which the index of the present has: that name, the present and the past.
fn moved() -> (Sandbox, String, crate::state::State, crate::state::State) {
    let (sandbox, _, past) = in_the_way();
    let to = renamed(&sandbox.json(["return", "--move-aside"]));
    sandbox.git(["add", &to]);
    let home = sandbox.state();
    (sandbox, to, home, past)
}

#[test]
fn what_was_moved_aside_has_its_name_in_each_time() {
    let (sandbox, to, home, past) = moved();
    sandbox.json(["undo", "--into-past"]);
    past.assert_same(&sandbox.state());
    for back in [
        &["return"][..],
        &["return", "--move-aside"],
        &["redo"],
        &["return", "--discard"],
    ] {
        if back[0] == "return" {
            let would = sandbox.json([back, &["--dry-run"]].concat());
            assert_eq!(renamed(&would), to, "{back:?} {would}");
            past.assert_same(&sandbox.state());
        }
        let answer = sandbox.json(back);
        if back[0] == "redo" {
            assert!(answer["notices"].to_string().contains(&to), "{answer}");
        } else {
            assert_eq!(renamed(&answer), to, "{back:?} {answer}");
        }
        assert_eq!(list(&answer["stayed"]), [""; 0], "{back:?} {answer}");
        assert!(
            !answer["notices"].to_string().contains("removed"),
            "{answer}"
        );
        home.assert_same(&sandbox.state());
        assert_eq!(sandbox.text(format!("{to}/in")), "made there\n");
        let status = sandbox.git(["status", "--porcelain", &to]);
        assert_eq!(status, format!("A  {to}\n"));
        let undone = sandbox.json(["undo", "--into-past"]);
        assert_eq!(list(&undone["notices"]), [""; 0], "{back:?} {undone}");
        past.assert_same(&sandbox.state());
    }
    // What changed in it in the past is said to have.
    sandbox.write("sub/in", "more\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(list(&returned["stayed"]), [to.as_str()], "{returned}");
    assert_eq!(sandbox.text(format!("{to}/in")), "more\n");
}

#[test]
fn what_is_gone_or_has_come_since_is_not_given_a_name() {
    let (sandbox, ..) = in_the_way();
    let to = renamed(&sandbox.json(["return", "--move-aside"]));
    // In the present something else has the name.
    repository(&sandbox);
    let undone = sandbox.json(["undo", "--into-past"]);
    assert_eq!(
        list(&undone["notices"]),
        [format!(
            "'sub' is still called '{to}', as the return had named it"
        )]
    );
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["moved_aside"], json!([]), "{returned}");
    assert_eq!(sandbox.text(format!("{to}/in")), "made there\n");
    // In the past another repository comes in its place.
    let (sandbox, home, _) = in_the_way();
    let to = renamed(&sandbox.json(["return", "--move-aside"]));
    sandbox.json(["undo", "--into-past"]);
    fs::rename(sandbox.path("sub"), sandbox.path("elsewhere")).unwrap();
    repository(&sandbox);
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(list(&error["paths"]), ["sub"], "{error}");
    sandbox.remove("elsewhere");
    let returned = sandbox.json(["return", "--move-aside"]);
    assert_ne!(renamed(&returned), "", "{returned}");
    let gone = format!("and no backup has it: '{to}'");
    assert!(
        returned["notices"].to_string().contains(&gone),
        "{returned}"
    );
    sandbox.remove(renamed(&returned));
    home.assert_same(&sandbox.state());
}

#[test]
fn what_took_the_name_of_the_present_in_the_past_is_named() {
    let (sandbox, to, home, _) = moved();
    sandbox.json(["undo", "--into-past"]);
    // A submodule that is not checked out has nothing in it.
    sandbox.mkdir(&to);
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
    sandbox.json(["undo", "--into-past"]);
    sandbox.write(format!("{to}/other"), "made there\n");
    for args in [&["return"][..], &["return", "--dry-run"], &["redo"]] {
        let (error, code) = sandbox.json_error(args);
        assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
        assert_eq!(list(&error["paths"]), [to.as_str()], "{args:?} {error}");
        assert_eq!(error["hint"], "tw return --move-aside");
        assert_eq!(sandbox.text("sub/in"), "made there\n");
    }
    let returned = sandbox.json(["return", "--move-aside"]);
    let moved = returned["moved_aside"].as_array().unwrap();
    assert_eq!(moved.len(), 2, "{returned}");
    let other = moved
        .iter()
        .find(|pair| pair["from"] == to.as_str())
        .unwrap();
    let other = other["to"].as_str().unwrap();
    assert_eq!(sandbox.text(format!("{other}/other")), "made there\n");
    let both = sandbox.state();
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(sandbox.text("sub/in"), "made there\n");
    assert_eq!(sandbox.text(format!("{to}/other")), "made there\n");
    sandbox.json(["return"]);
    both.assert_same(&sandbox.state());
    sandbox.remove(other);
    home.assert_same(&sandbox.state());
}

#[test]
fn a_return_that_fails_or_dies_leaves_it_to_the_next_one() {
    let (sandbox, to, ..) = moved();
    sandbox.git(["config", "timewarp.lockTimeout", "0.1"]);
    let home = sandbox.state();
    sandbox.json(["undo", "--into-past"]);
    let past = sandbox.state();
    sandbox.write(".git/index.lock", "");
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "BUSY", "{error}");
    sandbox.remove(".git/index.lock");
    past.assert_same(&sandbox.state());
    killed_at(&sandbox, "swap-applied", &["return"]);
    sandbox.json(["recover", "--back"]);
    past.assert_same(&sandbox.state());
    killed_at(&sandbox, "return-names-home", &["return"]);
    let recovered = sandbox.json(["recover"]);
    assert_eq!(recovered["action"], "mended", "{recovered}");
    let told = list(&recovered["notices"]);
    assert!(told[0].starts_with("'sub' has its name"), "{recovered}");
    past.assert_same(&sandbox.state());
    for point in ["return-names-home", "swap-journal", "swap-state"] {
        killed_at(&sandbox, point, &["return"]);
        if point == "swap-state" {
            let recovered = sandbox.json(["recover"]);
            assert!(
                recovered["notices"].to_string().contains(&to),
                "{recovered}"
            );
        } else {
            assert_eq!(renamed(&sandbox.json(["return"])), to);
        }
        home.assert_same(&sandbox.state());
        sandbox.json(["undo", "--into-past"]);
        past.assert_same(&sandbox.state());
    }
}

#[test]
fn a_killed_undo_of_such_a_return_is_undone_or_done() {
    let (sandbox, _, home, _) = moved();
    let stage = Stage::new(sandbox, &["undo", "-y"], Some(home));
    assert!(stage.crash_everywhere() >= 20);
    stage.rewind();
    killed_at(&stage.sandbox, "old-names-given", &["undo", "-y"]);
    stage.recover_and_check(&["recover"], "old-names-given");
}

#[test]
fn of_two_that_had_one_name_the_past_has_the_later_one() {
    let (sandbox, ..) = in_the_way();
    sandbox.git(["config", "timewarp.lockTimeout", "0.1"]);
    sandbox.write(".git/index.lock", "");
    sandbox.json_error(["return", "--move-aside"]);
    sandbox.remove(".git/index.lock");
    repository(&sandbox);
    sandbox.write("sub/second", "the second\n");
    let past = sandbox.state();
    let returned = sandbox.json(["return", "--move-aside"]);
    assert_eq!(
        returned["moved_aside"].as_array().unwrap().len(),
        2,
        "{returned}"
    );
    let home = sandbox.state();
    let undone = sandbox.json(["undo", "--into-past"]);
    assert_eq!(undone["notices"].as_array().unwrap().len(), 1, "{undone}");
    past.assert_same(&sandbox.state());
    assert_eq!(sandbox.text("sub/second"), "the second\n");
    sandbox.json(["return"]);
    home.assert_same(&sandbox.state());
}

/// Root made it there, as a container does: it is captured, and nobody else may remove it.
#[test]
fn what_can_be_captured_is_there_once_and_stays_its_owner_s() {
    use std::os::unix::fs::MetadataExt;
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write("a.txt", "then\n");
    let id = snapshot_as(&sandbox, USER);
    sandbox.write("a.txt", "now\n");
    json_as(&sandbox, USER, &["travel", &id]);
    sandbox.write("out/f", "made by root\n");
    let returned = json_as(&sandbox, USER, &["return", "--move-aside"]);
    let to = returned["moved_aside"][0]["to"]
        .as_str()
        .unwrap()
        .to_owned();
    let home = sandbox.state();
    let undone = json_as(&sandbox, USER, &["undo", "--into-past"]);
    assert_eq!(list(&undone["notices"]), [""; 0], "{undone}");
    assert_eq!(sandbox.text("out/f"), "made by root\n");
    assert!(!sandbox.exists(&to));
    let would = json_as(&sandbox, USER, &["return", "--dry-run"]);
    let returned = json_as(&sandbox, USER, &["return"]);
    for field in ["moved_aside", "changes", "stayed"] {
        assert_eq!(returned[field], would[field], "{returned}");
    }
    assert_eq!(returned["moved_aside"][0]["to"], to.as_str(), "{returned}");
    home.assert_same(&sandbox.state());
    let file = sandbox.path(format!("{to}/f")).metadata().unwrap();
    assert_eq!(file.uid(), 0);
    assert_eq!(state_json(&sandbox)["mode"], "present");
}
