//! The processes below one, as the system tells.

use std::collections::BTreeMap;

use rustix::process::{Pid, Signal};

use crate::git::regular;

/// A process, as the system lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its id.
    pub pid: i32,
    parent: i32,
    /// The leader of its session.
    pub session: i32,
    is_running: bool,
}

impl Row {
    /// A child that was not waited for, as far as it is known without asking the system.
    pub fn of_child(pid: i32) -> Self {
        Self {
            pid,
            parent: 0,
            session: pid,
            is_running: true,
        }
    }

    fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &regular::read(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        // The name, which may hold anything, stands in brackets.
        let after = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(after + 1..)?).ok()?;
        let mut words = rest.split_ascii_whitespace();
        let state = words.next()?;
        let parent = words.next()?.parse().ok()?;
        let session = words.nth(1)?.parse().ok()?;
        let threads: u64 = words.nth(13)?.parse().ok()?;
        // A dead one stays listed until somebody asks how it ended; one whose first thread has ended goes on in the others.
        let is_running = !matches!(state, "Z" | "X") || threads > 1;
        Some(Self {
            pid,
            parent,
            session,
            is_running,
        })
    }

    /// Whether it is there and not dead, as far as the system tells.
    pub fn still_runs(&self) -> bool {
        Self::read(self.pid).is_some_and(|row| row.is_running)
    }
}

/// Every running process below `root`, however deep, but `left_out` and what is below them; none where the system has no
/// `/proc`. A process whose parents are gone is below the nearest one above that takes in orphans.
///
/// The list is no moment: one whose parent ended while it was read may be missing, and so may what was started meanwhile.
pub fn below(root: i32, left_out: impl Fn(&Row) -> bool) -> Vec<Row> {
    let mut children: BTreeMap<i32, Vec<Row>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        if let Some(row) = pid.and_then(Row::read) {
            children.entry(row.parent).or_default().push(row);
        }
    }
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(pid) = pending.pop() {
        for row in children.remove(&pid).unwrap_or_default() {
            if !left_out(&row) {
                pending.push(row.pid);
                found.push(row);
            }
        }
    }
    found.retain(|row| row.is_running);
    found
}

/// The children of this thread, where the system lists them by themselves: that is done before one that starts another and ends is
/// gone, and a look at all processes is not.
pub fn own_children() -> Vec<Row> {
    let listed = regular::read("/proc/thread-self/children").unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    let pids = listed.split_ascii_whitespace();
    pids.filter_map(|pid| pid.parse().ok())
        .map(Row::of_child)
        .collect()
}

/// The session of a process: the id of its leader, or 0 where that is outside this process namespace. None where the system has
/// no `/proc`.
pub fn session_of(pid: i32) -> Option<i32> {
    Row::read(pid).map(|row| row.session)
}

/// The words of a process's command line; none of one that is gone.
pub fn words(pid: i32) -> Vec<String> {
    let line = regular::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// Each by its id and command line.
pub fn describe(rows: &[Row]) -> Vec<String> {
    let one = |row: &Row| format!("{} {}", row.pid, words(row.pid).join(" "));
    rows.iter().map(one).collect()
}

/// Sends a signal to each. One that ended meanwhile is no error.
pub fn signal(rows: &[Row], signal: Signal) {
    for pid in rows.iter().filter_map(|row| Pid::from_raw(row.pid)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn one_that_goes_on_without_its_first_thread_runs() {
        let running = |state: &str, threads: u8| {
            let stat = format!(
                "7 (a) b) {state} 1 7 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 {threads} 0 9 0 0"
            );
            let row = Row::parse(7, stat.as_bytes()).expect("a row");
            assert_eq!((row.parent, row.session), (1, 5));
            row.is_running
        };
        assert!(running("S", 1) && running("Z", 3));
        assert!(!running("Z", 1) && !running("X", 0));
    }

    #[test]
    fn children_of_children_are_found_and_named() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .spawn()
            .expect("a shell");
        let root = i32::try_from(std::process::id()).expect("a pid");
        let parent = i32::try_from(shell.id()).expect("a pid");
        let its = || {
            below(root, |_| false)
                .into_iter()
                .find(|row| row.parent == parent)
        };
        let sleeping = || its().filter(|row| words(row.pid) == ["sleep", "60"]);
        while sleeping().is_none() {
            std::thread::yield_now();
        }
        let found = sleeping().expect("still there");
        assert_eq!(describe(&[found]), [format!("{} sleep 60", found.pid)]);
        let without = below(root, |row| row.pid == found.parent);
        assert!(!without.contains(&found));
        signal(&[found], Signal::KILL);
        shell.wait().expect("over");
        assert!(its().is_none());
    }
}
