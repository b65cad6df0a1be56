//! A kill at every step of a swap over three repositories, then the next command in any of them: all are on one side, whole.

use std::path::Path;

use super::{PATHS, Trio, assert_same, differences};
use crate::damage::walk;
use crate::stage::{KILLED, POINTS, is_full};
use crate::state::State;

/// The steps of a swap over all, beside those of each one's own.
const OWN: [&str; 3] = ["together-written", "together-decided", "together-ended"];

/// Those that tell most where all of them take too long: `TW_CRASH=full` has all everywhere.
const TELLING: [&str; 5] = [
    "swap-backup",
    "swap-journal",
    "swap-applied",
    "swap-proved",
    "swap-state",
];

/// How things are put right, and where.
const WAYS: [(&str, &[&str]); 4] = [
    ("", &["snapshot"]),
    ("../lib", &["recover"]),
    ("", &["recover"]),
    ("nested", &["snapshot"]),
];

fn copy(from: &Path, to: &Path) {
    if to.exists() {
        std::fs::remove_dir_all(to).unwrap();
    }
    let done = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(done.unwrap().success());
}

struct Stage {
    trio: Trio,
    args: Vec<String>,
    old: (Vec<State>, Vec<String>),
    new: (Vec<State>, Vec<String>),
    home: Vec<State>,
}

impl Stage {
    fn new(trio: Trio, args: &[&str], home: Vec<State>) -> Self {
        let old = (trio.states(), trio.modes());
        let root = trio.sandbox.root();
        std::fs::create_dir_all(root.join("saved")).unwrap();
        for name in ["repo", "lib"] {
            copy(&root.join(name), &root.join("saved").join(name));
        }
        trio.json_in("", args);
        Self {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            new: (trio.states(), trio.modes()),
            old,
            home,
            trio,
        }
    }

    fn rewind(&self) {
        let root = self.trio.sandbox.root();
        for name in ["repo", "lib"] {
            copy(&root.join("saved").join(name), &root.join(name));
        }
    }

    /// Kills it wherever it can be killed, for each repository that passes there. Gives the number of kills.
    fn crash_everywhere(&self) -> usize {
        let mut tried = 0;
        // How a backup is made, and how files are put in place, is the same for all three, and has tests of its own.
        let is_own = |point: &str| {
            !["record-", "refs-", "apply-"]
                .iter()
                .any(|own| point.starts_with(own))
        };
        let is_travel = self.args[0] == "travel";
        let is_tried = |point: &&&str| {
            is_full() || is_travel || OWN.contains(point) || TELLING.contains(point)
        };
        for point in POINTS.iter().chain(&OWN).filter(is_tried) {
            // Once in each of the three.
            let is_once = !is_full() && !is_own(point);
            let passes = if is_once { 1 } else { usize::MAX };
            for nth in 1..=passes {
                self.rewind();
                let place = format!("{point}:{nth}");
                let sandbox = &self.trio.sandbox;
                let output = sandbox
                    .tw_command()
                    .env("TW_FAIL_POINT", &place)
                    .arg("--json")
                    .args(&self.args)
                    .output()
                    .unwrap();
                let ran = crate::sandbox::Ran::from(output);
                if ran.code != KILLED {
                    assert_eq!(ran.code, 0, "{place}: {}{}", ran.out(), ran.err());
                    break;
                }
                self.recover_and_check(WAYS[tried % WAYS.len()], &place);
                tried += 1;
            }
        }
        tried
    }

    fn recover_and_check(&self, (path, way): (&str, &[&str]), place: &str) {
        let context = format!(
            "tw {:?} killed at {place}, then tw {way:?} in '{path}'",
            self.args
        );
        let ran = self.trio.tw_in(path, way);
        assert_eq!(ran.code, 0, "{context}: {}{}", ran.out(), ran.err());
        let now = (self.trio.states(), self.trio.modes());
        let [old, new] = [&self.old, &self.new].map(|side| differences(&side.0, &now.0));
        assert!(
            old.is_empty() && now.1 == self.old.1 || new.is_empty() && now.1 == self.new.1,
            "{context}: modes {:?}\nagainst the old states:\n{}\nagainst the new:\n{}\n{}",
            now.1,
            old.join("\n"),
            new.join("\n"),
            ran.out()
        );
        for root in PATHS {
            let dir = self.trio.sandbox.path(root).join(".git/timewarp");
            for name in ["journal.json", "together.json"] {
                assert!(!dir.join(name).exists(), "{context}: {root}/{name}");
            }
            for name in ["index.lock", "HEAD.lock"] {
                let lock = self.trio.sandbox.path(root).join(".git").join(name);
                assert!(!lock.exists(), "{context}: {root}/{name}");
            }
            let fsck = ["fsck", "--strict", "--no-dangling", "--no-progress"];
            self.trio.sandbox.git_in(self.trio.sandbox.path(root), fsck);
        }
        walk(&self.trio.sandbox.root().join("lib"), &mut |path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(!name.starts_with(".tw-"), "{context}: {}", path.display());
        });
        if now.1 == ["past"; 3] {
            self.trio.json_in("", &["return"]);
            let far = differences(&self.home, &self.trio.states());
            assert!(
                far.is_empty(),
                "{context}, then return:\n{}",
                far.join("\n")
            );
        }
    }
}

#[test]
fn a_killed_travel_is_undone_in_all_or_done_in_all() {
    let trio = Trio::new();
    let home = trio.states();
    let snapshot = trio.snapshot.clone();
    let stage = Stage::new(trio, &["travel", &snapshot], home);
    assert!(stage.crash_everywhere() >= 40);
}

#[test]
fn a_killed_return_is_undone_in_all_or_done_in_all() {
    let trio = Trio::new();
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    for path in PATHS {
        trio.sandbox
            .write(trio.sandbox.path(path).join("a.txt"), "tried something\n");
    }
    let stage = Stage::new(trio, &["return"], home);
    assert!(stage.crash_everywhere() >= 15);
}

#[test]
fn a_killed_undo_is_undone_in_all_or_done_in_all() {
    let trio = Trio::new();
    let home = trio.states();
    trio.json_in("", &["travel", &trio.snapshot]);
    let stage = Stage::new(trio, &["undo"], home);
    assert!(stage.crash_everywhere() >= 15);
}

#[test]
fn the_way_that_was_not_decided_is_refused() {
    let trio = Trio::new();
    let home = trio.states();
    let snapshot = trio.snapshot.clone();
    let stage = Stage::new(trio, &["travel", &snapshot], home);
    for (point, wrong, right) in [
        ("swap-applied:2", "--forward", "--back"),
        ("together-decided", "--back", "--forward"),
    ] {
        stage.rewind();
        let trio = &stage.trio;
        let killed = trio
            .sandbox
            .tw_command()
            .env("TW_FAIL_POINT", point)
            .args(&stage.args)
            .output()
            .unwrap();
        assert_eq!(killed.status.code(), None);
        let refused = crate::damage::document(&trio.tw_in("../lib", &["recover", wrong]));
        assert_eq!(refused["error"]["code"], "USAGE", "{refused}");
        trio.json_in("../lib", &["recover", right]);
        let side = if right == "--back" {
            &stage.old
        } else {
            &stage.new
        };
        assert_same(&side.0, &trio.states());
        assert_eq!(trio.modes(), side.1);
    }
}
