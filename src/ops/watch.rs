//! `tw watch`: the watcher of a working tree, run here, started beside, stopped, asked how it is.

mod service;

use std::path::Path;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::watcher::{FAULT, LOCK, file, holder, is_running, look, patience, prepare, spawn};
pub use super::watcher::{State, Watching};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{self, Durable};
use crate::store::lock::{Owner, hold_file_within};
use crate::worktree::watch::ask::tell;
use crate::worktree::watch::message::Request;
use crate::worktree::watch::serve::{Ended, Options, serve};
pub use service::{Service, service};

/// How long one that was just started may take to look at everything once.
const STARTING: Duration = Duration::from_secs(60);

/// How it is to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// How long it waits between audits, and without questions.
    pub options: Options,
    /// It was started beside a command, and outlives its terminal.
    pub detached: bool,
}

/// Answer of `watch stop`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stopped {
    /// Whether there was one.
    pub stopped: bool,
}

/// Answer of `watch`, once it can be asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ready {
    /// The process.
    pub pid: u32,
}

/// How `watch` ended. It has answered before.
#[derive(Debug)]
pub struct Over {
    /// `idle`, `stopped`, `gone`: the working tree or its git directory went or moved.
    pub ended: &'static str,
}

/// Runs the watcher until it ends. `ready` is called once it can be asked.
///
/// # Errors
/// `BUSY` when there is one, `UNSUPPORTED_REPOSITORY` where a file system does not tell of what happens in it, `IO` when it
/// turned itself off.
pub fn run(ctx: &Context<'_>, run: &Run, ready: &mut dyn FnMut(Ready)) -> Result<Over> {
    let store = ctx.store()?;
    let own = store.dir.path();
    prepare(ctx, store)?;
    if run.detached {
        let _ = rustix::process::setsid();
        // What it works in could not be unmounted. The file system with the git directory cannot be, as long as it holds its lock there.
        let _ = std::env::set_current_dir("/");
    }
    // Somebody may just be looking whether there is one.
    let lock = hold_file_within(&file(own, LOCK), patience())?;
    let line = Owner::this_process("watch").line();
    let what = || "cannot say who watches".to_owned();
    lock.set_len(0).context(what)?;
    std::os::unix::fs::FileExt::write_all_at(&*lock, line.as_bytes(), 0).context(what)?;
    fs::remove_optional(&file(own, FAULT))?;
    let root = (ctx.repo.worktree_root(), ctx.repo.object_format());
    let pid = std::process::id();
    let ended = serve(own, root, &run.options, &mut || ready(Ready { pid }))?;
    Ok(Over {
        ended: match ended {
            Ended::Idle => "idle",
            Ended::Stopped => "stopped",
            Ended::Gone => "gone",
            Ended::Fault(why) => {
                fs::write_atomic(&file(own, FAULT), why.as_bytes(), Durable::No)?;
                return Err(turned_off(&why));
            }
        },
    })
}

fn turned_off(why: &str) -> Error {
    Error::new(Code::Io, format!("the watcher turned itself off: {why}"))
        .hint("snapshots look at all files; 'tw watch start' tries again")
}

/// Starts it beside this command, when there is none; answers when it can be asked, or has ended again.
///
/// # Errors
/// As [`run`], and `IO` when it cannot be started.
pub fn start(ctx: &Context<'_>, options: &Options) -> Result<Watching> {
    let store = ctx.store()?;
    prepare(ctx, store)?;
    let own = store.dir.path();
    if let Some(there) = one_that_is_there(own) {
        return Ok(there);
    }
    fs::remove_optional(&file(own, FAULT))?;
    let mut child = spawn(ctx, options)?;
    let deadline = Instant::now() + STARTING;
    loop {
        let has_ended = child.try_wait().is_ok_and(|status| status.is_some());
        let now = look(own);
        match now.state {
            State::Running => return Ok(now),
            State::Fault => return Err(turned_off(&now.reason.unwrap_or_default())),
            // Another one was quicker.
            State::Silent if has_ended => return Ok(now),
            State::Off if has_ended => {
                return Err(Error::new(Code::Io, "the watcher ended at once")
                    .hint("run 'tw watch' to see why"));
            }
            State::Silent if Instant::now() > deadline => return Ok(now),
            State::Off | State::Silent => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The watcher that runs. One that does not answer may be dying, of which the system tells a moment later.
fn one_that_is_there(own: &Path) -> Option<Watching> {
    let deadline = Instant::now() + patience();
    while is_running(own) {
        let now = look(own);
        if now.state == State::Running || (now.state == State::Silent && Instant::now() > deadline)
        {
            return Some(now);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Ends the watcher of this worktree and waits until it is gone.
///
/// # Errors
/// `BUSY` when it does not end.
pub fn stop(ctx: &Context<'_>) -> Result<Stopped> {
    let own = ctx.store()?.dir.path();
    if !is_running(own) {
        return Ok(Stopped { stopped: false });
    }
    let _ = tell(own, |nonce| Request::Stop { nonce }, patience());
    let deadline = Instant::now() + patience();
    while is_running(own) {
        if Instant::now() > deadline {
            let pid = holder(own).map_or(0, |owner| owner.pid);
            let message = format!("the watcher (process {pid}) does not answer");
            return Err(Error::new(Code::Busy, message).hint(format!("kill -KILL {pid}")));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(Stopped { stopped: true })
}

/// Returns the state of the watcher of this worktree.
///
/// # Errors
/// The repository cannot be read.
pub fn status(ctx: &Context<'_>) -> Result<Watching> {
    Ok(look(ctx.store()?.dir.path()))
}
