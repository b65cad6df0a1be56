//! What the arguments of a command line can name: what a shell offers while the line is typed.
//!
//! Quick, as somebody waits for a key, and read-only. What cannot be read is not offered, and no error is told: there is nobody
//! to tell it to. Leaves out what is typed, and how a shell has it, which are the command line's.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use super::history::in_order;
use super::replays::Replay;
use super::tries::Try;
use super::{Context, address, checkpoints, issues, kept, worktrees};
use crate::git::{Oid, tree};
use crate::store::checkpoint;
use crate::store::id::IdKind;
use crate::store::names;
use crate::store::stored::Stored;

/// Something that can be named, and what it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// As it is to be typed.
    pub name: OsString,
    /// For people, in a line or several.
    pub about: String,
}

impl Known {
    fn new(name: impl Into<OsString>, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
        }
    }
}

/// This many are read and shown. Who looks for an older one types the day.
const MANY: usize = 100;
/// This many names of files are enough to have looked at.
const ENOUGH: usize = 100_000;

/// The newest of each kind whose ids fit, kind by kind, each newest first.
///
/// Where there are more, the oldest comes last: what all that are shown begin with is what all begin with, and a shell that
/// types it ahead is right.
pub fn snapshots(
    ctx: &Context<'_>,
    kinds: &[IdKind],
    fits: impl Fn(&str) -> bool,
) -> Option<Vec<Known>> {
    let store = ctx.store().ok()?;
    let mut all = Vec::new();
    for kind in kinds {
        let mut ids = store.ids(*kind).ok()?;
        ids.retain(|id| fits(&id.to_string()));
        let (newest, rest) = ids.split_at(ids.len().min(MANY));
        let (found, _) = in_order(store, newest, None, None);
        let oldest = rest.last().and_then(|id| store.read_id(id).ok());
        let found = found.into_iter().chain(oldest);
        all.extend(found.map(|stored| Known::new(stored.id.to_string(), stored.title)));
    }
    Some(all)
}

/// The labels there are, by name.
pub fn labels(ctx: &Context<'_>) -> Option<Vec<Known>> {
    let names = ctx.store().ok()?.refs.names(names::LABELS).ok()?;
    let labels = names.iter().map(|name| names::label_of(name));
    Some(labels.map(|name| Known::new(name, "label")).collect())
}

/// The issues there are, newest first.
pub fn issues(ctx: &Context<'_>) -> Option<Vec<Known>> {
    let all = issues::all(ctx.store().ok()?).ok()?;
    let known = all.issues.into_iter().map(|issue| {
        let closed = if issue.status.is_closed() {
            "closed: "
        } else {
            ""
        };
        let about = [closed, &issue.symptom].concat();
        Known::new(issue.id.to_string(), about)
    });
    Some(known.collect())
}

/// The tries there are, newest first.
pub fn tries(ctx: &Context<'_>) -> Option<Vec<Known>> {
    let latest = Known::new("latest", "the newest");
    let known = kept::all::<Try>(ctx).ok()?.records.into_iter();
    let known = known.map(|one| Known::new(one.try_id, one.command));
    Some(std::iter::once(latest).chain(known).collect())
}

/// The replays there are, newest first.
pub fn replays(ctx: &Context<'_>) -> Option<Vec<Known>> {
    let latest = Known::new("latest", "the newest");
    let known = kept::all::<Replay>(ctx).ok()?.records.into_iter();
    let known = known.map(|one| Known::new(one.replay_id, one.command));
    Some(std::iter::once(latest).chain(known).collect())
}

/// The sessions there are, last active first.
pub fn sessions(ctx: &Context<'_>) -> Option<Vec<Known>> {
    let (records, _) = ctx.sessions().list().ok()?;
    let known = records.into_iter().map(|record| {
        let about = [record.agent, record.hint].into_iter().flatten();
        let about: Vec<String> = about.collect();
        Known::new(record.session_id, about.join(": "))
    });
    Some(known.collect())
}

/// The kinds of friction that issues have.
pub fn kinds(ctx: &Context<'_>) -> Option<BTreeSet<String>> {
    let all = issues::all(ctx.store().ok()?).ok()?;
    Some(
        all.issues
            .into_iter()
            .filter_map(|issue| issue.kind)
            .collect(),
    )
}

/// The agents that sessions were of.
pub fn agents(ctx: &Context<'_>) -> Option<BTreeSet<String>> {
    let (records, _) = ctx.sessions().list().ok()?;
    Some(records.into_iter().filter_map(|one| one.agent).collect())
}

/// The checkpoints of a session, or of the caller's, newest first.
pub fn checkpoints(ctx: &Context<'_>, session: Option<&str>) -> Option<Vec<Known>> {
    let store = ctx.store().ok()?;
    let session = checkpoints::resolve_session(ctx, store, session).ok()?;
    let notes = checkpoint::read(store, &session).ok()?;
    let newest_first = notes.checkpoints.into_iter().rev();
    let known = newest_first.map(|one| {
        let about = one.prompt.or(one.tool).unwrap_or_default();
        Known::new(one.checkpoint_id.to_string(), about)
    });
    Some(known.collect())
}

/// The directories that `tw open` made, seen from here or, where `absolute`, from the root.
pub fn opened(ctx: &Context<'_>, absolute: bool) -> Option<Vec<Known>> {
    let all = worktrees::all(&ctx.repo).ok()?;
    let opened = all
        .iter()
        .filter_map(|worktree| worktrees::opened(&worktree.dir).ok()?);
    let known = opened.map(|opened| {
        let dir = opened.path();
        let name = if absolute {
            dir
        } else {
            seen_from(&ctx.cwd, &dir)
        };
        Known::new(name, opened.snapshot_id)
    });
    Some(known.collect())
}

/// The way from one absolute directory to another.
fn seen_from(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[same..].iter().map(|_| Component::ParentDir);
    up.chain(to[same..].iter().copied()).collect()
}

/// The snapshot that an address names; None for one of none, such as the present.
pub fn snapshot(ctx: &Context<'_>, word: &str) -> Option<Stored> {
    address::resolve(ctx, ctx.store().ok()?, word).ok()
}

/// The newest snapshots.
pub fn newest(ctx: &Context<'_>) -> Option<Vec<Stored>> {
    let store = ctx.store().ok()?;
    let ids = store.ids(IdKind::Snapshot).ok()?;
    Some(in_order(store, &ids, Some(MANY), None).0)
}

/// What is in a directory as it is typed (to its last slash, or nothing): on disk, where asked, and in these snapshots, of which no more
/// are looked at when 100,000 names were seen. By name, a directory with a slash behind it.
pub fn paths(
    ctx: &Context<'_>,
    dir: &OsStr,
    on_disk: bool,
    snapshots: &[Stored],
) -> Option<Vec<Known>> {
    // None of the working tree's: there is nothing to offer.
    let here = if dir.is_empty() { OsStr::new(".") } else { dir };
    let beneath = ctx.repo_path(here).ok()?;
    let mut found: BTreeMap<Vec<u8>, &str> = BTreeMap::new();
    let mut trees: HashSet<Oid> = HashSet::new();
    let mut looked_at = 0;
    for snapshot in snapshots {
        let tree = tree_at(ctx, snapshot.tree, &beneath);
        let Some(tree) = tree.filter(|tree| trees.insert(*tree)) else {
            continue;
        };
        let names = names_in_tree(ctx, tree).unwrap_or_default();
        looked_at += names.len();
        found.extend(names.into_iter().map(|name| (name, "not here now")));
        if looked_at > ENOUGH {
            break;
        }
    }
    let there = names_on_disk(&ctx.cwd.join(here)).unwrap_or_default();
    for name in there {
        if on_disk || found.contains_key(&name) {
            found.insert(name, "");
        }
    }
    found.remove(b".git/".as_slice());
    found.remove(b".git".as_slice());
    let known = found.into_iter().map(|(name, about)| {
        let path = [dir.as_bytes(), &name].concat();
        Known::new(OsString::from_vec(path), about)
    });
    Some(known.collect())
}

fn names_on_disk(dir: &Path) -> Option<Vec<Vec<u8>>> {
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    let names = entries.map(|entry| {
        let mut name = entry.file_name().into_vec();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            name.push(b'/');
        }
        name
    });
    Some(names.collect())
}

/// The tree of a directory.
fn tree_at(ctx: &Context<'_>, root: Oid, dir: &[u8]) -> Option<Oid> {
    let objects = &ctx.store().ok()?.objects;
    let node = tree::find(&|oid| objects.read_tree(oid), root, dir).ok()??;
    node.is_dir().then_some(node.oid)
}

fn names_in_tree(ctx: &Context<'_>, tree: Oid) -> Option<Vec<Vec<u8>>> {
    let bytes = ctx.store().ok()?.objects.read_tree(tree).ok()?;
    let entries = tree::parse(&bytes, tree.format()).ok()?;
    let names = entries.iter().map(|entry| {
        let slash: &[u8] = if entry.node.is_dir() { b"/" } else { b"" };
        [entry.name, slash].concat()
    });
    Some(names.collect())
}

/// Whether an id, or its random tail, begins with what is typed.
pub fn begins(id: &str, typed: &str) -> bool {
    let tail = id.rsplit('_').next().unwrap_or(id);
    id.starts_with(typed) || tail.starts_with(typed)
}

/// The kind of snapshot that an id which begins like this is of.
pub fn kind_of(typed: &str) -> Option<IdKind> {
    let (letter, _) = typed.split_once('_')?;
    IdKind::ALL
        .into_iter()
        .find(|kind| letter.chars().eq([kind.letter()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_begins_with_its_start_or_its_tail() {
        let id = "s_20260228_153012_ab12cd";
        assert!(begins(id, "s_2026"));
        assert!(begins(id, "ab1"));
        assert!(begins(id, ""));
        assert!(!begins(id, "153012"));
    }

    #[test]
    fn the_letter_of_an_id_tells_its_kind() {
        assert_eq!(kind_of("b_2026"), Some(IdKind::Backup));
        assert_eq!(kind_of("x_"), Some(IdKind::Experiment));
        assert_eq!(kind_of("b"), None);
        assert_eq!(kind_of("before_it"), None);
    }

    #[test]
    fn a_directory_is_seen_from_another() {
        let seen = |from: &str, to: &str| seen_from(Path::new(from), Path::new(to));
        assert_eq!(seen("/a/b", "/a/b/c"), PathBuf::from("c"));
        assert_eq!(seen("/a/b", "/a/old"), PathBuf::from("../old"));
        assert_eq!(seen("/a/b/c", "/x"), PathBuf::from("../../../x"));
    }
}
