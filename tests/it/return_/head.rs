//! Where HEAD ends up: on its branch only when that has the recorded tip and nobody else is on it.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::trip::{commit, list, snapshot};

/// In the past, having come from the second commit of `main`.
fn away() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    commit(&sandbox, "two");
    sandbox.write("b.txt", "now\n");
    sandbox.git(["add", "b.txt"]);
    let tip = sandbox.git(["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.json(["travel", &id]);
    (sandbox, tip)
}

/// HEAD is detached at the recorded commit, for this reason; index and files are back all the same.
#[track_caller]
fn stays_detached(sandbox: &Sandbox, tip: &str, reason: &str) -> Value {
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["verified"], true);
    let head = &answer["head"];
    assert_eq!(head["restored"], false);
    assert_eq!(head["reason"], reason);
    assert_eq!(head["ref"], "refs/heads/main");
    assert_eq!(head["oid"], tip);
    assert_eq!(sandbox.head(), format!("{tip}\n"));
    assert_eq!(sandbox.git(["status", "--porcelain"]), "A  b.txt\n");
    assert_eq!(sandbox.text("a.txt"), "two\n");
    let notice = answer["notices"][0].as_str().unwrap();
    assert!(notice.contains("git "), "how to go on: {notice}");
    answer
}

#[test]
fn a_branch_that_moved_leaves_head_detached() {
    let (sandbox, tip) = away();
    sandbox.git(["branch", "-f", "main", "main~1"]);
    stays_detached(&sandbox, &tip, "branch-moved");
    assert_ne!(sandbox.git(["rev-parse", "main"]).trim(), tip);
}

#[test]
fn a_branch_that_is_gone_leaves_head_detached() {
    let (sandbox, tip) = away();
    sandbox.git(["branch", "-q", "-D", "main"]);
    stays_detached(&sandbox, &tip, "branch-gone");
}

#[test]
fn a_branch_checked_out_elsewhere_leaves_head_detached() {
    let (sandbox, tip) = away();
    sandbox.git(["worktree", "add", "-q", "../elsewhere", "main"]);
    stays_detached(&sandbox, &tip, "checked-out-elsewhere");
}

/// `git rebase --update-refs` moves other branches, too, when it ends; until then this file names them.
#[test]
fn a_branch_that_a_rebase_elsewhere_will_move_leaves_head_detached() {
    for (name, is_moved) in [("refs/heads/main", true), ("refs/heads/other", false)] {
        let (sandbox, tip) = away();
        sandbox.git(["worktree", "add", "-q", "-b", "top", "../elsewhere", "main"]);
        let git_dir = sandbox.path(".git/worktrees/elsewhere");
        std::fs::create_dir(git_dir.join("rebase-merge")).unwrap();
        let zero = "0".repeat(tip.len());
        let moves = format!("refs/heads/below\n{tip}\n{zero}\n{name}\n{tip}\n{zero}\n");
        std::fs::write(git_dir.join("rebase-merge/update-refs"), moves).unwrap();
        if is_moved {
            stays_detached(&sandbox, &tip, "checked-out-elsewhere");
        } else {
            assert_eq!(sandbox.json(["return"])["head"]["restored"], true);
        }
    }
}

#[test]
fn an_unborn_branch_that_was_born_keeps_its_commits() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "one\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.json(["travel", &id]);
    let tree = sandbox.git(["mktree"]);
    let made = sandbox.git(["commit-tree", "-m", "born", tree.trim()]);
    sandbox.git(["update-ref", "refs/heads/main", made.trim()]);
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["head"]["restored"], false);
    assert_eq!(answer["head"]["reason"], "branch-moved");
    assert_eq!(sandbox.head(), "ref: refs/heads/timewarp/present\n");
    assert_eq!(sandbox.git(["rev-parse", "main"]), made);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "A  a.txt\n");
}

#[test]
fn commits_made_in_the_past_are_listed_newest_first() {
    let (sandbox, tip) = away();
    let mut made = Vec::new();
    for title in ["first try", "second try"] {
        sandbox.write("try.txt", title);
        commit(&sandbox, title);
        made.push(sandbox.git(["rev-parse", "HEAD"]).trim().to_owned());
    }
    let answer = sandbox.json(["return"]);
    let listed: Vec<_> = answer["commits_made"]
        .as_array()
        .unwrap()
        .iter()
        .map(|made| {
            (
                made["oid"].as_str().unwrap(),
                made["title"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            (made[1].as_str(), "second try"),
            (made[0].as_str(), "first try")
        ]
    );
    let notice = answer["notices"][0].as_str().unwrap();
    assert!(
        notice.contains(&format!("git branch NAME {}", made[1])),
        "{notice}"
    );
    assert_eq!(answer["head"]["restored"], true);
    assert_eq!(sandbox.git(["rev-parse", "main"]).trim(), tip);
    // The experiment keeps them from every gc.
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.git(["cat-file", "-e", &made[1]]);
}

#[test]
fn commits_on_a_branch_of_their_own_are_not_lost_and_not_listed() {
    let (sandbox, _) = away();
    sandbox.git(["switch", "-q", "-c", "try"]);
    sandbox.write("try.txt", "try\n");
    commit(&sandbox, "on a branch");
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["commits_made"].as_array().unwrap().len(), 0);
    assert_eq!(answer["head"]["restored"], true);
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%s", "try"]),
        "on a branch\n"
    );
}

#[test]
fn a_checkout_of_another_branch_in_the_past_is_undone() {
    let (sandbox, tip) = away();
    sandbox.git(["branch", "other", "main~1"]);
    sandbox.git(["checkout", "-q", "other"]);
    let answer = sandbox.json(["return"]);
    assert_eq!(answer["head"]["restored"], true);
    assert_eq!(sandbox.head(), "ref: refs/heads/main\n");
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]).trim(), tip);
    assert_eq!(list(&answer["changed_since"]), Vec::<String>::new());
}

#[test]
fn a_commit_on_the_branch_itself_in_the_past_counts_as_moved() {
    let (sandbox, tip) = away();
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("c.txt", "c\n");
    commit(&sandbox, "on main");
    let moved = sandbox.git(["rev-parse", "main"]);
    stays_detached(&sandbox, &tip, "branch-moved");
    assert_eq!(
        sandbox.git(["rev-parse", "main"]),
        moved,
        "nobody's work is reverted"
    );
}

#[test]
fn a_commit_on_the_branch_that_was_unborn_in_the_past_is_on_it() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "one\n");
    let id = snapshot(&sandbox);
    commit(&sandbox, "present");
    sandbox.json(["travel", &id]);
    commit(&sandbox, "past");
    let made = sandbox.git(["rev-parse", "HEAD"]);
    let ran = sandbox.tw(["--json", "return"]);
    let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    crate::schema::check("return", &answer);
    assert_eq!(answer["commits_branch"], "refs/heads/timewarp/past");
    let notices = answer["notices"].to_string();
    assert!(
        notices.contains("are on branch 'timewarp/past'"),
        "{notices}"
    );
    assert!(!notices.contains("git branch NAME"), "{notices}");
    assert_eq!(sandbox.git(["rev-parse", "timewarp/past"]), made);
}
