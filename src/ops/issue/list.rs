//! List, rank and search issues, as their desks have them by now.

use std::cmp::Reverse;

use super::{Entry, Filter, Filtered, InvalidIssue, IssueListing, Next, Ranked};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::issues::{All, all_as_edited, has_snapshot, way_to_snapshot};
use crate::store::Store;
use crate::store::issue::{Issue, Made, Severity, Status};
use crate::store::state::Mode;

const DAY: i64 = 24 * 3600;

/// What is left of all issues, as an answer.
fn answer(all: All, filter: &Filter, text: Option<&str>) -> IssueListing {
    let issues = all.issues.iter();
    let issues = issues.map(|issue| (issue.made(), Entry::Issue(issue.into())));
    let invalid = all.invalid.iter().map(|(id, error)| {
        let entry = InvalidIssue::new(*id, error.message());
        (Made::of_id(*id), Entry::Invalid(entry))
    });
    let mut listed: Vec<(Made, Entry)> = issues.chain(invalid).collect();
    listed.sort_by_key(|(made, _)| Reverse(*made));
    // What cannot be read hides none that can: these alone are counted.
    let mut left = filter.limit.unwrap_or(usize::MAX);
    let issues: Vec<Entry> = listed
        .into_iter()
        .map(|(_, entry)| entry)
        .take_while(|entry| {
            let goes_on = left > 0;
            left -= usize::from(goes_on && matches!(entry, Entry::Issue(_)));
            goes_on
        })
        .collect();
    IssueListing {
        filter: Filtered {
            status: filter.word(),
            kind: filter.kind.clone(),
            text: text.map(str::to_owned),
        },
        count: issues.len(),
        issues,
        notices: all.notices,
    }
}

/// Lists issues, newest first.
///
/// # Errors
/// Only when refs cannot be read at all.
pub fn list(ctx: &Context<'_>, filter: &Filter) -> Result<IssueListing> {
    let mut all = all_as_edited(ctx)?;
    all.issues.retain(|issue| filter.takes(issue));
    Ok(answer(all, filter, None))
}

/// Lists the issues whose texts, experiment or conversation contain `text`, whatever the case.
///
/// # Errors
/// `USAGE` for an empty text.
pub fn search(ctx: &Context<'_>, text: &str, filter: &Filter) -> Result<IssueListing> {
    if text.trim().is_empty() {
        return Err(Error::new(Code::Usage, "there is nothing to search for"));
    }
    let store = ctx.store()?;
    let mut all = all_as_edited(ctx)?;
    let wanted = text.to_lowercase();
    all.issues.retain(|issue| {
        filter.takes(issue) && (in_issue(issue, &wanted) || in_chat(store, issue, &wanted))
    });
    // Nobody knows what is in these: they are no hits.
    let unread = std::mem::take(&mut all.invalid).len();
    all.notices.extend(cannot_be_read(unread));
    Ok(answer(all, filter, Some(text)))
}

/// That some could not be looked at.
fn cannot_be_read(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{count} cannot be read: 'tw issue list' names them"))
}

fn in_issue(issue: &Issue, wanted: &str) -> bool {
    let experiment = &issue.experiment;
    let texts = [
        Some(&issue.task_context),
        Some(&issue.symptom),
        Some(&issue.success_criteria),
        issue.suspected_cause.as_ref(),
        issue.chat_summary.as_ref(),
        issue.verify_command.as_ref(),
        Some(&experiment.repro),
        Some(&experiment.changes),
        Some(&experiment.validation),
        Some(&experiment.result),
    ];
    let extra = experiment
        .extra
        .iter()
        .flat_map(|(name, text)| [name, text]);
    let said = issue.comments.iter().map(|comment| &comment.text);
    let earlier = issue.resolutions.iter().map(|earlier| &earlier.resolution);
    let resolved = issue.resolution.iter().chain(earlier);
    let resolved = resolved.filter_map(|resolution| resolution.note.as_ref());
    texts
        .into_iter()
        .flatten()
        .chain(extra)
        .chain(said)
        .chain(resolved)
        .any(|text| text.to_lowercase().contains(wanted))
}

fn in_chat(store: &Store, issue: &Issue, wanted: &str) -> bool {
    let chat = store.chat(issue.id).ok().flatten();
    chat.is_some_and(|(chat, _)| chat.to_markdown().to_lowercase().contains(wanted))
}

/// Ranks the issues that wait: the open ones, and those whose experiment has ended without a resolution. Those whose snapshot is not in this
/// repository come last: nobody can go there.
///
/// # Errors
/// Only when refs cannot be read at all.
pub fn next(ctx: &Context<'_>) -> Result<Next> {
    let store = ctx.store()?;
    let all = all_as_edited(ctx)?;
    let now = ctx.env.now();
    // The oldest first, which so are the first of equal ones.
    let waiting = all.issues.iter().rev().filter(|issue| waits(issue));
    let mut ranked = Vec::new();
    for issue in waiting {
        let mut entry = rank(issue, now);
        if !has_snapshot(store, issue)? {
            entry
                .reasons
                .push("its snapshot is not in this repository".to_owned());
            entry.way_to_snapshot = way_to_snapshot(issue).to_vec();
        }
        ranked.push(entry);
    }
    ranked.sort_by_key(|entry| {
        let is_here = entry.way_to_snapshot.is_empty();
        Reverse((is_here, entry.score))
    });
    let mut notices = all.notices;
    notices.extend(cannot_be_read(all.invalid.len()));
    Ok(Next {
        issue_id: ranked.first().map(|entry| entry.issue.issue_id),
        ranked,
        notices,
        in_past: store.dir.state()?.mode == Mode::Past,
    })
}

fn waits(issue: &Issue) -> bool {
    match issue.status {
        Status::Open => true,
        Status::Experimenting => issue.runs.last().is_none_or(|run| run.ended_at.is_some()),
        Status::Fixed | Status::Wontfix | Status::Duplicate => false,
    }
}

/// Severity weighs most, then how often it was met, then whether there is a check to tell success by, then age.
fn rank(issue: &Issue, now: Moment) -> Ranked {
    let mut reasons = vec![format!("severity {}", issue.severity.as_str())];
    let mut score = match issue.severity {
        Severity::High => 300,
        Severity::Medium => 200,
        Severity::Low => 100,
    };
    if issue.occurrences > 1 {
        reasons.push(format!("met {} times", issue.occurrences));
        score += (issue.occurrences - 1).min(10) * 15;
    }
    if issue.verify_command.is_some() {
        reasons.push("has a verify command".to_owned());
        score += 30;
    }
    let created = Moment::parse_rfc3339(&issue.created_at).unwrap_or(now);
    let days = (now.seconds() - created.seconds()).max(0) / DAY;
    if days > 0 {
        reasons.push(format!("{days} days old"));
        score += u64::try_from(days.min(30)).unwrap_or(0);
    }
    Ranked {
        issue: issue.into(),
        score,
        reasons,
        way_to_snapshot: Vec::new(),
    }
}
