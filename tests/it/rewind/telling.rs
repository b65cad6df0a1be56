//! What the agent, its future self and people are told.

use serde_json::{Value, json};

use super::{fork_path, prompts, read, rewinds, session_files, three_turns};
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

#[test]
fn the_note_says_where_the_checkpoint_was() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.turn("one", 1000);
    let by_hand = sandbox.json(["checkpoint", "--session", &talk.id, "-m", "tests pass"]);
    talk.turn("two", 2000);
    let by_hand = by_hand["checkpoint"]["checkpoint_id"].to_string();
    let note = |checkpoint: &str| {
        let rewind = [
            "rewind",
            checkpoint,
            "--conversation",
            "--dry-run",
            "--note",
            "n",
        ];
        let dry = sandbox.json(rewind);
        let text = dry["conversation"]["note"]["text"].as_str().unwrap();
        text.split(". ").next().unwrap().to_owned()
    };
    let begin = "This conversation was rewound with 'tw rewind' to checkpoint";
    assert_eq!(
        note(&by_hand),
        format!("{begin} {by_hand} (\"tests pass\"), after the prompt \"one\"")
    );
    assert_eq!(
        note("2"),
        format!("{begin} 2, just before the prompt \"two\"")
    );
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

/// An agent that is on its way out, a full disk: the note is for whoever comes next.
#[test]
fn a_note_that_nobody_could_be_told_waits_for_the_next_start() {
    let sandbox = Sandbox::new();
    three_turns(&sandbox, Kind::Claude);
    let rewound = sandbox.json(["rewind", "1", "--both", "--note", "mind the gap"]);
    let id = rewound["conversation"]["fork"]["session_id"]
        .as_str()
        .unwrap();
    let fork = Talk::resumed(&sandbox, Kind::Claude, id, &fork_path(&rewound));
    let payload = json!({"session_id": id, "cwd": sandbox.repo(), "hook_event_name": "SessionStart", "source": "resume"});
    let file = sandbox.root().join("payload");
    std::fs::write(&file, payload.to_string()).unwrap();
    let hook = format!("tw hook claude SessionStart <{}", file.display());
    for lost in [
        format!("{hook} >/dev/full"),
        // Its reader has gone.
        format!("(sleep 0.5; {hook}) | true"),
    ] {
        let ran = sandbox.paste(&lost);
        assert_eq!(
            (ran.code, ran.out(), ran.err()),
            (0, String::new(), String::new()),
            "{lost}"
        );
    }
    let said = fork.hook("SessionStart", &json!({"source": "resume"}));
    assert!(said.contains("mind the gap"), "{said}");
    assert_eq!(fork.hook("SessionStart", &json!({"source": "resume"})), "");
}

#[test]
fn of_a_note_longer_than_an_agent_takes_the_beginning_is_told_and_where_the_rest_is() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let note = "mind the gap 🦀 ".repeat(4_000);
    let words = [
        "rewind",
        "1",
        "--conversation",
        "--note",
        &note,
        "--rationale",
        "astray",
    ];
    let rewound = sandbox.json(words);
    let id = rewound["conversation"]["fork"]["session_id"]
        .as_str()
        .unwrap();
    let fork = Talk::resumed(&sandbox, Kind::Claude, id, &fork_path(&rewound));
    let said = fork.hook("SessionStart", &json!({"source": "resume"}));
    let document: Value = serde_json::from_str(&said).unwrap();
    let text = document["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    let units = text.encode_utf16().count();
    assert!((9_990..=10_000).contains(&units), "{units}");
    assert_eq!(rewound["conversation"]["note"]["text"], text);
    // The command that it names has all.
    let ran = sandbox.paste_hint(text, "tw checkpoint list");
    let listed: Value = serde_json::from_str(&ran.out()).unwrap();
    assert!(listed["rewinds"][0]["note"] == note, "all of it");
    assert_eq!(listed["rewinds"][0]["rationale"], "astray");
    assert!(rewinds(&sandbox, &talk.id)[0]["note"] == note, "all of it");
}

/// It needs no lock and no state, which another command holds or a crash spoilt.
#[test]
fn the_note_is_told_although_the_session_s_start_cannot_be_recorded() {
    for spoilt in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "timewarp.lockTimeout", "1"]);
        three_turns(&sandbox, Kind::Claude);
        let rewound = sandbox.json(["rewind", "1", "--both", "--note", "mind the gap"]);
        let id = rewound["conversation"]["fork"]["session_id"]
            .as_str()
            .unwrap();
        let fork = Talk::resumed(&sandbox, Kind::Claude, id, &fork_path(&rewound));
        let mut held = None;
        if spoilt {
            sandbox.write(".git/timewarp/state.json", "{");
        } else {
            held = Some(sandbox.locked(".git/timewarp/lock"));
        }
        let said = fork.hook("SessionStart", &json!({"source": "resume"}));
        assert!(said.contains("mind the gap"), "spoilt: {spoilt}: {said}");
        drop(held);
        let log = sandbox.text(".git/timewarp/log.jsonl");
        let code = if spoilt { "CORRUPT_RECORD" } else { "BUSY" };
        assert!(log.contains(code), "{log}");
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

/// Nothing has told yet that hooks run here: it is printed, and left for one all the same.
#[test]
fn a_session_that_no_hook_told_of_leaves_its_note_for_the_fork_s_hook_too() {
    for kind in [Kind::Claude, Kind::Codex] {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, kind);
        talk.turn("one", 1000);
        talk.turn("two", 2000);
        let words = ["rewind", "1", "--conversation", "--note", "mind the gap"];
        let words = [&words[..], &["--session", &talk.id]].concat();
        let printed = sandbox.tw(&words).out();
        let unless = "paste this as the first prompt, unless a hook of tw's runs in the fork";
        assert!(printed.contains(unless), "{printed}");
        let rewound = sandbox.json(&words);
        let note = &rewound["conversation"]["note"];
        assert_eq!(note["delivery"], "prompt");
        let id = &rewound["conversation"]["fork"]["session_id"];
        let fork = Talk::resumed(&sandbox, kind, id.as_str().unwrap(), &fork_path(&rewound));
        let resume = json!({"source": "resume"});
        let said = fork.hook("SessionStart", &resume);
        assert!(said.contains("mind the gap"), "{said}");
        assert_eq!(fork.hook("SessionStart", &resume), "", "only once");
    }
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
        format!(
            "cd {} && claude --resume {}\n",
            sandbox.repo().display(),
            talk.id
        )
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
fn what_was_rewound_last_goes_on_as_its_fork() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let resumed = || {
        let document = sandbox.json(["session", "resume"]);
        document["session_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(resumed(), talk.id);
    let rewound = sandbox.json(["rewind", "1", "--conversation"]);
    let fork = rewound["conversation"]["fork"]["session_id"].as_str();
    let fork = fork.unwrap().to_owned();
    assert_eq!(resumed(), fork);
    assert_eq!(
        sandbox.json(["session", "resume", &talk.id])["session_id"],
        talk.id,
        "by its name it is meant itself"
    );
    sandbox.json(["rewind", "--undo"]);
    assert_eq!(resumed(), talk.id);
    // Files alone: the conversation goes on as it is.
    sandbox.json(["rewind", "1", "--code"]);
    assert_eq!(resumed(), talk.id);
    let rewound = sandbox.json(["rewind", "1", "--both"]);
    assert_eq!(resumed(), rewound["conversation"]["fork"]["session_id"]);
    // The person went on in the session that was rewound.
    sandbox.json(["checkpoint", "-m", "after all", "--session", &talk.id]);
    assert_eq!(resumed(), talk.id);
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
    let script = "#!/bin/sh\necho \"claude runs in $PWD with $*\"\n";
    sandbox.program(bin.join("claude"), script);
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

/// The agent finds its session by the directory that it is started in.
#[test]
fn a_session_whose_directory_is_gone_says_so_and_nothing_is_run_elsewhere() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let lost = sandbox.root().join("lost work");
    let text = String::from_utf8(talk.bytes()).unwrap();
    let moved = text.replace(
        &sandbox.repo().display().to_string(),
        &lost.display().to_string(),
    );
    std::fs::write(&talk.path, moved).unwrap();
    let bin = sandbox.root().join("bin");
    sandbox.program(bin.join("claude"), "#!/bin/sh\necho \"runs in $PWD\"\n");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let before = session_files(&sandbox);
    let run = |args: &[&str]| {
        let mut command = sandbox.tw_command();
        let output = command.env("PATH", &path).args(args).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        (out, String::from_utf8(output.stderr).unwrap())
    };
    let id = talk.id.as_str();
    for args in [
        &["rewind", "1", "--conversation", "--exec", "--session", id][..],
        &["session", "resume", id, "--exec"],
    ] {
        let (out, said) = run(args);
        assert_eq!(out, "", "{args:?}");
        assert!(
            said.contains("is gone") && said.contains("mkdir -p '"),
            "{said}"
        );
        assert_eq!(session_files(&sandbox), before, "{args:?}");
    }
    for args in [
        &["rewind", "1", "--conversation"][..],
        &["session", "resume", id],
    ] {
        let ran = sandbox.tw(args);
        assert!(
            ran.err()
                .contains("directory that the session was in is gone"),
            "{}",
            ran.err()
        );
        assert_eq!(ran.code, 0);
    }
    std::fs::create_dir(&lost).unwrap();
    let (out, said) = run(&["session", "resume", id, "--exec"]);
    assert_eq!(out, format!("runs in {}\n", lost.display()), "{said}");
}

#[test]
fn the_command_can_be_pasted_whatever_its_directory_is_called() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let odd = sandbox.root().join("it's a\nwork\u{1b}dir");
    std::fs::create_dir(&odd).unwrap();
    let bare = sandbox.repo().display().to_string();
    let text = String::from_utf8(talk.bytes()).unwrap();
    let odd_text = serde_json::to_string(&odd.display().to_string()).unwrap();
    let moved = text.replace(&format!("\"{bare}\""), &odd_text);
    std::fs::write(&talk.path, moved).unwrap();
    for quiet in [&["-q"][..], &[]] {
        for verb in [
            &["rewind", "1", "--conversation"][..],
            &["session", "resume"],
        ] {
            let said = sandbox.ok([quiet, verb].concat());
            let line = said.lines().find(|line| line.contains("claude --resume"));
            let (cd, _) = line.unwrap().split_once(" && ").unwrap();
            let cd = &cd[cd.find("cd ").unwrap()..];
            let ran = sandbox.paste(&format!("{cd} && pwd"));
            assert_eq!(ran.out(), format!("{}\n", odd.display()), "{said}");
        }
    }
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

#[test]
fn gemini_cli_is_told_with_the_fork_s_first_prompt() {
    let sandbox = Sandbox::new();
    let file = sandbox
        .home()
        .join(".gemini/tmp/repo/chats/session-2026-02-28T15-33-aaaabbbb.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let id = "aaaabbbb-1111-4222-8333-444444444444";
    let mut lines = vec![
        json!({"sessionId": id, "projectHash": "h", "startTime": "2026-02-28T15:33:00Z", "kind": "main"}),
    ];
    let hook = |id: &str, path: &std::path::Path, event: &str, more: &Value| {
        let mut payload = json!({"session_id": id, "transcript_path": path, "cwd": sandbox.repo(), "hook_event_name": event});
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let output = sandbox
            .tw_command()
            .args(["hook", "gemini", event])
            .write_stdin(payload.to_string())
            .output()
            .unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
        String::from_utf8(output.stdout).unwrap()
    };
    let start = json!({"source": "startup"});
    assert_eq!(hook(id, &file, "SessionStart", &start), "");
    for (number, text) in ["one", "two"].into_iter().enumerate() {
        hook(id, &file, "BeforeAgent", &json!({"prompt": text}));
        lines.push(json!({"id": format!("u{number}"), "timestamp": "2026-02-28T15:33:00Z", "type": "user", "content": [{"text": text}]}));
        lines.push(json!({"id": format!("g{number}"), "type": "gemini", "content": "done"}));
        let text: String = lines
            .iter()
            .flat_map(|line| [line.to_string(), "\n".to_owned()])
            .collect();
        std::fs::write(&file, text).unwrap();
        hook(id, &file, "AfterAgent", &json!({"prompt_response": "done"}));
    }
    let rewound = sandbox.json([
        "rewind",
        "1",
        "--conversation",
        "--note",
        "mind the gap",
        "--session",
        id,
    ]);
    let part = &rewound["conversation"];
    assert_eq!(part["note"]["delivery"], "prompt-hook");
    let fork = part["fork"]["session_id"].as_str().unwrap();
    let resume = json!({"source": "resume"});
    // What is said at its start does not reach the model in the terminal.
    let file = fork_path(&rewound);
    assert_eq!(hook(fork, &file, "SessionStart", &resume), "");
    let prompt = json!({"prompt": "two, better"});
    let said: Value = serde_json::from_str(&hook(fork, &file, "BeforeAgent", &prompt)).unwrap();
    let output = &said["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "BeforeAgent");
    let text = output["additionalContext"].as_str().unwrap();
    assert!(text.contains("mind the gap"), "{text}");
    assert_eq!(hook(fork, &file, "BeforeAgent", &prompt), "", "only once");
}
