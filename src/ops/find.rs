//! `tw find`: which contents a path has had, in which snapshots, and whose turn made each.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::pathspec::Pathspec;
use super::versions::{
    ChainPlace, Files, PathVersions, Scope, States, Talks, Turns, Version, staged, walk,
};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::path::{self, RepoPath};
use crate::json::{self, Text};
use crate::store::Store;
use crate::text::typed_path;

json::fields! {
    PathField = "path",
}

/// Find the versions of paths.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// Pathspecs.
    pub paths: Vec<OsString>,
    /// In which snapshots.
    pub scope: Scope,
}

/// A content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PathVersion {
    /// The path.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// Its blob.
    pub oid: String,
    /// Git mode in octal.
    pub mode: String,
    /// How large it is; null when it is not there any more.
    pub bytes: Option<u64>,
    /// The first snapshot that has it.
    pub first_snapshot: String,
    /// When that was taken: RFC 3339, UTC.
    pub first_at: String,
    /// The last one that has it.
    pub last_snapshot: String,
    /// When that was taken: RFC 3339, UTC.
    pub last_at: String,
    /// How many have it.
    pub snapshots: usize,
    /// The checkpoint in whose turn it was made; null where that is not known, or was nobody's turn.
    pub checkpoint: Option<u64>,
    /// That checkpoint's session.
    pub session_id: Option<String>,
    /// What was asked in that turn, redacted.
    pub prompt: Option<String>,
    /// True: somebody after that turn may have made it as well, as its end was not noted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub or_between: bool,
    /// True: no snapshot's files have it there, its index has.
    pub staged: bool,
}

/// Answer of `find`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundVersions {
    /// By path, newest first.
    pub versions: Vec<PathVersion>,
    /// Sentences about what could not be read.
    pub notices: Vec<String>,
    /// Whether it was asked from a directory below the root, from which the paths do not begin.
    #[serde(skip)]
    pub below_root: bool,
}

/// Finds the versions of paths, each content once.
///
/// # Errors
/// `PATH_NOT_FOUND` when no snapshot has any; `USAGE` for what is no pathspec.
pub fn find(ctx: &Context<'_>, request: &Find) -> Result<FoundVersions> {
    let store = ctx.store()?;
    let files = Files::new(Pathspec::parse(ctx, &request.paths)?, &[])?;
    let states = States::read(ctx, store, request.scope)?;
    let talks = Talks::read(ctx, store)?;
    let turns = Turns::new(&talks, &states, ctx.env.now());
    let walked = walk(&store.objects, &states.trees(), &files);
    let index = staged(&store.objects, &states, &files);
    let mut found = Versions {
        states: &states,
        turns: &turns,
        store,
        known: HashMap::new(),
    };
    for (paths, staged) in [(walked.paths, false), (index.paths, true)] {
        for one in paths {
            found.take(one, staged);
        }
    }
    let invalid = states.invalid.iter();
    let invalid = invalid.map(|(id, reason)| format!("'{id}' cannot be read: {reason}"));
    let unreadable = walked.unreadable.into_iter().chain(index.unreadable);
    let unreadable = unreadable.map(|one| format!("not looked into: {}", one.reason));
    let notices = invalid.chain(unreadable).chain(talks.unreadable.clone());
    let versions = found.sorted();
    if versions.is_empty() {
        return Err(not_found(request));
    }
    Ok(FoundVersions {
        versions,
        notices: notices.collect(),
        below_root: ctx.cwd != ctx.repo.worktree_root(),
    })
}

fn not_found(request: &Find) -> Error {
    let words: Vec<String> = request
        .paths
        .iter()
        .map(|word| format!("'{}'", path::display(word.as_encoded_bytes())))
        .collect();
    let message = format!("no snapshot has {}", words.join(" or "));
    let error = Error::new(Code::PathNotFound, message);
    if request.scope == Scope::All {
        error.hint("'tw show' tells what was not captured")
    } else {
        let words = request.paths.iter().map(|word| typed_path(Path::new(word)));
        error.hint(format!(
            "'tw find --all {}' looks at backups and experiments, too, of every worktree",
            words.collect::<Vec<_>>().join(" ")
        ))
    }
}

/// A content in all the states that have it.
struct Spread {
    version: Version,
    first: (usize, ChainPlace),
    last: usize,
    count: usize,
    staged: bool,
}

/// The contents that were found, by path.
struct Versions<'a> {
    states: &'a States,
    turns: &'a Turns,
    store: &'a Store,
    known: HashMap<(RepoPath, Oid), Spread>,
}

impl Versions<'_> {
    fn take(&mut self, one: PathVersions, staged: bool) {
        for version in one.versions {
            let place = version.first();
            let first = (self.states.position(place), place);
            let last = self.states.position(version.last());
            let count = version.to - version.from + 1;
            let key = (one.path.clone(), version.node.oid);
            let Some(spread) = self.known.get_mut(&key) else {
                let spread = Spread {
                    version,
                    first,
                    last,
                    count,
                    staged,
                };
                self.known.insert(key, spread);
                continue;
            };
            // What files have is told of by them.
            if spread.staged == staged {
                spread.first = spread.first.min(first);
                spread.count += count;
                if last >= spread.last {
                    (spread.last, spread.version) = (last, version);
                }
            }
        }
    }

    fn sorted(self) -> Vec<PathVersion> {
        let Self {
            states,
            turns,
            store,
            known,
        } = self;
        let mut known: Vec<_> = known.into_iter().collect();
        known.sort_by(|((a, _), one), ((b, _), other)| {
            let newest = |spread: &Spread| Reverse((spread.last, spread.first.0, !spread.staged));
            a.cmp(b).then_with(|| newest(one).cmp(&newest(other)))
        });
        let told = known.into_iter().map(|((path, oid), spread)| {
            let (first, place) = spread.first;
            let made = !spread.staged && states.chains[place.chain].is_present;
            let owners = turns.before(place);
            let turn = owners.turn().filter(|_| made);
            let (first, last) = (&states.all[first], &states.all[spread.last]);
            PathVersion {
                path,
                oid: oid.to_string(),
                mode: format!("{:06o}", spread.version.node.mode),
                bytes: store.objects.blob_size(oid),
                first_snapshot: first.id.to_string(),
                first_at: first.created_at.clone(),
                last_snapshot: last.id.to_string(),
                last_at: last.created_at.clone(),
                snapshots: spread.count,
                checkpoint: turn.map(|turn| turn.prompt.checkpoint_id),
                session_id: turn.map(|turn| turn.prompt.session_id.clone()),
                prompt: turn.and_then(|turn| turn.prompt.prompt.clone()),
                or_between: turn.is_some() && owners.or_between,
                staged: spread.staged,
            }
        });
        told.collect()
    }
}
