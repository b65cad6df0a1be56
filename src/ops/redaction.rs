//! The redactor of a working tree: the rules, and the exact values that its `.env*` files and the environment hold.
//!
//! Values are read no-follow, from regular files of up to 1 MiB, in the working tree's root and the directories right
//! beneath it. Which of them are worth hiding is the redactor's to judge. Nothing here is kept or shown.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Context, envfiles};
use crate::error::{Code, Error, Result};
use crate::git::fs::{self, Root};
use crate::json;
use crate::redact::{Redactor, redacted_bytes};
use crate::text::{foreign_json, without_mark};

/// Larger `.env*` files are something else.
const LARGEST: u64 = 1 << 20;

/// Counts of what was replaced, by rule.
pub type Counts = BTreeMap<String, u64>;

/// Redacts texts and adds up what was replaced.
pub struct Redacting<'a> {
    redactor: &'a Redactor,
    /// How often each rule replaced something so far.
    pub counts: Counts,
}

impl<'a> Redacting<'a> {
    /// With the values of this working tree and environment.
    pub fn new(ctx: &'a Context<'_>) -> Self {
        Self {
            redactor: ctx.redactor(),
            counts: Counts::new(),
        }
    }

    /// The text without its secrets.
    pub fn text(&mut self, text: &str) -> String {
        let redacted = self.redactor.text(text);
        self.add(redacted.counts);
        redacted.text
    }

    /// The same for a text that may be missing.
    pub fn optional(&mut self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.text(text))
    }

    /// A command as records have it: the line that `line` makes of its words. They are redacted before they are quoted, for quotes
    /// would hide which of them is a password; and the line once more, for what no word says alone.
    pub fn command(
        &mut self,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
        line: impl Fn(&[String]) -> String,
    ) -> String {
        let words = words.into_iter();
        let words = words.map(|word| word.as_ref().to_string_lossy().into_owned());
        let (words, counts) = self.redactor.words(words.collect());
        self.add(counts);
        self.text(&line(&words))
    }

    /// Every string of a document.
    pub fn json(&mut self, value: &mut Value) {
        let counts = self.redactor.json(value);
        self.add(counts);
    }

    /// Says what was replaced so far, by rule; None where nothing was.
    pub fn notice(&self) -> Option<String> {
        let by_rule: Vec<String> = self
            .counts
            .iter()
            .map(|(rule, count)| format!("{count} {rule}"))
            .collect();
        (!by_rule.is_empty())
            .then(|| format!("secrets were replaced in the texts: {}", by_rule.join(", ")))
    }

    fn add(&mut self, counts: Counts) {
        for (rule, count) in counts {
            *self.counts.entry(rule).or_default() += count;
        }
    }
}

/// A title or a hint without its secrets. Without a text nothing is made ready.
pub fn short_text(ctx: &Context<'_>, text: Option<&str>) -> Option<String> {
    text.map(|text| ctx.redactor().text(text).text)
}

/// Refuses a label that holds a secret: it would stand in a ref's name.
///
/// # Errors
/// `INVALID_LABEL`. The name is not repeated.
pub fn check_name(ctx: &Context<'_>, name: &str) -> Result<()> {
    if ctx.redactor().text(name).counts.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidLabel,
        "the label looks like it contains a secret",
    )
    .hint("labels are names of refs, which everyone sees: choose another"))
}

/// Answer of `redact`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cleaned {
    /// How often something was replaced.
    pub replaced: u64,
    /// How often each rule replaced something.
    pub counts: Counts,
    /// What was given, without its secrets: text as a rule, and every byte that is none as it was. Null with `--check`.
    #[serde(rename = "text", serialize_with = "json::lossy_or_null")]
    #[schemars(with = "Option<String>")]
    pub bytes: Option<Vec<u8>>,
}

/// Redacts a text as a whole; one that begins with a line of JSON as JSON lines. Outside of a repository the working
/// tree's values are not known.
pub fn clean(ctx: Option<&Context<'_>>, input: &[u8], check: bool) -> Cleaned {
    let general;
    let redactor = if let Some(ctx) = ctx {
        ctx.redactor()
    } else {
        general = Redactor::new();
        &general
    };
    let (bytes, counts) = redacted_bytes(input, |text| {
        // A byte order mark would hide that the first line is JSON; it is given back as it was.
        let mark = text.len() - text.trim_start_matches('\u{feff}').len();
        let (mark, text) = text.split_at(mark);
        let first = text.lines().next().unwrap_or_default();
        let mut redacted =
            if foreign_json::from_slice::<Map<String, Value>>(first.as_bytes()).is_ok() {
                redactor.json_lines(text)
            } else {
                redactor.text(text)
            };
        redacted.text.insert_str(0, mark);
        redacted
    });
    Cleaned {
        replaced: counts.values().sum(),
        counts,
        bytes: (!check).then_some(bytes),
    }
}

/// Makes the redactor that knows the values of this working tree and environment.
pub(super) fn redactor(ctx: &Context<'_>) -> Redactor {
    let of_env = ctx
        .env
        .vars()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    Redactor::with_values(of_env.chain(of_env_files(ctx)))
}

/// The settings in the `.env*` files of a working tree. What cannot be read holds nothing that is known.
fn of_env_files(ctx: &Context<'_>) -> Vec<(String, String)> {
    let Ok(root) = Root::open(ctx.repo.worktree_root()) else {
        return Vec::new();
    };
    let kept = ctx.state_dir().file("env-files");
    let mut values = Vec::new();
    for file in envfiles::find(&root, &kept) {
        let text = small_file(&root, &file).unwrap_or_default();
        values.extend(settings(&String::from_utf8_lossy(without_mark(&text))));
    }
    values
}

/// The bytes of a regular file that is not too large to be one of settings.
fn small_file(root: &Root, path: &[u8]) -> Option<Vec<u8>> {
    let fd = root.open_file(path).ok()?;
    let stamp = fs::stamp_of(fd.as_fd()).ok()?;
    if !stamp.is_file() || stamp.size > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    // It may have grown since it was looked at.
    File::from(fd).take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// `NAME=value` lines: `export`, quotes and comments as dotenv takes them.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        if line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let value = value.trim();
        let quoted = ['"', '\'', '`'].into_iter().find_map(|quote| {
            let rest = value.strip_prefix(quote)?;
            // A quote that is not closed here begins a value of several lines: its first line is better hidden than nothing.
            Some(rest.split_once(quote).map_or(rest, |(inner, _)| inner))
        });
        let plain = || value.split(" #").next().unwrap_or(value).trim();
        found.push((
            name.trim().to_owned(),
            quoted.unwrap_or_else(plain).to_owned(),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_dotenv_reads_them() {
        let text = "A=1\nexport B = \"two words\" # no\n# C=3\nD='x#y'\nE=plain # note\nF\n";
        let expected = [("A", "1"), ("B", "two words"), ("D", "x#y"), ("E", "plain")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(settings(text), expected);
    }
}
