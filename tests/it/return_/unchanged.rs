//! A past in which nothing was changed leaves no experiment; the slightest change leaves one. Undo of the return goes back into
//! either.

use std::os::unix::fs::chown;

use serde_json::Value;

use crate::access::{USER, give_all, json_as, may_act_for_others, snapshot_as, somebodys};
use crate::sandbox::{Sandbox, is_root, skipped};
use crate::trip::{snapshot, with_stop};

fn with_differing_present() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("dir/new.txt", "new\n");
    sandbox.mkdir("empty");
    sandbox.write("a.txt", "staged\n");
    sandbox.git(["add", "a.txt"]);
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "edited\n");
    sandbox.remove("dir/new.txt");
    (sandbox, id)
}

fn experiments(sandbox: &Sandbox) -> String {
    sandbox.git(["for-each-ref", "refs/timewarp/experiments"])
}

#[test]
fn an_unchanged_past_leaves_no_experiment_and_undo_goes_back_into_it() {
    for travel in [&["travel"][..], &["travel", "--files-only"]] {
        let (sandbox, id) = with_differing_present();
        let home = sandbox.state();
        sandbox.json(travel.iter().copied().chain([id.as_str()]));
        let past = sandbox.state();
        let answer = sandbox.json(["return"]);
        assert_eq!(answer["experiment_id"], Value::Null, "{travel:?}");
        assert_eq!(experiments(&sandbox), "");
        home.assert_same(&sandbox.state());

        assert_eq!(sandbox.json(["undo", "-y"])["mode"], "past");
        past.assert_same(&sandbox.state());
        assert_eq!(sandbox.json(["return"])["experiment_id"], Value::Null);
        home.assert_same(&sandbox.state());
    }
}

#[test]
fn the_slightest_change_leaves_an_experiment() {
    type Change = fn(&Sandbox);
    let changes: [(&str, Change); 11] = [
        ("a byte", |sandbox| sandbox.write("a.txt", "stagee\n")),
        ("a new file", |sandbox| sandbox.write("more.txt", "")),
        ("a file less", |sandbox| sandbox.remove("dir/new.txt")),
        ("permission bits", |sandbox| sandbox.chmod("a.txt", 0o600)),
        ("a directory", |sandbox| sandbox.mkdir("another")),
        ("a directory less", |sandbox| {
            std::fs::remove_dir(sandbox.path("empty")).unwrap();
        }),
        ("an attribute", |sandbox| {
            let file = sandbox.path("a.txt");
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(file, "user.timewarp.test", b"1", flags).unwrap();
        }),
        ("the index", |sandbox| {
            sandbox.git(["add", "."]);
        }),
        ("a flag in the index", |sandbox| {
            sandbox.git(["update-index", "--assume-unchanged", "a.txt"]);
        }),
        ("HEAD's branch", |sandbox| {
            sandbox.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
        }),
        ("a commit", |sandbox| {
            sandbox.git(["commit", "--quiet", "--message", "in the past"]);
        }),
    ];
    for (name, change) in changes {
        let (sandbox, id) = with_differing_present();
        let home = sandbox.state();
        sandbox.json(["travel", &id]);
        change(&sandbox);
        let past = sandbox.state();
        let answer = sandbox.json(["return"]);
        assert!(answer["experiment_id"].is_string(), "{name}: {answer}");
        home.assert_same(&sandbox.state());
        sandbox.json(["undo", "-y"]);
        past.assert_same(&sandbox.state());
    }
}

#[test]
fn what_came_in_while_the_past_was_left_is_kept() {
    let (sandbox, id) = with_differing_present();
    sandbox.json(["travel", &id]);
    let answer = with_stop(&sandbox, &["return"], "swap-journal", || {
        sandbox.write("a.txt", "written late\n");
    });
    let experiment = answer["experiment_id"].as_str().unwrap();
    let late = sandbox.git([
        "show",
        &format!("refs/timewarp/experiments/{experiment}:a.txt"),
    ]);
    assert_eq!(late, "written late\n");
}

#[test]
fn a_run_that_changed_nothing_says_so() {
    let (sandbox, _) = with_differing_present();
    let args = ["--task-context=t", "--symptom=s", "--success-criteria=c"];
    let issue = sandbox.json(["issue", "report"].into_iter().chain(args));
    let issue = issue["issue_id"].as_str().unwrap();
    sandbox.json(["issue", "start", issue]);
    sandbox.json(["return"]);
    let run = &sandbox.json(["issue", "get", issue])["issue"]["runs"][0];
    assert_eq!(run["experiment_id"], Value::Null);
    let none = serde_json::json!({"files": 0, "insertions": 0, "deletions": 0});
    assert_eq!(run["diff_stat"], none);
}

/// These are not revived in the past, so that they are not there when it is left.
#[test]
fn an_operation_that_is_not_revived_leaves_no_experiment() {
    for operation in ["bisect", "rebase"] {
        let sandbox = Sandbox::new();
        sandbox.write("a.txt", "two\n");
        sandbox.git(["commit", "-q", "-am", "second"]);
        if operation == "bisect" {
            sandbox.git(["bisect", "start", "-q"]);
            sandbox.git(["bisect", "bad"]);
        } else {
            sandbox.try_git(["rebase", "-q", "--exec", "false", "HEAD~1"]);
        }
        let id = snapshot(&sandbox);
        sandbox.write("a.txt", "edited\n");
        let home = sandbox.state();
        sandbox.json(["travel", &id]);
        let answer = sandbox.json(["return"]);
        assert_eq!(answer["experiment_id"], Value::Null, "{operation}");
        home.assert_same(&sandbox.state());
        // One that begins there is something that was made there.
        sandbox.json(["travel", &id]);
        sandbox.git(["bisect", "start", "-q"]);
        assert_ne!(sandbox.json(["return"])["experiment_id"], Value::Null);
        home.assert_same(&sandbox.state());
    }
}

/// It comes back empty, as git would make it.
#[test]
fn a_submodule_that_the_present_has_removed_leaves_no_experiment() {
    let sandbox = Sandbox::new();
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", ".", other.to_str().unwrap()]);
    let add = "-c protocol.file.allow=always submodule --quiet add";
    sandbox.git(add.split(' ').chain([other.to_str().unwrap(), "sub"]));
    sandbox.git(["commit", "-q", "-m", "submodule"]);
    let id = snapshot(&sandbox);
    sandbox.git(["rm", "-q", "-f", "sub"]);
    sandbox.git(["commit", "-q", "-m", "none"]);
    sandbox.json(["travel", &id]);
    assert_eq!(sandbox.json(["return"])["experiment_id"], Value::Null);
}

/// To the past, which has no such entry in its index, it is a repository like any other.
#[test]
fn a_submodule_that_was_added_since_leaves_no_experiment() {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    let other = sandbox.root().join("other");
    sandbox.git(["clone", "-q", ".", other.to_str().unwrap()]);
    let add = "-c protocol.file.allow=always submodule --quiet add";
    sandbox.git(add.split(' ').chain([other.to_str().unwrap(), "sub"]));
    sandbox.git(["commit", "-q", "-m", "submodule"]);
    assert_only_a_change_is_kept(&sandbox, &id, || {
        sandbox.git(["-C", "sub", "commit", "-q", "--allow-empty", "-m", "more"]);
    });
}

/// Goes to a snapshot and back without a change, and then once more with one.
fn assert_only_a_change_is_kept(sandbox: &Sandbox, id: &str, change: impl FnOnce()) {
    let home = sandbox.state();
    sandbox.json(["travel", id]);
    let status = sandbox.json(["status"]);
    assert_eq!(status["changed"]["files"], 0, "{status}");
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
    home.assert_same(&sandbox.state());
    sandbox.json(["travel", id]);
    change();
    let returned = sandbox.json(["return"]);
    assert_ne!(returned["experiment_id"], Value::Null, "{returned}");
}

fn rename(sandbox: &Sandbox, from: &str, to: &str) {
    std::fs::rename(sandbox.path(from), sandbox.path(to)).unwrap();
}

/// It stays, as an empty directory would.
#[test]
fn the_directory_of_a_submodule_that_the_snapshot_lacks_leaves_no_experiment() {
    for filled in [true, false] {
        let sandbox = Sandbox::new();
        let other = sandbox.root().join("other");
        sandbox.git(["clone", "-q", ".", other.to_str().unwrap()]);
        let add = "-c protocol.file.allow=always submodule --quiet add";
        sandbox.git(add.split(' ').chain([other.to_str().unwrap(), "sub"]));
        sandbox.git(["commit", "-q", "-m", "submodule"]);
        if !filled {
            sandbox.git(["submodule", "--quiet", "deinit", "-f", "sub"]);
        }
        rename(&sandbox, "sub", ".git/sub-away");
        let id = snapshot(&sandbox);
        rename(&sandbox, ".git/sub-away", "sub");
        assert_only_a_change_is_kept(&sandbox, &id, || {
            if filled {
                let commit = "-C sub commit -q --allow-empty -m past";
                sandbox.git(commit.split(' '));
            } else {
                std::fs::remove_dir(sandbox.path("sub")).unwrap();
                sandbox.write("sub", "a file\n");
            }
        });
    }
}

#[test]
fn the_directory_of_a_submodule_outside_of_the_sparse_checkout_leaves_no_experiment() {
    let sandbox = Sandbox::new();
    let oid = sandbox.git(["rev-parse", "HEAD"]);
    let entry = format!("160000,{},s/sub", oid.trim());
    sandbox.write("s/1", "one\n");
    sandbox.git(["add", "s/1"]);
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.git(["commit", "-q", "-m", "submodule"]);
    sandbox.git(["sparse-checkout", "set", "--cone", "d"]);
    let id = snapshot(&sandbox);
    sandbox.git(["sparse-checkout", "disable"]);
    sandbox.mkdir("s/sub");
    assert_only_a_change_is_kept(&sandbox, &id, || sandbox.write("new.txt", "past\n"));
}

#[test]
fn files_where_the_snapshot_has_a_nested_repository_leave_no_experiment() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "n"]);
    sandbox.write("n/then", "then\n");
    let id = snapshot(&sandbox);
    sandbox.remove("n");
    sandbox.write("n/now", "now\n");
    assert_only_a_change_is_kept(&sandbox, &id, || sandbox.write("n/now", "past\n"));
}

/// Neither travel nor whoever worked there could change its bits.
#[test]
fn a_directory_of_another_owner_leaves_no_experiment() {
    if !may_act_for_others() {
        return;
    }
    let sandbox = somebodys();
    let dirs = ["dir", "empty", "ignored/deep", "sub"];
    let others = USER + 1;
    let oid = sandbox.git(["rev-parse", "HEAD"]);
    let entry = format!("160000,{},sub", oid.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.write("dir/x", "one\n");
    sandbox.write("ignored/deep/x", "then\n");
    sandbox.write("own/x", "one\n");
    for dir in dirs {
        sandbox.mkdir(dir);
        sandbox.chmod(dir, 0o755);
    }
    give_all(&sandbox.root(), USER, USER);
    let id = snapshot_as(&sandbox, USER);
    let id = id.as_str();
    sandbox.write("ignored/deep/x", "now\n");
    sandbox.write(".gitignore", "ignored/\n");
    give_all(&sandbox.root(), USER, USER);
    for dir in dirs {
        chown(sandbox.path(dir), Some(others), Some(others)).unwrap();
        sandbox.chmod(dir, 0o777);
    }
    let home = sandbox.state();
    let travelled = json_as(&sandbox, USER, &["travel", id]);
    assert!(travelled["notices"].to_string().contains("permission bits"));
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_eq!(returned["experiment_id"], Value::Null, "{returned}");
    home.assert_same(&sandbox.state());
    json_as(&sandbox, USER, &["travel", id]);
    sandbox.chmod("own", 0o700);
    let returned = json_as(&sandbox, USER, &["return"]);
    assert_ne!(returned["experiment_id"], Value::Null, "{returned}");
}

#[test]
fn what_nobody_may_read_leaves_no_experiment() {
    if is_root() {
        skipped("an ordinary user", "root can read everything");
        return;
    }
    let (sandbox, id) = with_differing_present();
    sandbox.write("closed.txt", "closed\n");
    sandbox.chmod("closed.txt", 0);
    let with_it = snapshot(&sandbox);
    for id in [&id, &with_it] {
        let home = sandbox.state();
        sandbox.json(["travel", id]);
        let answer = sandbox.json(["return"]);
        assert_eq!(answer["experiment_id"], Value::Null, "{answer}");
        home.assert_same(&sandbox.state());
    }
}
