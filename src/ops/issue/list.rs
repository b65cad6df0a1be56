//! List, rank and search issues. None of these looks at a desk: they read records only.

use std::cmp::Reverse;

use super::{Filter, InvalidIssue, IssueListing, IssueSummary, Next, Ranked};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::issues::all;
use crate::store::Store;
use crate::store::chat::Chat;
use crate::store::issue::{Issue, Severity, Status};
use crate::store::names::Record;

const DAY: i64 = 24 * 3600;

/// As a list of all.
fn listing(store: &Store) -> Result<IssueListing> {
    let known = all(store)?;
    let invalid = known.invalid.into_iter().map(|(id, error)| InvalidIssue {
        issue_id: id.to_string(),
        reason: error.message().to_owned(),
    });
    Ok(IssueListing {
        filter: "all",
        text: None,
        issues: known
            .issues
            .into_iter()
            .map(|issue| IssueSummary { issue })
            .collect(),
        invalid: invalid.collect(),
        notices: known.notices,
    })
}

/// Lists issues, newest first.
///
/// # Errors
/// Only when refs cannot be read at all.
pub fn list(ctx: &Context<'_>, filter: &Filter) -> Result<IssueListing> {
    let mut listing = listing(&Store::open(&ctx.repo)?)?;
    if let Some(status) = filter.status {
        listing.filter = status.as_str();
        listing.issues.retain(|entry| entry.issue.status == status);
    }
    if let Some(limit) = filter.limit {
        listing.issues.truncate(limit);
    }
    Ok(listing)
}

/// Lists the issues whose texts, experiment or conversation contain `text`, whatever the case.
///
/// # Errors
/// `USAGE` for an empty text.
pub fn search(ctx: &Context<'_>, text: &str, filter: &Filter) -> Result<IssueListing> {
    if text.trim().is_empty() {
        return Err(Error::new(Code::Usage, "there is nothing to search for"));
    }
    let store = Store::open(&ctx.repo)?;
    let mut listing = listing(&store)?;
    let wanted = text.to_lowercase();
    listing.issues.retain(|entry| {
        let status = filter
            .status
            .is_none_or(|status| entry.issue.status == status);
        status && (in_issue(&entry.issue, &wanted) || in_chat(&store, &entry.issue, &wanted))
    });
    listing.filter = filter.status.map_or("all", Status::as_str);
    listing.text = Some(text.to_owned());
    if let Some(limit) = filter.limit {
        listing.issues.truncate(limit);
    }
    Ok(listing)
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
    texts
        .into_iter()
        .flatten()
        .chain(extra)
        .any(|text| text.to_lowercase().contains(wanted))
}

fn in_chat(store: &Store, issue: &Issue, wanted: &str) -> bool {
    let name = Record::Chat(issue.id);
    let chat = store.record(&name).ok().flatten().and_then(|held| {
        let note = held.into_only(&name).ok()?;
        Chat::from_json(&note.json).ok()
    });
    chat.is_some_and(|chat| chat.to_markdown().to_lowercase().contains(wanted))
}

/// Ranks the issues that wait: the open ones, and those whose experiment has ended without a resolution.
///
/// # Errors
/// Only when refs cannot be read at all.
pub fn next(ctx: &Context<'_>) -> Result<Next> {
    let listing = listing(&Store::open(&ctx.repo)?)?;
    let now = ctx.env.now();
    let mut ranked: Vec<Ranked> = listing
        .issues
        .into_iter()
        .map(|entry| entry.issue)
        .filter(waits)
        .map(|issue| rank(issue, now))
        .collect();
    ranked.sort_by_key(|entry| Reverse((entry.score, Reverse(entry.issue.id))));
    let invalid = listing.invalid.len();
    let mut notices = listing.notices;
    if invalid > 0 {
        notices.push(format!(
            "{invalid} cannot be read: 'tw issue list' names them"
        ));
    }
    Ok(Next { ranked, notices })
}

fn waits(issue: &Issue) -> bool {
    match issue.status {
        Status::Open => true,
        Status::Experimenting => issue.runs.last().is_none_or(|run| run.ended_at.is_some()),
        Status::Fixed | Status::Wontfix | Status::Duplicate => false,
    }
}

/// Severity weighs most, then how often it was met, then whether there is a check to tell success by, then age.
fn rank(issue: Issue, now: Moment) -> Ranked {
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
        issue,
        score,
        reasons,
    }
}
