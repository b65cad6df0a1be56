//! What other tools note of who wrote a line: read as `imported`, and written for them with `--export`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{commit, origins, said, session, turn};
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

const LOGS: &str = "refs/notes/ai";
const RECORDS: &str = "refs/notes/agent-trace";

fn note(sandbox: &Sandbox, notes: &str, commit: &str, text: &str) {
    let file = sandbox.root().join("note");
    std::fs::write(&file, text).unwrap();
    let (notes, file) = (format!("--ref={notes}"), format!("-F{}", file.display()));
    sandbox.git(["notes", &notes, "add", "-f", &file, commit]);
}

fn notes(sandbox: &Sandbox, notes: &str, commit: &str) -> String {
    sandbox.git(["notes", &format!("--ref={notes}"), "show", commit])
}

/// Two agents, a person and an earlier commit have written two files, committed in two commits. Gives the commits.
fn written(sandbox: &Sandbox) -> (String, String) {
    sandbox.write("a b.txt", "old\n");
    commit(sandbox, "the beginning");
    let claude = session(sandbox);
    turn(&claude, "add one", || {
        sandbox.write("a b.txt", "old\none\nand one\n");
        sandbox.write("other.txt", "other\n");
    });
    sandbox.write("a b.txt", "mine\nold\none\nand one\n");
    let codex = Talk::new(sandbox, Kind::Codex);
    codex.hook("SessionStart", &json!({}));
    turn(&codex, "add two", || {
        sandbox.write("a b.txt", "mine\nold\none\nand one\ntwo\n");
    });
    let first = commit(sandbox, "one and two");
    turn(&claude, "change one", || {
        sandbox.write("a b.txt", "mine\nold\nuno\nand one\ntwo\n");
    });
    let second = commit(sandbox, "uno");
    (first, second)
}

/// A clone that has the notes and nothing of ours.
fn clone(sandbox: &Sandbox, name: &str) -> PathBuf {
    let clone = sandbox.root().join(name);
    sandbox.git(["clone", "-q", ".", clone.to_str().unwrap()]);
    let all = "+refs/notes/ai*:refs/notes/ai*";
    sandbox.git_in(&clone, ["fetch", "-q", "origin", all]);
    let all = "+refs/notes/agent-trace*:refs/notes/agent-trace*";
    sandbox.git_in(&clone, ["fetch", "-q", "origin", all]);
    clone
}

fn blamed(sandbox: &Sandbox, dir: &Path, path: &str) -> Vec<Value> {
    let ran = sandbox.tw_in(dir, ["blame", "--json", path]);
    let document: Value = crate::schema::read(&ran.stdout).unwrap();
    assert_eq!(document["notices"], json!([]));
    let lines = document["lines"].as_array().unwrap();
    lines.iter().map(|line| line["origin"].clone()).collect()
}

fn agents(origins: &[Value]) -> Vec<&str> {
    let agent = |origin: &'_ Value| match origin["kind"].as_str().unwrap() {
        "imported" => origin["agent"].as_str().unwrap().to_owned(),
        kind => kind.to_owned(),
    };
    let agents = origins.iter().map(agent);
    agents.map(|agent| &*agent.leak()).collect()
}

#[test]
fn what_is_exported_is_imported_elsewhere_line_by_line() {
    let sandbox = Sandbox::new();
    let (first, second) = written(&sandbox);
    for (format, refs) in [("git-ai", LOGS), ("agent-trace", RECORDS)] {
        let before = sandbox.git(["for-each-ref"]);
        let shown = sandbox.json(["blame", "--export", format, "a b.txt"]);
        assert_eq!(sandbox.git(["for-each-ref"]), before, "nothing is written");
        let commits = shown["commits"].as_array().unwrap();
        let told: Vec<_> = commits
            .iter()
            .map(|one| (&one["commit"], &one["lines"], &one["note"]))
            .collect();
        let (one, two) = (json!(first), json!(second));
        let not_asked = json!("not-asked");
        assert_eq!(
            told,
            [(&one, &json!(3), &not_asked), (&two, &json!(1), &not_asked)]
        );
        let words = ["blame", "--export", format, "--write-notes"];
        // As it stands in the document's own words, too.
        let text = match format {
            "git-ai" => sandbox.ok(["blame", "--export", "git-ai", "a b.txt"]),
            _ => sandbox.ok(["blame", "--export", "agent-trace", "a b.txt"]),
        };
        assert!(text.contains(&first), "{text}");
        let with = |path| words.into_iter().chain([path]).collect::<Vec<&str>>();
        let document = sandbox.json(with("a b.txt"));
        for (at, commit) in [&first, &second].into_iter().enumerate() {
            assert_eq!(document["commits"][at]["note"], "written");
            let text = document["commits"][at]["text"].as_str().unwrap();
            assert_eq!(notes(&sandbox, refs, commit), text);
        }
        // The other file of the commit comes to the same note; what is there is not written again.
        sandbox.json(with("other.txt"));
        let tip = sandbox.git(["rev-parse", refs]);
        let again = sandbox.json(with("a b.txt"));
        assert_eq!(again["commits"][0]["note"], "unchanged");
        assert_eq!(sandbox.git(["rev-parse", refs]), tip);
        sandbox.git(["fsck", "--strict"]);
        let clone = clone(&sandbox, format);
        let origins = blamed(&sandbox, &clone, "a b.txt");
        let expected = ["commit", "commit", "claude", "claude", "codex"];
        assert_eq!(agents(&origins), expected, "{format}");
        assert_eq!(agents(&blamed(&sandbox, &clone, "other.txt")), ["claude"]);
        assert_eq!(
            origins[2]["session_id"],
            "11111111-2222-4333-8444-555555555555"
        );
        assert_eq!(origins[2]["commit"], json!(second));
        assert_eq!(origins[3]["commit"], json!(first));
        assert_eq!(origins[2]["imported_from"], json!(format));
        assert_eq!(origins[0]["imported_from"], Value::Null);
        let shown = sandbox.tw_in(&clone, ["blame", "a b.txt"]).out();
        let line = format!("{} claude (imported)", &second[..10]);
        assert!(shown.lines().nth(2).unwrap().starts_with(&line), "{shown}");
        // Here there is better to know.
        let words = said(&sandbox, &["blame", "a b.txt"]);
        assert_eq!(words, ["between", "commit", "1", "0", "0"]);
        sandbox.git(["update-ref", "-d", refs]);
    }
}

#[test]
fn notes_of_other_tools_are_left_alone() {
    let sandbox = Sandbox::new();
    let (first, second) = written(&sandbox);
    for (format, refs) in [("git-ai", LOGS), ("agent-trace", RECORDS)] {
        note(&sandbox, refs, &first, "somebody's");
        let words = ["blame", "--export", format, "--write-notes", "a b.txt"];
        let ran = sandbox.tw(words);
        let left = format!("{} has a note of another tool's in {refs}", &first[..10]);
        assert!(ran.err().contains(&left), "{}", ran.err());
        assert_eq!(notes(&sandbox, refs, &first), "somebody's\n");
        assert_ne!(notes(&sandbox, refs, &second), "somebody's\n");
        // One of ours that somebody has gone over is theirs now.
        let touched = notes(&sandbox, refs, &second).replace("claude", "cursor");
        note(&sandbox, refs, &second, &touched);
        let document = sandbox.json(words);
        let states: Vec<_> = document["commits"].as_array().unwrap().iter().collect();
        assert!(states.iter().all(|one| one["note"] == "foreign"));
        assert_eq!(notes(&sandbox, refs, &second), touched);
    }
    // A ref that only stands for another one is none of ours to move.
    sandbox.git(["update-ref", "-d", LOGS]);
    sandbox.git(["symbolic-ref", LOGS, RECORDS]);
    let words = ["blame", "--export", "git-ai", "--write-notes", "a b.txt"];
    let (error, _) = sandbox.json_error(words);
    assert_eq!(error["code"], "WOULD_OVERWRITE");
    let (error, code) = sandbox.json_error(["blame", "--export", "git-ai", "nobody", "a b.txt"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
}

/// What git-ai writes: sessions, a known person, and an older form.
fn log(commit: &str) -> String {
    let about = json!({
        "schema_version": "authorship/3.0.0", "git_ai_version": "1.4.5", "base_commit_sha": commit,
        "prompts": {"abcd1234abcd1234": {
            "agent_id": {"tool": "cursor", "id": "old_session", "model": "gpt-4"},
            "human_author": "Dev <dev@example.com>", "total_additions": 2, "total_deletions": 0,
            "accepted_lines": 2, "overriden_lines": 0}},
        "humans": {"h_31dce776f88375": {"author": "Dev <dev@example.com>"}},
        "sessions": {"s_c9883b05a2487d": {
            "agent_id": {"tool": "cl\u{1b}[31maude", "id": "conv_1", "model": "claude-sonnet-4-5"},
            "human_author": "dev@example.com"}},
    });
    format!(
        "my file.txt\n  nothing 1\n\"my file.txt\"\n  s_c9883b05a2487d::t_9f8e7d6c5b4a32 1-2\n  \
         h_31dce776f88375 3\n  abcd1234abcd1234 4,6\n  s_gone::t_1 5\n---\n{about:#}"
    )
}

#[test]
fn notes_as_git_ai_writes_them_are_read_and_shown_escaped() {
    let sandbox = Sandbox::new();
    sandbox.write("my file.txt", "1\n2\n3\n4\n5\n6\n");
    let first = commit(&sandbox, "all");
    note(&sandbox, LOGS, &first, &log(&first));
    sandbox.write("my file.txt", "0\n1\n2\n3\n4\n5\n6\n");
    let second = commit(&sandbox, "more");
    note(&sandbox, LOGS, &second, "no log of git-ai's");
    let document = sandbox.json(["blame", "my file.txt"]);
    let lines = document["lines"].as_array().unwrap();
    let of: Vec<_> = lines
        .iter()
        .map(|line| line["origin"]["session_id"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(
        of,
        [
            "-",
            "conv_1",
            "conv_1",
            "-",
            "old_session",
            "-",
            "old_session"
        ]
    );
    assert_eq!(lines[1]["origin"]["model"], "claude-sonnet-4-5");
    assert_eq!(lines[4]["origin"]["agent"], "cursor");
    assert_eq!(lines[4]["origin"]["commit"], json!(first));
    assert_eq!(lines[3]["origin"]["kind"], "commit", "a person's");
    let notices = document["notices"].to_string();
    assert!(
        notices.contains(&second) && notices.contains("cannot be read"),
        "{notices}"
    );
    let shown = sandbox.ok(["blame", "my file.txt"]);
    assert!(shown.contains("cl\\u{1b}[31maude (imported)"), "{shown}");
    let porcelain = sandbox.ok(["blame", "--porcelain", "my file.txt"]);
    assert!(
        porcelain.contains("timewarp-imported-from git-ai"),
        "{porcelain}"
    );
    assert!(!shown.contains('\u{1b}') && !porcelain.contains('\u{1b}'));
    let by = sandbox.json(["blame", "--by", "agent", "my file.txt"]);
    let groups: Vec<_> = by["groups"].as_array().unwrap().iter().collect();
    assert_eq!(groups.len(), 3, "two agents and commits: {groups:?}");
}

fn record(commit: &str, tool: &str, contributor: &Value, lines: (u32, u32)) -> Value {
    json!({
        "version": "0.1.0", "id": "550e8400-e29b-41d4-a716-446655440000",
        "timestamp": "2026-01-23T14:30:00Z", "vcs": {"type": "git", "revision": commit},
        "tool": {"name": tool, "version": "2.4.0"},
        "files": [{"path": "src/p.ts", "conversations": [{
            "url": "https://api.example.com/v1/conversations/12345", "contributor": contributor,
            "ranges": [{"start_line": lines.0, "end_line": lines.1, "content_hash": "murmur3:9f2e8a1b"}],
            "related": [{"type": "session", "url": "https://api.example.com/v1/sessions/67890"}],
        }]}],
        "metadata": {"confidence": 0.95, "dev.cursor": {"workspace_id": "ws-abc123"}},
    })
}

#[test]
fn records_of_agent_trace_are_read_from_notes_and_from_the_tree() {
    let sandbox = Sandbox::new();
    sandbox.write("src/p.ts", "1\n2\n3\n4\n5\n");
    let all = commit(&sandbox, "all");
    let ai = json!({"type": "ai", "model_id": "anthropic/claude-opus-4-5-20251101"});
    let one = record(&all, "cursor", &ai, (1, 2));
    // What disagrees is ambiguous, and so is what a person has gone over; the example's hook does not follow the format.
    let two = record(&all, "amp", &ai, (2, 2));
    let mixed = record(&all, "cursor", &json!({"type": "mixed"}), (3, 3));
    let person = record(&all, "cursor", &json!({"type": "human"}), (4, 4));
    let mut hook = record(&all, "cursor", &ai, (5, 5));
    hook["version"] = json!("1.0");
    let elsewhere = record(&"0".repeat(40), "cursor", &ai, (5, 5));
    note(&sandbox, RECORDS, &all, &format!("{one:#}\n"));
    let lines = [&two, &mixed, &person, &hook, &elsewhere].map(|line| format!("{line}\n"));
    sandbox.write(".agent-trace/traces.jsonl", lines.concat());
    let origins = origins(&sandbox, &["blame", "src/p.ts"]);
    assert_eq!(
        agents(&origins),
        ["cursor", "ambiguous", "ambiguous", "commit", "commit"]
    );
    assert_eq!(origins[0]["model"], "anthropic/claude-opus-4-5-20251101");
    assert_eq!(
        origins[0]["session_id"],
        "https://api.example.com/v1/sessions/67890"
    );
    assert_eq!(origins[0]["imported_from"], "agent-trace");
    let named: Vec<_> = origins[1]["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert_eq!(
        (&named[0]["agent"], &named[1]["agent"]),
        (&json!("cursor"), &json!("amp"))
    );
    let kinds: Vec<_> = origins[2]["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert_eq!(
        (&kinds[0]["kind"], &kinds[1]["kind"]),
        (&json!("imported"), &json!("commit"))
    );
    let document = sandbox.json(["blame", "src/p.ts"]);
    assert!(
        document["notices"]
            .to_string()
            .contains("1 of the records in ")
    );
    // git-ai's note counts first.
    note(
        &sandbox,
        LOGS,
        &all,
        &log(&all).replace("\"my file.txt\"", "src/p.ts"),
    );
    let origins = super::origins(&sandbox, &["blame", "src/p.ts"]);
    assert_eq!(origins[0]["imported_from"], "git-ai");
}

#[test]
fn whatever_stands_in_notes_stops_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "1\n2\n");
    let all = commit(&sandbox, "all");
    let many = "  s_1::t_1 1-4294967295\n".repeat(100_000);
    let about = r#"{"schema_version":"authorship/3.0.0","sessions":{"s_1":{"agent_id":"x"}}}"#;
    let hostile = [
        format!("a.txt\n{many}---\n{about}"),
        format!("---\n{}", "[".repeat(200_000)),
        "a.txt\n  k 99999999999999999999\n---\n{}".to_owned(),
        "\u{1b}]0;x\u{7}\n".to_owned(),
    ];
    for text in hostile {
        for refs in [LOGS, RECORDS] {
            note(&sandbox, refs, &all, &text);
        }
        assert_eq!(said(&sandbox, &["blame", "a.txt"]), ["commit", "commit"]);
        assert!(!sandbox.tw(["blame", "a.txt"]).err().contains('\u{1b}'));
    }
    // No file is read through a link, and what is none of a note's is none.
    sandbox.mkdir(".agent-trace");
    sandbox.symlink("/etc/passwd", ".agent-trace/traces.jsonl");
    let blob = sandbox.git(["rev-parse", "HEAD:a.txt"]);
    sandbox.git(["update-ref", LOGS, blob.trim()]);
    let document = sandbox.json(["blame", "a.txt"]);
    assert_eq!(document["lines"][0]["origin"]["kind"], "commit");
    assert!(document["notices"].to_string().contains(LOGS));
}
