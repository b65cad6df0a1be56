//! A repository before one command: copied back before each kill of it, and judged after each recovery.
//!
//! `TW_CRASH=full` tries every way of recovery at every step, and every path; without it each step is followed by one of
//! them, in turn, and of the steps that come once for each path the first two are tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::damage::{assert_fsck_clean, assert_nothing_lost, blobs, document, litter, state_json};
use crate::sandbox::{Kind, Ran, Sandbox};
use crate::state::State;

/// Every fail point, in the order in which a swap passes them.
pub const POINTS: [&str; 28] = [
    "record-objects",
    "record-written",
    "refs-locked",
    "refs-placed",
    "record-ref",
    "swap-locked",
    "swap-backup",
    "swap-linked",
    "swap-journal",
    "apply-written",
    "apply-prepared",
    "apply-removing",
    "apply-removed",
    "apply-dirs",
    "apply-exchanged",
    "apply-switched",
    "apply-letting-go",
    "swap-applied",
    "swap-index",
    "swap-head",
    "swap-operation",
    "swap-looked",
    "swap-proved",
    "swap-state",
    "swap-unchanged",
    "swap-logged",
    "recover-files",
    "recover-git",
];

pub const KILLED: i32 = 128 + 9;

/// How things are put right after a kill.
pub const WAYS: [&[&str]; 4] = [
    &["snapshot"],
    &["recover"],
    &["recover", "--forward"],
    &["recover", "--back"],
];

/// A repository about to run a command, and how it looks before and after.
pub struct Stage {
    pub sandbox: Sandbox,
    pub args: Vec<String>,
    pub old: State,
    pub new: State,
    pub old_mode: Value,
    pub new_mode: Value,
    /// The present that every way home leads to, when the stage knows one.
    pub home: Option<State>,
    pub bytes: BTreeMap<String, PathBuf>,
}

/// Makes what is in a directory the content of another, which stays the same one: by that a directory without git is known.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(to).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
    let done = std::process::Command::new("cp")
        .arg("-a")
        .args([&from.join("."), to])
        .status()
        .unwrap();
    assert!(done.success());
}

/// Copies the working tree and, where that is elsewhere, the git directory into `room`, or from it.
fn copy_all(sandbox: &Sandbox, room: &str, way: Copying) {
    let room = sandbox.root().join(room);
    let mut both = vec![(sandbox.repo(), room.join("tree"))];
    if !sandbox.git_dir().starts_with(sandbox.repo()) {
        both.push((sandbox.git_dir(), room.join("repository")));
    }
    for (there, here) in both {
        match way {
            Copying::Away => copy(&there, &here),
            Copying::Back => copy(&here, &there),
        }
    }
}

#[derive(Clone, Copy)]
enum Copying {
    Away,
    Back,
}

impl Stage {
    /// Runs the command once, for how everything looks afterwards.
    pub fn new(sandbox: Sandbox, args: &[&str], home: Option<State>) -> Self {
        let old = sandbox.state();
        let old_mode = state_json(&sandbox)["mode"].clone();
        let mut bytes = blobs(&sandbox);
        copy_all(&sandbox, "saved", Copying::Away);
        sandbox.ok(args);
        bytes.extend(blobs(&sandbox));
        Self {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            new: sandbox.state(),
            new_mode: state_json(&sandbox)["mode"].clone(),
            old,
            old_mode,
            home,
            bytes,
            sandbox,
        }
    }

    /// Puts the repository back to where it was.
    pub fn rewind(&self) {
        copy_all(&self.sandbox, "saved", Copying::Back);
    }

    /// Makes what is there now the place that [`Stage::rewind`] leads to.
    pub fn keep_this(&self) {
        copy_all(&self.sandbox, "saved", Copying::Away);
    }

    /// Runs the command to its death at a fail point.
    pub fn run_until(&self, args: &[String], point: &str) -> Ran {
        let output = self
            .sandbox
            .tw_command()
            .env("TW_FAIL_POINT", point)
            .arg("--json")
            .args(args)
            .output()
            .unwrap();
        output.into()
    }

    /// Kills the command at every point and each time it is passed, and lets `then` look at what it left.
    pub fn at_every_point(&self, then: &dyn Fn(&Self, usize, &str)) -> usize {
        let mut tried = 0;
        for point in POINTS {
            let passes = if is_full() || !point.starts_with("apply-") {
                usize::MAX
            } else {
                2
            };
            for nth in 1..=passes {
                self.rewind();
                let place = format!("{point}:{nth}");
                let ran = self.run_until(&self.args, &place);
                if ran.code != KILLED {
                    assert_eq!(ran.code, 0, "{place}: {}{}", ran.out(), ran.err());
                    break;
                }
                then(self, tried, &place);
                tried += 1;
            }
        }
        tried
    }

    /// Kills the command at every point, recovers and checks. Gives the number of kills.
    pub fn crash_everywhere(&self) -> usize {
        self.at_every_point(&|stage, tried, place| {
            if !is_full() {
                return stage.recover_and_check(WAYS[tried % WAYS.len()], place);
            }
            copy_all(&stage.sandbox, "crashed", Copying::Away);
            for way in WAYS {
                copy_all(&stage.sandbox, "crashed", Copying::Back);
                stage.recover_and_check(way, place);
            }
        })
    }

    /// Recovers in one way, and checks.
    pub fn recover_and_check(&self, way: &[&str], place: &str) {
        let context = format!("tw {:?} killed at {place}, then tw {way:?}", self.args);
        let journalled = self
            .sandbox
            .git_dir()
            .join("timewarp/journal.json")
            .exists();
        let ran = self.sandbox.tw([&["--json"], way].concat());
        assert_eq!(ran.code, 0, "{context}: {}{}", ran.out(), ran.err());
        if journalled && way == ["snapshot"] {
            let said = document(&ran)["notices"].to_string();
            assert!(said.contains("interrupted"), "{context}: {said}");
        }
        self.check(&context);
    }

    /// One of the two states, whole; nothing lost; no litter; and the working tree is fit for what comes next.
    pub fn check(&self, context: &str) {
        let sandbox = &self.sandbox;
        let now = sandbox.state();
        let mode = &state_json(sandbox)["mode"];
        let present = Value::from("present");
        let same_mode = |known: &Value| {
            mode == known
                || (known.is_null() && *mode == present)
                || (mode.is_null() && *known == present)
        };
        let old = self.old.differences(&now);
        let new = self.new.differences(&now);
        assert!(
            old.is_empty() && same_mode(&self.old_mode)
                || new.is_empty() && same_mode(&self.new_mode),
            "{context}: mode {mode}\nagainst the old state:\n{}\nagainst the new:\n{}",
            old.join("\n"),
            new.join("\n")
        );
        assert_eq!(litter(sandbox), [""; 0], "{context}: litter");
        assert_nothing_lost(sandbox, &self.bytes, context);
        assert_fsck_clean(sandbox, context);
        let Some(home) = &self.home else { return };
        if mode == "past" {
            let ran = sandbox.tw(["--json", "return"]);
            assert_eq!(ran.code, 0, "{context}, then return: {}", ran.out());
            assert_eq!(document(&ran)["verified"], true, "{context}: {}", ran.out());
            let far = home.differences(&sandbox.state());
            assert!(
                far.is_empty(),
                "{context}, then return:\n{}",
                far.join("\n")
            );
        }
    }
}

pub fn is_full() -> bool {
    std::env::var("TW_CRASH").is_ok_and(|value| value == "full")
}

/// A snapshot, and a present far from it: another commit, a conflict under way, all changes of type, untracked files, an
/// empty directory, odd modes.
pub fn eventful() -> (Sandbox, String) {
    eventful_in(Sandbox::new())
}

/// [`eventful`] in a repository that is kept in another way.
pub fn eventful_as(kind: Kind) -> (Sandbox, String) {
    eventful_in(Sandbox::of(kind))
}

/// The same in a repository with one commit.
pub fn eventful_in(sandbox: Sandbox) -> (Sandbox, String) {
    sandbox.write("dir/b.txt", "b\n");
    sandbox.write("dir/sub/c.txt", "c\n");
    sandbox.write("run.sh", "#!/bin/sh\n");
    sandbox.chmod("run.sh", 0o755);
    sandbox.write("shape", "a file\n");
    sandbox.write("both.txt", "base\n");
    sandbox.symlink("a.txt", "link");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "base"]);
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("both.txt", "theirs\n");
    sandbox.git(["commit", "-q", "-am", "theirs"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("a.txt", "one, edited\n");
    sandbox.write("dir/b.txt", "staged\n");
    sandbox.git(["add", "dir/b.txt"]);
    sandbox.write("notes/todo.txt", "untracked, then\n");
    sandbox.write("hollow/once.txt", "in a directory that will be empty\n");
    let snapshot = taken(&sandbox);
    sandbox.git(["reset", "-q", "--hard"]);
    sandbox.write("both.txt", "ours\n");
    sandbox.git(["commit", "-q", "-am", "ours"]);
    assert_eq!(sandbox.try_git(["merge", "-q", "other"]).code, 1);
    sandbox.remove("notes");
    sandbox.write("notes", "a file where a directory was\n");
    sandbox.remove("shape");
    sandbox.write("shape/deep/er.txt", "a directory where a file was\n");
    sandbox.remove("link");
    sandbox.symlink("dir", "link");
    sandbox.chmod("run.sh", 0o700);
    sandbox.remove("dir/sub");
    sandbox.write("a.txt", "one, edited again\n");
    sandbox.write("new/fresh.txt", "only now\n");
    sandbox.chmod("new", 0o700);
    sandbox.remove("hollow/once.txt");
    sandbox.mkdir("empty");
    sandbox.chmod("empty", 0o700);
    (sandbox, snapshot)
}

/// Takes a snapshot and gives its id.
pub fn taken(sandbox: &Sandbox) -> String {
    let taken = sandbox.json(["snapshot"]);
    taken["snapshot"]["snapshot_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// In the past, with changes made there.
pub fn in_the_past() -> (Sandbox, String, State) {
    let (sandbox, snapshot) = eventful();
    let home = sandbox.state();
    sandbox.ok(["travel", &snapshot]);
    sandbox.write("a.txt", "tried something\n");
    sandbox.write("dir/tried.txt", "made in the past\n");
    sandbox.remove("both.txt");
    (sandbox, snapshot, home)
}
