//! `experiment.md`: rendered from an issue, and read back section by section. What would not be seen is escaped.

use std::fmt::Write as _;

use crate::store::issue::{Experiment, Issue};
use crate::text::visible;

const ISSUE: &str = "Issue";
const CRITERIA: &str = "Success Criteria";
const REPRO: &str = "Repro";
const CHANGES: &str = "Changes";
const VALIDATION: &str = "Validation";
const RESULT: &str = "Result";

/// The file's text.
pub fn render(issue: &Issue) -> String {
    let experiment = &issue.experiment;
    let mut text = String::from("# Experiment\n");
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

/// The sections of a file: heading and text, in order. Headings inside of fenced code are text.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        match line.strip_prefix("## ") {
            Some(name) if !fenced => found.push((name.trim().to_owned(), String::new())),
            _ => {
                if let Some((_, body)) = found.last_mut() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    for (_, body) in &mut found {
        *body = body.trim_matches('\n').trim_end().to_owned();
    }
    found
}

/// What a file says of the experiment. A known heading that is missing is None.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The known sections, by [`FIELDS`].
    pub known: [Option<String>; 5],
    /// The others, in order; of two with one name the later counts.
    pub extra: Vec<(String, String)>,
}

/// The known sections' headings, in the order of [`Parsed::known`].
pub const FIELDS: [&str; 5] = [CRITERIA, REPRO, CHANGES, VALIDATION, RESULT];

/// Reads a file.
pub fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    for (name, body) in sections(text) {
        let at = FIELDS
            .iter()
            .position(|field| field.eq_ignore_ascii_case(&name));
        if let Some(slot) = at.and_then(|at| parsed.known.get_mut(at)) {
            *slot = Some(body);
        } else if !name.eq_ignore_ascii_case(ISSUE) && !name.is_empty() {
            parsed.extra.retain(|(known, _)| *known != name);
            parsed.extra.push((name, body));
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
}
