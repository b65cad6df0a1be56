//! Whether a working tree has a watcher, and a new one started beside this process. What it does: [`crate::worktree::watch`].
//!
//! There is one for each working tree, held by a lock in a directory that is its user's alone. Nothing waits for it and nothing
//! fails without it. One that turned itself off leaves the reason behind, and is not started by a hook until somebody did by hand.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use crate::env::watch_patience;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{self, Root};
use crate::git::{create, regular};
use crate::runner::program::detached;
use crate::store::Store;
use crate::store::lock::{Owner, flock_until};
use crate::worktree::watch::ask::{DIR, tell};
use crate::worktree::watch::message::Request;
use crate::worktree::watch::mounts;
use crate::worktree::watch::serve::{Health, Options};

/// In the watcher's directory: held while it runs, and says who it is.
pub const LOCK: &str = "lock";

/// There: why the last one turned itself off.
pub const FAULT: &str = "fault";

/// How long a command waits for an answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Before it is asked again.
const PAUSE: Duration = Duration::from_millis(5);

/// How the watcher is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum State {
    /// It answers.
    Running,
    /// There is none.
    Off,
    /// There is one that does not answer: it is still starting, or it was stopped.
    Silent,
    /// It turned itself off.
    Fault,
}

/// Answer of `watch start` and `watch status`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Watching {
    /// `running`; `off`; `silent`: there is one that does not answer; `fault`: it turned itself off.
    pub state: State,
    /// Why it turned itself off.
    pub reason: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
    /// Directories that it watches.
    pub directories: Option<usize>,
    /// Directories with files that have several names (hard links): compared by every snapshot.
    pub several: Option<usize>,
    /// Questions so far.
    pub asked: Option<u64>,
    /// Those that it could not answer, so that everything was looked at.
    pub unanswered: Option<u64>,
    /// How often the system lost events.
    pub overflows: Option<u64>,
    /// How often it compared every file with the cache.
    pub audits: Option<u64>,
    /// How long it has been running.
    pub running_seconds: Option<u64>,
}

/// A file in the watcher's directory, below a `timewarp` directory.
pub fn file(own: &Path, name: &str) -> PathBuf {
    own.join(DIR).join(name)
}

/// Makes the watcher's directory, and refuses where it could not be relied on.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` where a file system does not tell of what happens in it.
pub fn prepare(ctx: &Context<'_>, store: &Store) -> Result<()> {
    let root = Root::open(ctx.repo.worktree_root())?;
    if let Some(why) = mounts::refusal(&root) {
        return Err(Error::new(Code::UnsupportedRepository, why)
            .hint("snapshots look at all files; nothing else is lost without a watcher"));
    }
    store.dir.create()?;
    create::private_dir(&store.dir.file(DIR))
}

/// Starts it, detached from this process.
///
/// # Errors
/// The system's.
pub fn spawn(ctx: &Context<'_>, options: &Options) -> Result<Child> {
    let what = || "cannot start the watcher".to_owned();
    let seconds = |time: Duration| format!("{}s", time.as_secs().max(1));
    let mut command = detached(ctx.repo.worktree_root())?;
    command.args(["watch", "--detached", "--audit", &seconds(options.audit)]);
    if let Some(idle) = options.idle {
        command.args(["--idle", &seconds(idle)]);
    }
    command.spawn().context(what)
}

/// Starts it from a hook, when the settings ask for one, there is none, and the last one did not turn itself off. Nothing waits
/// for it.
pub fn start_when_asked(ctx: &Context<'_>) {
    if !ctx.settings.watch || ctx.env.is_on("TW_NO_BACKGROUND") {
        return;
    }
    let Ok(store) = ctx.store() else { return };
    let own = store.dir.path();
    let has_fault = fs::is_there(&file(own, FAULT)).unwrap_or(true);
    if is_running(own) || has_fault || prepare(ctx, store).is_err() {
        return;
    }
    let _ = spawn(ctx, &HOOK);
}

/// One that a hook started ends by itself when nobody works there any more.
const HOOK: Options = Options {
    idle: Some(Duration::from_secs(8 * 3600)),
    audit: AUDIT,
};

/// How often everything is compared, unless somebody says otherwise.
pub const AUDIT: Duration = Duration::from_secs(600);

/// How long a command waits for the watcher.
pub fn patience() -> Duration {
    watch_patience().unwrap_or(PATIENCE)
}

/// Asks the watcher of a worktree for its state.
pub fn look(own: &Path) -> Watching {
    let health = health(own);
    let reason = regular::read_within(file(own, FAULT), 4096).ok();
    let reason = reason.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let is_running = health.is_some() || is_running(own);
    let state = match (&health, is_running, &reason) {
        (Some(_), ..) => State::Running,
        (None, true, _) => State::Silent,
        (None, false, Some(_)) => State::Fault,
        (None, false, None) => State::Off,
    };
    let holder = is_running.then(|| holder(own)).flatten();
    let health = health.as_ref();
    Watching {
        state,
        reason: reason.filter(|_| state == State::Fault),
        pid: health.map(|it| it.pid).or(holder.map(|owner| owner.pid)),
        directories: health.map(|it| it.directories),
        several: health.map(|it| it.several),
        asked: health.map(|it| it.asked),
        unanswered: health.map(|it| it.unanswered),
        overflows: health.map(|it| it.overflows),
        audits: health.map(|it| it.audits),
        running_seconds: health.map(|it| it.running_seconds),
    }
}

/// One that is well hears a question that comes too slowly no further: it is asked again while there is time.
fn health(own: &Path) -> Option<Health> {
    let until = Instant::now() + patience();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let answer = tell(own, |nonce| Request::Status { nonce }, left);
        let health = answer.and_then(|bytes| serde_json::from_slice::<Health>(&bytes).ok());
        if health.is_some() || Instant::now() >= until || !is_running(own) {
            return health;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Who holds its lock, as it says itself.
pub fn holder(own: &Path) -> Option<Owner> {
    Owner::parse(&regular::read_within(file(own, LOCK), 256).ok()?)
}

/// Whether somebody holds its lock: death frees it.
pub fn is_running(own: &Path) -> bool {
    let Ok(lock) = regular::open(file(own, LOCK)) else {
        return false;
    };
    let is_ours = lock
        .metadata()
        .is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw());
    let share = FlockOperation::NonBlockingLockShared;
    is_ours && !flock_until(&lock, share, Instant::now()).unwrap_or(true)
}
