//! Which entries are wanted.

use regex::{Regex, RegexBuilder};

use super::entry::{Entry, EntryKind};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::checkpoints::resolve_named_session;
use crate::ops::history::Here;
use crate::ops::pathspec::Pathspec;
use crate::store::Store;
use crate::store::address::moment_of;

/// What is asked for. Nothing given: everything of this worktree.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// At most this many.
    pub limit: Option<usize>,
    /// Those whose text has a match of this regular expression; in any case when it has no capital letter.
    pub grep: Option<String>,
    /// Not before this time.
    pub since: Option<Moment>,
    /// Not after this time.
    pub until: Option<Moment>,
    /// Those with this label; `*` stands for any text.
    pub label: Option<String>,
    /// Those of this session: its id, or the start of one.
    pub session: Option<String>,
    /// Those of this agent.
    pub agent: Option<String>,
    /// Those of these kinds; none: all.
    pub kinds: Vec<EntryKind>,
    /// Those that changed something there.
    pub paths: Pathspec,
    /// Those of other worktrees, too.
    pub all_worktrees: bool,
}

impl Filter {
    /// Whether it leaves anything out, but for the number and the worktrees.
    pub fn chooses(&self) -> bool {
        let texts = [&self.grep, &self.label, &self.session, &self.agent];
        texts.into_iter().any(Option::is_some)
            || self.since.or(self.until).is_some()
            || !self.kinds.is_empty()
            || !self.paths.is_everything()
    }
}

/// The time that a word of the command line means.
///
/// # Errors
/// `USAGE` when it is none.
pub fn time(ctx: &Context<'_>, word: &str) -> Result<Moment> {
    moment_of(word, ctx.env.now()).ok_or_else(|| {
        let message = format!("'{}' is not a time", word.escape_debug());
        Error::new(Code::Usage, message)
            .hint("times are written '2h', 'monday 9:00' or '2026-02-28 15:30'")
    })
}

/// As [`time`], of a word that says from when on: a day begins in the morning.
///
/// # Errors
/// As [`time`]; `USAGE` also for a time in the future, since which nothing can have happened.
pub fn time_since(ctx: &Context<'_>, word: &str) -> Result<Moment> {
    // A day alone means its end. What already has a time of day takes no second one.
    let morning = |now| moment_of(&format!("{word} 00:00"), now);
    let at = time(ctx, word)?;
    // Later than what 'now' was.
    let now = ctx.env.now();
    // On a Monday 'monday' is the last one, and its morning is not today's.
    let morning = morning(now).and_then(|first| if first > at { morning(at) } else { Some(first) });
    let at = morning.filter(|morning| *morning < at).unwrap_or(at);
    if at > now {
        let message = format!(
            "'{}' lies in the future: {}",
            word.escape_debug(),
            at.local()
        );
        return Err(Error::new(Code::Usage, message)
            .hint("--since takes a time in the past: '2h', 'monday 9:00'"));
    }
    Ok(at)
}

/// A filter made ready.
pub(super) struct Matcher {
    grep: Option<Regex>,
    pub(super) since: i64,
    label: Option<String>,
    pub(super) session: Option<String>,
    agent: Option<String>,
    kinds: Vec<EntryKind>,
    /// None: those of all worktrees are wanted.
    here: Option<Here>,
}

impl Matcher {
    pub(super) fn new(ctx: &Context<'_>, store: &Store, filter: &Filter) -> Result<Self> {
        let session = filter.session.as_deref();
        let session = session.map(|word| resolve_named_session(ctx, store, word));
        Ok(Self {
            grep: filter.grep.as_deref().map(pattern).transpose()?,
            since: filter.since.map_or(i64::MIN, Moment::seconds),
            label: filter.label.clone(),
            session: session.transpose()?,
            agent: filter.agent.clone(),
            kinds: filter.kinds.clone(),
            here: (!filter.all_worktrees)
                .then(|| Here::of(ctx, store))
                .transpose()?,
        })
    }

    /// Whether entries of a kind are wanted.
    pub(super) fn wants(&self, kind: EntryKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Whether those of other worktrees are wanted, too.
    pub(super) fn all_worktrees(&self) -> bool {
        self.here.is_none()
    }

    /// Whether an entry is wanted, but for the paths.
    pub(super) fn matches(&self, entry: &Entry) -> bool {
        let same =
            |wanted: &Option<String>, has: &Option<String>| wanted.is_none() || wanted == has;
        let worktree = entry.worktree.as_deref().zip(self.here.as_ref());
        let is_here = worktree
            .is_none_or(|(name, here)| here.is_worktree(name, entry.worktree_id.as_deref()));
        self.wants(entry.kind)
            && is_here
            && same(&self.session, &entry.session_id)
            && self.matches_agent(entry)
            && self.matches_label(&entry.labels)
            && self.matches_text(entry)
    }

    fn matches_agent(&self, entry: &Entry) -> bool {
        let Some(wanted) = &self.agent else {
            return true;
        };
        let agent = entry.agent.as_ref();
        agent.is_some_and(|agent| agent.eq_ignore_ascii_case(wanted))
    }

    fn matches_label(&self, labels: &[String]) -> bool {
        let Some(wanted) = &self.label else {
            return true;
        };
        labels.iter().any(|label| is_like(label, wanted))
    }

    fn matches_text(&self, entry: &Entry) -> bool {
        let Some(grep) = &self.grep else { return true };
        let mut texts = [&entry.title, &entry.text].into_iter().chain(&entry.labels);
        texts.any(|text| grep.is_match(text))
    }
}

/// The regular expression of a `--grep`, which minds the case only when it has a capital letter.
///
/// # Errors
/// `USAGE` says what is wrong with it.
pub fn pattern(text: &str) -> Result<Regex> {
    let any_case = !text.chars().any(char::is_uppercase);
    let built = RegexBuilder::new(text).case_insensitive(any_case).build();
    built.map_err(|error| {
        let why = error.to_string();
        let why = why
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let message = format!(
            "'{}' is not a regular expression: {why}",
            text.escape_debug()
        );
        Error::new(Code::Usage, message)
            .hint("put a backslash before ( ) [ ] { } . * + ? | to match it literally")
    })
}

/// Whether a text is what a pattern says, in which `*` stands for any text.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return text == pattern;
    };
    let Some(mut left) = text.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (text, pattern) in [
            ("a", "a"),
            ("abc", "*"),
            ("abc", "a*"),
            ("abc", "*c"),
            ("abc", "a*c"),
            ("before-refactor-2", "before*2"),
            ("abab", "*ab"),
        ] {
            assert!(is_like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("a", "b"), ("abc", "a*b"), ("ab", "ab*b"), ("", "a*")] {
            assert!(!is_like(text, pattern), "{text} {pattern}");
        }
    }

    #[test]
    fn a_capital_letter_minds_the_case() {
        assert!(pattern("fix").is_ok_and(|fix| fix.is_match("FIX it")));
        assert!(pattern("Fix").is_ok_and(|fix| !fix.is_match("fix it")));
        let error = pattern("a(").expect_err("unclosed");
        assert_eq!(error.code(), Code::Usage);
        assert!(
            error.message().contains("unclosed group"),
            "{}",
            error.message()
        );
    }
}
