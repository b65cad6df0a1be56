//! The table of secret formats, `rules.toml`.
//!
//! Every prompt waits for its keywords, so that they alone are taken out of the table at once, by a reader of the few
//! things that it uses of TOML: a reader of all TOML would take twenty times as long. The rest of a row is read, and its
//! pattern compiled, when its keyword is first seen.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};

/// Where the pattern of a row stands in relation to its keyword.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// The keyword begins the secret.
    #[default]
    Prefix,
    /// The secret follows within a line's reach, set off from the keyword as a value is.
    Near,
    /// The pattern is looked for around the keyword.
    Around,
}

/// How a secret of a row looks, where its pattern fits other things, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Looks {
    #[default]
    Any,
    /// Its longest part reads like no words.
    Random,
    /// Like a password that somebody has, and not like a word for one.
    Password,
    /// Like a password that somebody made up and no word is.
    MadeUp,
    /// When it has more than a word, like no sentence.
    Phrase,
}

impl Looks {
    /// That of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "random" => Some(Self::Random),
            "password" => Some(Self::Password),
            "made-up" => Some(Self::MadeUp),
            "phrase" => Some(Self::Phrase),
            _ => None,
        }
    }
}

/// One secret format; `rules.toml` says what each field means.
#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) form: Form,
    pub(super) pattern: &'static str,
    pub(super) entropy: f32,
    pub(super) length: usize,
    pub(super) looks: Looks,
    compiled: OnceLock<Regex>,
}

/// A row of the table, read when it is needed.
pub(super) struct Row {
    text: &'static str,
    rule: OnceLock<Rule>,
}

/// Every row, in order.
pub(super) static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let rows = include_str!("rules.toml").split("[[rule]]\n").skip(1);
    rows.map(|text| Row {
        text,
        rule: OnceLock::new(),
    })
    .collect()
});

impl Row {
    /// Words one of which must be seen first; ASCII case does not matter yet.
    pub(super) fn keywords(&self) -> impl Iterator<Item = &'static str> + use<> {
        let list = self.text.lines().nth(1).unwrap_or_default();
        list.split('\'').skip(1).step_by(2)
    }

    /// The fields of the row, read on first use.
    pub(super) fn rule(&self) -> &Rule {
        self.rule.get_or_init(|| Rule::read(self.text))
    }
}

impl Rule {
    fn read(row: &'static str) -> Self {
        const PROOF: &str = "a test compares every row with what TOML makes of it";
        let mut rule = Self::default();
        for (field, value) in row.lines().filter_map(|line| line.split_once(" = ")) {
            let string = value.trim_matches('\'');
            match field {
                "id" => rule.id = string,
                "form" if string == "near" => rule.form = Form::Near,
                "form" if string == "around" => rule.form = Form::Around,
                "pattern" => rule.pattern = string,
                "entropy" => rule.entropy = value.parse().expect(PROOF),
                "length" => rule.length = value.parse().expect(PROOF),
                "looks" => rule.looks = Looks::named(string).expect(PROOF),
                _ => {}
            }
        }
        rule
    }

    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let pattern = match self.form {
                // Anchored: else the pattern would be searched for in all of the window.
                Form::Prefix => format!(r"\A(?:{})", self.pattern),
                Form::Near | Form::Around => self.pattern.to_owned(),
            };
            RegexBuilder::new(&pattern)
                // Secrets are ASCII; without Unicode's classes patterns compile and run faster.
                .unicode(false)
                .build()
                .expect("every pattern of the table is compiled by a test")
        })
    }

    /// Finds the pattern in a window of the text; the place of the secret, counted from the start of the text.
    pub(super) fn find(&self, bytes: &[u8], window: Range<usize>) -> Option<Range<usize>> {
        let captures = self.regex().captures(bytes.get(window.clone())?)?;
        let group = captures.iter().skip(1).flatten().next();
        let secret = group.or_else(|| captures.get(0))?;
        Some(window.start + secret.start()..window.start + secret.end())
    }
}
