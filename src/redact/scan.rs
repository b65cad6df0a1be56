//! One pass over a text: finds every secret by keyword, by name, by form and by look.
//!
//! Linear: each keyword costs a bounded window, and no window of a row is searched more than a few times.

use std::collections::HashMap;
use std::ops::Range;

use super::commands::{self, PROGRAMS};
use super::field_names::{NameClass, names_a_public_value};
use super::fields::secret_after;
use super::judge::{Trust, is_like, is_secret};
use super::keywords::{KEYWORDS, Start, each_in};
use super::pem::{Block, Blocks};
use super::reference::is_sequence;
use super::rules::{Form, ROWS, Row, Rule};
use super::runs::{Runs, alphanumeric_or, run_at_start};
use super::shape::{entropy_of, wordiness};
use super::span::{FoundBy, Span, ceil, floor, merged};
use super::syntax::name_around;
use super::tables::Tables;
use super::values::Values;
use super::words::{CUT_PREFIXES, WORD_PREFIXES};
use super::{bare_keys, documented, headers, jwk, tokens, urls};

/// The general rules that do not override a public block, and those of them that are guesses.
const NAMED: &str = "key-value";
const LOOKS: &str = tokens::ENTROPY;
const HINTED: &str = tokens::VENDOR;
pub(super) const PASSWORD: &str = "password";

/// A secret of a row with a prefix that is longer than this is read once.
const LONG: usize = 2048;
/// How much of a token that was cut off tells that it is one, and how much of that stands together.
const CUT_MIN: usize = 12;
const CUT_PART: usize = 10;
/// How far after its keyword a row's value may end.
const NEAR_REACH: usize = 320;
/// How far after its keyword a row's value may begin.
const NEAR_GAP: usize = 80;
/// The window of a row whose pattern holds its keyword.
const AROUND_BEFORE: usize = 160;
const AROUND_AFTER: usize = 700;

/// Every secret in a text, unsorted.
pub(super) fn secrets(text: &str, values: &Values) -> Vec<Span> {
    let mut scan = Scan::new(text);
    each_in(text, |word, hit| scan.keyword(word, hit));
    let public = std::mem::take(&mut scan.public);
    let look_alikes = std::mem::take(&mut scan.look_alikes);
    let is_guessed = |span: &Span| !is_within(&look_alikes, &span.range);
    let hinted = std::mem::take(&mut scan.hinted);
    scan.spans.extend(hinted.into_iter().filter(is_guessed));
    // What the rules found goes first: the look at every run passes over it, and needs it in order.
    let known = merged(std::mem::take(&mut scan.spans));
    tokens::each(text, &known, |range, name| {
        scan.push(range, FoundBy::General(name));
    });
    scan.spans.extend(known);
    scan.spans.retain(|span| match span.found_by {
        FoundBy::General(LOOKS | HINTED) => !is_within(&public, &span.range) && is_guessed(span),
        FoundBy::General(NAMED) | FoundBy::Guess(NAMED) => !is_within(&public, &span.range),
        _ => true,
    });
    for range in values.find(text) {
        scan.push(range, FoundBy::Rule("known-value"));
    }
    add_repeats(text, &mut scan.spans);
    // Last, so that a printed example stays whoever found it.
    let examples = documented::near(text, scan.spans.iter().map(|span| &span.range));
    scan.spans
        .retain(|span| !documented::is_in(&examples, &span.range));
    scan.spans
}

/// What is found under a name of a class counts as this.
fn rule_of(class: NameClass) -> &'static str {
    if class == NameClass::Password {
        PASSWORD
    } else {
        NAMED
    }
}

/// Whether a range meets one of these places, which are in order.
fn is_within(places: &[Range<usize>], range: &Range<usize>) -> bool {
    let at = places.partition_point(|place| place.end <= range.start);
    let place = places.get(at);
    place.is_some_and(|place| place.start < range.end)
}

/// Adds the other places of what was found: a secret is one wherever it stands.
fn add_repeats(text: &str, spans: &mut Vec<Span>) {
    let known: HashMap<&str, FoundBy> = spans
        .iter()
        .filter_map(|span| Some((text.get(span.range.clone())?, span.found_by)))
        .filter(|(value, found_by)| is_distinctive(value, *found_by))
        .collect();
    if !known.is_empty() {
        spans.extend(elsewhere(text, |run| known.get(run).copied()));
    }
}

/// Whether a secret is long, odd and sure enough to be known again; a guess is not.
pub(super) fn is_distinctive(value: &str, found_by: FoundBy) -> bool {
    !matches!(
        found_by,
        FoundBy::General(LOOKS | HINTED) | FoundBy::Guess(_)
    ) && (12..=512).contains(&value.len())
        && value.bytes().filter(u8::is_ascii_digit).count() >= 2
}

/// Whether a secret was told by its look, and by nothing beside it.
pub(super) fn is_guess(span: &Span) -> bool {
    matches!(span.found_by, FoundBy::General(LOOKS | HINTED))
}

/// The places of secrets that were found before.
pub(super) fn elsewhere(text: &str, known: impl Fn(&str) -> Option<FoundBy>) -> Vec<Span> {
    let mut spans = Vec::new();
    tokens::runs(text, |range| {
        if let Some(found_by) = text.get(range.clone()).and_then(&known) {
            spans.push(Span { range, found_by });
        }
    });
    spans
}

/// Adds a place behind those that are there.
fn add_in_order(places: &mut Vec<Range<usize>>, range: Range<usize>) {
    let start = places
        .last()
        .map_or(range.start, |last| last.end.max(range.start));
    if start < range.end {
        places.push(start..range.end);
    }
}

struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    spans: Vec<Span>,
    /// What stands under names that may hold a secret and may not.
    hinted: Vec<Span>,
    /// Public blocks, which no name makes a secret; in order of place.
    public: Vec<Range<usize>>,
    /// What is too short for the format that its prefix is of: no guess makes a secret of it; in order of place.
    look_alikes: Vec<Range<usize>>,
    blocks: Blocks,
    /// The end of the last name that was read.
    name_end: usize,
    tables: Tables<'a>,
    /// The end of the last password that a name told of.
    password_end: usize,
    /// How far each row of the third form has searched, and each of the first has read what is long.
    searched: HashMap<usize, usize>,
    /// The end of the last header of credentials or cookies.
    header_end: usize,
    /// The end of the last private key.
    body_end: usize,
    /// The end of the last JSON Web Key.
    web_key_end: usize,
    runs: Runs,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            spans: Vec::new(),
            hinted: Vec::new(),
            public: Vec::new(),
            look_alikes: Vec::new(),
            blocks: Blocks::default(),
            name_end: 0,
            tables: Tables::new(text),
            password_end: 0,
            searched: HashMap::new(),
            header_end: 0,
            body_end: 0,
            web_key_end: 0,
            runs: Runs::default(),
        }
    }

    fn push(&mut self, range: Range<usize>, found_by: FoundBy) {
        if !self.bytes[range.clone()].starts_with(b"***REDACTED") {
            self.spans.push(Span { range, found_by });
        }
    }

    fn keyword(&mut self, word: usize, hit: Range<usize>) {
        match KEYWORDS.starts[word] {
            Start::Row(number) => self.row(number, KEYWORDS.words[word], hit),
            Start::Name => self.name(hit),
            Start::Url => {
                if let Some(range) = urls::userinfo_secret(self.text, hit.end) {
                    self.push(range, FoundBy::General("url-credentials"));
                }
            }
            Start::Block => match self.blocks.at(self.text, hit.start) {
                Some(Block::Private(range)) => {
                    self.body_end = range.end;
                    self.push(range, FoundBy::Rule("private-key"));
                }
                Some(Block::Public(range)) => add_in_order(&mut self.public, range),
                None => {}
            },
            Start::Scheme => {
                if let Some(range) = headers::after_scheme(self.text, hit.end, &self.text[hit]) {
                    self.push(range, FoundBy::General("auth-header"));
                }
            }
            Start::Program(number) => {
                let found = PROGRAMS
                    .get(number)
                    .and_then(|program| commands::password(self.text, &hit, program));
                if let Some(range) = found {
                    self.push(range, FoundBy::General(PASSWORD));
                }
            }
            Start::CookieFlag => self.cookie_flag(&hit),
            Start::Body => self.body(KEYWORDS.words[word], &hit, bare_keys::headless),
            Start::Wrapped => {
                self.body(KEYWORDS.words[word], &hit, |text, hit| {
                    bare_keys::wrapped(text, hit.start)
                });
            }
            Start::End => {
                self.body("", &hit, |text, hit| bare_keys::torn(text, hit.start));
            }
            Start::BareEnd => {
                self.body("", &hit, |text, hit| {
                    bare_keys::lines_before(text, hit.start)
                });
            }
            Start::Lines(rule) => {
                if let Some(range) = bare_keys::lines_after(self.text, &hit) {
                    self.body_end = range.end;
                    self.push(range, FoundBy::Rule(rule));
                }
            }
            Start::WebKey => {
                let (parts, end) = jwk::private_parts(self.text, &hit, self.web_key_end);
                self.web_key_end = end;
                for part in parts {
                    self.push(part, FoundBy::Rule(jwk::RULE));
                }
            }
            Start::Authorization => self.authorization(&hit),
            Start::Cookie => self.cookies(&hit),
        }
    }

    /// The inside of a private key, unless it was found. Base64 has its cases, which the keyword finder does not know.
    fn body(
        &mut self,
        word: &str,
        hit: &Range<usize>,
        find: impl Fn(&str, &Range<usize>) -> Option<Range<usize>>,
    ) {
        let in_case = word.is_empty() || word.as_bytes() == &self.bytes[hit.clone()];
        if !in_case || hit.start < self.body_end {
            return;
        }
        if let Some(range) = find(self.text, hit) {
            self.body_end = range.end;
            self.push(range, FoundBy::Rule("private-key"));
        }
    }

    fn authorization(&mut self, hit: &Range<usize>) {
        if hit.start < self.header_end {
            return;
        }
        let (line, found) = headers::authorization(self.text, hit.end);
        self.header_end = line;
        if let Some(range) = found {
            self.push(range, FoundBy::General("auth-header"));
        }
    }

    fn cookies(&mut self, hit: &Range<usize>) {
        if hit.start < self.header_end {
            return;
        }
        let (line, found) = headers::cookies(self.text, hit);
        self.header_end = line;
        self.push_cookies(found);
    }

    fn cookie_flag(&mut self, hit: &Range<usize>) {
        if let Some(value) = commands::cookies(self.text, hit) {
            self.push_cookies(headers::cookies_on(self.text, &value, false));
        }
    }

    fn push_cookies(&mut self, found: Vec<Range<usize>>) {
        for range in found {
            self.push(range, FoundBy::General("cookie"));
        }
    }

    fn name(&mut self, hit: Range<usize>) {
        if hit.start < self.name_end {
            return;
        }
        let Some(name) = name_around(self.bytes, hit) else {
            return;
        };
        self.name_end = name.end;
        for (range, class) in self.tables.below(&name) {
            self.push(range, FoundBy::General(rule_of(class)));
        }
        // A value within a password goes with it.
        let known = if name.start < self.password_end {
            self.password_end
        } else {
            0
        };
        let Some(named) = secret_after(self.text, name, known, &self.runs) else {
            return;
        };
        let found_by = named.found_by(rule_of(named.class));
        let range = named.range;
        match named.class {
            NameClass::Weak => self.hinted.push(Span { range, found_by }),
            NameClass::Password => {
                self.password_end = range.end;
                self.push(range, found_by);
            }
            NameClass::Strong | NameClass::None => self.push(range, found_by),
        }
    }

    fn row(&mut self, number: usize, word: &str, hit: Range<usize>) {
        let Some(rule) = ROWS.get(number).map(Row::rule) else {
            return;
        };
        match rule.form {
            Form::Prefix => self.prefix(number, rule, word, &hit),
            Form::Near => self.near(rule, &hit),
            Form::Around => self.around(number, rule, &hit),
        }
    }

    fn prefix(&mut self, number: usize, rule: &'static Rule, word: &str, hit: &Range<usize>) {
        // Case matters here, though the keyword finder does not know.
        if word.as_bytes() != &self.bytes[hit.clone()] || !self.begins_here(hit.start, hit.len()) {
            return;
        }
        if self
            .searched
            .get(&number)
            .is_some_and(|end| hit.start < *end)
        {
            return;
        }
        // Anchored at its beginning, and so read as far as it goes and not to the end of the text.
        let secret = rule.find(self.bytes, hit.start..self.bytes.len());
        // What is read far is read once, however many keywords stand in it: so the time stays linear.
        if let Some(secret) = secret.as_ref().filter(|secret| secret.len() > LONG) {
            self.searched.insert(number, secret.end);
        }
        let secret = secret.filter(|secret| self.ends_here(secret.end));
        let random = secret.as_ref().is_some_and(|secret| {
            self.is_random(rule, secret) && (hit.len() >= 4 || self.is_no_word(secret))
        });
        if let Some(secret) = secret.filter(|_| random) {
            self.push(secret, FoundBy::Rule(rule.id));
            return;
        }
        // The prefix of a format, and too short for it.
        let token = hit.start..hit.end + self.token_length(hit.end, rule.length);
        if token.len() < rule.length && CUT_PREFIXES.has(word) && self.is_cut(hit.end..token.end) {
            self.push(token, FoundBy::Rule(rule.id));
        } else if hit.len() >= 4 && token.len() < rule.length && !WORD_PREFIXES.has(word) {
            add_in_order(&mut self.look_alikes, token);
        }
    }

    /// Whether what stands behind a prefix is the beginning of a token, as where a tool cuts a line.
    fn is_cut(&self, beginning: Range<usize>) -> bool {
        let beginning = self.text.get(beginning).unwrap_or_default();
        let mut parts = beginning.split(['-', '_']);
        // Names of models and versions have short parts.
        beginning.len() >= CUT_MIN
            && parts.any(|part| part.len() >= CUT_PART)
            && !is_sequence(beginning)
            && is_secret(beginning, Trust::Hinted)
    }

    fn token_length(&self, from: usize, most: usize) -> usize {
        run_at_start(&self.bytes[from..], most, alphanumeric_or(b"_-"))
    }

    fn near(&mut self, rule: &'static Rule, hit: &Range<usize>) {
        let mut from = hit.end;
        let limit = floor(self.text, hit.end + NEAR_REACH);
        // A value that is not the secret may stand in between: a URL, an account.
        for _ in 0..3 {
            let Some(secret) = rule.find(self.bytes, from..limit) else {
                return;
            };
            if secret.start > hit.end + NEAR_GAP {
                return;
            }
            let apart = self.is_apart(&secret) && self.is_set_off(hit.end, secret.start);
            if apart && self.is_random(rule, &secret) {
                self.push(secret, FoundBy::Rule(rule.id));
                return;
            }
            from = ceil(self.text, secret.end.max(from + 1));
        }
    }

    fn around(&mut self, number: usize, rule: &'static Rule, hit: &Range<usize>) {
        let searched = self.searched.get(&number).copied().unwrap_or_default();
        // The next window begins only when half of this one is passed, however dense a row's keywords stand: so the time stays linear.
        if hit.end + AROUND_AFTER / 2 <= searched {
            return;
        }
        let mut from = floor(self.text, hit.start.saturating_sub(AROUND_BEFORE));
        let limit = ceil(self.text, hit.end + AROUND_AFTER);
        self.searched.insert(number, limit);
        while let Some(secret) = rule.find(self.bytes, from..limit) {
            from = ceil(self.text, secret.end.max(from + 1));
            if self.is_random(rule, &secret) && self.ends_here(secret.end) {
                self.push(secret, FoundBy::Rule(rule.id));
            }
        }
    }

    fn is_random(&self, rule: &Rule, secret: &Range<usize>) -> bool {
        self.text.get(secret.clone()).is_some_and(|secret| {
            entropy_of(secret) >= rule.entropy
                && !super::placeholder::is_stand_in(secret)
                && is_like(secret, rule.looks)
        })
    }

    /// Two letters begin many words.
    fn is_no_word(&self, secret: &Range<usize>) -> bool {
        let bytes = &self.bytes[secret.clone()];
        self.text
            .get(secret.clone())
            .is_some_and(|secret| wordiness(secret) < 0.5)
            && (bytes.len() >= 20 || bytes.iter().any(u8::is_ascii_digit))
    }

    /// No word goes on into this place. An escape (`\n`, `%3D`) is no word.
    fn begins_here(&self, at: usize, keyword: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).map(|at| self.bytes[at]);
        let Some(last) = before(1) else {
            return true;
        };
        if b"_-".contains(&last) {
            return keyword >= 4;
        }
        !last.is_ascii_alphanumeric()
            || (b"nrt".contains(&last) && before(2) == Some(b'\\'))
            || (last.is_ascii_hexdigit() && before(3) == Some(b'%'))
    }

    fn ends_here(&self, at: usize) -> bool {
        self.bytes
            .get(at)
            .is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
    }

    fn is_apart(&self, secret: &Range<usize>) -> bool {
        let before = secret.start.checked_sub(1).map(|at| self.bytes[at]);
        let after = self.bytes.get(secret.end);
        !before.is_some_and(alphanumeric_or(b"_-/@#."))
            && after.is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"_-@(".contains(byte))
    }

    /// Between keyword and value stands a sign that sets a value off, and no name of something public.
    fn is_set_off(&self, from: usize, to: usize) -> bool {
        let gap = &self.bytes[from..to];
        let Some(gap_text) = self.text.get(from..to) else {
            return false;
        };
        let name = gap_text
            .trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
            .rsplit(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)))
            .next()
            .unwrap_or_default();
        gap.iter().any(|byte| b"=:>(,\"'`|".contains(byte))
            && gap_text.matches('\n').count() <= 2
            && !names_a_public_value(name)
    }
}
