//! Replay: issues of the past as a test of what agents are told now.
//!
//! Each chosen issue is laid out as it was when it was reported, with the present's versions of the named files (instructions, skills,
//! settings) over it; a command or an agent works on it, and the issue's own check judges. Owns the choice, the comparison with the last
//! replay of the same command, and what follows for the issue: a run in its record when it came out otherwise than before, and an issue that
//! counts as fixed is opened again when its check passed in such a replay and fails now: by the same command, with the same files, made
//! ready in the same way, in no less time and no fewer runs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::attempts::{
    PhaseObserver, Plan, RunSettings, Subject, agent_words, approved_check, check_agent, issue_run,
    source_of,
};
use super::issues::{self, desk};
use super::kept::{self, Versioned};
use super::outcome::{Invalid, SnapshotView, Taken};
use super::redaction::Redacting;
use super::replays::{Replay, Replayed};
use super::request::Take;
use super::scratches::at_work;
use super::scratches::with::With;
use super::swap::recover::Recovery;
use super::tries::{self, Status, TryRun, rank};
use super::{Context, snapshots};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::runner::line_or_words;
use crate::store::Store;
use crate::store::id::Tail;
use crate::store::issue::{self, Comment, Issue};
use crate::store::records::Json;
use crate::store::trigger::Trigger;
use crate::text::command_line;

/// Replay issues.
#[derive(Debug, Clone)]
pub struct Start {
    /// Only issues that stand so; None: all.
    pub status: Option<issue::Status>,
    /// Files that the runs have as the present has them.
    pub with: Vec<OsString>,
    /// How many runs for each issue.
    pub runs: u64,
    /// How many at a time.
    pub jobs: u64,
    /// How long each command may take.
    pub timeout: Duration,
    /// What makes a scratch ready.
    pub setup: Option<String>,
    /// The command.
    pub command: Vec<OsString>,
    /// An agent, in place of a command.
    pub agent: Option<String>,
    /// What the agent is given besides.
    pub agent_args: Vec<String>,
}

/// Answer of `replay` and `replay show`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "replay_answer")]
pub struct ReplayAnswer {
    /// The replay.
    #[serde(flatten)]
    pub record: Replay,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `replay list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Replays {
    /// Newest first.
    pub replays: Vec<Versioned<Replay>>,
    /// Records that cannot be read. They hide nothing.
    pub invalid: Vec<Invalid>,
}

/// Replays issues.
///
/// # Errors
/// Nothing was run then: `USAGE`; `PATH_NOT_FOUND` for what `with` names; those of a snapshot.
pub fn start(ctx: &Context<'_>, request: &Start, told: &dyn PhaseObserver) -> Result<ReplayAnswer> {
    ctx.check_workspace_was_meant()?;
    let shown = shown(ctx, request)?;
    let all = issues::all_as_edited(ctx)?;
    let mut notices = all.notices;
    for (id, error) in &all.invalid {
        notices.push(format!("{id} cannot be read: {}", error.message()));
    }
    let mut chosen = all.issues;
    chosen.retain(|issue| request.status.is_none_or(|status| is_chosen(issue, status)));
    let present = present(ctx)?;
    notices.extend(present.notices);
    let done = replay(ctx, request, (chosen, shown), &present.snapshot, told);
    Recovery(notices).tell(done, |answer| &mut answer.notices)
}

/// Whether an issue is one of this status. A fix that a replay found broken stays among the fixed: else the next replay would pass
/// without it.
fn is_chosen(issue: &Issue, status: issue::Status) -> bool {
    issue.status == status || (status == issue::Status::Fixed && issue.is_broken_fix())
}

fn replay(
    ctx: &Context<'_>,
    request: &Start,
    (chosen, shown): (Vec<Issue>, String),
    present: &SnapshotView,
    told: &dyn PhaseObserver,
) -> Result<ReplayAnswer> {
    let store = ctx.store()?;
    let with = With::named(ctx, store, (&present.stored(store)?, None), &request.with)?;
    let kept::All {
        records: earlier,
        invalid,
    } = kept::all::<Replay>(ctx)?;
    let id = kept::new_id::<Replay>(ctx)?;
    let logs = kept::dir_of::<Replay>(ctx, &id);
    let _running = (kept::begin::<Replay>(ctx, &id)?, at_work::begin(ctx)?);
    let now = ctx.env.now();
    let mut record = Replay {
        replay_id: id,
        created_at: now.rfc3339(),
        created_nanos: now.nanos(),
        ended_at: None,
        worktree: ctx.repo.worktree_name(),
        command: shown,
        with: with.words(),
        setup: Redacting::new(ctx).optional(request.setup.as_deref()),
        timeout_seconds: Some(request.timeout.as_secs()),
        present: present.id.clone(),
        results: Vec::new(),
        passed: 0,
        failed: 0,
        extra: serde_json::Map::new(),
    };
    let mut subjects: Vec<(usize, Subject)> = Vec::new();
    for (at, issue) in chosen.iter().enumerate() {
        let subject = subject(ctx, store, request, issue, &with);
        let mut result = replayed(issue, compared(&earlier, &record, issue));
        match subject {
            Ok(subject) => subjects.push((at, subject)),
            Err(error) => result.error = Some(error.message().to_owned()),
        }
        record.results.push(result);
    }
    kept::save(ctx, &record)?;
    run(ctx, request, (&subjects, logs), &mut record, told)?;
    let mut notices = tries::notices(record.runs());
    let unread = invalid.iter();
    notices.extend(
        unread.map(|(id, error)| format!("{id} is not compared with: {}", error.message())),
    );
    for (at, issue) in chosen.iter().enumerate() {
        let noted = into_issue(ctx, store, issue, (&mut record, &earlier), at);
        notices.extend(issues::noted_runs(issue.id, noted));
    }
    record.ended_at = Some(ctx.env.now().rfc3339());
    count(&mut record);
    notices.extend(kept::save_end(ctx, &record));
    Ok(ReplayAnswer { record, notices })
}

/// Makes all runs, each written down when it has ended.
fn run(
    ctx: &Context<'_>,
    request: &Start,
    (subjects, logs): (&[(usize, Subject)], std::path::PathBuf),
    record: &mut Replay,
    told: &dyn PhaseObserver,
) -> Result<()> {
    let wanted = RunSettings {
        purpose: "replay",
        setup: request.setup.clone(),
        timeout: request.timeout,
        logs,
    };
    let plan = Plan::new(ctx, wanted)?;
    let each = usize::try_from(request.runs).unwrap_or(usize::MAX);
    let jobs = usize::try_from(request.jobs).unwrap_or(usize::MAX);
    let repeated = subjects
        .iter()
        .flat_map(|(at, subject)| std::iter::repeat_n((*at, subject), each));
    let (places, runs): (Vec<usize>, Vec<&Subject>) = repeated.unzip();
    let mut ended = |nth: usize, run: TryRun| {
        let Some(result) = places.get(nth).and_then(|at| record.results.get_mut(*at)) else {
            return;
        };
        result.passes += u64::from(run.status == Status::Passed);
        result.runs.push(run);
        rank(&mut result.runs);
        result.status = result.runs.first().map_or(Status::Error, |run| run.status);
        count(record);
        // It is written once more at the end, where it is said when it cannot be.
        let _ = kept::save(ctx, record);
    };
    let deferred = interrupt::defer();
    plan.side_by_side(&runs, (jobs, &|_| false), (told, &deferred), &mut ended)
}

fn count(record: &mut Replay) {
    let results = record.results.iter();
    let passed = results.filter(|one| one.status == Status::Passed).count();
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    record.passed = number(passed);
    record.failed = number(record.results.len() - passed);
}

/// The command as a record has it: by it replays are compared.
fn shown(ctx: &Context<'_>, request: &Start) -> Result<String> {
    let mut words: Vec<OsString> = match &request.agent {
        Some(name) => vec!["--agent".into(), name.into()],
        None if request.command.is_empty() => {
            return Err(Error::usage("there is no command to run")
                .hint("tw replay -- COMMAND, or tw replay --agent NAME"));
        }
        None => line_or_words(&request.command),
    };
    words.extend(request.agent_args.iter().map(OsString::from));
    if let Some(name) = &request.agent {
        check_agent(ctx, name)?;
    }
    Ok(Redacting::new(ctx).command(&words, command_line))
}

fn subject(
    ctx: &Context<'_>,
    store: &Store,
    request: &Start,
    issue: &Issue,
    with: &With,
) -> Result<Subject> {
    let (source, files) = source_of(store, issue)?;
    let verify = approved_check(store, issue, files)?;
    let words = match &request.agent {
        Some(name) => agent_words(name, &request.agent_args, issue)?,
        None => line_or_words(&request.command),
    };
    Subject::new(ctx, store, source, with, (words, verify))
}

fn replayed(issue: &Issue, before: Option<Status>) -> Replayed {
    Replayed {
        issue_id: issue.id.to_string(),
        symptom: issue.symptom.clone(),
        status: Status::Error,
        before,
        passes: 0,
        runs: Vec::new(),
        reopened: false,
        error: None,
    }
}

/// Which results of earlier replays count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// Also those without a run, for a reason that they name.
    Everything,
    /// Those with a run.
    Runs,
}

/// How an issue came out in the last replay with the same command and the same files; without one, in the last with the same command:
/// it shows what the files do.
fn compared(earlier: &[Replay], record: &Replay, issue: &Issue) -> Option<Status> {
    let id = issue.id.to_string();
    let all = Counts::Everything;
    let same_files = |replay: &Replay| has_same_files(replay, record);
    let same_command = |replay: &Replay| replay.command == record.command;
    let same = before(earlier, &same_files, &id, all);
    same.or_else(|| before(earlier, &same_command, &id, all))
}

/// Whether a replay ran the same command with the same files of the present.
fn has_same_files(replay: &Replay, record: &Replay) -> bool {
    let set = |words: &[String]| words.iter().cloned().collect::<BTreeSet<_>>();
    replay.command == record.command && set(&replay.with) == set(&record.with)
}

/// Whether its scratches were made ready in the same way as well.
fn is_same(replay: &Replay, record: &Replay) -> bool {
    has_same_files(replay, record) && replay.setup == record.setup
}

/// How an issue came out in the last replay of these. One that was stopped before the issue's turn says nothing.
fn before(
    earlier: &[Replay],
    is_one: &dyn Fn(&Replay) -> bool,
    id: &str,
    counts: Counts,
) -> Option<Status> {
    let same = earlier.iter().filter(|replay| is_one(replay));
    let mut results = same.flat_map(|replay| &replay.results);
    let says = |result: &&Replayed| {
        !result.runs.is_empty() || (counts == Counts::Everything && result.error.is_some())
    };
    results
        .find(|result| result.issue_id == id && says(result))
        .map(|result| result.status)
}

/// Whether the check of an issue fails now that had passed when all was the same. What passed with more time or more runs than now says
/// nothing of this replay, nor does what failed with less of them.
fn has_broken(earlier: &[Replay], record: &Replay, result: &Replayed) -> bool {
    let check = |result: &Replayed| {
        let best = result.runs.first()?;
        best.verify.as_ref().map(|check| check.command.clone())
    };
    let now = (record.timeout_seconds, result.runs.len());
    let says = |(replay, then): &(&Replay, &Replayed)| {
        let had = (replay.timeout_seconds, then.runs.len());
        let is_comparable = match then.status {
            Status::Passed => had.0 <= now.0 && had.1 <= now.1,
            Status::Failed => had.0 >= now.0 && had.1 >= now.1,
            _ => false,
        };
        // An earlier version did not write how long it might take.
        is_comparable && had.0.is_some() && check(then) == check(result)
    };
    let same = earlier.iter().filter(|replay| is_same(replay, record));
    let mut results = same.flat_map(|replay| replay.results.iter().map(move |then| (replay, then)));
    let last = results.find(|one| one.1.issue_id == result.issue_id && says(one));
    result.status == Status::Failed && last.is_some_and(|(_, then)| then.status == Status::Passed)
}

/// The present as a snapshot, taken unless the newest is as it is.
fn present(ctx: &Context<'_>) -> Result<Taken> {
    snapshots::take(
        ctx,
        &Take {
            message: Some("before a replay".to_owned()),
            if_changed: true,
            trigger: Trigger::Replay,
            // It was asked at the beginning.
            force: true,
            ..Take::default()
        },
    )
}

/// A comment of `tw` itself.
fn own_comment(id: Tail, at: &str, text: String) -> Comment {
    Comment {
        claimed_by: None,
        other: Json::new(),
        id: id.as_str().to_owned(),
        at: at.to_owned(),
        session_id: None,
        agent: None,
        text,
    }
}

/// Writes into the issue's record what is new of it, and opens an issue again whose fix broke.
fn into_issue(
    ctx: &Context<'_>,
    store: &Store,
    issue: &Issue,
    (record, earlier): (&mut Replay, &[Replay]),
    at: usize,
) -> Result<Vec<String>> {
    let (replay, command) = (record.replay_id.clone(), record.command.clone());
    let Some(result) = record.results.get(at) else {
        return Ok(Vec::new());
    };
    let Some(best) = result.runs.first().cloned() else {
        return Ok(Vec::new());
    };
    // One that could not run in between says nothing of the fix, nor does one that had other files.
    let is_one = |replay: &Replay| is_same(replay, record);
    let before = before(earlier, &is_one, &result.issue_id, Counts::Runs);
    let broke = has_broken(earlier, record, result);
    let says_something = issue_run(0, &best).result.is_some();
    if !says_something || (before == Some(result.status) && !broke) {
        return Ok(Vec::new());
    }
    let comment = Tail::random()?;
    let now = ctx.env.now().rfc3339();
    let (number, changed) = issues::update(ctx, store, issue.id, "replay", |issue| {
        let number = issue.next_run();
        let mut made = issue_run(number, &best);
        made.other
            .insert("replay_id".to_owned(), replay.clone().into());
        made.other.insert("replay_run".to_owned(), best.run.into());
        let reopens = broke && issue.status == issue::Status::Fixed;
        if reopens {
            made.set_reopened();
        }
        issue.runs.push(made);
        if reopens {
            issue.set_resolution_aside(&now);
            issue.status = issue::Status::Open;
            let text = format!(
                "opened again: run {number}, in replay {replay} of '{command}', {}; in the one before it had passed",
                best.status.as_str()
            );
            issue.comments.push(own_comment(comment, &now, text));
        }
        Ok(number)
    })?;
    let Some(result) = record.results.get_mut(at) else {
        return Ok(Vec::new());
    };
    for run in result.runs.iter_mut().filter(|run| run.run == best.run) {
        run.issue_run = Some(number);
    }
    result.reopened =
        broke && issue.status == issue::Status::Fixed && changed.status == issue::Status::Open;
    Ok(desk::write(ctx, store, issue.id).into_iter().collect())
}

/// Lists replays, newest first. Those that cannot be read hide no other.
///
/// # Errors
/// Their directory cannot be read.
pub fn list(ctx: &Context<'_>) -> Result<Replays> {
    let (replays, invalid) = kept::all::<Replay>(ctx)?.listed();
    Ok(Replays { replays, invalid })
}

/// Returns one replay, by its id or a part of it.
///
/// # Errors
/// There is none.
pub fn show(ctx: &Context<'_>, name: &str) -> Result<ReplayAnswer> {
    let record: Replay = kept::find(ctx, name)?;
    let mut notices = tries::notices(record.runs());
    if record.ended_at.is_none() {
        notices.push(kept::WITHOUT_END.to_owned());
    }
    Ok(ReplayAnswer { record, notices })
}

/// Forgets one, with its logs. What its runs left stays as long as any experiment. One that cannot be read is forgotten by its whole id.
///
/// # Errors
/// There is none; the disk refuses.
pub fn drop(ctx: &Context<'_>, name: &str) -> Result<Dropped> {
    let (replay_id, record) = kept::forget_named::<Replay>(ctx, name)?;
    let runs = record.iter().flat_map(Replay::runs);
    let experiments: BTreeSet<String> = runs.filter_map(|run| run.experiment_id.clone()).collect();
    Ok(Dropped {
        replay_id,
        experiments: experiments.into_iter().collect(),
    })
}

/// Answer of `replay drop`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "replay_dropped")]
pub struct Dropped {
    /// The replay that is forgotten.
    pub replay_id: String,
    /// What its runs left, which stays as long as any experiment.
    pub experiments: Vec<String>,
}
