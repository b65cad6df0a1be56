//! The end of a turn: what the agent left, told from what people change before the next prompt.

use serde_json::{Value, json};

use crate::sandbox::{STEP, Sandbox};
use crate::transcripts::{Kind, Talk};

fn ends(sandbox: &Sandbox, session: &str) -> Vec<Value> {
    let listed = sandbox.json(["checkpoint", "list", "--session", session]);
    listed["turn_ends"].as_array().unwrap().clone()
}

fn total(sandbox: &Sandbox) -> Value {
    sandbox.json(["list"])["total"].clone()
}

/// The paths that differ between two snapshots.
fn changed(sandbox: &Sandbox, from: &Value, to: &Value) -> Vec<String> {
    let words = ["diff", from.as_str().unwrap(), to.as_str().unwrap()];
    let files = sandbox.json(words)["files"].clone();
    let paths = files.as_array().unwrap().iter();
    paths
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect()
}

/// A session, in whose first turn the agent wrote `agent.txt`.
fn one_turn(sandbox: &Sandbox) -> Talk<'_> {
    let talk = Talk::new(sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("one");
    sandbox.write("agent.txt", "by the agent\n");
    talk.hook("Stop", &json!({}));
    talk
}

#[test]
fn prompts_and_turns_in_the_past_that_change_nothing_share_a_snapshot() {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot"]);
    sandbox.write("a.txt", "two\n");
    sandbox.ok(["travel", "latest"]);
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("one");
    talk.hook("Stop", &json!({}));
    talk.submits("two");
    talk.hook("Stop", &json!({}));
    let (ends, prompts) = (ends(&sandbox, &talk.id), talk.checkpoints());
    let ids: Vec<&Value> = prompts
        .iter()
        .chain(&ends)
        .map(|one| &one["snapshot_id"])
        .collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn what_a_person_edits_between_two_turns_is_not_the_agent_s() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("one");
    sandbox.write("agent.txt", "by the agent\n");
    assert_eq!(talk.hook("Stop", &json!({"stop_hook_active": false})), "");
    sandbox.write("person.txt", "by a person\n");
    talk.submits("two");
    // A turn that changes nothing ends, too: on the snapshot that its prompt has.
    talk.hook("Stop", &json!({}));
    sandbox.write("person.txt", "again\n");
    talk.submits("three");
    let (ends, prompts) = (ends(&sandbox, &talk.id), talk.checkpoints());
    let (first, second) = (&ends[0]["snapshot_id"], &ends[1]["snapshot_id"]);
    let at = |n: usize| &prompts[n]["snapshot_id"];
    assert_eq!(changed(&sandbox, at(0), first), ["agent.txt"]);
    assert_eq!(changed(&sandbox, first, at(1)), ["person.txt"]);
    assert_eq!(second, at(1));
    assert_eq!(changed(&sandbox, second, at(2)), ["person.txt"]);
    let end = json!({"version": 1, "session_id": talk.id, "agent": "claude", "checkpoint_id": 0,
        "created_at": ends[0]["created_at"], "snapshot_id": first, "kind": "end"});
    assert_eq!(ends[0], end);
    assert_eq!(ends[1]["checkpoint_id"], 1);
    let shown = sandbox.json(["show", first.as_str().unwrap()])["snapshot"].clone();
    assert_eq!(
        (&shown["trigger"], &shown["title"], &shown["session_id"]),
        (
            &json!("turn-end"),
            &json!("end of turn, after checkpoint 0"),
            &json!(talk.id)
        )
    );
    // Numbers are those of checkpoints alone.
    let ids: Vec<_> = prompts.iter().map(|one| &one["checkpoint_id"]).collect();
    assert_eq!(ids, [0, 1, 2]);
}

/// Two hooks that run at once may each take one.
#[test]
fn an_end_that_is_told_again_on_another_snapshot_of_the_same_files_is_one() {
    let sandbox = Sandbox::new();
    let talk = one_turn(&sandbox);
    sandbox.ok(["snapshot"]);
    talk.hook("Stop", &json!({}));
    assert_eq!(ends(&sandbox, &talk.id).len(), 1);
    sandbox.git(["add", "agent.txt"]);
    talk.hook("Stop", &json!({}));
    assert_eq!(ends(&sandbox, &talk.id).len(), 2);
}

#[test]
fn the_files_of_a_session_are_those_of_its_last_turn_too() {
    let sandbox = Sandbox::new();
    let talk = one_turn(&sandbox);
    let listed = || sandbox.json(["session", "list"])["sessions"][0]["files_touched"].clone();
    assert_eq!(listed(), 1);
    talk.hook("SessionEnd", &json!({}));
    sandbox.write("person.txt", "by a person\n");
    let shown = sandbox.json(["session", "show", &talk.id]);
    assert_eq!(shown["files"], json!([{"path": "agent.txt"}]));
    assert_eq!(listed(), 1);
}

/// Hooks run beside each other: word of a turn's end may come after that of the session's.
#[test]
fn the_end_of_a_turn_that_is_told_late_leaves_the_session_ended() {
    let sandbox = Sandbox::new();
    let talk = one_turn(&sandbox);
    let listed = || sandbox.json(["session", "list"])["sessions"][0].clone();
    talk.hook("SessionEnd", &json!({}));
    let ended = listed()["ended_at"].clone();
    sandbox.write("agent.txt", "at last\n");
    for event in ["Stop", "SubagentStop"] {
        talk.hook(event, &json!({}));
        let session = listed();
        assert_eq!(
            (&session["live"], &session["ended_at"]),
            (&json!(false), &ended),
            "{event}"
        );
    }
    // What it left is noted all the same.
    assert_eq!(ends(&sandbox, &talk.id).len(), 2);
    // A prompt is no leftover.
    talk.submits("more");
    assert_eq!(listed()["live"], true);
}

#[test]
fn ends_do_not_crowd_the_list() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    assert_eq!(total(&sandbox), 1);
    for turn in 0..5 {
        talk.submits(&turn.to_string());
        sandbox.write("a.txt", format!("{turn}\n"));
        talk.hook("Stop", &json!({}));
        talk.hook("Stop", &json!({}));
    }
    // The next prompt stands on the snapshot of the turn before it: one for each turn that changed something.
    assert_eq!(total(&sandbox), 6);
    assert_eq!(ends(&sandbox, &talk.id).len(), 5, "told twice counts once");
    talk.submits("nothing to do");
    talk.hook("Stop", &json!({}));
    assert_eq!(total(&sandbox), 6, "nothing had changed");
    // A stop that was held up, after which the agent went on.
    sandbox.write("a.txt", "more\n");
    talk.hook("Stop", &json!({"stop_hook_active": true}));
    let ends = ends(&sandbox, &talk.id);
    assert_eq!(ends.len(), 7);
    assert_eq!(ends[5]["checkpoint_id"], ends[6]["checkpoint_id"]);
    assert_ne!(ends[5]["snapshot_id"], ends[6]["snapshot_id"]);
}

#[test]
fn every_agent_tells_of_it_in_its_own_words() {
    for (agent, prompt, stop, session) in [
        ("claude", "UserPromptSubmit", "Stop", "session_id"),
        ("codex", "UserPromptSubmit", "Stop", "session_id"),
        ("gemini", "BeforeAgent", "AfterAgent", "session_id"),
        ("kimi", "UserPromptSubmit", "Stop", "session_id"),
        ("kimi-code", "UserPromptSubmit", "Stop", "session_id"),
        ("opencode", "chat.message", "session.idle", "sessionID"),
        ("cursor", "beforeSubmitPrompt", "stop", "conversation_id"),
        ("copilot", "userPromptSubmitted", "agentStop", "sessionId"),
        ("generic", "user-prompt-submit", "stop", "session_id"),
    ] {
        let sandbox = Sandbox::new();
        let hook = |event: &str| {
            let mut command = sandbox.tw_command();
            let payload = json!({session: "abcd", "prompt": "go on", "cwd": sandbox.repo()});
            let command = command
                .args(["hook", agent, event])
                .write_stdin(payload.to_string());
            command.assert().success().stdout("").stderr("");
        };
        hook(prompt);
        sandbox.write("a.txt", "changed\n");
        hook(stop);
        let ends = ends(&sandbox, "abcd");
        assert_eq!(ends.len(), 1, "{agent}");
        assert_eq!(ends[0]["agent"], agent);
    }
}

#[test]
fn none_where_checkpoints_are_off_or_the_session_is_another_s() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("Stop", &json!({}));
    assert_eq!(total(&sandbox), 0, "a session that nobody started");
    talk.hook("SessionStart", &json!({}));
    talk.submits("one");
    sandbox.write("a.txt", "changed\n");
    talk.hook_with("Stop", &json!({}), &[("TW_DISABLE_CHECKPOINTS", "1")]);
    sandbox.git(["config", "timewarp.checkpoints", "false"]);
    talk.hook("Stop", &json!({}));
    sandbox.git(["config", "--unset", "timewarp.checkpoints"]);
    talk.hook("SubagentStart", &json!({"agent_id": "sub-agent"}));
    talk.hook("Stop", &json!({"agent_id": "sub-agent"}));
    assert_eq!(total(&sandbox), 1);
    assert_eq!(ends(&sandbox, &talk.id), [] as [Value; 0]);
    talk.hook("Stop", &json!({}));
    assert_eq!(ends(&sandbox, &talk.id).len(), 1);
}

#[test]
fn an_end_that_cannot_be_read_hides_nothing_and_is_kept() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.submits("one");
    talk.hook("Stop", &json!({}));
    let notes = format!("--ref=refs/notes/timewarp/sessions/{}", talk.id);
    let listed = sandbox.git(["notes", &notes, "list"]);
    let commit = listed.split_whitespace().nth(1).unwrap().to_owned();
    let mut note: Value =
        serde_json::from_str(&sandbox.git(["notes", &notes, "show", &commit])).unwrap();
    let later = json!({"version": 9, "kind": "pause"});
    note["turn_ends"]
        .as_array_mut()
        .unwrap()
        .push(later.clone());
    sandbox.git([
        "notes",
        &notes,
        "add",
        "-f",
        "-m",
        &note.to_string(),
        &commit,
    ]);
    let listed = sandbox.json(["checkpoint", "list", "--session", &talk.id]);
    assert_eq!(listed["turn_ends"].as_array().unwrap().len(), 1);
    assert_eq!(
        listed["invalid"],
        json!(["the end of a turn was written by a newer tw (version 9)"])
    );
    talk.submits("two");
    let text = sandbox.git(["notes", &notes, "show", &commit]);
    let kept: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(kept["turn_ends"][1], later);
    assert_eq!(talk.checkpoints().len(), 2);
}

#[test]
fn of_two_ends_within_a_second_the_later_snapshot_is_the_end() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    for n in 0..6 {
        talk.submits(&format!("prompt {n}"));
        sandbox.write(format!("first{n}"), format!("first {n}\n"));
        talk.hook("Stop", &json!({"stop_hook_active": false}));
        sandbox.wait(-STEP);
        sandbox.write(format!("goes-on{n}"), format!("goes on {n}\n"));
        talk.hook("Stop", &json!({"stop_hook_active": true}));
        sandbox.write(format!("person{n}"), format!("person {n}\n"));
    }
    talk.submits("last");
    for n in 0..6 {
        let found = |path: &str| sandbox.json(["find", path])["versions"][0].clone();
        let agent = found(&format!("goes-on{n}"));
        assert_eq!(agent["checkpoint"], n, "{agent}");
        assert_eq!(found(&format!("person{n}"))["checkpoint"], Value::Null);
        let path = format!("goes-on{n}");
        let origin = sandbox.json(["blame", &path])["lines"][0]["origin"].clone();
        assert_eq!(origin["kind"], "prompt", "{origin}");
    }
}

#[test]
fn without_an_end_what_came_before_the_next_prompt_may_be_a_person_s() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("interrupted");
    sandbox.write("n.txt", "by the agent\n");
    sandbox.write("n.txt", "by the agent\nBROKEN by a person\n");
    talk.submits("second");
    sandbox.write("more.txt", "x\n");
    talk.hook("Stop", &json!({}));
    let hit = sandbox.json(["search", "BROKEN"])["hits"][0].clone();
    assert_eq!(
        (&hit["checkpoint"], &hit["or_between"]),
        (&json!(0), &json!(true))
    );
    let said = sandbox.ok(["search", "BROKEN", "--heading"]);
    assert!(said.contains(":0 or between 'interrupted'\n"), "{said}");
    let version = sandbox.json(["find", "n.txt"])["versions"][0].clone();
    assert_eq!(version["or_between"], true);
    let sure = sandbox.json(["find", "more.txt"])["versions"][0].clone();
    assert_eq!(
        (&sure["checkpoint"], &sure["or_between"]),
        (&json!(1), &Value::Null)
    );
    let judge = ["bisect", "run", "--", "sh", "-c", "! grep -q BROKEN n.txt"];
    let bad = sandbox.json(judge)["first_bad"].clone();
    assert_eq!(bad["origin"], "ambiguous", "{bad}");
    assert_eq!(bad["candidates"][0]["checkpoint_id"], 0, "{bad}");
    assert_eq!(bad["or_between"], true, "{bad}");
    let said = sandbox.tw(judge).err();
    assert!(!said.contains("tw revert"), "{said}");
}

/// The origin of a file's first line.
fn origin(sandbox: &Sandbox, path: &str) -> Value {
    sandbox.json(["blame", path])["lines"][0]["origin"].clone()
}

#[test]
fn what_comes_while_work_goes_on_in_the_background_is_nobody_s_for_certain() {
    for steps in [false, true] {
        let sandbox = Sandbox::new();
        if steps {
            sandbox.git(["config", "timewarp.checkpoints", "steps"]);
        }
        let talk = Talk::new(&sandbox, Kind::Claude);
        talk.hook("SessionStart", &json!({}));
        talk.submits("one");
        sandbox.write("own.txt", "by the agent\n");
        let running = json!([{"id": "a1", "type": "subagent", "status": "running"}]);
        talk.hook("Stop", &json!({ "background_tasks": running }));
        sandbox.write("sub.txt", "by its sub-agent\n");
        talk.hook(
            "PostToolUse",
            &json!({"agent_id": "a1", "tool_name": "Write", "tool_input": {}}),
        );
        sandbox.write("after.txt", "by somebody\n");
        talk.submits("<task-notification>\n</task-notification>");
        talk.hook("Stop", &json!({"background_tasks": []}));
        sandbox.write("person.txt", "by a person\n");
        talk.submits("thanks");
        let ends = ends(&sandbox, &talk.id);
        assert_eq!(
            (&ends[0]["goes_on"], &ends[1]["goes_on"]),
            (&json!(true), &Value::Null)
        );
        assert_eq!(origin(&sandbox, "own.txt")["checkpoint_id"], 0);
        let sub = origin(&sandbox, "sub.txt");
        let kind = if steps { "prompt" } else { "ambiguous" };
        assert_eq!(sub["kind"], kind, "{sub}");
        assert_eq!(origin(&sandbox, "after.txt")["kind"], "ambiguous");
        assert_eq!(origin(&sandbox, "person.txt")["kind"], "between");
        let reverted = sandbox.json(["revert", &format!("{}:0", talk.id), "--dry-run"]);
        let removed = &reverted["changes"]["removed"];
        assert_eq!(
            *removed,
            json!(["after.txt", "own.txt", "sub.txt"]),
            "{reverted}"
        );
        assert_eq!(reverted["reverted"][0]["end_noted"], false, "{reverted}");
    }
}

#[test]
fn a_tool_that_wrote_after_the_end_leaves_in_doubt_who_else_did() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "timewarp.checkpoints", "steps"]);
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("one");
    sandbox.write("own.txt", "by the agent\n");
    talk.hook("Stop", &json!({}));
    sandbox.write("late.txt", "by its sub-agent, or by a person\n");
    talk.hook(
        "PostToolUse",
        &json!({"agent_id": "a1", "tool_name": "Write", "tool_input": {}}),
    );
    sandbox.write("person.txt", "by a person\n");
    talk.submits("two");
    assert_eq!(origin(&sandbox, "own.txt")["kind"], "prompt");
    assert_eq!(origin(&sandbox, "late.txt")["kind"], "ambiguous");
    assert_eq!(origin(&sandbox, "person.txt")["kind"], "between");
}

#[test]
fn a_prompt_sent_meanwhile_shows_that_the_turn_went_on() {
    let sandbox = Sandbox::new();
    let talk = Talk::new(&sandbox, Kind::Claude);
    talk.hook("SessionStart", &json!({}));
    talk.submits("one");
    sandbox.write("one.txt", "by the agent\n");
    talk.hook(
        "UserPromptSubmit",
        &json!({"prompt": "and two", "prompt_id": "p-one"}),
    );
    sandbox.write("two.txt", "by the agent\n");
    talk.hook("Stop", &json!({}));
    for (path, checkpoint) in [("one.txt", 0), ("two.txt", 1)] {
        let origin = origin(&sandbox, path);
        assert_eq!(origin["kind"], "prompt", "{origin}");
        assert_eq!(origin["checkpoint_id"], checkpoint);
    }
}
