//! The snapshots that are searched, from old to new, and whose change each one is.

use super::{Bisect, Origin, Point, PointPrompt};
use crate::error::{Code, Error, Result};
use crate::ops::swap::recover::Recovery;
use crate::ops::versions::{Scope, States, Talks, Turn, Turns};
use crate::ops::{Context, address, checkpoints, request, snapshots};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::stored::Stored;
use crate::store::trigger::Trigger;

/// The snapshots of this worktree between the two ends.
pub(super) struct Snapshots {
    pub states: States,
    turns: Turns,
    talks: Talks,
    /// Positions in the states, from old to new.
    pub line: Vec<usize>,
    /// Whether the first of them was named, or is the first of a session.
    pub is_bounded: bool,
}

impl Snapshots {
    /// Finds the ends. Where the present is one, a snapshot of it is taken unless there is one.
    pub fn between(ctx: &Context<'_>, store: &Store, request: &Bisect) -> Result<Self> {
        let session = request.session.as_deref();
        let session = session
            .map(|word| checkpoints::resolve_session(ctx, store, Some(word)))
            .transpose()?;
        let newer = newer_end(ctx, store, request, session.is_some())?;
        let older = request
            .older()
            .map(|word| address::resolve(ctx, store, word));
        let older = older.transpose()?;
        let states = States::read(ctx, store, Scope::Here)?;
        let talks = Talks::read(ctx, store)?;
        let turns = Turns::new(&talks, &states, ctx.env.now());
        let mut line: Vec<usize> = match &session {
            Some(session) => of_session(&states, &talks, session),
            None => (0..states.all.len()).collect(),
        };
        // A worktree of this name in another repository may have taken some that were fetched.
        let is_own = |at: &usize| states.chains[states.all[*at].place.chain].is_here;
        line.retain(is_own);
        let place = |stored: &Stored| {
            let found = states.all.iter().position(|state| state.id == stored.id);
            let found = found.filter(is_own);
            found.ok_or_else(|| not_in_line(&stored.id))
        };
        if let Some(newer) = &newer {
            let last = place(newer)?;
            line.retain(|at| *at < last);
            line.push(last);
        }
        if let Some(older) = &older {
            let first = place(older)?;
            line.retain(|at| *at > first);
            line.insert(0, first);
            if line.len() < 2 || newer.as_ref().is_some_and(|newer| older.id == newer.id) {
                return Err(wrong_order(request));
            }
        }
        Ok(Self {
            is_bounded: older.is_some() || session.is_some(),
            states,
            turns,
            talks,
            line,
        })
    }

    /// A place of the line as readers see it.
    pub fn point(&self, at: usize) -> Point {
        let state = &self.states.all[self.line[at]];
        let owners = self.turns.before(state.place);
        let turns = owners.turns.as_slice();
        let mut prompts: Vec<PointPrompt> = turns.iter().map(|turn| self.prompt(turn)).collect();
        let (origin, one) = if owners.is_certain() {
            (Origin::Prompt, prompts.pop())
        } else if turns.is_empty() && !owners.or_forgotten {
            (Origin::Between, None)
        } else {
            (Origin::Ambiguous, None)
        };
        let is_open = origin == Origin::Ambiguous;
        let one = one.as_ref();
        Point {
            snapshot_id: state.id.to_string(),
            at: state.created_at.clone(),
            origin,
            agent: one.and_then(|one| one.agent.clone()),
            session_id: one.map(|one| one.session_id.clone()),
            checkpoint_id: one.map(|one| one.checkpoint_id),
            prompt: one.and_then(|one| one.prompt.clone()),
            candidates: prompts,
            or_between: is_open && owners.or_between,
            or_forgotten: is_open && owners.or_forgotten,
            is_of_head: turns.iter().any(|turn| turn.is_of_head),
        }
    }

    fn prompt(&self, turn: &Turn) -> PointPrompt {
        let prompt = &turn.prompt;
        let record = self.talks.record(&prompt.session_id);
        PointPrompt {
            session_id: prompt.session_id.clone(),
            agent: record.and_then(|record| record.agent),
            checkpoint_id: prompt.checkpoint_id,
            prompt: prompt.prompt.clone(),
        }
    }

    /// The id of a place.
    pub fn id(&self, at: usize) -> SnapshotId {
        self.states.all[self.line[at]].id
    }
}

/// The end that was named; else the present, of which a snapshot is taken. None: the last of a session.
fn newer_end(
    ctx: &Context<'_>,
    store: &Store,
    request: &Bisect,
    in_session: bool,
) -> Result<Option<Stored>> {
    if let Some(word) = request.newer() {
        return address::resolve(ctx, store, word).map(Some);
    }
    if in_session {
        return Ok(None);
    }
    let (present, _) = present(ctx, store)?;
    Ok(Some(present))
}

/// A snapshot of the working tree as it is, and what was said with it.
pub(super) fn present(ctx: &Context<'_>, store: &Store) -> Result<(Stored, Recovery)> {
    let taken = snapshots::take(
        ctx,
        &request::Take {
            message: Some("before bisect".to_owned()),
            if_changed: true,
            trigger: Trigger::Bisect,
            // It was asked at the beginning.
            force: true,
            ..request::Take::default()
        },
    )?;
    let said = Recovery(taken.notices);
    match address::resolve(ctx, store, &taken.snapshot.id) {
        Ok(stored) => Ok((stored, said)),
        Err(error) => Err(said.with(error)),
    }
}

/// What was taken for a session, and the first after its last prompt, where the end of that turn was not noted.
fn of_session(states: &States, talks: &Talks, session: &str) -> Vec<usize> {
    let notes = talks.sessions.iter();
    let notes = notes.filter(|notes| {
        let first = notes.checkpoints.first();
        first.is_some_and(|first| first.session_id == session)
    });
    let mut prompts: Vec<&str> = Vec::new();
    let mut ends: Vec<&str> = Vec::new();
    for notes in notes {
        prompts.extend(notes.checkpoints.iter().map(|one| one.snapshot_id.as_str()));
        ends.extend(notes.turn_ends.iter().map(|one| one.snapshot_id.as_str()));
    }
    let mut line = Vec::new();
    let mut is_open = false;
    for (at, state) in states.all.iter().enumerate() {
        let id = state.id.to_string();
        let ended = ends.contains(&id.as_str());
        let asked = prompts.contains(&id.as_str());
        let taken_for = state.taker().0.as_deref() == Some(session);
        if ended || asked || taken_for || is_open {
            line.push(at);
            is_open = asked || (is_open && taken_for && !ended);
        }
    }
    line
}

fn not_in_line(id: &SnapshotId) -> Error {
    let message = format!("'{id}' is not a snapshot taken in the present of this worktree");
    Error::new(Code::Usage, message).hint("'tw list' shows those that can be searched")
}

fn wrong_order(request: &Bisect) -> Error {
    let (older, newer) = if request.find_good {
        ("--bad", "--good")
    } else {
        ("--good", "--bad")
    };
    let message = format!("the snapshot of {older} must be older than that of {newer}");
    let error = Error::new(Code::Usage, message);
    if request.find_good {
        error
    } else {
        error.hint("--find-good searches for the snapshot that fixed it")
    }
}
