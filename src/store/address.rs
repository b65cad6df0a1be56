//! How a snapshot is addressed: the grammar alone.
//!
//! Reads text into an [`Address`] without looking at any repository; what cannot be told apart by form stays
//! [`Address::Bare`], for the caller to try as a label, a part of an id and a commit, in that order. Also judges which
//! names a label may have, so that no label can ever be mistaken for another form of address.

mod time;

use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::path::display;
use crate::git::refs::is_valid_name;

use super::id::{self, IssueId, PartMatch};
use super::names;

/// What an address says, by its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A snapshot's, backup's or experiment's id or its beginning, letter included.
    Id(String),
    /// `latest`, or this many before it.
    Latest(u32),
    /// The current snapshot of the caller's session.
    Session,
    /// The snapshot of an issue, by the issue's id or part of it.
    Issue(String),
    /// The snapshot of a checkpoint.
    Checkpoint {
        /// The session's id as given; None: the caller's.
        session: Option<String>,
        /// The checkpoint's number.
        n: u64,
    },
    /// A label, said to be one.
    Label(String),
    /// The newest snapshot at or before this moment.
    Time(Moment),
    /// The working tree as it is.
    Present,
    /// A commit id, or a ref.
    Commit(String),
    /// A label, a part of an id, or a commit id: to be tried in this order.
    Bare(String),
}

/// The forms, for a hint.
const FORMS: &str = "an address is an id or a part of one, 'latest', 'latest~2', 'session', 'present', 'issue:ID', \
    'checkpoint:N', 'SESSION:N', 'label:NAME', a time such as '2h ago', 'monday 9:00' or '2026-02-28 15:30', \
    or a commit id";

/// The words that are addresses by themselves.
const KEYWORDS: [&str; 3] = ["latest", "session", "present"];

/// Reads an address. Times without a zone are in this machine's; a date alone, or `yesterday`, means the end of that
/// day.
///
/// # Errors
/// `InvalidAddress` names the text and shows the forms; `InvalidIssueId` and `InvalidCheckpoint` where the form is
/// clear and the number or id is not.
pub fn parse(text: &str, now: Moment) -> Result<Address> {
    parse_in(text, now, &chrono::Local)
}

/// The checkpoint that a word means where nothing but a checkpoint can be meant: its number, `checkpoint:<n>` or `<session>:<n>`; whose
/// it is, if the word says so. There a session's id may read as a time.
pub fn checkpoint_named(word: &str, now: Moment) -> Option<(Option<String>, u64)> {
    if let Some(n) = number(word.trim()) {
        return Some((None, n));
    }
    if let Ok(Address::Checkpoint { session, n }) = parse(word, now) {
        return Some((session, n));
    }
    let (session, digits) = word.rsplit_once(':')?;
    let n = number(digits).filter(|_| is_session(session))?;
    Some((Some(session.to_owned()), n))
}

/// The address of a checkpoint: `<session>:<n>`, and another one that means it where that does not.
pub fn of_checkpoint(session: &str, n: u64) -> String {
    let means_it = |text: &String| {
        matches!(
            parse_in(text, SOME_DAY, &chrono::Utc),
            Ok(Address::Checkpoint { session: Some(of), n: number }) if of == session && number == n
        )
    };
    let plain = format!("{session}:{n}");
    [&plain, &format!("checkpoint:{plain}")]
        .into_iter()
        .find(|text| means_it(text))
        .cloned()
        .unwrap_or_else(|| format!("{}:{n}", names::session_component(session)))
}

/// The moment that a word means where nothing but a time can be meant, or where nothing else goes by it: as [`parse`], and also
/// `2h` and `monday`. None: it is no time.
pub fn moment_of(text: &str, now: Moment) -> Option<Moment> {
    time::parse_bare(text, now, &chrono::Local)?.ok()
}

fn parse_in<Z: chrono::TimeZone>(text: &str, now: Moment, zone: &Z) -> Result<Address> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
        return Err(invalid(text));
    }
    if let Some(address) = keyword(text) {
        return address;
    }
    match time::parse(text, now, zone) {
        Some(Ok(moment)) => return Ok(Address::Time(moment)),
        Some(Err(why)) => return Err(invalid(text).while_doing(why)),
        None => {}
    }
    if let Some(address) = numbered(text) {
        return address;
    }
    by_shape(text).ok_or_else(|| invalid(text))
}

/// Words, and what begins with a word and a colon.
fn keyword(text: &str) -> Option<Result<Address>> {
    match text {
        "latest" => return Some(Ok(Address::Latest(0))),
        "session" => return Some(Ok(Address::Session)),
        "present" => return Some(Ok(Address::Present)),
        _ => {}
    }
    if let Some(back) = text.strip_prefix("latest~") {
        // As with git's HEAD~, no number means one.
        let back = if back.is_empty() {
            Some(1)
        } else {
            number(back)
        };
        return Some(back.map(Address::Latest).ok_or_else(|| invalid(text)));
    }
    let (word, rest) = text.split_once(':')?;
    match word {
        "issue" => Some(issue(rest)),
        "checkpoint" => Some(checkpoint(rest)),
        "label" if names::is_component(rest) => Some(Ok(Address::Label(rest.to_owned()))),
        "label" => Some(Err(invalid(text))),
        _ => None,
    }
}

fn issue(part: &str) -> Result<Address> {
    if id::is_part(part, "i") {
        return Ok(Address::Issue(part.to_owned()));
    }
    let message = format!("'{}' is not an issue id or part of one", shown(part));
    Err(Error::new(Code::InvalidIssueId, message).hint("'tw issue list' shows the ids"))
}

/// `<n>`, or `<session>:<n>`.
fn checkpoint(rest: &str) -> Result<Address> {
    let (session, digits) = match rest.rsplit_once(':') {
        Some((session, digits)) => (Some(session), digits),
        None => (None, rest),
    };
    match number(digits) {
        Some(n) if session.is_none_or(is_session) => Ok(Address::Checkpoint {
            session: session.map(str::to_owned),
            n,
        }),
        _ => {
            let message = format!("'{}' is not a checkpoint number", shown(rest));
            Err(Error::new(Code::InvalidCheckpoint, message)
                .hint("'tw checkpoint list' shows them"))
        }
    }
}

/// `<session>:<n>`; `session:<n>` is the caller's.
fn numbered(text: &str) -> Option<Result<Address>> {
    let (session, digits) = text.rsplit_once(':')?;
    if digits.is_empty() || !all_digits(digits) || !is_session(session) {
        return None;
    }
    Some(checkpoint(if session == "session" { digits } else { text }))
}

/// Ids, commits, and what may be either.
fn by_shape(text: &str) -> Option<Address> {
    if IssueId::parse(text).is_some() {
        return Some(Address::Issue(text.to_owned()));
    }
    if text.contains('/') {
        return is_valid_name(text).then(|| Address::Commit(text.to_owned()));
    }
    let part = id::is_part(text, "sbx");
    if part && text.as_bytes().get(1) == Some(&b'_') {
        return Some(Address::Id(text.to_owned()));
    }
    if is_hex(text) && !part {
        return Some(Address::Commit(text.to_owned()));
    }
    names::is_component(text).then(|| Address::Bare(text.to_owned()))
}

/// A day in March 2024, to try whether a text reads as a time.
const SOME_DAY: Moment = Moment(1_710_000_000_000_000_000);

/// Whether a label may have this name: one ref component that can be read as nothing but a label.
///
/// # Errors
/// `InvalidLabel` says what it would be taken for.
pub fn valid_label(name: &str) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    let is = |taken_for: &str| {
        let message = format!(
            "'{}' cannot be a label: it reads as {taken_for}",
            shown(name)
        );
        Err(Error::new(Code::InvalidLabel, message))
    };
    if KEYWORDS.contains(&lower.as_str()) {
        return is("a keyword");
    }
    if lower
        .split_once(':')
        .is_some_and(|(word, _)| ["issue", "checkpoint", "label"].contains(&word))
    {
        return is("another kind of address");
    }
    // Any day will do on which times of the past are not before the first one.
    if time::parse_bare(name, SOME_DAY, &chrono::Utc).is_some() {
        return is("a time");
    }
    if is_number(name) {
        return is("a number");
    }
    if is_hex(name) {
        return is("a commit id");
    }
    if looks_like_part(name) {
        return is("a part of an id");
    }
    if !names::is_component(name) || name.starts_with('-') || name.chars().any(char::is_control) {
        let message = format!("'{}' is not a valid label name", shown(name));
        return Err(Error::new(Code::InvalidLabel, message));
    }
    Ok(())
}

/// [`valid_label`], and no part of any id there is: its letters alone may happen to be somebody's tail.
///
/// # Errors
/// As [`valid_label`].
pub fn valid_label_among<'a>(name: &str, ids: impl Iterator<Item = &'a str>) -> Result<()> {
    valid_label(name)?;
    let id = match id::resolve_part(name, ids) {
        PartMatch::None => return Ok(()),
        PartMatch::One(id) => id,
        PartMatch::Many(ids) => ids.join(", "),
    };
    let message = format!("'{name}' cannot be a label: it is a part of the id {id}");
    Err(Error::new(Code::InvalidLabel, message))
}

/// The shape of a part of an id, as far as no word has it: `s_20`, `20260228_15`, and short mixtures with a letter
/// after a digit, such as `ab12cd`. Words of four to six letters (`fixed`) could be tails too, but are what people
/// want; an actual tail is refused by [`valid_label_among`].
fn looks_like_part(name: &str) -> bool {
    let mixed = name
        .bytes()
        .skip_while(|byte| !byte.is_ascii_digit())
        .any(|byte| byte.is_ascii_lowercase());
    id::is_part(name, "sbxi") && (mixed || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_hex(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Digits, perhaps with a point among them.
fn is_number(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    all_digits(whole) && all_digits(fraction) && !whole.is_empty()
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits only: Rust's own parser would take a plus sign.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    all_digits(text).then(|| text.parse().ok()).flatten()
}

fn is_session(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_control)
}

fn invalid(text: &str) -> Error {
    let message = format!("'{}' is not an address of a snapshot", shown(text));
    Error::new(Code::InvalidAddress, message).hint(FORMS)
}

/// Cut and escaped, for a message.
fn shown(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((at, _)) => {
            let head = text.get(..at).unwrap_or_default();
            format!("{}…", display(head.as_bytes()))
        }
        None => display(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests;
