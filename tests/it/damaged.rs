//! Damaged files of tw's own: whatever is wrong with one, what is typed as the error says leads back to the exact present.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::faults::killed_at;
use crate::sandbox::{Ran, Sandbox};
use crate::state::State;
use crate::trip::{snapshot, state_json};

/// How a file is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Torn,
    Empty,
    Garbage,
    Directory,
    Nowhere,
    Pipe,
    Gone,
}

const ALL: [How; 7] = [
    How::Torn,
    How::Empty,
    How::Garbage,
    How::Directory,
    How::Nowhere,
    How::Pipe,
    How::Gone,
];

fn damage(path: &Path, how: How) {
    match how {
        How::Torn => {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            return;
        }
        How::Empty => return std::fs::write(path, "").unwrap(),
        How::Garbage if path.is_file() => {
            return std::fs::write(path, b"\0\xff{garbage\n").unwrap();
        }
        _ if path.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        _ => std::fs::remove_file(path).unwrap(),
    }
    match how {
        How::Directory => {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("x"), "x").unwrap();
        }
        How::Nowhere => std::os::unix::fs::symlink("/nonexistent/x", path).unwrap(),
        How::Pipe => {
            let (kind, mode) = (
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
            );
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }
        How::Garbage => std::fs::write(path, b"\0\xff{garbage\n").unwrap(),
        How::Gone | How::Torn | How::Empty => {}
    }
}

/// A present that ignores a directory, and a past that has a tracked file in it: travel makes `ign/past`, which only what travel noted
/// takes away again.
struct Trip {
    sandbox: Sandbox,
    kept: PathBuf,
    past: String,
}

impl Trip {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("ign/past", "past\n");
        sandbox.git(["add", "-f", "ign/past"]);
        sandbox.git(["commit", "-qm", "past"]);
        let past = snapshot(&sandbox);
        sandbox.git(["rm", "-q", "ign/past"]);
        sandbox.write("ign/mine", "mine\n");
        sandbox.write(".gitignore", "ign/\n");
        sandbox.write("env/.gitignore", "*\n");
        sandbox.write("env/lib", "lib\n");
        sandbox.write("a.txt", "present\n");
        sandbox.ok(["restore", &past, "ign/past"]);
        sandbox.ok(["undo"]);
        let kept = sandbox.root().join("kept");
        Self {
            sandbox,
            kept,
            past,
        }
    }

    fn travel(&self) -> &Self {
        self.sandbox.json(["travel", &self.past]);
        self
    }

    fn own(&self, name: &str) -> PathBuf {
        self.sandbox.git_dir().join("timewarp").join(name)
    }

    /// The only file in a directory of tw's own.
    fn level(&self, dir: &str) -> String {
        let mut names: Vec<String> = std::fs::read_dir(self.own(dir))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        format!("{dir}/{}", names.last().unwrap())
    }

    fn copy(from: &Path, to: &Path) {
        let _ = std::fs::remove_dir_all(to);
        let done = Command::new("cp").arg("-a").arg(from).arg(to).status();
        assert!(done.unwrap().success());
    }

    fn keep(&self) {
        Self::copy(&self.sandbox.repo(), &self.kept);
    }

    fn bring_back(&self) {
        Self::copy(&self.kept, &self.sandbox.repo());
    }

    /// Types what the hints say until a command goes through.
    fn home(&self, args: &[&str], what: &str) -> Vec<String> {
        let mut typed: Vec<String> = Vec::new();
        for _ in 0..4 {
            let ran = self.sandbox.tw(args);
            // It may have been the end of the return that failed, which recovery has made up for.
            if ran.code == 0 || ran.err().contains("not in the past") {
                return typed;
            }
            let next = commands(&ran).into_iter().find(|one| !typed.contains(one));
            let next = next.unwrap_or_else(|| panic!("{what}: no way out: {}", ran.err()));
            let words: Vec<&str> = next.split(' ').skip(1).collect();
            self.sandbox.tw(words);
            typed.push(next);
        }
        panic!("{what}: in a circle: {typed:?}");
    }
}

/// The commands of ours that the hints name.
fn commands(ran: &Ran) -> Vec<String> {
    let text = ran.err();
    let hints = text.lines().filter(|line| line.starts_with("hint: "));
    let quoted = hints.flat_map(|line| line.split('\'').skip(1).step_by(2).map(str::to_owned));
    quoted.filter(|one| one.starts_with("tw ")).collect()
}

/// Damages each of the files in each way and goes home.
fn each_leads_home(trip: &Trip, names: &[&str], hows: &[How], expected: &State) {
    trip.keep();
    for name in names {
        for how in hows {
            let what = format!("{how:?} {name}");
            trip.bring_back();
            if trip.own(name).symlink_metadata().is_err() {
                continue;
            }
            damage(&trip.own(name), *how);
            for args in [&["status"][..], &["snapshot"], &["undo", "--list"]] {
                let ran = trip.sandbox.tw(args);
                let says = commands(&ran);
                assert!(
                    ran.code == 0 || says.iter().any(|one| one == "tw recover"),
                    "{what}: {args:?}: {}",
                    ran.err()
                );
            }
            trip.home(&["return"], &what);
            expected.assert_same(&trip.sandbox.state());
            assert_eq!(state_json(&trip.sandbox)["mode"], "present", "{what}");
            assert_eq!(trip.sandbox.tw(["snapshot"]).code, 0, "{what}");
        }
    }
    trip.bring_back();
}

#[test]
fn a_damaged_state_keeps_nobody_in_the_past() {
    let trip = Trip::new();
    let present = trip.sandbox.state();
    trip.travel();
    each_leads_home(&trip, &["state.json"], &ALL, &present);
}

#[test]
fn a_state_that_names_another_backup_keeps_nobody_in_the_past() {
    let trip = Trip::new();
    let present = trip.sandbox.state();
    trip.travel().keep();
    let commit = state_json(&trip.sandbox)["backup_commit"].clone();
    let commit = commit.as_str().expect("a commit").to_owned();
    let digit = if commit.starts_with('0') { "1" } else { "0" };
    for (field, value) in [
        ("backup_commit", json!(format!("{digit}{}", &commit[1..]))),
        ("backup_commit", json!("no commit")),
        ("backup_id", Value::Null),
        ("backup_id", json!("b_20200101_000000_aaaaaa")),
    ] {
        trip.bring_back();
        let mut state = state_json(&trip.sandbox);
        state[field] = value;
        let what = state.to_string();
        std::fs::write(trip.own("state.json"), &what).unwrap();
        let doctor = trip.sandbox.tw(["--json", "doctor"]).out();
        assert!(
            doctor.contains("\"fix\":\"tw recover\""),
            "{what}: {doctor}"
        );
        trip.home(&["return"], &what);
        present.assert_same(&trip.sandbox.state());
    }
}

#[test]
fn a_damaged_level_of_a_stay_keeps_nobody_in_the_past() {
    let trip = Trip::new();
    let present = trip.sandbox.state();
    trip.travel();
    let (stay, undo) = (trip.level("stay"), trip.level("undo"));
    each_leads_home(&trip, &[&stay, &undo], &ALL, &present);
    each_leads_home(
        &trip,
        &["stay", "undo", "redo", "swaps"],
        &[How::Garbage, How::Nowhere, How::Gone],
        &present,
    );
}

#[test]
fn what_nobody_knows_of_a_stay_is_told_before_the_return_and_with_it() {
    let trip = Trip::new();
    trip.sandbox.write("late.txt", "");
    let late = crate::stage::taken(&trip.sandbox);
    trip.travel();
    trip.sandbox.json(["restore", &late, "late.txt"]);
    for place in ["stay", "undo"] {
        for entry in std::fs::read_dir(trip.own(place)).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains("restore-") {
                damage(&path, How::Garbage);
            }
        }
    }
    damage(&trip.own("unsettled.json"), How::Gone);
    for args in [&["return", "--dry-run"][..], &["return"]] {
        let returned = trip.sandbox.json(args);
        assert!(
            returned["notices"].to_string().contains("is not known"),
            "{args:?}: {returned}"
        );
    }
}

#[test]
fn a_damaged_journal_of_the_last_swap_stops_nothing() {
    let trip = Trip::new();
    let present = trip.sandbox.state();
    trip.travel();
    let file = trip.own("unsettled.json");
    if !file.exists() {
        std::fs::copy(trip.own(&trip.level("undo")), &file).unwrap();
    }
    trip.keep();
    for how in ALL {
        trip.bring_back();
        damage(&file, how);
        for args in [&["status"][..], &["snapshot"], &["return"], &["snapshot"]] {
            let ran = trip.sandbox.tw(args);
            assert_eq!(ran.code, 0, "{how:?} {args:?}: {}", ran.err());
            let is_told = ran.err().contains("unsettled.json.damaged")
                || ran.out().contains("unsettled.json.damaged");
            let telling = args == ["return"] && how != How::Gone && how != How::Nowhere;
            assert!(
                is_told || !telling,
                "{how:?} {args:?}: {} {}",
                ran.out(),
                ran.err()
            );
        }
        present.assert_same(&trip.sandbox.state());
        let check = doctor(&trip.sandbox, "state");
        let is_told = check["message"]
            .as_str()
            .unwrap()
            .contains("unsettled.json.damaged");
        assert_eq!(is_told, how != How::Gone, "{how:?} {check}");
    }
}

#[test]
fn files_that_only_help_keep_nobody_in_the_past() {
    let trip = Trip::new();
    let present = trip.sandbox.state();
    trip.travel();
    let names = [
        "boot",
        "cache",
        "env.json",
        "gate",
        "id",
        "lock",
        "made-here",
        "running",
        "seq",
    ];
    each_leads_home(
        &trip,
        &names,
        &[How::Directory, How::Nowhere, How::Pipe],
        &present,
    );
    each_leads_home(&trip, &["id", "seq"], &[How::Empty, How::Garbage], &present);
    each_leads_home(&trip, &["id"], &[How::Torn], &present);
}

#[test]
fn what_the_present_left_out_is_kept_where_its_list_is_damaged() {
    let trip = Trip::new();
    trip.travel();
    trip.keep();
    for how in ALL {
        trip.bring_back();
        damage(&trip.own("unsaved.json"), how);
        trip.home(&["return"], &format!("{how:?}"));
        assert_eq!(trip.sandbox.text("a.txt"), "present\n", "{how:?}");
        let lib = trip.sandbox.path("env/lib");
        let newest = trip.sandbox.tw(["list", "--kind", "experiment", "--json"]);
        assert!(lib.exists() || newest.out().contains("x_"), "{how:?}");
    }
}

#[test]
fn a_backup_whose_ref_is_gone_comes_back_as_doctor_says() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    sandbox.write("a.txt", "changed\n");
    sandbox.ok(["travel", "latest"]);
    sandbox.ok(["return"]);
    let lose = || {
        for name in sandbox
            .git([
                "for-each-ref",
                "--format=%(refname)",
                "refs/timewarp/backups",
            ])
            .lines()
        {
            sandbox.git(["update-ref", "-d", name]);
        }
    };
    lose();
    let fix = doctor(&sandbox, "undo-log")["fix"]
        .as_str()
        .unwrap()
        .to_owned();
    let words: Vec<&str> = fix.split(' ').skip(1).collect();
    assert_eq!(words[..2], ["recover", "--dropped"]);
    sandbox.ok(&words);
    assert_eq!(doctor(&sandbox, "undo-log")["status"], "ok");
    lose();
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "--quiet", "--prune=now"]);
    let check = doctor(&sandbox, "undo-log");
    assert_eq!(check["status"], "warning");
    let fix = check["fix"].as_str().unwrap();
    assert!(fix.starts_with("nothing brings them back"), "{check}");
    sandbox.assert_sound();
}

#[test]
fn doctor_names_the_command_that_mends() {
    let trip = Trip::new();
    trip.travel();
    for how in [How::Garbage, How::Directory] {
        damage(&trip.own("state.json"), how);
        assert_eq!(
            doctor(&trip.sandbox, "state")["fix"],
            "tw recover",
            "{how:?}"
        );
    }
    let recovered = trip.sandbox.json(["recover"]);
    assert_eq!(recovered["action"], "mended");
    assert_eq!(state_json(&trip.sandbox)["mode"], "past");
    let check = doctor(&trip.sandbox, "state");
    assert_eq!(check["status"], "warning", "{check}");
}

#[test]
fn a_level_that_does_not_say_who_may_use_its_paths_is_damaged() {
    let trip = Trip::new();
    let level = trip.own(&trip.level("redo"));
    let text = std::fs::read(&level).unwrap();
    let mut journal: Value = serde_json::from_slice(&text).unwrap();
    journal["access"] = "anybody".into();
    std::fs::write(&level, journal.to_string()).unwrap();
    let check = doctor(&trip.sandbox, "state");
    assert_eq!(check["fix"], "tw recover", "{check}");
    let named = check["message"].as_str().unwrap();
    assert!(named.contains(level.to_str().unwrap()), "{check}");
    assert_eq!(trip.sandbox.json(["recover"])["action"], "mended");
    assert!(!level.exists());
    assert_eq!(doctor(&trip.sandbox, "state")["status"], "warning");
    trip.sandbox.ok(["undo", "--list"]);
}

#[test]
fn an_interrupted_swap_is_recovered_where_the_state_is_damaged() {
    let trip = Trip::new();
    let present = trip.sandbox.state();
    killed_at(&trip.sandbox, "swap-applied", &["travel", &trip.past]);
    assert!(trip.own("journal.json").exists());
    damage(&trip.own("state.json"), How::Garbage);
    trip.home(&["snapshot"], "interrupted");
    present.assert_same(&trip.sandbox.state());
    assert_eq!(state_json(&trip.sandbox)["mode"], "present");
}

/// What is kept of the index has a second name: the index itself, as long as the swap has not replaced it.
#[test]
fn a_damaged_index_that_was_kept_is_made_again() {
    let trip = Trip::new();
    trip.sandbox.write("staged", "staged\n");
    trip.sandbox.git(["add", "staged"]);
    trip.sandbox.write("staged", "and edited\n");
    let present = trip.sandbox.state();
    for point in [
        "swap-journal",
        "swap-applied",
        "index-written",
        "recover-files",
    ] {
        let script: &[&str] = if point == "recover-files" {
            killed_at(&trip.sandbox, "swap-index", &["travel", &trip.past]);
            &["recover", "-y"]
        } else {
            &["travel", &trip.past]
        };
        killed_at(&trip.sandbox, point, script);
        trip.keep();
        for how in ALL.into_iter().filter(|how| *how != How::Gone) {
            let what = format!("{point} {how:?}");
            trip.bring_back();
            damage(&trip.own("index.before"), how);
            if how == How::Empty {
                killed_at(&trip.sandbox, "index-written", &["recover", "-y"]);
            }
            let recovered = trip.sandbox.json(["recover", "-y"]);
            let notices = recovered["notices"].to_string();
            assert!(
                notices.contains("index.before.damaged"),
                "{what}: {recovered}"
            );
            let far = present.differences(&trip.sandbox.state());
            assert!(far.is_empty(), "{what}: {far:?}");
            assert!(trip.own("index.before.damaged").symlink_metadata().is_ok());
        }
        trip.bring_back();
        trip.sandbox.json(["recover", "-y"]);
        present.assert_same(&trip.sandbox.state());
    }
}

#[test]
fn where_the_journal_is_damaged_too_what_brings_the_files_back_is_named() {
    let trip = Trip::new();
    killed_at(&trip.sandbox, "swap-applied", &["travel", &trip.past]);
    damage(&trip.own("journal.json"), How::Garbage);
    let ran = trip.sandbox.tw(["travel", &trip.past]);
    assert!(
        commands(&ran).contains(&"tw recover".to_owned()),
        "{}",
        ran.err()
    );
    let recovered = trip.sandbox.json(["recover"]);
    let notices = recovered["notices"].to_string();
    let words: Vec<&str> = notices.split('\'').collect();
    let restore = words.iter().find(|word| word.starts_with("tw restore b_"));
    let words: Vec<&str> = restore.unwrap().split(' ').skip(1).collect();
    trip.sandbox.ok(words);
    assert_eq!(trip.sandbox.text("a.txt"), "present\n");
}

/// One check of the check-up.
fn doctor(sandbox: &Sandbox, name: &str) -> Value {
    let ran = sandbox.tw(["doctor", "--json"]);
    let document: Value = serde_json::from_str(&ran.out()).unwrap();
    let checks = document["checks"].as_array().unwrap().iter();
    checks
        .clone()
        .find(|check| check["name"] == name)
        .unwrap()
        .clone()
}

#[test]
fn the_way_out_is_named_where_the_directory_is_given_as_well() {
    let sandbox = Sandbox::new();
    sandbox.snap();
    sandbox.write(".git/timewarp/state.json", "junk");
    let root = sandbox.root();
    for dir in ["repo", sandbox.repo().to_str().unwrap()] {
        let said = sandbox.tw_in(&root, ["-C", dir, "status"]).err();
        assert!(
            said.contains("'tw recover' sets damaged files"),
            "{dir}: {said}"
        );
    }
}

#[test]
fn doctor_names_the_way_home_from_a_past_whose_snapshot_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "gc.auto", "0"]);
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.root().join("linked");
    let there = linked.to_str().unwrap();
    std::fs::write(linked.join("made"), "made\n").unwrap();
    let in_linked = |args: &[&str]| -> Value {
        let ran = sandbox.tw([&["-C", there, "--json"], args].concat());
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    let taken = in_linked(&["snapshot"]);
    let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
    std::fs::remove_file(linked.join("made")).unwrap();
    in_linked(&["travel", id]);
    let commit = crate::trip::commit_of(&sandbox, id);
    let (dir, name) = commit.split_at(2);
    sandbox.remove(format!(".git/objects/{dir}/{name}"));
    let fix = |found: &Value| {
        let checks = found["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "snapshots");
        check.unwrap()["fix"].as_str().unwrap().to_owned()
    };
    let here = || {
        doctor(&sandbox, "snapshots")["fix"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(fix(&in_linked(&["doctor"])), "tw return");
    assert_eq!(here(), format!("tw -C {there} return"));
    let back = in_linked(&["return"]);
    assert_eq!(back["verified"], true, "{back}");
    assert!(!linked.join("made").exists());
    // The undo log there holds it.
    let drop = format!("tw -C {there} drop --force {id}");
    assert_eq!(here(), drop);
    let dropped = sandbox.paste(&format!("{drop} -y"));
    assert_eq!(dropped.code, 0, "{}", dropped.err());
}

#[test]
fn doctor_names_the_drop_that_is_not_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "gc.auto", "0"]);
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.root().join("linked");
    let there = linked.to_str().unwrap().to_owned();
    let id = snapshot(&sandbox);
    let experiment = |dir: &str| {
        let run = |args: &[&str]| -> Value {
            let ran = sandbox.tw([&["-C", dir, "--json"], args].concat());
            serde_json::from_slice(&ran.stdout).unwrap()
        };
        run(&["travel", &id]);
        std::fs::write(Path::new(dir).join("made"), format!("in {dir}\n")).unwrap();
        let returned = run(&["return"]);
        returned["experiment_id"].as_str().unwrap().to_owned()
    };
    let damage = |id: &str| {
        let commit = crate::trip::commit_of(&sandbox, id);
        let junk = sandbox.git(["commit-tree", "-m", "junk", "HEAD^{tree}"]);
        let refs = sandbox.git([
            "for-each-ref",
            "--points-at",
            &commit,
            "--format=%(refname)",
        ]);
        for name in refs.lines() {
            sandbox.git(["update-ref", name, junk.trim()]);
        }
    };
    let here = sandbox.repo().to_str().unwrap().to_owned();
    sandbox.write("kept.txt", "kept\n");
    let labelled = snapshot(&sandbox);
    sandbox.json(["label", &labelled, "kept"]);
    let cases = [
        (experiment(&here), "tw drop --force ID".to_owned()),
        (experiment(&there), format!("tw -C {there} drop --force ID")),
        (labelled, "tw drop --force ID".to_owned()),
    ];
    for (id, drop) in cases {
        damage(&id);
        let fix = doctor(&sandbox, "snapshots")["fix"].clone();
        assert_eq!(fix, drop.replace("ID", &id));
        let ran = sandbox.paste(&format!("{} -y", fix.as_str().unwrap()));
        assert_eq!(ran.code, 0, "{fix} {}", ran.err());
        assert_eq!(doctor(&sandbox, "snapshots")["fix"], Value::Null);
    }
}
