//! What each argument can be: the completers that the arguments of the commands name.
//!
//! Each gets the unfinished word, and reads the words before it from `line`. Outside of a repository, and where something
//! cannot be read, they have nothing to offer.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use clap_complete::{ArgValueCompleter, CompletionCandidate};

use super::line;
use super::paths::{PATH, unless_escaped};
use crate::agents::{AGENTS, Agent};
use crate::cli::human::text::clean;
use crate::env::Env;
use crate::ops::known::{self, Known, begins, kind_of};
use crate::ops::settings::KEYS;
use crate::ops::swap::undo_log::Log;
use crate::ops::{Context, undo};
use crate::progress::Silent;
use crate::store::id::IdKind;
use crate::store::issue::KINDS;

/// The word for all agents that are used.
pub const ALL_AGENTS: &str = "all";

pub(super) const LATEST: (&str, &str) = ("latest", "the newest snapshot");
pub(super) const SESSION: (&str, &str) = ("session", "the snapshot of this session");
pub(super) const PRESENT: (&str, &str) = ("present", "the working tree as it is");

/// Any snapshot, backup or experiment, the backups last.
pub fn snapshots() -> ArgValueCompleter {
    const KINDS: &[IdKind] = &[IdKind::Snapshot, IdKind::Experiment, IdKind::Backup];
    unless_escaped(|typed| addresses(typed, KINDS, &[LATEST, SESSION]))
}

/// What one goes to or names: snapshots and experiments. A backup is there to be taken from; it is offered to who begins with
/// its letter.
pub fn destinations() -> ArgValueCompleter {
    const KINDS: &[IdKind] = &[IdKind::Snapshot, IdKind::Experiment];
    ArgValueCompleter::new(|typed: &OsStr| addresses(typed, KINDS, &[LATEST, SESSION]))
}

/// Words that are addresses, labels, and ids; what has a word and a colon before it is by that word.
pub(super) fn addresses(
    typed: &OsStr,
    kinds: &[IdKind],
    words: &[(&'static str, &'static str)],
) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    if let Some((word, rest)) = typed.split_once(':') {
        let rest = match word {
            "issue" => with(|ctx| Some(matching(known::issues(ctx)?, rest))),
            "label" => with(|ctx| Some(matching(known::labels(ctx)?, rest))),
            "checkpoint" => with(|ctx| Some(matching(known::checkpoints(ctx, None)?, rest))),
            session => with(|ctx| Some(matching(known::checkpoints(ctx, Some(session))?, rest))),
        };
        return rest
            .into_iter()
            .map(|one| one.add_prefix(format!("{word}:")))
            .collect();
    }
    let words = words.iter().filter(|(word, _)| word.starts_with(typed));
    let mut found: Vec<_> = words
        .map(|(word, what)| CompletionCandidate::new(*word).help(Some((*what).into())))
        .collect();
    // Whoever has typed the letter of a kind means it.
    let meant = kind_of(typed);
    let kinds = meant.as_ref().map_or(kinds, std::slice::from_ref);
    found.extend(with(|ctx| {
        let mut all = matching(known::labels(ctx)?, typed);
        let ids = known::snapshots(ctx, kinds, |id| begins(id, typed))?;
        all.extend(ids.into_iter().map(candidate));
        Some(all)
    }));
    found
}

/// An issue's id.
pub fn issues() -> ArgValueCompleter {
    by_id(known::issues)
}

/// A try's id.
pub fn tries() -> ArgValueCompleter {
    by_id(known::tries)
}

/// A try's or a replay's id.
pub fn proofs() -> ArgValueCompleter {
    by_id(|ctx| {
        let both = [known::tries(ctx), known::replays(ctx)]
            .into_iter()
            .flatten();
        Some(both.flatten().filter(|one| one.name != "latest").collect())
    })
}

/// A replay's id.
pub fn replays() -> ArgValueCompleter {
    by_id(known::replays)
}

/// A label that there is.
pub fn labels() -> ArgValueCompleter {
    by_id(known::labels)
}

/// A session's id.
pub fn sessions() -> ArgValueCompleter {
    by_id(known::sessions)
}

/// A checkpoint of the session that is named, or of the caller's.
pub fn checkpoints() -> ArgValueCompleter {
    unless_escaped(|typed| {
        let Some(typed) = typed.to_str() else {
            return Vec::new();
        };
        let (prefix, number) = match typed.rsplit_once(':') {
            Some((before, number)) => (format!("{before}:"), number),
            None => (String::new(), typed),
        };
        let session = match prefix.as_str() {
            "" | "checkpoint:" => line::values("session").pop(),
            session => Some(OsString::from(session.trim_end_matches(':'))),
        };
        let session = session.as_deref().and_then(OsStr::to_str);
        let found = with(|ctx| Some(matching(known::checkpoints(ctx, session)?, number)));
        let found = found.into_iter();
        found.map(|one| one.add_prefix(prefix.as_str())).collect()
    })
}

/// A directory that `tw open` made.
pub fn opened() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let absolute = typed.as_bytes().starts_with(b"/");
        let found = with(|ctx| known::opened(ctx, absolute)).into_iter();
        found
            .filter(|one| starts(one, typed))
            .map(|one| candidate(one).tag(Some(PATH.into())))
            .collect()
    })
}

/// A swap that can be taken back, or done again.
pub fn swaps() -> ArgValueCompleter {
    by_id(|ctx| {
        let log = match line::command().as_str() {
            "redo" => Log::Redo,
            _ => Log::Undo,
        };
        let levels = undo::levels(ctx, log).ok()?.levels.into_iter();
        let known = levels.map(|level| Known {
            name: level.level.to_string().into(),
            about: level.operation.to_string() + " " + &level.snapshot_id.unwrap_or_default(),
        });
        Some(known.collect())
    })
}

/// A setting.
pub fn settings() -> ArgValueCompleter {
    words(|| {
        KEYS.iter()
            .map(|key| (key.name.to_owned(), key.description.to_owned()))
            .collect()
    })
}

/// A remote that git's configuration has.
pub fn remotes() -> ArgValueCompleter {
    words(|| {
        let named = with(|ctx| {
            let entries = ctx.repo.config_entries("remote.").ok()?;
            let urls = entries.into_iter().filter_map(|entry| {
                let name = entry.key.strip_prefix("remote.")?.strip_suffix(".url")?;
                Some((name.to_owned(), String::new()))
            });
            Some(urls.collect::<Vec<_>>())
        });
        named.into_iter().collect()
    })
}

/// An agent that can be set up, or the word for those that are used.
pub fn agents_to_set_up() -> ArgValueCompleter {
    words(|| {
        let all = (ALL_AGENTS.to_owned(), "those that you use".to_owned());
        std::iter::once(all)
            .chain(named(|agent| agent.setup().is_some()))
            .collect()
    })
}

/// An agent.
pub fn agents() -> ArgValueCompleter {
    words(|| named(|_| true).collect())
}

/// An agent that can run without a terminal.
pub fn agents_without_terminal() -> ArgValueCompleter {
    words(|| named(|agent| agent.headless_command("").is_some()).collect())
}

/// An agent that sessions were of, and those that there are.
pub fn agents_seen() -> ArgValueCompleter {
    words(|| {
        let seen = with(|ctx| Some(known::agents(ctx)?.into_iter().collect())).into_iter();
        let unknown = seen.filter(|name| AGENTS.iter().all(|agent| agent.name() != name));
        let unknown = unknown.map(|name| (name, String::new()));
        named(|_| true).chain(unknown).collect()
    })
}

/// A usual kind of friction, and those that issues have.
pub fn kinds() -> ArgValueCompleter {
    words(|| {
        let seen = with(|ctx| Some(known::kinds(ctx)?.into_iter().collect())).into_iter();
        let own = seen.filter(|kind: &String| !KINDS.contains(&kind.as_str()));
        let usual = KINDS.iter().map(|kind| (*kind).to_owned());
        usual.chain(own).map(|kind| (kind, String::new())).collect()
    })
}

fn named(fits: impl Fn(&&&'static dyn Agent) -> bool) -> impl Iterator<Item = (String, String)> {
    let agents = AGENTS.iter().filter(move |agent| fits(agent));
    agents.map(|agent| (agent.name().to_owned(), agent.title().to_owned()))
}

/// What the repository knows; nothing where there is none.
pub(super) fn with<T>(find: impl FnOnce(&Context<'_>) -> Option<Vec<T>>) -> Vec<T> {
    let env = Env::from_process();
    let found = Context::open(&line::start(), &env, &Silent).ok();
    found.and_then(|ctx| find(&ctx)).unwrap_or_default()
}

/// Names of which the beginning, or the random tail, is typed.
fn by_id(find: fn(&Context<'_>) -> Option<Vec<Known>>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| match typed.to_str() {
        Some(typed) => with(|ctx| Some(matching(find(ctx)?, typed))),
        None => Vec::new(),
    })
}

fn matching(all: Vec<Known>, typed: &str) -> Vec<CompletionCandidate> {
    let fits = |one: &Known| one.name.to_str().is_some_and(|name| begins(name, typed));
    all.into_iter().filter(fits).map(candidate).collect()
}

pub(super) fn starts(one: &Known, typed: &OsStr) -> bool {
    one.name.as_bytes().starts_with(typed.as_bytes())
}

/// Words that are the same everywhere, each with what it is.
fn words(all: fn() -> Vec<(String, String)>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let known = all().into_iter().map(|(name, about)| Known {
            name: name.into(),
            about,
        });
        known
            .filter(|one| starts(one, typed))
            .map(candidate)
            .collect()
    })
}

pub(super) fn candidate(one: Known) -> CompletionCandidate {
    let mut lines = one.about.lines().map(str::trim);
    let about = lines
        .find(|line| !line.is_empty())
        .map(|line| clean(line).into());
    CompletionCandidate::new(one.name).help(about)
}
