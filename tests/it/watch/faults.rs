//! What goes wrong with it costs a full look, and is told of.

use std::os::unix::net::UnixListener;

use super::ways::{is_alive, wait_for_end};
use super::*;

const ALL: u64 = DIRS * FILES;

#[test]
fn one_that_is_killed_stopped_or_somebody_else_costs_a_full_look() {
    let watched = Watched::start(settled(), &[]);
    let is_full = |watched: &Watched| watched.check() >= ALL;
    // What it was asked is kept: a byte of that changes, and the whole does not count.
    let kept = watched.path(".git/timewarp/cache.watched");
    let mut bytes = std::fs::read(&kept).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&kept, &bytes).unwrap();
    assert!(is_full(&watched));
    watched.follow();
    // Others could put a socket of theirs in.
    watched.chmod(".git/timewarp/watch", 0o755);
    assert!(is_full(&watched));
    watched.chmod(".git/timewarp/watch", 0o700);
    watched.follow();

    // Stopped: nobody waits for longer than a moment.
    let pid = watched.pid();
    signal_to(pid, "STOP");
    watched.write("d1/f1", "while it slept\n");
    let begun = Instant::now();
    let id = watched.ok(["-q", "snapshot"]);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let path = format!("refs/timewarp/snapshots/{}:d1/f1", id.trim());
    assert_eq!(watched.git(["cat-file", "blob", &path]), "while it slept\n");
    let silent = watched.json(["watch", "status"]);
    assert_eq!(
        (&silent["state"], &silent["pid"]),
        (&"silent".into(), &pid.into())
    );
    let (error, _) = watched.json_error(["watch", "stop"]);
    assert_eq!(error["code"], "BUSY");
    signal_to(pid, "CONT");
    // It was told to stop while it could not hear.
    wait_for_end(pid);

    // Killed: its socket is still there.
    watched.start_again(&[]);
    let pid = watched.pid();
    watched.signal("KILL");
    wait_for_end(pid);
    assert!(is_full(&watched));
    assert_eq!(watched.status()["state"], "off");

    // Somebody answers something else, or nothing.
    let socket = watched.path(".git/timewarp/watch/socket");
    for answer in [&b"\xff\xff\xff\xffgarbage"[..], b"\x04\0\0\0tw??", b""] {
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let thread = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(answer);
        });
        assert!(is_full(&watched));
        thread.join().unwrap();
    }
    // And one that was there before starts none the less.
    watched.start_again(&[]);
    assert!(watched.take().1 < 10);
}

#[test]
fn one_that_is_dying_is_no_running_one() {
    let watched = Watched::start(settled(), &[]);
    let pid = watched.pid();
    watched.signal("KILL");
    wait_for_end(pid);
    // Its lock is let go of a moment later.
    let lock = std::fs::File::open(watched.path(".git/timewarp/watch/lock")).unwrap();
    lock.lock().unwrap();
    let held = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(lock);
    });
    let started = watched.json_patiently(&["watch", "start"]);
    held.join().unwrap();
    assert_eq!(started["state"], "running", "{started}");
    assert_ne!(started["pid"].as_u64(), Some(pid));
}

#[test]
fn lost_events_are_known_to_be_lost() {
    let watched = Watched::start(settled(), &[]);
    let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let most: u64 = most.trim().parse().unwrap();
    if most > 100_000 {
        crate::sandbox::skipped("a queue of events", "this one is too long to be filled");
        return;
    }
    let pid = watched.pid();
    signal_to(pid, "STOP");
    let file = |nth: u64| watched.path(format!("d{}/f{}", nth % DIRS, nth / DIRS % FILES));
    for nth in 0..=most {
        let mode = if (nth / (DIRS * FILES)).is_multiple_of(2) {
            0o600
        } else {
            0o644
        };
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(file(nth), mode).unwrap();
    }
    // The last ones have no event, nor has the end of the directory that was watched under this name.
    watched.write("d7/f7", "lost\n");
    std::fs::remove_dir_all(watched.path("d6")).unwrap();
    watched.write("d6/f0", "made again\n");
    signal_to(pid, "CONT");
    assert!(watched.check() >= ALL);
    assert_eq!(watched.status()["overflows"], 1);
    watched.check();
    for text in ["one\n", "two\n"] {
        watched.write("d6/f0", text);
        watched.write(format!("d6/{}", text.trim()), text);
        watched.check();
    }
    watched.follow();
}

#[test]
fn what_it_missed_is_found_by_an_audit_and_turns_it_off() {
    let watched = Watched::start(settled(), &["--audit", "1s"]);
    let pid = watched.pid();
    // A name elsewhere, of which no event tells: writes through it have no event here either.
    let outside = watched.root().join("tmp/outside");
    std::fs::hard_link(watched.path("d4/f4"), &outside).unwrap();
    std::fs::write(&outside, "unseen\n").unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while is_alive(pid) {
        assert!(Instant::now() < deadline, "{}", watched.status());
        watched.take();
        std::thread::sleep(Duration::from_millis(100));
    }
    let status = watched.status();
    assert_eq!(status["state"], "fault");
    assert_eq!(status["reason"], "'d4/f4' changed without an event");
    let health = watched.json(["doctor"]);
    let checks = health["checks"].as_array().unwrap();
    let check = checks
        .iter()
        .find(|check| check["name"] == "watcher")
        .unwrap();
    assert_eq!(
        (&check["status"], &check["fix"]),
        (&"warning".into(), &"tw watch start".into())
    );
    assert!(watched.check() >= ALL);
    // Started again it knows which file has several names, and its directory is looked at each time.
    watched.start_again(&[]);
    assert_eq!(watched.status()["several"], 1);
    std::fs::write(&outside, "unseen again\n").unwrap();
    let stats = watched.check();
    assert!((1..100).contains(&stats), "{stats}");
}
