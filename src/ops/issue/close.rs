//! Close an issue, or open it again.

use super::{Close, IssueView, get};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::issues::{desk, find, load, update};
use crate::ops::kept;
use crate::ops::redaction::Redacting;
use crate::ops::replays::Replay;
use crate::ops::tries::{self, Try};
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::issue::{Issue, Proof, ProofKind, Resolution, Status};
use crate::store::records::Json;

/// Closes an issue. A duplicate adds to the occurrences of the issue that has it, once.
///
/// # Errors
/// `USAGE` when the status is not one of a closed issue, or a duplicate names no other issue; those of [`super::get()`].
pub fn close(ctx: &Context<'_>, request: &Close) -> Result<IssueView> {
    if !request.status.is_closed() {
        let message = format!(
            "'{}' is not a way to close an issue",
            request.status.as_str()
        );
        return Err(Error::new(Code::Usage, message)
            .hint("--status fixed, --status wontfix or --status duplicate --of ID"));
    }
    let store = ctx.store()?;
    let id = find(store, &request.issue)?;
    let of = duplicate(store, id, request)?;
    let named = match &request.proof {
        None => None,
        Some(_) if request.status != Status::Fixed => {
            return Err(Error::usage("--proof goes with --status fixed"));
        }
        Some(word) => Some(named_proof(ctx, id, word)?),
    };
    let mut redacting = Redacting::new(ctx);
    let note = redacting.optional(request.note.as_deref());
    let commit = ctx
        .repo
        .head(&ctx.store()?.objects)?
        .oid
        .map(|oid| oid.to_string());
    let at = ctx.env.now().rfc3339();
    let mut notices = desk::take_in(ctx, store, id)?;
    notices.extend(redacting.notice());
    let (is_new, issue) = update(ctx, store, id, request.status.as_str(), |issue| {
        // Whoever closes it twice must not count it twice, also when it was open in between.
        let is_told = |known: &Option<IssueId>| of.is_some() && *known == of;
        let mut earlier = issue.resolutions.iter().map(|known| &known.duplicate_of);
        let is_new = of.is_some() && !is_told(&issue.duplicate_of) && !earlier.any(is_told);
        let proof = named.clone().or_else(|| issue.proof());
        issue.set_resolution_aside(&at);
        issue.status = request.status;
        issue.duplicate_of = of;
        issue.resolution = Some(Resolution {
            at: at.clone(),
            commit: commit.clone(),
            note: note.clone(),
            proof: proof.filter(|_| request.status == Status::Fixed),
            other: Json::new(),
        });
        Ok(is_new)
    })?;
    if let Some(of) = of.filter(|_| is_new) {
        let met = issue.occurrences;
        update(ctx, store, of, "met again", |issue| {
            issue.occurrences = issue.occurrences.saturating_add(met);
            Ok(())
        })?;
        notices.extend(desk::write(ctx, store, of));
    }
    notices.extend(unproven(&issue));
    notices.extend(desk::write(ctx, store, id));
    get::view(ctx, store, issue, notices)
}

/// Duplicates of duplicates, and no more of them.
const CHAIN: usize = 32;

/// The issue that has it, for a duplicate.
fn duplicate(store: &Store, id: IssueId, request: &Close) -> Result<Option<IssueId>> {
    let usage = |message: &str| {
        Err(Error::new(Code::Usage, message)
            .hint("tw issue close ID --status duplicate --of OTHER"))
    };
    match (&request.duplicate_of, request.status) {
        (None, Status::Duplicate) => usage("--of is missing: of which issue is it a duplicate?"),
        (Some(_), status) if status != Status::Duplicate => {
            usage("--of goes with --status duplicate")
        }
        (None, _) => Ok(None),
        (Some(text), _) => {
            let of = find(store, text)?;
            if of == id {
                return usage("an issue cannot be a duplicate of itself");
            }
            let mut other = load(store, of)?.issue;
            // Each would be closed as the other's, and neither stand anywhere.
            for _ in 0..CHAIN {
                let is_duplicate = other.status == Status::Duplicate;
                match other.duplicate_of.filter(|_| is_duplicate) {
                    Some(next) if next == id => {
                        return usage(&format!("issue {of} is closed as a duplicate of this one"));
                    }
                    Some(next) => match load(store, next) {
                        Ok(loaded) => other = loaded.issue,
                        Err(_) => break,
                    },
                    None => break,
                }
            }
            Ok(Some(of))
        }
    }
}

/// The run of a try or replay that proves that an issue is solved.
fn named_proof(ctx: &Context<'_>, id: IssueId, word: &str) -> Result<Proof> {
    let (name, number) = split(word)?;
    let of_issue = id.to_string();
    let refused = |what: String, look: String| Err(Error::usage(what).hint(look));
    let (kind, maker, run, look) = match kept::find::<Try>(ctx, name) {
        Ok(record) => {
            let look = format!("'tw try show {}' tells more", record.try_id);
            if record.issue_id.as_ref() != Some(&of_issue) {
                return refused(
                    format!("{} is not a try of issue {id}", record.try_id),
                    look,
                );
            }
            let run = record.run(number)?.clone();
            (ProofKind::Try, record.try_id, run, look)
        }
        Err(error) => {
            // What is neither is no try.
            let Ok(record) = kept::find::<Replay>(ctx, name) else {
                return Err(error);
            };
            let look = format!("'tw replay show {}' tells more", record.replay_id);
            let results = record.results.into_iter();
            let mut runs = results
                .filter(|result| result.issue_id == of_issue)
                .flat_map(|result| result.runs);
            let Some(run) = runs.find(|run| number.is_none_or(|number| run.run == number)) else {
                let what = format!("{} has no such run of issue {id}", record.replay_id);
                return refused(what, look);
            };
            (ProofKind::Replay, record.replay_id, run, look)
        }
    };
    match run.verify {
        Some(check) if run.status == tries::Status::Passed => Ok(Proof {
            kind,
            id: Some(maker),
            run: run.run,
            issue_run: run.issue_run,
            experiment_id: run.experiment_id,
            command: check.command,
            at: run.ended_at,
            other: Json::new(),
        }),
        _ => {
            let how = run.status.as_str();
            refused(
                format!("run {} of {maker} proves nothing: {how}", run.run),
                look,
            )
        }
    }
}

/// A try or replay, and after a colon the number of its run.
fn split(word: &str) -> Result<(&str, Option<u64>)> {
    match word.rsplit_once(':') {
        None => Ok((word, None)),
        Some((name, number)) => match number.parse() {
            Ok(number) => Ok((name, Some(number))),
            Err(_) => Err(Error::usage(format!(
                "'{}' is not the number of a run",
                number.escape_debug()
            ))
            .hint("--proof TRY, or --proof TRY:RUN")),
        },
    }
}

/// Says it when an issue counts as fixed and no check says so, or none that was made here.
fn unproven(issue: &Issue) -> Option<String> {
    if issue.status != Status::Fixed {
        return None;
    }
    let proof = issue.resolution.as_ref().and_then(|how| how.proof.as_ref());
    if let Some(proof) = proof {
        let (run, name) = (proof.issue_run?, issue.claimant(proof)?.escape_debug());
        return Some(format!(
            "closed as fixed, but no check that was made here says so: run {run} is claimed by '{name}'; 'tw issue verify {}' runs one",
            issue.id
        ));
    }
    let why = match issue.evidence() {
        Some(_) => "the last check failed",
        None => "no check was run",
    };
    Some(format!(
        "closed as fixed, but {why}; 'tw issue verify {}' runs one",
        issue.id
    ))
}

/// Opens an issue again. How it was closed is kept among what was before.
///
/// # Errors
/// Those of [`super::get()`].
pub fn reopen(ctx: &Context<'_>, text: &str) -> Result<IssueView> {
    let store = ctx.store()?;
    let id = find(store, text)?;
    let mut notices = desk::take_in(ctx, store, id)?;
    let at = ctx.env.now().rfc3339();
    let ((), issue) = update(ctx, store, id, "reopen", |issue| {
        if issue.status.is_closed() {
            issue.set_resolution_aside(&at);
            issue.status = Status::Open;
        }
        Ok(())
    })?;
    notices.extend(desk::write(ctx, store, id));
    get::view(ctx, store, issue, notices)
}
