//! The table of secret formats: what a row says, and its pattern compiled when its keyword is first seen.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};

use super::rules;

/// Where the pattern of a row stands in relation to its keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The keyword begins the secret.
    Prefix,
    /// The secret follows within a line's reach, set off from the keyword as a value is.
    Near,
    /// The pattern is looked for around the keyword.
    Around,
}

/// One secret format, as its issuer publishes it.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) form: Form,
    /// Words that must be seen first, apart by blanks; ASCII case does not matter.
    pub(super) keywords: &'static str,
    /// The secret: the first group, or the whole match.
    pub(super) pattern: &'static str,
    /// The least Shannon entropy, bits a byte.
    pub(super) entropy: f32,
    /// The shortest such secret, of a row with a prefix: what is shorter is none.
    pub(super) shortest: usize,
    /// Made up; `·` is left out before use, so that nothing takes this file for a leak.
    #[cfg_attr(not(test), allow(dead_code, reason = "the examples are for the tests"))]
    pub(super) example: &'static str,
    /// What looks like it and is none.
    #[cfg_attr(not(test), allow(dead_code, reason = "the examples are for the tests"))]
    pub(super) counter: &'static str,
}

/// A row whose keyword begins the secret.
pub(super) const fn prefix(
    id: &'static str,
    keywords: &'static str,
    pattern: &'static str,
    entropy: f32,
    shortest: usize,
    example: &'static str,
    counter: &'static str,
) -> Rule {
    Rule {
        id,
        form: Form::Prefix,
        keywords,
        pattern,
        entropy,
        shortest,
        example,
        counter,
    }
}

/// A row whose keyword stands before the secret.
pub(super) const fn near(
    id: &'static str,
    keywords: &'static str,
    pattern: &'static str,
    entropy: f32,
    example: &'static str,
    counter: &'static str,
) -> Rule {
    Rule {
        form: Form::Near,
        ..prefix(id, keywords, pattern, entropy, 0, example, counter)
    }
}

/// A row whose pattern holds its keyword.
pub(super) const fn around(
    id: &'static str,
    keywords: &'static str,
    pattern: &'static str,
    entropy: f32,
    example: &'static str,
    counter: &'static str,
) -> Rule {
    Rule {
        form: Form::Around,
        ..prefix(id, keywords, pattern, entropy, 0, example, counter)
    }
}

/// Every row, in order.
pub(super) static RULES: LazyLock<Vec<&'static Rule>> =
    LazyLock::new(|| rules::TABLES.iter().copied().flatten().collect());

static COMPILED: LazyLock<Vec<OnceLock<Regex>>> =
    LazyLock::new(|| RULES.iter().map(|_| OnceLock::new()).collect());

/// The pattern of a row, compiled on first use.
fn compiled(number: usize, rule: &Rule) -> Option<&'static Regex> {
    COMPILED.get(number).map(|cell| {
        cell.get_or_init(|| {
            let pattern = match rule.form {
                Form::Prefix => format!(r"\A(?:{})", rule.pattern),
                Form::Near | Form::Around => rule.pattern.to_owned(),
            };
            RegexBuilder::new(&pattern)
                .unicode(false)
                .build()
                .expect("every pattern of the table is compiled by a test")
        })
    })
}

/// Compiles every pattern.
#[cfg(test)]
pub(super) fn compile_all() {
    for (number, rule) in RULES.iter().enumerate() {
        assert!(compiled(number, rule).is_some(), "{}", rule.id);
    }
}

/// Finds a row's pattern in a window of the text; the place of the secret, counted from the start of the text.
pub(super) fn find(
    number: usize,
    rule: &Rule,
    bytes: &[u8],
    window: Range<usize>,
) -> Option<Range<usize>> {
    let captures = compiled(number, rule)?.captures(bytes.get(window.clone())?)?;
    let secret = captures.get(1).or_else(|| captures.get(0))?;
    Some(window.start + secret.start()..window.start + secret.end())
}
