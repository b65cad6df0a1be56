//! `docs/sharing.md` names every field of what is shared, and says of each whether it goes.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::{Value, json};
use timewarp::ops::sharing::fields::{Kind, PRIVATE_OF_RUN};
use timewarp::ops::sharing::{Prompts, experiments, sessions};
use timewarp::ops::tries::Try;
use timewarp::redact::Redactor;
use timewarp::store::checkpoint::SessionNotes;
use timewarp::store::session::SessionRecord;

fn file(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the table that follows a line of the document: each field, and whether it stays.
fn table(text: &str, after: &str) -> BTreeMap<String, bool> {
    let (_, rest) = text.split_once(after).unwrap_or_else(|| panic!("{after}"));
    let word = Regex::new("`([a-z_]+)`").unwrap();
    let rows = rest.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let mut found = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for name in word.captures_iter(cells[1]) {
            found.insert(name[1].to_owned(), cells[2] == "no");
        }
    }
    found
}

/// The names of the properties of a schema's object.
fn properties(schema: &Value) -> BTreeSet<String> {
    let all = schema["properties"].as_object().expect("an object");
    all.keys().cloned().collect()
}

fn names(rows: &BTreeMap<String, bool>) -> BTreeSet<String> {
    rows.keys().cloned().collect()
}

fn staying(rows: &BTreeMap<String, bool>) -> BTreeSet<&str> {
    let staying = rows.iter().filter(|(_, stays)| **stays);
    staying.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn every_field_is_named_and_what_is_said_of_it_is_so() {
    let text = file("docs/sharing.md");
    let schema: Value = serde_json::from_str(&file("schemas/issue-get.json")).unwrap();
    let issue = &schema["properties"]["issue"];
    let rows = table(&text, "Of an issue (");
    let mut known = properties(issue);
    for of_the_answer in ["paths", "verify_hash", "verify_approved"] {
        assert!(known.remove(of_the_answer));
    }
    assert_eq!(names(&rows), known);
    let mut private: BTreeSet<&str> = Kind::Issue.private().iter().copied().collect();
    // It is the file's own.
    assert!(private.remove("issue_id"));
    assert_eq!(staying(&rows), private);

    let private: BTreeSet<&str> = PRIVATE_OF_RUN.iter().copied().collect();
    let rows = table(&text, "Of a run:");
    let mut known = properties(&issue["properties"]["runs"]["items"]);
    known.extend(["id", "claimed_by"].map(str::to_owned));
    assert_eq!(names(&rows), known);
    assert_eq!(staying(&rows), private);

    let rows = table(&text, "Of a comment:");
    assert_eq!(
        names(&rows),
        properties(&issue["properties"]["comments"]["items"])
    );
    assert_eq!(staying(&rows), BTreeSet::from(["claimed_by"]));

    let schema: Value = serde_json::from_str(&file("schemas/issue-chat.json")).unwrap();
    let rows = table(&text, "Of a conversation (");
    assert_eq!(names(&rows), properties(&schema["properties"]["chat"]));
    assert_eq!(
        staying(&rows),
        Kind::Chat.private().iter().copied().collect()
    );

    said_of_sessions(&text);
    said_of_experiments(&text);

    let rows = table(&text, "Of each edit");
    assert_eq!(
        names(&rows),
        ["at", "by", "name", "revision"].map(str::to_owned).into()
    );
    // What stands inside others is named beside them.
    let inside = [
        properties(&issue["properties"]["experiment"]),
        properties(&issue["properties"]["runs"]["items"]["properties"]["verify"]["items"]),
        properties(&schema["properties"]["chat"]["properties"]["messages"]["items"]),
    ];
    for name in inside.iter().flatten() {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}

/// What is said of sessions is what goes, with texts and without.
fn said_of_sessions(text: &str) {
    let text_of = |prompts| {
        let checkpoint = json!({"version": 1, "checkpoint_id": 3, "created_at": "2026-01-01T00:00:00Z", "snapshot_id": "s_1",
            "kind": "step", "tool": "Edit", "prompt": "p", "supersedes": "s:1", "agent": "a", "tokens": {}, "transcript": {"path": "/p"}});
        let end = json!({"version": 1, "checkpoint_id": 3, "created_at": "2026-01-01T00:00:00Z", "snapshot_id": "s_1", "kind": "end"});
        let rewind = json!({"checkpoint_id": 3, "rewound_at": "2026-01-01T00:00:00Z", "mode": "both", "note": "n", "rationale": "r",
            "undone_at": "2026-01-01T00:00:00Z", "backup_id": "b_1", "fork": {"session_id": "f", "path": "/p"}});
        let mut notes = SessionNotes::default();
        notes
            .checkpoints
            .push(serde_json::from_value(checkpoint).unwrap());
        notes.turn_ends.push(serde_json::from_value(end).unwrap());
        notes.rewinds.push(serde_json::from_value(rewind).unwrap());
        sessions::record(&whole_session(), &notes, prompts, &Redactor::new())
    };
    let record = serde_json::to_value(whole_session()).unwrap();
    let lists = ["checkpoints", "turn_ends", "rewinds"];
    let of_session = |prompts| -> BTreeSet<String> {
        let names = text_of(prompts);
        names
            .keys()
            .filter(|name| !lists.contains(&name.as_str()))
            .cloned()
            .collect()
    };
    let of_items = |prompts| -> BTreeSet<String> {
        let all = text_of(prompts);
        let items = lists
            .iter()
            .map(|list| all[*list][0].as_object().unwrap().clone());
        items
            .flat_map(|item| item.keys().cloned().collect::<Vec<_>>())
            .collect()
    };
    let rows = table(text, "Of a session (");
    assert_eq!(
        names(&rows),
        record
            .as_object()
            .unwrap()
            .keys()
            .filter(|name| *name != "later")
            .cloned()
            .collect()
    );
    let (all, few) = (of_session(Prompts::Redacted), of_session(Prompts::None));
    let going: BTreeSet<String> = rows
        .iter()
        .filter(|(_, stays)| !**stays)
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(all, going);
    let texts = BTreeSet::from(["hint".to_owned()]);
    assert_eq!(
        all.difference(&few).cloned().collect::<BTreeSet<_>>(),
        texts
    );
    let rows = table(text, "Of its checkpoints,");
    let (all, few) = (of_items(Prompts::Redacted), of_items(Prompts::None));
    assert_eq!(all, names(&rows));
    let texts = ["prompt", "tool", "note", "rationale"].map(str::to_owned);
    assert_eq!(
        all.difference(&few).cloned().collect::<BTreeSet<_>>(),
        BTreeSet::from(texts)
    );
}

/// What is said of experiments and tries is what goes, with texts and without.
fn said_of_experiments(text: &str) {
    let keys = |value: &Value| -> BTreeSet<String> {
        let all = value.as_object().expect("an object");
        all.keys()
            .filter(|name| *name != "later")
            .cloned()
            .collect()
    };
    let going = |rows: &BTreeMap<String, bool>| -> BTreeSet<String> {
        let going = rows.iter().filter(|(_, stays)| !**stays);
        going.map(|(name, _)| name.clone()).collect()
    };
    let record = json!({"version": 1, "snapshot_id": "x", "kind": "experiment", "created_at": "c", "session_id": "s", "agent": "a",
        "worktree": "/p", "workspace_root": "/p", "trigger": "return", "label": "l", "initial_task_hint": "h", "env_fingerprint": {"git": "2"},
        "head": {"ref": "refs/heads/x", "oid": "1"}, "seq": 1, "repository_id": "r", "stats": {"files": 1}, "opened_from": "s_1", "later": "/p"});
    let mut left: BTreeSet<String> = experiments::left(&record).keys().cloned().collect();
    assert!(left.remove("experiment_id"));
    left.extend(["snapshot_id", "opened_from"].map(str::to_owned));
    let rows = table(text, "Of what a stay in the past or a scratch left (");
    assert_eq!(names(&rows), left);
    assert_eq!(experiments::left(&record)["head"], "1");

    let check = json!({"command": "c", "status": "passed", "exit": 0, "duration_ms": 1, "output_tail": "/p"});
    let run = json!({"run": 1, "slot": 1, "command": "c", "status": "passed", "exit": 0, "verify": check, "duration_ms": 1,
        "diff_stat": {"files": 1, "insertions": 1, "deletions": 1}, "experiment_id": "x", "group": 1, "protected": ["p"], "escapes": ["p"],
        "refs_made": ["p"], "uncertain": true, "leaks": ["p"], "log": "/p", "issue_run": 1, "error": "/p", "started_at": "s", "ended_at": "e",
        "tree": "t"});
    let whole = json!({"version": 1, "try_id": "t", "created_at": "c", "ended_at": "e", "worktree": "main", "source": "s", "issue_id": "i",
        "command": "c", "wanted": 1, "base_verify": check, "runs": [run], "best": 1, "later": "/p"});
    let record: Try = serde_json::from_value(whole.clone()).unwrap();
    let of = |prompts| Value::Object(experiments::tried(&record, prompts, &Redactor::new()));
    let (all, few) = (of(Prompts::Redacted), of(Prompts::None));
    let rows = table(text, "Of a try that has ended (");
    assert_eq!(names(&rows), keys(&whole));
    assert_eq!(going(&rows), keys(&all));
    let texts: BTreeSet<String> = keys(&all).difference(&keys(&few)).cloned().collect();
    assert_eq!(texts, BTreeSet::from(["command".to_owned()]));
    let rows = table(text, "Of a run of a try;");
    assert_eq!(names(&rows), keys(&run));
    let mut of_run = keys(&few["runs"][0]);
    assert!(of_run.remove("id") && of_run.remove("number") && of_run.insert("run".to_owned()));
    assert_eq!(going(&rows), of_run);
    let mut of_check = keys(&check);
    assert!(of_check.remove("output_tail"));
    assert_eq!(keys(&few["base_verify"]), of_check);
    assert_eq!(keys(&few["runs"][0]["verify"]), of_check);
}

/// A session of which every field says something.
fn whole_session() -> SessionRecord {
    let record = json!({"version": 1, "session_id": "s", "agent": "a", "parent": "p", "worktree": "main", "started_at": "2026-01-01T00:00:00Z",
        "last_active_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:00Z", "snapshot_ids": ["s_1"], "source": "startup",
        "compacted_at": "2026-01-01T00:00:00Z", "transcript": "/p", "hint": "h", "forked_from": {"session_id": "o", "checkpoint_id": 1},
        "next_checkpoint_id": 4, "worktree_id": "w", "later": "/p"});
    serde_json::from_value(record).unwrap()
}
