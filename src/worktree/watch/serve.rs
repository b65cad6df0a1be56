//! The watcher's process: events in, answers out, an audit from time to time.
//!
//! It ends by itself when nobody asked for long, when the working tree or its own directory is gone, when it is told to, and when
//! it finds that it cannot be relied on.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use super::ask::{COOKIE, DIR, Private, SOCKET, is_ours, nonce};
use super::audit::{Findings, audit};
use super::message::{Answer, REQUEST, Request};
use super::mounts::{Mount, beneath};
use super::state::Watcher;
use crate::env::watch_patience;
use crate::error::{Result, ResultExt};
use crate::git::{ObjectFormat, path, regular, threads};
use crate::worktree::cache::Identity;

/// The mounts that this process sees; the system tells of changes to whoever has it open.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Whoever asks is there already: nobody else waits for long.
const PATIENCE: Duration = Duration::from_millis(50);

/// With nothing to do it looks this often whether its directories are still there.
const LOOK: Duration = Duration::from_secs(30);

/// How long events of what an audit saw may take.
const GRACE: Duration = Duration::from_millis(250);

/// How it is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// It ends when nobody asked for this long.
    pub idle: Option<Duration>,
    /// How often it compares everything, as long as somebody asks.
    pub audit: Duration,
}

/// Why it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Nobody asked for long.
    Idle,
    /// It was told to.
    Stopped,
    /// The working tree, or the directory of its own, is gone or elsewhere.
    Gone,
    /// It cannot be relied on.
    Fault(String),
}

/// How it is, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Its process.
    pub pid: u32,
    /// Directories that it watches.
    pub directories: usize,
    /// Directories with files that have several names: told of with every answer.
    pub several: usize,
    /// Questions.
    pub asked: u64,
    /// Those that it could not answer.
    pub unanswered: u64,
    /// How often the system lost events.
    pub overflows: u64,
    /// How often everything was compared.
    pub audits: u64,
    /// How long it runs, in seconds.
    pub running_seconds: u64,
}

/// Runs until it ends. `ready` is called once, when it can be asked.
///
/// # Errors
/// Its socket cannot be made.
pub fn serve(
    own: &Path,
    (root, format): (&Path, ObjectFormat),
    options: &Options,
    ready: &mut dyn FnMut(),
) -> Result<Ended> {
    let instance = nonce().unwrap_or_default();
    let socket = own.join(DIR).join(SOCKET);
    // What dead ones left. Once the directory is watched, a socket that goes is the end.
    let _ = std::fs::remove_file(&socket);
    remove_cookies(&own.join(DIR));
    // What is mounted from here on is told of.
    let mountinfo = regular::open(MOUNTS).ok();
    let watcher = match Watcher::begin(own, root, format, instance) {
        Ok(watcher) => watcher,
        Err(ended) => return Ok(ended),
    };
    let listener = listen(own).context(|| format!("cannot listen at '{}'", socket.display()))?;
    let mut server = Server {
        watcher,
        listener,
        options: options.clone(),
        root: root.to_owned(),
        mountinfo,
        mounts: Vec::new(),
        begun: Instant::now(),
        last_asked: Instant::now(),
        last_audit: Instant::now(),
        asked_since_audit: false,
        audit: None,
        asked: 0,
        unanswered: 0,
        audits: 0,
    };
    server.mounts = server.mounts_now();
    server.note_mounted_files();
    ready();
    let ended = match server.run() {
        Ok(never) => match never {},
        Err(ended) => ended,
    };
    // Whoever finds it knows at once that nobody is there.
    let _ = std::fs::remove_file(&socket);
    Ok(ended)
}

/// Takes away the cookies of processes that died over their question.
fn remove_cookies(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(COOKIE.as_bytes())
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn listen(own: &Path) -> std::io::Result<UnixListener> {
    let dir = Private::open(own);
    let dir = dir.ok_or_else(|| std::io::Error::other("its directory is not private"))?;
    let listener = UnixListener::bind(dir.path(SOCKET))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// An audit under way.
struct Audit {
    found: Receiver<Findings>,
    /// What it found, once it is there, and when that was.
    done: Option<(Findings, Instant)>,
    cache: Identity,
    moment: u64,
}

struct Server {
    watcher: Watcher,
    listener: UnixListener,
    options: Options,
    root: PathBuf,
    mountinfo: Option<std::fs::File>,
    mounts: Vec<Mount>,
    begun: Instant,
    last_asked: Instant,
    last_audit: Instant,
    asked_since_audit: bool,
    audit: Option<Audit>,
    asked: u64,
    unanswered: u64,
    audits: u64,
}

enum Never {}

impl Server {
    fn run(&mut self) -> std::result::Result<Never, Ended> {
        loop {
            let wait = match self.audit {
                Some(_) => GRACE,
                None => wait(self.options.idle, self.last_asked.elapsed()),
            };
            let wait = Timespec::try_from(wait).ok();
            let (mounts_moved, somebody) = {
                let mut fds = vec![
                    PollFd::new(self.watcher.queue(), PollFlags::IN),
                    PollFd::new(&self.listener, PollFlags::IN),
                ];
                if let Some(mountinfo) = &self.mountinfo {
                    fds.push(PollFd::from_borrowed_fd(mountinfo.as_fd(), PollFlags::PRI));
                }
                // An interrupted wait is one that is over.
                let _ = poll(&mut fds, wait.as_ref());
                let has = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
                (has(2), has(1))
            };
            if mounts_moved {
                self.follow_mounts()?;
            }
            self.watcher.catch_up()?;
            self.begin_again_if_events_were_lost()?;
            if somebody {
                self.answer_all()?;
            }
            self.go_on_with_audit()?;
            self.check_end()?;
        }
    }

    fn check_end(&self) -> std::result::Result<(), Ended> {
        if self
            .options
            .idle
            .is_some_and(|idle| self.last_asked.elapsed() >= idle)
        {
            return Err(Ended::Idle);
        }
        self.watcher.root().map(|_| ())
    }

    fn mounts_now(&self) -> Vec<Mount> {
        beneath(&regular::read(MOUNTS).unwrap_or_default(), &self.root)
    }

    /// What was mounted beneath hides what is watched there: all begins anew. Where something is, it may have come in the place of another
    /// that looked the same.
    fn follow_mounts(&mut self) -> std::result::Result<(), Ended> {
        let now = self.mounts_now();
        if now != self.mounts || now.iter().any(|mount| !mount.place.is_empty()) {
            self.mounts = now;
            self.audit = None;
            self.watcher.begin_again()?;
            self.note_mounted_files();
        }
        Ok(())
    }

    /// A file that is mounted on another is told of where it is itself, and so in no directory of this tree.
    fn note_mounted_files(&mut self) {
        let is_file = |mount: &&Mount| {
            let place = self.root.join(OsStr::from_bytes(&mount.place));
            !place.symlink_metadata().is_ok_and(|meta| meta.is_dir())
        };
        let files = self.mounts.iter().filter(is_file);
        let dirs = files.map(|mount| path::split(&mount.place).0.to_vec());
        self.watcher.always_tell_of(dirs.collect());
    }

    fn answer_all(&mut self) -> std::result::Result<(), Ended> {
        while let Ok((stream, _)) = self.listener.accept() {
            self.answer(stream)?;
            // While it was answered: that answer told nothing, the next one would.
            self.begin_again_if_events_were_lost()?;
        }
        Ok(())
    }

    fn begin_again_if_events_were_lost(&mut self) -> std::result::Result<(), Ended> {
        if self.watcher.begin_again_if_events_were_lost()? {
            self.audit = None;
        }
        Ok(())
    }

    /// Answers one question. Whoever asks in another way, or too slowly, gets no answer.
    fn answer(&mut self, mut stream: UnixStream) -> std::result::Result<(), Ended> {
        let mut bytes = [0; REQUEST];
        let patience = Some(watch_patience().unwrap_or(PATIENCE));
        let heard = is_ours(&stream)
            && stream.set_nonblocking(false).is_ok()
            && stream.set_read_timeout(patience).is_ok()
            && stream.set_write_timeout(patience).is_ok()
            && stream.read_exact(&mut bytes).is_ok();
        let Some(request) = Request::parse(&bytes).filter(|_| heard) else {
            return Ok(());
        };
        match request {
            Request::Since { nonce, token } => {
                self.last_asked = Instant::now();
                self.asked_since_audit = true;
                self.asked += 1;
                let mut answer = self.watcher.answer(nonce, token)?;
                // After a pause nobody has compared anything for long.
                if self.last_audit.elapsed() > self.options.audit * 3 {
                    answer.dirty = None;
                }
                self.unanswered += u64::from(answer.dirty.is_none());
                send(&mut stream, &answer);
            }
            Request::Status { .. } => {
                let health = serde_json::to_vec(&self.health()).unwrap_or_default();
                let length = u32::try_from(health.len()).unwrap_or(0).to_le_bytes();
                let _ = stream.write_all(&[&length[..], &health].concat());
            }
            Request::Stop { .. } => {
                let _ = stream.write_all(&0u32.to_le_bytes());
                return Err(Ended::Stopped);
            }
        }
        Ok(())
    }

    fn health(&self) -> Health {
        Health {
            pid: std::process::id(),
            directories: self.watcher.watched(),
            several: self.watcher.with_several(),
            asked: self.asked,
            unanswered: self.unanswered,
            overflows: self.watcher.overflows(),
            audits: self.audits,
            running_seconds: self.begun.elapsed().as_secs(),
        }
    }

    /// Starts an audit when one is due, and judges what it found.
    fn go_on_with_audit(&mut self) -> std::result::Result<(), Ended> {
        let Some(mut audit) = self.audit.take() else {
            if self.asked_since_audit && self.last_audit.elapsed() >= self.options.audit {
                self.start_audit()?;
            }
            return Ok(());
        };
        match audit.done.take() {
            // Whatever it saw has an event in the queue by now.
            Some((found, at)) if at.elapsed() >= GRACE => {
                self.audits += 1;
                self.last_audit = Instant::now();
                self.asked_since_audit = false;
                self.watcher.catch_up()?;
                return self.watcher.judge(found, audit.cache, audit.moment);
            }
            Some(waiting) => audit.done = Some(waiting),
            None => match audit.found.try_recv() {
                Ok(found) => audit.done = Some((found, Instant::now())),
                Err(TryRecvError::Empty) => {}
                // Its thread is gone: another one, later.
                Err(TryRecvError::Disconnected) => return Ok(()),
            },
        }
        self.audit = Some(audit);
        Ok(())
    }

    fn start_audit(&mut self) -> std::result::Result<(), Ended> {
        let Some((manifest, cache, moment)) = self.watcher.to_audit() else {
            return Ok(());
        };
        let root = self.watcher.root()?;
        let (sender, found) = channel();
        // Refused by the system, it is as one that is gone.
        let _ = threads::start(move || sender.send(audit(&root, &manifest)));
        self.audit = Some(Audit {
            found,
            done: None,
            cache,
            moment,
        });
        Ok(())
    }
}

/// How long it sleeps when nothing happens, given when it ends by itself and how long nobody has asked.
fn wait(idle: Option<Duration>, unasked: Duration) -> Duration {
    let left = idle.map_or(LOOK, |idle| idle.saturating_sub(unasked));
    left.clamp(Duration::from_millis(10), LOOK)
}

fn send(stream: &mut UnixStream, answer: &Answer) {
    // Whoever does not listen any more takes a full look.
    let _ = stream.write_all(&answer.encode());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_long_however_long_nobody_asks() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        assert_eq!(wait(None, hours(9)), LOOK);
        assert_eq!(wait(Some(hours(8)), hours(1)), LOOK);
        let last = hours(8).checked_sub(Duration::from_secs(3));
        assert_eq!(wait(Some(hours(8)), last.unwrap_or_default()).as_secs(), 3);
    }
}
