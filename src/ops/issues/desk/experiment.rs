//! `experiment.md` on the desk: which of its edits are taken in, section by section.

use super::common::{Common, Texts};
use super::markdown::{self, Parsed};
use crate::ops::redaction::Redacting;
use crate::store::issue::Issue;
use crate::text::{has_hidden, hidden, visible};

/// An issue as its file would be read.
fn as_file(issue: &Issue) -> Parsed {
    markdown::parse(&markdown::render(issue))
}

/// How the heading of a section is called among the texts of a file; the section itself may have more, or stand without one.
fn heading(name: &str) -> String {
    format!("## {name}")
}

/// The texts of a file, by their names. `written`: what it had in common with the record before.
pub fn texts(written: &Issue, parsed: &Parsed) -> Texts {
    let mut texts = Texts::default();
    let merged = parsed.clone().with_notes(&as_file(written));
    for (name, text) in markdown::FIELDS.into_iter().zip(&merged.known) {
        if let Some(text) = text {
            texts.put(name, text);
        }
    }
    for (name, text) in &merged.extra {
        texts.put(name, text);
    }
    for (name, text) in &parsed.extra {
        texts.put(&heading(name), text);
    }
    texts
}

/// The headings under which the file had a text, and which it lacks now.
pub fn lost(common: &Common, parsed: &Parsed) -> Vec<String> {
    let mut lost = parsed.lost(&as_file(&common.issue));
    lost.retain(|name| {
        markdown::FIELDS.contains(&name.as_str()) || common.had(&heading(name), true)
    });
    lost
}

/// Puts what the file changed into the issue. Gives the sections that were changed on both sides.
pub fn merge(
    issue: &mut Issue,
    common: &Common,
    parsed: &Parsed,
    redacting: &mut Redacting,
) -> Vec<String> {
    let before = as_file(&common.issue);
    let parsed = &parsed.clone().with_notes(&before);
    let ours = as_file(issue);
    let mut both = Vec::new();
    for (at, name) in markdown::FIELDS.into_iter().enumerate() {
        let text = |parsed: &Parsed| parsed.known.get(at).cloned().flatten();
        let Some(desk) = text(parsed) else { continue };
        let before = text(&before).unwrap_or_default();
        let mine = text(&ours).unwrap_or_default();
        let Some(conflict) = common.decide(name, &before, &mine, &desk) else {
            continue;
        };
        let written = markdown::field(&common.issue.experiment, at);
        let text = redacting.text(&as_meant(&desk, &written));
        if common.was_taken_in(|past| markdown::field(&past.experiment, at) == text) {
            continue;
        }
        both.extend(conflict.then(|| name.to_owned()));
        let mut slots = markdown::fields(&mut issue.experiment).into_iter();
        if let Some(slot) = slots.nth(at) {
            *slot = text;
        }
    }
    both.extend(merge_extra(
        issue,
        common,
        (&before, &ours, parsed),
        redacting,
    ));
    both
}

/// The same for the sections under other headings, given what the files say: the one before, the record's, and the desk's.
fn merge_extra(
    issue: &mut Issue,
    common: &Common,
    (before, ours, parsed): (&Parsed, &Parsed, &Parsed),
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    for (name, desk) in &parsed.extra {
        let was = before.section(name);
        let mine = ours.section(name).unwrap_or_default();
        let is_new = !common.had(name, was.is_some()) && desk.is_empty();
        let decided = common.decide(name, was.unwrap_or_default(), mine, desk);
        let Some(conflict) = decided.or(is_new.then_some(false)) else {
            continue;
        };
        let written = section(&common.issue, name).unwrap_or_default();
        let text = redacting.text(&as_meant(desk, written));
        let called = redacting.text(name);
        if common.was_taken_in(|past| section(past, &called) == Some(text.as_str())) {
            continue;
        }
        both.extend(conflict.then(|| name.clone()));
        let same = [visible(name), visible(&called)];
        let extra = &mut issue.experiment.extra;
        match extra
            .iter_mut()
            .find(|(known, _)| same.contains(&visible(known)))
        {
            Some((_, slot)) => *slot = text,
            None => extra.push((called, text)),
        }
    }
    // A section that the desk had and has no more goes, unless it was changed meanwhile, or the file is only a part of what it was.
    let is_complete = parsed.known.iter().all(Option::is_some);
    let gone = |name: &str| {
        let was = before.section(name);
        let had = common.had(name, was.is_some());
        is_complete && had && was.is_some() && parsed.section(name).is_none()
    };
    issue.experiment.extra.retain(|(name, _)| {
        let name = &visible(name);
        !(gone(name) && before.section(name) == ours.section(name))
    });
    both
}

/// A section of an issue, by the name that a file has for it.
fn section<'a>(issue: &'a Issue, name: &str) -> Option<&'a str> {
    let shown = visible(name);
    let mut sections = issue.experiment.extra.iter();
    let found = sections.find(|(known, _)| visible(known) == shown);
    found.map(|(_, text)| text.as_str())
}

/// A section as an editor meant it: where it was written with escapes, an escape stands for what it escaped.
fn as_meant(desk: &str, written: &str) -> String {
    if has_hidden(written) {
        hidden(desk)
    } else {
        desk.to_owned()
    }
}
