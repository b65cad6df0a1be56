//! A thread of Codex's that goes on in another rollout: after its own rewind, in its own fork, archived and compressed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{fork_path, prompts, read};
use crate::issue::report;
use crate::sandbox::Sandbox;
use crate::transcripts::{Kind, Talk};

const SEGMENTS: [&str; 2] = [
    "019e1625-aaaa-76c0-80ab-3724b5ddb700",
    "019e1625-bbbb-76c0-80ab-3724b5ddb700",
];

/// A rollout of `thread` that goes on where the first `end` bytes of the one at `base` end.
fn going_on<'s>(
    sandbox: &'s Sandbox,
    (thread, name): (&str, &str),
    base: &Path,
    end: usize,
) -> Talk<'s> {
    let stem = base.file_stem().unwrap().to_str().unwrap();
    let before = std::fs::read_to_string(base).unwrap();
    let base_head = json!({
        "thread_id": stem[stem.len() - 36..],
        "end_ordinal_exclusive": before[..end].lines().count(),
        "end_byte_offset": end,
    });
    let head = json!({"timestamp": "2026-02-28T15:40:00.000Z", "type": "session_meta", "payload": {
        "id": thread, "session_id": thread, "cwd": sandbox.repo(), "cli_version": "0.171.0", "history_base": base_head}});
    let path = base.with_file_name(format!("rollout-2026-02-28T15-40-00-{name}.jsonl"));
    std::fs::write(&path, format!("{head}\n")).unwrap();
    let talk = Talk::resumed(sandbox, Kind::Codex, thread, &path);
    talk.hook("SessionStart", &json!({"source": "resume"}));
    talk
}

/// The segment in which a thread goes on when Codex took back what stands behind `end`.
fn segment<'s>(talk: &Talk<'s>, id: &str, end: usize) -> Talk<'s> {
    talk.hook("SessionEnd", &json!({"reason": "other"}));
    let name = format!("{}_{id}", talk.id);
    going_on(
        talk.sandbox,
        (talk.id.as_str(), name.as_str()),
        &talk.path,
        end,
    )
}

/// A thread with the prompts one, three and five: Codex took back two, then four.
fn taken_back_twice(sandbox: &Sandbox) -> [Talk<'_>; 3] {
    let first = Talk::new(sandbox, Kind::Codex);
    first.hook("SessionStart", &json!({"source": "startup"}));
    first.turn("one", 1000);
    let end = first.bytes().len();
    first.turn("two", 2000);
    let second = segment(&first, SEGMENTS[0], end);
    second.turn("three", 3000);
    let end = second.bytes().len();
    second.turn("four", 4000);
    let third = segment(&second, SEGMENTS[1], end);
    third.turn("five", 5000);
    [first, second, third]
}

fn discarded(rewound: &Value) -> &Value {
    &rewound["conversation"]["messages_discarded"]
}

#[test]
fn a_thread_that_codex_took_back_goes_back_to_each_of_its_prompts() {
    let sandbox = Sandbox::new();
    let [_, _, last] = taken_back_twice(&sandbox);
    assert_eq!(prompts(&read(&last.path)), ["one", "three", "five"]);
    let before: Vec<_> = super::session_files(&sandbox)
        .into_iter()
        .map(|path| (std::fs::read(&path).unwrap(), path))
        .collect();
    for (checkpoint, gone, kept) in [
        ("0", 6, None),
        ("1", 4, Some(vec!["one"])),
        ("2", 4, Some(vec!["one"])),
        ("3", 2, Some(vec!["one", "three"])),
        ("4", 2, Some(vec!["one", "three"])),
    ] {
        let looked = sandbox.json(["rewind", checkpoint, "--conversation", "--dry-run"]);
        assert_eq!(discarded(&looked), gone, "{checkpoint}");
        let rewound = sandbox.json(["rewind", checkpoint, "--conversation"]);
        assert_eq!(discarded(&rewound), gone, "{checkpoint}");
        match kept {
            Some(kept) => assert_eq!(prompts(&read(&fork_path(&rewound))), kept, "{checkpoint}"),
            None => assert_eq!(rewound["conversation"]["fork"], Value::Null),
        }
    }
    for (bytes, path) in before {
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{}", path.display());
    }
    let tokens: Vec<Value> = last
        .checkpoints()
        .iter()
        .map(|checkpoint| checkpoint["tokens"]["context"].clone())
        .collect();
    assert_eq!(json!(tokens), json!([null, 1000, 1000, 3000, 3000]));
}

#[test]
fn all_of_such_a_thread_is_told() {
    let sandbox = Sandbox::new();
    let [first, _, last] = taken_back_twice(&sandbox);
    let shown = sandbox.json(["session", "show", &last.id]);
    assert_eq!(shown["session"]["title"], "one");
    assert_eq!(shown["session"]["prompts"], 3);
    assert_eq!(shown["notices"], json!([]));
    let chat = || {
        let reported = report(&sandbox, &[]);
        let chat = sandbox.json(["issue", "chat", reported["issue_id"].as_str().unwrap()]);
        (reported["notices"].clone(), chat["chat"].clone())
    };
    let (notices, whole) = chat();
    assert_eq!(whole["messages"][0]["text"], "one");
    assert_eq!(
        (&whole["selection"], notices),
        (&json!("whole session"), json!([]))
    );
    std::fs::remove_file(&first.path).unwrap();
    let why = format!(
        "the conversation lacks its beginning: the rollout '{}' that it goes on from is gone",
        first.id
    );
    let shown = sandbox.json(["session", "show", &last.id]);
    assert_eq!(shown["notices"], json!([why]));
    let (notices, rest) = chat();
    assert_eq!(rest["messages"][0]["text"], "five");
    assert_eq!(rest["selection"], "whole session without its beginning");
    assert_eq!(notices, json!([why]));
    let (error, _) = sandbox.json_error(["rewind", "4", "--conversation"]);
    assert_eq!(error["code"], "CHECKPOINT_UNAVAILABLE");
}

#[test]
fn a_fork_that_codex_made_of_such_a_thread_is_whole() {
    let sandbox = Sandbox::new();
    let [_, _, last] = taken_back_twice(&sandbox);
    let id = "019e1625-cccc-76c0-80ab-3724b5ddb700";
    let fork = going_on(&sandbox, (id, id), &last.path, last.bytes().len());
    fork.turn("six", 6000);
    assert_eq!(prompts(&read(&fork.path)), ["one", "three", "five", "six"]);
    let rewound = sandbox.json(["rewind", &format!("{id}:0"), "--conversation"]);
    assert_eq!(discarded(&rewound), 2);
    assert_eq!(
        prompts(&read(&fork_path(&rewound))),
        ["one", "three", "five"]
    );
}

#[test]
fn a_rollout_that_codex_archived_is_found_and_a_compressed_one_is_named() {
    let sandbox = Sandbox::new();
    let [first, second, last] = taken_back_twice(&sandbox);
    let archive = |path: &Path, suffix: &str| -> PathBuf {
        let name = format!("{}{suffix}", path.file_name().unwrap().to_str().unwrap());
        let dir = sandbox.home().join(".codex/archived_sessions");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::rename(path, dir.join(&name)).unwrap();
        dir.join(name)
    };
    let moved = [&first, &second, &last].map(|talk| archive(&talk.path, ""));
    for (checkpoint, gone) in [("1", 4), ("3", 2), ("4", 2)] {
        let looked = sandbox.json(["rewind", checkpoint, "--conversation", "--dry-run"]);
        assert_eq!(discarded(&looked), gone, "{checkpoint}");
    }
    assert_eq!(
        sandbox.json(["session", "show", &last.id])["session"]["prompts"],
        3
    );
    let packed = archive(&moved[2], ".zst");
    let (error, code) = sandbox.json_error(["rewind", "4", "--conversation"]);
    let said = format!(
        "session file '{}' is compressed: Codex archived it",
        packed.display()
    );
    assert_eq!((&error["code"], code), (&json!("TRANSCRIPT_NOT_FOUND"), 3));
    assert_eq!(error["message"], said.as_str());
    assert_eq!(
        error["hints"][0],
        format!("'zstd -d {}' unpacks it beside", packed.display())
    );
    assert_eq!(
        sandbox.json(["session", "show", &last.id])["notices"],
        json!([said])
    );
    let reported = report(&sandbox, &[]);
    assert_eq!(
        reported["notices"],
        json!([format!("chat unavailable: {said}")])
    );
}
