//! `tw stats`: what the issues tell together.

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

const DAY: i64 = 24 * 3600;

fn report(sandbox: &Sandbox, more: &[&str]) -> String {
    let words = [
        "issue",
        "report",
        "--task-context",
        "x",
        "--symptom",
        "y",
        "--success-criteria",
        "z",
    ];
    let words: Vec<&str> = words.iter().chain(more).copied().collect();
    let reported = sandbox.json(words);
    reported["issue_id"].as_str().unwrap().to_owned()
}

/// Five reports in three weeks from 2026-02-28, a Saturday, on: two of an agent, one of them a duplicate, two fixed.
fn reported() -> Sandbox {
    let sandbox = Sandbox::new();
    let first = report(&sandbox, &["--severity", "high"]);
    let other = report(&sandbox, &[]);
    sandbox.wait(3 * DAY);
    sandbox.json(["session", "start", "--session", "s1", "--agent", "codex"]);
    report(&sandbox, &["--session", "s1"]);
    let again = report(&sandbox, &["--session", "s1", "--severity", "low"]);
    let words = ["--status", "duplicate", "--of", &other];
    sandbox.json(["issue", "close", &again].iter().chain(&words));
    sandbox.wait(2 * DAY);
    sandbox.json(["issue", "close", &first]);
    sandbox.json(["session", "end"]);
    sandbox.wait(15 * DAY);
    sandbox.json(["issue", "close", &other]);
    // What is as an agent left it would be the agent's to report.
    sandbox.write("a.txt", "a person's\n");
    report(&sandbox, &[]);
    sandbox
}

fn told(stats: &Value, field: &str) -> Vec<(String, u64)> {
    let periods = stats["periods"].as_array().unwrap();
    let of = |period: &Value| {
        let day = period["day"].as_str().unwrap().to_owned();
        (day, period[field].as_u64().unwrap())
    };
    let told = periods.iter().map(of);
    told.filter(|(_, number)| *number > 0).collect()
}

fn each(told: &[(String, u64)]) -> Vec<(&str, u64)> {
    told.iter()
        .map(|(day, number)| (day.as_str(), *number))
        .collect()
}

#[test]
fn friction_stands_over_time_with_how_it_ended() {
    let sandbox = reported();
    let stats = sandbox.json(["stats"]);
    assert_eq!(
        (&stats["reports"], &stats["occurrences"]),
        (&json!(5), &json!(5))
    );
    assert_eq!(
        stats["statuses"],
        json!({"open": 2, "experimenting": 0, "fixed": 2, "wontfix": 0, "duplicate": 1})
    );
    assert_eq!(stats["unit"], "week");
    assert_eq!(
        each(&told(&stats, "reported")),
        [("2026-02-23", 2), ("2026-03-02", 2), ("2026-03-16", 1)]
    );
    assert_eq!(
        each(&told(&stats, "fixed")),
        [("2026-03-02", 1), ("2026-03-16", 1)]
    );
    assert_eq!(stats["periods"].as_array().unwrap().len(), 4);
    let shown = sandbox.ok(["stats"]);
    assert_eq!(
        shown,
        "\
5 reports: 2 open, 2 fixed, 1 duplicate
from report to fix: half within 5 days, the slowest 2 weeks; none with a proof

week of       new     fixed
2026-02-23      2 ##      0
2026-03-02      2 ##      1 #
2026-03-09      0         0
2026-03-16      1 #       1 #

reported by  reports  open  fixed  half fixed within
no agent           3     1      2  5 days
codex              2     1      0  -

severity  reports  open  fixed  half fixed within
high            1     0      1  5 days
medium          3     2      1  2 weeks
low             1     0      0  -
"
    );
    // Who asks for them is not counted.
    assert_eq!(sandbox.json(["stats"]), stats);
}

#[test]
fn what_is_asked_for_alone_is_counted() {
    let sandbox = reported();
    for (words, reports, unit, periods) in [
        (&["stats", "--agent", "Codex"][..], 2, "week", 3),
        (&["stats", "--agent", "nobody"], 0, "day", 0),
        (&["stats", "--since", "2026-03-10"], 1, "day", 11),
        (&["stats", "--until", "2026-03-01"], 2, "day", 2),
        (&["stats", "--by", "day"], 5, "day", 21),
        (&["stats", "--by", "week"], 5, "week", 4),
        (&["stats", "--by", "month"], 5, "month", 2),
        (&["stats", "--by", "year"], 5, "year", 1),
    ] {
        let stats = sandbox.json(words);
        assert_eq!(
            (&stats["reports"], &stats["unit"]),
            (&json!(reports), &json!(unit)),
            "{words:?}"
        );
        let counted = stats["periods"].as_array().unwrap().len();
        assert_eq!(counted, periods, "{words:?}: {stats}");
    }
    let (error, code) = sandbox.json_error(["stats", "--since", "whenever"]);
    assert_eq!((&error["code"], code), (&json!("USAGE"), 2));
    let none = sandbox.show(&sandbox.tw(["stats", "--agent", "nobody"]));
    assert!(
        none.starts_with("exit 0\n--- stdout\nno reports\n"),
        "{none}"
    );
}

#[test]
fn friction_has_kinds() {
    let sandbox = Sandbox::new();
    let tools = report(&sandbox, &["--kind", " Tools "]);
    let own = [
        "issue",
        "report",
        "--kind",
        "ci-cache",
        "--task-context",
        "x",
    ];
    let own = sandbox.json(
        own.iter()
            .chain(&["--symptom", "y", "--success-criteria", "z"]),
    );
    let own = own["issue_id"].as_str().unwrap().to_owned();
    let none = report(&sandbox, &[]);
    let kinds = |words: &[&str]| {
        let stats = sandbox.json(words);
        let kinds = stats["kinds"].as_array().unwrap().iter();
        let of = |kind: &Value| (kind["name"].clone(), kind["reports"].as_u64().unwrap());
        kinds.map(of).collect::<Vec<_>>()
    };
    for (by, heading) in [
        (&["stats", "--by", "agent"][..], "reported by"),
        (&["stats", "--by", "severity"], "severity"),
    ] {
        let table = sandbox.ok(by);
        assert!(table.starts_with(heading), "{table}");
        assert!(!table.contains("kind "), "{table}");
    }
    let (null, cache) = (Value::Null, json!("ci-cache"));
    let all = [(null.clone(), 1), (cache.clone(), 1), (json!("tools"), 1)];
    assert_eq!(kinds(&["stats"]), all);
    assert_eq!(kinds(&["stats", "--kind", "TOOLS"]), [(json!("tools"), 1)]);
    assert_eq!(kinds(&["stats", "--kind", ""]), [(null.clone(), 1)]);
    sandbox.json(["issue", "edit", &none, "--kind", "tools"]);
    sandbox.json(["issue", "edit", &own, "--kind", ""]);
    let table = sandbox.ok(["stats", "--by", "kind"]);
    let expected = "kind     reports  open  fixed  half fixed within\n\
                    tools          2     2      0  -\n\
                    no kind        1     1      0  -\n";
    assert_eq!(table, expected);
    let listed = sandbox.json(["issue", "list", "--kind", "tools"]);
    assert_eq!(
        (&listed["count"], &listed["filter"]["kind"]),
        (&json!(2), &json!("tools"))
    );
    assert_eq!(
        sandbox.json(["issue", "search", "y", "--kind", ""])["count"],
        1
    );
    assert!(
        sandbox
            .ok(["issue", "show", &tools])
            .contains("  medium  tools  ")
    );
    for word in ["two words", "-", "\u{1b}[2J"] {
        let words = ["issue", "edit", &none, "--kind", word];
        assert_eq!(sandbox.json_error(words).0["code"], "USAGE", "{word}");
    }
}

#[test]
fn a_proof_and_the_tries_are_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("check.sh", "grep -q fixed a.txt\n");
    let id = report(&sandbox, &["--verify", "sh check.sh"]);
    sandbox.ok(["try", &id, "-n", "2", "--", "echo fixed >a.txt"]);
    sandbox.ok(["issue", "close", &id, "--proof", "latest"]);
    let stats = sandbox.json(["stats"]);
    assert_eq!(stats["tries"], json!({"tries": 1, "runs": 2, "passed": 2}));
    assert_eq!(stats["proven"], 1);
    let shown = sandbox.ok(["stats"]);
    assert!(shown.ends_with("\n1 try of 2 runs, 2 passed\n"), "{shown}");
    assert!(
        shown.contains("minute; with a proof\n") || shown.contains("minutes; with a proof\n"),
        "{shown}"
    );
}

#[test]
fn what_cannot_be_read_is_said_and_hides_nothing() {
    let sandbox = reported();
    let id = report(&sandbox, &[]);
    let face = format!("refs/notes/timewarp/issues/{id}");
    let on = sandbox.git(["notes", "--ref", &face, "list"]);
    let on = on.split_whitespace().nth(1).unwrap();
    sandbox.git(["notes", "--ref", &face, "add", "-f", "-m", "{}", on]);
    let stats = sandbox.json(["stats"]);
    assert_eq!(stats["reports"], 5);
    let notices = stats["notices"].to_string();
    assert!(notices.contains("1 cannot be read"), "{notices}");
}

#[test]
fn bars_fit_the_terminal() {
    let sandbox = Sandbox::new();
    for _ in 0..30 {
        report(&sandbox, &[]);
    }
    for columns in [40, 60, 100] {
        let mut prepared = sandbox.tw_command();
        prepared.env("COLUMNS", columns.to_string());
        let (code, shown) = Terminal::start(&sandbox, &prepared, &["stats"]).ends();
        assert_eq!(code, 0, "{shown}");
        let line = shown.lines().find(|line| line.contains('#'));
        let line = line.unwrap().trim_end();
        assert!(line.width() <= columns, "{columns}: {line}");
        let bar = line.matches('#').count();
        let expected = [(40, 7), (60, 17), (100, 24)];
        assert!(
            expected.contains(&(columns, bar)),
            "{columns}: {bar}\n{shown}"
        );
    }
}
