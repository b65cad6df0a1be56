//! Files on which another program has a lease, as file servers take them: who opens one waits until it is given back.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::faults::traced;
use crate::sandbox::{Kind, Sandbox, skipped, wait_until};

/// Takes a lease on a file, as file servers do (`F_WRLCK`): who opens it waits until it is given back (`F_UNLCK`). Waited for while somebody
/// has the file open, as a program that another test is just starting may.
fn lease(file: &std::fs::File, kind: libc::c_int) -> bool {
    use std::os::fd::AsRawFd;

    /// Which signal says that somebody wants the file; the crate does not name it.
    const F_SETSIG: libc::c_int = 10;

    #[expect(unsafe_code, reason = "no library has leases")]
    // SAFETY: these commands take an integer, and the descriptor is open.
    let take = || unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) == 0
            && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) == 0
    };
    let began = Instant::now();
    while !take() {
        let is_open = std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
        if !is_open || began.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Whether somebody waits for the lease on a file to be given back.
fn is_wanted(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", file.metadata().unwrap().ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let mut lines = locks.lines();
    lines.any(|line| line.contains(" BREAKING ") && line.contains(&inode))
}

/// A file with a lease on it; `None` where there are no leases.
fn leased(path: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).unwrap();
    if lease(&file, libc::F_WRLCK) {
        return Some(file);
    }
    skipped("a file system with leases", "here there are none");
    None
}

#[test]
fn a_file_that_is_kept_is_not_waited_for_without_end() {
    let sandbox = Sandbox::new();
    sandbox.write("held", "held\n");
    let options = std::fs::OpenOptions::new().read(true).write(true).clone();
    let held = options.open(sandbox.path("held")).unwrap();
    if !lease(&held, libc::F_WRLCK) {
        skipped("a file system with leases", "here there are none");
        return;
    }
    let snapshot = sandbox.snap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt"]);
    let left_out = json!([{"path": "held", "reason": "unreadable"}]);
    assert_eq!(snapshot["uncaptured"], left_out);
    // No stamp tells that it can be read by now.
    assert!(lease(&held, libc::F_UNLCK));
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "held"]);
    // It was there, and what was in it is not known: it stays.
    sandbox.assert_round_trip(snapshot["snapshot_id"].as_str().unwrap(), |sandbox| {
        assert_eq!(sandbox.read("held"), b"held\n");
    });
    assert!(lease(&held, libc::F_WRLCK));
    // Given back when it is wanted, it is taken. Closing it would not do: a program that another test starts may have it open for a moment.
    assert!(lease(&held, libc::F_UNLCK) && lease(&held, libc::F_WRLCK));
    let giving_back = std::thread::spawn(move || {
        wait_until("somebody wants it", || is_wanted(&held));
        assert!(lease(&held, libc::F_UNLCK));
    });
    let snapshot = sandbox.snap();
    giving_back.join().unwrap();
    assert_eq!(sandbox.paths(&snapshot), ["a.txt", "held"]);
}

/// A kernel before 5.6, or a sandbox.
#[test]
fn a_file_is_waited_for_also_where_there_is_no_openat2() {
    let sandbox = Sandbox::new();
    sandbox.write("d/held", "held\n");
    let Some(held) = leased(&sandbox.path("d/held")) else {
        return;
    };
    let giving_back = std::thread::spawn(move || {
        wait_until("somebody wants it", || is_wanted(&held));
        assert!(lease(&held, libc::F_UNLCK));
    });
    let options = ["-e", "inject=openat2:error=ENOSYS"];
    let Some((output, _)) = traced(&sandbox, &options, |_| (), &["snapshot"]) else {
        // Whoever else opens it.
        let _ = std::fs::read(sandbox.path("d/held"));
        giving_back.join().unwrap();
        return;
    };
    giving_back.join().unwrap();
    let taken: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(sandbox.paths(&taken["snapshot"]), ["a.txt", "d/held"]);
}

#[test]
fn rules_that_nobody_can_read_hide_no_less() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "secret\n");
    sandbox.write("secret", "key\n");
    sandbox.snap();
    sandbox.write("b.txt", "b\n");
    let Some(held) = leased(&sandbox.path(".gitignore")) else {
        return;
    };
    let (error, code) = sandbox.json_error(["snapshot"]);
    assert_eq!((&error["code"], code), (&json!("IO"), 1), "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("'.gitignore'"),
        "{error}"
    );
    assert!(lease(&held, libc::F_UNLCK));
    let taken = sandbox.snap();
    assert_eq!(sandbox.paths(&taken), [".gitignore", "a.txt", "b.txt"]);
}

#[test]
fn the_repository_around_is_not_taken_for_one_whose_head_cannot_be_read() {
    let sandbox = Sandbox::of(Kind::ref_files());
    sandbox.git(["init", "-q", "inner"]);
    let inner = sandbox.path("inner");
    sandbox.write("inner/i", "i\n");
    sandbox.git_in(&inner, ["add", "i"]);
    sandbox.git_in(&inner, ["commit", "-qm", "i"]);
    sandbox.snap();
    sandbox.write("b.txt", "b\n");
    let Some(held) = leased(&inner.join(".git/HEAD")) else {
        return;
    };
    let ran = sandbox.tw_in(&inner, ["--json", "status"]);
    assert_ne!(ran.code, 0, "{}", ran.out());
    assert!(ran.out().contains("HEAD"), "{}", ran.out());
    assert!(!ran.out().contains("is damaged"), "{}", ran.out());
    // The repository around has nothing of it in any case.
    let ran = sandbox.tw(["snapshot"]);
    assert!(lease(&held, libc::F_UNLCK));
    if ran.code == 0 {
        let latest = sandbox.json(["show", "latest"]);
        assert_eq!(sandbox.paths(&latest["snapshot"]), ["a.txt", "b.txt"]);
    }
    assert_eq!(sandbox.paths(&sandbox.snap()), ["a.txt", "b.txt"]);
    assert_eq!(sandbox.tw_in(&inner, ["status"]).code, 0);
}

#[test]
fn a_file_that_is_given_back_is_replaced() {
    let sandbox = Sandbox::new();
    let then = sandbox.snap();
    sandbox.write("a.txt", "now, and longer\n");
    sandbox.snap();
    let before = sandbox.state();
    let Some(held) = leased(&sandbox.path("a.txt")) else {
        return;
    };
    let giving_back = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        assert!(lease(&held, libc::F_UNLCK));
    });
    sandbox.json(["travel", then["snapshot_id"].as_str().unwrap()]);
    giving_back.join().unwrap();
    assert_eq!(sandbox.read("a.txt"), b"one\n");
    sandbox.json(["return"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn many_files_that_are_kept_cost_no_more_than_a_few() {
    let sandbox = Sandbox::new();
    let paths: Vec<String> = (0..40).map(|n| format!("held-{n:02}")).collect();
    for path in &paths {
        sandbox.write(path, "held\n");
    }
    let held: Vec<Option<File>> = paths
        .iter()
        .map(|path| leased(&sandbox.path(path)))
        .collect();
    if held.iter().any(Option::is_none) {
        return;
    }
    let begun = Instant::now();
    let taken = sandbox.snap();
    // Two seconds for each would be more than a minute.
    assert!(begun.elapsed() < Duration::from_secs(40));
    assert_eq!(taken["uncaptured"].as_array().unwrap().len(), 40);
}
