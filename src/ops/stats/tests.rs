use super::*;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{Proof, ProofKind, Resolution, Run, RunResult};
use crate::store::records::Json;

const NOW: &str = "2026-02-28T12:00:00Z";

fn moment(text: &str) -> Moment {
    Moment::parse_rfc3339(text).expect("a fixed time")
}

fn issue(at: &str, agent: Option<&str>, fixed: Option<&str>) -> Issue {
    let id = IssueId::parse("i_20260228_153012_ab12cd").expect("an id");
    let snapshot = SnapshotId::parse("s_20260228_153000_000001").expect("an id");
    let mut issue = Issue::new(id, snapshot, at.to_owned());
    issue.agent = agent.map(str::to_owned);
    if let Some(at) = fixed {
        issue.status = Status::Fixed;
        issue.resolution = Some(Resolution {
            at: at.to_owned(),
            commit: None,
            note: None,
            proof: None,
            other: Json::new(),
        });
    }
    issue
}

fn counted(issues: Vec<Issue>, request: &Request<'_>) -> Stats {
    let all = All {
        issues,
        ..All::default()
    };
    count(&all, request, moment(NOW))
}

#[test]
fn the_middle_and_nine_in_ten_are_times_that_a_fix_took() {
    assert_eq!(TimeToFix::of(Vec::new()), None);
    let of = |seconds: Vec<i64>| {
        let time = TimeToFix::of(seconds).expect("some");
        (time.fixes, time.median_seconds, time.p90_seconds)
    };
    assert_eq!(of(vec![7]), (1, 7, 7));
    assert_eq!(of(vec![9, 1]), (2, 1, 9));
    assert_eq!(of((1..=10).rev().collect()), (10, 5, 9));
    assert_eq!(of((1..=11).collect()), (11, 6, 10));
}

#[test]
fn reports_and_fixes_stand_in_the_period_in_which_they_were() {
    let issues = vec![
        issue(
            "2026-02-26T12:00:00Z",
            Some("one"),
            Some("2026-02-27T12:00:10Z"),
        ),
        issue("2026-02-26T12:30:00Z", None, None),
        // Another machine's clock goes ahead, and was set back before the fix.
        issue(
            "2026-03-05T12:00:00Z",
            Some("one"),
            Some("2026-03-04T12:00:00Z"),
        ),
    ];
    let by_day = Request {
        by: Some(Unit::Day),
        ..Request::default()
    };
    let stats = counted(issues.clone(), &by_day);
    let told: Vec<(usize, usize)> = stats
        .periods
        .iter()
        .map(|period| (period.reported, period.fixed))
        .collect();
    assert_eq!(told, [(2, 0), (0, 1), (1, 1)]);
    let time = stats.time_to_fix.expect("fixes");
    assert_eq!((time.shortest_seconds, time.longest_seconds), (0, 86_410));
    let groups: Vec<_> = stats
        .agents
        .iter()
        .map(|one| (one.name.as_deref(), one.reports, one.open))
        .collect();
    assert_eq!(groups, [(Some("one"), 2, 0), (None, 1, 1)]);
    // What is asked for begins where that says, and its end is not gone beyond.
    let some = Request {
        since: Some(moment("2026-02-24T12:00:00Z")),
        until: Some(moment("2026-02-26T12:10:00Z")),
        agent: Some("ONE"),
        ..by_day
    };
    let stats = counted(issues, &some);
    let told: Vec<usize> = stats.periods.iter().map(|period| period.reported).collect();
    assert_eq!((stats.reports, told), (1, vec![0, 0, 1]));
    assert_eq!(stats.statuses.fixed, 1);
}

#[test]
fn what_is_older_than_all_periods_is_said() {
    let old = issue("1970-01-01T00:00:00Z", None, None);
    let by_day = Request {
        by: Some(Unit::Day),
        ..Request::default()
    };
    let stats = counted(vec![old], &by_day);
    assert_eq!((stats.reports, stats.periods.len()), (1, MOST));
    assert_eq!(stats.notices.len(), 1, "{:?}", stats.notices);
}

#[test]
fn a_duplicate_is_a_report_and_met_with_the_issue_that_has_it() {
    let mut has_it = issue("2026-02-26T12:00:00Z", None, Some(NOW));
    has_it.occurrences = 2;
    has_it.severity = Severity::High;
    let mut run = Run::begin(1, NOW.to_owned(), None);
    run.other.insert("try_id".to_owned(), "t_1".into());
    has_it.runs.push(run.clone());
    run.result = Some(RunResult::Passed);
    has_it.runs.push(run);
    has_it.runs.push(Run::begin(3, NOW.to_owned(), None));
    if let Some(resolution) = &mut has_it.resolution {
        resolution.proof = Some(Proof {
            kind: ProofKind::Try,
            id: Some("t_1".to_owned()),
            run: 2,
            issue_run: Some(2),
            experiment_id: None,
            command: "true".to_owned(),
            at: NOW.to_owned(),
            other: Json::new(),
        });
    }
    let mut duplicate = issue("2026-02-26T12:00:00Z", None, None);
    duplicate.status = Status::Duplicate;
    let stats = counted(vec![has_it, duplicate], &Request::default());
    assert_eq!((stats.reports, stats.occurrences), (2, 2));
    let severities: Vec<_> = stats
        .severities
        .iter()
        .map(|one| (one.name.as_deref(), one.fixed))
        .collect();
    assert_eq!(severities, [(Some("high"), 1), (Some("medium"), 0)]);
    let Tries {
        tries,
        runs,
        passed,
    } = stats.tries;
    assert_eq!((tries, runs, passed, stats.proven), (1, 2, 1, 1));
    assert_eq!(counted(Vec::new(), &Request::default()).periods, []);
}
