//! A try from its beginning to its end.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::{Start, Tried};
use crate::error::{Code, Error, Result};
use crate::interrupt::{self, Deferred};
use crate::ops::approval;
use crate::ops::attempts::{
    PhaseObserver, Plan, RunSettings, Subject, agent_words, approved_check, check_agent, issue_run,
    source_of,
};
use crate::ops::elsewhere::Files;
use crate::ops::issues::{self, desk};
use crate::ops::outcome::{SnapshotView, Taken};
use crate::ops::request::Take;
use crate::ops::scratches::at_work;
use crate::ops::scratches::with::With;
use crate::ops::swap::recover::Recovery;
use crate::ops::tries::{Status, Try, TryRun, notices};
use crate::ops::{Context, address, kept, snapshots};
use crate::runner::line_or_words;
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::issue::{self, Issue};
use crate::store::state::Mode;
use crate::store::stored::Stored;
use crate::store::trigger::Trigger;

/// Runs a command several times side by side.
///
/// # Errors
/// Nothing was run then: `USAGE`; `NOT_APPROVED`; as [`address::resolve`] and a snapshot.
pub fn start(ctx: &Context<'_>, request: &Start, told: &dyn PhaseObserver) -> Result<Tried> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    let (issue, named) = what(ctx, store, request.what.as_deref())?;
    let (source, files) = match (&issue, named) {
        (Some(issue), _) => source_of(store, issue).map(|(source, files)| (Some(source), files))?,
        (None, Some(named)) => {
            let files = Files::laid_out(store, &named)?;
            check_who_chose(store, request.what.as_deref(), files)?;
            (Some(named), files)
        }
        (None, None) => (None, Files::of_worktree(store)?),
    };
    let what = WhatToRun::of(ctx, request, issue.as_ref(), files)?;
    let taken = present(ctx)?;
    let done = run(ctx, request, (issue, source, what), &taken.snapshot, told);
    Recovery(taken.notices).tell(done, |tried| &mut tried.notices)
}

/// The rest, after the snapshot of the present was taken.
fn run(
    ctx: &Context<'_>,
    request: &Start,
    (issue, source, what): (Option<Issue>, Option<Stored>, WhatToRun),
    present: &SnapshotView,
    told: &dyn PhaseObserver,
) -> Result<Tried> {
    let store = ctx.store()?;
    let subject = subject(ctx, request, (source, what), present)?;
    let id = kept::new_id::<Try>(ctx)?;
    let logs = kept::dir_of::<Try>(ctx, &id);
    let _running = (kept::begin::<Try>(ctx, &id)?, at_work::begin(ctx)?);
    let mut record = new_record(ctx, request, id, &subject);
    record.issue_id = issue.as_ref().map(|issue| issue.id.to_string());
    kept::save(ctx, &record)?;
    let wanted = RunSettings {
        purpose: "try",
        setup: request.setup.clone(),
        timeout: request.timeout,
        logs,
    };
    let plan = Plan::new(ctx, wanted)?;
    let deferred = interrupt::defer();
    told.phase(0, "checking the snapshot itself");
    let based = deferred.ending(
        || plan.stop(),
        || record_base(ctx, &plan, &subject, &mut record),
    );
    let made = based.and_then(|()| {
        run_all(
            ctx,
            request,
            (&plan, &subject),
            &mut record,
            (told, &deferred),
        )
    });
    drop(deferred);
    made?;
    let mut notices = notices(&record.runs);
    if let Some(issue) = &issue {
        let noted = into_issue(ctx, store, issue.id, &mut record);
        notices.extend(issues::noted_runs(issue.id, noted));
    }
    record.ended_at = Some(ctx.env.now().rfc3339());
    let unsaved = kept::save_end(ctx, &record);
    let is_kept = unsaved.is_none();
    notices.extend(unsaved);
    if record
        .base_verify
        .as_ref()
        .is_some_and(|check| check.status == Status::Passed)
    {
        notices
            .push("the check already passes on the snapshot itself: it proves nothing".to_owned());
    }
    Ok(Tried {
        record,
        notices,
        in_past: store.dir.state()?.mode == Mode::Past,
        is_kept,
    })
}

/// The words of the command, and the check of what came out.
struct WhatToRun {
    words: Vec<OsString>,
    verify: Option<String>,
}

impl WhatToRun {
    /// Nothing is run that was not approved.
    fn of(ctx: &Context<'_>, request: &Start, issue: Option<&Issue>, files: Files) -> Result<Self> {
        let store = ctx.store()?;
        let given = [&request.verify, &request.setup].into_iter().flatten();
        let given: Vec<&String> = given.collect();
        given
            .iter()
            .try_for_each(|line| approval::check_words(line))?;
        let verify = match (&request.verify, issue) {
            (Some(command), issue) => {
                if let Some(issue) = issue {
                    let own = issue.verify_command.as_deref();
                    approval::check_files(store, issue.id, own, files)?;
                }
                Some(command.clone())
            }
            (None, Some(issue)) => approved_check(store, issue, files)?,
            (None, None) => None,
        };
        let words = words(ctx, request, issue)?;
        let command = match request.agent {
            Some(_) => None,
            None => Some(approval::line_of(&request.command)),
        };
        let typed = command.iter().chain(given).map(String::as_str);
        approval::check(store, request.is_typed, typed, files)?;
        if let Some(command) = request.verify.as_deref().filter(|_| request.is_typed) {
            approval::approve(store, command, files)?;
        }
        Ok(Self { words, verify })
    }
}

/// Where it is run, and with what.
fn subject(
    ctx: &Context<'_>,
    request: &Start,
    (source, what): (Option<Stored>, WhatToRun),
    present: &SnapshotView,
) -> Result<Subject> {
    let store = ctx.store()?;
    let present = present.stored(store)?;
    let source = source.unwrap_or_else(|| present.clone());
    let sides = (&present, Some(source.tree));
    let with = With::named(ctx, store, sides, &request.with)?;
    Subject::new(ctx, store, source, &with, (what.words, what.verify))
}

/// The record of a try of which nothing was run yet.
fn new_record(ctx: &Context<'_>, request: &Start, id: String, subject: &Subject) -> Try {
    let now = ctx.env.now();
    Try {
        try_id: id,
        created_at: now.rfc3339(),
        created_nanos: now.nanos(),
        ended_at: None,
        worktree: ctx.repo.worktree_name(),
        source: subject.source.id.to_string(),
        issue_id: None,
        command: subject.shown.clone(),
        wanted: request.runs,
        base_verify: None,
        base_outside: None,
        runs: Vec::new(),
        best: None,
        extra: serde_json::Map::new(),
    }
}

fn record_base(
    ctx: &Context<'_>,
    plan: &Plan<'_>,
    subject: &Subject,
    record: &mut Try,
) -> Result<()> {
    (record.base_verify, record.base_outside) = plan.check_base(subject)?.unzip();
    kept::save(ctx, record)
}

/// Makes the runs, and writes each down when it has ended.
fn run_all(
    ctx: &Context<'_>,
    request: &Start,
    (plan, subject): (&Plan<'_>, &Subject),
    record: &mut Try,
    (told, deferred): (&dyn PhaseObserver, &Deferred),
) -> Result<()> {
    let runs = usize::try_from(request.runs).unwrap_or(usize::MAX);
    let jobs = usize::try_from(request.jobs).unwrap_or(usize::MAX);
    let subjects = vec![subject; runs];
    let mut ended = |_: usize, run: TryRun| {
        record.runs.push(run);
        record.rank();
        // It is written once more at the end, where it is said when it cannot be.
        let _ = kept::save(ctx, record);
    };
    let is_enough = |run: &TryRun| request.first && run.status == Status::Passed;
    plan.side_by_side(&subjects, (jobs, &is_enough), (told, deferred), &mut ended)
}

/// The issue that a word names, or else the snapshot.
fn what(
    ctx: &Context<'_>,
    store: &Store,
    word: Option<&str>,
) -> Result<(Option<Issue>, Option<Stored>)> {
    let Some(word) = word else {
        return Ok((None, None));
    };
    if !word.starts_with("i_") {
        match address::resolve(ctx, store, word) {
            Ok(stored) => return Ok((None, Some(stored))),
            Err(error) => {
                let none = matches!(error.code(), Code::SnapshotNotFound | Code::InvalidAddress);
                if !none || issues::find(store, word).is_err() {
                    return Err(error);
                }
            }
        }
    }
    let id = issues::find(store, word)?;
    desk::take_in(ctx, store, id)?;
    Ok((Some(issues::load(store, id)?.issue), None))
}

/// Who names an issue in place of a snapshot has not said which that is.
fn check_who_chose(store: &Store, word: Option<&str>, files: Files) -> Result<()> {
    let Some(word) = word.filter(|word| word.starts_with("issue:")) else {
        return Ok(());
    };
    let issue = issues::load(store, issues::find(store, word)?)?.issue;
    let command = issue.verify_command.as_deref();
    approval::check_files(store, issue.id, command, files)
}

/// The command that is run.
fn words(ctx: &Context<'_>, request: &Start, issue: Option<&Issue>) -> Result<Vec<OsString>> {
    match (&request.agent, issue) {
        (Some(name), Some(issue)) => {
            check_agent(ctx, name)?;
            agent_words(name, &request.agent_args, issue)
        }
        (Some(_), None) => Err(Error::usage("an agent needs an issue to work on")
            .hint("tw try ISSUE --agent NAME; 'tw issue list' shows the issues")),
        (None, _) if request.command.is_empty() => Err(Error::usage("there is no command to run")
            .hint("tw try -- COMMAND, or tw try ISSUE --agent NAME")),
        (None, _) => Ok(line_or_words(&request.command)),
    }
}

/// A snapshot of the present, taken unless the newest is as it is.
fn present(ctx: &Context<'_>) -> Result<Taken> {
    snapshots::take(
        ctx,
        &Take {
            message: Some("before a try".to_owned()),
            if_changed: true,
            trigger: Trigger::Try,
            // It was asked at the beginning.
            force: true,
            ..Take::default()
        },
    )
}

/// The runs become runs of the issue.
fn into_issue(
    ctx: &Context<'_>,
    store: &Store,
    id: IssueId,
    record: &mut Try,
) -> Result<Vec<String>> {
    let mut order: Vec<usize> = (0..record.runs.len()).collect();
    order.sort_by_key(|at| record.runs.get(*at).map(|run| run.run));
    let (numbers, _) = issues::update(ctx, store, id, "try", |issue| {
        let mut numbers = BTreeMap::new();
        for run in order.iter().filter_map(|at| record.runs.get(*at)) {
            let number = issue.next_run();
            let mut made = issue_run(number, run);
            made.other
                .insert("try_id".to_owned(), record.try_id.clone().into());
            made.other.insert("try_run".to_owned(), run.run.into());
            if record.best == Some(run.run) {
                made.other.insert("best".to_owned(), true.into());
            }
            issue.runs.push(made);
            numbers.insert(run.run, number);
        }
        if issue.status == issue::Status::Open && !numbers.is_empty() {
            issue.status = issue::Status::Experimenting;
        }
        Ok(numbers)
    })?;
    for run in &mut record.runs {
        run.issue_run = numbers.get(&run.run).copied();
    }
    Ok(desk::write(ctx, store, id).into_iter().collect())
}
