//! What a purge takes out, and all else, which it leaves as it was.

use serde_json::json;

use crate::faults::killed_at;
use crate::sandbox::{Kind, Sandbox};
use crate::stage::taken;
use crate::trip::mode;

/// What is reachable from any ref, a line each, with its path.
fn reachable(sandbox: &Sandbox) -> String {
    sandbox.git(["rev-list", "--objects", "--all"])
}

#[test]
fn what_a_purge_that_died_had_not_moved_yet_goes_with_the_next_one() {
    // The ref of the snapshot moves first, then those of the label, the session and its note.
    for nth in 1..=4 {
        let sandbox = Sandbox::of(Kind::ref_files());
        sandbox.write("secret.txt", "hidden\n");
        sandbox.json(["session", "start", "--session", "s1"]);
        sandbox.json(["checkpoint", "--session", "s1", "-m", "one"]);
        sandbox.ok(["label", "latest", "good"]);
        let id = sandbox.json(["show", "good"])["snapshot"]["id"].clone();
        let purge = ["purge", "secret.txt", "--yes-purge"];
        killed_at(&sandbox, &format!("ref-placed:{nth}"), &purge);
        sandbox.remove("secret.txt");
        sandbox.json(purge);
        let left = reachable(&sandbox);
        assert!(!left.contains("secret.txt"), "{nth}: {left}");
        assert_eq!(sandbox.json(["show", "good"])["snapshot"]["id"], id);
        sandbox.json(["rewind", "s1:0", "--code"]);
        sandbox.ok(["doctor"]);
    }
}

#[test]
fn a_purge_that_died_before_it_moved_anything_is_none() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.txt", "hidden\n");
    sandbox.write("a.txt", "then\n");
    let then = taken(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.json(["travel", &then]);
    sandbox.json(["return"]);
    sandbox.json(["restore", &then, "a.txt"]);
    killed_at(
        &sandbox,
        "purge-logged",
        &["purge", "secret.txt", "--yes-purge"],
    );
    // Of the other one nothing is in what the levels name.
    sandbox.write("other.txt", "hidden, too\n");
    taken(&sandbox);
    sandbox.json(["purge", "other.txt", "--yes-purge"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "now\n");
    sandbox.json(["undo", "--into-past"]);
    assert_eq!(sandbox.text("a.txt"), "then\n");
    sandbox.json(["undo"]);
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

#[test]
fn of_a_purged_directory_what_holds_an_empty_one_stays_as_it_was() {
    let sandbox = Sandbox::new();
    // What most have is not listed.
    for path in ["b/file", "c/file", "d/file", "e/file"] {
        sandbox.write(path, "open\n");
    }
    for path in ["keys/id", "keys/old/id", "other/file"] {
        sandbox.write(path, "hidden\n");
        sandbox.chmod(path, 0o600);
    }
    std::fs::create_dir(sandbox.path("keys/inbox")).unwrap();
    for dir in ["keys", "keys/inbox", "keys/old"] {
        sandbox.chmod(dir, 0o700);
    }
    // Nothing is left of one in which only that was.
    sandbox.write("alone/in/id", "hidden\n");
    for dir in ["alone", "alone/in"] {
        sandbox.chmod(dir, 0o700);
    }
    let id = taken(&sandbox);
    sandbox.json(["purge", "keys", "alone/in/id", "--yes-purge"]);
    let shown = sandbox.json(["show", &id]);
    let modes = json!({"keys": "0700", "keys/inbox": "0700", "other/file": "0600"});
    assert_eq!(shown["snapshot"]["modes"], modes, "{shown}");
    for dir in ["keys", "alone"] {
        std::fs::remove_dir_all(sandbox.path(dir)).unwrap();
    }
    sandbox.write("a.txt", "changed\n");
    sandbox.json(["travel", &id]);
    for dir in ["keys", "keys/inbox"] {
        assert_eq!(mode(&sandbox, dir), 0o700, "{dir}");
    }
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["experiment_id"], json!(null), "{returned}");
}

#[test]
fn a_purge_says_that_the_logs_of_contexts_were_not_searched() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.txt", "hidden\n");
    sandbox.ok(["snapshot"]);
    sandbox.json(["context", "append", "--role", "user", "hidden"]);
    let purged = sandbox.json(["purge", "secret.txt", "--yes-purge"]);
    let told = purged["unreachable"].to_string();
    let dir = sandbox.git_dir().join("timewarp/contexts");
    assert!(told.contains("context logs of worktree 'main'"), "{told}");
    assert!(
        told.contains(&format!("'rm -r {}'", dir.display())),
        "{told}"
    );
}

/// Nothing can be run in it, and what was there needs what was taken.
#[test]
fn a_worktree_whose_directory_is_gone_can_be_forgotten_as_the_hint_says() {
    for is_locked in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.write("secret.txt", "hidden\n");
        let id = taken(&sandbox);
        sandbox.git(["worktree", "add", "-q", "../linked"]);
        sandbox.ok(["-C", "../linked", "travel", &id]);
        let backups = [
            "for-each-ref",
            "--format=%(refname:lstrip=3)",
            "refs/timewarp/backups",
        ];
        let backup = sandbox.git(backups);
        std::fs::remove_dir_all(sandbox.root().join("linked")).unwrap();
        if is_locked {
            sandbox.git(["worktree", "lock", "../linked"]);
        }
        let command = if is_locked {
            "git worktree unlock "
        } else {
            "git worktree prune"
        };
        let purge = ["purge", "secret.txt", "--yes-purge"];
        let drop = ["drop", "-y", "--force", backup.trim()];
        for words in [&purge[..], &drop] {
            let (error, _) = sandbox.json_error(words);
            assert_eq!(error["code"], "HELD", "{error}");
            assert!(error["hint"].as_str().unwrap().contains(command), "{error}");
        }
        let said = sandbox.tw(purge).err();
        assert_eq!(sandbox.paste_hint(&said, command).code, 0, "{said}");
        sandbox.json(purge);
        sandbox.json(drop);
    }
}

#[test]
fn what_is_damaged_of_a_worktree_whose_directory_is_gone_is_forgotten_with_it() {
    let sandbox = Sandbox::new();
    taken(&sandbox);
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    sandbox.ok(["-C", "../linked", "snapshot"]);
    sandbox.write(".git/worktrees/linked/timewarp/state.json", "{");
    std::fs::remove_dir_all(sandbox.root().join("linked")).unwrap();
    let (error, _) = sandbox.json_error(["prune"]);
    assert_eq!(error["code"], "CORRUPT_RECORD", "{error}");
    let checks = sandbox.tw(["doctor"]).out();
    let said = sandbox.tw(["prune"]).err();
    for said in [&checks, &said] {
        assert!(said.contains("'git worktree prune' forgets it"), "{said}");
    }
    sandbox.paste_hint(&said, "git worktree prune");
    sandbox.json(["prune"]);
}

#[test]
fn many_paths_in_one_directory_are_looked_for_at_once() {
    let sandbox = Sandbox::new();
    let mut words = vec!["purge".to_owned(), "--yes-purge".to_owned()];
    for nth in 0..40 {
        sandbox.write(format!("src/m{nth}/file"), "kept\n");
        sandbox.write(format!("src/m{nth}/.key"), "secret\n");
        words.push(format!("src/m{nth}/.key"));
    }
    taken(&sandbox);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let reads = crate::work::counted(&sandbox, &words)["tree_reads"];
    // Each of the 42 directories for each path would be more than 1600.
    assert!(reads < 1200, "{reads}");
}
