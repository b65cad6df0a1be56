//! A random string that no row and no name gave away, and what it must not be.
//!
//! It has to look random on its own, or stand as a value behind a vendor's name. Git ids, uuids, paths, hashes of lock
//! files, data URLs, public keys and the ids that agents and services give to things stay.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::field_names::names_a_public_value;
use super::judge::{Trust, is_assigned_secret, is_bare_secret, is_secret};
use super::runs::{alphanumeric_or, one_of, run_at_end, run_at_start};
use super::shape::{Shape, is_uuid, wordiness};
use super::tokens::{ENTROPY, LONGEST, SHORTEST, VENDOR};
use super::vendors;
use super::words::HARMLESS;

/// How far back a vendor's name counts.
const REACH: usize = 72;

/// A run of a token's characters, with what stands around it.
pub(super) struct Candidate<'a> {
    text: &'a str,
    range: Range<usize>,
    /// The byte before, after an opening quote was stepped over.
    quoted: bool,
    /// Stands as a value: after `=`, `:`, `(`, or in quotes after one of them.
    assigned: bool,
    name: &'a str,
}

impl<'a> Candidate<'a> {
    /// Looks around a run.
    pub(super) fn new(text: &'a str, mut range: Range<usize>) -> Self {
        let bytes = text.as_bytes();
        // `\n` and the like in text that was not decoded.
        if range.start > 0
            && bytes[range.start - 1] == b'\\'
            && b"nrt".contains(&bytes[range.start])
        {
            range.start += 1;
        }
        let mut at = range.start;
        let quoted = at > 0 && b"\"'`".contains(&bytes[at - 1]);
        if quoted {
            at -= 1;
            at -= usize::from(at > 0 && bytes[at - 1] == b'\\');
        }
        let after_blanks = back_over(bytes, at, b" \t");
        let sign = after_blanks.checked_sub(1).map(|at| bytes[at]);
        let tight = after_blanks == at && !quoted;
        let assigned = match sign {
            Some(b'=') => true,
            Some(b':' | b'>') => !tight,
            Some(b'(' | b',' | b'[') => quoted,
            _ => false,
        };
        let type_path = bytes[..at]
            .windows(2)
            .rev()
            .take(REACH)
            .take_while(|pair| pair[1] != b'\n')
            .any(|pair| pair == b"::");
        let assigned = assigned && !type_path;
        let name_end = back_over(bytes, after_blanks, b" \t=:>(,[?\"'`\\");
        let name_start = run_at_end(&bytes[..name_end], REACH, alphanumeric_or(b"_-."));
        Self {
            text,
            range,
            quoted,
            assigned,
            name: text
                .get(name_end - name_start..name_end)
                .unwrap_or_default(),
        }
    }

    /// What to replace, and the general rule's name.
    pub(super) fn verdict(self) -> Option<(Range<usize>, &'static str)> {
        let value = self.text.get(self.range.clone())?;
        if self.is_part_of_more(self.assigned) {
            return None;
        }
        let random = is_bare_secret(value) || (self.assigned && is_assigned_secret(value));
        if random && !self.is_part_of_more(false) && !self.is_harmless(value) {
            return Some((self.range, ENTROPY));
        }
        let whole = self.dotted();
        let value = self.text.get(whole.clone())?;
        let hinted = value.len() >= SHORTEST
            && (self.assigned || (value.len() >= 20 && !Shape::of(value).hex && !is_uuid(value)))
            && is_secret(value, Trust::Hinted)
            && !self.is_harmless(value)
            && self.has_vendor();
        hinted.then_some((whole, VENDOR))
    }

    /// With the parts after dots or colons, of a value: `head.body`.
    fn dotted(&self) -> Range<usize> {
        let rest = &self.text.as_bytes()[self.range.end..];
        let more = run_at_start(rest, LONGEST, alphanumeric_or(b"._-:"));
        let more = if self.assigned && rest.first().is_some_and(|byte| b".:".contains(byte)) {
            more
        } else {
            0
        };
        let end = self.range.end + more - run_at_end(&rest[..more], more, one_of(b".:"));
        self.range.start..end
    }

    /// A path, a file name, a call, a pin, a mail address: the neighbours say so.
    fn is_part_of_more(&self, may_have_dots: bool) -> bool {
        let bytes = self.text.as_bytes();
        let before = self.range.start.checked_sub(1).map(|at| bytes[at]);
        let after = bytes.get(self.range.end).copied();
        let beyond = bytes.get(self.range.end + 1).copied();
        let goes_on = beyond.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
        self.text[..self.range.start]
            .trim_end_matches(['"', '\'', ' '])
            .ends_with("::")
            || matches!(
                before,
                Some(
                    b'/' | b'.'
                        | b'@'
                        | b'#'
                        | b'%'
                        | b'&'
                        | b'?'
                        | b'^'
                        | b'~'
                        | b'$'
                        | b'*'
                        | b'<'
                )
            )
            || (before == Some(b'\\') && !b"nrt".contains(&bytes[self.range.start]))
            || matches!(after, Some(b'(' | b'@' | b'['))
            || (after == Some(b'.') && goes_on && !may_have_dots)
            || (matches!(
                after,
                Some(b'?' | b'^' | b'~' | b'!' | b'%' | b'#' | b'$' | b'*')
            ) && goes_on)
            || before.is_some_and(|byte| byte >= 0x80)
            || after.is_some_and(|byte| byte >= 0x80)
    }

    fn is_harmless(&self, value: &str) -> bool {
        (names_a_public_value(self.name) && !vendors::is_name(self.name))
            || matches!(
                self.name,
                "h1" | "zh" | "base64" | "ssh-rsa" | "ssh-ed25519" | "ssh-dss" | "go.sum" | "cid"
            )
            || self.name.starts_with("ecdsa-")
            || self.name.starts_with("sk-ssh-")
            || self.text[..self.range.start].ends_with("base64,")
            || HARMLESS.begin(value)
            || is_ulid(value)
            || self.is_path(value)
            || is_encoded_text(value)
            || self.is_line_of_data(value)
    }

    /// Slashes belong to paths, unless the whole looks like base64 and stands as a value.
    fn is_path(&self, value: &str) -> bool {
        value.contains('/')
            && (value.starts_with('/')
                || !(self.assigned || self.quoted)
                || (!value.contains(['+', '=']) && (value.len() < 32 || has_word(value)))
                || value.split('/').filter(|part| has_word(part)).count() > 1)
    }

    /// A wrapped line of base64, or one with nothing else on it that is too long for a token.
    fn is_line_of_data(&self, value: &str) -> bool {
        let bytes = self.text.as_bytes();
        let before = back_over(bytes, self.range.start, b" \t\"'+");
        let after = bytes[self.range.end..]
            .iter()
            .find(|byte| !b" \t\"'+,\\".contains(byte));
        let alone = before.checked_sub(1).is_none_or(|at| bytes[at] == b'\n')
            && after.is_none_or(|byte| b"\r\nn".contains(byte));
        alone && !self.assigned && (value.len() >= 60 || follows_data(bytes, before))
    }

    /// A vendor's name on this line, not far before.
    fn has_vendor(&self) -> bool {
        let from = super::span::ceil(self.text, self.range.start.saturating_sub(REACH));
        let before = &self.text[from..self.range.start];
        let line = before.rfind('\n').map_or(before, |at| &before[at + 1..]);
        let line = line.rfind("***").map_or(line, |at| &line[at..]);
        // A name in an address or a path says nothing of what follows.
        line.split([' ', '\t', '"', '\'', '`', ',', ';'])
            .filter(|word| !word.contains('/'))
            .any(vendors::named_in)
    }
}

/// Time and chance in the alphabet that ids are written in: `01ARZ3NDEKTSV4RRFFQ69G5FAV`.
fn is_ulid(value: &str) -> bool {
    let letter =
        |byte: u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(&byte));
    value.len() == 26 && value.starts_with("01") && value.bytes().all(letter)
}

fn has_word(path: &str) -> bool {
    path.split('/')
        .any(|part| part.len() >= 5 && wordiness(part) > 0.7)
}

/// Whether the line before is one of base64 as well.
fn follows_data(bytes: &[u8], line_start: usize) -> bool {
    let Some(end) = line_start.checked_sub(1) else {
        return false;
    };
    let line = bytes[..end]
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    (56..200).contains(&line.len())
        && line
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_ \"',\\".contains(byte))
}

/// Base64 of plain words.
fn is_encoded_text(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    let decoded = STANDARD_NO_PAD
        .decode(value)
        .or_else(|_| URL_SAFE_NO_PAD.decode(value));
    decoded.is_ok_and(|bytes| {
        bytes
            .iter()
            .all(|byte| (b' '..0x7f).contains(byte) || matches!(byte, b'\n' | b'\r' | b'\t'))
            && std::str::from_utf8(&bytes)
                .is_ok_and(|text| text.starts_with("{\"") || wordiness(text) > 0.5)
    })
}

/// The place before all trailing bytes of a set.
fn back_over(bytes: &[u8], at: usize, set: &'static [u8]) -> usize {
    at - run_at_end(&bytes[..at], 16, one_of(set))
}
