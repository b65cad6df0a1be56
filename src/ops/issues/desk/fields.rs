//! `issue.json` on the desk: which of its edits are taken in, and what is said of the others.
//!
//! The texts and the sections of `experiment` are taken in. What the record has no place for (a name that no issue has, a
//! value of another type) is named, since it stands in the file alone. What only commands change is named, too.

use serde_json::Value;

use super::common::{Common, Texts};
use super::markdown;
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
    common: &Common,
    desk: &Json,
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    for (name, text) in own_texts(desk) {
        let written = field(&common.issue, name);
        let Some(conflict) = common.decide(name, &written, &field(issue, name), text) else {
            continue;
        };
        let text = redacting.text(text.trim_end());
        if !common.was_taken_in(|past| field(past, name) == text) {
            both.extend(conflict.then(|| name.to_owned()));
            set_field(issue, name, text);
        }
    }
    if let Some(Value::Object(desk)) = desk.get(EXPERIMENT) {
        let ours = &mut issue.experiment;
        both.extend(merge_sections(ours, common, desk, redacting));
        if let Some(Value::Object(desk)) = desk.get(EXTRA) {
            both.extend(merge_extra(ours, common, desk, redacting));
        }
    }
    both
}

/// The texts that a merge takes in, by their names.
pub fn texts(desk: &Json) -> Texts {
    let mut texts = Texts::default();
    for (name, text) in own_texts(desk) {
        texts.put(name, text);
    }
    if let Some(Value::Object(desk)) = desk.get(EXPERIMENT) {
        for name in SECTIONS {
            if let Some(text) = desk.get(name).and_then(text_of) {
                texts.put(&section_name(name), text);
            }
        }
        if let Some(Value::Object(desk)) = desk.get(EXTRA) {
            for (name, value) in desk {
                if let Some(text) = text_of(value) {
                    texts.put(&extra_name(name), text);
                }
            }
        }
    }
    texts
}

/// The texts of the issue itself. An emptied one that a report needs is none.
fn own_texts(desk: &Json) -> impl Iterator<Item = (&'static str, &str)> {
    TEXTS.into_iter().filter_map(|(name, may_be_empty)| {
        let text = desk.get(name).and_then(text_of)?;
        (may_be_empty || !text.trim().is_empty()).then_some((name, text))
    })
}

fn section_name(name: &str) -> String {
    format!("{EXPERIMENT}.{name}")
}

fn extra_name(name: &str) -> String {
    format!("{EXPERIMENT}.{EXTRA}.{name}")
}

fn merge_sections(
    ours: &mut Experiment,
    common: &Common,
    desk: &Json,
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    let mut written = common.issue.experiment.clone();
    let slots = markdown::fields(ours)
        .into_iter()
        .zip(markdown::fields(&mut written));
    for (at, (name, (slot, before))) in SECTIONS.into_iter().zip(slots).enumerate() {
        let Some(text) = desk.get(name).and_then(text_of) else {
            continue;
        };
        let whole = section_name(name);
        let Some(conflict) = common.decide(&whole, before, slot, text) else {
            continue;
        };
        let text = redacting.text(text.trim_end());
        if !common.was_taken_in(|past| markdown::field(&past.experiment, at) == text) {
            both.extend(conflict.then_some(whole));
            *slot = text;
        }
    }
    both
}

fn merge_extra(
    ours: &mut Experiment,
    common: &Common,
    desk: &Json,
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    let written = &common.issue.experiment;
    for (name, value) in desk {
        let Some(text) = text_of(value) else { continue };
        let whole = extra_name(name);
        let before = section(written, name);
        let mine = section(ours, name).unwrap_or_default();
        let is_new = !common.had(&whole, before.is_some()) && text.is_empty();
        let decided = common.decide(&whole, before.unwrap_or_default(), mine, text);
        let Some(conflict) = decided.or(is_new.then_some(false)) else {
            continue;
        };
        let (called, text) = (redacting.text(name), redacting.text(text.trim_end()));
        if common.was_taken_in(|past| section(&past.experiment, &called) == Some(text.as_str())) {
            continue;
        }
        both.extend(conflict.then_some(whole));
        let is_same = |known: &str| known == name || known == called;
        match ours.extra.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, slot)) => *slot = text,
            None => ours.extra.push((called, text)),
        }
    }
    // A section that the desk had and has no more goes, unless it was changed meanwhile.
    ours.extra.retain(|(name, text)| {
        let before = section(written, name);
        let had = common.had(&extra_name(name), before.is_some());
        desk.contains_key(name) || !had || before != Some(text.as_str())
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
pub fn not_taken(desk: &Json, common: &Common) -> Vec<String> {
    let written = common.issue.to_json();
    let is_taken = |name: &str| name == EXPERIMENT || TEXTS.iter().any(|(text, _)| *text == name);
    let names: Vec<&str> = written
        .iter()
        .filter(|(name, value)| {
            let is_edited = |desk: &Value| {
                desk != *value
                    && !common.was_taken_in(|past| past.to_json().get(*name) == Some(desk))
            };
            !is_taken(name) && desk.get(*name).is_some_and(is_edited)
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
