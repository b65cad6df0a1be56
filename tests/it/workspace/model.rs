//! A model of a workspace: random sequences of edits in three repositories, of snapshots of their head, of trips, hops, returns, undos
//! and redos, with kills in the middle of some, against copies of all three.
//!
//! After each command all three are where they have to be, in full; after a kill and a recovery in any of them all are as before, or
//! all are where it led. What `tw` itself notes is not looked at. `TW_MODEL_CASES`, `TW_MODEL_STEPS` and `TW_MODEL_SEED` as in
//! `tests/it/model`.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::Value;

use super::{PATHS, Trio, differences};
use crate::model::{number, seeded};
use crate::stage::KILLED;
use crate::state::State;

const FILES: [&str; 6] = [
    "a.txt",
    "b",
    "dir",
    "dir/new.txt",
    "dir/deep/er",
    "staged.txt",
];
const DEATHS: [&str; 8] = [
    "swap-locked",
    "swap-journal",
    "together-written",
    "apply-switched",
    "swap-index",
    "together-decided",
    "swap-state",
    "together-ended",
];

/// A step; the first number says in which repository.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, &'static str, u8),
    Remove(usize, &'static str),
    Mode(usize, &'static str),
    Add(usize),
    Snapshot,
    /// A snapshot of a member's own.
    Alone(usize),
    /// Travel from the present, return from the past.
    Trip(usize, Death),
    Hop(usize, Death),
    Undo(Death),
    Redo(Death),
}

/// Where the command dies, if it does: the point, its how manieth passing, and in which repository it is recovered.
type Death = Option<(&'static str, usize, usize)>;

fn step() -> impl Strategy<Value = Step> {
    let repo = || 0..PATHS.len();
    let file = || select(&FILES[..]);
    let nth = || 0..5_usize;
    let death = || {
        let place = (select(&DEATHS[..]), 1..4_usize, repo());
        prop_oneof![3 => Just(None), 2 => place.prop_map(Some)]
    };
    prop_oneof![
        12 => (repo(), file(), 0..4_u8).prop_map(|(repo, file, text)| Step::Write(repo, file, text)),
        4 => (repo(), file()).prop_map(|(repo, file)| Step::Remove(repo, file)),
        2 => (repo(), file()).prop_map(|(repo, file)| Step::Mode(repo, file)),
        5 => repo().prop_map(Step::Add),
        6 => Just(Step::Snapshot),
        1 => repo().prop_map(Step::Alone),
        12 => (nth(), death()).prop_map(|(nth, death)| Step::Trip(nth, death)),
        4 => (nth(), death()).prop_map(|(nth, death)| Step::Hop(nth, death)),
        4 => death().prop_map(Step::Undo),
        3 => death().prop_map(Step::Redo),
    ]
}

/// What a command has to lead to.
enum Goal {
    /// Files and index; HEAD is its own.
    Past(Vec<State>),
    /// Every fact.
    Exactly(Vec<State>),
}

impl Goal {
    fn differences(&self, now: &[State]) -> Vec<String> {
        match self {
            Self::Exactly(states) => differences(states, now),
            Self::Past(states) => {
                let mut lines = differences(states, now);
                lines.retain(|line| {
                    line[2..].starts_with("file ") || line[2..].starts_with("index ")
                });
                lines
            }
        }
    }
}

/// A swap over all that can be undone or redone, and the mode on each side.
#[derive(Clone)]
struct Level {
    before: (Vec<State>, Vec<String>),
    after: (Vec<State>, Vec<String>),
}

struct Drive {
    trio: Trio,
    saved: Vec<(String, Vec<State>)>,
    home: Option<Vec<State>>,
    undo: Vec<Level>,
    redo: Vec<Level>,
    done: Vec<String>,
}

fn is_as(one: &(Vec<State>, Vec<String>), other: &(Vec<State>, Vec<String>)) -> bool {
    one.1 == other.1 && differences(&one.0, &other.0).is_empty()
}

type Checked = Result<(), String>;

impl Drive {
    fn new() -> Self {
        let sandbox = Trio::apart();
        sandbox.ok(["workspace", "add", "nested", "../lib"]);
        Self {
            trio: Trio {
                sandbox,
                snapshot: String::new(),
            },
            saved: Vec::new(),
            home: None,
            undo: Vec::new(),
            redo: Vec::new(),
            done: Vec::new(),
        }
    }

    fn now(&self) -> (Vec<State>, Vec<String>) {
        (self.trio.states(), self.trio.modes())
    }

    fn step(&mut self, step: &Step) -> Checked {
        self.done.push(format!("{step:?}"));
        let in_repo = |repo: usize, file: &str| self.trio.sandbox.path(PATHS[repo]).join(file);
        match *step {
            Step::Write(repo, file, text) => {
                let path = in_repo(repo, file);
                for dir in path.ancestors().skip(1).filter(|dir| dir.is_file()) {
                    std::fs::remove_file(dir).unwrap();
                }
                if path.is_dir() {
                    std::fs::remove_dir_all(&path).unwrap();
                }
                self.trio.sandbox.write(path, format!("text {text}\n"));
            }
            Step::Remove(repo, file) => {
                let path = in_repo(repo, file);
                if path.exists() {
                    self.trio.sandbox.remove(&path);
                }
                // Which empty directories a travel leaves is told by the other model.
                for dir in path.ancestors().skip(1) {
                    if std::fs::remove_dir(dir).is_err() {
                        break;
                    }
                }
            }
            Step::Mode(repo, file) => {
                use std::os::unix::fs::PermissionsExt;
                let path = in_repo(repo, file);
                if path.is_file() {
                    let mode = std::fs::Permissions::from_mode(0o755);
                    std::fs::set_permissions(path, mode).unwrap();
                }
            }
            Step::Add(repo) => {
                let dir = self.trio.sandbox.path(PATHS[repo]);
                // The one inside is no part of the head's index.
                self.trio.sandbox.git_in(dir, ["add", "-A", ":!nested"]);
            }
            Step::Alone(repo) if repo > 0 => {
                self.trio.json_in(PATHS[repo], &["snapshot"]);
            }
            Step::Snapshot | Step::Alone(_) => {
                let before = self.now();
                let taken = self.trio.json_in("", &["snapshot"]);
                let id = taken["snapshot"]["snapshot_id"].as_str().unwrap();
                if !is_as(&before, &self.now()) {
                    return Err("a snapshot changed something".to_owned());
                }
                self.saved.push((id.to_owned(), before.0));
            }
            Step::Trip(_, death) if self.home.is_some() => {
                let goal = Goal::Exactly(self.home.clone().unwrap());
                self.swap(&["return"], &goal, None, death)?;
            }
            Step::Trip(nth, death) => self.travel(&["travel"], nth, death)?,
            Step::Hop(nth, death) if self.home.is_some() => {
                self.travel(&["travel", "--hop"], nth, death)?;
            }
            Step::Hop(..) => {}
            Step::Undo(death) => self.step_over("undo", death)?,
            Step::Redo(death) => self.step_over("redo", death)?,
        }
        Ok(())
    }

    fn travel(&mut self, args: &[&str], nth: usize, death: Death) -> Checked {
        let Some((id, states)) = self.saved.iter().rev().cycle().nth(nth).cloned() else {
            return Ok(());
        };
        let home = self.home.clone().unwrap_or_else(|| self.trio.states());
        let args = [args, &[&id]].concat();
        self.swap(&args, &Goal::Past(states), Some(home), death)
    }

    /// A swap that begins a level of the log, and the present that there is to return to after it.
    fn swap(
        &mut self,
        args: &[&str],
        goal: &Goal,
        home: Option<Vec<State>>,
        death: Death,
    ) -> Checked {
        let before = self.now();
        let mode = if home.is_some() { "past" } else { "present" };
        if self.run(args, goal, mode, death)? {
            self.redo.clear();
            self.undo.push(Level {
                before,
                after: self.now(),
            });
            self.home = home;
        }
        Ok(())
    }

    fn step_over(&mut self, verb: &str, death: Death) -> Checked {
        let is_undo = verb == "undo";
        let log = if is_undo { &self.undo } else { &self.redo };
        let Some(mut level) = log.last().cloned() else {
            return Ok(());
        };
        let here = self.now();
        let wanted = if is_undo { &level.before } else { &level.after };
        // Whoever leaves the present comes back to it as it was then, and not as an earlier trip left it.
        let (goal, home) = match (self.home.clone(), wanted.1[0].as_str()) {
            (Some(home), "present") => (home, None),
            (home, _) => (wanted.0.clone(), home.or_else(|| Some(self.trio.states()))),
        };
        let goal = Goal::Exactly(goal);
        if self.run(&[verb, "-y", "--into-past"], &goal, &wanted.1[0], death)? {
            self.home = home;
            // The other way leads to what was replaced, with what was made there since.
            if is_undo {
                self.undo.pop();
                level.after = here;
                self.redo.push(level);
            } else {
                self.redo.pop();
                level.before = here;
                self.undo.push(level);
            }
        }
        Ok(())
    }

    /// What can be taken back, and brought back, in the head.
    fn levels(&self) -> [String; 2] {
        ["undo", "redo"].map(|log| self.trio.json_in("", &[log, "--list"])["levels"].to_string())
    }

    /// Runs a command that may die, and says whether it led where it has to; else everything is as it was.
    fn run(&self, args: &[&str], goal: &Goal, mode: &str, death: Death) -> Result<bool, String> {
        let before = self.now();
        let levels = death.map(|_| self.levels());
        let mut command = self.trio.sandbox.tw_command();
        if let Some((point, nth, _)) = death {
            command.env("TW_FAIL_POINT", format!("{point}:{nth}"));
        }
        let ran = command.arg("--json").args(args).output().unwrap();
        let ran = crate::sandbox::Ran::from(ran);
        let mut died = "";
        if let Some((_, _, repo)) = death
            && ran.code == KILLED
        {
            died = ", killed and recovered";
            let recovered = self.trio.tw_in(PATHS[repo], &["recover"]);
            if recovered.code != 0 {
                return Err(format!("tw {args:?}{died}: {}", recovered.out()));
            }
        } else if ran.code != 0 {
            return Err(format!("tw {args:?}: {}", ran.out()));
        }
        let now = self.now();
        // What led to where one was has ended, too, when it is in the log.
        if !died.is_empty() && is_as(&before, &now) && levels == Some(self.levels()) {
            return Ok(false);
        }
        let mut wrong = goal.differences(&now.0);
        if now.1 != [mode; 3] {
            wrong.push(format!("modes {:?}, not {mode}", now.1));
        }
        if wrong.is_empty() {
            return Ok(true);
        }
        Err(format!("tw {args:?}{died}:\n{}", wrong.join("\n")))
    }

    fn end(&self) -> Checked {
        for path in PATHS {
            let dir = self.trio.sandbox.path(path);
            for name in ["journal.json", "together.json"] {
                if dir.join(".git/timewarp").join(name).exists() {
                    return Err(format!("{path}: {name} was left"));
                }
            }
            let fsck = ["fsck", "--strict", "--no-dangling", "--no-progress"];
            self.trio.sandbox.git_in(dir, fsck);
        }
        let members: Value = self.trio.json_in("", &["workspace", "list"]);
        match members["members"].as_array().map(Vec::len) {
            Some(2) => Ok(()),
            _ => Err(members.to_string()),
        }
    }
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut drive = Drive::new();
    let mut checked = Ok(());
    for step in steps {
        checked = checked.and_then(|()| drive.step(step));
    }
    checked.and_then(|()| drive.end()).map_err(|problem| {
        TestCaseError::fail(format!(
            "\n{problem}\n--- after ---\n{}",
            drive.done.join("\n")
        ))
    })
}

#[test]
fn random_steps_leave_all_on_one_side() {
    let cases = number("TW_MODEL_CASES", 4);
    let steps = usize::try_from(number("TW_MODEL_STEPS", 30)).unwrap();
    let seed = number("TW_MODEL_SEED", 1);
    let config = Config {
        cases: u32::try_from(cases).unwrap(),
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = vec(step(), 10.min(steps)..=steps);
    match TestRunner::new_with_rng(config, seeded(seed)).run(&strategy, |steps| run(&steps)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, _)) => panic!("TW_MODEL_SEED={seed}\n{reason}"),
        Err(TestError::Abort(reason)) => panic!("TW_MODEL_SEED={seed}\naborted: {reason}"),
    }
}
