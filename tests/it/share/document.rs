//! `docs/sharing.md` names every field of what is shared, and says of each whether it goes.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;
use timewarp::ops::sharing::fields::{Kind, PRIVATE_OF_RUN};

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
