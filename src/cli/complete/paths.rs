//! Paths as arguments can be: of the working tree and of snapshots, and what may be a path or something else.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use clap_complete::{ArgValueCompleter, CompletionCandidate};

use super::line;
use super::values::{LATEST, PRESENT, SESSION, addresses, candidate, starts, with};
use crate::ops::known::{self, Known};
use crate::ops::{Context, address};
use crate::store::id::IdKind;
use crate::store::stored::Stored;

/// Tells paths from other words.
pub const PATH: &str = "path";

/// A side of a comparison, `A..B`, or behind `--` a path.
pub fn sides() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        const KINDS: &[IdKind] = &[IdKind::Snapshot, IdKind::Experiment, IdKind::Backup];
        if line::is_escaped() {
            return compared_paths(typed);
        }
        let words = &[LATEST, SESSION, PRESENT];
        let text = typed.to_str().unwrap_or_default();
        let (from, to) = match address::range(text) {
            Some(both) => both,
            // It may yet become either.
            None if text == ".." => ("", ""),
            None if text.is_empty() => return addresses(typed, KINDS, words),
            None => {
                let mut found = compared_paths(typed);
                found.extend(addresses(typed, KINDS, words));
                return found;
            }
        };
        let to = addresses(OsStr::new(to), KINDS, words).into_iter();
        to.map(|side| side.add_prefix(format!("{from}..")))
            .collect()
    })
}

/// A path of the snapshot that is named, whether it is on disk or not.
pub fn snapshot_paths() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let named = line::values("address");
        paths(typed, false, |ctx| snapshots_named(ctx, &named))
    })
}

/// A path of the working tree or of the snapshots that are compared.
pub fn paths_to_compare() -> ArgValueCompleter {
    ArgValueCompleter::new(compared_paths)
}

fn compared_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut named = line::values("from");
    named.extend(line::values("to"));
    let mut sides: Vec<OsString> = named
        .iter()
        .filter_map(|side| side.to_str())
        .flat_map(|side| address::range(side).map_or(vec![side], |both| vec![both.0, both.1]))
        .map(OsString::from)
        .collect();
    if sides.is_empty() {
        sides.push(LATEST.0.into());
    }
    paths(typed, true, |ctx| snapshots_named(ctx, &sides))
}

/// A path of the working tree, of the snapshot that is named, or of the newest ones.
pub fn paths_of_all_times() -> ArgValueCompleter {
    ArgValueCompleter::new(recorded_paths)
}

fn recorded_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let named = line::values("address");
    paths(typed, true, |ctx| {
        let mut all = snapshots_named(ctx, &named);
        all.extend(known::newest(ctx).unwrap_or_default());
        all
    })
}

/// A file, or what it is looked at in; behind that a file of it.
pub fn files_in_states() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let mut named = line::values("words");
        if named.is_empty() {
            named.push(LATEST.0.into());
        }
        let mut found = paths(typed, true, |ctx| snapshots_named(ctx, &named));
        if !line::is_escaped() {
            const KINDS: &[IdKind] = &[IdKind::Snapshot, IdKind::Experiment, IdKind::Backup];
            found.extend(addresses(typed, KINDS, &[LATEST, SESSION, PRESENT]));
        }
        found
    })
}

/// What is looked for, and behind `--` where.
pub fn pattern() -> ArgValueCompleter {
    unless_escaped(|_| Vec::new())
}

/// What stands before `--`, where paths stand behind it: clap asks for the former also behind it, until it was given.
pub(super) fn unless_escaped(offer: fn(&OsStr) -> Vec<CompletionCandidate>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        if line::is_escaped() {
            recorded_paths(typed)
        } else {
            offer(typed)
        }
    })
}

/// A path of the working tree.
pub fn paths_on_disk() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| paths(typed, true, |_| Vec::new()))
}

/// The snapshots that addresses name, as far as they name any.
fn snapshots_named(ctx: &Context<'_>, addresses: &[OsString]) -> Vec<Stored> {
    let words = addresses.iter().filter_map(|word| word.to_str());
    words
        .filter_map(|word| known::snapshot(ctx, word))
        .collect()
}

fn paths(
    typed: &OsStr,
    on_disk: bool,
    snapshots: impl FnOnce(&Context<'_>) -> Vec<Stored>,
) -> Vec<CompletionCandidate> {
    let bytes = typed.as_bytes();
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    let (dir, name) = bytes.split_at(end);
    let found = with(|ctx| {
        let snapshots = snapshots(ctx);
        known::paths(ctx, OsStr::from_bytes(dir), on_disk, &snapshots)
    });
    let is_hidden = |one: &Known| one.name.as_bytes().get(end) == Some(&b'.');
    let mut found: Vec<Known> = found.into_iter().filter(|one| starts(one, typed)).collect();
    if !name.starts_with(b".") && !found.iter().all(is_hidden) {
        found.retain(|one| !is_hidden(one));
    }
    let found = found.into_iter().map(|one| Known {
        name: no_option(one.name),
        about: one.about,
    });
    found
        .map(|one| candidate(one).tag(Some(PATH.into())))
        .collect()
}

/// What would be read as an option, as pathspec magic or as somebody's home directory is said to be a path.
fn no_option(name: OsString) -> OsString {
    match name.as_bytes().first() {
        Some(b'-') if line::is_escaped() => name,
        Some(b'-' | b':' | b'~') => OsString::from_vec([b"./", name.as_bytes()].concat()),
        _ => name,
    }
}
