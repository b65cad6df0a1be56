//! A record as fields with names, each of which is merged by itself, and back. Pure.
//!
//! A field's name is a path: `symptom`, `experiment/repro`, `comments/c_1`, `runs/r_12`; `~` and `/` in a part of it are `~0` and `~1`.
//! Objects whose fields are edited one by one are taken apart, lists of things with ids are sets of them, everything else is one value.
//! What only says something of this machine is left out: see [`PRIVATE`] and [`PRIVATE_OF_RUN`]. A field that is not known here is one
//! value and goes along. A field that is null is not there.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::git::hex::hex;
use crate::json;
use crate::store::records::Json;

/// The kinds of records that are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An issue.
    Issue,
    /// The conversation of an issue.
    Chat,
    /// A session.
    Session,
    /// What a stay in the past or a scratch left, or a try.
    Experiment,
}

json::words!(Kind {
    Issue = "issue",
    Chat = "chat",
    Session = "session",
    Experiment = "experiment",
});

impl Kind {
    /// Its directory in the shared tree.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Issue => "issues",
            Self::Chat => "chats",
            Self::Session => "sessions",
            Self::Experiment => "experiments",
        }
    }

    /// The kind of a directory.
    pub fn of_directory(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.directory() == name)
    }

    /// Objects of which each field is merged by itself.
    fn objects(self) -> &'static [&'static str] {
        match self {
            Self::Issue => &["experiment", "experiment/extra"],
            Self::Chat | Self::Session | Self::Experiment => &[],
        }
    }

    /// Lists of things with ids, and what orders them.
    fn lists(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Issue => &[
                ("runs", "started_at"),
                ("comments", "at"),
                ("resolutions", "until"),
            ],
            Self::Chat => &[],
            Self::Session => &[
                ("checkpoints", "created_at"),
                ("turn_ends", "created_at"),
                ("rewinds", "rewound_at"),
            ],
            Self::Experiment => &[("runs", "started_at")],
        }
    }

    /// What of a record says something of this machine only, or is said elsewhere.
    pub fn private(self) -> &'static [&'static str] {
        match self {
            Self::Issue => PRIVATE,
            Self::Chat => &["version"],
            // Only what is named goes at all: see `sessions::record`, `experiments::left` and `experiments::tried`.
            Self::Session | Self::Experiment => &[],
        }
    }
}

/// Fields of an issue that stay here.
pub const PRIVATE: &[&str] = &[
    "version",
    "issue_id",
    "seq",
    "chat_file",
    "chat_unavailable",
    "experiment_file",
    "claimed_by",
    "snapshot_claimed_by",
    "conflicts",
    "deleted_by",
];

/// Fields of an issue's runs and comments that stay here: backups are nobody else's, runs are counted anew, and who sent something is
/// told by its edit.
pub const PRIVATE_OF_RUN: &[&str] = &["backup_id", "run", "claimed_by"];

/// Fields of which the greatest value stands, whoever set it.
const GREATEST: &[&str] = &["updated_at", "occurrences", "last_active_at"];

/// Fields that tell no change by themselves: something else was changed, or nothing but the time passed.
pub const TIMES: &[&str] = &["updated_at", "last_active_at"];

/// A record by the names of its fields.
pub type Fields = BTreeMap<String, Value>;

/// Whether of several values of a field the greatest stands.
pub fn is_greatest(name: &str) -> bool {
    GREATEST.contains(&name)
}

/// The bytes of a value that are the same wherever it is written: keys in their order, two blanks to a level.
pub fn canonical(value: &Value) -> Vec<u8> {
    json::pretty(&sorted(value))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let pairs: BTreeMap<&String, &Value> = map.iter().collect();
            let pairs = pairs.into_iter();
            Value::Object(
                pairs
                    .map(|(key, value)| (key.clone(), self::sorted(value)))
                    .collect(),
            )
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// The name of the field of a thing in a list.
pub fn name_in_list(list: &str, id: &str) -> String {
    format!("{list}/{}", escaped(id))
}

/// One part of a field's name.
fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

fn plain(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The parts of a field's name, as they were before they were escaped.
pub fn parts(name: &str) -> impl Iterator<Item = String> {
    name.split('/').map(plain)
}

/// A record as fields. `by` names this repository: a run that has no id yet gets one of it.
pub fn take_apart(kind: Kind, id: &str, by: &str, json: &Json) -> Fields {
    let mut fields = Fields::new();
    let mut json = json.clone();
    for name in kind.private() {
        json.shift_remove(*name);
    }
    if kind == Kind::Issue {
        name_proof(id, by, &mut json);
    }
    for (list, _) in kind.lists() {
        if let Some(Value::Array(items)) = json.get(*list) {
            let named: Option<Vec<(String, Value)>> =
                items.iter().map(|item| item_of(id, by, item)).collect();
            // Something without an id among them: the list is one value then.
            if let Some(named) = named {
                let shared = named
                    .into_iter()
                    .filter(|(_, item)| !is_open_run(list, item));
                fields.extend(
                    shared.map(|(name, item)| (format!("{list}/{}", escaped(&name)), item)),
                );
                json.shift_remove(*list);
            }
        }
    }
    flatten(kind, "", json, &mut fields);
    fields
}

/// The runs that show that an issue is solved, or was, by their ids instead of their numbers here.
fn name_proof(id: &str, by: &str, json: &mut Json) {
    let runs = json.get("runs").and_then(Value::as_array);
    let runs = runs.cloned().unwrap_or_default();
    for proof in proofs_of(json) {
        let Some(number) = proof.shift_remove("issue_run").filter(Value::is_u64) else {
            continue;
        };
        let run = runs.iter().find(|run| run.get("run") == Some(&number));
        if let Some((run, _)) = run.and_then(|run| item_of(id, by, run)) {
            proof.insert(PROOF_RUN.to_owned(), run.into());
        }
    }
}

/// What of an issue's resolution, and of earlier ones, shows that it is solved.
pub fn proofs_of(json: &mut Json) -> Vec<&mut Json> {
    let mut resolutions = Vec::new();
    for (name, value) in json.iter_mut() {
        match (name.as_str(), value) {
            ("resolution", value) => resolutions.push(value),
            ("resolutions", Value::Array(all)) => {
                let all = all.iter_mut();
                resolutions.extend(all.filter_map(|one| one.get_mut("resolution")));
            }
            _ => {}
        }
    }
    let proofs = resolutions.into_iter();
    proofs
        .filter_map(|one| one.get_mut("proof")?.as_object_mut())
        .collect()
}

/// The id of the run that shows that an issue is solved, in a proof.
pub const PROOF_RUN: &str = "issue_run_id";

fn flatten(kind: Kind, above: &str, json: Json, fields: &mut Fields) {
    for (name, value) in json {
        let path = format!("{above}{}", escaped(&name));
        match value {
            // To readers nothing and null are the same.
            Value::Null => {}
            Value::Object(map) if kind.objects().contains(&path.as_str()) => {
                flatten(kind, &format!("{path}/"), map, fields);
            }
            value => {
                fields.insert(path, value);
            }
        }
    }
}

/// The names of the runs and comments of an issue that others are said to have put into it.
pub fn names_of_others(id: &str, by: &str, json: &Json) -> Vec<String> {
    let mut names = Vec::new();
    for list in ["runs", "comments"] {
        let items = json.get(list).and_then(Value::as_array);
        let items = items.into_iter().flatten();
        let others = items.filter(|item| item.get("claimed_by").is_some_and(Value::is_string));
        let ids = others.filter_map(|item| item_of(id, by, item));
        names.extend(ids.map(|(id, _)| name_in_list(list, &id)));
    }
    names
}

/// A thing of a list by its id, as it is shared.
fn item_of(record: &str, by: &str, item: &Value) -> Option<(String, Value)> {
    let mut item = item.as_object()?.clone();
    let id = match item.get("id").and_then(Value::as_str) {
        Some(id) => id.to_owned(),
        None => run_id(record, by, &item)?,
    };
    for name in PRIVATE_OF_RUN {
        item.shift_remove(*name);
    }
    item.insert("id".to_owned(), id.clone().into());
    Some((id, Value::Object(item)))
}

/// The id of a run that has none: as long as its number stays, always the same.
pub fn run_id(record: &str, by: &str, run: &Json) -> Option<String> {
    let number = run.get("run")?.as_u64()?;
    let started = run.get("started_at")?.as_str()?;
    let digest = Sha256::digest(format!("{record}\n{by}\n{number}\n{started}"));
    Some(format!("r_{}", hex(digest.get(..6)?)))
}

/// Whether a run goes on: then it is about this working tree, and not shared before it ends.
fn is_open_run(list: &str, item: &Value) -> bool {
    list == "runs" && item.get("ended_at").is_none_or(Value::is_null)
}

/// Fields as a record, without what stays here. Runs are counted from 1, in the order in which they began.
pub fn put_together(kind: Kind, fields: &Fields) -> Json {
    let mut json = Json::new();
    for (name, value) in fields {
        let (list, rest) = name.split_once('/').unwrap_or((name, ""));
        let known = kind.lists().iter().find(|(known, _)| *known == list);
        if known.is_some() && !rest.is_empty() {
            if let Some(items) = list_in(&mut json, list) {
                items.push(value.clone());
            }
            continue;
        }
        place(&mut json, name, value);
    }
    for (list, order) in kind.lists() {
        if let Some(Value::Array(items)) = json.get_mut(*list) {
            let text = |item: &Value, name: &str| {
                let text = item.get(name).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            items.sort_by_cached_key(|item| (text(item, order), text(item, "id")));
        }
    }
    json
}

fn list_in<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Vec<Value>> {
    let list = json
        .entry(name.to_owned())
        .or_insert_with(|| Value::Array(Vec::new()));
    list.as_array_mut()
}

/// Puts a value where its name says. Where something else stands in the way, that stays.
fn place(json: &mut Json, name: &str, value: &Value) {
    match name.split_once('/') {
        None => {
            json.entry(plain(name)).or_insert_with(|| value.clone());
        }
        Some((first, rest)) => {
            let below = json
                .entry(plain(first))
                .or_insert_with(|| Value::Object(Map::new()));
            if let Some(below) = below.as_object_mut() {
                place(below, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "i_20260228_153012_ab12cd";

    fn object(value: &Value) -> Json {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn an_issue_comes_together_again_without_what_stays_here() {
        let issue = object(&json!({
            "version": 1, "issue_id": ID, "symptom": "s", "chat_file": "chat.md", "later": {"b": 1, "a": [2]},
            "experiment": {"repro": "r", "extra": {"A/B~": "text"}},
            "runs": [
                {"run": 1, "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:01:00Z", "backup_id": "b_1"},
                {"run": 2, "started_at": "2026-01-02T00:00:00Z", "ended_at": null},
            ],
            "comments": [{"id": "c_1", "at": "2026-01-01T00:00:00Z", "text": "t"}],
            "resolutions": [{"id": "e_1", "until": "2026-01-03T00:00:00Z",
                "resolution": {"at": "2026-01-02T00:00:00Z", "proof": {"run": 4, "issue_run": 1}}}],
        }));
        let fields = take_apart(Kind::Issue, ID, "here", &issue);
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        let run = run_id(ID, "here", issue["runs"][0].as_object().expect("a run")).expect("an id");
        assert_eq!(
            names,
            [
                "comments/c_1",
                "experiment/extra/A~1B~0",
                "experiment/repro",
                "later",
                "resolutions/e_1",
                &format!("runs/{run}"),
                "symptom"
            ]
        );
        let back = put_together(Kind::Issue, &fields);
        let expected = json!({
            "symptom": "s", "later": {"a": [2], "b": 1},
            "experiment": {"repro": "r", "extra": {"A/B~": "text"}},
            "runs": [{"id": run, "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:01:00Z"}],
            "comments": [{"id": "c_1", "at": "2026-01-01T00:00:00Z", "text": "t"}],
            "resolutions": [{"id": "e_1", "until": "2026-01-03T00:00:00Z",
                "resolution": {"at": "2026-01-02T00:00:00Z", "proof": {"run": 4, "issue_run_id": run}}}],
        });
        assert_eq!(Value::Object(back.clone()), expected);
        assert_eq!(take_apart(Kind::Issue, ID, "there", &back), fields);
    }

    #[test]
    fn names_that_stand_in_each_others_way_do_no_harm() {
        let fields: Fields = [
            ("a", json!(1)),
            ("a/b", json!(2)),
            ("runs", json!("x")),
            ("runs/r", json!({})),
            ("comments/c", json!(3)),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let json = put_together(Kind::Issue, &fields);
        assert_eq!(
            Value::Object(json),
            json!({"a": 1, "runs": "x", "comments": [3]})
        );
    }

    #[test]
    fn equal_values_have_equal_bytes() {
        let one = json!({"b": {"y": 1, "x": 2}, "a": [{"d": 1, "c": 2}]});
        let other = json!({"a": [{"c": 2, "d": 1}], "b": {"x": 2, "y": 1}});
        assert_eq!(canonical(&one), canonical(&other));
    }
}
