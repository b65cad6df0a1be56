//! Takes secrets out of text before it is kept or shown.
//!
//! Owns the table of secret formats (`rules`), the general rules (named values, URLs, headers, key blocks, random
//! strings), and the marks: `***REDACTED:rule-id***` where a row of the table matched, `***REDACTED***` elsewhere. Only
//! the secret itself is replaced: names, quotes and hosts stay. Promises that redacting twice is redacting once, that
//! time is linear in the text, and that text stays UTF-8. Pure: reads no file, no environment; whoever knows exact values
//! (from `.env` files, say) hands them in. Leaves out personal data: names, addresses and phone numbers stay.

mod bare_keys;
mod bytes;
mod candidate;
mod chosen;
mod columns;
mod commands;
mod documented;
mod field_names;
mod fields;
mod finder;
mod gutter;
mod headers;
mod invisible;
mod json;
mod judge;
mod jwk;
mod keywords;
mod ordinary;
mod pem;
mod placeholder;
mod reader;
mod reference;
mod rules;
mod runs;
mod scan;
mod shape;
mod short;
mod span;
mod split_key;
mod syntax;
mod tables;
mod tokens;
mod unquoted;
mod urls;
mod values;
mod vendors;
mod words;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::{Range, RangeInclusive};

pub use bytes::redacted_bytes;
use invisible::Visible;
use span::{FoundBy, Span};
use split_key::SplitKey;
use unquoted::Unquoted;
use values::Values;

/// What stands in the place of a secret begins so.
pub const MARK: &str = "***REDACTED";

/// How often each rule replaced something, by the rule's id.
pub type Counts = BTreeMap<String, u64>;

/// A text without its secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text with marks in place of secrets.
    pub text: String,
    /// What was replaced; empty when the text is as it was.
    pub counts: Counts,
}

/// Finds and replaces secrets.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    values: Values,
}

/// A replacement may bring things together that were apart; this many passes settle every text seen so far.
const PASSES: usize = 6;

/// How many levels of quoting are undone: a line for a shell in a string of a record in a log.
const LEVELS: usize = 3;

/// How many bytes of a long text are read for its beginning, and how many more, again and again, until it is certain.
const WINDOW: usize = 16 * 1024;
const MARGINS: [usize; 2] = [8 * 1024, 16 * 1024];

impl Redactor {
    /// A redactor that knows the formats and the general rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// A redactor that also knows exact values, by name; those under harmless names, and words, are not taken.
    pub fn with_values(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            values: Values::new(values),
        }
    }

    /// Redacts plain text, in whatever syntax.
    pub fn text(&self, input: &str) -> Redacted {
        let mut tally = Tally::default();
        let text = self.redacted(input, &mut tally);
        Redacted {
            text: text.unwrap_or_else(|| input.to_owned()),
            counts: tally.counts,
        }
    }

    /// The text without its secrets, when there are any.
    fn redacted(&self, input: &str, tally: &mut Tally) -> Option<String> {
        let mut changed: Option<String> = None;
        for _ in 0..PASSES {
            let text = changed.as_deref().unwrap_or(input);
            let spans = span::merged(self.secrets(text));
            if spans.is_empty() {
                break;
            }
            tally.keep(text, &spans);
            changed = Some(span::replaced(text, &spans, &mut tally.counts));
        }
        changed
    }

    /// Every secret in a text, also with what is not seen inside.
    fn secrets(&self, text: &str) -> Vec<Span> {
        let mut spans = scan::secrets(text, &self.values);
        if let Some(visible) = Visible::new(text) {
            let found = scan::secrets(&visible.text, &self.values);
            spans.extend(found.into_iter().filter_map(|span| {
                Some(Span {
                    range: visible.place(&span.range)?,
                    ..span
                })
            }));
        }
        self.add_quoted(text, &mut spans);
        span::keep_marks(text, &mut spans);
        spans
    }

    /// Adds what a name, a command or a format tells where quotes are undone. What looks random looks so within quotes, too,
    /// but for what an escape stands in or at once before.
    fn add_quoted(&self, text: &str, spans: &mut Vec<Span>) {
        let mut levels: Vec<Unquoted> = Vec::new();
        while levels.len() < LEVELS {
            let outer = levels.last().map_or(text, |level| &level.text);
            let Some(level) = Unquoted::new(outer) else {
                break;
            };
            let found = scan::secrets(&level.text, &self.values);
            levels.push(level);
            let place = |range: Range<usize>| {
                let mut levels = levels.iter().rev();
                levels.try_fold(range, |range, level| level.place(&range))
            };
            let is_new = |found: &Span, range: &Range<usize>| {
                let before = range.start.checked_sub(1).map(|at| text.as_bytes()[at]);
                !scan::is_guess(found)
                    || found.range.len() < range.len()
                    || before.is_some_and(|byte| byte.is_ascii_alphanumeric())
            };
            spans.extend(found.into_iter().filter_map(|found| {
                let range = place(found.range.clone())?;
                let found_by = found.found_by;
                is_new(&found, &range).then_some(Span { range, found_by })
            }));
        }
    }

    /// The numbers of the lines, from 1 on, over which secrets go that are longer than a line. Who has only some of the
    /// lines cannot tell them.
    pub fn lines_of_long_secrets(&self, input: &str) -> Vec<RangeInclusive<usize>> {
        let mut lines = Vec::new();
        let (mut at, mut number) = (0, 1);
        let mut line_of = |to: usize| {
            number += input[at..to].matches('\n').count();
            at = to;
            number
        };
        for span in span::merged(self.secrets(input)) {
            let start = span::floor(input, span.range.start);
            let end = span::ceil(input, span.range.end);
            let both = line_of(start)..=line_of(end);
            if both.start() < both.end() {
                lines.push(both);
            }
        }
        lines
    }

    /// The first characters of a text without its secrets. However long the text is, no more is read than that needs, and
    /// no secret is cut in two.
    pub fn beginning(&self, input: &str, characters: usize) -> String {
        let read = |window: usize| self.text(&input[..span::floor(input, window)]).text;
        let mut window = WINDOW.max(characters.saturating_mul(8));
        let mut text = read(window);
        let mut certain = if window < input.len() { 0 } else { text.len() };
        for margin in MARGINS {
            if window >= input.len() || text[..certain].chars().nth(characters).is_some() {
                break;
            }
            window = window.saturating_add(margin);
            let longer = read(window);
            // What stands at the end may be the half of a secret: only what more of the text does not change counts.
            certain = if window < input.len() {
                let both = text.bytes().zip(longer.bytes());
                let same = both.take_while(|(one, other)| one == other).count();
                span::floor(&longer, same)
            } else {
                longer.len()
            };
            text = longer;
        }
        text[..certain].chars().take(characters).collect()
    }

    /// Redacts every string of a JSON value in place, and values under names that say secret.
    pub fn json(&self, value: &mut serde_json::Value) -> Counts {
        let mut tally = Tally::keeping();
        self.value(value, &mut tally);
        json::replace_known(value, &mut tally);
        tally.counts
    }

    /// Redacts the words of a command, each by itself and as what the words before it say.
    pub fn words(&self, words: Vec<String>) -> (Vec<String>, Counts) {
        let mut list = serde_json::Value::from(words);
        let counts = self.json(&mut list);
        let items = list.as_array_mut().map(std::mem::take).unwrap_or_default();
        let words = items.iter().filter_map(serde_json::Value::as_str);
        (words.map(str::to_owned).collect(), counts)
    }

    /// Redacts JSON lines: strings are decoded, redacted and encoded again, all else stays byte for byte; lines that are
    /// no JSON are redacted as text.
    pub fn json_lines(&self, input: &str) -> Redacted {
        json::lines(self, input)
    }
}

/// What was replaced, and, where one text has many parts, the secrets themselves, for their places in other parts.
#[derive(Debug, Default)]
struct Tally {
    counts: Counts,
    found: Option<HashMap<String, FoundBy>>,
    split_key: SplitKey,
    /// Whether the last type that was named is of passwords that were drawn by lot.
    generated: bool,
}

impl Tally {
    fn keeping() -> Self {
        Self {
            found: Some(HashMap::new()),
            ..Self::default()
        }
    }

    fn add(&mut self, rule: &str) {
        *self.counts.entry(rule.to_owned()).or_default() += 1;
    }

    fn keep(&mut self, text: &str, spans: &[Span]) {
        for span in spans {
            if let Some(value) = text.get(span.range.clone()) {
                self.keep_one(value, span.found_by);
            }
        }
    }

    fn keep_one(&mut self, value: &str, found_by: FoundBy) {
        if let Some(found) = &mut self.found
            && scan::is_distinctive(value, found_by)
        {
            found.insert(value.to_owned(), found_by);
        }
    }

    /// The text without what was found in other parts, when it stands in this one.
    fn replace_known(&mut self, text: &str) -> Option<String> {
        let found = self.found.as_ref().filter(|found| !found.is_empty())?;
        let spans = scan::elsewhere(text, |run| found.get(run).copied());
        (!spans.is_empty()).then(|| span::replaced(text, &spans, &mut self.counts))
    }
}
