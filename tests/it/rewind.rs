//! `tw rewind`: files, conversation, both, and back again.

mod in_tree;
mod places;
mod segments;
mod telling;
mod undoing;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use timewarp::agents;
use timewarp::agents::transcript::{Detail, Transcript};

use crate::sandbox::Sandbox;
use crate::transcripts::{KINDS, Kind, Talk};

/// Three turns; after the first, files are changed by no tool of the agent's.
pub fn three_turns(sandbox: &Sandbox, kind: Kind) -> Talk<'_> {
    let talk = Talk::new(sandbox, kind);
    talk.hook("SessionStart", &json!({"source": "startup"}));
    talk.turn("one", 1000);
    sandbox.write("a.txt", "one\ntwo\n");
    talk.turn("two", 2000);
    sandbox.write("a.txt", "spoilt\n");
    sandbox.write("new.txt", "made by a shell\n");
    talk.turn("three", 3500);
    talk
}

pub fn fork_path(rewound: &Value) -> PathBuf {
    PathBuf::from(rewound["conversation"]["fork"]["path"].as_str().unwrap())
}

pub fn read(path: &Path) -> Transcript {
    agents::read(path, Detail::Full).unwrap()
}

pub fn prompts(transcript: &Transcript) -> Vec<&str> {
    transcript
        .prompts
        .iter()
        .map(|prompt| prompt.text.as_str())
        .collect()
}

/// Every session file of the sandbox's home.
pub fn session_files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![sandbox.home()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub fn rewinds(sandbox: &Sandbox, session: &str) -> Vec<Value> {
    let listed = sandbox.json(["checkpoint", "list", "--session", session]);
    listed["rewinds"].as_array().unwrap().clone()
}

/// What has to be equal in a dry run and the real one.
fn numbers(rewound: &Value) -> Value {
    let mut numbers = rewound.clone();
    numbers["dry_run"] = Value::Null;
    numbers["code"]["backup_id"] = Value::Null;
    let talk = &mut numbers["conversation"];
    talk["resume_command"] = Value::Null;
    talk["resume_argv"] = Value::Null;
    for name in ["session_id", "path", "resume_command", "resume_argv"] {
        if talk["fork"].is_object() {
            talk["fork"][name] = Value::Null;
        }
    }
    numbers
}

#[test]
fn both_go_back_and_the_session_stays_as_it_is() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = three_turns(&sandbox, kind);
        let before = talk.files();
        let dry = sandbox.json(["rewind", "1", "--both", "--dry-run"]);
        assert_eq!(talk.files(), before);
        assert_eq!(sandbox.text("a.txt"), "spoilt\n");
        let rewound = sandbox.json(["rewind", "1", "--both"]);
        assert_eq!(numbers(&dry), numbers(&rewound), "{kind:?}");
        assert_eq!(
            (&rewound["mode"], &rewound["dry_run"]),
            (&json!("both"), &json!(false))
        );
        assert_eq!(rewound["checkpoint"]["checkpoint_id"], 1);
        // The files, whoever changed them.
        assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
        assert!(!sandbox.exists("new.txt"));
        let code = &rewound["code"];
        let files = code["files"].as_array().unwrap();
        let names: Vec<_> = files
            .iter()
            .map(|file| {
                (
                    file["path"].as_str().unwrap(),
                    file["status"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(names, [("a.txt", "M"), ("new.txt", "D")]);
        assert_eq!(
            (&code["insertions"], &code["deletions"]),
            (&json!(2), &json!(2))
        );
        assert!(code["backup_id"].as_str().unwrap().starts_with("b_"));
        // The conversation.
        let part = &rewound["conversation"];
        assert_eq!(part["messages_discarded"], 4, "{kind:?}");
        assert_eq!(part["tokens_discarded"], 2500, "{kind:?}");
        assert_eq!(part["original_user_message"], "two");
        assert_eq!(talk.files(), before, "{kind:?}: the original was touched");
        let fork = read(&fork_path(&rewound));
        assert_eq!(prompts(&fork), ["one"]);
        let id = part["fork"]["session_id"].as_str().unwrap();
        assert_ne!(id, talk.id);
        let resume = part["fork"]["resume_command"].as_str().unwrap();
        assert!(resume.contains(id), "{resume}");
        assert_eq!(
            part["fork"]["resume_argv"].as_array().unwrap().last(),
            Some(&json!(id))
        );
        // The record.
        let record = rewinds(&sandbox, &talk.id).remove(0);
        assert_eq!(
            (&record["checkpoint_id"], &record["mode"]),
            (&json!(1), &json!("both"))
        );
        assert_eq!(record["backup_id"], code["backup_id"]);
        assert_eq!(record["fork"]["session_id"], id);
        assert_eq!(
            (&record["messages_discarded"], &record["tokens_discarded"]),
            (&json!(4), &json!(2500))
        );
        assert_eq!(record["original_user_message"], "two");
        assert_eq!(
            record["reverted_from"],
            json!({"checkpoint_id": 2, "messages": 6, "offset": before[0].1.len()})
        );
    }
}

#[test]
fn code_alone_leaves_the_conversation_and_the_other_way_round() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let files = session_files(&sandbox);
    let rewound = sandbox.json(["rewind", "0", "--code", "--rationale", "start over"]);
    assert_eq!(rewound["conversation"], Value::Null);
    assert_eq!(sandbox.text("a.txt"), "one\n");
    assert_eq!(session_files(&sandbox), files);
    assert_eq!(rewinds(&sandbox, &talk.id)[0]["rationale"], "start over");
    sandbox.ok(["undo"]);
    let rewound = sandbox.json(["rewind", "2", "--conversation"]);
    assert_eq!(rewound["code"], Value::Null);
    assert_eq!(sandbox.text("a.txt"), "spoilt\n");
    assert_eq!(prompts(&read(&fork_path(&rewound))), ["one", "two"]);
    assert_eq!(session_files(&sandbox).len(), files.len() + 1);
}

/// One quits the agent, looks, and goes back.
#[test]
fn the_last_session_is_meant_although_it_has_ended() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = three_turns(&sandbox, kind);
        talk.hook("SessionEnd", &json!({"reason": "other"}));
        let listed = sandbox.json(["checkpoint", "list"]);
        assert_eq!(listed["session_id"], talk.id.as_str());
        assert_eq!(
            sandbox.json(["show", "checkpoint:1"])["snapshot"]["snapshot_id"],
            listed["checkpoints"][1]["snapshot_id"]
        );
        let spoilt = sandbox.text("a.txt");
        sandbox.ok(["rewind", "1", "--both"]);
        assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
        // What the rewind itself has named.
        sandbox.ok(["rewind", "--undo"]);
        assert_eq!(sandbox.text("a.txt"), spoilt);
        assert_eq!(
            sandbox.json(["backtrack", "show"])["backtrack"],
            Value::Null
        );
        // Nothing is recorded as its doing.
        let (error, code) = sandbox.json_error(["backtrack", "1", "--note", "x"]);
        assert_eq!((&error["code"], code), (&"SESSION_NOT_FOUND".into(), 3));
        assert!(
            error["message"].to_string().contains("has ended"),
            "{error}"
        );
        assert!(error["hint"].to_string().contains(&talk.id), "{error}");
        let taken = sandbox.json(["checkpoint", "-m", "by hand"]);
        assert_ne!(taken["checkpoint"]["session_id"], talk.id.as_str());
    }
}

#[test]
fn never_mind_does_nothing_and_a_mode_is_needed() {
    let sandbox = Sandbox::new();
    three_turns(&sandbox, Kind::Claude);
    let before = sandbox.state();
    let files = session_files(&sandbox);
    let rewound = sandbox.json(["rewind", "1", "--never-mind"]);
    assert_eq!(
        (&rewound["mode"], &rewound["code"], &rewound["conversation"]),
        (&json!("never-mind"), &Value::Null, &Value::Null)
    );
    for args in [
        &["rewind", "1"][..],
        &["rewind", "--code"],
        &["rewind", "1", "--code", "--both"],
        &["rewind", "1", "--undo"],
    ] {
        let (error, code) = sandbox.json_error(args);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("USAGE"), 2),
            "{args:?}"
        );
    }
    let (error, code) = sandbox.json_error(["rewind", "9", "--code"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("INVALID_CHECKPOINT"), 3)
    );
    assert_eq!((&error["first"], &error["last"]), (&json!(0), &json!(2)));
    before.assert_same(&sandbox.state());
    assert_eq!(session_files(&sandbox), files);
}

#[test]
fn the_files_of_another_worktree_s_session_stay_there() {
    let sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "../there"]);
    let there = sandbox.root().join("there").canonicalize().unwrap();
    let hook = |event: &str, prompt: &str| {
        let payload = json!({"session_id": "theirs", "cwd": there, "prompt": prompt});
        let mut command = sandbox.tw_command();
        let command = command.args(["hook", "generic", event]);
        assert!(
            command
                .write_stdin(payload.to_string())
                .output()
                .unwrap()
                .status
                .success()
        );
    };
    hook("session-start", "");
    hook("user-prompt-submit", "one");
    std::fs::write(there.join("of-there.txt"), "there").unwrap();
    hook("user-prompt-submit", "two");
    sandbox.write("of-here.txt", "here\n");
    for mode in ["--code", "--both"] {
        for more in [&["--dry-run"][..], &[]] {
            let (error, _) = sandbox.json_error([&["rewind", "theirs:1", mode], more].concat());
            assert_eq!(error["code"], "WOULD_OVERWRITE", "{error}");
            let hint = error["hint"].as_str().unwrap();
            let command = format!("tw -C {} rewind theirs:1 {mode}", there.display());
            assert!(hint.contains(&command), "{hint}");
        }
    }
    assert!(sandbox.exists("of-here.txt") && !sandbox.exists("of-there.txt"));
    assert!(
        sandbox.json(["undo", "--list"])["steps"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
    let root = there.to_str().unwrap();
    let back = sandbox.json(["rewind", "theirs:1", "--code", "-C", root]);
    assert_eq!(back["code"]["files"].as_array().unwrap().len(), 0);
    let back = sandbox.json(["rewind", "theirs:0", "--code", "-C", root]);
    assert_eq!(back["code"]["files"][0]["path"], "of-there.txt");
    // An address is one, wherever it comes from.
    sandbox.json(["travel", "theirs:1"]);
    assert!(sandbox.exists("of-there.txt"));
}

#[test]
fn without_the_conversation_the_files_still_go_back() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    std::fs::remove_file(&talk.path).unwrap();
    let (error, _) = sandbox.json_error(["rewind", "1", "--both"]);
    assert_eq!(error["code"], "TRANSCRIPT_NOT_FOUND");
    let command = format!("tw rewind {}:1 --code", talk.id);
    assert!(error.to_string().contains(&command), "{error}");
    sandbox.json(["rewind", "1", "--code"]);
}
