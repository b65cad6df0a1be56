//! Workspaces of several repositories: a head, a member inside it and one beside it.

mod crash;
mod faults;
mod lasting;
mod members;
mod model;
mod refused;
mod swap;

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::damage::{document, raw_command};
use crate::many::Held;
use crate::sandbox::{Kind, Ran, Sandbox};
use crate::state::State;

/// Where the three are, from the head's working tree.
pub const PATHS: [&str; 3] = ["", "nested", "../lib"];

/// A head with two members, in a present that is far from the snapshot that covers all three.
pub struct Trio {
    pub sandbox: Sandbox,
    pub snapshot: String,
}

impl Trio {
    /// Three repositories, each with staged, unstaged and untracked changes; no workspace yet.
    pub fn apart() -> Sandbox {
        Self::apart_of(Kind::of_all())
    }

    fn apart_of(kind: Kind) -> Sandbox {
        let sandbox = Sandbox::of(kind);
        for path in &PATHS[1..] {
            sandbox.write(format!("{path}/a.txt"), format!("{path} one\n"));
            let dir = sandbox.path(path);
            sandbox.git_in(&dir, ["init", "-q", "-b", "main"]);
            sandbox.git_in(&dir, ["add", "-A"]);
            sandbox.git_in(&dir, ["commit", "-q", "-m", "first"]);
        }
        for path in PATHS {
            let dir = sandbox.path(path);
            let at = |name: &str| dir.join(name);
            sandbox.write(at("staged.txt"), format!("staged in '{path}'\n"));
            sandbox.git_in(&dir, ["add", "staged.txt"]);
            sandbox.write(at("a.txt"), format!("edited in '{path}'\n"));
            sandbox.write(at("dir/new.txt"), "untracked\n");
        }
        sandbox
    }

    /// As [`Self::apart`], in the form of those that are one.
    pub fn strangers() -> Self {
        Self {
            sandbox: Self::apart(),
            snapshot: String::new(),
        }
    }

    pub fn new() -> Self {
        Self::of(Kind::of_all())
    }

    pub fn of(kind: Kind) -> Self {
        let sandbox = Self::apart_of(kind);
        sandbox.json(["workspace", "add", "nested", "../lib"]);
        let taken = sandbox.json(["snapshot"]);
        let trio = Self {
            snapshot: taken["snapshot"]["snapshot_id"]
                .as_str()
                .unwrap()
                .to_owned(),
            sandbox,
        };
        for path in PATHS {
            let dir = trio.sandbox.path(path);
            trio.sandbox.git_in(&dir, ["commit", "-q", "-am", "second"]);
            trio.sandbox
                .write(dir.join("a.txt"), format!("later in '{path}'\n"));
            trio.sandbox.remove(dir.join("dir"));
            trio.sandbox.write(dir.join("dir"), "a file by now\n");
            trio.sandbox
                .write(dir.join("fresh.txt"), format!("fresh in '{path}'\n"));
            trio.sandbox.git_in(&dir, ["add", "fresh.txt"]);
        }
        trio
    }

    pub fn roots(&self) -> [PathBuf; 3] {
        PATHS.map(|path| self.sandbox.path(path).canonicalize().unwrap())
    }

    pub fn states(&self) -> Vec<State> {
        let roots = self.roots();
        let states = roots.iter().map(|root| State::capture(&self.sandbox, root));
        states.collect()
    }

    /// Each one's `state.json` mode.
    pub fn modes(&self) -> Vec<String> {
        let modes = self.roots().map(|root| {
            let bytes = std::fs::read(root.join(".git/timewarp/state.json"));
            let state: Value = bytes.map_or(Value::Null, |b| serde_json::from_slice(&b).unwrap());
            state["mode"].as_str().unwrap_or("present").to_owned()
        });
        modes.into()
    }

    pub fn json_in(&self, path: &str, args: &[&str]) -> Value {
        let ran = self.tw_in(path, args);
        let document = document(&ran);
        assert_eq!(document["ok"], true, "{path}: tw {args:?}: {document}");
        document
    }

    pub fn tw_in(&self, path: &str, args: &[&str]) -> Ran {
        let dir = self.sandbox.path(path);
        self.sandbox.tw_in(dir, [&["--json"], args].concat())
    }

    /// Begins a command, which stops at this point if it names one.
    pub fn start(&self, path: &str, args: &[&str], stop: &str) -> Held {
        raw_command(&self.sandbox.root(), env!("CARGO_BIN_EXE_tw"))
            .current_dir(self.sandbox.path(path))
            .env("TW_STOP_POINT", stop)
            .arg("--json")
            .args(args)
            .stdout(Stdio::null())
            .spawn()
            .map(Held)
            .unwrap()
    }

    /// The ids that a member has of a kind.
    pub fn ids(&self, path: &str, kind: &str) -> Vec<String> {
        let format = format!("refs/timewarp/{kind}");
        let dir = self.sandbox.path(path);
        let refs = self.sandbox.git_in(
            dir,
            ["for-each-ref", "--format=%(refname:lstrip=3)", &format],
        );
        refs.lines().map(str::to_owned).collect()
    }
}

/// What differs of each, but for the git directory of the one inside the head.
pub fn differences(one: &[State], other: &[State]) -> Vec<String> {
    let pairs = one.iter().zip(other);
    pairs
        .flat_map(|(one, other)| one.differences(other))
        .filter(|line| !line.contains(" nested/.git"))
        .collect()
}

#[track_caller]
pub fn assert_same(one: &[State], other: &[State]) {
    let lines = differences(one, other);
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
