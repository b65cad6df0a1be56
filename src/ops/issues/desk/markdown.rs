//! `experiment.md`: rendered from an issue, and read back section by section. What would not be seen is escaped.

use std::fmt::Write as _;

use crate::store::issue::{Experiment, Issue};
use crate::text::visible;

const TITLE: &str = "# Experiment\n";
const ISSUE: &str = "Issue";
const CRITERIA: &str = "Success Criteria";
const REPRO: &str = "Repro";
const CHANGES: &str = "Changes";
const VALIDATION: &str = "Validation";
const RESULT: &str = "Result";
/// Where text comes that was written where no section takes it in.
const NOTES: &str = "Notes";

/// The file's text.
pub fn render(issue: &Issue) -> String {
    let experiment = &issue.experiment;
    let mut text = String::from(TITLE);
    let about = format!("{}\n\n{}", issue.id, issue.symptom);
    let known = [
        (ISSUE, about.as_str()),
        (CRITERIA, &experiment.success_criteria),
        (REPRO, &experiment.repro),
        (CHANGES, &experiment.changes),
        (VALIDATION, &experiment.validation),
        (RESULT, &experiment.result),
    ];
    let extra = experiment
        .extra
        .iter()
        .map(|(name, body)| (name.as_str(), body.as_str()));
    for (name, body) in known.into_iter().chain(extra) {
        let _ = write!(text, "\n## {}\n", visible(name));
        let body = visible(body.trim_end());
        if !body.is_empty() {
            let _ = write!(text, "\n{body}\n");
        }
    }
    text
}

/// The sections of a file: heading and text, in order, after what stands before the first heading, without the title. Headings
/// inside of fenced code, and those without a name, are text.
fn sections(text: &str) -> (String, Vec<(String, String)>) {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut preamble = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        match line.strip_prefix("## ") {
            Some(name) if !fenced && !name.trim().is_empty() => {
                found.push((name.trim().to_owned(), String::new()));
            }
            _ => {
                let body = found.last_mut().map_or(&mut preamble, |(_, body)| body);
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    for (_, body) in &mut found {
        *body = trimmed(body);
    }
    let title = TITLE.trim_end();
    let rest = preamble.trim_start();
    let preamble = match rest.strip_prefix(title) {
        Some(rest) if rest.is_empty() || rest.starts_with('\n') => trimmed(rest),
        _ => trimmed(&preamble),
    };
    (preamble, found)
}

fn trimmed(body: &str) -> String {
    body.trim_matches('\n').trim_end().to_owned()
}

/// Adds a text to another one, as a paragraph of its own.
fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// What a file says of the experiment. A known heading that is missing is None.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The known sections, by [`FIELDS`].
    pub known: [Option<String>; 5],
    /// The others, in order.
    pub extra: Vec<(String, String)>,
    /// What stands before the first section.
    preamble: String,
    /// The section that is the issue's own.
    issue: String,
}

impl Parsed {
    /// Puts what was written where no section takes it in into one that does, so that nothing of it is lost: what stands before the
    /// first section, and what was added to the issue's own. `written`: the file as it was written.
    pub fn with_notes(mut self, written: &Self) -> Self {
        let mut notes = String::new();
        if self.preamble != written.preamble {
            append(&mut notes, &self.preamble);
        }
        if self.issue != written.issue {
            let added = self.issue.strip_prefix(&written.issue);
            append(&mut notes, &trimmed(added.unwrap_or(&self.issue)));
        }
        if !notes.is_empty() {
            self.add(NOTES, &notes);
        }
        self
    }

    /// Adds to a section of the others.
    fn add(&mut self, name: &str, body: &str) {
        match self.extra.iter_mut().find(|(known, _)| known == name) {
            Some((_, text)) => append(text, body),
            None => self.extra.push((name.to_owned(), body.to_owned())),
        }
    }
}

/// The known sections' headings, in the order of [`Parsed::known`].
pub const FIELDS: [&str; 5] = [CRITERIA, REPRO, CHANGES, VALIDATION, RESULT];

/// Reads a file.
pub fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let (preamble, found) = sections(text);
    parsed.preamble = preamble;
    // Of two with one name both count.
    for (name, body) in found {
        let at = FIELDS
            .iter()
            .position(|field| field.eq_ignore_ascii_case(&name));
        if let Some(slot) = at.and_then(|at| parsed.known.get_mut(at)) {
            append(slot.get_or_insert_default(), &body);
        } else if name.eq_ignore_ascii_case(ISSUE) {
            append(&mut parsed.issue, &body);
        } else {
            parsed.add(&name, &body);
        }
    }
    parsed
}

/// The experiment's own texts, in the order of [`FIELDS`].
pub fn fields(experiment: &mut Experiment) -> [&mut String; 5] {
    [
        &mut experiment.success_criteria,
        &mut experiment.repro,
        &mut experiment.changes,
        &mut experiment.validation,
        &mut experiment.result,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_in_any_order_and_case() {
        let text = "# Experiment\n\n## issue\nx\n\n## Result\n\ngood\n\nvery\n\n## Notes\nn\n## REPRO\n```\n## no heading\n```\n";
        let parsed = parse(text);
        let expected = [
            None,
            Some("```\n## no heading\n```".to_owned()),
            None,
            None,
            Some("good\n\nvery".to_owned()),
        ];
        assert_eq!(parsed.known, expected);
        assert_eq!(parsed.extra, [("Notes".to_owned(), "n".to_owned())]);
    }

    #[test]
    fn nothing_that_was_written_is_in_no_section() {
        let written = parse("# Experiment\n\n## Issue\n\ni_1\n\nslow\n\n## Repro\n");
        let edited = "# Experiment\nfirst\n\n## Issue\n\ni_1\n\nslow\nsecond\n\n## Repro\nthird\n## repro\nfourth\n## Mine\nfifth\n## \nsixth\n## Mine\nseventh\n";
        let parsed = parse(edited).with_notes(&written);
        let [_, repro, ..] = &parsed.known;
        assert_eq!(repro.as_deref(), Some("third\n\nfourth"));
        let expected = [
            ("Mine".to_owned(), "fifth\n## \nsixth\n\nseventh".to_owned()),
            ("Notes".to_owned(), "first\n\nsecond".to_owned()),
        ];
        assert_eq!(parsed.extra, expected);
        // A file without any heading, and one of which nothing was changed.
        let bare = parse("I found it\n").with_notes(&written);
        assert_eq!(bare.extra, [("Notes".to_owned(), "I found it".to_owned())]);
        assert_eq!(written.clone().with_notes(&written), written);
    }
}
