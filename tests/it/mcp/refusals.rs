//! What an agent that was misled asks for, and does not get.

use serde_json::{Value, json};

use super::client::Client;
use super::ready;
use crate::sandbox::Sandbox;

#[test]
fn an_unknown_argument_is_refused_and_does_nothing() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    let listed = client.ask("tools/list", &json!({}));
    let forbidden = [
        "force",
        "yes",
        "include",
        "exec",
        "verify",
        "verify_command",
        "allow",
        "transcript",
        "from_json",
        "Dir",
    ];
    // Each word once, and each tool at least once.
    let tools = listed["tools"].as_array().unwrap();
    for at in 0..tools.len().max(forbidden.len()) {
        let name = tools[at % tools.len()]["name"].as_str().unwrap();
        let argument = forbidden[at % forbidden.len()];
        let error = client.refusal(name, &json!({argument: true}));
        assert_eq!(
            (&error["code"], &error["argument"]),
            (&json!("USAGE"), &json!(argument)),
            "{name}"
        );
    }
    assert_eq!(sandbox.json(["list", "--all"])["total"], 1);
}

/// Every result does; which one it is, is known.
#[test]
fn an_argument_that_is_wrong_is_refused_in_the_name_of_the_workspace() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    for (name, given) in [
        ("timewarp_snapshot", json!({"force": true})),
        ("timewarp_snapshot", json!({"message": 5})),
        ("timewarp_restore", json!({})),
        ("timewarp_status", json!({"dir": "/etc"})),
    ] {
        let document = client.call(name, &given);
        assert_eq!(document["ok"], false, "{document}");
        assert_eq!(
            (&document["workspace_root"], &document["worktree"]),
            (&json!(sandbox.repo()), &json!("main")),
            "{name} {given}: {document}"
        );
    }
}

#[test]
fn every_required_argument_is_asked_for() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    let listed = client.ask("tools/list", &json!({}));
    let mut seen = 0;
    for tool in listed["tools"].as_array().unwrap() {
        for argument in tool["inputSchema"]["required"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let others = tool["inputSchema"]["required"].as_array().unwrap().iter();
            let given: serde_json::Map<String, Value> = others
                .filter(|other| *other != argument)
                .map(|other| (other.as_str().unwrap().to_owned(), "x".into()))
                .collect();
            let error = client.refusal(tool["name"].as_str().unwrap(), &given.into());
            assert_eq!(
                (&error["code"], &error["argument"]),
                (&json!("USAGE"), argument),
                "{tool}"
            );
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen}");
    for arguments in [
        json!({}),
        json!({"snapshot": "start", "issue_id": "x"}),
        json!({"issue_id": "x", "files_only": true}),
    ] {
        assert_eq!(
            client.refusal("timewarp_travel", &arguments)["code"],
            "USAGE",
            "{arguments}"
        );
    }
}

#[test]
fn paths_outside_of_the_workspace_are_refused() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    for path in ["../home", "/etc/passwd", "sub/../../home"] {
        for tool in ["timewarp_restore", "timewarp_diff"] {
            let argument = if tool == "timewarp_diff" {
                "from"
            } else {
                "snapshot"
            };
            let error = client.refusal(tool, &json!({argument: "start", "paths": [path]}));
            assert_eq!(error["code"], "USAGE", "{tool} {path}: {error}");
        }
    }
    let search = json!({"pattern": "root", "paths": ["/etc/passwd"]});
    assert_eq!(client.refusal("timewarp_search", &search)["code"], "USAGE");
    let blame = json!({"path": "/etc/passwd"});
    assert_eq!(client.refusal("timewarp_blame", &blame)["code"], "USAGE");
    let token =
        client.tool("timewarp_travel", &json!({"snapshot": "start"}))["guard_token"].clone();
    let error = client.refusal(
        "timewarp_return",
        &json!({"guard_token": token, "keep": ["/etc/passwd"]}),
    );
    assert_eq!(error["code"], "USAGE");
    client.tool("timewarp_return", &json!({"guard_token": token}));
}

/// A person once typed the command for files of their own.
#[test]
fn no_command_runs_among_the_files_of_a_stranger_that_nobody_ran_there() {
    let sandbox = Sandbox::new();
    sandbox.write("check.sh", "exit 0\n");
    sandbox.json(["snapshot"]);
    let ran = sandbox.root().join("ran");
    let theirs = sandbox.root().join("theirs");
    sandbox.git(["clone", "-q", ".", theirs.to_str().unwrap()]);
    let hostile = format!("echo ran >'{}'\n", ran.display());
    std::fs::write(theirs.join("check.sh"), hostile).unwrap();
    let foreign = sandbox.tw_in(&theirs, ["-q", "snapshot"]).out();
    let foreign = foreign.trim();
    let refs = "refs/timewarp/snapshots/*:refs/timewarp/snapshots/*";
    sandbox.git(["fetch", "-q", theirs.to_str().unwrap(), refs]);
    sandbox.ok(["try", "-n", "1", "--", "sh check.sh"]);
    let mut client = Client::start(&sandbox);
    let wanted = json!({"command": "sh check.sh", "snapshot": foreign, "runs": 1});
    let refusal = client.refusal("timewarp_try", &wanted);
    assert_eq!(refusal["code"], "NOT_APPROVED");
    assert_eq!(refusal["snapshot_id"], foreign);
    // Nor by going there first.
    let travelled = client.tool("timewarp_travel", &json!({"snapshot": foreign}));
    let here = json!({"command": "sh check.sh", "runs": 1});
    assert_eq!(
        client.refusal("timewarp_try", &here)["code"],
        "NOT_APPROVED"
    );
    client.tool(
        "timewarp_return",
        &json!({"guard_token": travelled["guard_token"]}),
    );
    assert!(!ran.exists());
    client.tool("timewarp_try", &here);
    sandbox.ok(["try", foreign, "-n", "1", "--", "sh check.sh"]);
    assert!(ran.exists());
    client.tool("timewarp_try", &wanted);
}

#[test]
fn a_command_that_came_with_an_issue_is_shown_and_never_approved() {
    let sandbox = ready();
    sandbox.json([
        "issue",
        "report",
        "--snapshot",
        "start",
        "--task-context",
        "t",
        "--symptom",
        "s",
        "--success-criteria",
        "c",
        "--verify",
        "touch ran",
    ]);
    let mut client = Client::start(&sandbox);
    let id = client.tool("timewarp_issue_list", &json!({}))["issues"][0]["issue_id"].clone();
    let approved =
        client.tool("timewarp_issue_get", &json!({"issue_id": id}))["issue"]["verify_approved"]
            .clone();
    let updated = client.tool(
        "timewarp_issue_update",
        &json!({"issue_id": id, "symptom": "other"}),
    );
    assert_eq!(updated["issue"]["verify_command"], "touch ran");
    assert_eq!(updated["issue"]["verify_approved"], approved);
    assert!(!sandbox.exists("ran"));
    assert_eq!(
        client.refusal("timewarp_issue_update", &json!({"issue_id": id}))["code"],
        "USAGE"
    );
    assert_eq!(
        client.refusal("timewarp_issue_get", &json!({"issue_id": "ab"}))["code"],
        "INVALID_ISSUE_ID"
    );
}

#[test]
fn texts_are_redacted_on_their_way_in() {
    let sandbox = ready();
    let mut client = Client::start(&sandbox);
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let reported = client.tool(
        "issue_report",
        &json!({"task_context": format!("with {secret}"), "symptom": "s", "success_criteria": "c", "snapshot": "start"}),
    );
    assert!(!reported.to_string().contains(secret), "{reported}");
}
