//! Runs a command with all that it starts, and ends all of it.
//!
//! Between `tw` and the command stands a guard, a process of its own ([`guard`]): it takes in every orphan of the run, so that nothing
//! that the command leaves behind, whatever sessions or groups it made, is lost from sight. The command has a session of its own, no
//! terminal, and nothing to read. What it prints goes into a [`log`] of bounded size.
//!
//! Promises: when the answer is there, no process of the run is left but those that it names as such. A run over its time gets TERM,
//! and [`PATIENCE`] later KILL; so does one that is stopped. When `tw` itself is killed, the guard sees the end of its input and kills
//! everything; when the guard is killed, `tw` does, and the command dies with its guard. A guard that a run has stopped is sent on
//! its way again; one that does not come to its end in time all the same is killed. Knows nothing of snapshots.

pub mod descendants;
pub mod guard;
pub mod log;
pub mod program;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use self::descendants::Row;
use crate::error::{Code, Error, Result, ResultExt};

/// How long a process that got TERM has before it gets KILL.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How often a guard that says nothing is told to go on.
const NUDGE: Duration = Duration::from_secs(1);
/// How long a guard may take to end a run that is to end, beside what processes are given for that: a slow disk.
const SLACK: Duration = Duration::from_secs(20);

/// How many looks in a row that find nothing of a dead guard's run are its end.
const QUIET_LOOKS: usize = 25;

/// The word that makes `tw` a guard; no command of its users.
pub const GUARD: &str = "__guard";
/// The word that makes `tw` the command of a run.
pub const BECOME: &str = "__become";

/// The words of a command as it was typed: one word with spaces in it is a line for a shell.
pub fn line_or_words(typed: &[OsString]) -> Vec<OsString> {
    match typed {
        [line] if line.to_string_lossy().contains(char::is_whitespace) => {
            vec!["sh".into(), "-c".into(), line.clone()]
        }
        words => words.to_vec(),
    }
}

/// A command to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Where it runs.
    #[serde(with = "any_path")]
    pub dir: PathBuf,
    /// Device and inode number of that directory: in any other one nothing is run. None: in whatever is there.
    #[serde(default)]
    pub dir_numbers: Option<(u64, u64)>,
    /// Variables that it gets beside those of this process.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of this process that it does not get.
    pub without: Vec<OsString>,
    /// After how long it is ended; None for never.
    pub timeout: Option<Duration>,
    /// How long what it started may take to end after it before it counts as left behind; None for half a second.
    #[serde(default)]
    pub linger: Option<Duration>,
    /// Where its output goes; made anew.
    #[serde(with = "any_path")]
    pub log: PathBuf,
}

/// Paths as words are: whatever their bytes.
mod any_path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// By itself, with this status: 0 to 255.
    Exited(i32),
    /// A signal ended it.
    Signal(i32),
    /// Its time was over.
    TimedOut,
    /// It was asked to end.
    Stopped,
}

impl End {
    /// As a shell gives it: a signal is 128 and its number; None for a run that was ended from here.
    pub fn status(self) -> Option<i32> {
        match self {
            Self::Exited(status) => Some(status),
            Self::Signal(signal) => Some(128 + signal),
            Self::TimedOut | Self::Stopped => None,
        }
    }

    /// Whether it ended well by itself.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub end: End,
    /// From the command's start to its end.
    pub duration: Duration,
    /// The command lines of what it left running, which was ended then.
    pub leaks: Vec<String>,
    /// What the guard could not do: an output that could not be kept, a process that does not die.
    pub notices: Vec<String>,
}

/// A run under way. Dropped, it is killed.
#[derive(Debug)]
pub struct Running {
    guard: Child,
    control: Control,
    /// After how long it is to end by itself; None: never.
    limit: Option<Duration>,
    /// It did not, and its guard was killed.
    was_late: bool,
}

/// Ends a run from anywhere, also while another thread waits for it.
#[derive(Debug, Clone)]
pub struct Control {
    pipe: Arc<Mutex<Option<ChildStdin>>>,
    was_asked: Arc<AtomicBool>,
}

impl Control {
    /// Asks the run to end: TERM, later KILL.
    pub fn stop(&self) {
        self.was_asked.store(true, Ordering::SeqCst);
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = pipe.as_mut() {
            // A guard that is gone has nothing left to end.
            let _ = pipe.write_all(&[guard::STOP]).and_then(|()| pipe.flush());
        }
    }

    fn close(&self) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        drop(pipe.take());
    }
}

impl Job {
    /// Starts it under a guard, which is `tw` itself: `program`.
    ///
    /// # Errors
    /// `IO` when the guard cannot be started.
    pub fn start(&self, program: &std::path::Path) -> Result<Running> {
        adopt_orphans();
        let what = || "cannot start a run".to_owned();
        let mut command = Command::new(program);
        command
            .arg(GUARD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for name in &self.without {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        let mut guard = command.spawn().context(what)?;
        let mut line = serde_json::to_vec(self).map_err(std::io::Error::from)?;
        line.push(b'\n');
        let mut stdin = guard.stdin.take();
        let sent = stdin.as_mut().map(|stdin| stdin.write_all(&line));
        let control = Control {
            pipe: Arc::new(Mutex::new(stdin)),
            was_asked: Arc::default(),
        };
        let linger = self.linger.unwrap_or(guard::LINGER);
        let running = Running {
            guard,
            control,
            limit: self.timeout.map(|timeout| timeout + linger),
            was_late: false,
        };
        match sent {
            Some(Ok(())) => Ok(running),
            // Dropped here, it is killed.
            _ => Err(Error::new(
                Code::Io,
                "cannot start a run: its guard died at once",
            )),
        }
    }
}

impl Running {
    /// What ends it from another thread.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Waits for the end of all of it.
    ///
    /// # Errors
    /// `IO` when the guard was killed: then what is left of the run is killed, too.
    pub fn wait(mut self) -> Result<Ended> {
        let answer = self.answer();
        let _ = self.guard.wait();
        self.control.close();
        let told: std::result::Result<guard::Answer, _> = serde_json::from_slice(&answer);
        match told {
            Ok(guard::Answer::Ended(ended)) => Ok(ended),
            Ok(guard::Answer::Failed(reason)) => Err(Error::new(
                Code::Io,
                format!("cannot run the command: {reason}"),
            )),
            Err(_) => {
                end_orphans();
                Err(Error::new(
                    Code::Io,
                    if self.was_late {
                        "a run kept its guard from ending it in time, and was killed with it"
                    } else {
                        "the guard of a run was killed, and the run with it"
                    },
                ))
            }
        }
    }
}

impl Running {
    /// What the guard says at its end. One that does not come to it is killed, and has said nothing.
    fn answer(&mut self) -> Vec<u8> {
        let mut answer = Vec::new();
        // Counted by how often nothing came, and not by the clock: whoever stops all of us stops the guard's time, too.
        let (mut waited, mut asked) = (Duration::ZERO, Duration::ZERO);
        let to_end = PATIENCE + guard::GIVE_UP + SLACK;
        while let Some(out) = self.guard.stdout.as_mut() {
            let mut buffer = [0; 4096];
            if is_ready(out) {
                match out.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => answer.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
                continue;
            }
            waited += NUDGE;
            if self.control.was_asked.load(Ordering::SeqCst) {
                asked += NUDGE;
            }
            let is_late = self.limit.is_some_and(|limit| waited > limit + to_end);
            if is_late || asked > to_end {
                // The command dies with it.
                self.was_late = self.guard.kill().is_ok();
            } else {
                // The run may have stopped it; one that goes on hears nothing of this.
                let _ = kill_process(Pid::from_child(&self.guard), Signal::CONT);
            }
        }
        answer
    }
}

/// Whether something can be read, or the end of it; waits for it for a while.
fn is_ready(out: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(out, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: NUDGE.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    loop {
        match poll(&mut fds, Some(&timeout)) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            // What went wrong the reading says.
            Err(_) => return true,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The guard takes the end of its input as the death of `tw`.
        self.control.close();
        self.control.was_asked.store(true, Ordering::SeqCst);
        let _ = self.answer();
        let _ = self.guard.wait();
    }
}

/// Orphans of a guard that was killed come to this process.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
}

/// Kills what a dead guard left: all below this process that is in another session, but guards and what is below them.
fn end_orphans() {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let is_guard = |row: &Row| {
        descendants::words(row.pid)
            .get(1)
            .is_some_and(|word| word == GUARD)
    };
    // As the list has it: 0 where the leader of our session is outside this process namespace.
    let Some(session) = descendants::session_of(own) else {
        return;
    };
    let mut quiet = 0;
    for _ in 0..100 {
        let mut orphans = descendants::below(own, is_guard);
        orphans.retain(|row| row.session != session);
        // One look may miss what is there, above all one that goes on by starting another and ending.
        quiet = if orphans.is_empty() { quiet + 1 } else { 0 };
        if quiet == QUIET_LOOKS {
            return;
        }
        descendants::signal(&orphans, Signal::KILL);
        std::thread::sleep(Duration::from_millis(20));
    }
}
