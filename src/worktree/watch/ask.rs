//! Asking the watcher: within milliseconds, or not at all.
//!
//! Everything about it is doubted: whose directory and whose process it is, whether it answers in time, to this question, in one
//! piece, and about the same directory in the same place. On any doubt there is no answer, and the look is a full one.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};

use super::message::{Answer, LONGEST_ANSWER, Nonce, Place, Request, Token};
use crate::env::watch_patience;
use crate::git::fs::{Root, create_at};
use crate::git::hex::hex;

/// Below the `timewarp` directory: private, with the socket, and with the cookies whose events prove that events arrive.
pub const DIR: &str = "watch";

/// The socket in that directory.
pub const SOCKET: &str = "socket";

/// What the names of cookies begin with.
pub const COOKIE: &str = "cookie-";

/// How long a snapshot waits for the watcher. Past that a full look costs no more than waiting on.
const PATIENCE: Duration = Duration::from_millis(10);

/// Where this process sees a root directory.
pub fn place_of(root: &Root) -> Option<Place> {
    let stat = rustix::fs::fstat(root.fd()).ok()?;
    Some(Place {
        device: stat.st_dev,
        inode: stat.st_ino,
        mounts: std::fs::metadata("/proc/self/ns/mnt").ok()?.ino(),
    })
}

/// What changed since a moment, by the watcher whose directory is in this `timewarp` directory.
pub fn ask(own: &Path, root: &Root, token: Token) -> Option<Answer> {
    let deadline = Instant::now() + watch_patience().unwrap_or(PATIENCE);
    let dir = Private::open(own)?;
    let mut line = dir.connect(deadline)?;
    let nonce = nonce()?;
    // Its event comes behind those of everything that was done before.
    let cookie = dir.cookie(nonce)?;
    let answer = line.ask(&Request::Since { nonce, token });
    drop(cookie);
    let answer = Answer::parse(&answer?)?;
    (answer.nonce == nonce && Some(answer.place) == place_of(root)).then_some(answer)
}

/// Says something else to the watcher; its answer in bytes, `None` when there is none in time.
pub fn tell(own: &Path, request: impl Fn(Nonce) -> Request, patience: Duration) -> Option<Vec<u8>> {
    let dir = Private::open(own)?;
    let mut line = dir.connect(Instant::now() + patience)?;
    line.ask(&request(nonce()?))
}

/// A name that nobody guesses.
pub fn nonce() -> Option<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).ok()?;
    Some(nonce)
}

/// The name of the cookie of a question.
pub fn cookie_name(nonce: Nonce) -> String {
    format!("{COOKIE}{}", hex(&nonce))
}

/// The watcher's directory, which is this user's alone.
pub struct Private {
    fd: OwnedFd,
}

impl Private {
    /// Opens it; `None` when it is not there, or others could put something in.
    pub fn open(own: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, own.join(DIR), flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
        let others = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXG | Mode::RWXO);
        (is_ours && others.is_empty()).then_some(Self { fd })
    }

    /// A path to a name in it that is short, whatever the directory's own is: a socket's must be.
    pub fn path(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()).into()
    }

    fn connect(&self, deadline: Instant) -> Option<Line> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        // One that is stopped does not accept: when its queue is full this fails at once.
        connect(&socket, &SocketAddrUnix::new(self.path(SOCKET)).ok()?).ok()?;
        is_ours(&socket).then(|| Line {
            stream: UnixStream::from(socket),
            deadline,
        })
    }

    fn cookie(&self, nonce: Nonce) -> Option<Cookie<'_>> {
        let name = cookie_name(nonce);
        create_at(&self.fd, &name, 0o600).ok()?;
        Some(Cookie { dir: self, name })
    }
}

/// Whether this user's process is at the other end.
pub fn is_ours(socket: &impl AsFd) -> bool {
    let peer = sockopt::socket_peercred(socket);
    peer.is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

struct Cookie<'d> {
    dir: &'d Private,
    name: String,
}

impl Drop for Cookie<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.dir.fd, &self.name, rustix::fs::AtFlags::empty());
    }
}

struct Line {
    stream: UnixStream,
    deadline: Instant,
}

impl Line {
    /// One question, one answer.
    fn ask(&mut self, request: &Request) -> Option<Vec<u8>> {
        // As short as it is, the socket takes it at once.
        self.stream.write_all(&request.encode()).ok()?;
        let mut length = [0; 4];
        self.read(&mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        if length > LONGEST_ANSWER {
            return None;
        }
        let mut answer = vec![0; length];
        self.read(&mut answer)?;
        Some(answer)
    }

    fn read(&mut self, mut into: &mut [u8]) -> Option<()> {
        while !into.is_empty() {
            match self.stream.read(into) {
                Ok(0) => return None,
                Ok(count) => into = into.get_mut(count..)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(())
    }

    /// Until there is something to read; `None` when there is no more time.
    fn wait(&self) -> Option<()> {
        let left = self.deadline.checked_duration_since(Instant::now())?;
        let left = Timespec::try_from(left).ok()?;
        let mut fds = [PollFd::new(&self.stream, PollFlags::IN)];
        let ready = poll(&mut fds, Some(&left)).ok()?;
        (ready > 0).then_some(())
    }
}
