//! Attempts: commands run side by side, each in a scratch of its own, saved and judged.
//!
//! Owns what `try` and `replay` have in common: what a run begins with and is judged by ([`Subject`]), how many go on at a time
//! ([`Plan::side_by_side`]), what an agent is told of an issue, and what becomes of a run in the record of its issue. Promises:
//! whatever goes wrong with one run is in its result and stops no other; an interrupt ends those that go on, and keeps what they made.

mod attempt;
mod protect;
mod told;
mod watch;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use attempt::{Plan, Subject};
pub use told::{agent_words, approved_check, check_agent, issue_run, source_of};

use super::Context;
use super::scratches::Slot;
use super::tries::TryRun;
use crate::error::Result;
use crate::git::threads;
use crate::interrupt::Deferred;
use crate::runner::program::own_program;
use watch::Watch;

/// How often an interrupt is looked for.
const TICK: Duration = Duration::from_millis(50);

/// Is told how runs go on.
pub trait PhaseObserver: Sync {
    /// A run (0: the check of the snapshot itself) is at this.
    fn phase(&self, run: u64, what: &'static str);
}

/// What runs at a time have in common, as it is asked for.
pub struct RunSettings {
    /// What scratches are called after.
    pub purpose: &'static str,
    /// What makes a scratch ready.
    pub setup: Option<String>,
    /// How long a command may take.
    pub timeout: Duration,
    /// Where the logs go.
    pub logs: PathBuf,
}

impl<'a> Plan<'a> {
    /// Looks at how it is before anything is run.
    ///
    /// # Errors
    /// The present cannot be read.
    pub fn new(ctx: &Context<'a>, wanted: RunSettings) -> Result<Self> {
        Ok(Self {
            root: ctx.repo.worktree_root().to_owned(),
            env: ctx.env,
            purpose: wanted.purpose,
            program: own_program()?,
            setup: wanted.setup,
            timeout: wanted.timeout,
            logs: wanted.logs,
            watch: Watch::new(ctx)?,
            stopped: AtomicBool::new(false),
            controls: Mutex::default(),
        })
    }

    /// Makes the runs, this many at a time, and counts them from 1; one that is enough ends the others. `ended` is told of each soon after
    /// its end, with its place among the subjects.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn side_by_side(
        &self,
        subjects: &[&Subject],
        (jobs, is_enough): (usize, &(dyn Fn(&TryRun) -> bool + Sync)),
        (told, deferred): (&dyn PhaseObserver, &Deferred),
        ended: &mut dyn FnMut(usize, TryRun),
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let slots = jobs.min(subjects.len()).max(1);
        let busy = AtomicUsize::new(slots);
        let done = Mutex::new(Vec::<(usize, TryRun)>::new());
        let work = |slot: usize| {
            while !self.is_stopped() {
                let at = next.fetch_add(1, Ordering::SeqCst);
                let Some(subject) = subjects.get(at) else {
                    break;
                };
                let number = u64::try_from(at + 1).unwrap_or(u64::MAX);
                told.phase(number, "running");
                let run = self.attempt(subject, number, Slot(slot));
                told.phase(number, run.status.as_str());
                if is_enough(&run) {
                    self.stop();
                }
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.push((at, run));
            }
            busy.fetch_sub(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| -> Result<()> {
            for slot in 1..=slots {
                let work = &work;
                let Err(refused) = threads::start_in(scope, move || work(slot)) else {
                    continue;
                };
                // Fewer at a time make the same runs.
                busy.fetch_sub(slots - slot + 1, Ordering::SeqCst);
                if slot == 1 {
                    return Err(refused);
                }
                break;
            }
            loop {
                // Asked before what is done is taken: who is the last to end has put it there then.
                let is_over = busy.load(Ordering::SeqCst) == 0;
                if deferred.requested() {
                    self.stop();
                }
                let new = std::mem::take(&mut *done.lock().unwrap_or_else(PoisonError::into_inner));
                for (at, run) in new {
                    ended(at, run);
                }
                if is_over {
                    return Ok(());
                }
                std::thread::sleep(TICK);
            }
        })
    }
}
