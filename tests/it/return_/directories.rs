//! Directories that no record has, and empty ones: whose they are, over hops, undo and the return.

use serde_json::Value;

use super::unsaved::sh;
use crate::access::{USER, give_all, json_as, may_act_for_others, snapshot_as, somebodys, tw_as};
use crate::provided::skipped;
use crate::sandbox::{Sandbox, is_root};
use crate::trip::{list, mode, snapshot};

/// A rule that leaves out what is in a directory, told in one of these ways.
fn leave_out(sandbox: &Sandbox, how: &str, dir: &str) {
    match how {
        "timewarp.exclude" => drop(sandbox.git(["config", how, &format!("{dir}/")])),
        file => sandbox.write(file, format!("/{dir}/\n")),
    }
}

/// It is entered for what git tracks in it, and nothing of that is there.
#[test]
fn a_directory_over_one_that_is_left_out_keeps_its_bits() {
    for (then, now) in [(0o755, 0o700), (0o700, 0o755), (0o750, 0o705)] {
        let sandbox = Sandbox::new();
        sandbox.write("data/sub/keep", "x\n");
        sandbox.write(".gitignore", "data/\n");
        sandbox.git(["add", "-f", "."]);
        sandbox.git(["commit", "-q", "-m", "data"]);
        sandbox.chmod("data", then);
        let past = snapshot(&sandbox);
        sandbox.write("a.txt", "two\n");
        let other = snapshot(&sandbox);
        sandbox.remove("data/sub/keep");
        sandbox.write("data/sub/out", "secret\n");
        sandbox.chmod("data", now);
        let home = sandbox.state();
        sandbox.json(["travel", &past]);
        assert_eq!(mode(&sandbox, "data"), then & now);
        sandbox.json(["travel", "--hop", &other]);
        assert_eq!(mode(&sandbox, "data"), then & now);
        sandbox.json(["restore", &past]);
        assert_eq!(mode(&sandbox, "data"), then & now);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        assert_eq!(mode(&sandbox, "data"), now);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn the_bits_of_a_directory_that_the_trip_made_in_one_that_is_left_out_are_the_past_s() {
    for how in [".gitignore", ".git/info/exclude", "timewarp.exclude"] {
        let sandbox = Sandbox::new();
        sandbox.write("data/sub/x", "x\n");
        sandbox.chmod("data/sub", 0o700);
        let closed = snapshot(&sandbox);
        sandbox.chmod("data/sub", 0o755);
        let open = snapshot(&sandbox);
        sandbox.remove("data/sub");
        leave_out(&sandbox, how, "data");
        sandbox.write("data/own", "mine\n");
        let home = sandbox.state();

        sandbox.json(["travel", &closed]);
        sandbox.json(["travel", "--hop", &open]);
        assert_eq!(mode(&sandbox, "data/sub"), 0o755, "{how}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["experiment_id"], Value::Null, "{how}");
        home.assert_same(&sandbox.state());

        sandbox.json(["travel", &open]);
        sandbox.chmod("data/sub", 0o711);
        let returned = sandbox.json(["return"]);
        assert_ne!(returned["experiment_id"], Value::Null, "{how}");
        home.assert_same(&sandbox.state());
        sandbox.json(["undo", "--into-past"]);
        assert_eq!(mode(&sandbox, "data/sub"), 0o711, "{how}");
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn an_empty_directory_that_a_rule_hides_by_now_comes_and_goes_with_its_past() {
    for how in [".gitignore", ".git/info/exclude", "timewarp.exclude"] {
        let sandbox = Sandbox::new();
        sandbox.mkdir("data/empty");
        sandbox.chmod("data/empty", 0o700);
        let past = snapshot(&sandbox);
        sandbox.remove("data");
        leave_out(&sandbox, how, "data");
        let home = sandbox.state();
        for _ in 0..2 {
            sandbox.json(["travel", &past]);
            assert_eq!(mode(&sandbox, "data/empty"), 0o700, "{how}");
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["experiment_id"], Value::Null, "{how}");
            home.assert_same(&sandbox.state());
            sandbox.json(["undo", "--into-past"]);
            assert_eq!(mode(&sandbox, "data/empty"), 0o700, "{how}");
            sandbox.json(["return"]);
            home.assert_same(&sandbox.state());
        }
        // One that is gone is a change.
        sandbox.json(["travel", &past]);
        std::fs::remove_dir(sandbox.path("data/empty")).unwrap();
        let returned = sandbox.json(["return"]);
        assert_ne!(returned["experiment_id"], Value::Null, "{how}");
        home.assert_same(&sandbox.state());
        sandbox.json(["undo", "--into-past"]);
        assert!(!sandbox.exists("data/empty"), "{how}");
        assert!(sandbox.exists("data"), "{how}");
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn a_directory_that_is_emptied_in_the_past_goes_whatever_hides_it() {
    for (dir, how) in [
        ("out", "timewarp.exclude"),
        ("out", ".git/info/exclude"),
        ("dist", ".gitignore"),
        // By its own name.
        ("dist", ""),
    ] {
        let sandbox = Sandbox::new();
        let file = format!("{dir}/x");
        sandbox.write(&file, "x\n");
        sandbox.git(["add", "-f", dir]);
        sandbox.git(["commit", "-q", "-m", "then"]);
        let past = snapshot(&sandbox);
        sandbox.git(["rm", "-rq", dir]);
        sandbox.git(["commit", "-q", "-m", "gone"]);
        if !how.is_empty() {
            leave_out(&sandbox, how, dir);
        }
        let home = sandbox.state();
        sandbox.json(["travel", &past]);
        sandbox.remove(&file);
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());
        sandbox.json(["undo", "--into-past"]);
        assert!(
            sandbox.exists(dir) && !sandbox.exists(&file),
            "{dir}, {how}"
        );
        sandbox.json(["return"]);
        home.assert_same(&sandbox.state());
    }
}

/// Each past is as a travel from the present enters it, whatever past was before it.
#[test]
fn a_hop_leaves_no_empty_directories_of_the_past_before_it() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("always");
    let without = snapshot(&sandbox);
    sandbox.mkdir("then/empty");
    sandbox.write("mine/x", "x\n");
    let with = snapshot(&sandbox);
    sandbox.remove("then");
    sandbox.remove("mine/x");
    sandbox.mkdir("present/empty");
    let home = sandbox.state();

    sandbox.json(["travel", &without]);
    let entered = sandbox.state();
    assert!(sandbox.exists("mine") && sandbox.exists("present/empty"));
    sandbox.json(["travel", "--hop", &with]);
    assert!(sandbox.exists("then/empty") && sandbox.exists("present/empty"));
    sandbox.json(["undo", "--into-past"]);
    entered.assert_same(&sandbox.state());
    sandbox.json(["redo", "--into-past"]);
    sandbox.json(["travel", "--hop", &without]);
    entered.assert_same(&sandbox.state());
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
    home.assert_same(&sandbox.state());
}

/// A working tree that is root's, and what is in it the user's; with a snapshot of it.
fn in_a_container() -> Option<(Sandbox, String)> {
    if !may_act_for_others() {
        return None;
    }
    let sandbox = somebodys();
    sandbox.write("mine/a", "one\n");
    sandbox.write("mine/old/b", "one\n");
    give_all(&sandbox.path("mine"), USER, USER);
    std::os::unix::fs::chown(sandbox.repo(), Some(0), Some(0)).unwrap();
    let id = snapshot_as(&sandbox, USER);
    Some((sandbox, id))
}

#[test]
fn what_lies_in_a_directory_that_the_user_could_not_remove_comes_and_goes() {
    let Some((sandbox, id)) = in_a_container() else {
        return;
    };
    json_as(&sandbox, USER, &["travel", &id]);
    sandbox.write("mine/new", "made in the past\n");
    sandbox.remove("mine/old/b");
    give_all(&sandbox.path("mine"), USER, USER);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(!sandbox.exists("mine/new"));
    assert_eq!(sandbox.text("mine/old/b"), "one\n");
}

/// Nobody may remove it, so it stays, and is named.
#[test]
fn an_empty_directory_that_the_user_cannot_remove_keeps_nobody_in_the_past() {
    let Some((sandbox, id)) = in_a_container() else {
        return;
    };
    let make = || {
        sandbox.write("more/x", "x\n");
        give_all(&sandbox.path("more"), USER, USER);
    };
    let named = "the directory over it is not yours to change: 'more'";
    json_as(&sandbox, USER, &["travel", &id]);
    make();
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert!(
        returned["notices"].to_string().contains(named),
        "{returned}"
    );
    assert_eq!(
        returned["stayed"],
        serde_json::json!(["more"]),
        "{returned}"
    );
    assert!(!sandbox.exists("more/x"));
    make();
    let travelled = json_as(&sandbox, USER, &["travel", &id]);
    assert!(
        travelled["notices"].to_string().contains(named),
        "{travelled}"
    );
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    assert_eq!(sandbox.text("more/x"), "x\n");
}

/// What the present has in one makes it none, and so does a rule.
#[test]
fn empty_directories_of_a_snapshot_that_are_none_by_now_keep_no_experiment() {
    for (then, now, hidden) in [
        ("data/in", "data/in", "data/"),
        ("logs", "logs/app/x", ""),
        ("web", "web/src/empty", ""),
    ] {
        let sandbox = Sandbox::new();
        sandbox.mkdir(then);
        let past = snapshot(&sandbox);
        sandbox.mkdir(now);
        sandbox.write(".git/info/exclude", format!("{hidden}\n"));
        let home = sandbox.state();
        sandbox.json(["travel", &past]);
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["experiment_id"], Value::Null, "{then}: {returned}");
        home.assert_same(&sandbox.state());
        // One that is gone is a change, where it comes back and where it does not.
        sandbox.json(["travel", &past]);
        sandbox.remove(then);
        let returned = sandbox.json(["return"]);
        assert_ne!(returned["experiment_id"], Value::Null, "{then}: {returned}");
    }
}

/// The snapshot has it as an empty directory; in the present a rule hides it, and something is in it.
#[test]
fn a_directory_that_was_empty_then_and_is_left_out_now_keeps_its_bits() {
    for then in ["data/in", "data/in/e1"] {
        let sandbox = Sandbox::new();
        sandbox.mkdir(then);
        let past = snapshot(&sandbox);
        sandbox.write("a.txt", "two\n");
        let other = snapshot(&sandbox);
        sandbox.write(".gitignore", "data/\n");
        sandbox.write("data/in/key", "secret\n");
        for bits in [0o775, 0o700] {
            sandbox.chmod("data/in", bits);
            let home = sandbox.state();
            sandbox.json(["travel", &past]);
            assert_eq!(mode(&sandbox, "data/in"), bits & 0o755, "{then}");
            sandbox.json(["travel", "--hop", &other]);
            assert_eq!(mode(&sandbox, "data/in"), bits & 0o755, "{then}");
            let returned = sandbox.json(["return"]);
            assert_eq!(returned["verified"], true, "{then}: {returned}");
            assert_eq!(mode(&sandbox, "data/in"), bits, "{then}");
            home.assert_same(&sandbox.state());
        }
    }
}

/// Only the backup of the present could have it, and that is made when the stay begins.
#[test]
fn a_hop_does_not_take_an_empty_directory_away_that_the_present_leaves_out() {
    for how in [".gitignore", ".git/info/exclude", "timewarp.exclude"] {
        let sandbox = Sandbox::new();
        sandbox.write("logs", "a file then\n");
        let other = snapshot(&sandbox);
        sandbox.remove("logs");
        leave_out(&sandbox, how, "logs");
        let past = snapshot(&sandbox);
        sandbox.mkdir("logs/app");
        let home = sandbox.state();
        sandbox.json(["travel", &past]);
        let (error, _) = sandbox.json_error(["travel", "--hop", &other]);
        assert_eq!(error["code"], "WOULD_OVERWRITE", "{how}: {error}");
        assert!(sandbox.exists("logs/app"), "{how}");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{how}: {returned}");
        home.assert_same(&sandbox.state());
        // From the present it is saved.
        if how != "timewarp.exclude" {
            sandbox.json(["travel", &other]);
            assert_eq!(sandbox.text("logs"), "a file then\n", "{how}");
            sandbox.json(["return"]);
            home.assert_same(&sandbox.state());
        }
    }
}

/// What the stay put into it goes with the hop, so that it would go as an empty one.
#[test]
fn a_hop_does_not_take_one_away_either_into_which_the_stay_wrote() {
    let sandbox = Sandbox::new();
    sandbox.write("u/v", "then\n");
    let with_dir = snapshot(&sandbox);
    sandbox.remove("u");
    sandbox.write("u", "a file then\n");
    let with_file = snapshot(&sandbox);
    sandbox.remove("u");
    sandbox.mkdir("u");
    sandbox.chmod("u", 0o700);
    sandbox.write(".gitignore", "u/\n");
    let home = sandbox.state();
    sandbox.json(["travel", &with_dir]);
    let past = sandbox.state();
    let (error, _) = sandbox.json_error(["travel", "--hop", &with_file]);
    assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
    assert_eq!(error["paths"], serde_json::json!(["u"]), "{error}");
    past.assert_same(&sandbox.state());
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    home.assert_same(&sandbox.state());
}

#[test]
fn the_undo_of_a_hop_brings_the_empty_directories_of_the_present_back() {
    let sandbox = Sandbox::new();
    let past = snapshot(&sandbox);
    sandbox.write("logs", "a file then\n");
    let other = snapshot(&sandbox);
    sandbox.remove("logs");
    sandbox.mkdir("logs/app");
    sandbox.chmod("logs/app", 0o700);
    let home = sandbox.state();
    sandbox.json(["travel", &past]);
    assert!(sandbox.exists("logs/app"));
    sandbox.json(["travel", "--hop", &other]);
    assert_eq!(sandbox.text("logs"), "a file then\n");
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(mode(&sandbox, "logs/app"), 0o700);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    home.assert_same(&sandbox.state());
}

/// It lies in a directory that the present leaves out, and is the past's all the same.
#[test]
fn an_empty_directory_that_was_made_in_the_past_goes_with_a_hop() {
    for by_way_of_another in [false, true] {
        let sandbox = Sandbox::new();
        if sandbox.is_on_overlay() {
            return;
        }
        let past = snapshot(&sandbox);
        sandbox.mkdir("nm/x");
        sandbox.chmod("nm/x", 0o700);
        let with = snapshot(&sandbox);
        sandbox.remove("nm");
        sandbox.write("nm/x", "a file then\n");
        let other = snapshot(&sandbox);
        sandbox.remove("nm/x");
        sandbox.write(".gitignore", "nm/\n");
        sandbox.write("nm/lib", "lib\n");
        let home = sandbox.state();
        sandbox.json(["travel", &past]);
        std::thread::sleep(std::time::Duration::from_millis(20));
        sandbox.mkdir("nm/x");
        if by_way_of_another {
            sandbox.json(["travel", "--hop", &with]);
        }
        sandbox.json(["travel", "--hop", &other]);
        assert_eq!(sandbox.text("nm/x"), "a file then\n");
        let returned = sandbox.json(["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        home.assert_same(&sandbox.state());
    }
}

/// Has a command of the user's refused for what root has made, and gives its error.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], path: &str) -> Value {
    let before = sandbox.state();
    let kept = sandbox.git(["for-each-ref"]);
    let ran = tw_as(sandbox, USER, &[&["--json"], args].concat());
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let error = answer["error"].clone();
    let told = (error["code"].as_str(), ran.code);
    assert_eq!(told, (Some("WOULD_OVERWRITE"), 5), "{args:?} {answer}");
    assert_eq!(list(&error["paths"]), [path], "{args:?} {answer}");
    let hints = error["hints"].to_string();
    assert!(hints.contains("sudo chown -R"), "{args:?} {hints}");
    // Before anything was touched, saved, or taken from its owner.
    before.assert_same(&sandbox.state());
    assert_eq!(sandbox.git(["for-each-ref"]), kept, "{args:?}");
    let owner = std::os::unix::fs::MetadataExt::uid(&sandbox.path("theirs").metadata().unwrap());
    assert_eq!(owner, 0, "{args:?}");
    error
}

/// As a container does that has the working tree mounted.
#[test]
fn what_another_user_made_in_the_past_is_moved_aside() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    sandbox.write("a.txt", "now\n");
    let home = sandbox.state();
    json_as(&sandbox, USER, &["travel", id]);
    sandbox.write("generated/deep/out", "made by root\n");
    sandbox.write("theirs", "root's, where the user may remove it\n");
    for args in [&["return"][..], &["return", "--discard"], &["undo"]] {
        let error = refused(&sandbox, args, "generated");
        assert_eq!(error["hint"], "tw return --move-aside", "{args:?}");
    }
    sandbox.write("a.txt", "elsewhere\n");
    refused(&sandbox, &["travel", "--hop", id], "generated");
    let foretold = json_as(&sandbox, USER, &["return", "--move-aside", "--dry-run"]);
    let returned = json_as(&sandbox, USER, &["return", "--move-aside"]);
    assert_eq!(returned["verified"], true, "{returned}");
    for field in ["moved_aside", "changes"] {
        assert_eq!(returned[field], foretold[field], "{returned}");
    }
    let moved = returned["moved_aside"].as_array().unwrap();
    assert_eq!(moved.len(), 1, "{returned}");
    assert_eq!(moved[0]["from"], "generated", "{returned}");
    let to = moved[0]["to"].as_str().unwrap();
    assert_eq!(sandbox.text(format!("{to}/deep/out")), "made by root\n");
    let experiments = json_as(&sandbox, USER, &["list", "--kind", "experiment"]);
    assert_eq!(experiments["total"], 1, "none of a return that was refused");

    // In the other direction.
    sandbox.write("theirs", "root's, where the user may remove it\n");
    refused(&sandbox, &["travel", id], to);
    refused(&sandbox, &["restore", id], to);
    sandbox.remove("theirs");
    sandbox.remove(to);
    home.assert_same(&sandbox.state());
}

/// As a container does it that is told to mount something there.
#[test]
fn empty_directories_of_another_user_where_the_present_has_a_file_are_moved_aside() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    sandbox.write("place", "now\n");
    give_all(&sandbox.path("place"), USER, USER);
    let home = sandbox.state();
    json_as(&sandbox, USER, &["travel", id]);
    std::fs::create_dir_all(sandbox.path("place/within")).unwrap();
    sandbox.write("theirs", "root's, where the user may remove it\n");
    let error = refused(&sandbox, &["return"], "place");
    assert_eq!(error["hint"], "tw return --move-aside");
    let returned = json_as(&sandbox, USER, &["return", "--move-aside"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let moved = &returned["moved_aside"][0];
    assert_eq!(moved["from"], "place", "{returned}");
    sandbox.remove(moved["to"].as_str().unwrap());
    home.assert_same(&sandbox.state());
}

#[test]
fn the_bits_of_another_user_s_file_stay_and_are_told() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write("theirs", "root's\n");
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    let back_from = |travel: &[&str]| {
        sandbox.write("a.txt", "now\n");
        json_as(&sandbox, USER, travel);
        sandbox.chmod("theirs", 0o664);
        let returned = json_as(&sandbox, USER, &["return"]);
        assert_eq!(returned["verified"], true, "{returned}");
        let told = returned["notices"].to_string();
        assert!(
            told.contains("'theirs' could not keep: permission bits"),
            "{told}"
        );
        assert_eq!(sandbox.text("a.txt"), "now\n");
        assert_eq!(crate::trip::mode(&sandbox, "theirs"), 0o664);
        sandbox.chmod("theirs", 0o644);
    };
    back_from(&["travel", id]);
    // The way there, of which a plain snapshot does not know whose the file was.
    sandbox.chmod("theirs", 0o664);
    let travelled = json_as(&sandbox, USER, &["travel", id]);
    let told = travelled["notices"].to_string();
    assert!(
        told.contains("'theirs' could not keep: permission bits"),
        "{told}"
    );
    json_as(&sandbox, USER, &["return"]);
    sandbox.chmod("theirs", 0o644);
    // The undo of what was done to single paths alone.
    sandbox.write("a.txt", "then\n");
    json_as(&sandbox, USER, &["restore", id, "a.txt", "theirs"]);
    sandbox.chmod("theirs", 0o664);
    let undone = json_as(&sandbox, USER, &["undo"]);
    assert_eq!(list(&undone["changes"]["written"]), ["a.txt"], "{undone}");
    assert_eq!(sandbox.text("a.txt"), "then\n");
}

#[test]
fn a_directory_that_was_given_away_in_the_past_is_moved_aside_and_comes_back() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    sandbox.write(".gitignore", "*.tmp\n");
    sandbox.write("d/in/1", "one\n");
    sandbox.write("d/in/2", "two\n");
    give_all(&sandbox.repo(), USER, USER);
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    sandbox.write("a.txt", "now\n");
    sandbox.write("d/in/left.tmp", "left out\n");
    give_all(&sandbox.repo(), USER, USER);
    let home = sandbox.state();
    json_as(&sandbox, USER, &["travel", id]);
    give_all(&sandbox.path("d/in"), 0, 0);
    sandbox.write("d/in/1", "changed by root\n");
    sandbox.write("theirs", "root's, where the user may remove it\n");
    refused(&sandbox, &["return"], "d/in");
    let returned = json_as(&sandbox, USER, &["return", "--move-aside"]);
    assert_eq!(returned["verified"], true, "{returned}");
    let moved = returned["moved_aside"].as_array().unwrap();
    let to = |from: &str| {
        let mut moved = moved.iter().filter(|moved| moved["from"] == from);
        moved.next().unwrap()["to"].as_str().unwrap()
    };
    assert_eq!(
        sandbox.text(format!("{}/1", to("d/in"))),
        "changed by root\n"
    );
    // What the present had left out cannot go back without root, and is named where it is.
    assert_eq!(sandbox.text(to("d/in/left.tmp")), "left out\n");
    sandbox.remove(to("d/in"));
    sandbox.write("d/in/left.tmp", "left out\n");
    home.assert_same(&sandbox.state());
}

/// The directory that `tw` was started in is kept, empty if need be, also where the present has none.
#[test]
fn a_return_from_a_directory_that_only_the_past_has_brings_the_present_back() {
    for past in [
        "mkdir -p w/x/y; echo page >w/x/y/i",
        "mkdir -p w/x/y",
        "mkdir -p w/x/y; echo page >w/x/y/i; git add w; git commit -qm w",
        "mkdir -p w/x/y; echo page >w/page; echo /w/x/ >.gitignore # ignored",
    ] {
        for way in [["return"], ["undo"]] {
            let sandbox = Sandbox::new();
            sh(&sandbox, past);
            let id = snapshot(&sandbox);
            sh(
                &sandbox,
                "rm -rf w .gitignore; git reset -q --hard HEAD; rm -rf w",
            );
            sandbox.write("a.txt", "of the present\n");
            sandbox.json(["travel", &id]);
            if past.contains("ignored") {
                sh(&sandbox, "mkdir -p w/x/y; echo i >w/x/y/ignored");
            }
            let ran = sandbox.tw_in(sandbox.path("w/x/y"), way);
            assert_eq!(ran.code, 0, "{past} {way:?}: {}{}", ran.out(), ran.err());
            assert_eq!(sandbox.text("a.txt"), "of the present\n");
            assert!(sandbox.path("w/x/y").is_dir(), "{past} {way:?}");
            assert!(!sandbox.path("w/x/y/i").exists());
            if !past.contains("ignored") {
                let said = format!("{}{}", ran.out(), ran.err());
                assert!(said.contains("you are in it"), "{past} {way:?}: {said}");
            }
            let status = sandbox.json(["status"]);
            assert_eq!(status["mode"], "present", "{past} {way:?}: {status}");
            // Nothing is left to be recovered, and the way back into the past is open.
            let back = if way == ["undo"] { "redo" } else { "undo" };
            sandbox.json([back, "--into-past"]);
            assert_eq!(sandbox.text("a.txt"), "one\n");
            sandbox.json(["return"]);
        }
    }
}

/// A mount point cannot be removed.
#[test]
fn a_return_with_a_mount_in_a_directory_of_the_past_brings_the_present_back() {
    if !is_root() {
        skipped("root", "nothing can be mounted");
        return;
    }
    let sandbox = Sandbox::new();
    sh(&sandbox, "mkdir -p w/x; echo page >w/x/i");
    let id = snapshot(&sandbox);
    sh(&sandbox, "rm -rf w");
    sandbox.write("a.txt", "of the present\n");
    let before = sandbox.text("a.txt");
    // In a mount namespace of its own, which ends with the script.
    let script = format!(
        "tw -q travel {id} && mount --bind w/x w/x && rm w/x/i && tw return --json; echo $?"
    );
    let said = sandbox
        .paste(&format!("unshare -m sh -c '{script}' 2>&1"))
        .out();
    if said.contains("unshare:") || said.contains("mount:") {
        skipped("mount", "the system refuses it");
        return;
    }
    assert!(said.contains("\"verified\":true"), "{said}");
    assert!(said.contains("something is mounted there"), "{said}");
    assert_eq!(sandbox.text("a.txt"), before);
    assert_eq!(sandbox.json(["status"])["mode"], "present");
}
