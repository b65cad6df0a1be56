//! Runs the command in scratches, several side by side.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::Verdict;
use crate::error::{Code, Result};
use crate::git::pinned::PathOccupant;
use crate::git::threads::{self, joined};
use crate::interrupt::Deferred;
use crate::ops::Context;
use crate::ops::scratches::with::With;
use crate::ops::scratches::{Scratch, Slot};
use crate::progress::Silent;
use crate::runner::program::own_program;
use crate::runner::{Control, End, Ended};
use crate::store::id::SnapshotId;

/// The status by which a command says that a tree cannot be judged.
const SKIP: i32 = 125;
/// The status by which a shell says that there is no such command.
const NO_COMMAND: i32 = 127;
/// How often it is looked whether somebody wants an end.
const LOOK: Duration = Duration::from_millis(50);

/// What every probe does.
pub(super) struct Question {
    pub words: Vec<OsString>,
    pub with: With,
    pub repeat: u32,
    pub setup: Option<String>,
    pub timeout: Option<Duration>,
    pub logs: PathBuf,
}

/// What a probe found.
#[derive(Debug)]
pub(super) struct Probed {
    pub verdict: Verdict,
    pub exit: Option<i32>,
    pub reason: Option<String>,
    pub duration: Duration,
    pub leaks: Vec<String>,
    pub notices: Vec<String>,
    pub log: PathBuf,
}

/// Probes these snapshots side by side, in this order. What was stopped is undecided.
pub(super) fn side_by_side(
    ctx: &Context<'_>,
    question: &Question,
    ids: &[SnapshotId],
    stop: &Deferred,
) -> Vec<Result<Probed>> {
    let root = ctx.repo.worktree_root();
    let running: Mutex<Vec<Control>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let (ended, all_ended) = mpsc::channel::<()>();
        let (running, env) = (&running, ctx.env);
        let probing: Vec<_> = ids
            .iter()
            .zip(1..)
            .map(|(id, slot)| {
                let ended = ended.clone();
                let at = Probe {
                    question,
                    slot: Slot(slot),
                    stop,
                    running,
                };
                threads::start_in(scope, move || {
                    // A context holds what no two threads may share.
                    let probed = Context::open(root, env, &Silent).and_then(|ctx| at.run(&ctx, id));
                    drop(ended);
                    probed
                })
            })
            .collect();
        drop(ended);
        while let Err(mpsc::RecvTimeoutError::Timeout) = all_ended.recv_timeout(LOOK) {
            if stop.requested() {
                let controls = running.lock().unwrap_or_else(PoisonError::into_inner);
                controls.iter().for_each(Control::stop);
            }
        }
        let joined = probing.into_iter().map(|started| joined(started?));
        joined.collect()
    })
}

/// One probe: the question, on one snapshot.
struct Probe<'a> {
    question: &'a Question,
    slot: Slot,
    stop: &'a Deferred,
    running: &'a Mutex<Vec<Control>>,
}

impl Probe<'_> {
    fn run(&self, ctx: &Context<'_>, id: &SnapshotId) -> Result<Probed> {
        let stored = ctx.store()?.read_id(id)?;
        let mut all: Option<Probed> = None;
        for _ in 0..self.question.repeat {
            let probed = self.once(ctx, &stored)?;
            let before = all.take();
            let is_over = !matches!(probed.verdict, Verdict::Good | Verdict::Bad);
            let merged = match before {
                Some(before) => before.and(probed),
                None => probed,
            };
            let is_over = is_over || merged.verdict == Verdict::Flaky;
            all = Some(merged);
            if is_over {
                break;
            }
        }
        all.ok_or_else(|| crate::error::Error::usage("there is nothing to run"))
    }

    /// In a scratch of its own: what one run leaves is not to be seen by the next.
    fn once(&self, ctx: &Context<'_>, stored: &crate::store::stored::Stored) -> Result<Probed> {
        let scratch = match Scratch::lay(ctx, stored, "bisect") {
            Ok(scratch) => scratch,
            // Of this snapshot nothing can be said; of others it can.
            Err(error) if error.code() == Code::CorruptRecord => {
                return Ok(Probed::undecided(error.message().to_owned()));
            }
            Err(error) => return Err(error),
        };
        let store = ctx.store()?;
        let with = self.question.with.over(store, stored.tree)?;
        let said = scratch.put_over(&with)?;
        let log = self.question.logs.join(format!("{}.log", scratch.name()));
        let probed = self.probe(&scratch, log.clone());
        let probed = match scratch.check_there() {
            Ok(()) => {
                let mut probed = probed?;
                probed.notices.extend(said);
                probed.notices.extend(scratch.put_back(&with)?);
                probed
            }
            // What it says may be of something else by then.
            Err(error) => Probed {
                log,
                leaks: probed.map(|probed| probed.leaks).unwrap_or_default(),
                ..Probed::undecided(error.message().to_owned())
            },
        };
        Ok(leave(scratch, probed))
    }

    /// The setup, then the command.
    fn probe(&self, scratch: &Scratch<'_>, log: PathBuf) -> Result<Probed> {
        let mut leaks = Vec::new();
        if let Some(setup) = &self.question.setup {
            let words = ["sh", "-c", setup].map(OsString::from).to_vec();
            let ended = self.command(scratch, words, &log)?;
            leaks = ended.leaks;
            if !ended.end.is_success() {
                let reason = match ended.end {
                    End::TimedOut => "the setup command timed out",
                    End::Stopped => "it was stopped",
                    End::Exited(_) | End::Signal(_) => "the setup command failed",
                };
                return Ok(Probed {
                    leaks,
                    log,
                    ..Probed::undecided(reason.to_owned())
                });
            }
        }
        let mut ended = self.command(scratch, self.question.words.clone(), &log)?;
        ended.leaks.splice(0..0, leaks);
        let notices = scratch.notices.clone();
        Ok(Probed::of(ended, log, notices))
    }

    fn command(&self, scratch: &Scratch<'_>, words: Vec<OsString>, log: &Path) -> Result<Ended> {
        let job = scratch.job(words, self.slot, self.question.timeout, log.to_owned());
        let running = job.start(&own_program()?)?;
        let mut controls = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        controls.push(running.control());
        drop(controls);
        if self.stop.requested() {
            running.control().stop();
        }
        running.wait()
    }
}

/// Takes the scratch away. What the command left that is worth keeping is an experiment.
fn leave(scratch: Scratch<'_>, mut probed: Probed) -> Probed {
    let dir = scratch.dir().to_owned();
    let discarded = match scratch.occupant() {
        PathOccupant::Gone => scratch.discard_rest(),
        _ => scratch.discard().map(drop),
    };
    if let Err(error) = discarded {
        probed.notices.push(format!(
            "'{}' stays: {} ('tw scratch gc' tries again)",
            dir.display(),
            error.message()
        ));
    }
    probed
}

impl Probed {
    fn undecided(reason: String) -> Self {
        Self {
            verdict: Verdict::Undecided,
            exit: None,
            reason: Some(reason),
            duration: Duration::ZERO,
            leaks: Vec::new(),
            notices: Vec::new(),
            log: PathBuf::new(),
        }
    }

    fn of(ended: Ended, log: PathBuf, mut notices: Vec<String>) -> Self {
        let (verdict, reason) = judge(ended.end);
        notices.extend(ended.notices);
        Self {
            verdict,
            exit: match ended.end {
                End::Exited(status) => Some(status),
                _ => None,
            },
            reason,
            duration: ended.duration,
            leaks: ended.leaks,
            notices,
            log,
        }
    }

    /// What both say together.
    fn and(mut self, later: Self) -> Self {
        let decided = |verdict| matches!(verdict, Verdict::Good | Verdict::Bad);
        let differ = decided(self.verdict) && self.verdict != later.verdict;
        self.verdict = if differ && decided(later.verdict) {
            Verdict::Flaky
        } else {
            later.verdict
        };
        self.duration += later.duration;
        self.exit = later.exit;
        self.reason = later.reason;
        self.leaks.extend(later.leaks);
        self.notices.extend(later.notices);
        self.log = later.log;
        self
    }
}

/// What an end says of a tree, and why it says nothing.
fn judge(end: End) -> (Verdict, Option<String>) {
    match end {
        End::Exited(0) => (Verdict::Good, None),
        End::Exited(SKIP) => (Verdict::Skip, None),
        End::Exited(NO_COMMAND) => {
            let reason = "the command was not found (exit status 127)";
            (Verdict::Undecided, Some(reason.to_owned()))
        }
        End::Exited(_) => (Verdict::Bad, None),
        End::Signal(signal) => (
            Verdict::Undecided,
            Some(format!("killed by signal {signal}")),
        ),
        End::TimedOut => (Verdict::Undecided, Some("it timed out".to_owned())),
        End::Stopped => (Verdict::Undecided, Some("it was stopped".to_owned())),
    }
}
