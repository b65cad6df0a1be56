//! `tw search`: a pattern in every content that snapshots have, in what came and went between them, in prompts and in issues.
//!
//! Each unique content is read once, however many snapshots and paths share it, on all cores; hits are told as soon as nothing
//! newer can be found, those of the newest state before the walk through all others. A hit in a file is a line (its path and text; equal ones in a file are told apart by their count) in all the
//! snapshots that have it, and names the first and the last of them. Promises to write nothing, and that damage hides nothing
//! else: what cannot be read is named. Leaves out an index: see `docs/performance.md`.

mod board;
mod content;
mod files;
mod found;
mod hit;
mod newest;
mod pattern;
mod plan;
mod runs;
mod texts;

use std::collections::HashSet;
use std::ffi::OsString;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::checkpoints::resolve_named_session;
use super::issues::desk::take_in_all;
use super::pathspec::Pathspec;
use super::timeline::{time, time_since};
use super::versions::{Files, Scope, States, Talks, Turns, Unreadable, Walked, staged, walk};
use crate::error::{Code, Error, Result};
use crate::git::objects::ObjectStore;
use crate::git::path::RepoPath;
use crate::git::threads::{self, Beside};
use crate::json::{self, OptionalText};
use crate::store::Store;
use board::{Board, Known};
use content::Depth;
use files::{Asked, Chosen, PathRuns};
use found::Waiting;
use newest::Seen;
use plan::Plan;
use texts::Limits;

pub use content::MOST as MOST_LINES;
pub use hit::{Change, Hit, Neighbour, Place, Removal};
pub use pattern::{Case, Pattern, PatternOptions};

json::fields! {
    /// The file whose content it is; absent for a directory's tree.
    UnreadablePath = "path",
}

/// What is told of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each of them, with this many lines around it.
    Lines {
        /// Before and after.
        context: usize,
    },
    /// The files, prompts and issues that have one.
    Files,
    /// How many each has.
    Counts,
}

impl Default for Shape {
    fn default() -> Self {
        Self::Lines { context: 0 }
    }
}

/// Search the past.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// What for.
    pub wanted: PatternOptions,
    /// Where; nothing given: in contents, or in diffs where a change is asked for.
    pub places: Vec<Place>,
    /// Of a diff only these.
    pub change: Option<Change>,
    /// Only in the files that these pathspecs take.
    pub paths: Vec<OsString>,
    /// Only in files that these let through.
    pub globs: Vec<String>,
    /// Only in what was taken at this time or later.
    pub since: Option<String>,
    /// Only in what was taken at this time or before.
    pub until: Option<String>,
    /// Only in what was taken for this session.
    pub session: Option<String>,
    /// Only in what was taken for this agent.
    pub agent: Option<String>,
    /// In which snapshots.
    pub scope: Scope,
    /// What is told.
    pub shape: Shape,
    /// At most this many hits.
    pub limit: Option<usize>,
}

/// What could not be looked through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Unread {
    /// The file.
    #[serde(flatten, with = "OptionalText::<UnreadablePath>")]
    pub path: Option<RepoPath>,
    /// The object.
    pub oid: String,
    /// Why.
    pub reason: String,
}

/// What is to be said when all hits were told.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Ended {
    /// True: there are more hits than were asked for.
    pub truncated: bool,
    /// Objects that could not be looked through.
    pub unreadable: Vec<Unread>,
    /// Sentences about records that could not be read.
    pub notices: Vec<String>,
}

/// Answer of `search`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Hits {
    /// Newest first.
    pub hits: Vec<Hit>,
    /// The rest.
    #[serde(flatten)]
    pub ended: Ended,
}

/// Takes hits as they come, newest first, and says whether to go on.
pub type Tell<'a> = &'a mut dyn FnMut(Vec<Hit>) -> ControlFlow<()>;

/// Searches, and gives all hits at once.
///
/// # Errors
/// As [`search`].
pub fn collect(ctx: &Context<'_>, request: &Search) -> Result<Hits> {
    let mut hits = Vec::new();
    let ended = search(ctx, request, &mut |more| {
        hits.extend(more);
        ControlFlow::Continue(())
    })?;
    Ok(Hits { hits, ended })
}

/// Searches, and tells hits as they are found.
///
/// # Errors
/// `USAGE` for a pattern, a glob, a path, a time or a combination that cannot be; `SESSION_NOT_FOUND`. What cannot be read in
/// the past is no error.
pub fn search(ctx: &Context<'_>, request: &Search, tell: Tell<'_>) -> Result<Ended> {
    let store = ctx.store()?;
    let places = places(request)?;
    let searching = Searching {
        store,
        pattern: Pattern::new(&request.wanted)?,
        limits: limits(ctx, store, request)?,
        states: States::read(ctx, store, request.scope)?,
        files: in_files(ctx, request)?,
        request,
        places,
    };
    let mut teller = Teller {
        ctx,
        tell,
        left: request.limit,
        is_new: true,
        ended: Ended::default(),
    };
    let invalid = searching.states.invalid.iter();
    let invalid = invalid.map(|(id, reason)| format!("'{id}' cannot be read: {reason}"));
    teller.ended.notices.extend(invalid);
    ctx.progress.begin("searching", None);
    let done = searching.run(ctx, &mut teller);
    teller.end_progress();
    done.map(|()| teller.ended)
}

/// Where to look.
fn places(request: &Search) -> Result<Vec<Place>> {
    let has = |place| request.places.contains(&place);
    if request.change.is_some() && !request.places.is_empty() && !has(Place::Diff) {
        return Err(
            Error::new(Code::Usage, "--added and --removed are about diffs")
                .hint("leave '--in' away, or add 'diff' to it"),
        );
    }
    let is_limited = !request.paths.is_empty() || !request.globs.is_empty();
    let no_files = !request.places.is_empty() && !has(Place::Content) && !has(Place::Diff);
    if is_limited && no_files {
        return Err(Error::new(
            Code::Usage,
            "a path or glob chooses files, and prompts and issues have none",
        )
        .hint("'--session' and '--since' choose among them"));
    }
    Ok(match (&request.places[..], request.change) {
        ([], Some(_)) => vec![Place::Diff],
        ([], None) => vec![Place::Content],
        (places, _) => places.to_vec(),
    })
}

fn limits(ctx: &Context<'_>, store: &Store, request: &Search) -> Result<Limits> {
    let since = request.since.as_deref().map(|word| time_since(ctx, word));
    let until = request.until.as_deref().map(|word| time(ctx, word));
    let session = request.session.as_deref();
    let session = session.map(|word| resolve_named_session(ctx, store, word));
    Ok(Limits {
        since: since.transpose()?,
        until: until.transpose()?,
        session: session.transpose()?,
        agent: request.agent.clone(),
    })
}

fn in_files(ctx: &Context<'_>, request: &Search) -> Result<Files> {
    Files::new(Pathspec::parse(ctx, &request.paths)?, &request.globs)
}

/// A search under way.
struct Searching<'a> {
    store: &'a Store,
    request: &'a Search,
    pattern: Pattern,
    places: Vec<Place>,
    limits: Limits,
    states: States,
    files: Files,
}

impl Searching<'_> {
    fn run(&self, ctx: &Context<'_>, teller: &mut Teller<'_, '_>) -> Result<()> {
        let mut waiting = Waiting::default();
        let has_files = self.wants(Place::Content) || self.wants(Place::Diff);
        let (objects, states, files) = (&self.store.objects, &self.states, &self.files);
        let (begun, talks) = std::thread::scope(|scope| {
            let about = (&self.pattern, self.depth(), &self.places[..]);
            let begin = move || begin(objects, states, files, about);
            let beginning = has_files.then(|| threads::beside(scope, begin));
            // Meanwhile: there may be a note for each of thousands of prompts.
            let talks = Talks::read(ctx, self.store);
            (beginning.map(Beside::wait), talks)
        });
        let talks = talks?;
        if self.wants(Place::Issue) {
            let said = take_in_all(ctx, self.store);
            teller.ended.notices.extend(said);
        }
        self.add_texts(&talks, &mut waiting, teller)?;
        if let Some((seen, walk)) = begun {
            let turns = Turns::new(&talks, states, ctx.env.now());
            let chosen = self.chosen();
            let asked = Asked {
                states,
                chosen: &chosen,
                places: &self.places,
                change: self.request.change,
            };
            let about = (&self.pattern, self.depth(), self.request.shape);
            let (first, told) = newest::hits(objects, about, &seen, &asked);
            let mut sorted = Waiting::default();
            for found in first {
                sorted.take(found, states, &turns);
            }
            if teller.tell(sorted.ready(None)).is_break() {
                return Ok(());
            }
            let all = || walked(objects, states, files, &self.places);
            let (plan, unreadable) = walk.unwrap_or_else(all);
            for one in unreadable {
                teller.add_unread(None, one.oid.to_string(), one.reason);
            }
            let before = Before {
                known: seen.known,
                told,
            };
            self.look_in_files(plan, &asked, &before, &turns, &mut waiting, teller);
        }
        // Nobody listens any more, when it broke off.
        let _ = teller.tell(waiting.ready(None));
        Ok(())
    }

    fn wants(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    fn add_texts(
        &self,
        talks: &Talks,
        waiting: &mut Waiting,
        teller: &mut Teller<'_, '_>,
    ) -> Result<()> {
        let mut hits = Vec::new();
        if self.wants(Place::Prompt) {
            hits.extend(texts::prompts(talks, &self.limits, &self.pattern));
            teller.ended.notices.extend(talks.unreadable.clone());
        }
        if self.wants(Place::Issue) {
            let (found, unreadable) = texts::issues(self.store, &self.limits, &self.pattern)?;
            hits.extend(found);
            teller.ended.notices.extend(unreadable);
        }
        let by_id = self.states.by_id();
        for hit in texts::shaped(hits, self.request.shape) {
            // One whose snapshot is not among those that are looked at stands where its time does.
            let position = by_id.get(&hit.last_snapshot).copied().unwrap_or_else(|| {
                let mut all = self.states.all.iter();
                let before = all.rposition(|state| state.created_at <= hit.at);
                before.unwrap_or(0)
            });
            waiting.add((position, position), hit);
        }
        Ok(())
    }

    fn look_in_files(
        &self,
        mut plan: Plan,
        asked: &Asked<'_>,
        before: &Before,
        turns: &Turns,
        waiting: &mut Waiting,
        teller: &mut Teller<'_, '_>,
    ) {
        let objects = &self.store.objects;
        plan.keep(|path| asked.chosen.touches(path));
        let (blobs, known) = (&plan.blobs, &before.known);
        Board::run(
            objects,
            &self.pattern,
            self.depth(),
            blobs,
            known,
            |board| {
                for (at, path) in plan.paths.iter().enumerate() {
                    let mut runs = PathRuns::default();
                    for step in &path.steps {
                        // Only after a worker died, which ends everything.
                        let Some(looked) = board.wait(step.blob) else {
                            return;
                        };
                        runs.take(step, looked.as_ref().as_ref().ok());
                        if let Err(reason) = looked.as_ref() {
                            let oid = step.version.node.oid.to_string();
                            teller.add_unread(Some(&path.path), oid, reason.clone());
                        }
                    }
                    let is_told = before.told.contains(&path.path);
                    for found in found::shaped(runs.hits(path, asked), self.request.shape) {
                        if !is_told || !found.is_newest(&self.states) {
                            waiting.take(found, &self.states, turns);
                        }
                    }
                    let next = plan.paths.get(at + 1);
                    let next = next.map(|next| (next.newest, &next.path));
                    if next.is_some() && teller.tell(waiting.ready(next)).is_break() {
                        return;
                    }
                }
            },
        );
    }

    fn depth(&self) -> Depth {
        match self.request.shape {
            Shape::Files if !self.wants(Place::Diff) => Depth::Any,
            Shape::Lines { context } => Depth::Lines { context },
            Shape::Files | Shape::Counts => Depth::Lines { context: 0 },
        }
    }

    fn chosen(&self) -> Chosen {
        let Limits {
            since,
            until,
            session,
            agent,
        } = &self.limits;
        if since.is_none() && until.is_none() && session.is_none() && agent.is_none() {
            return Chosen::all();
        }
        let asks_who = session.is_some() || agent.is_some();
        Chosen::new(&self.states, |position| {
            let state = &self.states.all[position];
            let (session, agent) = if asks_who {
                state.taker()
            } else {
                (None, None)
            };
            let who = (session.as_deref(), agent.as_deref());
            self.limits.take_in(&state.created_at, who.0, who.1)
        })
    }
}

/// What was done before the walk through all states.
struct Before {
    /// Contents that were looked through.
    known: Known,
    /// Paths whose hits of the newest state were told.
    told: HashSet<RepoPath>,
}

/// Looks through the newest state, or walks through all where hits of other places may come before its own.
fn begin(
    objects: &ObjectStore,
    states: &States,
    files: &Files,
    (pattern, depth, places): (&Pattern, Depth, &[Place]),
) -> (Seen, Option<(Plan, Vec<Unreadable>)>) {
    if places.iter().all(|place| *place == Place::Content) {
        return (newest::look(objects, states, files, pattern, depth), None);
    }
    let all = walked(objects, states, files, places);
    (Seen::default(), Some(all))
}

/// What is to be looked through, and the trees that could not be.
fn walked(
    objects: &ObjectStore,
    states: &States,
    files: &Files,
    places: &[Place],
) -> (Plan, Vec<Unreadable>) {
    let has = walk(objects, &states.trees(), files);
    let index = if places.contains(&Place::Content) {
        staged(objects, states, files)
    } else {
        Walked::default()
    };
    let plan = Plan::new(states, has.paths, index.paths, places);
    let unreadable = has.unreadable.into_iter().chain(index.unreadable);
    (plan, unreadable.collect())
}

/// Tells hits, no more than are asked for.
struct Teller<'a, 't> {
    ctx: &'a Context<'a>,
    tell: Tell<'t>,
    left: Option<usize>,
    /// Nothing was told yet.
    is_new: bool,
    ended: Ended,
}

impl Teller<'_, '_> {
    fn tell(&mut self, mut hits: Vec<Hit>) -> ControlFlow<()> {
        if self.ended.truncated {
            return ControlFlow::Break(());
        }
        if let Some(left) = &mut self.left {
            self.ended.truncated = hits.len() > *left;
            hits.truncate(*left);
            *left -= hits.len();
        }
        if !hits.is_empty() {
            self.end_progress();
            (self.tell)(hits)?;
        }
        if self.ended.truncated {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// A bar and hits would stand on one screen.
    fn end_progress(&mut self) {
        if std::mem::take(&mut self.is_new) {
            self.ctx.progress.end();
        }
    }

    fn add_unread(&mut self, path: Option<&RepoPath>, oid: String, reason: String) {
        let unread = Unread {
            path: path.cloned(),
            oid,
            reason,
        };
        if !self.ended.unreadable.contains(&unread) {
            self.ended.unreadable.push(unread);
        }
    }
}
