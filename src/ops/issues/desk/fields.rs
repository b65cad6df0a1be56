//! `issue.json` on the desk: which of its edits are taken in, and what is said of the others.
//!
//! The texts and the sections of `experiment` are taken in. What the record has no place for (a name that no issue has, a
//! value of another type) is named, since it stands in the file alone. What only commands change is named, too.

use serde_json::Value;

use super::{decide, markdown};
use crate::ops::redaction::Redacting;
use crate::store::issue::{Experiment, Issue};
use crate::store::records::Json;

/// A text that may be edited on the desk: its name, and whether it may be empty.
const TEXTS: [(&str, bool); 5] = [
    ("task_context", false),
    ("symptom", false),
    ("success_criteria", false),
    ("suspected_cause", true),
    ("chat_summary", true),
];

/// Where the sections of the experiment stand.
const EXPERIMENT: &str = "experiment";
/// Where those under other headings stand in it.
const EXTRA: &str = "extra";
/// The other sections, in the order of [`markdown::fields`].
const SECTIONS: [&str; 5] = [
    "success_criteria",
    "repro",
    "changes",
    "validation",
    "result",
];

/// Puts what was edited into the issue. Gives the names of the texts that were changed on both sides.
pub fn merge(
    issue: &mut Issue,
    written: &Issue,
    desk: &Json,
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    for (name, may_be_empty) in TEXTS {
        let Some(text) = desk.get(name).and_then(text_of) else {
            continue;
        };
        if text.trim().is_empty() && !may_be_empty {
            continue;
        }
        if let Some(conflict) = decide(&field(written, name), &field(issue, name), text) {
            both.extend(conflict.then(|| name.to_owned()));
            set_field(issue, name, redacting.text(text.trim_end()));
        }
    }
    if let Some(Value::Object(desk)) = desk.get(EXPERIMENT) {
        let (ours, written) = (&mut issue.experiment, &written.experiment);
        both.extend(merge_sections(ours, written, desk, redacting));
        if let Some(Value::Object(desk)) = desk.get(EXTRA) {
            both.extend(merge_extra(ours, written, desk, redacting));
        }
    }
    both
}

fn merge_sections(
    ours: &mut Experiment,
    written: &Experiment,
    desk: &Json,
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    let mut written = written.clone();
    let slots = markdown::fields(ours)
        .into_iter()
        .zip(markdown::fields(&mut written));
    for (name, (slot, before)) in SECTIONS.into_iter().zip(slots) {
        let Some(text) = desk.get(name).and_then(text_of) else {
            continue;
        };
        if let Some(conflict) = decide(before, slot, text) {
            both.extend(conflict.then(|| format!("{EXPERIMENT}.{name}")));
            *slot = redacting.text(text.trim_end());
        }
    }
    both
}

fn merge_extra(
    ours: &mut Experiment,
    written: &Experiment,
    desk: &Json,
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    for (name, value) in desk {
        let Some(text) = text_of(value) else { continue };
        let before = section(written, name);
        let mine = section(ours, name).unwrap_or_default();
        let is_new = before.is_none() && text.is_empty();
        let decided = decide(before.unwrap_or_default(), mine, text);
        if let Some(conflict) = decided.or(is_new.then_some(false)) {
            both.extend(conflict.then(|| format!("{EXPERIMENT}.{EXTRA}.{name}")));
            let text = redacting.text(text.trim_end());
            match ours.extra.iter_mut().find(|(known, _)| known == name) {
                Some((_, slot)) => *slot = text,
                None => ours.extra.push((redacting.text(name), text)),
            }
        }
    }
    // A section that the desk had and has no more goes, unless it was changed meanwhile.
    ours.extra.retain(|(name, text)| {
        desk.contains_key(name) || section(written, name) != Some(text.as_str())
    });
    both
}

fn section<'a>(experiment: &'a Experiment, name: &str) -> Option<&'a str> {
    let found = experiment.extra.iter().find(|(known, _)| known == name);
    found.map(|(_, text)| text.as_str())
}

/// A text of the desk; null is an empty one.
fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Null => Some(""),
        _ => None,
    }
}

/// What the record has no place for.
#[derive(Debug, Default, PartialEq)]
pub struct Unplaced {
    /// Names that no issue has.
    unknown: Vec<String>,
    /// Those whose value is of another type than an issue's.
    mistyped: Vec<String>,
}

impl Unplaced {
    /// What of a desk's file the record has no place for. `written`: as the record wrote it.
    pub fn find(desk: &Json, written: &Json) -> Self {
        let mut found = Self::default();
        for (name, value) in desk {
            if TEXTS.iter().any(|(text, _)| text == name) {
                found.expect_text(name.clone(), value);
            } else if name == EXPERIMENT {
                found.look_into_experiment(value);
            } else if !written.contains_key(name) {
                found.unknown.push(name.clone());
            }
        }
        found
    }

    fn look_into_experiment(&mut self, value: &Value) {
        let Value::Object(sections) = value else {
            return self.mistyped.push(EXPERIMENT.to_owned());
        };
        for (name, value) in sections {
            let whole = format!("{EXPERIMENT}.{name}");
            match value {
                value if SECTIONS.contains(&name.as_str()) => self.expect_text(whole, value),
                Value::Object(extra) if name == EXTRA => {
                    for (name, value) in extra {
                        self.expect_text(format!("{whole}.{name}"), value);
                    }
                }
                _ if name == EXTRA => self.mistyped.push(whole),
                _ => self.unknown.push(whole),
            }
        }
    }

    fn expect_text(&mut self, name: String, value: &Value) {
        if text_of(value).is_none() {
            self.mistyped.push(name);
        }
    }

    /// Whether everything has a place.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Names it, for the file at `path`.
    pub fn sentences(&self, path: &str) -> Vec<String> {
        let said = |names: &[String], what: &str| {
            (!names.is_empty()).then(|| {
                format!(
                    "'{path}' has {}, {what}; that is not taken in",
                    names.join(", ")
                )
            })
        };
        let unknown = said(&self.unknown, "which no issue has");
        let mistyped = said(&self.mistyped, "of another type than an issue's");
        unknown.into_iter().chain(mistyped).collect()
    }
}

/// Names the edits that count for nothing: those of fields that commands change, and emptied texts that a report needs.
pub fn not_taken(desk: &Json, written: &Json) -> Vec<String> {
    let is_taken = |name: &str| name == EXPERIMENT || TEXTS.iter().any(|(text, _)| *text == name);
    let names: Vec<&str> = written
        .iter()
        .filter(|(name, value)| {
            !is_taken(name) && desk.get(*name).is_some_and(|desk| desk != *value)
        })
        .map(|(name, _)| name.as_str())
        .collect();
    let mut said = Vec::new();
    if !names.is_empty() {
        said.push(format!(
            "only texts are taken in from issue.json, not {}",
            names.join(", ")
        ));
    }
    let is_emptied = |name: &str| {
        let text = desk.get(name).and_then(text_of);
        text.is_some_and(|text| text.trim().is_empty())
    };
    let needed = TEXTS.iter().filter(|(_, may_be_empty)| !may_be_empty);
    let emptied = needed.filter(|(name, _)| is_emptied(name));
    said.extend(emptied.map(|(name, _)| format!("'{name}' may not be empty and stays as it was")));
    said
}

fn field(issue: &Issue, name: &str) -> String {
    match name {
        "task_context" => issue.task_context.clone(),
        "symptom" => issue.symptom.clone(),
        "success_criteria" => issue.success_criteria.clone(),
        "suspected_cause" => issue.suspected_cause.clone().unwrap_or_default(),
        _ => issue.chat_summary.clone().unwrap_or_default(),
    }
}

fn set_field(issue: &mut Issue, name: &str, text: String) {
    let optional = |text: String| Some(text).filter(|text| !text.is_empty());
    match name {
        "task_context" => issue.task_context = text,
        "symptom" => issue.symptom = text,
        "success_criteria" => issue.set_success_criteria(&text),
        "suspected_cause" => issue.suspected_cause = optional(text),
        _ => issue.chat_summary = optional(text),
    }
}
