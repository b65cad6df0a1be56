//! Taking a rewind back, by command and after a kill.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use timewarp::agents;

use super::{fork_path, prompts, read, rewinds, session_files, three_turns};
use crate::sandbox::Sandbox;
use crate::stage::{KILLED, POINTS, Stage, WAYS};
use crate::transcripts::{Kind, Talk};

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
fn quiet_it_prints_the_command_and_the_undo_the_backup() {
    let sandbox = Sandbox::new();
    three_turns(&sandbox, Kind::Claude);
    let line = sandbox.ok(["-q", "rewind", "1", "--both"]);
    let resumes = format!("cd {} && claude --resume ", sandbox.repo().display());
    assert!(line.starts_with(&resumes), "{line}");
    assert_eq!(line.lines().count(), 1);
    let undone = sandbox.ok(["-q", "rewind", "--undo"]);
    let backups = sandbox.json(["list", "--kind", "backup", "-n", "1"]);
    let newest = backups["snapshots"][0]["snapshot_id"].as_str().unwrap();
    assert_eq!(undone, format!("{newest}\n"));
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
