//! How much an answer holds. An agent pays for every word of it, and there are clients that end the connection at a message of 10 MiB,
//! in which an answer stands twice.
//!
//! Promises: of a list the first 100 entries are left, and `<name>_count` beside it is how many there are; what is cut of a text ends with
//! an ellipsis. Tokens, ids, numbers and all other fields stay. Lists of the answer itself have no bound in a call that sets one of its own.

use serde_json::{Map, Value};

use crate::text::shortened;

/// As in the document of a snapshot.
const ENTRIES: usize = 100;

/// Characters of what names a thing in a list of many: whoever gave it set it no bound.
const TITLE: usize = 200;

/// Characters of any text.
const TEXT: usize = 20_000;

/// From this many characters on a text counts as a long one.
const LONG: usize = 1_000;

/// Characters of all long texts together, beyond which each is cut where it would be one.
const LONG_TEXTS: usize = 400_000;

/// The arguments that say how much is wanted.
const OWN: [&str; 3] = ["limit", "max_count", "lines"];

/// Cuts a document down to what an answer may hold.
pub fn keep(document: &mut Value, given: &Map<String, Value>) {
    let is_set = |name: &&str| given.get(*name).is_some_and(|value| !value.is_null());
    let lists = if OWN.iter().any(is_set) {
        usize::MAX
    } else {
        ENTRIES
    };
    let mut left = LONG_TEXTS;
    if let Some(fields) = document.as_object_mut() {
        keep_fields(fields, lists, &mut left);
    }
}

fn keep_fields(fields: &mut Map<String, Value>, lists: usize, left: &mut usize) {
    // An issue in a list has its symptom for a title; one that is whole has all of its texts.
    let is_summary = !fields.contains_key("success_criteria");
    let mut counts = Vec::new();
    for (name, value) in fields.iter_mut() {
        match value {
            Value::Array(list) if list.len() > lists => {
                // The exact bytes of names have the same places in a list of their own.
                if !name.ends_with("_bytes") {
                    counts.push((format!("{name}_count"), list.len()));
                }
                list.truncate(lists);
            }
            Value::String(text) if name == "title" || (name == "symptom" && is_summary) => {
                cut(text, TITLE);
            }
            _ => {}
        }
        keep_value(value, left);
    }
    for (name, count) in counts {
        fields.entry(name).or_insert_with(|| count.into());
    }
}

fn keep_value(value: &mut Value, left: &mut usize) {
    match value {
        Value::Object(fields) => keep_fields(fields, ENTRIES, left),
        Value::Array(list) => list.iter_mut().for_each(|one| keep_value(one, left)),
        Value::String(text) if text.len() > LONG => {
            cut(text, TEXT.min((*left).max(LONG)));
            *left = left.saturating_sub(text.len());
        }
        _ => {}
    }
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        *text = shortened(text, most).into_owned();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(mut document: Value, given: &Value) -> Value {
        keep(&mut document, given.as_object().expect("arguments"));
        document
    }

    #[test]
    fn a_list_of_many_has_its_count_beside_it() {
        let paths: Vec<String> = (0..30_000).map(|n| format!("dir/{n}")).collect();
        let bytes = vec![Value::Null; 30_000];
        let document = json!({
            "ok": true, "guard_token": "g_1", "files": paths,
            "changes": {"written": paths, "written_bytes": bytes, "removed": ["a"]},
            "snapshot": {"uncaptured": paths, "uncaptured_count": 70_000},
        });
        let short = kept(document.clone(), &json!({"paths": ["dir"]}));
        assert_eq!(short["files"].as_array().map(Vec::len), Some(100));
        assert_eq!(short["files_count"], 30_000);
        assert_eq!(short["changes"]["written"], json!(paths[..100]));
        assert_eq!(short["changes"]["written_count"], 30_000);
        let beside = &short["changes"]["written_bytes"];
        assert_eq!(beside.as_array().map(Vec::len), Some(100));
        assert_eq!(short["changes"]["written_bytes_count"], Value::Null);
        assert_eq!(short["changes"]["removed"], json!(["a"]));
        assert_eq!(short["changes"]["removed_count"], Value::Null);
        assert_eq!(short["snapshot"]["uncaptured_count"], 70_000);
        assert_eq!(short["guard_token"], "g_1");
        let asked = kept(document, &json!({"limit": 40_000}));
        assert_eq!(asked["files"].as_array().map(Vec::len), Some(30_000));
        assert_eq!(asked["changes"]["written_count"], 30_000);
    }

    #[test]
    fn titles_and_long_texts_are_cut() {
        let long = "ä".repeat(6_000_000);
        let issue = json!({"symptom": long, "success_criteria": "x"});
        let files: Vec<Value> = (0..90).map(|_| json!({"patch": long})).collect();
        let document = json!({
            "latest": {"title": long}, "issues": [{"symptom": long}], "issue": issue,
            "files": files, "guard_token": "g_1",
        });
        let short = kept(document, &json!({}));
        let chars = |text: &Value| text.as_str().map(|text| text.chars().count());
        assert_eq!(chars(&short["latest"]["title"]), Some(TITLE));
        assert_eq!(chars(&short["issues"][0]["symptom"]), Some(TITLE));
        assert_eq!(chars(&short["issue"]["symptom"]), Some(TEXT));
        assert_eq!(chars(&short["files"][0]["patch"]), Some(TEXT));
        assert_eq!(chars(&short["files"][89]["patch"]), Some(LONG));
        assert_eq!(short["guard_token"], "g_1");
        assert!(short.to_string().len() < 1 << 20);
    }
}
