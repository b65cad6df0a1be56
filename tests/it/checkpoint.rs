//! `tw checkpoint`, and the checkpoints that hooks make.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::sandbox::Sandbox;
use crate::transcripts::{KINDS, Kind, Talk};

fn ids(checkpoints: &[Value]) -> Vec<u64> {
    checkpoints
        .iter()
        .map(|checkpoint| checkpoint["checkpoint_id"].as_u64().unwrap())
        .collect()
}

fn total(sandbox: &Sandbox) -> Value {
    sandbox.json(["list"])["total"].clone()
}

fn log(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.path(".git/timewarp/log.jsonl")).unwrap_or_default()
}

/// The body of the note on a snapshot.
fn note(sandbox: &Sandbox, session: &str, snapshot: &str) -> Value {
    let notes = format!("--ref=refs/notes/timewarp/sessions/{session}");
    let commit = sandbox.json(["show", snapshot])["snapshot"]["commit"]
        .as_str()
        .unwrap()
        .to_owned();
    serde_json::from_str(&sandbox.git(["notes", &notes, "show", &commit])).unwrap()
}

#[test]
fn checkpoint_by_hand_starts_a_session_and_counts_from_zero() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(["checkpoint", "-m", "before\nthe rest"]);
    let checkpoint = &first["checkpoint"];
    assert_eq!(checkpoint["checkpoint_id"], 0);
    assert_eq!(checkpoint["kind"], "manual");
    assert_eq!(checkpoint["prompt"], "before\nthe rest");
    assert_eq!(checkpoint["version"], 1);
    assert_eq!(checkpoint["transcript"]["path"], Value::Null);
    sandbox.write("a.txt", "two\n");
    let second = sandbox.json(["checkpoint", "--kind", "step"]);
    assert_eq!(second["checkpoint"]["checkpoint_id"], 1);
    assert_eq!(second["checkpoint"]["session_id"], checkpoint["session_id"]);
    assert_eq!(second["fresh"], true);
    assert_ne!(
        second["checkpoint"]["snapshot_id"],
        checkpoint["snapshot_id"]
    );
    let listed = sandbox.json(["checkpoint", "list"]);
    assert_eq!(ids(listed["checkpoints"].as_array().unwrap()), [0, 1]);
    assert_eq!(sandbox.ok(["-q", "checkpoint", "list"]), "0\n1\n");
}

#[test]
fn an_unchanged_tree_adds_to_the_list_and_makes_no_snapshot() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(["checkpoint", "--session", "abcd"]);
    let before = total(&sandbox);
    let second = sandbox.json(["checkpoint", "--session", "abcd", "-m", "again"]);
    assert_eq!(second["fresh"], false);
    let snapshot = first["checkpoint"]["snapshot_id"].as_str().unwrap();
    assert_eq!(second["checkpoint"]["snapshot_id"], snapshot);
    assert_eq!(total(&sandbox), before);
    let note = note(&sandbox, "abcd", snapshot);
    assert_eq!(
        (&note["version"], &note["session_id"]),
        (&json!(1), &json!("abcd"))
    );
    assert_eq!(ids(note["checkpoints"].as_array().unwrap()), [0, 1]);
    // What changes only the index is a change.
    sandbox.write("b.txt", "b\n");
    let written = sandbox.json(["checkpoint", "--session", "abcd"]);
    sandbox.git(["add", "b.txt"]);
    let staged = sandbox.json(["checkpoint", "--session", "abcd"]);
    assert_eq!(staged["fresh"], true);
    assert_ne!(
        staged["checkpoint"]["snapshot_id"],
        written["checkpoint"]["snapshot_id"]
    );
}

#[test]
fn every_prompt_makes_one_before_the_agent_acts() {
    for kind in KINDS {
        let sandbox = Sandbox::new();
        let talk = Talk::new(&sandbox, kind);
        talk.hook("SessionStart", &json!({"source": "startup"}));
        let before = talk.bytes().len();
        talk.turn("one", 1000);
        sandbox.write("a.txt", "edited by the shell\n");
        talk.turn("two", 2000);
        let checkpoints = talk.checkpoints();
        assert_eq!(ids(&checkpoints), [0, 1], "{kind:?}");
        let [first, second] = &checkpoints[..] else {
            panic!()
        };
        assert_eq!(first["agent"], kind.name());
        assert_eq!(first["kind"], "prompt");
        assert_eq!(
            (&first["prompt"], &second["prompt"]),
            (&json!("one"), &json!("two"))
        );
        assert_eq!(first["transcript"]["path"], json!(talk.path));
        assert_eq!(first["transcript"]["offset"], before);
        assert_eq!(second["tokens"]["context"], 1000, "{kind:?}");
        let offset = usize::try_from(second["transcript"]["offset"].as_u64().unwrap()).unwrap();
        let prefix = &talk.bytes()[..offset];
        let digest: String = Sha256::digest(prefix)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(second["transcript"]["sha256_of_prefix"], digest);
        let lines = prefix.split(|&byte| byte == b'\n').count();
        assert_eq!(second["transcript"]["line"], lines);
        // The shell's edit lies between the two.
        let diff = sandbox.json(["diff", &format!("{}:0", talk.id), &format!("{}:1", talk.id)]);
        assert_eq!(diff["files"][0]["path"], "a.txt");
        assert_eq!(log(&sandbox), "");
    }
}

#[test]
fn a_prompt_before_any_start_starts_the_session() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.submits("one");
    assert_eq!(ids(&talk.checkpoints()), [0]);
    assert_eq!(
        sandbox.json(["session", "show", &talk.id])["session"]["agent"],
        "claude"
    );
    assert_eq!(sandbox.json(["diff", "checkpoint:0"])["files"], json!([]));
}

#[test]
fn two_hooks_for_one_prompt_make_one_checkpoint() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.submits("one");
    talk.submits("one");
    talk.writes_prompt("one");
    talk.answers("done", 100);
    // The same words again are another prompt.
    talk.hook(
        "UserPromptSubmit",
        &json!({"prompt": "one", "prompt_id": "another"}),
    );
    assert_eq!(ids(&talk.checkpoints()), [0, 1]);
    // Without ids the place and the time tell.
    let kimi = Talk::new(&sandbox, Kind::Kimi);
    let kimi = Talk::with_id(&sandbox, Kind::Kimi, &kimi.id.replace('1', "9"));
    kimi.submits("go on");
    kimi.writes_prompt("go on");
    kimi.submits("go on");
    assert_eq!(ids(&kimi.checkpoints()), [0, 1]);
}

#[test]
fn the_same_words_sent_again_in_a_turn_have_one_of_their_own() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.submits("go on");
    talk.writes_prompt("go on");
    talk.calls("one");
    // Both have the id of the turn.
    talk.submits("go on");
    talk.results("one");
    talk.hears("go on");
    assert_eq!(ids(&talk.checkpoints()), [0, 1]);
}

#[test]
fn a_prompt_without_text_has_one_too() {
    // It may be an image alone.
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook(
        "UserPromptSubmit",
        &json!({"prompt": "", "prompt_id": "p1"}),
    );
    talk.hook("UserPromptSubmit", &json!({"prompt_id": "p2"}));
    let made = talk.checkpoints();
    assert_eq!(ids(&made), [0, 1]);
    assert_eq!(made[1]["prompt"], Value::Null);
}

#[test]
fn numbers_are_never_given_twice() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.turn("one", 100);
    talk.turn("two", 200);
    // The agent clears, and compacts.
    talk.hook("SessionStart", &json!({"source": "clear"}));
    std::fs::write(&talk.path, "").unwrap();
    talk.turn("three", 100);
    talk.hook("SessionStart", &json!({"source": "compact"}));
    // Somebody takes the notes away, the memory too.
    for name in [
        "refs/notes/timewarp/sessions",
        "refs/timewarp/records/sessions",
    ] {
        sandbox.git(["update-ref", "-d", &format!("{name}/{}", talk.id)]);
    }
    talk.turn("four", 200);
    assert_eq!(ids(&talk.checkpoints()), [3]);
}

#[test]
fn many_at_once_lose_none() {
    let sandbox = Sandbox::new();
    sandbox.json(["session", "start", "--session", "abcd"]);
    let mut running = Vec::new();
    for at in 0..6 {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tw"));
        command
            .args([
                "--json",
                "checkpoint",
                "--session",
                "abcd",
                "-m",
                &format!("number {at}"),
            ])
            .env_clear()
            .env("HOME", sandbox.home())
            // The git that made the repository: an older one may not know its form.
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TW_NO_BACKGROUND", "1")
            .current_dir(sandbox.repo())
            .stdout(std::process::Stdio::piped());
        running.push(command.spawn().unwrap());
    }
    for child in running {
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{said}");
    }
    let listed = sandbox.json(["checkpoint", "list", "--session", "abcd"]);
    assert_eq!(
        ids(listed["checkpoints"].as_array().unwrap()),
        [0, 1, 2, 3, 4, 5]
    );
}

#[test]
fn automatic_ones_can_be_turned_off() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.hook_with(
        "UserPromptSubmit",
        &json!({"prompt": "x"}),
        &[("TW_DISABLE_CHECKPOINTS", "1")],
    );
    sandbox.git(["config", "timewarp.checkpoints", "false"]);
    talk.submits("one");
    // A repository may not turn them off for those who work in it.
    sandbox.git(["config", "--unset", "timewarp.checkpoints"]);
    assert_eq!(ids(&talk.checkpoints()), [] as [u64; 0]);
    sandbox.write(".timewarp/config.toml", "checkpoints = false\n");
    talk.submits("one");
    assert_eq!(ids(&talk.checkpoints()), [0]);
    // By hand they are made all the same.
    sandbox.git(["config", "timewarp.checkpoints", "false"]);
    sandbox.json(["checkpoint", "--session", &talk.id]);
    assert_eq!(ids(&talk.checkpoints()), [0, 1]);
    sandbox.git(["config", "timewarp.checkpoints", "often"]);
    assert_eq!(
        sandbox.json_error(["checkpoint"]).0["code"],
        "INVALID_CONFIG"
    );
}

#[test]
fn the_variable_that_turns_them_off_takes_the_words_that_git_takes() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    let asks = |value: &str| {
        let prompt = json!({"prompt": value});
        talk.hook_with(
            "UserPromptSubmit",
            &prompt,
            &[("TW_DISABLE_CHECKPOINTS", value)],
        );
    };
    for off in ["1", "true", "Yes", "on", "2"] {
        asks(off);
    }
    assert_eq!(ids(&talk.checkpoints()), [] as [u64; 0]);
    for on in ["", "0", "false", "No", "off"] {
        asks(on);
    }
    assert_eq!(ids(&talk.checkpoints()), [0, 1, 2, 3, 4]);
}

#[test]
fn steps_are_kept_when_asked_for_and_only_where_something_was_written() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    let used = |tool: &str| {
        talk.hook(
            "PostToolUse",
            &json!({"tool_name": tool, "tool_input": {}, "tool_use_id": "t"}),
        )
    };
    talk.submits("one");
    sandbox.write("a.txt", "two\n");
    used("Bash");
    assert_eq!(ids(&talk.checkpoints()), [0], "not asked for");
    sandbox.git(["config", "timewarp.checkpoints", "steps"]);
    used("Read");
    assert_eq!(ids(&talk.checkpoints()), [0], "Read only looks");
    used("Bash");
    used("Bash");
    let checkpoints = talk.checkpoints();
    assert_eq!(ids(&checkpoints), [0, 1], "the second wrote nothing");
    assert_eq!(
        (&checkpoints[1]["kind"], &checkpoints[1]["tool"]),
        (&json!("step"), &json!("Bash"))
    );
    // What a sub-agent writes is a step of its root's.
    sandbox.write("a.txt", "three\n");
    talk.hook(
        "PostToolUse",
        &json!({"tool_name": "Edit", "agent_id": "sub-agent"}),
    );
    assert_eq!(ids(&talk.checkpoints()), [0, 1, 2]);
}

#[test]
fn prompts_are_redacted_and_not_kept_whole() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let prompt = format!("use {secret} now {}", "x".repeat(3000));
    talk.hook("UserPromptSubmit", &json!({"prompt": prompt}));
    let checkpoint = talk.checkpoints().remove(0);
    let prompt = checkpoint["prompt"].as_str().unwrap();
    assert!(prompt.starts_with("use ***REDACTED"), "{prompt}");
    assert_eq!(prompt.chars().count(), 2000);
    // What an agent calls its tools may be anything.
    sandbox.git(["config", "timewarp.checkpoints", "steps"]);
    sandbox.write("a.txt", "by a tool");
    let tool = format!("mcp__write {secret} {}", "y".repeat(3000));
    talk.hook(
        "PostToolUse",
        &json!({"tool_name": tool, "tool_input": {}, "tool_use_id": "t"}),
    );
    let step = talk.checkpoints().remove(1);
    let tool = step["tool"].as_str().unwrap();
    assert!(tool.starts_with("mcp__write ***REDACTED"), "{tool}");
    assert_eq!(tool.chars().count(), 200);
    let refs = sandbox.git(["for-each-ref", "--format=%(refname)"]);
    for name in refs.lines() {
        let history = sandbox.git(["log", "-p", "--format=%B", name]);
        assert!(!history.contains(&secret), "{name}");
    }
}

#[test]
fn a_number_that_is_none_is_refused_with_the_range() {
    let sandbox = Sandbox::new();
    let (error, code) = sandbox.json_error(["checkpoint", "show", "0"]);
    assert_eq!(
        (error["code"].as_str(), code),
        (Some("SESSION_NOT_FOUND"), 3)
    );
    sandbox.json(["checkpoint", "--session", "abcd"]);
    sandbox.json(["checkpoint", "--session", "abcd"]);
    for word in ["2", "checkpoint:2", "abcd:2"] {
        let (error, code) = sandbox.json_error(["checkpoint", "show", word]);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("INVALID_CHECKPOINT"), 3),
            "{word}"
        );
        assert_eq!((&error["first"], &error["last"]), (&json!(0), &json!(1)));
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .ends_with("it has 0 to 1"),
            "{error}"
        );
    }
    for word in ["-1", "one", "checkpoint:x", "1.5", ""] {
        let (error, code) = sandbox.json_error(["checkpoint", "show", "--", word]);
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("INVALID_CHECKPOINT"), 3),
            "{word}"
        );
    }
    assert_eq!(
        sandbox.json(["checkpoint", "show", "1"])["checkpoint"]["checkpoint_id"],
        1
    );
    assert_eq!(
        sandbox.json(["checkpoint", "show", "abcd:0"])["checkpoint"]["checkpoint_id"],
        0
    );
    assert_eq!(
        sandbox.json_error(["diff", "checkpoint:9"]).0["code"],
        "INVALID_CHECKPOINT"
    );
    assert_eq!(sandbox.json_error(["checkpoint", "list", "-m", "x"]).1, 2);
}

#[test]
fn a_damaged_entry_hides_no_other() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(["checkpoint", "--session", "abcd"]);
    sandbox.write("a.txt", "two\n");
    sandbox.json(["checkpoint", "--session", "abcd"]);
    let commit = made["snapshot"]["commit"].as_str().unwrap();
    let mut note = note(
        &sandbox,
        "abcd",
        made["checkpoint"]["snapshot_id"].as_str().unwrap(),
    );
    note["checkpoints"][0]["kind"] = json!("dream");
    note["later"] = json!(true);
    let text = note.to_string();
    sandbox.git([
        "notes",
        "--ref=refs/notes/timewarp/sessions/abcd",
        "add",
        "-f",
        "-m",
        &text,
        commit,
    ]);
    let listed = sandbox.json(["checkpoint", "list"]);
    assert_eq!(ids(listed["checkpoints"].as_array().unwrap()), [1]);
    assert_eq!(listed["invalid"].as_array().unwrap().len(), 1);
    // It is written over by nobody, and what is not known stays.
    sandbox.write("a.txt", "one\n");
    let third = sandbox.json(["checkpoint", "--session", "abcd"]);
    assert_eq!(third["checkpoint"]["checkpoint_id"], 2);
}

#[test]
fn checkpoints_of_a_young_session_hold_their_snapshots() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.keepLast", "0"]);
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.turn("one", 100);
    let snapshot = talk.checkpoints()[0]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.write("a.txt", "two\n");
    talk.hook("SessionEnd", &json!({"reason": "other"}));
    sandbox.json(["session", "start", "--session", "another"]);
    sandbox.wait(13 * 24 * 3600);
    sandbox.json(["prune"]);
    sandbox.json(["show", &snapshot]);
    let (error, _) = sandbox.json_error(["drop", "-y", &snapshot]);
    assert_eq!(error["code"], "HELD");
    sandbox.wait(3 * 24 * 3600);
    sandbox.json(["prune"]);
    assert_eq!(
        sandbox.json_error(["show", &snapshot]).0["code"],
        "SNAPSHOT_NOT_FOUND"
    );
    let shown = sandbox.json(["checkpoint", "show", &format!("{}:0", talk.id)]);
    assert_eq!(shown["available"]["code"], false);
}

#[test]
fn show_says_where_it_stands_in_the_conversation() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Codex);
    talk.turn("one", 1000);
    talk.turn("two", 2000);
    let show = || sandbox.json(["checkpoint", "show", "1"]);
    let shown = show();
    assert_eq!(
        shown["available"],
        json!({"code": true, "conversation": true, "reason": null})
    );
    // Rewritten from the start, it holds neither.
    std::fs::write(&talk.path, talk.bytes().to_ascii_uppercase()).unwrap();
    let available = show()["available"].clone();
    assert_eq!(
        (&available["code"], &available["conversation"]),
        (&json!(true), &json!(false))
    );
    std::fs::remove_file(&talk.path).unwrap();
    assert_eq!(show()["available"]["conversation"], false);
}

#[test]
fn a_large_conversation_is_not_read_whole_by_a_hook() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.turn("one", 100);
    // So much that no hook reads it in its time, least of all a debug build.
    let line = json!({"type": "progress", "padding": "x".repeat(1 << 20)}).to_string() + "\n";
    std::fs::write(
        &talk.path,
        [talk.bytes(), line.repeat(100).into_bytes()].concat(),
    )
    .unwrap();
    talk.submits("two");
    let stored = talk.checkpoints().remove(1);
    assert_eq!(stored["transcript"]["sha256_of_prefix"], Value::Null);
    assert_eq!(
        stored["transcript"]["offset"],
        talk.path.metadata().unwrap().len()
    );
}

#[test]
fn people_see_what_was_asked() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.turn("fix the \u{1b}[31mparser", 1234);
    sandbox.write("a.txt", "two\n");
    talk.turn("now the tests", 5678);
    let ran = sandbox.tw(["checkpoint", "list"]);
    assert_eq!(
        sandbox.show(&ran),
        "exit 0\n--- stdout\n   0  prompt  s_[1]  2 minutes ago  fix the \\u{1b}[31mparser\n   1  prompt  s_[2]  1 minute ago  1,234 tokens  now the tests\n--- stderr\nhint: 'tw rewind N' shows what going back would do\n"
    );
    let ran = sandbox.tw(["checkpoint"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
}

#[test]
fn a_prompt_of_a_megabyte_costs_a_hook_little_and_holds_no_secret() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    let secret = "q7gzkxv0w1jh9p2mc4tfz8k3";
    let prompt = format!("token = '{secret}' {}", "password=".repeat(120_000));
    talk.hook("UserPromptSubmit", &json!({"prompt": prompt}));
    let checkpoint = talk.checkpoints().remove(0);
    let kept = checkpoint["prompt"].as_str().unwrap();
    assert!(kept.starts_with("token = '***REDACTED***'"), "{kept}");
    assert!(kept.chars().count() <= 2000);
}

#[test]
fn a_notes_ref_that_is_put_back_is_told_once_whatever_needed_the_record() {
    let sandbox = Sandbox::new();
    sandbox.json(["checkpoint", "-m", "one"]);
    let listed = sandbox.git(["for-each-ref", "--format=%(refname)", "refs/notes"]);
    let (notes_ref, said) = (listed.trim(), "its notes ref was gone and is put back");
    let told = |text: &str| text.matches(said).count();
    for args in [
        &["session", "list"][..],
        &["session", "show"],
        &["session", "list", "--live"],
        &["checkpoint", "list"],
        &["checkpoint", "show", "0"],
        &["log", "-n", "5"],
        &["blame", "a.txt"],
    ] {
        sandbox.git(["update-ref", "-d", notes_ref]);
        let notices = sandbox.json(args)["notices"].to_string();
        assert_eq!(told(&notices), 1, "{args:?}: {notices}");
        sandbox.git(["update-ref", "-d", notes_ref]);
        let ran = sandbox.tw(args);
        assert_eq!(told(&ran.err()), 1, "{args:?}: {}", sandbox.show(&ran));
        assert_eq!(told(&ran.out()), 0, "{args:?}");
        assert_eq!(told(&sandbox.tw(args).err()), 0, "{args:?}");
    }
    // An error, and a document without sentences for people.
    for (args, code) in [
        (&["--json", "checkpoint", "show", "7"][..], 1),
        (&["--json", "backtrack", "0", "--note", "x"], 0),
    ] {
        sandbox.git(["update-ref", "-d", notes_ref]);
        let ran = sandbox.tw(args);
        assert_eq!(
            (ran.code == 0, told(&ran.err())),
            (code == 0, 1),
            "{args:?}"
        );
    }
    // What a hook does nobody sees but in the log.
    sandbox.git(["update-ref", "-d", notes_ref]);
    let session = sandbox.json(["session", "list"])["sessions"][0]["session_id"].clone();
    sandbox.git(["update-ref", "-d", notes_ref]);
    let event = json!({"session_id": session, "cwd": sandbox.repo(), "hook_event_name": "UserPromptSubmit", "prompt": "x"});
    let hook = sandbox
        .tw_command()
        .args(["hook", "claude", "user-prompt-submit"])
        .write_stdin(event.to_string())
        .output()
        .unwrap();
    assert_eq!(told(&String::from_utf8_lossy(&hook.stderr)), 0, "{hook:?}");
    assert_eq!(told(&log(&sandbox)), 1, "{}", log(&sandbox));
}
