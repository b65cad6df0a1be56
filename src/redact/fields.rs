//! Named values: `password = …`, `"api_key": "…"`, `--token …`, whatever the language.
//!
//! The name says how much to trust the value; the value has to be convincing for that much trust.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::MARK;
use super::chosen::{Place, is_phrase, is_word_with_digits};
use super::field_names::{NameClass, classify, ends_in_secret, is_vague_password, names_many};
use super::judge::{Trust, is_assigned_secret, is_mnemonic, is_secret};
use super::ordinary::{is_algorithm, is_among_names, is_call, is_quantity};
use super::runs::{Runs, Stop, run_at_end, run_at_start};
use super::shape::{Shape, is_uuid, wordiness};
use super::span::{FoundBy, floor, mark_at_start};
use super::syntax::{Field, Quoting, Tie, field_after, literal_on_line};
use super::vendors;
use super::words::{NO_OWNERS, PLAIN_KEYS};

/// How far back a vendor's name counts for a weak name.
const VENDOR_REACH: usize = 120;
/// How far into a value a mark is looked for.
const MARK_REACH: usize = 256;

/// A secret that a name tells of.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) range: Range<usize>,
    pub(super) class: NameClass,
    /// Whether it may be a name in code: then it is none at other places.
    is_guess: bool,
}

impl Named {
    fn new(text: &str, field: &Field, class: NameClass, value: &str) -> Self {
        let is_name = value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
        Self {
            range: field.value.clone(),
            class,
            is_guess: field.quoting == Quoting::Bare
                && is_name
                && !is_flag(text, field)
                && !is_trusted_place(text, field)
                && !is_secret(value, Trust::Named),
        }
    }

    /// What it counts as.
    pub(super) fn found_by(&self, rule: &'static str) -> FoundBy {
        if self.is_guess {
            FoundBy::Guess(rule)
        } else {
            FoundBy::General(rule)
        }
    }
}

/// The secret that follows a name, unless that lies before a place up to which all is known.
pub(super) fn secret_after(
    text: &str,
    name: Range<usize>,
    known: usize,
    runs: &Runs,
) -> Option<Named> {
    let class = class_in_words(text, &name)?;
    // A path of types: `Api::Secret`.
    if class == NameClass::None || text[..name.start].ends_with("::") {
        return None;
    }
    let mut field = field_after(text, name, runs)?;
    step_over_mark(text, &mut field)?;
    let read = field.value.end;
    widen(text, &mut field, class, runs);
    let bare = field.quoting == Quoting::Bare;
    if field.value.end <= known || (bare && !runs.is_judged(field.value.end)) {
        return None;
    }
    cut_at_mark(text, &mut field);
    let value = runs.head(text.get(field.value.clone())?, field.value.start);
    if convinces(text, &field, class, value) {
        return Some(Named::new(text, &field, class, value));
    }
    if field.value.end > read {
        // A generated one may have these signs inside; they tell nothing of it.
        if class == NameClass::Strong
            && convinces(text, &field, class, &value.replace([',', ';'], ""))
        {
            return Some(Named::new(text, &field, class, value));
        }
        // Not as a whole: what stands behind the sign at which a value usually ends may be something else.
        let narrow = text.get(field.value.start..read)?;
        let short = Field {
            value: field.value.start..read,
            ..field.clone()
        };
        let narrow = runs.head(narrow, read - narrow.len());
        if convinces(text, &short, class, narrow) {
            return Some(Named::new(text, &short, class, narrow));
        }
    }
    let expression = bare && value.contains(['(', '.', '[', '|']);
    if class >= NameClass::Strong && expression && matches!(field.tie, Tie::Assign | Tie::Call) {
        return fallback(text, &field, runs).map(|range| Named {
            range,
            class,
            is_guess: false,
        });
    }
    None
}

/// Steps over a mark: what was replaced before, or by an earlier pass, stays so. What goes on behind one that was set too early is
/// judged for itself.
fn step_over_mark(text: &str, field: &mut Field) -> Option<()> {
    let value = text.get(field.value.clone())?;
    field.value.start = field.value.end - behind_mark(value)?.len();
    Some(())
}

/// What stands before a mark is judged without it.
fn cut_at_mark(text: &str, field: &mut Field) {
    let value = &text[field.value.clone()];
    let head = &value[..floor(value, MARK_REACH)];
    if let Some(length) = head.find(MARK) {
        field.value.end = field.value.start + length;
    }
}

/// What goes on at once behind the mark that a value begins with, the whole when it begins with none.
pub(super) fn behind_mark(value: &str) -> Option<&str> {
    let mut rest = value;
    while let Some(mark) = mark_at_start(rest) {
        rest = &rest[mark..];
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+!#$%^~*".contains(byte);
        rest.as_bytes().first().filter(|byte| goes_on(byte))?;
    }
    Some(rest)
}

/// The class of a name, with the word before it when it is `key` alone: `my API key`.
fn class_in_words(text: &str, name: &Range<usize>) -> Option<NameClass> {
    let own = text.get(name.clone())?;
    let class = classify(own);
    let bytes = text.as_bytes();
    if class != NameClass::Weak
        || !own.to_ascii_lowercase().starts_with("key")
        || name.start == 0
        || bytes[name.start - 1] != b' '
    {
        return Some(class);
    }
    let end = name.start - 1;
    let before = run_at_end(&bytes[..end], 24, |byte| byte.is_ascii_alphanumeric());
    let both = text.get(end - before..name.end)?;
    Some(classify(both))
}

/// A literal further on in an expression: `getenv("X") or "…"`.
fn fallback(text: &str, field: &Field, runs: &Runs) -> Option<Range<usize>> {
    let literal = literal_on_line(text, field.value.start, runs)?;
    let value = runs.head(text.get(literal.clone())?, literal.start);
    let shape = Shape::of(value);
    (shape.len >= 12
        && shape.digit >= 2
        && is_secret(value, Trust::Hinted)
        && wordiness(value) < 0.45)
        .then_some(literal)
}

/// Whether a whole value under a name is a secret, as in decoded JSON.
pub(super) fn is_secret_under(name: &str, value: &str) -> bool {
    let Some(value) = behind_mark(value) else {
        return false;
    };
    match classify(name) {
        NameClass::None => false,
        NameClass::Password
            if is_vague_password(name) && (is_algorithm(value) || is_quantity(value)) =>
        {
            false
        }
        NameClass::Password => is_secret(value, Trust::Password),
        NameClass::Strong if names_many(name) => is_secret(value, Trust::Named),
        NameClass::Strong => is_strong_secret(name, value, Trust::Made(Place::Quotes)),
        NameClass::Weak => is_weak_secret(value, || vendors::named_in(name), name),
    }
}

/// Whether a value under a name like `token` is a secret, also a short one where it is the whole of a literal, a line or an
/// argument.
fn is_strong_secret(name: &str, value: &str, trust: Trust) -> bool {
    let whole = matches!(
        trust,
        Trust::Assigned | Trust::Made(Place::Quotes | Place::Line)
    );
    is_secret(value, trust) || whole && ends_in_secret(name) && is_secret(value, Trust::Short)
}

/// Whether a name alone makes a number a secret.
pub(super) fn is_password_name(name: &str) -> bool {
    classify(name) == NameClass::Password && !is_vague_password(name)
}

/// `NAME=value` of an environment file runs to the next blank; a query string's value to the next `&`.
fn widen(text: &str, field: &mut Field, class: NameClass, runs: &Runs) {
    if field.quoting != Quoting::Bare {
        return;
    }
    let bytes = text.as_bytes();
    let environment = is_environment(text, field);
    let password = class == NameClass::Password;
    let strong = class == NameClass::Strong && environment;
    if environment && (password || strong) {
        let more = run_at_start(&bytes[field.value.end..], 256, |byte| {
            byte > b' ' && !b"\"'`\\<".contains(&byte)
        });
        let further = &bytes[field.value.end..field.value.end + more];
        // An issued token has none of these signs: what goes on behind one may be a field, a command, or code.
        let goes_on = further.len() > 1
            && matches!(further[0], b',' | b';')
            && !further.iter().any(|byte| b"=(){}[]|>$".contains(byte))
            && further[1..].iter().all(u8::is_ascii_graphic)
            && std::str::from_utf8(&further[1..]).is_ok_and(|rest| wordiness(rest) < 0.5);
        if password || goes_on {
            field.value.end += more;
        }
    }
    let in_query = field.name.start > 0 && matches!(bytes[field.name.start - 1], b'?' | b'&');
    let stop = if in_query { Stop::Query } else { Stop::And };
    let cut = runs.end(bytes, stop, field.value.start);
    // In a password a `&` may stand, unless another field comes after it.
    let ends = in_query || !(password || strong) || {
        let next = runs.end(bytes, Stop::Equals, cut);
        next < field.value.end
    };
    if cut < field.value.end && ends {
        field.value.end = cut;
    }
}

/// Upper case, `=` at once: a line of an environment file or a shell's assignment.
fn is_environment(text: &str, field: &Field) -> bool {
    is_tight(text, field)
        && text[field.name.clone()]
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether one sign alone stands between a name and its value, or a mark for what was replaced of that.
fn is_tight(text: &str, field: &Field) -> bool {
    let gap = &text[field.name.end..field.value.start];
    gap.find(MARK).unwrap_or(gap.len()) == 1
}

fn convinces(text: &str, field: &Field, class: NameClass, value: &str) -> bool {
    let bare = field.quoting == Quoting::Bare;
    let call = field.tie == Tie::Call;
    let gap = &text.as_bytes()[field.name.end..field.value.start];
    let led = gap.iter().any(|byte| b"|>".contains(byte))
        || gap
            .windows(4)
            .any(|four| four == b"alue" || four == b"faul");
    let far = gap.contains(&b'\n') && !led;
    if ((bare && (far || call)) || (far && call)) && !stands_out(value) {
        return false;
    }
    let flag = is_flag(text, field) && field.tie == Tie::Blank;
    match class {
        NameClass::Password => is_password(text, field, value),
        NameClass::Strong => {
            let sure = !matches!(field.tie, Tie::Blank | Tie::Is) || flag || stands_out(value);
            sure && is_strong_secret(&text[field.name.clone()], value, trust_in(text, field))
        }
        NameClass::Weak => {
            let sure =
                !matches!(field.tie, Tie::Blank | Tie::Is) || flag || is_assigned_secret(value);
            let from = super::span::floor(text, field.name.start.saturating_sub(VENDOR_REACH));
            let before = text[from..field.value.start]
                .rsplit("***")
                .next()
                .unwrap_or_default();
            let owned = || is_owned_key(text, field) || vendors::named_in(before);
            sure && is_weak_secret(value, owned, &text[field.name.clone()])
        }
        NameClass::None => false,
    }
}

/// Whether a value under a name that says password is one.
fn is_password(text: &str, field: &Field, value: &str) -> bool {
    let bare = field.quoting == Quoting::Bare;
    let name = &text[field.name.clone()];
    let flag = is_flag(text, field);
    let vague = !flag && is_vague(text, field);
    let trusted = is_trusted_place(text, field);
    // What is cheap to ask comes first.
    if bare && vague && !trusted && !is_query(text, field) && !is_no_name(text, field, value) {
        return false;
    }
    let ordinary = (!trusted && !flag || vague)
        && !is_password_setting(text, field, value)
        && (is_algorithm(value) || is_quantity(value));
    if ordinary || (bare && !trusted && is_call(text, field, value)) {
        return false;
    }
    let sure = match field.tie {
        Tie::Assign | Tie::Element => true,
        Tie::Call if field.quoted_name && !bare && is_among_names(text, field) => stands_out(value),
        Tie::Call if is_word_with_digits(value, Place::Code) => true,
        Tie::Call if bare => reads_like_no_word(value),
        Tie::Call => is_made_up(value),
        Tie::Is => {
            reads_like_no_word(value)
                || ((!bare || is_one_word(value)) && is_word_with_digits(value, Place::Quotes))
        }
        Tie::Blank => {
            flag || (has_digits(value, 1) && !value.starts_with('-') && is_whole_word(name))
        }
    };
    let trust = if trusted {
        Trust::Password
    } else {
        Trust::BarePassword
    };
    sure && !is_label(text, field, value) && is_secret(value, trust)
}

fn is_flag(text: &str, field: &Field) -> bool {
    text[field.name.clone()].starts_with('-')
}

/// `password: Windows10`, `db.password=100days` on a line of its own: whatever else such a word names, here it is the password.
fn is_password_setting(text: &str, field: &Field, value: &str) -> bool {
    field.tie == Tie::Assign
        && field.quoting == Quoting::Bare
        && is_whole_word(&text[field.name.clone()])
        && is_alone_on_line(text, field)
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether nothing stands before the name on its line but the dash of an item, and nothing behind the value.
fn is_alone_on_line(text: &str, field: &Field) -> bool {
    let next = text.as_bytes().get(field.value.end);
    before_on_line(text, field)
        .is_some_and(|before| before.trim_matches([' ', '\t', '-']).is_empty())
        && next.is_none_or(|byte| b"\r\n".contains(byte))
}

/// What stands before the name on its line, as far as it is looked at.
fn before_on_line<'a>(text: &'a str, field: &Field) -> Option<&'a str> {
    let line = run_at_end(&text.as_bytes()[..field.name.start], 64, |byte| {
        byte != b'\n'
    });
    text.get(field.name.start - line..field.name.start)
}

/// `Sommer2024!`, `Eq9-Lantern7`: what a sentence writes as a word, and no name of an algorithm with more behind it.
fn is_one_word(value: &str) -> bool {
    let value = value.trim_end_matches(['!', '?']);
    let mut parts = value.split(['-', '_', '!', '@', '#', '$', '%', '^', '&', '*', '+', '~']);
    let is_whole = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let has_case = |like: fn(&u8) -> bool| value.bytes().any(|byte| like(&byte));
    is_whole
        || has_case(u8::is_ascii_uppercase)
            && has_case(u8::is_ascii_lowercase)
            && has_digits(value, 2)
            && parts.all(|part| {
                let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
                part.bytes().all(|byte| byte.is_ascii_alphanumeric())
                    && !is_algorithm(part)
                    && (letters > 0 || !has_digits(part, 1))
            })
}

/// Whether the name alone may be of another thing; `mot de passe` is not.
fn is_vague(text: &str, field: &Field) -> bool {
    is_vague_password(&text[field.name.clone()])
        && !["mot de ", "Mot de ", "MOT DE "]
            .iter()
            .any(|before| text[..field.name.start].ends_with(before))
}

/// `?pw=`, `&pw=`.
fn is_query(text: &str, field: &Field) -> bool {
    let before = field.name.start.checked_sub(1);
    before.is_some_and(|at| b"?&".contains(&text.as_bytes()[at]))
}

/// Bare, and yet no name, number or sum of code: random, or with signs where settings stand.
fn is_no_name(text: &str, field: &Field, value: &str) -> bool {
    let has_sign = value.bytes().any(|byte| b"!@#%^?~".contains(&byte));
    stands_out(value) || (has_sign && !value.contains('=') && is_setting(text, field))
}

/// How far a value under a name like `token` or `api_key` is trusted where it stands.
fn trust_in(text: &str, field: &Field) -> Trust {
    let name = &text[field.name.clone()];
    let flag = is_flag(text, field) && matches!(field.tie, Tie::Assign | Tie::Blank | Tie::Call);
    let assigned = matches!(field.tie, Tie::Assign | Tie::Element);
    match field.quoting {
        _ if names_many(name) => Trust::Named,
        Quoting::Bare if flag || is_trusted_place(text, field) => Trust::Assigned,
        Quoting::Bare if is_setting(text, field) || is_pair(text, field) => {
            Trust::Made(Place::Line)
        }
        Quoting::Bare if assigned => Trust::Made(Place::Code),
        Quoting::Quoted | Quoting::Text if assigned || flag => Trust::Made(Place::Quotes),
        Quoting::Quoted if field.tie == Tie::Call => Trust::Made(Place::Code),
        _ => Trust::Named,
    }
}

/// `api_key=…` alone, as in files of settings, addresses and logs; arguments and statements have signs behind them.
fn is_setting(text: &str, field: &Field) -> bool {
    let bytes = text.as_bytes();
    let name = &text[field.name.clone()];
    field.tie == Tie::Assign
        && is_tight(text, field)
        && bytes[field.name.end] == b'='
        && !["self.", "this."].iter().any(|own| name.starts_with(own))
        && bytes
            .get(field.value.end)
            .is_none_or(|byte| *byte <= b' ' || b"\"'`&<\\".contains(byte))
}

/// `secret: hunter2` on a line of its own, `'X-Api-Key: abc123'` in quotes: no field with its type, which has a sign behind it
/// or a capital in it.
fn is_pair(text: &str, field: &Field) -> bool {
    let bytes = text.as_bytes();
    let value = &bytes[field.value.clone()];
    let is_lower = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let quote = field.name.start.checked_sub(1).map(|at| &bytes[at]);
    let in_quotes =
        quote.is_some_and(|quote| b"\"'`".contains(quote)) && bytes.get(field.value.end) == quote;
    field.tie == Tie::Assign
        && !field.quoted_name
        && bytes[field.name.end] == b':'
        && (in_quotes || value.iter().all(is_lower) && is_alone_on_line(text, field))
}

/// Words of a page after a tag: `<label for="password">Access to it</label>`. Settings call themselves by `key` and `name`.
fn is_label(text: &str, field: &Field, value: &str) -> bool {
    field.quoting == Quoting::Text
        && field.quoted_name
        && text[..field.value.start].ends_with('>')
        && !is_value_of_key(&text[..field.name.start])
        && !has_digits(value, 1)
        && is_phrase(value)
}

/// Whether what comes before a name in quotes says that a setting is called so: `<entry key="`.
fn is_value_of_key(before: &str) -> bool {
    let attribute = before.trim_end_matches(['"', '\'', '\\']).trim_end();
    let attribute = attribute.strip_suffix('=').map(str::trim_end);
    let called = |name: &str| {
        attribute.is_some_and(|attribute| {
            let at = attribute.len().checked_sub(name.len());
            let tail = at.and_then(|at| attribute.get(at..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(name))
        })
    };
    called(" key") || called(" name")
}

/// `ACME_KEY=…`, `acme key = '…'`: somebody's key, though nobody known.
fn is_owned_key(text: &str, field: &Field) -> bool {
    let name = &text[field.name.clone()];
    if is_environment(text, field) {
        return name.ends_with("_KEY");
    }
    let before = text[..field.name.start]
        .strip_suffix(' ')
        .unwrap_or_default();
    let owner = before
        .rsplit(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    name.eq_ignore_ascii_case("key")
        && field.quoting == Quoting::Quoted
        && field.tie == Tie::Assign
        && owner.len() >= 4
        && !PLAIN_KEYS.has(&owner.to_ascii_lowercase())
        && !NO_OWNERS.has(owner)
}

/// `password` itself; `pass` alone is a word of other meanings.
fn is_whole_word(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "passphrase"]
        .iter()
        .any(|word| name.ends_with(word))
}

/// Where even a word is taken for the password.
fn is_trusted_place(text: &str, field: &Field) -> bool {
    match field.quoting {
        Quoting::Quoted if is_flag(text, field) => field.tie != Tie::Is,
        Quoting::Quoted | Quoting::Text => matches!(field.tie, Tie::Assign | Tie::Element),
        Quoting::Bare => field.tie == Tie::Assign && is_environment(text, field),
    }
}

fn has_digits(value: &str, least: usize) -> bool {
    value.bytes().filter(u8::is_ascii_digit).count() >= least
}

/// A word with digits, or what reads like no word: `hunter2`, `Vq7!mKe2`.
pub(super) fn is_made_up(value: &str) -> bool {
    let letters = value.len() >= 10
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && wordiness(value) < 0.3;
    letters || reads_like_no_word(value) || is_word_with_digits(value, Place::Quotes)
}

fn reads_like_no_word(value: &str) -> bool {
    has_digits(value, 1) && !value.starts_with('-') && wordiness(value) < 0.6
}

/// Random enough to be told from the words around it.
fn stands_out(value: &str) -> bool {
    is_uuid(value)
        || (value.len() >= 12
            && has_digits(value, 2)
            && (value.len() >= 16 || !value.contains(['_', '.', '-']))
            && wordiness(value) < 0.4)
}

/// A value under a name like `key` or `auth`.
fn is_weak_secret(value: &str, vendor: impl Fn() -> bool, name: &str) -> bool {
    if is_mnemonic(value) || is_basic(value) && name.to_ascii_lowercase().contains("auth") {
        return true;
    }
    if !is_secret(value, Trust::Hinted) {
        return false;
    }
    let shape = Shape::of(value);
    let plain = shape.hex || is_uuid(value) || shape.len < 20 || shape.digit == 0;
    !plain || vendor()
}

/// Base64 of `user:password`.
pub(super) fn is_basic(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    if !(8..=512).contains(&value.len()) {
        return false;
    }
    STANDARD_NO_PAD.decode(value).is_ok_and(|bytes| {
        bytes.contains(&b':')
            && bytes.iter().all(|byte| (b' '..0x7f).contains(byte))
            && bytes.len() > 4
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::syntax::name_around;
    use crate::redact::words::FIELD_WORDS;

    fn secret(text: &str) -> Option<&str> {
        let lower = text.to_ascii_lowercase();
        let hit = FIELD_WORDS
            .iter()
            .find_map(|word| lower.find(word).map(|at| at..at + word.len()))?;
        let name = name_around(text.as_bytes(), hit)?;
        secret_after(text, name, 0, &Runs::default()).map(|named| &text[named.range])
    }

    #[test]
    fn secrets() {
        for (line, value) in [
            ("password = \"letmein\"", "letmein"),
            ("PGPASSWORD=a,b;c psql", "a,b;c"),
            ("?token=q7gzkxv0w1jh9p2m&x=1", "q7gzkxv0w1jh9p2m"),
            ("Server=x;Password=hunter2;Port=1", "hunter2"),
            ("--password letmein1", "letmein1"),
            ("password: Windows10\nuser: bob", "Windows10"),
            ("db.password=100days\n", "100days"),
            ("the password is now Sommer2024!", "Sommer2024!"),
            ("password is Eq9-Lantern7", "Eq9-Lantern7"),
            (
                "stripe key = '8f14e45fceea167a5a36dedd4bea2543'",
                "8f14e45fceea167a5a36dedd4bea2543",
            ),
            ("\"auth\": \"dXNlcjpodW50ZXIy\"", "dXNlcjpodW50ZXIy"),
            (
                "token = os.getenv(\"T\", \"q7gzkxv0w1jh9p2m\")",
                "q7gzkxv0w1jh9p2m",
            ),
            (
                "Authorization: Bearer q7gzkxv0w1jh9p2mzz01",
                "q7gzkxv0w1jh9p2mzz01",
            ),
        ] {
            assert_eq!(secret(line), Some(value), "{line}");
        }
    }

    #[test]
    fn no_secrets() {
        for line in [
            "password: string;",
            "password = getpass(\"Enter password: \")",
            "key = '8f14e45fceea167a5a36dedd4bea2543'",
            "token = self.next_token()",
            "the token expired yesterday",
            "\"password\": \"Password\"",
            "public_key = \"q7gzkxv0w1jh9p2mzz01\"",
            "auth: true",
        ] {
            assert_eq!(secret(line), None, "{line}");
        }
    }
}
