//! File systems that know no flags of a rename, as those over a network: a place may be empty for a moment there, and what anybody
//! saves at that moment is replaced by nothing.

use crate::damage::{assert_fsck_clean, document, litter};
use crate::sandbox::Sandbox;
use crate::stage::KILLED;
use crate::trip::{commit, list, snapshot, with_stops_under};

const PLAIN: (&str, &str) = ("TW_TEST_PLAIN_RENAMES", "1");

fn plainly(sandbox: &Sandbox, args: &[&str]) -> serde_json::Value {
    let mut command = sandbox.tw_command();
    let output = command.env(PLAIN.0, PLAIN.1).arg("--json").args(args);
    let said = document(&output.output().unwrap().into());
    assert_eq!(said["ok"], true, "{args:?}: {said}");
    said
}

#[test]
fn a_trip_leads_there_and_back() {
    let sandbox = Sandbox::new();
    sandbox.write("replaced", "then\n");
    sandbox.write("removed in the past/x", "then\n");
    sandbox.symlink("replaced", "link");
    commit(&sandbox, "then");
    let past = snapshot(&sandbox);
    sandbox.write("replaced", "now\n");
    sandbox.write("made", "now\n");
    sandbox.remove("link");
    sandbox.write("link", "a file now\n");
    sandbox.remove("removed in the past");
    sandbox.symlink("made", "removed in the past");
    let present = sandbox.state();
    plainly(&sandbox, &["travel", &past]);
    assert_eq!(sandbox.text("replaced"), "then\n");
    assert_eq!(sandbox.text("removed in the past/x"), "then\n");
    assert_eq!(plainly(&sandbox, &["return"])["verified"], true);
    present.assert_same(&sandbox.state());
    assert_eq!(litter(&sandbox), [""; 0]);
}

#[test]
fn a_directory_in_the_way_is_moved_aside() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("sub", "of the present\n");
    plainly(&sandbox, &["travel", &past]);
    sandbox.git(["init", "-q", "sub"]);
    sandbox.write("sub/theirs", "theirs\n");
    let returned = plainly(&sandbox, &["return", "--move-aside"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("sub"), "of the present\n");
    let aside = returned["moved_aside"][0]["to"].as_str().unwrap();
    assert_eq!(sandbox.text(format!("{aside}/theirs")), "theirs\n");
}

#[test]
fn what_is_saved_while_a_place_is_empty_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "then\n");
    sandbox.write("b.txt", "then\n");
    let past = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.write("b.txt", "now\n");
    let saved = || {
        assert!(!sandbox.exists("a.txt"));
        sandbox.write("new", "saved meanwhile\n");
        std::fs::rename(sandbox.path("new"), sandbox.path("a.txt")).unwrap();
    };
    let said = with_stops_under(
        &sandbox,
        &[PLAIN],
        &["restore", &past],
        &[("exchange-aside", &saved)],
    );
    assert_eq!(said["ok"], false, "{said}");
    assert_eq!(sandbox.text("a.txt"), "saved meanwhile\n", "{said}");
    assert_eq!(sandbox.text("b.txt"), "now\n", "{said}");
    let hints = list(&said["error"]["hints"]).join("\n");
    assert!(hints.contains("'a.txt'"), "{said}");
    assert!(!sandbox.exists(".git/timewarp/journal.json"));
    assert_eq!(litter(&sandbox), [""; 0]);
    let all = sandbox.git(["rev-list", "--objects", "--all"]);
    sandbox.write("../bytes", "now\n");
    let oid = sandbox.git(["hash-object", "--no-filters", "../bytes"]);
    assert!(all.contains(oid.trim()), "what was there is in the backup");
}

#[test]
fn a_kill_while_a_place_is_empty_is_recovered_by_the_next_command() {
    use std::os::unix::process::ExitStatusExt;
    for nth in [1, 2] {
        let sandbox = Sandbox::new();
        for name in ["a.txt", "b.txt"] {
            sandbox.write(name, format!("then {name}\n"));
        }
        let past = snapshot(&sandbox);
        for name in ["a.txt", "b.txt"] {
            sandbox.write(name, format!("now {name}\n"));
        }
        let present = sandbox.state();
        let mut dying = sandbox.tw_command();
        let dying = dying
            .env(PLAIN.0, PLAIN.1)
            .env("TW_FAIL_POINT", format!("exchange-aside:{nth}"))
            .args(["restore", &past]);
        let signal = dying.output().unwrap().status.signal();
        assert_eq!(signal, Some(KILLED - 128));
        let is_there = |name: &&str| sandbox.exists(name);
        let there = ["a.txt", "b.txt"].iter().filter(|name| is_there(name));
        assert_eq!(there.count(), 1, "one place is empty");
        snapshot(&sandbox);
        present.assert_same(&sandbox.state());
        assert_eq!(litter(&sandbox), [""; 0]);
        assert_fsck_clean(&sandbox, "plain renames");
    }
}

/// No journal tells of a death: a desk without a file is written anew.
#[test]
fn files_of_a_desk_are_never_missing() {
    let sandbox = Sandbox::new();
    let report = "issue report --task-context t --symptom s --success-criteria c";
    let reported = sandbox.json(report.split(' '));
    let id = reported["issue_id"].as_str().unwrap();
    let experiment = ["issue", "experiment", id, "--result", "none"];
    // The point is never come to.
    let mut command = sandbox.tw_command();
    command
        .env(PLAIN.0, PLAIN.1)
        .env("TW_FAIL_POINT", "exchange-aside");
    let output = command.args(experiment).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let file = format!(".timewarp/issues/{id}/experiment.md");
    let text = sandbox.text(&file);
    assert!(text.contains("none"), "{text}");
    // What is saved since the desk was read stays.
    let text = text.replace("## Repro\n", "## Repro\n\nhours of work\n");
    let saved = || sandbox.write(&file, &text);
    let edit = ["issue", "edit", id, "--symptom", "another"];
    with_stops_under(&sandbox, &[PLAIN], &edit, &[("replace-known", &saved)]);
    assert_eq!(sandbox.text(&file), text);
    let shown = sandbox.json(["issue", "get", id]);
    assert_eq!(shown["issue"]["experiment"]["repro"], "hours of work");
    assert_eq!(shown["issue"]["symptom"], "another");
    assert_eq!(litter(&sandbox), [""; 0]);
}

/// Whoever finds no settings begins anew.
#[test]
fn files_of_others_are_never_missing() {
    let sandbox = Sandbox::new();
    let settings = sandbox.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "{\"model\": \"x\"}\n").unwrap();
    sandbox.write(".git/info/exclude", "secret\n");
    let init = ["init", "-y", "--agent", "claude", "--user"];
    // The point is never come to.
    for args in [&["init"][..], &init] {
        let mut command = sandbox.tw_command();
        command
            .env(PLAIN.0, PLAIN.1)
            .env("TW_FAIL_POINT", "exchange-aside");
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let written = std::fs::read_to_string(&settings).unwrap();
    assert!(
        written.contains("\"model\"") && written.contains("tw hook"),
        "{written}"
    );
    let exclude = sandbox.text(".git/info/exclude");
    assert!(
        exclude.contains("secret") && exclude.contains(".timewarp"),
        "{exclude}"
    );
    // What is saved since the settings were read stays.
    let saved = || std::fs::write(&settings, "{\"model\": \"y\"}\n").unwrap();
    sandbox.ok(["init", "-y", "--remove", "--agent", "claude", "--user"]);
    with_stops_under(&sandbox, &[PLAIN], &init, &[("replace-known", &saved)]);
    assert_eq!(
        std::fs::read_to_string(&settings).unwrap(),
        "{\"model\": \"y\"}\n"
    );
    let beside = std::fs::read_dir(settings.parent().unwrap()).unwrap();
    let names = beside.map(|entry| entry.unwrap().file_name());
    assert!(
        names
            .into_iter()
            .all(|name| name == "settings.json" || name == "skills")
    );
}
