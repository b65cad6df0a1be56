//! Which directories a call may work in.

use serde_json::json;

use super::client::Client;
use super::ready;
use crate::sandbox::Sandbox;

/// A second repository beside the first.
fn other(sandbox: &Sandbox) -> std::path::PathBuf {
    let dir = sandbox.root().join("other");
    std::fs::create_dir_all(dir.join("deep")).unwrap();
    sandbox.git_in(&dir, ["init", "-q", "-b", "main"]);
    dir
}

#[test]
fn without_roots_only_the_repository_of_the_start_is_open() {
    let sandbox = ready();
    let other = other(&sandbox);
    sandbox.mkdir("sub");
    sandbox.symlink(&other, "way-out");
    let mut client = Client::start(&sandbox);
    for dir in ["sub", ".", sandbox.path("sub").to_str().unwrap()] {
        let status = client.tool("timewarp_status", &json!({"dir": dir}));
        assert_eq!(
            status["workspace_root"],
            sandbox.repo().to_str().unwrap(),
            "{dir}"
        );
    }
    for dir in ["way-out", "..", "/", other.to_str().unwrap()] {
        let refused = client.refusal("timewarp_status", &json!({"dir": dir}));
        assert_eq!(
            (&refused["code"], &refused["argument"]),
            (&json!("NOT_APPROVED"), &json!("dir")),
            "{dir}"
        );
    }
    for dir in ["gone", "a.txt", ""] {
        let answer = client.ask(
            "tools/call",
            &json!({"name": "timewarp_status", "arguments": {"dir": dir}}),
        );
        let code = &answer["structuredContent"]["error"]["code"];
        assert_eq!(
            code == "PATH_NOT_FOUND",
            !dir.is_empty(),
            "'{dir}': {answer}"
        );
    }
}

/// As by a fresh clone, or a worktree that was made again.
#[test]
fn what_stands_by_now_where_the_server_was_started_is_meant() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    client.tool("timewarp_status", &json!({}));
    let repo = sandbox.repo();
    std::fs::remove_dir_all(&repo).unwrap();
    let gone = client.refusal("timewarp_status", &json!({}));
    assert_eq!(gone["code"], "PATH_NOT_FOUND", "{gone}");
    std::fs::create_dir(&repo).unwrap();
    sandbox.git(["init", "-q", "-b", "main"]);
    let status = client.tool("timewarp_status", &json!({}));
    assert_eq!(status["repository"]["counts"]["snapshots"], 0, "{status}");
}

#[test]
fn with_roots_a_directory_lies_in_one_of_them() {
    let sandbox = ready();
    let other = other(&sandbox);
    let mut client = Client::with_roots(&sandbox, &sandbox.repo(), &[&other]);
    assert_eq!(
        client.tool("timewarp_status", &json!({}))["workspace_root"],
        sandbox.repo().to_str().unwrap()
    );
    assert_eq!(client.asked, 0, "nothing depended on it");
    for dir in [other.clone(), other.join("deep")] {
        let status = client.tool("timewarp_status", &json!({"dir": dir}));
        assert_eq!(status["workspace_root"], other.to_str().unwrap());
    }
    assert_eq!(client.asked, 2);
    let refused = client.refusal("timewarp_status", &json!({"dir": sandbox.repo()}));
    assert_eq!(refused["code"], "NOT_APPROVED");
    assert!(
        refused["hint"]
            .as_str()
            .unwrap()
            .contains(other.to_str().unwrap())
    );
}

#[test]
fn a_server_started_nowhere_works_in_the_only_root() {
    let sandbox = ready();
    let mut client = Client::with_roots(&sandbox, &sandbox.home(), &[&sandbox.repo()]);
    let status = client.tool("timewarp_status", &json!({}));
    assert_eq!(status["workspace_root"], sandbox.repo().to_str().unwrap());
    assert_eq!(
        client.ask("resources/list", &json!({}))["resources"],
        json!([])
    );
    let other = other(&sandbox);
    let mut client = Client::with_roots(&sandbox, &sandbox.home(), &[&sandbox.repo(), &other]);
    let refused = client.refusal("timewarp_status", &json!({}));
    assert_eq!(refused["code"], "NOT_A_REPOSITORY");
    assert!(refused["hint"].as_str().unwrap().contains("'dir'"));
}

#[test]
fn the_newest_revision_asks_for_roots_by_its_answer() {
    let sandbox = ready();
    let other = other(&sandbox);
    let mut client = Client::newest(&sandbox, Some(&[&other]));
    client.tool("timewarp_status", &json!({}));
    assert_eq!(client.asked, 0);
    let status = client.tool("timewarp_status", &json!({"dir": other}));
    assert_eq!(
        (&status["workspace_root"], client.asked),
        (&json!(other), 1)
    );
    assert_eq!(
        client.refusal("timewarp_status", &json!({"dir": sandbox.repo()}))["code"],
        "NOT_APPROVED"
    );
    let mut client = Client::newest(&sandbox, None);
    assert_eq!(
        client.refusal("timewarp_status", &json!({"dir": other}))["code"],
        "NOT_APPROVED"
    );
}

#[test]
fn a_linked_worktree_is_named() {
    let sandbox = ready();
    let linked = sandbox.root().join("linked");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    let mut client = Client::with_roots(&sandbox, &sandbox.repo(), &[&linked]);
    let status = client.tool("timewarp_status", &json!({"dir": linked}));
    assert_eq!(status["workspace_root"], json!(linked));
    assert_eq!(status["worktree"], "linked");
    let mut client = Client::start(&sandbox);
    assert_eq!(
        client.refusal("timewarp_status", &json!({"dir": linked}))["code"],
        "NOT_APPROVED"
    );
}
