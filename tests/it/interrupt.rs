//! Ctrl-C: heard at once, never in the middle of a swap.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::damage::raw_command;
use crate::many::{Held, is_stopped, wait_until_stopped};
use crate::sandbox::{Sandbox, wait_until};
use crate::trip::snapshot;

/// `tw travel`, stopped at the first of these points of its swap.
fn half_way(sandbox: &Sandbox, id: &str, points: &str) -> (Held, Pid) {
    let child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .env("TW_STOP_POINT", points)
        .args(["travel", id])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map(Held)
        .unwrap();
    wait_until_stopped(child.0.id());
    let pid = Pid::from_child(&child.0);
    (child, pid)
}

fn eventful() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "now\n");
    (sandbox, id)
}

/// Sends it to the stopped process and lets that go on, which says so. Gives the rest of what it says.
fn heard_at_once(child: &mut Held, pid: Pid) -> BufReader<ChildStderr> {
    kill_process(pid, Signal::INT).unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    let mut said = BufReader::new(child.0.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        (first, said)
    });
    // A thread of its own says it: the swap may have stopped all of them at its next point before that one came to it.
    while !reader.is_finished() {
        std::thread::sleep(std::time::Duration::from_millis(100));
        if !reader.is_finished() && is_stopped(child.0.id()) {
            kill_process(pid, Signal::CONT).unwrap();
        }
    }
    let (first, said) = reader.join().unwrap();
    assert_eq!(first, "finishing; again kills\n");
    said
}

#[test]
fn in_a_swap_it_is_heard_at_once_and_the_swap_ends_first() {
    let (sandbox, id) = eventful();
    let (mut child, pid) = half_way(&sandbox, &id, "swap-applied");
    let _said = heard_at_once(&mut child, pid);
    assert_eq!(child.0.wait().unwrap().code(), Some(130));
    assert_eq!(sandbox.json(["status"])["mode"], "past");
    sandbox.ok(["return"]);
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

#[test]
fn the_second_one_kills_and_nothing_is_lost() {
    let (sandbox, id) = eventful();
    let points = "swap-applied,swap-index,swap-head,swap-operation";
    let (mut child, pid) = half_way(&sandbox, &id, points);
    // Signals of one kind that wait are one: the first has to be heard before the second comes.
    let _said = heard_at_once(&mut child, pid);
    wait_until_stopped(child.0.id());
    kill_process(pid, Signal::INT).unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(130));
    let journal = ".git/timewarp/journal.json";
    assert!(sandbox.exists(journal), "it did not die in the swap");
    sandbox.ok(["recover"]);
    assert!(!sandbox.exists(journal));
    if sandbox.json(["status"])["mode"] == "past" {
        sandbox.ok(["return"]);
    }
    assert_eq!(sandbox.text("a.txt"), "now\n");
}

#[test]
fn outside_of_a_swap_it_kills_and_says_nothing() {
    let (sandbox, _) = eventful();
    let mut child = raw_command(&sandbox.root(), env!("CARGO_BIN_EXE_tw"))
        .current_dir(sandbox.repo())
        .args(["issue", "report", "--from-json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map(Held)
        .unwrap();
    let status = format!("/proc/{}/status", child.0.id());
    let catches = |text: &str| {
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|bits| u64::from_str_radix(bits.trim(), 16).unwrap() & 0b10 != 0)
    };
    // Before it has looked at its words the system's own handling ends it without a code.
    wait_until("it catches the signal", || {
        catches(&std::fs::read_to_string(&status).unwrap())
    });
    kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
    let mut said = String::new();
    child
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(
        (child.0.wait().unwrap().code(), said.as_str()),
        (Some(130), "")
    );
}
