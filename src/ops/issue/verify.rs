//! Run an issue's check and record how it went.
//!
//! The stored command runs only when it was approved on this machine (`approval`); one given on the command line is
//! approved by being given. It runs by `sh -c` in the root of the working tree, without input. What it leaves running is named and ended, as
//! that of a try is. The first Ctrl-C ends it: then it says nothing of the issue, and is in no run.
//!
//! It says something of the working tree that it ran in, and goes into the run which that is of: the one that is open here when it begins.
//! In the present it goes into a run that holds checks and nothing else. What somebody tried in the past, or elsewhere, keeps its verdict.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Verified, Verify};
use crate::error::{Code, Error, Result};
use crate::git::command::NAMES_A_REPOSITORY;
use crate::git::{fs, regular};
use crate::interrupt::{self, Deferred};
use crate::ops::Context;
use crate::ops::approval;
use crate::ops::elsewhere::Files;
use crate::ops::issues::{desk, find, load, snapshot_files, update};
use crate::ops::redaction::Redacting;
use crate::ops::scratches::at_work;
use crate::runner::program::own_program;
use crate::runner::{End, Job};
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::issue::{self, Issue, Run, RunResult};
use crate::store::records::Json;
use crate::store::state::{Mode, State};

/// After what the file is called that a check prints into.
const LOG: &str = "verify.log";
/// How much of the end of the output is read.
const READ: usize = 64 << 10;
/// How much of it is kept, in characters.
const KEPT: usize = 4000;

/// Runs the check.
///
/// # Errors
/// `NOT_APPROVED` shows the command and how to approve it; `USAGE` when there is none, or no such run; `IO` when Ctrl-C ended the
/// check; those of [`super::get()`]. A check that fails is no error.
pub fn verify(ctx: &Context<'_>, request: &Verify) -> Result<Verified> {
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let mut notices = desk::take_in(ctx, store, id)?;
    let loaded = load(store, id)?;
    notices.extend(loaded.notices);
    // A check may take long: the working tree may be elsewhere, and others may have made runs, when it ends.
    let target = match request.run {
        Some(number) => Target::Run(named(id, &loaded.issue, number)?),
        None => Target::of(&store.dir.state()?, id, &loaded.issue),
    };
    let command = command(store, id, &loaded.issue, request)?;
    let begun = ctx.env.now().rfc3339();
    // Held until it is written down.
    let deferred = interrupt::defer();
    let checked = run(ctx, store, (&command, &request.command), &deferred)?;
    let Some((check, said)) = checked else {
        let message = "the check was stopped, and nothing of it is recorded";
        let again = format!("'tw issue verify {id}' runs it again");
        return Err(Error::new(Code::Io, message).hint(again));
    };
    notices.extend(said);
    let now = ctx.env.now().rfc3339();
    let (number, _) = update(ctx, store, id, "verify", |issue| {
        let number = target.run(issue, &begun);
        if let Some(run) = issue.run_mut(Some(number)) {
            run.result = Some(match check.exit_status {
                0 => RunResult::Passed,
                _ => RunResult::Failed,
            });
            run.verify.push(check.clone());
            if run.holds_checks_alone() {
                run.ended_at = Some(now.clone());
            }
        }
        Ok(number)
    })?;
    notices.extend(desk::write(ctx, store, id));
    Ok(Verified {
        issue_id: id.to_string(),
        run: number,
        passed: check.exit_status == 0,
        command: check.command,
        exit_status: check.exit_status,
        duration_ms: check.duration_ms,
        output_tail: check.output_tail,
        notices,
    })
}

/// The run that somebody named, which is to be one of ours.
fn named(id: IssueId, issue: &Issue, number: u64) -> Result<u64> {
    let message = match issue.runs.iter().find(|run| run.run == number) {
        None => format!("issue {id} has no run {number}"),
        Some(run) => match run.claimed_by() {
            None => return Ok(number),
            Some(name) => format!(
                "run {number} of issue {id} was made elsewhere, as '{}' claims: a check made here says nothing about it",
                name.escape_debug()
            ),
        },
    };
    Err(Error::new(Code::Usage, message).hint(format!("tw issue get {id}")))
}

/// Where a check is recorded.
enum Target {
    /// In this run.
    Run(u64),
    /// In the run of this stay in the past, which began with this backup.
    Stay(Option<String>),
    /// In a run that holds checks alone.
    Checks,
}

impl Target {
    fn of(state: &State, id: IssueId, issue: &Issue) -> Self {
        let is_there = state.mode == Mode::Past && state.issue_id == Some(id.to_string());
        if !is_there {
            return Self::Checks;
        }
        let mut runs = issue.runs.iter().rev();
        let open = runs.find(|run| is_of_stay(run, state.backup_id.as_deref()));
        open.map_or_else(
            || Self::Stay(state.backup_id.clone()),
            |run| Self::Run(run.run),
        )
    }

    /// The number of the run, which is made where there is none.
    fn run(&self, issue: &mut Issue, begun: &str) -> u64 {
        let proofs = issue.proofs();
        let is_it = |run: &&Run| match self {
            Self::Run(number) => run.run == *number,
            Self::Stay(backup_id) => is_of_stay(run, backup_id.as_deref()),
            // What shows how the issue was closed stays as it was, and what came before another run is before it.
            Self::Checks => {
                let is_last = issue.runs.last().is_some_and(|last| last.run == run.run);
                is_last && run.holds_checks_alone() && !proofs.contains(&run.run)
            }
        };
        if let Some(run) = issue.runs.iter().rev().find(is_it) {
            return run.run;
        }
        let backup_id = match self {
            // A start that was killed after its travel left none.
            Self::Stay(backup_id) => backup_id.clone(),
            Self::Run(_) | Self::Checks => None,
        };
        let number = issue.next_run();
        let run = Run::begin(number, begun.to_owned(), backup_id);
        issue.runs.push(run);
        number
    }
}

/// Whether a run is the open one of the stay that began with this backup.
fn is_of_stay(run: &Run, backup_id: Option<&str>) -> bool {
    run.ended_at.is_none() && run.backup_id.is_some() && run.backup_id.as_deref() == backup_id
}

/// What is said of a verify command that was given and is kept without a secret in it: it is another command then.
pub(super) fn changed_by_redaction(given: Option<&str>, kept: Option<&str>) -> Option<String> {
    let is_changed = given.is_some_and(|given| kept.is_some_and(|kept| kept != given));
    is_changed.then(|| {
        format!(
            "the verify command looks like it contains a secret, was redacted and cannot run as it is: {}",
            approval::UNREDACTED
        )
    })
}

/// The command to run, which may run here.
fn command(store: &Store, id: IssueId, issue: &Issue, request: &Verify) -> Result<String> {
    if !request.command.is_empty() {
        let command = shell_line(&request.command);
        approval::check_words(&command)?;
        return Ok(command);
    }
    let Some(command) = &issue.verify_command else {
        let message = format!("issue {id} has no verify command");
        return Err(
            Error::new(Code::Usage, message).hint(format!("tw issue verify {id} -- COMMAND"))
        );
    };
    let files = Files::of_worktree(store)?;
    let is_allowed = match &request.allow {
        Some(word) => {
            let mut is_allowed = approval::allow(store, id, (command, files), word)?;
            if !is_allowed {
                // For a try or a replay it may run among those of the issue's snapshot.
                let there = snapshot_files(store, issue)?;
                is_allowed = approval::allow(store, id, (command, there), word)?
                    && approval::is_approved(store, command, files)?;
            }
            // Somebody looked at another command than the one that would run.
            if !is_allowed && approval::is_approved(store, command, files)? {
                let message = format!("'{word}' is not the hash of the verify command: {command}");
                return Err(Error::new(Code::Usage, message).hint(format!("tw issue get {id}")));
            }
            is_allowed
        }
        None => false,
    };
    if !is_allowed {
        approval::check_of_issue(store, id, command, files)?;
    }
    Ok(command.clone())
}

/// One word is a line for the shell as it is; several are the words of one command.
fn shell_line(words: &[String]) -> String {
    if let [line] = words {
        return line.clone();
    }
    let quoted = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Runs the check, and ends what it left running, of which the sentences tell; `words` are those of a command that was typed. None: it was
/// stopped before its end.
fn run(
    ctx: &Context<'_>,
    store: &Store,
    (command, words): (&str, &[String]),
    deferred: &Deferred,
) -> Result<Option<(issue::Verify, Vec<String>)>> {
    store.dir.create()?;
    let _at_work = at_work::begin(ctx)?;
    let place = store.dir.file(LOG);
    // What a check printed is not redacted: that of one whose 'tw' was killed goes with the next.
    fs::clear_dead_temps_of(&place)?;
    let log = Printed(fs::temp_of(&place));
    let job = Job {
        words: ["sh", "-c", command].map(OsString::from).to_vec(),
        dir: ctx.repo.worktree_root().to_owned(),
        // What 'tw' leaves to do later would be taken for something that the check left running.
        env: vec![("TW_NO_BACKGROUND".into(), "1".into())],
        // Started from a git hook, it would work in that hook's repository, index and objects.
        without: NAMES_A_REPOSITORY.map(OsString::from).to_vec(),
        log: log.0.clone(),
        ..Job::default()
    };
    let running = job.start(&own_program()?)?;
    let control = running.control();
    let ended = deferred.ending(|| control.stop(), || running.wait())?;
    if ended.end == End::Stopped {
        return Ok(None);
    }
    let output = regular::read(&log.0).unwrap_or_default();
    let output = output.get(output.len().saturating_sub(READ)..);
    let mut redacting = Redacting::new(ctx);
    let output = redacting.text(&String::from_utf8_lossy(output.unwrap_or_default()));
    let left = ended.leaks.iter();
    let left = left.map(|left| format!("left running, and ended: {}", redacting.text(left)));
    let said = left.chain(ended.notices.clone()).collect();
    let check = issue::Verify {
        command: match words {
            [] => redacting.text(command),
            words => redacting.command(words, shell_line),
        },
        exit_status: ended.end.status().unwrap_or(128),
        duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
        output_tail: end_of(&output),
        other: Json::new(),
    };
    Ok(Some((check, said)))
}

/// The file with what a check printed, which goes when it was read.
struct Printed(PathBuf);

impl Drop for Printed {
    fn drop(&mut self) {
        // One that stays is in nobody's way.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The last characters, from the start of a line when something was cut.
fn end_of(output: &str) -> String {
    let cut = output.chars().count().saturating_sub(KEPT);
    if cut == 0 {
        return output.to_owned();
    }
    let at = output.char_indices().nth(cut).map_or(0, |(at, _)| at);
    let tail = output.get(at..).unwrap_or_default();
    match tail.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() => rest.to_owned(),
        _ => tail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_long_output_begins_with_a_line() {
        assert_eq!(end_of("short\n"), "short\n");
        let long: String = (0..2000).fold(String::new(), |text, n| text + &format!("line {n}\n"));
        let end = end_of(&long);
        assert!(end.starts_with("line ") && end.ends_with("line 1999\n"));
        assert!(end.chars().count() <= KEPT);
        assert_eq!(end_of(&"x".repeat(5000)).len(), KEPT);
    }
}
