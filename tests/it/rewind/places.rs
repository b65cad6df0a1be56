//! Which prompt of which file a checkpoint stands for.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use timewarp::agents;
use timewarp::agents::lines::sha256_of_prefix;
use timewarp::agents::transcript::Detail;
use timewarp::ops::checkpoints::{Spot, spot};
use timewarp::redact::Redactor;
use timewarp::store::checkpoint::{self, Checkpoint, Counts, Place};

use super::{fork_path, numbers, prompts, read, session_files, three_turns};
use crate::sandbox::{Sandbox, skipped};
use crate::transcripts::{KINDS, Kind, Talk};

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
fn of_prompts_with_the_same_words_each_is_its_checkpoint_s() {
    for kind in KINDS {
        // Written before the hook looked, and after it; what was said in a turn, or nothing.
        for (is_early, answers) in [(true, true), (false, true), (false, false)] {
            let sandbox = Sandbox::new();
            let talk = Talk::new(&sandbox, kind);
            for turn in 0..4 {
                if is_early {
                    talk.writes_prompt("go on");
                }
                // Without an id: only place and time tell.
                talk.hook("UserPromptSubmit", &json!({"prompt": "go on"}));
                if !is_early {
                    talk.writes_prompt("go on");
                }
                if answers || turn == 3 {
                    talk.answers("done", 1000);
                }
                talk.hook("Stop", &json!({}));
            }
            for turn in 0..4 {
                let words = ["rewind", &turn.to_string(), "--conversation", "--dry-run"];
                let part = sandbox.json(words)["conversation"].clone();
                let all = if answers { 2 * (4 - turn) } else { 5 - turn };
                let context = format!("{kind:?} {is_early} {answers} {turn}");
                assert_eq!(part["messages_discarded"], all, "{context}");
            }
        }
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
fn what_is_sent_while_the_agent_is_at_work_is_gone_back_to() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.turn("before", 1000);
    talk.submits("first");
    talk.writes_prompt("first");
    talk.calls("one");
    // It has the id of the turn that goes on.
    for text in ["second", "go on"] {
        talk.hook(
            "UserPromptSubmit",
            &json!({"prompt": text, "prompt_id": "p-first"}),
        );
    }
    talk.results("one");
    talk.hears("second");
    talk.hears("go on");
    talk.calls("two");
    talk.hook(
        "UserPromptSubmit",
        &json!({"prompt": "go on", "prompt_id": "p-first"}),
    );
    talk.results("two");
    talk.hears("go on");
    talk.answers("did it all", 2000);
    talk.turn("after", 3000);
    for (checkpoint, asked, discarded) in [
        (1, "first", 9),
        (2, "second", 7),
        (3, "go on", 6),
        (4, "go on", 4),
        (5, "after", 2),
    ] {
        let checkpoint = checkpoint.to_string();
        let words = ["rewind", &checkpoint, "--conversation", "--dry-run"];
        let part = sandbox.json(words)["conversation"].clone();
        assert_eq!(part["original_user_message"], asked, "{checkpoint}");
        assert_eq!(part["messages_discarded"], discarded, "{checkpoint}");
    }
    let rewound = sandbox.json(["rewind", "3", "--conversation"]);
    let fork = read(&fork_path(&rewound));
    assert_eq!(prompts(&fork), ["before", "first"]);
    let last = &fork.messages[fork.messages.len() - 2..];
    let output = last[0].tool.as_ref().and_then(|tool| tool.output.clone());
    assert_eq!(output.as_deref(), Some("done"), "no call is open");
    assert_eq!(last[1].text, "second");
}

#[test]
fn a_notice_that_work_has_ended_is_gone_back_to() {
    let notice = "<task-notification>\n<task-id>a1</task-id>\n</task-notification>";
    for is_noted in [true, false] {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, Kind::Claude);
        talk.turn("one", 1000);
        let mut told = talk.prompt_payload(notice);
        if !is_noted {
            told["prompt_id"] = json!("another");
        }
        talk.hook("UserPromptSubmit", &told);
        talk.writes_prompt(notice);
        talk.answers("so it ended", 2000);
        talk.turn("two", 3000);
        let rewound = sandbox.json(["rewind", "1", "--conversation"]);
        let part = &rewound["conversation"];
        assert_eq!(part["messages_discarded"], 3);
        assert_eq!(part["original_user_message"], notice);
        let fork = read(&fork_path(&rewound));
        assert_eq!(prompts(&fork), ["one"]);
        assert_eq!(fork.messages.len(), 2);
    }
}

#[test]
fn of_prompts_with_one_id_that_with_the_same_words_is_meant() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    // Claude Code's own fork: the file is not there yet, and gives all that it copies the id of its first prompt.
    let sent = json!({"prompt": "go on", "prompt_id": "p-copied"});
    talk.hook("UserPromptSubmit", &sent);
    for text in ["go on", "other"] {
        talk.writes_prompt(text);
        talk.answers(&format!("did {text}"), 1000);
    }
    talk.writes_prompt("go on");
    talk.answers("did it again", 2000);
    let text = std::fs::read_to_string(&talk.path).unwrap();
    let text = text
        .replace("p-go on", "p-copied")
        .replace("p-other", "p-copied");
    let made = talk.checkpoints()[0]["created_at"].as_str().unwrap()[..16].to_owned();
    let last = text.rfind("2026-02-28T15:").unwrap();
    let prompt = text[..last].rfind("2026-02-28T15:").unwrap();
    let text = format!("{}{made}{}", &text[..prompt], &text[prompt + 16..]);
    std::fs::write(&talk.path, text).unwrap();
    let rewound = sandbox.json(["rewind", "0", "--conversation"]);
    assert_eq!(rewound["conversation"]["messages_discarded"], 2);
    assert_eq!(prompts(&read(&fork_path(&rewound))), ["go on", "other"]);
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
            // Where the files were as the checkpoint has them nothing was put back.
            if rewound["code"]["backup_id"].is_string() {
                sandbox.json(["undo"]);
            }
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
                    version: 1,
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
                        call_id: None,
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
