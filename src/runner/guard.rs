//! The process between `tw` and a run's command. See [`super`] for what it promises.
//!
//! Its input is a line of JSON, the [`Job`], and then a byte (`STOP`) when it is to end; the end of its input is the death of
//! `tw`. Its output is one `Answer`. It does one thing at a time, in one thread: it waits for input, for output of the command, for
//! the end of a child, or for the next moment at which it has to do something.
//!
//! Every orphan of the run becomes its child. So the run is over when the system says that it has no child, and at nothing else: what
//! is found in the list of processes may be less than there is ([`descendants::below`]).

use std::ffi::OsString;
use std::io::{ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::descendants::{self, Row};
use super::log::Log;
use super::program::own_program;
use super::{BECOME, End, Ended, GUARD, Job, PATIENCE};
use crate::git::fs::open_dir;

/// Asks the run to end.
pub(super) const STOP: u8 = b't';

/// How long what a command started may take to end after it, unless its job says otherwise.
pub(super) const LINGER: Duration = Duration::from_millis(500);
/// How often it is seen to what is due while processes of the run are ending.
const TICK: Duration = Duration::from_millis(20);
/// How often processes are looked for at a time. One that goes on by starting another and ending is seldom there when it is seen.
const LOOKS: usize = 100;
/// How many looks in a row that find nothing new are enough.
const QUIET_LOOKS: usize = 2;
/// How long a process that got KILL is waited for: one that hangs in the system does not die.
pub(super) const GIVE_UP: Duration = Duration::from_secs(10);

/// What a guard says at its end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// The run is over.
    Ended(Ended),
    /// There was none.
    Failed(String),
}

/// Is a guard or the command of a run, when this process was started for it.
pub fn answer(words: &[OsString]) -> Option<u8> {
    let word = words.get(1)?;
    if word == GUARD {
        Some(guard())
    } else if word == BECOME {
        Some(become_command(words.get(2..)?))
    } else {
        None
    }
}

/// Becomes the command: in a session of its own, and dying with its guard.
fn become_command(words: &[OsString]) -> u8 {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::setsid();
    let Some((program, rest)) = words.split_first() else {
        return NOT_FOUND;
    };
    let error = Command::new(program).args(rest).exec();
    // Into the run's log.
    let _ = writeln!(
        std::io::stderr(),
        "cannot run '{}': {error}",
        program.display()
    );
    NOT_FOUND
}

/// As a shell says that there is no such command.
const NOT_FOUND: u8 = 127;

fn guard() -> u8 {
    // Ctrl-C at the terminal is for `tw`, which tells what to do.
    let _ = rustix::process::setsid();
    // A run may have stopped it: it has to see that `tw` died.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
    let answer = match Guard::begin() {
        Ok(mut guard) => match guard.watch() {
            Ok(()) => guard.answer(),
            Err(error) => {
                guard.kill_all();
                Answer::Failed(error.to_string())
            }
        },
        Err(error) => Answer::Failed(error.to_string()),
    };
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    u8::from(std::io::stdout().write_all(&text).is_err())
}

/// What is being done with the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The command runs.
    Running,
    /// It is over; what it started may end by itself until then.
    Lingering(Instant),
    /// All got TERM, and get KILL then.
    Ending(Instant),
    /// All get KILL until then.
    Killing(Instant),
    /// Nothing is left.
    Over,
}

struct Guard {
    job: Job,
    output: PipeReader,
    output_is_open: bool,
    log: Log,
    /// Something can be read here when a child has ended, or somebody wants the guard itself to end.
    signals: UnixStream,
    command: i32,
    /// Can be read when the command has ended: its signal may be blocked, by whoever started us all.
    ended: Option<OwnedFd>,
    begun: Instant,
    phase: Phase,
    end: Option<(End, Duration)>,
    /// Why it was ended, before its own end is known.
    why: Option<End>,
    leaks: Vec<String>,
    notices: Vec<String>,
    input_is_open: bool,
}

impl Guard {
    fn begin() -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
        let (job, wishes) = read_job()?;
        let (signals, told) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        for signal in [SIGCHLD, SIGTERM, SIGINT, SIGHUP] {
            signal_hook::low_level::pipe::register(signal, told.try_clone()?)?;
        }
        let log = Log::create(&job.log)?;
        let (output, writer) = std::io::pipe()?;
        rustix::io::ioctl_fionbio(&output, true)?;
        enter(&job)?;
        let mut command = Command::new(own_program().map_err(std::io::Error::other)?);
        command
            .arg(BECOME)
            .args(&job.words)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let child = command.spawn()?;
        // Our ends of the pipe go, or its end would never be seen.
        drop(command);
        let mut guard = Self {
            job,
            output,
            output_is_open: true,
            log,
            signals,
            command: i32::try_from(child.id()).unwrap_or(0),
            ended: pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok(),
            begun: Instant::now(),
            phase: Phase::Running,
            end: None,
            why: None,
            leaks: Vec::new(),
            notices: Vec::new(),
            input_is_open: true,
        };
        guard.follow(&wishes);
        Ok(guard)
    }

    /// Until nothing of the run is left.
    fn watch(&mut self) -> std::io::Result<()> {
        while self.phase != Phase::Over {
            let ready = self.wait()?;
            if ready.input {
                self.read_wishes()?;
            }
            if ready.output {
                self.read_output()?;
            }
            self.drain_signals();
            if self.reap() == Children::None {
                self.phase = Phase::Over;
            }
            self.step();
        }
        // What is left in the pipe; who still holds it open is not ours.
        self.read_output()?;
        if let Err(error) = self.log.finish() {
            self.notices
                .push(format!("its output is not whole: {error}"));
        }
        Ok(())
    }

    fn answer(self) -> Answer {
        let (end, duration) = self
            .end
            .unwrap_or((End::Signal(Signal::KILL.as_raw()), self.begun.elapsed()));
        Answer::Ended(Ended {
            end: self.why.unwrap_or(end),
            duration,
            leaks: self.leaks,
            notices: self.notices,
        })
    }

    /// Sleeps until something can be read, or it is time for the next step.
    fn wait(&self) -> std::io::Result<Ready> {
        let stdin = std::io::stdin();
        let (input, output) = (stdin.as_fd(), self.output.as_fd());
        let look = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut fds = vec![look(self.signals.as_fd())];
        let mut place = |is_open: bool, fd| -> Option<usize> {
            is_open.then(|| {
                fds.push(look(fd));
                fds.len() - 1
            })
        };
        let input = place(self.input_is_open, input);
        let output = place(self.output_is_open, output);
        // Later it is looked for every so often.
        if let (Phase::Running, Some(ended)) = (self.phase, &self.ended) {
            fds.push(look(ended.as_fd()));
        }
        let timeout = self.until_next_step().map(|time| rustix::event::Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |at: Option<usize>| {
            at.and_then(|at| fds.get(at))
                .is_some_and(|fd| !fd.revents().is_empty())
        };
        Ok(Ready {
            input: is_ready(input),
            output: is_ready(output),
        })
    }

    fn until_next_step(&self) -> Option<Duration> {
        match self.phase {
            Phase::Running => {
                let timeout = self.job.timeout?;
                Some(timeout.saturating_sub(self.begun.elapsed()))
            }
            Phase::Over => Some(Duration::ZERO),
            _ => Some(TICK),
        }
    }

    fn read_wishes(&mut self) -> std::io::Result<()> {
        let mut buffer = [0; 16];
        match read_input(&mut buffer) {
            Ok(0) => {
                // `tw` is dead: nobody waits for an answer.
                self.input_is_open = false;
                self.why.get_or_insert(End::Stopped);
                self.kill_all();
            }
            Ok(count) => self.follow(buffer.get(..count).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn follow(&mut self, wishes: &[u8]) {
        if !wishes.is_empty() {
            self.why.get_or_insert(End::Stopped);
            self.end_all();
        }
    }

    fn read_output(&mut self) -> std::io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        while self.output_is_open {
            match self.output.read(&mut buffer) {
                Ok(0) => self.output_is_open = false,
                Ok(count) => {
                    let pushed = self.log.push(buffer.get(..count).unwrap_or_default());
                    if let Err(error) = pushed
                        && self.notices.is_empty()
                    {
                        self.notices
                            .push(format!("its output is not whole: {error}"));
                    }
                    if self.phase == Phase::Running {
                        // One who prints without an end must not keep us from looking at the clock.
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn drain_signals(&mut self) {
        let mut buffer = [0; 64];
        while matches!(self.signals.read(&mut buffer), Ok(1..)) {}
    }

    /// Asks how every child that ended did so: the command, and orphans that were taken in; and whether there are others.
    fn reap(&mut self) -> Children {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == self.command => {
                    self.end = Some((end_of(status), self.begun.elapsed()));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Err(Errno::CHILD) => return Children::None,
                Ok(None) | Err(_) => return Children::Some,
            }
        }
    }

    /// What is due now.
    fn step(&mut self) {
        let now = Instant::now();
        match self.phase {
            Phase::Running if self.end.is_some() => {
                self.phase = Phase::Lingering(now + self.job.linger.unwrap_or(LINGER));
            }
            Phase::Running => {
                if self
                    .job
                    .timeout
                    .is_some_and(|timeout| self.begun.elapsed() >= timeout)
                {
                    self.why = Some(End::TimedOut);
                    self.end_all();
                }
            }
            Phase::Lingering(until) | Phase::Ending(until) if now < until => {}
            Phase::Lingering(_) => self.end_all(),
            Phase::Ending(_) => drop(self.kill_all()),
            Phase::Killing(until) => {
                // Again: it may have started others meanwhile.
                let left = self.kill_all();
                if now >= until && self.reap() == Children::Some {
                    self.notices.push(still_running(&left));
                    self.phase = Phase::Over;
                }
            }
            Phase::Over => {}
        }
    }

    fn left(&self) -> Vec<Row> {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut left = descendants::below(own, |_| false);
        if left.is_empty() && self.end.is_none() {
            // Where processes are not listed, at least the command is known.
            left.push(Row::of_child(self.command));
        }
        left
    }

    /// Stops every process of the run and returns them: what is stopped starts no other, and does not end before it is named. What the
    /// command left behind is named.
    fn hold_all(&mut self) -> Vec<Row> {
        let mut held: Vec<Row> = Vec::new();
        let mut quiet = 0;
        for _ in 0..LOOKS {
            // Orphans first, and before all are looked at: what is stopped is there to be found.
            descendants::signal(&descendants::own_children(), Signal::STOP);
            let mut new = self.left();
            new.retain(|row| held.iter().all(|known| known.pid != row.pid));
            descendants::signal(&new, Signal::STOP);
            quiet = if new.is_empty() { quiet + 1 } else { 0 };
            held.extend(new);
            // One that had ended before it could be stopped may have started another.
            held.retain(Row::still_runs);
            let is_enough = quiet >= QUIET_LOOKS && !held.is_empty();
            if is_enough || self.reap() == Children::None {
                break;
            }
        }
        if held.is_empty() {
            held = self.left();
        }
        if self.why.is_none() {
            self.name_leaks(&held);
        }
        held
    }

    fn name_leaks(&mut self, left: &[Row]) {
        for row in left {
            let id = format!("{} ", row.pid);
            if !self.leaks.iter().any(|leak| leak.starts_with(&id)) {
                self.leaks.extend(descendants::describe(&[*row]));
            }
        }
    }

    fn end_all(&mut self) {
        if matches!(self.phase, Phase::Ending(_) | Phase::Killing(_)) {
            return;
        }
        let left = self.hold_all();
        descendants::signal(&left, Signal::TERM);
        // One that is stopped hears TERM only when it goes on.
        descendants::signal(&left, Signal::CONT);
        self.phase = Phase::Ending(Instant::now() + PATIENCE);
    }

    fn kill_all(&mut self) -> Vec<Row> {
        let left = self.hold_all();
        descendants::signal(&left, Signal::KILL);
        if !matches!(self.phase, Phase::Killing(_)) {
            self.phase = Phase::Killing(Instant::now() + GIVE_UP);
        }
        left
    }
}

/// What is said when processes are left that could not be ended.
fn still_running(left: &[Row]) -> String {
    if left.is_empty() {
        return "something of it still runs: it starts others faster than they are found"
            .to_owned();
    }
    let names = descendants::describe(left).join(", ");
    format!("still running, although killed: {names}")
}

/// Goes where the command is to run: it begins where its guard is.
fn enter(job: &Job) -> std::io::Result<()> {
    let dir = open_dir(&job.dir)?;
    let stat = rustix::fs::fstat(&dir)?;
    if job
        .dir_numbers
        .is_some_and(|wanted| wanted != (stat.st_dev, stat.st_ino))
    {
        let message = format!("'{}' is another directory by now", job.dir.display());
        return Err(std::io::Error::other(message));
    }
    Ok(rustix::process::fchdir(dir)?)
}

/// Whether the guard has children: if it has none, nothing of the run is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Children {
    Some,
    None,
}

struct Ready {
    input: bool,
    output: bool,
}

fn end_of(status: WaitStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signal(signal),
        (None, None) => End::Signal(Signal::KILL.as_raw()),
    }
}

/// Without a buffer of the library's in between: what is in there, `poll` does not see.
fn read_input(buffer: &mut [u8]) -> rustix::io::Result<usize> {
    rustix::io::read(std::io::stdin(), buffer)
}

/// The first line of the input, and what came with it.
fn read_job() -> std::io::Result<(Job, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 4096];
    loop {
        let count = read_input(&mut buffer)?;
        bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let wishes = bytes.split_off(at);
            let job = serde_json::from_slice(&bytes)?;
            return Ok((job, wishes.get(1..).unwrap_or_default().to_vec()));
        }
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}
