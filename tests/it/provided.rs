//! What a test needs of the machine, and what happens where it is not there: the test says so, and the run sums it up.
//! The unit tests in `src` use this file, too.
//!
//! `TW_REQUIRE_ALL=1` turns what is skipped into a failure, but for the needs that `TW_WITHOUT` lists (`root,strace`): those
//! the machine cannot provide. `TW_SKIPPED` names a file that gets the name of each test that was skipped, so that another
//! user can run it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, Once, PoisonError};

use rustix::fs::Mode;

/// Reads the lines of [`skipped`] until this process ends, and sums them up. The test harness has no end that could be hooked.
const SUMMARY: &str = r#"
    !seen[$1]++ { count[$2]++; all++ }
    END {
        for (need in count) list = list (list ? ", " : "") need " (" count[need] ")"
        print "skipped, whole or in part: " all " tests, for want of " list "; TW_REQUIRE_ALL=1 fails them"
    }"#;

/// True for root, whom permission bits do not stop.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What only root can have, and root not everywhere.
pub fn root_or(need: &str) -> &str {
    if is_root() { need } else { "root" }
}

/// The file of a program that is run by its bare name. A name would have the standard library fork for each command that
/// gets an environment of its own, and a fork copies the page tables of all tests that run beside this one.
pub fn executable(program: &OsStr) -> PathBuf {
    static FOUND: Mutex<BTreeMap<OsString, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = found.get(program) {
        return file.clone();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
        .unwrap_or_else(|| PathBuf::from(program));
    found.insert(program.to_owned(), file.clone());
    file
}

/// git with a home of its own, which learns nothing of this machine's settings and nothing of what is said to whoever runs the tests.
pub fn git(home: &Path) -> Command {
    let mut git = Command::new(executable("git".as_ref()));
    git.env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("LC_ALL", "C");
    git
}

/// Says why a test, or a part of it, cannot be had here; the test returns then.
///
/// `need` is a word for what is missing. Fails where all tests are required and nothing says that this cannot be provided.
#[track_caller]
#[allow(clippy::print_stderr, reason = "says why a test had nothing to do")]
pub fn skipped(need: &str, why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    eprintln!("{test} is skipped: {why}");
    assert!(
        !is_required(need),
        "skipped for want of '{need}' where TW_REQUIRE_ALL is set: {why}"
    );
    if let Some(list) = std::env::var_os("TW_SKIPPED") {
        let mut list = std::fs::File::options()
            .append(true)
            .create(true)
            .open(list)
            .expect("the list of what is skipped can be written");
        list.write_all(format!("{test}\n").as_bytes())
            .expect("the list of what is skipped can be written");
    }
    sum_up(test, need);
}

fn is_required(need: &str) -> bool {
    let missing = std::env::var("TW_WITHOUT").unwrap_or_default();
    std::env::var("TW_REQUIRE_ALL").is_ok_and(|value| value == "1")
        && !missing.split(',').any(|missing| missing == need)
}

fn sum_up(test: &str, need: &str) {
    static READER: Mutex<Option<Child>> = Mutex::new(None);
    let mut reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    if reader.is_none() {
        *reader = Command::new("awk")
            .args(["-F", "\t", SUMMARY])
            .stdin(Stdio::piped())
            .stdout(std::io::stderr())
            .spawn()
            .ok();
    }
    let input = reader.as_mut().and_then(|reader| reader.stdin.as_mut());
    if let Some(input) = input {
        let _ = input.write_all(format!("{test}\t{need}\n").as_bytes());
    }
}

/// Writes a program. By a process of its own: a child that another test has just begun holds what is open here until it runs its own
/// program, and what somebody has open for writing cannot be run.
pub fn write_program(path: &Path, text: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell runs");
    let mut input = shell.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let done = shell.wait().expect("it ends");
    assert!(done.success(), "cannot write '{}'", path.display());
}

/// The permissions of what a test makes are the test's, not those of whoever runs it. Before the first file of a test.
pub fn usual_umask() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        rustix::process::umask(Mode::from_raw_mode(0o022));
    });
}

/// Says once how long a run of all tests takes. The harness names each test as it ends.
pub fn announce() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let is_filtered = std::env::args().skip(1).any(|arg| !arg.starts_with('-'));
        if !is_filtered {
            // Past the capture of the harness.
            let _ = std::io::stderr().write_all(
                b"all tests of the commands: about 2 minutes on four cores, 4 on two; each is named as it ends\n",
            );
        }
    });
}
