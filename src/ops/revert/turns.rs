//! The turns of all sessions beside the states of the working trees: which of them lie between two states.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::Result;
use crate::ops::Context;
use crate::ops::versions::{
    Beside, ChainPlace, Claim, Forgotten, Scope, States, Talks, prevailing,
};
use crate::store::Store;
use crate::store::checkpoint::{Checkpoint, Kind, SessionNotes, TurnEnd};
use crate::store::id::IdKind;
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
    /// Its snapshot, or that of the next prompt, was forgotten: at this place or before.
    Forgotten(usize),
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
    /// The snapshot before it was forgotten, and this is where it may have begun.
    is_forgotten: bool,
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

    /// Whether it is known between which states its work lies.
    pub fn is_known(&self) -> bool {
        !matches!(self.end, End::Elsewhere(_) | End::Forgotten(_))
    }

    /// The place of the state in which its work is whole, or may be; None: what is there now.
    pub fn last(&self) -> Option<usize> {
        match self.end {
            End::Noted(at) | End::Taken(at) | End::Elsewhere(at) | End::Forgotten(at) => Some(at),
            End::Open => None,
        }
    }

    /// Whether it went on between the state before this place and the one there.
    fn covers(&self, chain: usize, at: usize) -> bool {
        self.chain == chain && self.start < at && self.last().is_none_or(|end| at <= end)
    }

    fn claim(&self) -> Claim {
        Claim {
            start: (!self.is_forgotten).then_some(self.start),
            is_abandoned: self.is_abandoned,
            is_mark: self.checkpoint.is_mark(),
        }
    }
}

impl From<Forgotten> for Turn {
    fn from(turn: Forgotten) -> Self {
        Self {
            checkpoint: Checkpoint::clone(&turn.prompt),
            chain: turn.chain,
            start: turn.start,
            end: End::Forgotten(turn.end.unwrap_or(usize::MAX)),
            is_forgotten: true,
            is_abandoned: false,
        }
    }
}

/// All states and turns.
pub struct Turns {
    /// The states.
    pub states: States,
    all: BTreeMap<Name, Turn>,
    /// Those of which no snapshot says where they began, as far as it is known where they may have.
    forgotten: Vec<Turn>,
    /// Prompts whose snapshots are not among the states.
    gone: Vec<Checkpoint>,
    /// What could not be read, in sentences.
    pub unreadable: Vec<String>,
}

impl Turns {
    /// Reads the states and turns of all worktrees.
    ///
    /// # Errors
    /// The refs cannot be listed.
    pub fn read(ctx: &Context<'_>, store: &Store) -> Result<Self> {
        let states = States::read(ctx, store, Scope::AllWorktrees)?;
        let talks = Talks::own(ctx, store)?;
        let reader = Reader::new(ctx, store, &states);
        let (mut all, mut gone) = (BTreeMap::new(), Vec::new());
        let mut forgotten = Vec::new();
        for notes in &talks.sessions {
            for checkpoint in notes.prompts() {
                match reader.turn(notes, checkpoint) {
                    Some(turn) => drop(all.insert(turn.name(), turn)),
                    None => gone.push(checkpoint.clone()),
                }
            }
            let beside = (&states, &reader.places);
            let beside = Beside::new(&talks, beside, (notes, false), ctx.env.now());
            forgotten.extend(beside.forgotten().into_iter().map(Turn::from));
        }
        drop(reader);
        Ok(Self {
            states,
            all,
            forgotten,
            gone,
            unreadable: talks.unreadable,
        })
    }

    /// The turn that begins with a checkpoint, of whatever kind. None when its snapshot is not among the states.
    pub fn of(
        &self,
        (ctx, store): (&Context<'_>, &Store),
        notes: &SessionNotes,
        checkpoint: &Checkpoint,
    ) -> Option<Turn> {
        Reader::new(ctx, store, &self.states).turn(notes, checkpoint)
    }

    /// The prompts of a session whose snapshots are not there any more.
    pub fn gone_of(&self, session_id: &str) -> impl Iterator<Item = &Checkpoint> {
        let gone = self.gone.iter();
        gone.filter(move |one| one.session_id == session_id)
    }

    /// The turns of a session, oldest first.
    pub fn of_session(&self, session_id: &str) -> Vec<Turn> {
        let turns = self.all.values();
        turns
            .filter(|turn| turn.checkpoint.session_id == session_id)
            .cloned()
            .collect()
    }

    /// Those who may have made a change between the state before a place and the one there.
    pub fn at(&self, chain: usize, at: usize) -> Vec<&Turn> {
        let turns = self.all.values().chain(&self.forgotten);
        let there = turns.filter(|turn| turn.covers(chain, at)).collect();
        prevailing(there, |turn| turn.claim())
    }

    /// How many states a chain has: the place of what is there now.
    pub fn len(&self, chain: usize) -> usize {
        self.states
            .chains
            .get(chain)
            .map_or(0, |chain| chain.states.len())
    }
}

/// Where a snapshot is that notes name, beside a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// At this place of the turn's chain.
    Here(usize),
    /// In another chain: up to this place the states of the turn's own were taken by then.
    Away(usize),
    /// It was forgotten, or cannot be read.
    Gone,
}

impl Where {
    fn place(self) -> Option<usize> {
        match self {
            Self::Here(at) | Self::Away(at) => Some(at),
            Self::Gone => None,
        }
    }

    fn end(self, end: fn(usize) -> End) -> Option<End> {
        match self {
            Self::Here(at) => Some(end(at)),
            Self::Away(at) => Some(End::Elsewhere(at)),
            Self::Gone => None,
        }
    }
}

/// Puts turns beside the states.
struct Reader<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    states: &'a States,
    /// Positions of states by their ids.
    places: HashMap<String, usize>,
    sessions: Sessions,
    /// The numbers of all snapshots, backups and experiments.
    numbers: OnceCell<BTreeSet<u64>>,
}

impl<'a> Reader<'a> {
    fn new(ctx: &'a Context<'a>, store: &'a Store, states: &'a States) -> Self {
        Self {
            ctx,
            store,
            states,
            places: states.by_id(),
            sessions: ctx.sessions(),
            numbers: OnceCell::new(),
        }
    }

    fn place(&self, id: &str) -> Option<ChainPlace> {
        Some(self.states.all[*self.places.get(id)?].place)
    }

    /// None: its snapshot is not among the states.
    fn turn(&self, notes: &SessionNotes, checkpoint: &Checkpoint) -> Option<Turn> {
        let place = self.place(&checkpoint.snapshot_id)?;
        let end = self.end(notes, checkpoint, place);
        let record = self.sessions.get(&checkpoint.session_id).ok().flatten();
        let is_live = record.is_some_and(|record| record.is_live(self.ctx.env.now()));
        Some(Turn {
            checkpoint: checkpoint.clone(),
            chain: place.chain,
            start: place.at,
            end,
            is_forgotten: false,
            is_abandoned: end == End::Open && !is_live,
        })
    }

    fn end(&self, notes: &SessionNotes, checkpoint: &Checkpoint, from: ChainPlace) -> End {
        let id = checkpoint.checkpoint_id;
        let is_prompt = checkpoint.kind == Kind::Prompt;
        let mut later = notes
            .checkpoints
            .iter()
            .filter(|one| one.checkpoint_id > id && (!is_prompt || one.kind == Kind::Prompt));
        let next = later.find_map(|one| Some((one, self.find(from, &one.snapshot_id)?)));
        let known = match (self.noted(notes, checkpoint, from), next) {
            (None, None) => return self.end_of_session(checkpoint, from),
            (None, Some((next, at))) => at.end(End::Taken).ok_or(&next.created_at),
            (Some((end, at)), None) => at.end(End::Noted).ok_or(&end.created_at),
            (Some((end, at)), Some((next, next_at))) => {
                let first = match (at.place(), next_at.place()) {
                    (Some(end), Some(next)) if is_prompt || end <= next => at,
                    // The next step begins where this one ends.
                    (Some(_), Some(_)) => next_at,
                    (None, Some(_)) if next.kind == Kind::Step => next_at,
                    (Some(_), None) if next.kind == Kind::Prompt => at,
                    _ => Where::Gone,
                };
                let at = (&end.created_at).min(&next.created_at);
                first.end(End::Noted).ok_or(at)
            }
        };
        known.unwrap_or_else(|at| {
            End::Forgotten(self.states.first_after(from.chain, at).max(from.at))
        })
    }

    /// The end of the turn that a checkpoint belongs to, as it was noted.
    fn noted<'n>(
        &self,
        notes: &'n SessionNotes,
        checkpoint: &Checkpoint,
        from: ChainPlace,
    ) -> Option<(&'n TurnEnd, Where)> {
        let turn = notes.turn_of(checkpoint.checkpoint_id)?;
        let last = notes.ends_of(turn).next_back()?;
        if last.goes_on {
            return None;
        }
        let ends = notes.ends_of(turn);
        let ends = ends.filter_map(|end| Some((end, self.find(from, &end.snapshot_id)?)));
        // Of several the last one counts, also where nobody knows any more what it was.
        let order = |(_, at): &(&TurnEnd, Where)| (at.place(), matches!(at, Where::Here(_)));
        ends.reduce(|one, other| match other.1 {
            Where::Here(_) | Where::Away(_) if order(&other) < order(&one) => one,
            _ => other,
        })
    }

    /// None: it was taken before the turn.
    fn find(&self, ChainPlace { chain, at: start }: ChainPlace, id: &str) -> Option<Where> {
        let Some(found) = self.place(id) else {
            return Some(Where::Gone);
        };
        if found.chain == chain {
            return Some(Where::Here(found.at)).filter(|_| found.at >= start);
        }
        let states = self.states;
        let number = |place| states.all[states.position(place)].seq;
        let until = number(found);
        let taken = start..states.chains[chain].states.len();
        let last = taken
            .rev()
            .find(|at| number(ChainPlace::new(chain, *at)) <= until);
        Some(Where::Away(last.unwrap_or(start)))
    }

    /// The first state taken when the session had ended, in which its last work is.
    fn end_of_session(&self, checkpoint: &Checkpoint, from: ChainPlace) -> End {
        let ChainPlace { chain, at: start } = from;
        let record = self.sessions.get(&checkpoint.session_id).ok().flatten();
        let Some(ended_at) = record.and_then(|record| record.ended_at) else {
            return End::Open;
        };
        // Times are kept in seconds: the prompt's own was taken before the end, whatever they say.
        let at = self.states.taken_since(chain, start + 1, &ended_at);
        if at >= self.states.chains[chain].states.len() {
            End::Open
        } else if self.is_behind_a_gap(ChainPlace::new(chain, at)) {
            End::Forgotten(at)
        } else {
            End::Taken(at)
        }
    }

    /// Whether a state that was taken between this one and the one before it is not there any more.
    fn is_behind_a_gap(&self, ChainPlace { chain, at }: ChainPlace) -> bool {
        let number = |at| self.states.all[self.states.position(ChainPlace::new(chain, at))].seq;
        let (before, this) = (number(at - 1), number(at));
        let numbers = self.numbers.get_or_init(|| {
            let all = self.store.summaries(&IdKind::ALL).unwrap_or_default();
            all.found.into_iter().map(|summary| summary.seq).collect()
        });
        let there = numbers.range(before + 1..this.max(before + 1)).count();
        (there as u64) < this.saturating_sub(before + 1)
    }
}

/// The names of turns.
pub fn names(turns: &[Turn]) -> BTreeSet<Name> {
    turns.iter().map(Turn::name).collect()
}
