//! The way home past the directory of a submodule: what is in one is in no experiment.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::{list, snapshot, state_json};

/// A submodule at `s` in the index, without a directory or a repository.
fn link(sandbox: &Sandbox) {
    let oid = sandbox.git(["rev-parse", "HEAD"]);
    let entry = format!("160000,{},s", oid.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.git(["commit", "-qm", "a submodule"]);
}

/// A snapshot with a submodule at `s`; in the present nothing of it is in the index.
fn with_submodule_then() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    link(&sandbox);
    sandbox.mkdir("s");
    let id = snapshot(&sandbox);
    sandbox.git(["rm", "-q", "--cached", "s"]);
    sandbox.git(["commit", "-qm", "no submodule"]);
    (sandbox, id)
}

fn pairs(returned: &Value) -> Vec<(String, String)> {
    let moved = returned["moved_aside"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    moved
        .map(|moved| (text(&moved["from"]), text(&moved["to"])))
        .collect()
}

#[test]
fn an_absorbed_submodule_with_something_left_out_in_it_is_in_nobody_s_way() {
    let fills: [fn(&Sandbox); 5] = [
        |sandbox| {
            sandbox.write("s/l", "absorbed\n");
            sandbox.write("s/y.log", "left out\n");
        },
        |sandbox| {
            sandbox.write("s/l", "absorbed\n");
            sandbox.git(["add", "s"]);
            sandbox.write("s/deep/l", "absorbed\n");
            sandbox.write("s/deep/build/o", "left out\n");
            sandbox.chmod("s", 0o700);
        },
        |sandbox| {
            sandbox.write(".gitignore", "*.ig\n");
            sandbox.write("s/only.ig", "ignored\n");
        },
        |sandbox| {
            sandbox.mkdir("s/e/f");
            sandbox.chmod("s/e", 0o711);
        },
        |sandbox| {
            sandbox.remove("s");
            sandbox.write("s", "a file\n");
        },
    ];
    for (nth, fill) in fills.into_iter().enumerate() {
        println!("{nth}");
        let (sandbox, id) = with_submodule_then();
        fill(&sandbox);
        sandbox.assert_round_trip(&id, |_| {});
        sandbox.assert_round_trip(&id, |sandbox| {
            if sandbox.path("s").is_dir() {
                sandbox.mkdir("s/made/here");
            }
        });
        // What is left out in the present is not told of as changed in the past.
        sandbox.json(["travel", &id]);
        let returned = sandbox.json(["return"]);
        assert_eq!(list(&returned["stayed"]), [""; 0], "{nth}: {returned}");
        let home = sandbox.state();
        sandbox.json(["undo", "-y"]);
        assert_eq!(state_json(&sandbox)["mode"], "past");
        sandbox.json(["redo", "-y"]);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn what_the_past_made_in_an_absorbed_submodule_is_moved_aside() {
    let (sandbox, id) = with_submodule_then();
    sandbox.write("s/l", "absorbed\n");
    sandbox.write("s/y.log", "left out\n");
    let home = sandbox.state();
    sandbox.json(["travel", &id]);
    sandbox.write("s/new", "past\n");
    let (error, _) = sandbox.json_error(["return"]);
    assert_eq!(error["code"], "WOULD_OVERWRITE");
    assert_eq!(error["hint"], "tw return --move-aside");
    let returned = sandbox.json(["return", "--move-aside"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let moved = pairs(&returned);
    assert_eq!(moved.len(), 1, "{returned}");
    assert_eq!(moved[0].0, "s");
    assert_eq!(sandbox.text(format!("{}/new", moved[0].1)), "past\n");
    assert_eq!(sandbox.text("s/y.log"), "left out\n");
    sandbox.remove(&moved[0].1);
    home.assert_same(&sandbox.state());
}

#[test]
fn an_empty_directory_that_is_kept_stays() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.json(["travel", &id]);
    sandbox.mkdir("kept/empty");
    sandbox.mkdir("other");
    let returned = sandbox.json(["return", "--keep", "kept/empty"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(sandbox.exists("kept/empty"), "{returned}");
    assert!(!sandbox.exists("other"));
}

#[test]
fn what_fills_the_place_of_a_submodule_without_a_directory_stays_and_is_named() {
    type Step = fn(&Sandbox);
    let repository: Step = |sandbox| {
        if sandbox.exists("s") {
            sandbox.remove("s");
        }
        sandbox.git(["init", "-q", "s"]);
        sandbox.write("s/z", "past\n");
    };
    let file: Step = |sandbox| sandbox.write("s/out", "past\n");
    let log: Step = |sandbox| sandbox.write("s/out.log", "past\n");
    let nothing: Step = |_| {};
    // The directory of the submodule is not there, then, and now or only now; and no submodule in the past.
    let pasts: [(&str, Step, Step); 3] = [
        ("then there", |sandbox| sandbox.mkdir("s"), nothing),
        ("never there", nothing, nothing),
        (
            "no submodule then",
            |sandbox| {
                sandbox.git(["rm", "-q", "--cached", "s"]);
            },
            |sandbox| {
                sandbox.git(["reset", "-q", "--", "s"]);
            },
        ),
    ];
    for (what, then, since) in pasts {
        for (nth, fill) in [repository, file, log].into_iter().enumerate() {
            if what == "no submodule then" && nth == 1 {
                // An ordinary file: it goes with the past.
                continue;
            }
            println!("{what}, {nth}");
            let sandbox = Sandbox::new();
            link(&sandbox);
            then(&sandbox);
            let id = snapshot(&sandbox);
            since(&sandbox);
            if sandbox.exists("s") {
                sandbox.remove("s");
            }
            sandbox.json(["travel", &id]);
            fill(&sandbox);
            let foretold = sandbox.json(["return", "--dry-run"]);
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{returned}");
            let stayed = list(&returned["stayed"]);
            assert_eq!(stayed.len(), 1, "{what}, {nth}: {returned}");
            assert!(stayed[0] == "s" || stayed[0] == "s/out.log", "{returned}");
            assert_eq!(foretold["stayed"], returned["stayed"], "{what}, {nth}");
            assert_eq!(list(&returned["changed_since"]), [""; 0], "{returned}");
            assert!(sandbox.exists("s"));
        }
    }
}

#[test]
fn directories_made_in_a_submodule_that_the_present_has_not_go_with_the_past() {
    let (sandbox, id) = with_submodule_then();
    sandbox.remove("s");
    sandbox.assert_round_trip(&id, |sandbox| sandbox.mkdir("s/tmp/deep"));
    assert!(!sandbox.exists("s"));
    // With a file in them all stays.
    sandbox.json(["travel", &id]);
    sandbox.mkdir("s/tmp");
    sandbox.write("s/out", "past\n");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(list(&returned["stayed"]), ["s"], "{returned}");
    assert_eq!(list(&returned["changed_since"]), [""; 0], "{returned}");
    assert!(sandbox.exists("s/tmp"));
}

#[test]
fn the_directory_of_a_submodule_without_one_goes_when_nothing_is_in_it() {
    let sandbox = Sandbox::new();
    link(&sandbox);
    sandbox.mkdir("s");
    let id = snapshot(&sandbox);
    sandbox.remove("s");
    sandbox.assert_round_trip(&id, |sandbox| assert!(sandbox.path("s").is_dir()));
    sandbox.assert_round_trip(&id, |sandbox| sandbox.mkdir("s/tmp"));
    assert!(!sandbox.exists("s"));
}

/// A file, nothing or a directory then; now a submodule at `s` that was not fetched, with `inside` in its directory.
fn not_fetched_now(then: fn(&Sandbox), inside: &[&str]) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    then(&sandbox);
    let id = snapshot(&sandbox);
    if sandbox.exists("s") {
        sandbox.remove("s");
    }
    link(&sandbox);
    sandbox.mkdir("s");
    for path in inside {
        sandbox.write(path, "the present's\n");
    }
    (sandbox, id)
}

#[test]
fn what_the_past_makes_where_a_submodule_was_not_fetched_goes_with_it() {
    type Step = fn(&Sandbox);
    let pasts: [Step; 3] = [
        |_| {},
        |sandbox| sandbox.write("s/then", "then\n"),
        |sandbox| sandbox.mkdir("s/empty"),
    ];
    for (nth, then) in pasts.into_iter().enumerate() {
        for inside in [&[][..], &["s/own", "s/dir/own"]] {
            println!("{nth}, {inside:?}");
            let (sandbox, id) = not_fetched_now(then, inside);
            sandbox.json(["travel", &id]);
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
            let fill: Step = |sandbox| {
                sandbox.write("s/past", "past\n");
                sandbox.write("s/made/past", "past\n");
            };
            sandbox.assert_round_trip(&id, fill);
            sandbox.ok(["undo", "--into-past"]);
            assert_eq!(sandbox.text("s/made/past"), "past\n");
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{returned}");
            assert!(!sandbox.exists("s/past") && !sandbox.exists("s/made"));
            for path in inside {
                assert_eq!(sandbox.text(path), "the present's\n");
            }
        }
    }
}

#[test]
fn a_file_of_the_past_where_a_submodule_was_not_fetched_becomes_a_directory_there_and_goes() {
    let (sandbox, id) = not_fetched_now(|sandbox| sandbox.write("s", "file\n"), &[]);
    sandbox.assert_round_trip(&id, |sandbox| {
        sandbox.remove("s");
        sandbox.write("s/past", "past\n");
    });
}

#[test]
fn what_stays_where_a_submodule_was_not_fetched_is_named_and_in_no_way() {
    type Step = fn(&Sandbox);
    let fills: [(&str, Step); 3] = [
        ("s/past.log", |sandbox| {
            sandbox.write("s/past.log", "past\n");
        }),
        ("s", |sandbox| {
            sandbox.git(["init", "-q", "s"]);
        }),
        ("s", |sandbox| {
            sandbox.git(["init", "-q", "s/inner"]);
        }),
    ];
    for (name, fill) in fills {
        let (sandbox, id) = not_fetched_now(|sandbox| sandbox.write("s/then", "then\n"), &[]);
        sandbox.json(["travel", &id]);
        if name == "s" {
            sandbox.remove("s/then");
        }
        fill(&sandbox);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        let stayed = list(&returned["stayed"]);
        assert_eq!(stayed.len(), 1, "{returned}");
        assert!(stayed[0].starts_with('s'), "{returned}");
        if name == "s/past.log" {
            sandbox.ok(["undo", "--into-past"]);
            assert_eq!(sandbox.text("s/then"), "then\n");
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{returned}");
        }
    }
}

#[test]
fn files_of_ours_where_the_past_ignores_a_submodule_come_back() {
    for is_there in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "/d\n");
        let commit = sandbox.git(["rev-parse", "HEAD"]);
        let entry = format!("160000,{},d", commit.trim());
        sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
        sandbox.git(["commit", "-qm", "a submodule"]);
        if is_there {
            sandbox.mkdir("d");
        }
        let before = snapshot(&sandbox);
        sandbox.git(["rm", "-q", "--cached", "d"]);
        sandbox.write("d/ok", "ours\n");
        sandbox.git(["add", "-f", "d/ok"]);
        sandbox.write("d/left", "out\n");
        let home = sandbox.state();
        sandbox.json(["travel", &before]);
        assert!(!sandbox.path("d/ok").exists());
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        if is_there {
            assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
        }
        home.assert_same(&sandbox.state());
        assert_eq!(sandbox.text("d/left"), "out\n");
    }
}
