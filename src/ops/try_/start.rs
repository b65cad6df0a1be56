//! A try from its beginning to its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::attempt::Plan;
use super::watch::Watch;
use super::{Start, Told, Tried, protect};
use crate::agents::by_name;
use crate::error::{Code, Error, Result};
use crate::git::create;
use crate::interrupt;
use crate::ops::issues::{self, desk};
use crate::ops::redaction::Redacting;
use crate::ops::request::Take;
use crate::ops::scratches::Slot;
use crate::ops::scratches::with::With;
use crate::ops::tries::{self, Status, Try, TryRun};
use crate::ops::{Context, address, approval, snapshots};
use crate::runner::guard::own_program;
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{self, Issue, Run};
use crate::store::state::Mode;
use crate::store::stored::Stored;
use crate::text::command_line;

/// How often an interrupt is looked for.
const TICK: Duration = Duration::from_millis(50);

/// Runs a command several times side by side.
///
/// # Errors
/// Nothing was run then: `USAGE`; `NOT_APPROVED`; as [`address::resolve`] and a snapshot.
pub fn start(ctx: &Context<'_>, request: &Start, told: &dyn Told) -> Result<Tried> {
    ctx.check_workspace(false)?;
    let store = ctx.store()?;
    let (issue, named) = what(ctx, store, request.what.as_deref())?;
    let verify = verify(store, request, issue.as_ref())?;
    let words = words(request, issue.as_ref())?;
    let present = present(ctx, store)?;
    let source = match (&issue, named) {
        (Some(issue), _) => store.read_id(&issue.snapshot_id)?,
        (None, Some(stored)) => stored,
        (None, None) => present.clone(),
    };
    let read = |oid| store.objects.read_tree(oid);
    let trees = (present.tree, Some(source.tree));
    let with = With::named(ctx, store, trees, &request.with)?.over(store, source.tree)?;
    let protected = match &verify {
        Some(command) => protect::named(&read, source.tree, command)?,
        None => BTreeMap::new(),
    };
    let shown: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let shown = Redacting::new(ctx).text(&command_line(&shown));
    let id = tries::new_id(ctx)?;
    let logs = tries::dir_of(ctx, &id);
    create::private_dir(&logs)?;
    let mut record = Try {
        version: 1,
        try_id: id,
        created_at: ctx.env.now().rfc3339(),
        ended_at: None,
        worktree: ctx.repo.worktree_name(),
        source: source.id.to_string(),
        issue_id: issue.as_ref().map(|issue| issue.id.to_string()),
        command: shown.clone(),
        wanted: request.runs,
        base_verify: None,
        runs: Vec::new(),
        best: None,
        extra: serde_json::Map::new(),
    };
    tries::save(ctx, &record)?;
    let plan = Plan {
        root: ctx.repo.worktree_root().to_owned(),
        env: ctx.env,
        program: own_program(),
        source,
        with,
        protected,
        words,
        shown,
        setup: request.setup.clone(),
        verify,
        timeout: request.timeout,
        logs,
        watch: Watch::new(ctx)?,
        stopped: AtomicBool::new(false),
        controls: Mutex::default(),
    };
    let deferred = interrupt::defer();
    told.phase(0, "checking the snapshot itself");
    let made = record_base(ctx, &plan, &mut record)
        .and_then(|()| run_all(ctx, request, &plan, &mut record, (told, &deferred)));
    drop(deferred);
    made?;
    let mut notices = Vec::new();
    if let Some(issue) = &issue {
        notices = into_issue(ctx, store, issue.id, &mut record)?;
    }
    record.ended_at = Some(ctx.env.now().rfc3339());
    tries::save(ctx, &record)?;
    if record
        .base_verify
        .as_ref()
        .is_some_and(|check| check.status == Status::Passed)
    {
        notices.push("the check passes on the snapshot itself: it tells nothing".to_owned());
    }
    Ok(Tried {
        record,
        notices,
        in_past: store.dir.state()?.mode == Mode::Past,
    })
}

fn record_base(ctx: &Context<'_>, plan: &Plan<'_>, record: &mut Try) -> Result<()> {
    record.base_verify = plan.check_base()?;
    tries::save(ctx, record)
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

fn verify(store: &Store, request: &Start, issue: Option<&Issue>) -> Result<Option<String>> {
    if request.verify.is_some() {
        return Ok(request.verify.clone());
    }
    let stored = issue.and_then(|issue| Some((issue.id, issue.verify_command.clone()?)));
    let Some((id, command)) = stored else {
        return Ok(None);
    };
    if !approval::is_approved(store, &command)? {
        let hash = approval::fingerprint(&command);
        let message = format!("the verify command was not approved on this machine: {command}");
        return Err(Error::new(Code::NotApproved, message)
            .hint(format!(
                "when it is harmless: tw issue verify {id} --allow {hash}"
            ))
            .detail("command", command)
            .detail("verify_hash", hash));
    }
    Ok(Some(command))
}

/// The command that is run.
fn words(request: &Start, issue: Option<&Issue>) -> Result<Vec<OsString>> {
    if let Some(name) = &request.agent {
        let Some(issue) = issue else {
            return Err(Error::usage("an agent needs an issue to work on")
                .hint("tw try ISSUE --agent NAME; 'tw issue list' shows the issues"));
        };
        let agent = by_name(name)
            .ok_or_else(|| Error::usage(format!("there is no agent '{}'", name.escape_debug())))?;
        let command = agent.headless_command(&task(issue)).ok_or_else(|| {
            Error::usage(format!(
                "{} has no way to run without a terminal",
                agent.title()
            ))
            .hint("tw try ISSUE -- COMMAND")
        })?;
        let given = request.agent_args.iter().map(OsString::from);
        return Ok(command
            .into_iter()
            .map(OsString::from)
            .chain(given)
            .collect());
    }
    match request.command.as_slice() {
        [] => Err(Error::usage("there is no command to run")
            .hint("tw try -- COMMAND, or tw try ISSUE --agent NAME")),
        // One word with spaces is a line for a shell.
        [line] if line.to_string_lossy().contains(char::is_whitespace) => {
            Ok(vec!["sh".into(), "-c".into(), line.clone()])
        }
        words => Ok(words.to_vec()),
    }
}

/// What an agent is told of an issue.
fn task(issue: &Issue) -> String {
    let mut told = vec![format!(
        "Fix this problem in the current directory, which is a scratch copy of the repository. Do not commit.\n\nSymptom: {}",
        issue.symptom
    )];
    let cause = issue.suspected_cause.as_deref().unwrap_or_default();
    let check = issue.verify_command.as_deref().unwrap_or_default();
    for (name, text) in [
        ("What was being done", issue.task_context.as_str()),
        ("It counts as solved when", issue.success_criteria.as_str()),
        ("Suspected cause", cause),
        ("To see the problem", issue.experiment.repro.as_str()),
        ("This command must succeed", check),
    ] {
        if !text.trim().is_empty() {
            told.push(format!("{name}: {text}"));
        }
    }
    told.join("\n\n")
}

/// A snapshot of the present, taken unless the newest is as it is.
fn present(ctx: &Context<'_>, store: &Store) -> Result<Stored> {
    let taken = snapshots::take(
        ctx,
        &Take {
            message: Some("before a try".to_owned()),
            if_changed: true,
            trigger: "try".to_owned(),
            ..Take::default()
        },
    )?;
    let id = SnapshotId::parse(&taken.snapshot.id)
        .ok_or_else(|| Error::new(Code::CorruptRecord, "the snapshot has no id".to_owned()))?;
    store.read_id(&id)
}

/// All runs, so many at a time.
fn run_all(
    ctx: &Context<'_>,
    request: &Start,
    plan: &Plan<'_>,
    record: &mut Try,
    (told, deferred): (&dyn Told, &interrupt::Deferred),
) -> Result<()> {
    let next = AtomicU64::new(1);
    let ended = Mutex::new(Vec::<TryRun>::new());
    let busy = AtomicUsize::new(0);
    let slots = usize::try_from(request.jobs.min(request.runs))
        .unwrap_or(1)
        .max(1);
    let work = |slot: usize| {
        while !plan.is_stopped() {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number > request.runs {
                break;
            }
            told.phase(number, "running");
            let run = plan.attempt(number, Slot(slot));
            told.phase(number, run.status.as_str());
            if request.first && run.status == Status::Passed {
                plan.stop();
            }
            ended
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(run);
        }
        busy.fetch_sub(1, Ordering::SeqCst);
    };
    busy.store(slots, Ordering::SeqCst);
    let mut kept = 0;
    std::thread::scope(|scope| -> Result<()> {
        for slot in 1..=slots {
            let work = &work;
            scope.spawn(move || work(slot));
        }
        let mut saved = Ok(());
        loop {
            let is_over = busy.load(Ordering::SeqCst) == 0;
            if deferred.requested() {
                plan.stop();
            }
            let runs = ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if runs.len() > kept {
                kept = runs.len();
                record.runs = runs;
                record.rank();
                saved = saved.and(tries::save(ctx, record));
            }
            if is_over {
                return saved;
            }
            std::thread::sleep(TICK);
        }
    })
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
            let mut made = of_issue(number, run, &record.try_id);
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

fn of_issue(number: u64, run: &TryRun, try_id: &str) -> Run {
    let mut made = Run::begin(number, run.started_at.clone(), None);
    made.ended_at = Some(run.ended_at.clone());
    made.experiment_id.clone_from(&run.experiment_id);
    made.diff_stat = run.diff_stat;
    made.result = match run.status {
        Status::Passed => Some("passed".to_owned()),
        Status::Failed | Status::Timeout => Some("failed".to_owned()),
        Status::Unverified | Status::Error => None,
    };
    made.verify = run
        .verify
        .iter()
        .map(|check| issue::Verify {
            command: check.command.clone(),
            exit_status: check.exit.unwrap_or(128),
            duration_ms: check.duration_ms,
            output_tail: check.output_tail.clone(),
            other: serde_json::Map::new(),
        })
        .collect();
    made.other.insert("try_id".to_owned(), try_id.into());
    made.other.insert("try_run".to_owned(), run.run.into());
    made
}
