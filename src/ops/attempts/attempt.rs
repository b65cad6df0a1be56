//! One run, from the laying out of its scratch to its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::protect::{self, Named};
use super::watch::Watch;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::git::pinned::PathOccupant;
use crate::git::regular;
use crate::ops::Context;
use crate::ops::compare::tree_diff;
use crate::ops::redaction::Redacting;
use crate::ops::scratches::with::{Versions, With};
use crate::ops::scratches::{Scratch, Slot};
use crate::ops::tries::{Check, Outside, Status, TryRun};
use crate::progress::Silent;
use crate::runner::{Control, End, Ended, Job};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::issue::DiffStat;
use crate::store::stored::Stored;
use crate::text::command_line;

/// How much of the end of a check's output is kept.
const KEPT: usize = 4000;

/// The number that the check of the source itself has among the runs, which count from 1.
const BASE: u64 = 0;

/// What all runs at a time have in common. Shared by the threads that make them.
pub struct Plan<'a> {
    /// The present.
    pub root: PathBuf,
    /// Clock and environment.
    pub env: &'a Env,
    /// What scratches are called after.
    pub purpose: &'static str,
    /// `tw` itself.
    pub program: PathBuf,
    /// What makes a scratch ready.
    pub setup: Option<String>,
    /// How long a command may take.
    pub timeout: Duration,
    /// Where the logs go.
    pub logs: PathBuf,
    /// Looks on outside.
    pub watch: Watch,
    /// No run begins any more, and those that go on are ended.
    pub stopped: AtomicBool,
    /// What ends them.
    pub controls: Mutex<BTreeMap<usize, Control>>,
}

/// What a run begins with, does, and is judged by.
pub struct Subject {
    /// The snapshot.
    pub source: Stored,
    /// Files that it has in another version.
    pub with: Versions,
    /// Files that the check names.
    pub protected: BTreeMap<Vec<u8>, Named>,
    /// The command.
    pub words: Vec<OsString>,
    /// The command, redacted.
    pub shown: String,
    /// The check.
    pub verify: Option<String>,
}

impl Subject {
    /// Of a snapshot, files over it, a command, and a check.
    ///
    /// # Errors
    /// The snapshot's tree cannot be read.
    pub fn new(
        ctx: &Context<'_>,
        store: &Store,
        source: Stored,
        with: &With,
        (words, verify): (Vec<OsString>, Option<String>),
    ) -> Result<Self> {
        let with = with.over(store, source.tree)?;
        let mut protected = match &verify {
            Some(command) => protect::named(&store.objects, source.tree, command)?,
            None => BTreeMap::new(),
        };
        // Those are as the present has them, for the check, too.
        protected.retain(|full, _| !with.nodes.contains_key(full));
        Ok(Self {
            shown: Redacting::new(ctx).command(&words, command_line),
            source,
            with,
            protected,
            words,
            verify,
        })
    }
}

impl Plan<'_> {
    /// Ends everything. Results are kept.
    pub fn stop(&self) {
        if self.stopped.swap(true, Ordering::SeqCst) {
            return;
        }
        let controls = self.controls.lock().unwrap_or_else(PoisonError::into_inner);
        controls.values().for_each(Control::stop);
    }

    /// Whether everything is ended.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn context(&self) -> Result<Context<'_>> {
        Context::open(&self.root, self.env, &Silent)
    }

    fn run(&self, job: &Job, slot: Slot) -> Result<Ended> {
        let running = job.start(&self.program)?;
        let held = |work: &dyn Fn(&mut BTreeMap<usize, Control>)| {
            work(&mut self.controls.lock().unwrap_or_else(PoisonError::into_inner));
        };
        held(&|controls| drop(controls.insert(slot.0, running.control())));
        if self.is_stopped() {
            running.control().stop();
        }
        let ended = running.wait();
        held(&|controls| drop(controls.remove(&slot.0)));
        ended
    }

    fn shell(&self, scratch: &Scratch<'_>, slot: Slot, command: &str, log: &Path) -> Result<Ended> {
        let words = ["sh", "-c", command].map(OsString::from).to_vec();
        let job = scratch.job(words, slot, Some(self.timeout), log.to_owned());
        self.run(&job, slot)
    }

    fn check(
        &self,
        subject: &Subject,
        (scratch, slot): (&Scratch<'_>, Slot),
        log: &Path,
        outside: &mut Outside,
    ) -> Result<Option<Check>> {
        let Some(command) = &subject.verify else {
            return Ok(None);
        };
        let ended = self.shell(scratch, slot, command, log)?;
        add_leaks(outside, scratch, &ended);
        if ended.end == End::Stopped {
            // It says nothing.
            return Ok(None);
        }
        let status = match ended.end {
            End::Exited(0) => Status::Passed,
            End::TimedOut => Status::Timeout,
            _ => Status::Failed,
        };
        let output = regular::read(log).unwrap_or_default();
        let output = output.get(output.len().saturating_sub(KEPT)..);
        let mut redacting = Redacting::new(&scratch.there);
        Ok(Some(Check {
            command: redacting.text(command),
            status,
            exit: ended.end.status(),
            duration_ms: millis(ended.duration),
            output_tail: redacting.text(&String::from_utf8_lossy(output.unwrap_or_default())),
        }))
    }

    /// The check on the source as it is, and what it did outside. None: there is no check, or it was stopped.
    ///
    /// # Errors
    /// It cannot be laid out.
    pub fn check_base(&self, subject: &Subject) -> Result<Option<(Check, Outside)>> {
        if subject.verify.is_none() {
            return Ok(None);
        }
        let ctx = self.context()?;
        let scratch = Scratch::lay(&ctx, &subject.source, self.purpose)?;
        let mut outside = Outside::default();
        // What is to be said of these is said of the runs.
        let checked = scratch.put_over(&subject.with).and_then(|_| {
            self.watch.begin(&ctx, BASE)?;
            let checked = self.base(subject, (&scratch, Slot(1)), &mut outside);
            self.watch.end(&ctx, BASE, &mut outside)?;
            checked
        });
        let (checked, _) = leave(scratch, checked);
        Ok(checked?.map(|check| (check, outside)))
    }

    /// The setup, whatever comes of it, then the check.
    fn base(
        &self,
        subject: &Subject,
        (scratch, slot): (&Scratch<'_>, Slot),
        outside: &mut Outside,
    ) -> Result<Option<Check>> {
        if let Some(setup) = &self.setup {
            let log = self.logs.join("base-setup.log");
            let ended = self.shell(scratch, slot, setup, &log)?;
            add_leaks(outside, scratch, &ended);
        }
        let log = self.logs.join("base-verify.log");
        self.check(subject, (scratch, slot), &log, outside)
    }

    /// Makes one run. Whatever goes wrong is in the answer.
    pub fn attempt(&self, subject: &Subject, number: u64, slot: Slot) -> TryRun {
        let mut run = TryRun {
            run: number,
            slot: u64::try_from(slot.0).unwrap_or(u64::MAX),
            command: subject.shown.clone(),
            status: Status::Error,
            exit: None,
            verify: None,
            duration_ms: 0,
            diff_stat: None,
            experiment_id: None,
            group: None,
            protected: Vec::new(),
            outside: Outside::default(),
            log: self.log(number, "").display().to_string(),
            issue_run: None,
            error: None,
            notices: Vec::new(),
            started_at: self.env.now().rfc3339(),
            ended_at: String::new(),
            tree: None,
        };
        if let Err(error) = self.make(subject, &mut run, slot) {
            run.status = Status::Error;
            let said = error.message().to_owned();
            run.error = Some(
                run.error
                    .take()
                    .map_or(said.clone(), |first| format!("{first}; {said}")),
            );
        }
        run.ended_at = self.env.now().rfc3339();
        run
    }

    fn log(&self, number: u64, of: &str) -> PathBuf {
        self.logs.join(format!("run-{number}{of}.log"))
    }

    fn make(&self, subject: &Subject, run: &mut TryRun, slot: Slot) -> Result<()> {
        let ctx = self.context()?;
        let mut scratch = Scratch::lay(&ctx, &subject.source, self.purpose)?;
        run.notices.clone_from(&scratch.notices);
        let made = scratch.put_over(&subject.with).and_then(|said| {
            tell(run, said);
            self.watch.begin(&ctx, run.run)?;
            let made = self.work(&ctx, subject, run, (&mut scratch, slot));
            // Behind the check, too: it executes what the run wrote.
            self.watch.end(&ctx, run.run, &mut run.outside)?;
            made
        });
        let (made, saved) = leave(scratch, made);
        // What no experiment was taken of before is in the one that was taken now.
        let saved = saved.map(|id| id.to_string());
        run.experiment_id = run.experiment_id.take().or(saved);
        made
    }

    /// The command, its experiment, and the check.
    fn work(
        &self,
        ctx: &Context<'_>,
        subject: &Subject,
        run: &mut TryRun,
        (scratch, slot): (&mut Scratch<'_>, Slot),
    ) -> Result<()> {
        let ended = self.command(subject, run, scratch, slot);
        scratch.check_there()?;
        tell(run, scratch.put_back(&subject.with)?);
        let title = format!("run {} of {}", run.run, subject.shown);
        let saved = scratch.experiment(title.get(..100).unwrap_or(&title))?;
        note_experiment(ctx, subject, run, saved)?;
        let ended = ended?;
        run.status = match ended {
            Some(End::TimedOut) => Status::Timeout,
            Some(End::Exited(126 | 127)) if subject.verify.is_none() => {
                run.error = Some("the command cannot be run".to_owned());
                Status::Error
            }
            Some(End::Stopped) => {
                run.error = Some("stopped".to_owned());
                Status::Error
            }
            None => Status::Error,
            Some(_) => self.judge(subject, run, scratch, slot)?,
        };
        Ok(())
    }

    /// The setup, then the command. None: the setup failed. One that was stopped, or whose time was over, did not.
    fn command(
        &self,
        subject: &Subject,
        run: &mut TryRun,
        scratch: &Scratch<'_>,
        slot: Slot,
    ) -> Result<Option<End>> {
        if let Some(setup) = &self.setup {
            let ended = self.shell(scratch, slot, setup, &self.log(run.run, "-setup"))?;
            add_leaks(&mut run.outside, scratch, &ended);
            if ended.end == End::TimedOut {
                run.error = Some("the setup command timed out".to_owned());
            }
            if matches!(ended.end, End::Stopped | End::TimedOut) {
                return Ok(Some(ended.end));
            }
            if !ended.end.is_success() {
                run.error = Some("the setup command failed".to_owned());
                return Ok(None);
            }
        }
        let log = self.log(run.run, "");
        let job = scratch.job(subject.words.clone(), slot, Some(self.timeout), log);
        let ended = self.run(&job, slot)?;
        run.exit = ended.end.status();
        run.duration_ms = millis(ended.duration);
        add_leaks(&mut run.outside, scratch, &ended);
        if !ended.notices.is_empty() {
            run.error = Some(ended.notices.join("; "));
        }
        Ok(Some(ended.end))
    }

    /// The check, with its own files as they were, and those of the present over the rest again.
    fn judge(
        &self,
        subject: &Subject,
        run: &mut TryRun,
        scratch: &Scratch<'_>,
        slot: Slot,
    ) -> Result<Status> {
        tell(run, scratch.put_over(&subject.with)?);
        let named = subject.protected.iter();
        let of_check = named.filter(|(_, named)| named.is_of_check);
        let of_check: Vec<_> = of_check
            .map(|(full, named)| (full.as_slice(), named.node))
            .collect();
        tell(run, scratch.put_as_recorded(&of_check)?);
        let log = self.log(run.run, "-verify");
        run.verify = self.check(subject, (scratch, slot), &log, &mut run.outside)?;
        Ok(match &run.verify {
            None if subject.verify.is_some() => {
                run.error = Some("stopped".to_owned());
                Status::Error
            }
            None => Status::Unverified,
            Some(check) if check.status == Status::Timeout => Status::Timeout,
            Some(check) => check.status,
        })
    }
}

/// Takes a scratch away, whatever was made in it. Of what was not saved yet an experiment is taken; where neither can be done it stays,
/// and is named.
fn leave<T>(scratch: Scratch<'_>, made: Result<T>) -> (Result<T>, Option<SnapshotId>) {
    let occupant = scratch.occupant();
    let made = match (&occupant, made) {
        // It says what is there by now, and that it is left alone.
        (PathOccupant::Other(_), Err(error)) => return (Err(error), None),
        (_, made) => made,
    };
    let dir = scratch.dir().display().to_string();
    let discarded = if occupant == PathOccupant::Gone || scratch.was_saved() {
        scratch.discard_rest().map(|()| None)
    } else {
        scratch.discard()
    };
    let error = match discarded {
        Ok(saved) => return (made, saved),
        Err(error) => error,
    };
    let stays = match occupant {
        PathOccupant::Gone => "what git knows of it stays".to_owned(),
        _ => format!("'{dir}' stays ('tw scratch gc' tries again)"),
    };
    let said = match made {
        // Mostly it is the same that kept it from being saved.
        Err(first) if first.message() == error.message() => format!("{}; {stays}", first.message()),
        Err(first) => format!("{}; {stays}: {}", first.message(), error.message()),
        Ok(_) => format!("{stays}: {}", error.message()),
    };
    let hints = error.hints().to_vec();
    (Err(Error::new(error.code(), said).with_hints(hints)), None)
}

/// Has a run say what it does not say yet.
fn tell(run: &mut TryRun, said: Vec<String>) {
    for notice in said {
        if !run.notices.contains(&notice) {
            run.notices.push(notice);
        }
    }
}

/// What a command left running.
fn add_leaks(outside: &mut Outside, scratch: &Scratch<'_>, ended: &Ended) {
    let mut redacting = Redacting::new(&scratch.there);
    let leaks = ended.leaks.iter().map(|leak| redacting.text(leak));
    outside.leaks.extend(leaks);
}

/// What it left, and how much that changed.
fn note_experiment(
    ctx: &Context<'_>,
    subject: &Subject,
    run: &mut TryRun,
    saved: Option<SnapshotId>,
) -> Result<()> {
    let store = ctx.store()?;
    run.experiment_id = saved.map(|id| id.to_string());
    let after = match saved {
        // Another context has written it.
        Some(id) => {
            store.objects.refresh();
            store.read_id(&id)?.tree
        }
        None => subject.source.tree,
    };
    run.tree = Some(after.to_string());
    let files = tree_diff(ctx, store, subject.source.tree, after)?;
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    run.diff_stat = Some(DiffStat {
        files: number(files.len()),
        insertions: number(files.iter().map(|file| file.insertions).sum()),
        deletions: number(files.iter().map(|file| file.deletions).sum()),
    });
    let touched = files.iter().map(|file| &file.path);
    let touched = touched.filter(|path| subject.protected.contains_key(path.as_bytes()));
    run.protected = touched.cloned().collect();
    Ok(())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
