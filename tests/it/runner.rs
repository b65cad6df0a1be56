//! Runs: whatever a command starts ends with it, however it, its guard or `tw` comes to its end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use timewarp::runner::{End, Ended, Job};

const TW: &str = env!("CARGO_BIN_EXE_tw");

/// A command is ready long before that, also where much else is done.
const TIMEOUT: Duration = Duration::from_secs(5);

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn job(&self, script: &str) -> Job {
        Job {
            words: ["sh", "-c", script].map(Into::into).to_vec(),
            dir: self.0.path().to_owned(),
            log: self.path("log"),
            ..Job::default()
        }
    }

    fn run(&self, script: &str) -> Ended {
        self.job(script)
            .start(Path::new(TW))
            .unwrap()
            .wait()
            .unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap()
    }

    /// Waits until a script has written a pid, which nobody reads while it is being written.
    fn pid(&self, name: &str) -> i32 {
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
            if let Some(line) = text.strip_suffix('\n') {
                return line.parse().unwrap();
            }
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "no pid in '{name}'"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a process is there and not dead already.
fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default().trim();
    !after.is_empty() && !after.starts_with('Z')
}

fn gone(pid: i32) {
    let begun = Instant::now();
    while runs(pid) {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{pid} still runs"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_command_ends_with_its_status_and_its_output() {
    let place = Place::new();
    let ended = place.run("echo out; echo err >&2; read line || echo 'no input'; exit 3");
    assert_eq!(ended.end, End::Exited(3));
    assert_eq!(ended.end.status(), Some(3));
    assert_eq!((ended.leaks, ended.notices), (vec![], vec![]));
    assert_eq!(place.log(), "out\nerr\nno input\n");
    assert_eq!(place.run("kill -9 $$").end, End::Signal(9));
}

#[test]
fn a_command_that_is_not_there_is_127() {
    let place = Place::new();
    let mut job = place.job("");
    job.words = vec!["no-such-program".into()];
    let ended = job.start(Path::new(TW)).unwrap().wait().unwrap();
    assert_eq!(ended.end, End::Exited(127));
    assert!(
        place.log().starts_with("cannot run 'no-such-program'"),
        "{}",
        place.log()
    );
}

#[test]
fn a_command_gets_what_its_job_says() {
    let place = Place::new();
    let mut job = place.job("echo \"$GIVEN ${HOME-none}\"; pwd -P");
    job.env = vec![("GIVEN".into(), "word".into())];
    job.without = vec!["HOME".into()];
    job.start(Path::new(TW)).unwrap().wait().unwrap();
    let dir = place.0.path().canonicalize().unwrap();
    assert_eq!(place.log(), format!("word none\n{}\n", dir.display()));
}

#[test]
fn one_that_is_over_its_time_is_ended_with_all_it_started() {
    let place = Place::new();
    let mut job = place.job(
        "setsid sh -c 'trap \"echo term >heard; exit\" TERM; echo $$ >far; while :; do sleep 0.1; done' & \
         echo $$ >near; wait",
    );
    job.timeout = Some(TIMEOUT);
    let ended = job.start(Path::new(TW)).unwrap().wait().unwrap();
    assert_eq!(ended.end, End::TimedOut);
    assert_eq!(ended.end.status(), None);
    // TERM was enough.
    assert!(ended.duration < TIMEOUT + timewarp::runner::PATIENCE);
    assert!(place.path("heard").exists());
    assert!(!runs(place.pid("near")) && !runs(place.pid("far")));
}

#[test]
fn one_that_does_not_hear_term_is_killed() {
    let place = Place::new();
    let mut job = place.job("trap '' TERM; echo $$ >deaf; while :; do sleep 0.1; done");
    job.timeout = Some(TIMEOUT);
    let ended = job.start(Path::new(TW)).unwrap().wait().unwrap();
    assert_eq!(ended.end, End::TimedOut);
    assert!(ended.duration >= TIMEOUT + timewarp::runner::PATIENCE);
    assert!(!runs(place.pid("deaf")));
}

#[test]
fn what_is_left_behind_is_named_and_ended() {
    let place = Place::new();
    let ended = place.run(
        "setsid sh -c 'echo $$ >left; exec sleep 100' >/dev/null 2>&1 & \
         while ! test -s left; do sleep 0.01; done; echo over",
    );
    assert_eq!(ended.end, End::Exited(0));
    let left = place.pid("left");
    assert_eq!(ended.leaks, [format!("{left} sleep 100")]);
    assert!(!runs(left));
    assert_eq!(place.log(), "over\n");
}

/// What locks it, and hands it on to all that it starts.
const HOLD: &str = "exec 9>held; flock 9; ";

/// Whether nobody has what [`HOLD`] locked.
fn let_go(place: &Place) -> bool {
    let file = std::fs::File::open(place.path("held")).unwrap();
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[test]
fn a_daemon_that_is_orphaned_while_it_is_looked_for_is_ended() {
    let place = Place::new();
    for _ in 0..15 {
        let mut job = place.job(&format!("{HOLD}(setsid setsid sleep 100 &); exit 0"));
        job.linger = Some(Duration::from_millis(1));
        let ended = job.start(Path::new(TW)).unwrap().wait().unwrap();
        assert!(let_go(&place), "{ended:?}");
        assert!(ended.leaks[0].contains("sleep 100"), "{ended:?}");
    }
}

/// Each generation starts the next one, in a session of its own, and ends.
const CHAIN: &str = "[ $1 = 0 ] || setsid sh ./chain $(($1 - 1)) &";

#[test]
fn one_that_goes_on_by_starting_another_is_ended_and_named() {
    let place = Place::new();
    std::fs::write(place.path("chain"), CHAIN).unwrap();
    let ended = place.run(&format!("{HOLD}sh ./chain 3000"));
    assert!(let_go(&place), "{ended:?}");
    assert_eq!(ended.end, End::Exited(0));
    assert!(ended.leaks[0].contains("chain"), "{ended:?}");
}

#[test]
fn one_that_goes_on_by_starting_another_does_not_outlive_a_killed_guard() {
    let place = Place::new();
    std::fs::write(place.path("chain"), CHAIN).unwrap();
    let script = format!("{HOLD}sh ./chain 300; kill -9 $PPID; sleep 100");
    let error = place.job(&script).start(Path::new(TW)).unwrap().wait();
    assert!(error.unwrap_err().message().contains("guard"));
    assert!(let_go(&place));
}

#[test]
fn what_ends_soon_after_its_command_is_no_leak() {
    let place = Place::new();
    let mut job = place.job("(sleep 0.1; echo late) & echo early");
    // It ends as soon as nothing is left.
    job.linger = Some(Duration::from_secs(20));
    let ended = job.start(Path::new(TW)).unwrap().wait().unwrap();
    assert_eq!(ended.leaks, Vec::<String>::new());
    assert_eq!(place.log(), "early\nlate\n");
}

#[test]
fn a_run_can_be_stopped_from_elsewhere() {
    let place = Place::new();
    let running = place
        .job("trap 'echo asked; exit 0' TERM; echo $$ >pid; while :; do sleep 0.05; done")
        .start(Path::new(TW))
        .unwrap();
    let pid = place.pid("pid");
    let control = running.control();
    let waiting = std::thread::spawn(move || running.wait().unwrap());
    control.stop();
    assert_eq!(waiting.join().unwrap().end, End::Stopped);
    assert!(!runs(pid));
    // The shell may say of its own child that it was terminated.
    assert!(place.log().ends_with("asked\n"));
}

#[test]
fn a_run_that_is_dropped_is_over() {
    let place = Place::new();
    let script = "trap '' TERM; setsid sleep 100 & echo $! >far; echo $$ >near; wait; sleep 100";
    let running = place.job(script).start(Path::new(TW)).unwrap();
    let pids = (place.pid("near"), place.pid("far"));
    drop(running);
    assert!(!runs(pids.0) && !runs(pids.1));
}

/// What is stopped does not look at the clock.
#[test]
fn a_run_that_stops_its_guard_is_ended_in_time() {
    let place = Place::new();
    let job = Job {
        timeout: Some(Duration::from_secs(1)),
        ..place.job("echo $$ >pid; kill -STOP $PPID; exec sleep 100")
    };
    let ended = job.start(Path::new(TW)).unwrap().wait().unwrap();
    assert_eq!(ended.end, End::TimedOut);
    assert!(!runs(place.pid("pid")));
}

#[test]
fn a_run_that_stopped_its_guard_can_be_stopped_and_dropped() {
    for is_dropped in [false, true] {
        let place = Place::new();
        let running = place
            .job("kill -STOP $PPID; echo $$ >pid; exec sleep 100")
            .start(Path::new(TW))
            .unwrap();
        let pid = place.pid("pid");
        if is_dropped {
            drop(running);
        } else {
            running.control().stop();
            assert_eq!(running.wait().unwrap().end, End::Stopped);
        }
        assert!(!runs(pid));
    }
}

#[test]
fn when_the_guard_is_killed_nothing_of_the_run_is_left() {
    let place = Place::new();
    let script =
        "setsid sh -c 'echo $$ >far; exec sleep 100' & echo $PPID >guard; echo $$ >near; wait";
    let running = place.job(script).start(Path::new(TW)).unwrap();
    let (near, far, guard) = (place.pid("near"), place.pid("far"), place.pid("guard"));
    let guard = rustix::process::Pid::from_raw(guard).unwrap();
    rustix::process::kill_process(guard, rustix::process::Signal::KILL).unwrap();
    let error = running.wait().unwrap_err();
    assert!(error.message().contains("guard"), "{error}");
    gone(near);
    gone(far);
}

/// As in a container: the leader of the session stands outside, where its id is nobody's.
#[test]
fn in_a_namespace_of_its_own_a_killed_guard_leaves_nothing_either() {
    let inside = |program: &Path, words: &[&str]| {
        std::process::Command::new("unshare")
            .args(["--user", "--map-current-user", "--pid", "--fork"])
            .args(["--mount", "--mount-proc"])
            .arg(program)
            .args(words)
            .output()
    };
    if !inside(Path::new("true"), &[]).is_ok_and(|output| output.status.success()) {
        crate::sandbox::skipped("namespaces", "no pid namespace is to be had here");
        return;
    }
    let own = std::env::current_exe().unwrap();
    let name = "runner::when_the_guard_is_killed_nothing_of_the_run_is_left";
    let output = inside(&own, &["--exact", name]).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}

#[test]
fn a_long_output_keeps_its_beginning_and_its_end() {
    let place = Place::new();
    let ended = place.run("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last");
    assert_eq!(ended.end, End::Exited(0));
    let log = place.log();
    assert!(log.starts_with("first\nxxx") && log.ends_with("xxx\nlast\n"));
    assert!(log.len() < 1_100_000 && log.contains("bytes are left out here"));
}
