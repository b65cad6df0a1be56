//! What the issues tell together: how much friction there is over time, how long a fix takes, and whose it is.
//!
//! Everything is counted from the issues' records when it is asked for; nothing is kept. An issue counts by its report, a duplicate's
//! too: that is friction that was met. What was reported in the future, by another machine's clock, counts as of now.

mod periods;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::issues::{All, all};
use crate::env::Moment;
use crate::error::Result;
use crate::store::issue::{Issue, RunResult, Severity, Status};

pub use periods::Unit;
use periods::{MOST, Span};

/// What is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// Only what was reported at that time or later.
    pub since: Option<Moment>,
    /// Only what was reported at that time or earlier.
    pub until: Option<Moment>,
    /// Only what this agent reported.
    pub agent: Option<&'a str>,
    /// Only this kind of friction; an empty word means what has none.
    pub kind: Option<&'a str>,
    /// How long a period is; None: as suits the time that they span.
    pub by: Option<Unit>,
}

/// Answer of `stats`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stats {
    /// How many issues were reported.
    pub reports: usize,
    /// How often they were met: a duplicate counts with the issue that has it.
    pub occurrences: u64,
    /// Where they stand.
    pub statuses: Statuses,
    /// How long each period is.
    pub unit: Unit,
    /// Without a gap, oldest first, the last with the end of what was asked for.
    pub periods: Vec<Period>,
    /// From the report to the fix, of those that are fixed; null: none is.
    pub time_to_fix: Option<TimeToFix>,
    /// How many of the fixes have a proof: a check that passed, of a try, a replay or `issue verify`.
    pub proven: usize,
    /// By the agent that reported, most reports first; null is nobody's.
    pub agents: Vec<Group>,
    /// By how much it hurts, the worst first.
    pub severities: Vec<Group>,
    /// By the kind of friction, most reports first; null is what has none.
    pub kinds: Vec<Group>,
    /// What was tried for them.
    pub tries: Tries,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// How many stand where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Statuses {
    /// Nobody on it.
    pub open: usize,
    /// Somebody is, or was.
    pub experimenting: usize,
    /// Solved.
    pub fixed: usize,
    /// Stays as it is.
    pub wontfix: usize,
    /// Another issue has it.
    pub duplicate: usize,
}

/// What happened in a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Period {
    /// Its first day, in this machine's zone.
    pub day: String,
    /// When it begins, RFC 3339, UTC.
    pub from: String,
    /// When the next one begins, RFC 3339, UTC.
    pub to: String,
    /// How many issues were reported in it.
    pub reported: usize,
    /// How many of all were fixed in it.
    pub fixed: usize,
}

/// How long fixes took, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TimeToFix {
    /// How many fixes there are.
    pub fixes: usize,
    /// Half of them took no longer.
    pub median_seconds: i64,
    /// Nine in ten took no longer.
    pub p90_seconds: i64,
    /// The quickest.
    pub shortest_seconds: i64,
    /// The slowest.
    pub longest_seconds: i64,
}

impl TimeToFix {
    fn of(mut seconds: Vec<i64>) -> Option<Self> {
        seconds.sort_unstable();
        // The smallest that so many percent do not exceed.
        let rank = |percent: usize| {
            let at = (seconds.len() * percent).div_ceil(100).saturating_sub(1);
            seconds.get(at).copied()
        };
        Some(Self {
            fixes: seconds.len(),
            median_seconds: rank(50)?,
            p90_seconds: rank(90)?,
            shortest_seconds: *seconds.first()?,
            longest_seconds: *seconds.last()?,
        })
    }
}

/// Issues that have something in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Group {
    /// What they have in common.
    pub name: Option<String>,
    /// How many were reported.
    pub reports: usize,
    /// How many of them are not closed.
    pub open: usize,
    /// How many are fixed.
    pub fixed: usize,
    /// Half of the fixes took no longer; null: none is fixed.
    pub median_seconds: Option<i64>,
}

impl Group {
    fn of(name: Option<String>, issues: &[&Issue]) -> Self {
        let with = |wanted: fn(Status) -> bool| {
            let those = issues.iter().filter(|issue| wanted(issue.status));
            those.count()
        };
        let median = TimeToFix::of(seconds_to_fix(issues));
        Self {
            name,
            reports: issues.len(),
            open: with(|status| !status.is_closed()),
            fixed: with(|status| status == Status::Fixed),
            median_seconds: median.map(|time| time.median_seconds),
        }
    }
}

/// What was tried with `tw try`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Tries {
    /// Tries.
    pub tries: usize,
    /// Their runs.
    pub runs: usize,
    /// Those of them that passed.
    pub passed: usize,
}

/// Counts the issues that were reported, and how they ended.
///
/// # Errors
/// Only when refs cannot be read at all.
pub fn stats(ctx: &Context<'_>, request: &Request<'_>) -> Result<Stats> {
    let all = all(ctx.store()?)?;
    Ok(count(&all, request, ctx.env.now()))
}

fn count(all: &All, request: &Request<'_>, now: Moment) -> Stats {
    let mut notices = all.notices.clone();
    if !all.invalid.is_empty() {
        notices.push(format!(
            "{} cannot be read and are left out: 'tw issue list' names them",
            all.invalid.len()
        ));
    }
    let issues: Vec<&Issue> = all
        .issues
        .iter()
        .filter(|one| takes(request, one, now))
        .collect();
    let span = span(request, &issues, now);
    let unit = request
        .by
        .unwrap_or_else(|| span.map_or(Unit::Day, Span::unit));
    let periods = span.map_or(Vec::new(), |span| span.periods(unit));
    let (periods, left_out) = filled(periods, &issues, now);
    if left_out > 0 {
        notices.push(format!(
            "{left_out} were reported earlier than the last {MOST} periods"
        ));
    }
    let not_duplicate = |issue: &&&Issue| issue.status != Status::Duplicate;
    let counted = issues.iter().filter(not_duplicate);
    Stats {
        reports: issues.len(),
        occurrences: counted
            .map(|issue| issue.occurrences)
            .fold(0, u64::saturating_add),
        statuses: statuses(&issues),
        unit,
        periods,
        time_to_fix: TimeToFix::of(seconds_to_fix(&issues)),
        proven: issues.iter().filter(|issue| is_proven(issue)).count(),
        agents: groups(&issues, |issue| issue.agent.as_deref()),
        kinds: groups(&issues, |issue| issue.kind.as_deref()),
        severities: severities(&issues),
        tries: tries(&issues),
        notices,
    }
}

fn reported_at(issue: &Issue, now: Moment) -> Moment {
    // A report that does not say when is as old as can be.
    let at = Moment::parse_rfc3339(&issue.created_at);
    at.unwrap_or(Moment::of_seconds(0)).min(now)
}

fn fixed_at(issue: &Issue) -> Option<Moment> {
    let resolution = issue.resolution.as_ref();
    let at = resolution.filter(|_| issue.status == Status::Fixed)?;
    Moment::parse_rfc3339(&at.at)
}

fn is_proven(issue: &Issue) -> bool {
    let resolution = issue.resolution.as_ref();
    let proof = resolution.and_then(|resolution| resolution.proof.as_ref());
    issue.status == Status::Fixed && proof.is_some()
}

fn takes(request: &Request<'_>, issue: &Issue, now: Moment) -> bool {
    let at = reported_at(issue, now);
    let agent = issue.agent.as_deref().unwrap_or_default();
    request.since.is_none_or(|since| at >= since)
        && request.until.is_none_or(|until| at <= until)
        && request
            .agent
            .is_none_or(|wanted| agent.eq_ignore_ascii_case(wanted))
        && request.kind.is_none_or(|wanted| issue.is_of_kind(wanted))
}

/// From the first report, or from when on was asked for, to the end of what was asked for. None: nothing was reported.
fn span(request: &Request<'_>, issues: &[&Issue], now: Moment) -> Option<Span> {
    let first = issues.iter().map(|issue| reported_at(issue, now)).min()?;
    let last = request.until.unwrap_or(now).min(now);
    Some(Span {
        first: request.since.map_or(first, |since| since.min(first)),
        last: last.max(first),
    })
}

/// The periods with what happened in each, and how many reports are older than all of them.
fn filled(periods: Vec<Period>, issues: &[&Issue], now: Moment) -> (Vec<Period>, usize) {
    let mut periods = periods;
    let begins: Vec<Option<Moment>> = periods
        .iter()
        .map(|period| Moment::parse_rfc3339(&period.from))
        .collect();
    let ends = periods
        .last()
        .and_then(|last| Moment::parse_rfc3339(&last.to));
    let place = |at: Moment| {
        let later = begins.partition_point(|begin| *begin <= Some(at));
        later.checked_sub(1)
    };
    let mut left_out = 0;
    for issue in issues {
        match place(reported_at(issue, now)).and_then(|at| periods.get_mut(at)) {
            Some(period) => period.reported += 1,
            None => left_out += 1,
        }
        let fixed = fixed_at(issue).map(|at| at.min(now));
        let fixed = fixed.filter(|at| Some(*at) < ends);
        if let Some(period) = fixed.and_then(place).and_then(|at| periods.get_mut(at)) {
            period.fixed += 1;
        }
    }
    (periods, left_out)
}

fn seconds_to_fix(issues: &[&Issue]) -> Vec<i64> {
    let seconds = |issue: &&Issue| {
        let from = Moment::parse_rfc3339(&issue.created_at)?;
        // A clock that was set back does not make a fix come first.
        Some((fixed_at(issue)?.seconds() - from.seconds()).max(0))
    };
    issues.iter().filter_map(seconds).collect()
}

fn statuses(issues: &[&Issue]) -> Statuses {
    let mut found = Statuses::default();
    for issue in issues {
        *match issue.status {
            Status::Open => &mut found.open,
            Status::Experimenting => &mut found.experimenting,
            Status::Fixed => &mut found.fixed,
            Status::Wontfix => &mut found.wontfix,
            Status::Duplicate => &mut found.duplicate,
        } += 1;
    }
    found
}

/// By what issues say of themselves.
fn groups(issues: &[&Issue], of: fn(&Issue) -> Option<&str>) -> Vec<Group> {
    let mut by_name: BTreeMap<Option<&str>, Vec<&Issue>> = BTreeMap::new();
    for issue in issues {
        by_name.entry(of(issue)).or_default().push(issue);
    }
    let groups = by_name.into_iter();
    let mut groups: Vec<Group> = groups
        .map(|(name, issues)| Group::of(name.map(str::to_owned), &issues))
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.reports));
    groups
}

fn severities(issues: &[&Issue]) -> Vec<Group> {
    let of = |severity: Severity| {
        let those = issues.iter().filter(|issue| issue.severity == severity);
        let those: Vec<&Issue> = those.copied().collect();
        Group::of(Some(severity.as_str().to_owned()), &those)
    };
    let all = [Severity::High, Severity::Medium, Severity::Low].into_iter();
    all.map(of).filter(|group| group.reports > 0).collect()
}

fn tries(issues: &[&Issue]) -> Tries {
    let runs = || issues.iter().flat_map(|issue| &issue.runs);
    let of_tries = || runs().filter(|run| run.try_id().is_some());
    let ids: BTreeSet<&str> = runs().filter_map(|run| run.try_id()).collect();
    let passed = of_tries().filter(|run| run.result == Some(RunResult::Passed));
    Tries {
        tries: ids.len(),
        runs: of_tries().count(),
        passed: passed.count(),
    }
}

#[cfg(test)]
mod tests;
