//! `tw rewind`: files, conversation, both, and back again.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use timewarp::agents;
use timewarp::agents::lines::sha256_of_prefix;
use timewarp::agents::transcript::{Detail, Transcript};
use timewarp::ops::checkpoint::{Spot, spot};
use timewarp::redact::Redactor;
use timewarp::store::checkpoint::{self, Checkpoint, Counts, Place};

use crate::sandbox::{Sandbox, skipped};
use crate::stage::{KILLED, POINTS, Stage, WAYS};
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
        &["rewind", "1", "--dry-run"],
        &["rewind"],
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
fn before_the_first_prompt_the_agent_starts_afresh() {
    for (kind, command) in [
        (Kind::Claude, "claude"),
        (Kind::Codex, "codex"),
        (Kind::Kimi, "kimi"),
    ] {
        let sandbox = Sandbox::new();
        three_turns(&sandbox, kind);
        let files = session_files(&sandbox);
        let dry = sandbox.json(["rewind", "0", "--both", "--dry-run"]);
        let rewound = sandbox.json(["rewind", "0", "--both"]);
        assert_eq!(numbers(&dry), numbers(&rewound));
        let part = &rewound["conversation"];
        assert_eq!(part["fork"], Value::Null, "{kind:?}");
        assert_eq!(
            (&part["messages_discarded"], &part["tokens_discarded"]),
            (&json!(6), &json!(3500))
        );
        assert_eq!(part["resume_command"], command);
        assert_eq!(part["original_user_message"], "one");
        assert_eq!(session_files(&sandbox), files);
    }
}

#[test]
fn a_prompt_that_was_written_before_the_hook_looked_is_found() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, kind);
        talk.turn("one", 1000);
        // Without an id: only the place tells.
        talk.writes_prompt("two");
        talk.hook("UserPromptSubmit", &json!({"prompt": "two"}));
        talk.answers("answer to two", 2000);
        talk.turn("three", 3000);
        let rewound = sandbox.json(["rewind", "1", "--conversation"]);
        assert_eq!(prompts(&read(&fork_path(&rewound))), ["one"], "{kind:?}");
        assert_eq!(rewound["conversation"]["original_user_message"], "two");
    }
}

#[test]
fn a_prompt_like_the_one_before_that_was_never_written_takes_nothing_along() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, kind);
        talk.turn("go on", 1000);
        // Without an id: only the place tells.
        talk.hook("UserPromptSubmit", &json!({"prompt": "go on"}));
        let rewound = sandbox.json(["rewind", "1", "--conversation"]);
        assert_eq!(rewound["conversation"]["messages_discarded"], 0, "{kind:?}");
        // The prompt that is returned to is that one, not the one before it.
        talk.hook("UserPromptSubmit", &json!({"prompt": "withdrawn"}));
        let dry = sandbox.json(["rewind", "2", "--conversation", "--dry-run"]);
        assert_eq!(dry["conversation"]["original_user_message"], "withdrawn");
    }
}

#[test]
fn past_a_clear_the_session_before_can_be_gone_back_to() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let first = three_turns(&sandbox, kind);
        first.hook("SessionEnd", &json!({"reason": "clear"}));
        let cleared = Talk::with_id(&sandbox, kind, &first.id.replace('1', "9"));
        assert_ne!(cleared.path, first.path);
        cleared.hook("SessionStart", &json!({"source": "clear"}));
        cleared.turn("afresh", 100);
        let before = [&first, &cleared].map(|talk| std::fs::read(&talk.path).unwrap());
        let rewound = sandbox.json(["rewind", &format!("{}:1", first.id), "--both"]);
        assert_eq!(prompts(&read(&fork_path(&rewound))), ["one"], "{kind:?}");
        assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
        let after = [&first, &cleared].map(|talk| std::fs::read(&talk.path).unwrap());
        assert_eq!(before, after);
        // The numbers of the session that was cleared are its own.
        assert_eq!(first.checkpoints().len(), 3);
        assert_eq!(cleared.checkpoints()[0]["checkpoint_id"], 0);
    }
}

#[test]
fn files_of_sub_agents_stay_with_the_session_before() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let agents = talk.path.with_extension("").join("subagents");
    std::fs::create_dir_all(&agents).unwrap();
    let row = "{\"type\":\"user\",\"isSidechain\":true}\n";
    std::fs::write(agents.join("agent-1.jsonl"), row).unwrap();
    let before = session_files(&sandbox);
    let rewound = sandbox.json(["rewind", "2", "--conversation"]);
    let fork = fork_path(&rewound);
    let mut after = session_files(&sandbox);
    after.retain(|path| *path != fork);
    assert_eq!(after, before, "one file is new");
    assert_eq!(
        std::fs::read_to_string(agents.join("agent-1.jsonl")).unwrap(),
        row
    );
}

#[test]
fn either_file_of_a_kimi_session_may_be_the_one_that_was_named() {
    // As noted now, and as noted where the context was not there yet: in the file that people see.
    for (there, noted) in [(true, "context.jsonl"), (false, "wire.jsonl")] {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, Kind::Kimi);
        let wire = talk.wire();
        let start = ["session", "start", "--agent", "kimi", "--session", &talk.id];
        sandbox.json([&start[..], &["--transcript", wire.to_str().unwrap()]].concat());
        let hidden = talk.path.with_file_name("elsewhere");
        let noting = |make: &dyn Fn()| {
            if there {
                return make();
            }
            std::fs::rename(&talk.path, &hidden).unwrap();
            make();
            std::fs::rename(&hidden, &talk.path).unwrap();
        };
        let turn = |text: &str, context| {
            noting(&|| talk.submits(text));
            talk.writes_prompt(text);
            talk.answers(&format!("answer to {text}"), context);
        };
        let by_hand = || {
            noting(&|| drop(sandbox.json(["checkpoint", "--session", &talk.id, "-m", "halfway"])));
        };
        by_hand();
        turn("one", 1000);
        turn("two", 2000);
        noting(&|| talk.submits("two"));
        talk.writes_prompt("two");
        talk.calls("first");
        talk.results("first");
        talk.calls("second");
        by_hand();
        talk.results("second");
        talk.answers("done", 3500);
        // The hook was late.
        talk.writes_prompt("four");
        noting(&|| drop(talk.hook("UserPromptSubmit", &json!({"prompt": "four"}))));
        talk.answers("answer to four", 4000);
        for point in talk.checkpoints() {
            let path = point["transcript"]["path"].as_str().unwrap();
            assert!(path.ends_with(noted), "{point}");
            assert!(point["transcript"]["sha256_of_prefix"].is_string());
        }
        let before = talk.files();
        let kept: [&[&str]; 6] = [
            &[],
            &[],
            &["one"],
            &["one", "two"],
            &["one", "two", "two"],
            &["one", "two", "two"],
        ];
        let gone = [10, 10, 8, 6, 4, 2];
        for (number, (kept, gone)) in kept.into_iter().zip(gone).enumerate() {
            let number = number.to_string();
            let dry = sandbox.json(["rewind", &number, "--both", "--dry-run"]);
            let rewound = sandbox.json(["rewind", &number, "--both"]);
            assert_eq!(numbers(&dry), numbers(&rewound));
            let part = &rewound["conversation"];
            assert_eq!(part["messages_discarded"], gone, "{noted} {number}");
            if kept.is_empty() {
                assert_eq!(part["fork"], Value::Null, "{noted} {number}");
            } else {
                assert_eq!(
                    prompts(&read(&fork_path(&rewound))),
                    kept,
                    "{noted} {number}"
                );
            }
            sandbox.json(["undo"]);
        }
        assert_eq!(talk.files(), before);
        // What a compaction took is gone, and the checkpoints after it are there.
        talk.compacts("so far");
        turn("five", 900);
        turn("six", 1200);
        for (number, dropped) in [("2", true), ("5", true), ("6", false), ("7", false)] {
            let backtrack = ["backtrack", number, "--note", "x", "--session", &talk.id];
            if dropped {
                for args in [&["rewind", number, "--conversation"][..], &backtrack] {
                    let (error, _) = sandbox.json_error(args);
                    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE", "{noted} {number}");
                }
            } else {
                sandbox.json(["rewind", number, "--conversation"]);
                sandbox.json(backtrack);
                sandbox.json(["backtrack", "take", "--session", &talk.id]);
            }
        }
    }
}

#[test]
fn a_conversation_that_lost_the_checkpoint_says_so() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = three_turns(&sandbox, kind);
        // As a clear or a compaction of its own does: the file begins anew.
        std::fs::remove_file(&talk.path).unwrap();
        let talk = Talk::with_id(&sandbox, kind, &talk.id);
        talk.writes_prompt("summary of what was");
        talk.answers(&"long ".repeat(2000), 900);
        let files = session_files(&sandbox);
        let before = sandbox.state();
        for mode in ["--conversation", "--both"] {
            let (error, code) = sandbox.json_error(["rewind", "1", mode]);
            assert_eq!(
                (error["code"].as_str(), code),
                (Some("CHECKPOINT_UNAVAILABLE"), 3),
                "{kind:?}"
            );
        }
        before.assert_same(&sandbox.state());
        assert_eq!(session_files(&sandbox), files);
        // The files can go back all the same.
        sandbox.json(["rewind", "1", "--code"]);
        assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
        std::fs::remove_dir_all(talk.path.parent().unwrap()).unwrap();
        let (error, _) = sandbox.json_error(["rewind", "1", "--conversation"]);
        assert_eq!(error["code"], "TRANSCRIPT_NOT_FOUND");
    }
}

#[test]
fn in_mid_turn_no_call_stays_open() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, kind);
        talk.turn("one", 1000);
        talk.submits("two");
        talk.writes_prompt("two");
        talk.calls("first");
        talk.results("first");
        talk.calls("second");
        let made = sandbox.json(["checkpoint", "--session", &talk.id, "-m", "halfway"]);
        talk.results("second");
        talk.answers("done", 2000);
        let id = made["checkpoint"]["checkpoint_id"].to_string();
        let rewound = sandbox.json(["rewind", &id, "--conversation"]);
        let fork = read(&fork_path(&rewound));
        assert_eq!(prompts(&fork), ["one", "two"], "{kind:?}");
        let tools: Vec<_> = fork
            .messages
            .iter()
            .filter_map(|message| message.tool.as_ref())
            .collect();
        assert_eq!(tools.len(), 1, "{kind:?}: {tools:?}");
        assert!(tools[0].output.is_some());
        assert_eq!(rewound["conversation"]["original_user_message"], "two");
    }
}

#[test]
fn the_note_reaches_the_future_self_once() {
    for kind in [Kind::Claude, Kind::Codex] {
        let sandbox = Sandbox::new();
        let talk = three_turns(&sandbox, kind);
        let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let note = format!("the cache is innocent; {secret}");
        let rewound = sandbox.json([
            "rewind",
            "1",
            "--both",
            "--note",
            &note,
            "--rationale",
            "went astray",
        ]);
        assert_eq!(
            rewound["conversation"]["note"]["delivery"],
            "session-start-hook"
        );
        let id = rewound["conversation"]["fork"]["session_id"]
            .as_str()
            .unwrap();
        // The session that was rewound is told nothing.
        assert_eq!(talk.hook("SessionStart", &json!({"source": "resume"})), "");
        let fork = Talk::resumed(&sandbox, kind, id, &fork_path(&rewound));
        let said = fork.hook("SessionStart", &json!({"source": "resume"}));
        let document: Value = serde_json::from_str(&said).unwrap();
        let output = &document["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "SessionStart");
        let text = output["additionalContext"].as_str().unwrap();
        assert_eq!(
            document,
            json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})
        );
        assert!(
            text.contains("the cache is innocent") && text.contains("went astray"),
            "{text}"
        );
        assert!(
            text.contains("checkpoint 1") && text.contains("4 messages"),
            "{text}"
        );
        assert!(!text.contains(&secret), "{text}");
        assert_eq!(
            fork.hook("SessionStart", &json!({"source": "resume"})),
            "",
            "only once"
        );
        let record = rewinds(&sandbox, &talk.id).remove(0);
        assert!(
            record["note"]
                .as_str()
                .unwrap()
                .starts_with("the cache is innocent; ***REDACTED")
        );
        // The fork counts from 0, and its first prompt takes the place of the one it was rewound to.
        fork.turn("two, better", 1200);
        fork.turn("three, better", 1300);
        let checkpoints = fork.checkpoints();
        assert_eq!(checkpoints[0]["checkpoint_id"], 0);
        assert_eq!(checkpoints[0]["supersedes"], format!("{}:1", talk.id));
        assert_eq!(checkpoints[1]["supersedes"], Value::Null);
        // And the old one goes on counting.
        talk.turn("four", 4000);
        assert_eq!(talk.checkpoints().last().unwrap()["checkpoint_id"], 3);
        // A fork can be rewound like any other.
        let again = sandbox.json(["rewind", &format!("{id}:1"), "--conversation"]);
        assert_eq!(prompts(&read(&fork_path(&again))), ["one", "two, better"]);
    }
}

#[test]
fn without_such_a_hook_the_note_is_a_prompt_to_paste() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Kimi);
    let rewound = sandbox.json(["rewind", "1", "--conversation", "--note", "mind the gap"]);
    let note = &rewound["conversation"]["note"];
    assert_eq!(note["delivery"], "prompt");
    assert!(note["text"].as_str().unwrap().contains("mind the gap"));
    assert!(note["text"].as_str().unwrap().contains("were not put back"));
    let id = rewound["conversation"]["fork"]["session_id"]
        .as_str()
        .unwrap();
    let fork = Talk::resumed(&sandbox, Kind::Kimi, id, &fork_path(&rewound));
    assert_eq!(fork.hook("SessionStart", &json!({"source": "resume"})), "");
    let ran = sandbox.tw([
        "rewind",
        "1",
        "--conversation",
        "--note",
        "mind the gap",
        "--session",
        &talk.id,
    ]);
    assert!(
        ran.out().contains("paste this as the first prompt:"),
        "{}",
        ran.out()
    );
}

#[test]
fn undo_brings_the_files_back_and_names_the_session() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = sandbox.state();
    let rewound = sandbox.json(["rewind", "1", "--both", "--note", "x"]);
    let undone = sandbox.json(["rewind", "--undo"]);
    before.assert_same(&sandbox.state());
    assert_eq!(undone["code"]["operation"], "rewind");
    assert_eq!(undone["session_id"], talk.id);
    assert_eq!(
        undone["resume_command"],
        format!("claude --resume {}", talk.id)
    );
    assert!(rewinds(&sandbox, &talk.id)[0]["undone_at"].is_string());
    // The note is not told after all.
    let id = rewound["conversation"]["fork"]["session_id"]
        .as_str()
        .unwrap();
    let fork = Talk::resumed(&sandbox, Kind::Claude, id, &fork_path(&rewound));
    assert_eq!(fork.hook("SessionStart", &json!({"source": "resume"})), "");
    let (error, code) = sandbox.json_error(["rewind", "--undo", "--session", &talk.id]);
    assert_eq!((error["code"].as_str(), code), (Some("NOTHING_TO_UNDO"), 4));
    sandbox.ok(["redo"]);
    assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
}

#[test]
fn undo_from_the_fork_and_not_over_later_changes() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let rewound = sandbox.json(["rewind", "1", "--both"]);
    let id = rewound["conversation"]["fork"]["session_id"]
        .as_str()
        .unwrap();
    let fork = Talk::resumed(&sandbox, Kind::Claude, id, &fork_path(&rewound));
    fork.hook("SessionStart", &json!({"source": "resume"}));
    sandbox.json(["restore", &format!("{}:0", talk.id)]);
    let (error, _) = sandbox.json_error(["rewind", "--undo", "--session", id]);
    assert_eq!(error["code"], "NOTHING_TO_UNDO");
    assert_eq!(sandbox.text("a.txt"), "one\n");
    sandbox.ok(["undo"]);
    let undone = sandbox.json(["rewind", "--undo", "--session", id]);
    assert_eq!(undone["session_id"], talk.id);
    assert_eq!(sandbox.text("a.txt"), "spoilt\n");
}

#[test]
fn what_cannot_be_done_whole_is_not_begun() {
    let sandbox = Sandbox::new();
    sandbox.write("shape", "a file\n");
    let talk = three_turns(&sandbox, Kind::Claude);
    // A nested repository cannot be saved, so the file that was there cannot come back.
    sandbox.remove("shape");
    sandbox.mkdir("shape");
    sandbox.git(["init", "-q", "shape"]);
    sandbox.write("shape/kept", "not ours\n");
    let files = session_files(&sandbox);
    for dry_run in [&["--dry-run"][..], &[]] {
        let (error, code) = sandbox.json_error([&["rewind", "1", "--both"], dry_run].concat());
        assert_eq!((error["code"].as_str(), code), (Some("WOULD_OVERWRITE"), 5));
    }
    assert_eq!(session_files(&sandbox), files);
    assert_eq!(sandbox.text("a.txt"), "spoilt\n");
    assert_eq!(rewinds(&sandbox, &talk.id), [] as [Value; 0]);
}

#[test]
fn a_killed_rewind_is_undone_or_done_and_no_half_fork_is_offered() {
    let sandbox = Sandbox::new();
    let path = {
        let talk = three_turns(&sandbox, Kind::Claude);
        talk.path.clone()
    };
    let original = std::fs::read(&path).unwrap();
    let saved = sandbox.root().join("saved-home");
    let copy = |from: &Path, to: &Path| {
        let _ = std::fs::remove_dir_all(to);
        let done = std::process::Command::new("cp")
            .arg("-a")
            .args([from, to])
            .status()
            .unwrap();
        assert!(done.success());
    };
    copy(&sandbox.home(), &saved);
    let stage = Stage::new(sandbox, &["rewind", "1", "--both"], None);
    let more = [
        "rewind-staged",
        "rewind-swapped",
        "rewind-noted",
        "rewind-placed",
    ];
    let mut tried = 0;
    for point in POINTS.into_iter().chain(more) {
        for nth in 1..=2 {
            stage.rewind();
            copy(&saved, &stage.sandbox.home());
            let place = format!("{point}:{nth}");
            let ran = stage.run_until(&stage.args, &place);
            if ran.code != KILLED {
                assert_eq!(ran.code, 0, "{place}: {}", ran.err());
                break;
            }
            stage.recover_and_check(WAYS[tried % WAYS.len()], &place);
            assert_eq!(std::fs::read(&path).unwrap(), original, "{place}");
            for file in session_files(&stage.sandbox) {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                if file != path && !name.starts_with('.') {
                    assert_eq!(prompts(&read(&file)), ["one"], "{place}: {name}");
                    agents::fork::validate_fork("claude", &[&path], &file).unwrap();
                }
            }
            tried += 1;
        }
    }
    assert!(tried >= 15, "{tried}");
}

#[test]
fn a_killed_rewind_leaves_no_fork_without_its_note_and_no_scrap_for_good() {
    use std::os::unix::process::ExitStatusExt as _;
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let named = |dir: &Path, wanted: &dyn Fn(&str) -> bool| {
        let names = std::fs::read_dir(dir).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| wanted(name)).count()
    };
    let beside = talk.path.parent().unwrap();
    let sessions = sandbox.repo().join(".git/timewarp/sessions");
    let scraps = || named(beside, &|name| name.starts_with('.'));
    let notes = || named(&sessions, &|name| name.contains(".note"));
    // Each clears what the one before it left.
    for (point, left) in [
        ("rewind-staged", (1, 0)),
        ("rewind-noted", (1, 1)),
        ("rewind-placed", (0, 1)),
    ] {
        let mut command = sandbox.tw_command();
        command.env("TW_FAIL_POINT", point);
        command.args(["rewind", "1", "--both", "--note", "mind the gap"]);
        let signal = command.output().unwrap().status.signal();
        assert_eq!(signal, Some(KILLED - 128), "{point}");
        assert_eq!((scraps(), notes()), left, "{point}");
    }
    let forks: Vec<PathBuf> = session_files(&sandbox)
        .into_iter()
        .filter(|file| *file != talk.path)
        .collect();
    let [fork] = &forks[..] else {
        panic!("{forks:?}");
    };
    let id = fork.file_stem().unwrap().to_str().unwrap();
    let resumed = Talk::resumed(&sandbox, Kind::Claude, id, fork);
    let said = resumed.hook("SessionStart", &json!({"source": "resume"}));
    assert!(said.contains("mind the gap"), "{said}");
    assert_eq!(notes(), 0);
}

#[test]
fn resume_prints_the_command_and_the_list_says_what_was_done() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    sandbox.json(["rewind", "1", "--conversation"]);
    let resumed = sandbox.json(["session", "resume", &talk.id]);
    assert_eq!(
        resumed["resume_command"],
        format!("claude --resume {}", talk.id)
    );
    assert_eq!(resumed["cwd"], json!(sandbox.repo()));
    assert_eq!(
        sandbox.ok(["-q", "session", "resume", &talk.id[..8]]),
        format!("claude --resume {}\n", talk.id)
    );
    let shown = sandbox.json(["session", "show", &talk.id])["session"].clone();
    assert_eq!(
        (&shown["title"], &shown["prompts"]),
        (&json!("one"), &json!(3))
    );
    assert_eq!(
        (&shown["checkpoints"], &shown["rewinds"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(shown["tokens"]["context"], 3500);
    let listed = sandbox.json(["session", "list"]);
    let of = |id: &str| {
        listed["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|session| session["session_id"] == id)
            .unwrap()
            .clone()
    };
    let session = of(&talk.id);
    assert_eq!(
        (
            &session["title"],
            &session["checkpoints"],
            &session["rewinds"]
        ),
        (&json!("one"), &json!(3), &json!(1))
    );
    sandbox.json([
        "session",
        "start",
        "--session",
        "plain",
        "--agent",
        "generic",
    ]);
    assert_eq!(
        sandbox.json_error(["session", "resume", "plain"]).0["code"],
        "USAGE"
    );
}

#[test]
fn a_context_that_grows_by_going_back_is_told() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.turn("one", 5000);
    talk.turn("two", 9000);
    // As after a compaction.
    talk.turn("three", 800);
    let dry = ["rewind", "1", "--conversation", "--dry-run"];
    let document = sandbox.json(dry);
    assert_eq!(document["conversation"]["tokens_discarded"], -4200);
    let said = sandbox.tw(dry).out();
    let sentence = "  conversation: 4 messages discarded; the context grows by 4,200 tokens, as what was summarised comes back\n";
    assert!(said.contains(sentence), "{said}");
}

#[test]
fn a_session_tells_its_issues_and_the_files_that_changed_in_it() {
    let sandbox = Sandbox::new();
    sandbox.write("before.txt", "was there\n");
    let talk = three_turns(&sandbox, Kind::Claude);
    // Since the last prompt.
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write("ignored", "not captured\n");
    let report = |symptom: &str| {
        let texts = ["--task-context", "t", "--success-criteria", "c"];
        let whose = ["--session", &talk.id, "--symptom", symptom];
        let reported = sandbox.json([&["issue", "report"], &texts[..], &whose].concat());
        reported["issue_id"].clone()
    };
    let issues = json!([report("slow"), report("wrong")]);
    let rewound = sandbox.json(["rewind", "1", "--conversation", "--session", &talk.id]);
    let fork = rewound["conversation"]["fork"]["session_id"].clone();
    let listed = sandbox.json(["session", "list"]);
    let of = |id: &Value| {
        let sessions = listed["sessions"].as_array().unwrap().iter();
        let mut wanted = sessions.filter(|session| &session["session_id"] == id);
        wanted.next().unwrap().clone()
    };
    let session = of(&json!(talk.id));
    assert_eq!(session["issues"], issues);
    // By its snapshots: the last prompt's is the last.
    assert_eq!(session["files_touched"], 2);
    let shown = sandbox.json(["session", "show", &talk.id]);
    assert_eq!(shown["session"]["issues"], issues);
    let names = json!([{"path": ".gitignore"}, {"path": "a.txt"}, {"path": "new.txt"}]);
    assert_eq!(
        (&shown["files"], &shown["session"]["files_touched"]),
        (&names, &json!(3))
    );
    let ran = sandbox.tw(["session", "show", &talk.id]);
    let issue = |at: usize| issues[at].as_str().unwrap();
    for line in [
        &format!("  issue       {}\n", issue(0)),
        &format!("  issue       {}\n", issue(1)),
        "  files       3: .gitignore, a.txt, new.txt\n",
        "3 prompts, 1 rewind, 2 issues, 3 files  one\n",
    ] {
        assert!(ran.out().contains(line), "{line}{}", ran.out());
    }
    // A fork begins as the session that it was made from.
    assert_eq!(of(&fork)["title"], "one");
    assert_eq!(
        (&of(&fork)["issues"], &of(&fork)["files_touched"]),
        (&json!([]), &json!(0))
    );
    // Over, what comes later is not its own.
    sandbox.json(["session", "end", &talk.id]);
    sandbox.write("later.txt", "by somebody\n");
    let shown = sandbox.json(["session", "show", &talk.id]);
    assert_eq!(shown["session"]["files_touched"], 2);
}

#[test]
fn exec_goes_over_into_the_agent() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let bin = sandbox.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("claude");
    std::fs::write(
        &program,
        "#!/bin/sh\necho \"claude runs in $PWD with $*\"\n",
    )
    .unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |args: &[&str]| {
        let output = sandbox
            .tw_command()
            .env("PATH", &path)
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let said = run(&["session", "resume", &talk.id, "--exec"]);
    assert!(
        said.ends_with(&format!(
            "claude runs in {} with --resume {}\n",
            sandbox.repo().display(),
            talk.id
        )),
        "{said}"
    );
    let said = run(&[
        "rewind",
        "1",
        "--conversation",
        "--exec",
        "--session",
        &talk.id,
    ]);
    assert!(
        said.contains("rewound conversation to checkpoint 1") && said.contains("claude runs in "),
        "{said}"
    );
    assert_eq!(
        sandbox.json_error(["rewind", "1", "--both", "--exec"]).0["code"],
        "USAGE"
    );
}

#[test]
fn people_see_what_was_done() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Codex);
    let ran = sandbox.tw(["rewind", "1", "--both", "--dry-run", "--session", &talk.id]);
    assert_eq!(
        sandbox.show(&ran),
        "exit 0\n--- stdout\nwould rewind files and conversation to checkpoint 1: two\n  files: 2 files, +2 -2 lines\n    M a.txt  +2 -1\n    D new.txt  +0 -1\n  conversation: 4 messages and 2,500 tokens discarded\n  the prompt there was:\n    two\n"
    );
    let ran = sandbox.tw(["rewind", "1", "--both", "--session", &talk.id]);
    assert!(
        ran.out().contains(&format!(
            "  go on with: cd {} && codex resume ",
            sandbox.repo().display()
        )),
        "{}",
        ran.out()
    );
    assert!(
        ran.err()
            .ends_with("hint: 'tw rewind --undo' takes this back\n"),
        "{}",
        ran.err()
    );
    let ran = sandbox.tw(["rewind", "--undo", "--session", &talk.id]);
    assert!(
        ran.out().contains("took back the rewind to checkpoint 1"),
        "{}",
        ran.out()
    );
}

/// The transcripts of real agents, when they are there.
fn samples() -> Vec<PathBuf> {
    let root = std::env::var_os("TW_TRANSCRIPTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/transcripts"),
        PathBuf::from,
    );
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "jsonl" || extension == "json")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// At every prompt of every sample: the checkpoint that a hook makes before the prompt is written, or just after, with or
/// without the agent's id, is found again in the whole file.
#[test]
fn every_prompt_of_every_sample_is_found() {
    let samples = samples();
    if samples.is_empty() {
        skipped("transcripts", "no sample transcripts here");
    }
    for path in samples {
        let Ok(transcript) = agents::read(&path, Detail::Outline) else {
            continue;
        };
        // Of a session in two files, one has the places.
        let path = transcript.path.clone();
        for (index, prompt) in transcript.prompts.iter().enumerate() {
            let Some(cut) = prompt.cut else { continue };
            for (offset, prompt_id) in [
                (cut.position.offset, None),
                (cut.position.offset, prompt.prompt_id.clone()),
                (prompt.position.offset + 1, None),
            ] {
                let rewritten = agents::is_rewritten(&path);
                let checkpoint = Checkpoint {
                    session_id: transcript.session_id.clone(),
                    agent: Some(transcript.agent.to_owned()),
                    checkpoint_id: index as u64,
                    created_at: prompt.at.clone().unwrap_or_default(),
                    prompt: Some(
                        Redactor::new()
                            .text(&prompt.text)
                            .text
                            .chars()
                            .take(2000)
                            .collect(),
                    ),
                    snapshot_id: String::new(),
                    transcript: Place {
                        path: Some(path.to_string_lossy().into_owned()),
                        line: None,
                        offset,
                        prompt_id,
                        sha256_of_prefix: if rewritten {
                            None
                        } else {
                            sha256_of_prefix(&path, offset).unwrap()
                        },
                    },
                    tokens: Counts::default(),
                    kind: checkpoint::Kind::Prompt,
                    supersedes: None,
                    tool: None,
                };
                let found = spot(&transcript, &checkpoint, &Redactor::new(), true).unwrap();
                let Spot::Before(found) = found else {
                    panic!("{}: {index}", path.display())
                };
                assert_eq!(found.index, index, "{}: offset {offset}", path.display());
            }
        }
    }
}
