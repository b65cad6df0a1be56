//! What a repository of SHA-256 does, in a short selection that every run of the tests makes. With `TW_TEST_OBJECTS=sha256` all
//! tests run on such repositories.

use serde_json::{Value, json};

use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs};
use crate::rewind::three_turns;
use crate::sandbox::{Kind, Sandbox};
use crate::stage::{KILLED, eventful_in, taken};
use crate::transcripts;

fn sandbox() -> Sandbox {
    Sandbox::of(Kind::SHA256)
}

fn report(sandbox: &Sandbox) -> Value {
    sandbox.json([
        "issue",
        "report",
        "--snapshot",
        "latest",
        "--task-context",
        "building",
        "--symptom",
        "it hangs",
        "--success-criteria",
        "it ends",
    ])
}

fn gc(sandbox: &Sandbox) {
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
}

#[test]
fn a_merge_in_progress_is_left_and_found_again_with_gc_in_between() {
    let (sandbox, snapshot) = eventful_in(sandbox());
    let home = sandbox.state();
    let known = blobs(&sandbox);
    sandbox.json(["travel", &snapshot]);
    gc(&sandbox);
    assert_eq!(sandbox.text("dir/b.txt"), "staged\n");
    sandbox.write("a.txt", "made in the past\n");
    sandbox.git(["add", "a.txt"]);
    taken(&sandbox);
    let returned = sandbox.json(["return"]);
    assert_eq!(returned["verified"], true, "{returned}");
    home.assert_same(&sandbox.state());
    gc(&sandbox);
    assert_nothing_lost(&sandbox, &known, "after travel and return");
    sandbox.json(["restore", &snapshot]);
    sandbox.json(["undo", "-y"]);
    home.assert_same(&sandbox.state());
    sandbox.json(["redo"]);
    sandbox.json(["undo", "-y"]);
    home.assert_same(&sandbox.state());
    // What git goes on with, and what it would refuse.
    assert_fsck_clean(&sandbox, "after all");
    sandbox.git(["merge", "--abort"]);
    assert_eq!(sandbox.text("both.txt"), "ours\n");
}

#[test]
fn a_killed_travel_is_undone_or_done() {
    let (sandbox, snapshot) = eventful_in(sandbox());
    let home = sandbox.state();
    for point in ["swap-journal", "apply-exchanged", "swap-index", "swap-head"] {
        let mut command = sandbox.tw_command();
        let killed = command
            .env("TW_FAIL_POINT", point)
            .args(["travel", &snapshot]);
        let status = killed.output().unwrap().status;
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(KILLED - 128)
        );
        sandbox.json(["recover", "--back"]);
        home.assert_same(&sandbox.state());
    }
    assert_fsck_clean(&sandbox, "after four kills");
}

#[test]
fn many_new_files_are_one_pack_that_git_reads_and_replaces() {
    let sandbox = sandbox();
    for nth in 0..1500 {
        sandbox.write(format!("d{}/f{nth}.txt", nth % 40), format!("file {nth}\n"));
    }
    let first = taken(&sandbox);
    let packs = || {
        let entries = std::fs::read_dir(sandbox.path(".git/objects/pack")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| {
                std::path::Path::new(name)
                    .extension()
                    .is_some_and(|end| end == "pack")
            })
            .collect::<Vec<_>>()
    };
    let [pack] = &packs()[..] else {
        panic!("{:?}", packs())
    };
    // git takes away no pack whose name is shorter than its own.
    assert_eq!(pack.len(), "pack-.pack".len() + 64);
    sandbox.git(["verify-pack", &format!(".git/objects/pack/{pack}")]);
    assert_fsck_clean(&sandbox, "after a large snapshot");
    sandbox.git(["repack", "-adq"]);
    assert!(!packs().contains(pack), "{:?}", packs());
    sandbox.git(["multi-pack-index", "write"]);
    sandbox.remove("d7");
    // A swap of most of them.
    for nth in (0..1500).filter(|nth| nth % 40 != 7) {
        sandbox.write(format!("d{}/f{nth}.txt", nth % 40), "another\n");
    }
    sandbox.assert_round_trip(&first, |sandbox| {
        assert_eq!(sandbox.text("d7/f7.txt"), "file 7\n");
    });
    // Ids are taken over from git's index, where it knows the files.
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "many"]);
    std::fs::remove_file(sandbox.path(".git/timewarp/cache")).unwrap();
    let again = sandbox.json(["snapshot"])["snapshot"].clone();
    assert_eq!(
        sandbox.git(["rev-parse", "HEAD^{tree}"]).trim(),
        again["tree"]
    );
    assert_eq!(again["tree"].as_str().map(str::len), Some(64));
}

#[test]
fn ids_are_taken_in_part_and_labels_look_like_none() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "two\n");
    let taken = sandbox.json(["snapshot"])["snapshot"].clone();
    let (id, commit) = (
        taken["snapshot_id"].clone(),
        taken["commit"].as_str().unwrap(),
    );
    for part in [&commit[..7], &commit[..41], commit] {
        assert_eq!(sandbox.json(["show", part])["snapshot"]["snapshot_id"], id);
    }
    let (error, _) = sandbox.json_error(["label", "latest", &commit[..50]]);
    assert_eq!(error["code"], "INVALID_LABEL", "{error}");
    // Plain git knows what to do with a snapshot.
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "three\n");
    let staged = sandbox.git(["diff", "--cached"]);
    let both = sandbox.json(["snapshot"])["snapshot"]["commit"].clone();
    sandbox.git(["reset", "-q", "--hard"]);
    sandbox.git(["stash", "apply", "-q", "--index", both.as_str().unwrap()]);
    assert_eq!(sandbox.git(["diff", "--cached"]), staged);
    assert_eq!(sandbox.text("a.txt"), "three\n");
    let blamed = sandbox.json(["blame", "a.txt"]);
    assert_eq!(
        blamed["lines"].as_array().map(Vec::len),
        Some(1),
        "{blamed}"
    );
    let found = sandbox.json(["search", "--in", "content", "two"]);
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
}

#[test]
fn a_session_is_rewound_and_an_issue_reported() {
    let sandbox = sandbox();
    let talk = three_turns(&sandbox, transcripts::Kind::Claude);
    assert_eq!(talk.checkpoints().len(), 3);
    let rewound = sandbox.json(["rewind", "1", "--both"]);
    assert_eq!(rewound["code"]["files"][0]["path"], "a.txt", "{rewound}");
    assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
    let reported = report(&sandbox);
    let issue = reported["issue_id"].as_str().unwrap();
    sandbox.json(["issue", "comment", issue, "-m", "still so"]);
    let commit = sandbox.json(["show", "latest"])["snapshot"]["commit"].clone();
    let face = format!("refs/notes/timewarp/issues/{issue}");
    let note = sandbox.git(["notes", "--ref", &face, "show", commit.as_str().unwrap()]);
    assert!(note.contains("still so"), "{note}");
    assert_fsck_clean(&sandbox, "after a session");
}

#[test]
fn snapshots_are_purged_pruned_and_made_in_linked_worktrees() {
    let sandbox = sandbox();
    sandbox.write("secret.txt", "hidden\n");
    let secret = sandbox.git(["hash-object", "secret.txt"]);
    taken(&sandbox);
    sandbox.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = sandbox.root().join("linked");
    std::fs::write(linked.join("b.txt"), "linked\n").unwrap();
    let ran = sandbox.tw_in(&linked, ["snapshot"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    sandbox.ok(["purge", "--yes-purge", "secret.txt"]);
    gc(&sandbox);
    assert_ne!(sandbox.try_git(["cat-file", "-e", secret.trim()]).code, 0);
    let left = sandbox.git(["for-each-ref", "refs/timewarp/snapshots"]);
    assert_eq!(left.lines().count(), 2, "{left}");
    sandbox.json(["prune", "--keep-days", "0", "--keep-last", "1"]);
    assert_fsck_clean(&sandbox, "after purge and prune");
}

#[test]
fn a_detached_head_with_commits_of_its_own_is_held() {
    let sandbox = sandbox();
    let first = taken(&sandbox);
    sandbox.git(["checkout", "-q", "--detach"]);
    for title in ["one", "two"] {
        sandbox.git(["commit", "-q", "--allow-empty", "-m", title]);
    }
    let head = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.json(["travel", &first]);
    gc(&sandbox);
    sandbox.git(["cat-file", "-e", head.trim()]);
    sandbox.json(["return"]);
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn a_remote_of_the_other_format_is_refused_by_name() {
    let sandbox = sandbox();
    taken(&sandbox);
    sandbox.git_in(
        sandbox.root(),
        ["init", "-q", "--bare", "--object-format=sha1", "hub.git"],
    );
    sandbox.git(["remote", "add", "origin", "../hub.git"]);
    report(&sandbox);
    sandbox.json(["share", "init", "origin"]);
    let (error, _) = sandbox.json_error(["push"]);
    assert_eq!(error["code"], json!("UNSUPPORTED_REPOSITORY"), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("sha256"), "{message}");
}
