//! The turns of all sessions beside the states of the working trees: which of them lie between two states.

use std::collections::{BTreeMap, BTreeSet};

use crate::env::Moment;
use crate::error::Result;
use crate::ops::Context;
use crate::ops::versions::{Scope, States, Talks};
use crate::store::Store;
use crate::store::checkpoint::{Checkpoint, Kind, SessionNotes};
use crate::store::session::Sessions;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its end was noted: after the state at this place.
    Noted(usize),
    /// It was not: with the next prompt, or with the session.
    Taken(usize),
    /// In another working tree, or from the past in the present or the other way round: up to this place the states here were taken by
    /// then. What it did here before and after is not known.
    Elsewhere(usize),
    /// It goes on, as far as is known.
    Open,
}

/// What lies between the snapshot before a prompt and the end of what was done for it.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Its prompt.
    pub checkpoint: Checkpoint,
    /// The chain of states that it is in.
    pub chain: usize,
    /// The place of the snapshot before it.
    pub start: usize,
    /// Where it ends.
    pub end: End,
    /// Nobody said that it ended, and its session does not live any more.
    is_abandoned: bool,
}

/// A turn by its session and its number there.
pub type Name = (String, u64);

impl Turn {
    /// Its session, and its number there.
    pub fn name(&self) -> Name {
        (
            self.checkpoint.session_id.clone(),
            self.checkpoint.checkpoint_id,
        )
    }

    /// The place of the state in which its work is whole; None: what is there now.
    pub fn last(&self) -> Option<usize> {
        match self.end {
            End::Noted(at) | End::Taken(at) | End::Elsewhere(at) => Some(at),
            End::Open => None,
        }
    }

    /// Whether it went on between the state before this place and the one there.
    fn covers(&self, chain: usize, at: usize) -> bool {
        self.chain == chain && self.start < at && self.last().is_none_or(|end| at <= end)
    }
}

/// All states and turns.
pub struct Turns {
    /// The states.
    pub states: States,
    all: BTreeMap<Name, Turn>,
    /// What could not be read, in sentences.
    pub unreadable: Vec<String>,
}

impl Turns {
    /// Reads them.
    ///
    /// # Errors
    /// The refs cannot be listed.
    pub fn read(ctx: &Context<'_>, store: &Store) -> Result<Self> {
        let states = States::read(ctx, store, Scope::AllWorktrees)?;
        let talks = Talks::own(ctx, store)?;
        let sessions = (ctx.sessions(), ctx.env.now());
        let places = places(&states);
        let mut turns = BTreeMap::new();
        for notes in &talks.sessions {
            for checkpoint in notes.prompts() {
                if let Some(turn) = turn(&states, &places, &sessions, (notes, checkpoint)) {
                    turns.insert(turn.name(), turn);
                }
            }
        }
        Ok(Self {
            states,
            all: turns,
            unreadable: talks.unreadable,
        })
    }

    /// The turn that begins with a checkpoint, of whatever kind. None when its snapshot is not among the states.
    pub fn of(
        &self,
        ctx: &Context<'_>,
        notes: &SessionNotes,
        checkpoint: &Checkpoint,
    ) -> Option<Turn> {
        let places = places(&self.states);
        let sessions = (ctx.sessions(), ctx.env.now());
        turn(&self.states, &places, &sessions, (notes, checkpoint))
    }

    /// The turns of a session, oldest first.
    pub fn of_session(&self, session_id: &str) -> Vec<Turn> {
        let turns = self.all.values();
        turns
            .filter(|turn| turn.checkpoint.session_id == session_id)
            .cloned()
            .collect()
    }

    /// Those who may have made a change between the state before a place and the one there. A turn that was abandoned gives way to a
    /// later one, and a mark made by hand to an agent's.
    pub fn at(&self, chain: usize, at: usize) -> Vec<&Turn> {
        let turns = self.all.values();
        let mut there: Vec<&Turn> = turns.filter(|turn| turn.covers(chain, at)).collect();
        let latest = there.iter().map(|turn| turn.start).max();
        there.retain(|turn| !turn.is_abandoned || Some(turn.start) == latest);
        if there.iter().any(|turn| !turn.checkpoint.is_mark()) {
            there.retain(|turn| !turn.checkpoint.is_mark());
        }
        there
    }

    /// How many states a chain has: the place of what is there now.
    pub fn len(&self, chain: usize) -> usize {
        self.states
            .chains
            .get(chain)
            .map_or(0, |chain| chain.states.len())
    }
}

/// The places of states, by their ids.
type Places = BTreeMap<String, (usize, usize)>;

fn places(states: &States) -> Places {
    let all = states.all.iter();
    all.map(|state| (state.id.to_string(), state.place))
        .collect()
}

fn turn(
    states: &States,
    places: &Places,
    (sessions, now): &(Sessions, Moment),
    (notes, checkpoint): (&SessionNotes, &Checkpoint),
) -> Option<Turn> {
    let (chain, start) = *places.get(&checkpoint.snapshot_id)?;
    // The place, and whether it is in this chain.
    let place = |id: &str| {
        let (other, at) = *places.get(id)?;
        if other == chain {
            return Some((at, true)).filter(|_| at >= start);
        }
        let number = |place| states.all[states.position(place)].seq;
        let until = number((other, at));
        let taken = start..states.chains[chain].states.len();
        let last = taken.rev().find(|at| number((chain, *at)) <= until);
        Some((last.unwrap_or(start), false))
    };
    let id = checkpoint.checkpoint_id;
    let is_prompt = checkpoint.kind == Kind::Prompt;
    let ends = notes.turn_ends.iter();
    // A step belongs to the turn of the last prompt before it, and ends before that does.
    let of = if is_prompt {
        Some(id)
    } else {
        let earlier = notes.prompts().into_iter().map(|one| one.checkpoint_id);
        earlier.filter(|one| *one <= id).max()
    };
    let ended = ends
        .filter(|end| end.checkpoint_id.is_some() && end.checkpoint_id == of)
        .filter_map(|end| place(&end.snapshot_id))
        .max();
    let later = notes
        .checkpoints
        .iter()
        .filter(|one| one.checkpoint_id > id);
    let mut later = later.filter(|one| !is_prompt || one.kind == Kind::Prompt);
    let next = later.find_map(|one| place(&one.snapshot_id));
    let end_at =
        |(at, is_here), end: fn(usize) -> End| if is_here { end(at) } else { End::Elsewhere(at) };
    let end = match (ended, next) {
        (Some(ended), None) => end_at(ended, End::Noted),
        (Some(ended), Some(next)) if is_prompt || ended.0 <= next.0 => end_at(ended, End::Noted),
        // The next step begins where this one ends.
        (Some(_), Some(next)) => end_at(next, End::Noted),
        (None, Some(next)) => end_at(next, End::Taken),
        (None, None) => end_of_session(states, sessions, checkpoint, (chain, start))
            .map_or(End::Open, End::Taken),
    };
    let record = sessions.get(&checkpoint.session_id).ok().flatten();
    let is_live = record.is_some_and(|record| record.is_live(*now));
    Some(Turn {
        checkpoint: checkpoint.clone(),
        chain,
        start,
        end,
        is_abandoned: end == End::Open && !is_live,
    })
}

/// The first state taken when the session had ended, in which its last work is.
fn end_of_session(
    states: &States,
    sessions: &Sessions,
    checkpoint: &Checkpoint,
    (chain, start): (usize, usize),
) -> Option<usize> {
    let record = sessions.get(&checkpoint.session_id).ok().flatten()?;
    let ended_at = record.ended_at?;
    let taken = &states.chains.get(chain)?.states;
    // Times are kept in seconds: the prompt's own was taken before the end, whatever they say.
    let at = states.taken_since(chain, start + 1, &ended_at);
    (at < taken.len()).then_some(at)
}

/// The names of turns.
pub fn names(turns: &[Turn]) -> BTreeSet<Name> {
    turns.iter().map(Turn::name).collect()
}
