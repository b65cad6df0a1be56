//! `experiment.md`: rendered from an issue, and read back section by section. What would not be seen is escaped.
//!
//! Any text reads back as it was, but for blank lines around it: a line in a section that would be read as a heading, or would open
//! fenced code that nothing in the section closes, is written with a backslash before it, as Markdown has it. In fenced code only the
//! headings of the known sections are, for those who read older versions.
//!
//! In fenced code that somebody types no line is a heading, with one exception: a known heading that stands nowhere else. It is the
//! section's own then, before which somebody forgot to close a fence, and that fence is none.

use std::fmt::Write as _;
use std::ops::Range;

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
        let body = escaped(&visible(body.trim_end()));
        if !body.is_empty() {
            let _ = write!(text, "\n{body}\n");
        }
    }
    text
}

/// The name in a heading of a section.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("## ")?.trim();
    (!name.is_empty()).then_some(name)
}

fn is_known(name: &str) -> bool {
    let mut known = FIELDS.iter().chain([&ISSUE]);
    known.any(|known| known.eq_ignore_ascii_case(name))
}

/// What opens fenced code: this many backticks or tildes, at least three.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|ch| ch == self.mark)
    }
}

/// Which lines are fenced code, its first and last line too. What nothing closes is none, nor is what `is_none`, which is given the lines
/// that are known to be fenced so far, and which lines it would be.
fn fenced(lines: &[&str], is_none: impl Fn(&[bool], Range<usize>) -> bool) -> Vec<bool> {
    let mut found = vec![false; lines.len()];
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let after = at + 1;
        let closed = Fence::opened_by(line).and_then(|fence| {
            let mut rest = lines[after..].iter();
            let end = after + rest.position(|line| fence.is_closed_by(line))? + 1;
            (!is_none(&found, at..end)).then_some(end)
        });
        if let Some(end) = closed {
            found[at..end].fill(true);
        }
        at = closed.unwrap_or(after);
    }
    found
}

/// Whether some lines have a known heading that stands nowhere else in the file, but for the lines before them that are fenced.
fn has_only_heading(lines: &[&str], fenced: &[bool], some: Range<usize>) -> bool {
    fn known<'a>(line: &&'a str) -> Option<&'a str> {
        heading(line).filter(|name| is_known(name))
    }
    lines[some.clone()].iter().filter_map(known).any(|name| {
        let is_same =
            |line: &&str| known(line).is_some_and(|other| other.eq_ignore_ascii_case(name));
        let before = lines[..some.start].iter().zip(fenced);
        let mut before = before.filter(|(_, is_fenced)| !**is_fenced);
        !before.any(|(line, _)| is_same(line)) && !lines[some.end..].iter().any(is_same)
    })
}

/// Where a backslash stands in a line, or has to, that is not to be read as a heading or as what opens a fence.
fn escape_place(line: &str, is_fenced: bool) -> Option<usize> {
    let name = heading(line.trim_start_matches('\\'));
    if name.is_some_and(|name| !is_fenced || is_known(name)) {
        return Some(0);
    }
    let indented = line.trim_start();
    let bare = indented.trim_start_matches('\\');
    let opens =
        !is_fenced && !bare.starts_with(char::is_whitespace) && Fence::opened_by(bare).is_some();
    opens.then_some(line.len() - indented.len())
}

/// A section's text as it stands in the file.
fn escaped(body: &str) -> String {
    let lines: Vec<&str> = body.split('\n').collect();
    let fenced = fenced(&lines, |_, _| false);
    let escape = |(line, is_fenced): (&&str, &bool)| match escape_place(line, *is_fenced) {
        Some(at) => [&line[..at], "\\", &line[at..]].concat(),
        None => (*line).to_owned(),
    };
    let lines: Vec<String> = lines.iter().zip(&fenced).map(escape).collect();
    lines.join("\n")
}

/// A line without the backslash that [`escaped`] puts before it.
fn unescaped(line: &str, is_fenced: bool) -> String {
    match escape_place(line, is_fenced) {
        Some(at) if line[at..].starts_with('\\') => [&line[..at], &line[at + 1..]].concat(),
        _ => line.to_owned(),
    }
}

/// The sections of a file: heading and text, in order, after what stands before the first heading, without the title. Headings
/// inside of fenced code, and those without a name, are text.
fn sections(text: &str) -> (String, Vec<(String, String)>) {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut preamble = String::new();
    let lines: Vec<&str> = text.lines().collect();
    let fenced = fenced(&lines, |fenced, some| {
        has_only_heading(&lines, fenced, some)
    });
    for (line, is_fenced) in lines.into_iter().zip(fenced) {
        match heading(line) {
            Some(name) if !is_fenced => found.push((name.to_owned(), String::new())),
            _ => {
                let body = found.last_mut().map_or(&mut preamble, |(_, body)| body);
                body.push_str(&unescaped(line, is_fenced));
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
    /// Whether the file has a heading above the sections.
    has_title: bool,
    /// What stands before the first section.
    preamble: String,
    /// The section that is the issue's own.
    issue: String,
}

impl Parsed {
    /// Whether it has what every file of ours begins with. One that was emptied or torn has not.
    pub fn is_whole(&self) -> bool {
        self.has_title && (self.known.iter().any(Option::is_some) || !self.issue.is_empty())
    }

    /// The headings under which the file as it was written has a text, and which this one lacks. One that has another name now is not lost.
    pub fn lost(&self, written: &Self) -> Vec<String> {
        let pairs = FIELDS.iter().zip(self.known.iter().zip(&written.known));
        let known = pairs.filter_map(|(name, (here, written))| {
            let had_text = written.as_ref().is_some_and(|text| !text.is_empty());
            (had_text && here.is_none()).then_some(*name)
        });
        let others = written.extra.iter().filter(|(name, text)| {
            let is_here = |(here, body): &(String, String)| here == name || body == text;
            let is_here = self.extra.iter().any(is_here);
            !text.is_empty() && !is_here
        });
        let names = known.chain(others.map(|(name, _)| name.as_str()));
        names.map(str::to_owned).collect()
    }

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

    /// One of the others.
    pub fn section(&self, name: &str) -> Option<&str> {
        let found = self.extra.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str())
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
    let mut above = text.lines().take_while(|line| heading(line).is_none());
    parsed.has_title = above.any(|line| line.starts_with("# "));
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

/// One of them.
pub fn field(experiment: &Experiment, at: usize) -> String {
    let mut experiment = experiment.clone();
    let slot = fields(&mut experiment).into_iter().nth(at);
    slot.map(std::mem::take).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::id::{IssueId, SnapshotId};

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

    fn written(symptom: &str, known: &[String], extra: &[(String, String)]) -> Issue {
        let id = IssueId::parse("i_20260228_153012_ab12cd").expect("an id");
        let snapshot = SnapshotId::parse("s_20260228_153000_000001").expect("an id");
        let mut issue = Issue::new(id, snapshot, "2026-02-28T15:30:12Z".to_owned());
        symptom.clone_into(&mut issue.symptom);
        for (slot, text) in fields(&mut issue.experiment).into_iter().zip(known) {
            slot.clone_from(text);
        }
        issue.experiment.extra = extra.to_vec();
        issue
    }

    #[test]
    fn a_fence_that_nothing_closes_ends_with_its_section() {
        let open = "run this:\n```sh\nmake test".to_owned();
        let known = ["c", &open, "changed", "```\n## code\n## Result\n```", "R"].map(str::to_owned);
        let text = render(&written("s", &known, &[]));
        assert!(
            text.contains("\n\\```sh\n") && text.contains("\n## code\n\\## Result\n"),
            "{text}"
        );
        let [_, repro, changes, validation, result] =
            parse(&text).known.map(Option::unwrap_or_default);
        assert_eq!([repro, changes, validation, result], known[1..]);
        // Somebody forgot to close it, in a file without escapes.
        let edited = text
            .replace("\\```sh", "```sh")
            .replace("changed", "changed more");
        let parsed = parse(&edited);
        assert_eq!(parsed.known[1].as_ref(), Some(&open));
        assert_eq!(parsed.known[2].as_deref(), Some("changed more"));
        assert_eq!(parsed.known[3].as_ref(), Some(&known[3]));
    }

    #[test]
    fn a_fence_may_hold_headings_that_stand_elsewhere_too() {
        let code = "run this:\n\n```sh\n## Validation of the input\n## Result\nmake\n~~~\n````\n\nand see it fail";
        let known = ["c", "", "", "ran the tests", "R"].map(str::to_owned);
        let extra = [("Mine".to_owned(), "m".to_owned())];
        let text = render(&written("s", &known, &extra));
        let parsed = parse(&text.replace("## Repro\n", &format!("## Repro\n\n{code}\n")));
        let expected = ["c", code, "", "ran the tests", "R"].map(|text| Some(text.to_owned()));
        assert_eq!(parsed.known, expected);
        assert_eq!(parsed.extra, extra);
        // Never closed, with another section's fence in the way.
        let open = "~~~\n## Result\nmake";
        let text = text.replace("## Repro\n", &format!("## Repro\n\n{open}\n"));
        let parsed = parse(&text.replace("ran the tests", "~~~\nran\n~~~"));
        let expected = ["c", "~~~", "", "~~~\nran\n~~~", "make\n\nR"];
        assert_eq!(parsed.known, expected.map(|text| Some(text.to_owned())));
        assert_eq!(parsed.extra, extra);
    }

    #[test]
    fn what_was_emptied_or_torn_is_not_whole() {
        let text = render(&written(
            "s",
            &["c", "", "", "", ""].map(str::to_owned),
            &[],
        ));
        assert!(parse(&text).is_whole());
        assert!(parse(&format!("mine\n{text}")).is_whole());
        let (title, rest) = text.split_once('\n').expect("lines");
        for torn in ["", "\n", title, rest, "I found it\n", &"\0".repeat(99)] {
            assert!(!parse(torn).is_whole(), "{torn}");
        }
    }

    /// Lines that are read as something else than text, or look so.
    const LINE: &str = "( {0,4}|\t|\\\\{1,2}| \\\\)(`{2,4}|~{2,4}|## |##|# |)(sh|Result|result |repro|Mine|`| |~~~|\\\\|)";

    proptest! {
        #[test]
        fn what_is_rendered_reads_back_as_it_was(
            texts in proptest::collection::vec(proptest::collection::vec(LINE, 0..8), 8),
        ) {
            let texts: Vec<String> = texts.iter().map(|lines| lines.join("\n")).collect();
            let extra = [("Mine".to_owned(), texts[5].clone()), ("Also".to_owned(), texts[6].clone())];
            let issue = written(&texts[7], &texts[..5], &extra);
            let text = render(&issue);
            let parsed = parse(&text);
            for (found, text) in parsed.known.iter().zip(&texts) {
                prop_assert_eq!(found.as_ref(), Some(&trimmed(text)));
            }
            let extra = extra.map(|(name, text)| (name, trimmed(&text)));
            prop_assert_eq!(&parsed.extra, &extra);
            prop_assert_eq!(&parsed.preamble, "");
            prop_assert_eq!(&parsed.issue, &trimmed(&format!("{}\n\n{}", issue.id, issue.symptom)));
        }
    }
}
