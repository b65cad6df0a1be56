//! `tw watch`: what a snapshot saves by it, and that it is never worse for it.

mod equal;
mod faults;
mod ways;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::{Kind, Sandbox, settle, skipped, wait_until};
use crate::work::{DIRS, FILES, settled, settled_in};

/// A sandbox with a watcher in it.
pub struct Watched {
    // Goes first: the sandbox takes the file along by which the watcher is known.
    _end: End,
    sandbox: Sandbox,
}

/// Ends the watcher of a repository, if there is one, when it is dropped.
pub struct End(pub PathBuf);

impl std::ops::Deref for Watched {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Watched {
    /// Without a watcher so far.
    fn of(sandbox: Sandbox) -> Self {
        let end = End(sandbox.path(".git"));
        Self { _end: end, sandbox }
    }

    /// With a watcher started, which knows a cache.
    fn start(sandbox: Sandbox, args: &[&str]) -> Self {
        let watched = Self::of(sandbox);
        watched.take();
        watched.start_again(args);
        watched
    }

    /// Starts one, and takes the snapshot from which on it is of use.
    fn start_again(&self, args: &[&str]) {
        self.json_patiently(&[&["watch", "start"], args].concat());
        assert_eq!(self.status()["state"], "running");
        self.take();
        self.follow();
    }

    /// Many tests run at once: one that wants an answer waits for it.
    fn patient(&self) -> assert_cmd::Command {
        let mut command = self.sandbox.tw_command();
        command.env("TW_TEST_WATCH_PATIENCE", "20000");
        command
    }

    /// As [`Sandbox::json`]: a watcher that is started so waits for whoever asks it, too.
    fn json_patiently(&self, args: &[&str]) -> Value {
        Sandbox::json_of(self.patient(), args)
    }

    fn status(&self) -> Value {
        self.json_patiently(&["watch", "status"])
    }

    /// Takes a snapshot and gives its id and what it looked at.
    fn take(&self) -> (String, u64) {
        self.counted(&["-q", "snapshot"])
    }

    fn counted(&self, args: &[&str]) -> (String, u64) {
        let file = self.root().join("tmp/work");
        let mut command = self.patient();
        let output = command.env("TW_TEST_WORK", &file).args(args).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = std::fs::read_to_string(&file).unwrap();
        let counts: BTreeMap<&str, u64> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, count)| (name, count.parse().unwrap()))
            .collect();
        let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        (id, counts["stats"])
    }

    /// Until the watcher has followed the cache that the last snapshot wrote: a question makes it do so.
    fn follow(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.take().1 > 100 {
            assert!(Instant::now() < deadline, "{}", self.status());
        }
    }

    fn pid(&self) -> u64 {
        self.status()["pid"].as_u64().unwrap()
    }

    fn signal(&self, signal: &str) {
        signal_to(self.pid(), signal);
    }

    /// The tree of the files as git sees them, whatever anybody has cached.
    fn tree_by_git(&self) -> String {
        let index = self.root().join("tmp/index");
        let _ = std::fs::remove_file(&index);
        let mut command = self.sandbox.command("git");
        let add = command
            .env("GIT_INDEX_FILE", &index)
            .args(["add", "-A", "-f"]);
        assert!(add.output().unwrap().status.success());
        let mut command = self.sandbox.command("git");
        let write = command.env("GIT_INDEX_FILE", &index).arg("write-tree");
        String::from_utf8(write.output().unwrap().stdout).unwrap()
    }

    /// Takes a snapshot and holds it against what git sees. Answers how much was looked at.
    fn check(&self) -> u64 {
        let (id, stats) = self.take();
        let tree = self.git([
            "rev-parse",
            &format!("refs/timewarp/snapshots/{id}^{{tree}}"),
        ]);
        assert_eq!(tree.trim(), self.tree_by_git().trim(), "{id}");
        stats
    }
}

fn signal_to(pid: u64, signal: &str) {
    let status = Command::new("kill")
        .args([&format!("-{signal}"), &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

impl Drop for End {
    fn drop(&mut self) {
        let lock = self.0.join("timewarp/watch/lock");
        let text = std::fs::read_to_string(lock).unwrap_or_default();
        let is_ours = |pid: &str| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.windows(5).any(|word| word == b"watch")
        };
        if let Some(pid) = text.split(' ').nth(2).filter(|pid| is_ours(pid)) {
            let _ = Command::new("kill").args(["-KILL", pid]).status();
        }
    }
}
