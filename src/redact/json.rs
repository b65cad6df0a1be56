//! JSON: every string is decoded, redacted, and encoded again; everything else stays byte for byte.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::commands::password_among;
use super::field_names::LONGEST;
use super::fields::{is_password_name, is_secret_under};
use super::headers::is_secret_header;
use super::jwk;
use super::runs::{alphanumeric_or, run_at_start};
use super::scan::PASSWORD;
use super::span::FoundBy;
use super::split_key::{self, Place};
use super::{Redacted, Redactor, Tally};
use crate::text::foreign_json;

/// The mark for a value that its name gave away.
const MARK: &str = "***REDACTED***";
const BY_NAME: &str = "key-value";

/// How many words of a command are looked at, and how many bytes of a list in JSON for them.
const WORDS: usize = 64;
const WORDS_REACH: usize = 4096;

/// The fields that say what an object speaks of, and those that hold what it says of that.
const NAME_FIELDS: [&str; 7] = [
    "name",
    "key",
    "Name",
    "Key",
    "variable",
    "ParameterKey",
    "parameterKey",
];
const VALUE_FIELDS: [&str; 6] = [
    "value",
    "Value",
    "default",
    "defaultValue",
    "ParameterValue",
    "parameterValue",
];

/// The names that speak of a value.
#[derive(Clone, Copy, Default)]
struct Names<'a> {
    /// That of its field, or what else stands directly before it.
    near: Option<&'a str>,
    /// Those of the array, or of the object with a field `value`, that it is in.
    over: &'a [String],
    /// Where it stands; none for what is a name itself.
    place: Option<Place>,
}

impl Names<'_> {
    /// No names speak of a whole document.
    fn of_document() -> Self {
        Self {
            place: Some(Place::default()),
            ..Self::default()
        }
    }

    fn any(self, says_so: impl Fn(&str) -> bool) -> bool {
        self.near.is_some_and(&says_so) || self.over.iter().any(|name| says_so(name))
    }

    /// All of them, for what is in the value.
    fn over(self) -> Vec<String> {
        let near = self.near.map(str::to_owned);
        self.over.iter().cloned().chain(near).collect()
    }
}

impl Redactor {
    /// Redacts every string of a value in place, names of fields too.
    pub(super) fn value(&self, value: &mut Value, tally: &mut Tally) {
        self.walk(value, Names::of_document(), tally);
    }

    fn walk(&self, value: &mut Value, names: Names<'_>, tally: &mut Tally) {
        match value {
            Value::String(text) => {
                if let Some(redacted) = self.string(text, names, tally) {
                    *text = redacted;
                }
            }
            Value::Number(number) => {
                if names.any(is_password_name) && number.to_string().len() >= 4 {
                    *value = Value::String(MARK.to_owned());
                    tally.add(BY_NAME);
                }
            }
            Value::Array(items) => {
                hide_password(items, tally);
                let over = names.over();
                let place = names.place.map(Place::item);
                let mut flag: Option<String> = None;
                for item in items {
                    let next = item
                        .as_str()
                        .filter(|text| is_flag(text))
                        .map(str::to_owned);
                    let names = Names {
                        near: flag.as_deref(),
                        over: &over,
                        place,
                    };
                    self.walk(item, names, tally);
                    flag = next;
                }
            }
            Value::Object(fields) => {
                let over = names.over();
                let place = names.place;
                let named = name_in_object(fields);
                let web_key = fields.contains_key(jwk::KEYWORD);
                for (field, value) in fields.iter_mut() {
                    if web_key
                        && value
                            .as_str()
                            .is_some_and(|text| jwk::is_private_part(field, text))
                    {
                        *value = Value::String(FoundBy::Rule(jwk::RULE).mark());
                        tally.add(jwk::RULE);
                    }
                    let mut names = names_in_object(field, named.as_deref(), &over);
                    names.place = place.map(|place| place_in_object(place, field));
                    self.walk(value, names, tally);
                }
                self.rename(fields, tally);
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn rename(&self, fields: &mut serde_json::Map<String, Value>, tally: &mut Tally) {
        rename(fields, |name| self.string(name, Names::default(), tally));
    }

    /// The redacted form of one decoded string, if it differs.
    fn string(&self, text: &str, names: Names<'_>, tally: &mut Tally) -> Option<String> {
        if text.len() < 4 {
            return None;
        }
        let without_key = names
            .place
            .and_then(|place| tally.split_key.without_lines(text, place));
        if without_key.is_some() {
            tally.add(split_key::RULE);
        }
        let text = without_key.as_deref().unwrap_or(text);
        // What Terraform has made is called so in a field before.
        if names.near == Some("type") {
            tally.generated = text == "random_password";
        }
        let generated = tally.generated && names.near == Some("result");
        let by_name = generated && is_secret_under("password", text)
            || names.any(|name| is_secret_under(name, text) || is_secret_header(name, text));
        // The counts inside a value that goes whole do not matter.
        let mut inside = Tally::default();
        std::mem::swap(&mut inside.found, &mut tally.found);
        let redacted = self.redacted(text, &mut inside);
        std::mem::swap(&mut inside.found, &mut tally.found);
        if by_name && !redacted.as_deref().is_some_and(covers) {
            tally.add(BY_NAME);
            tally.keep_one(text, FoundBy::General(BY_NAME));
            return Some(MARK.to_owned());
        }
        for (rule, count) in inside.counts {
            *tally.counts.entry(rule).or_default() += count;
        }
        redacted.or(without_key)
    }

    /// Redacts one line; `None` when it is no JSON document.
    pub(super) fn json_line(&self, line: &str, out: &mut String, tally: &mut Tally) -> Option<()> {
        // A bare number or word is JSON, too, but has no strings to decode.
        if !line.trim_start().starts_with(['{', '[', '"']) {
            return None;
        }
        // Valid as a whole first: the walk that follows relies on it, and half a document must not be taken apart.
        serde_json::from_str::<IgnoredAny>(line).ok()?;
        Splicer {
            redactor: self,
            web_key_parts: jwk::all(line),
            line,
            copied: 0,
            out,
            tally,
        }
        .run();
        Some(())
    }
}

/// Renames the fields for which there is a new name, keeping their order.
fn rename(
    fields: &mut serde_json::Map<String, Value>,
    mut new: impl FnMut(&str) -> Option<String>,
) {
    let names: Vec<Option<String>> = fields.keys().map(|name| new(name)).collect();
    if names.iter().all(Option::is_none) {
        return;
    }
    *fields = std::mem::take(fields)
        .into_iter()
        .zip(names)
        .map(|((name, value), new)| (new.unwrap_or(name), value))
        .collect();
}

/// Replaces the password in a command that is a list of its words: `["curl", "-u", "bob:…"]`.
fn hide_password(items: &mut [Value], tally: &mut Tally) {
    let first: Vec<&str> = items.iter().take(WORDS).map_while(Value::as_str).collect();
    let Some((number, range)) = password_among(&first) else {
        return;
    };
    if let Some(Value::String(word)) = items.get_mut(number) {
        *word = hidden(word, range, tally);
    }
}

/// A word with the mark in place of the password in it.
fn hidden(word: &str, range: Range<usize>, tally: &mut Tally) -> String {
    let password = word.get(range.clone()).unwrap_or_default();
    tally.add(PASSWORD);
    tally.keep_one(password, FoundBy::General(PASSWORD));
    let mut hidden = word.to_owned();
    hidden.replace_range(range, MARK);
    hidden
}

/// Replaces what was found in one string in all others.
pub(super) fn replace_known(value: &mut Value, tally: &mut Tally) {
    match value {
        Value::String(text) => {
            if let Some(redacted) = tally.replace_known(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_known(item, tally)),
        Value::Object(fields) => {
            fields
                .values_mut()
                .for_each(|value| replace_known(value, tally));
            rename(fields, |name| tally.replace_known(name));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a rule already replaced the whole.
fn covers(text: &str) -> bool {
    text.starts_with("***REDACTED") && text.ends_with("***") && text.matches("***").count() == 2
}

/// The name that an object speaks of: `{"name": "API_KEY", "value": "…"}`.
fn name_in_object(fields: &serde_json::Map<String, Value>) -> Option<String> {
    NAME_FIELDS
        .iter()
        .find_map(|field| fields.get(*field)?.as_str())
        .filter(|name| name.len() <= LONGEST)
        .map(str::to_owned)
}

/// The names that speak of the value of a field. What is called `value` speaks of what the object speaks of, or is called.
fn names_in_object<'a>(field: &'a str, named: Option<&'a str>, over: &'a [String]) -> Names<'a> {
    if is_value_field(field) {
        return Names {
            near: named.or(Some(field)),
            over,
            place: None,
        };
    }
    Names {
        near: Some(field),
        ..Names::default()
    }
}

/// Where the value of a field stands. What is too long for a name is none.
fn place_in_object(object: Place, field: &str) -> Place {
    let is_name = field.len() <= LONGEST;
    object.field(if is_name { field } else { "" })
}

fn is_value_field(name: &str) -> bool {
    VALUE_FIELDS.contains(&name)
}

/// `--token`, whose value is the next of the arguments.
fn is_flag(text: &str) -> bool {
    text.starts_with('-') && text.len() <= LONGEST && text.bytes().all(alphanumeric_or(b"-_."))
}

/// Where the walk through a line stands in an object or array.
struct Frame {
    object: bool,
    place: Place,
    /// The names that speak of all of it.
    over: Vec<String>,
    /// The name of the field whose value is being read.
    field: Option<String>,
    /// What the object speaks of; in an array, the flag before the item.
    named: Option<String>,
    /// The flag that the item of an array is.
    flag: Option<String>,
    /// Where the literal begins that holds the password of a command, and where in its string.
    password: Option<(usize, Range<usize>)>,
}

impl Frame {
    /// The names that speak of the value that comes next.
    fn names(&self) -> Names<'_> {
        let mut names = match self.field.as_deref() {
            Some(field) if self.object => names_in_object(field, self.named.as_deref(), &self.over),
            _ => Names {
                near: self.named.as_deref(),
                over: &self.over,
                place: None,
            },
        };
        names.place = Some(if self.object {
            place_in_object(self.place, self.field.as_deref().unwrap_or_default())
        } else {
            self.place.item()
        });
        names
    }
}

/// Copies a valid JSON document, replacing the literals of strings that change.
struct Splicer<'a> {
    redactor: &'a Redactor,
    /// The literals of the private parts of JSON Web Keys, without their quotes.
    web_key_parts: Vec<std::ops::Range<usize>>,
    line: &'a str,
    copied: usize,
    out: &'a mut String,
    tally: &'a mut Tally,
}

impl Splicer<'_> {
    fn run(mut self) {
        let bytes = self.line.as_bytes();
        let mut frames: Vec<Frame> = Vec::new();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'{' | b'[' => {
                    let names = frames.last().map(Frame::names);
                    let place = names.and_then(|names| names.place);
                    let over = names.map(Names::over);
                    frames.push(Frame {
                        object: *byte == b'{',
                        place: place.unwrap_or_default(),
                        over: over.unwrap_or_default(),
                        field: None,
                        named: None,
                        flag: None,
                        password: (*byte == b'[')
                            .then(|| password_in(self.line, at))
                            .flatten(),
                    });
                    at += 1;
                }
                b'}' | b']' => {
                    frames.pop();
                    at += 1;
                }
                b'"' => {
                    let end = literal_end(bytes, at);
                    self.literal(at, end, &mut frames);
                    at = end;
                }
                b'-' | b'0'..=b'9' => {
                    let number = |byte| !b",]} \t\r\n".contains(&byte);
                    let end = at + run_at_start(&bytes[at..], usize::MAX, number);
                    self.number(at, end, &frames);
                    at = end;
                }
                _ => {
                    if *byte == b','
                        && let Some(array) = frames.last_mut().filter(|frame| !frame.object)
                    {
                        array.named = array.flag.take();
                    }
                    at += 1;
                }
            }
        }
        self.out.push_str(&self.line[self.copied..]);
    }

    fn literal(&mut self, start: usize, end: usize, frames: &mut [Frame]) {
        let literal = &self.line[start..end];
        let is_name = frames.last().is_some_and(|frame| frame.object)
            && self.line[end..].trim_start().starts_with(':');
        let decoded = decoded(literal);
        let password = frames.last().and_then(|frame| frame.password.clone());
        let without = password
            .filter(|(at, _)| *at == start)
            .map(|(_, range)| hidden(&decoded, range, self.tally));
        let names = match frames.last() {
            Some(frame) if !is_name => frame.names(),
            Some(_) => Names::default(),
            None => Names::of_document(),
        };
        let part = self
            .web_key_parts
            .binary_search_by_key(&(start + 1), |part| part.start);
        let redacted = if part.is_ok_and(|at| self.web_key_parts[at].end + 1 == end) {
            self.tally.add(jwk::RULE);
            Some(FoundBy::Rule(jwk::RULE).mark())
        } else {
            let text = without.as_deref().unwrap_or(&decoded);
            let redacted = self.redactor.string(text, names, self.tally);
            redacted.or(without)
        };
        if let Some(redacted) = redacted.and_then(|text| serde_json::to_string(&text).ok()) {
            self.splice(start, end, &redacted);
        }
        if let Some(frame) = frames.last_mut() {
            if is_name {
                frame.field = Some(decoded.into_owned()).filter(|name| name.len() <= LONGEST);
            } else if !frame.object {
                frame.flag = is_flag(&decoded).then(|| decoded.into_owned());
            } else if frame
                .field
                .as_deref()
                .is_some_and(|field| NAME_FIELDS.contains(&field))
            {
                frame.named = Some(decoded.into_owned()).filter(|name| name.len() <= LONGEST);
            }
        }
    }

    fn number(&mut self, start: usize, end: usize, frames: &[Frame]) {
        let secret = end - start >= 4
            && frames
                .last()
                .is_some_and(|frame| frame.names().any(is_password_name));
        if secret {
            self.splice(start, end, "\"***REDACTED***\"");
            self.tally.add(BY_NAME);
        }
    }

    fn splice(&mut self, start: usize, end: usize, new: &str) {
        self.out.push_str(&self.line[self.copied..start]);
        self.out.push_str(new);
        self.copied = end;
    }
}

/// The string that a literal stands for.
fn decoded(literal: &str) -> Cow<'_, str> {
    if literal.contains('\\') {
        foreign_json::from_slice::<String>(literal.as_bytes())
            .unwrap_or_default()
            .into()
    } else {
        literal.trim_matches('"').into()
    }
}

/// The password of the command whose words a list holds: where its literal begins, and where in its string.
fn password_in(line: &str, list: usize) -> Option<(usize, Range<usize>)> {
    let bytes = line.as_bytes();
    let limit = bytes.len().min(list + WORDS_REACH);
    let (mut starts, mut words) = (Vec::new(), Vec::new());
    let mut at = list + 1;
    while at < limit && words.len() < WORDS {
        match bytes[at] {
            b'"' => {
                let end = literal_end(bytes, at);
                starts.push(at);
                words.push(decoded(line.get(at..end)?));
                at = end;
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            _ => break,
        }
    }
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let (number, range) = password_among(&words)?;
    Some((*starts.get(number)?, range))
}

/// The place after a string literal.
fn literal_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Redacts line by line; a line that is no JSON document is taken as text, together with its like.
pub(super) fn lines(redactor: &Redactor, input: &str) -> Redacted {
    let mut out = String::with_capacity(input.len());
    let mut tally = Tally::keeping();
    let mut text_start = None;
    let mut at = 0;
    let plain = |from: usize, to: usize, out: &mut String, tally: &mut Tally| {
        let text = &input[from..to];
        out.push_str(redactor.redacted(text, tally).as_deref().unwrap_or(text));
    };
    for line in input.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let mut json = String::new();
        if redactor.json_line(content, &mut json, &mut tally).is_some() {
            if let Some(start) = text_start.take() {
                plain(start, at, &mut out, &mut tally);
            }
            out.push_str(&json);
            out.push_str(&line[content.len()..]);
        } else if text_start.is_none() {
            text_start = Some(at);
        }
        at += line.len();
    }
    if let Some(start) = text_start {
        plain(start, at, &mut out, &mut tally);
    }
    // What was found has no sign that JSON would escape.
    let text = tally.replace_known(&out).unwrap_or(out);
    Redacted {
        text,
        counts: tally.counts,
    }
}
