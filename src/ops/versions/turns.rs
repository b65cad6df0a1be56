//! Whose turn a change between two states fell into.
//!
//! A prompt's snapshot is taken before it is answered, and the turn lasts until its end was noted, the session was asked again, or
//! it ended. A change that only one turn can have made is that turn's. Of turns that overlap none is named, but that one whose
//! end nobody noted gives way to a later one, and a mark made by hand to an agent's. What lies between turns is nobody's.

use std::collections::HashMap;
use std::sync::Arc;

use super::States;
use super::of_head::Head;
use crate::error::Result;
use crate::ops::Context;
use crate::store::Store;
use crate::store::checkpoint::{self, Checkpoint, SessionNotes};
use crate::store::names::{Record, RecordKind};
use crate::store::session::{SessionRecord, Sessions};

/// What the notes of every session say, and what cannot be read of them.
#[derive(Debug, Default)]
pub struct Talks {
    /// In no order.
    pub sessions: Vec<SessionNotes>,
    /// In a member of a workspace: those of its head, with the snapshots that the member has of them.
    of_head: Vec<SessionNotes>,
    /// Sentences.
    pub unreadable: Vec<String>,
    registers: Vec<Sessions>,
}

impl Talks {
    /// Reads those of this repository.
    ///
    /// # Errors
    /// The refs cannot be listed.
    pub fn own(ctx: &Context<'_>, store: &Store) -> Result<Self> {
        let mut talks = Self {
            registers: vec![ctx.sessions()],
            ..Self::default()
        };
        talks.sessions = talks.notes(store)?;
        Ok(talks)
    }

    /// Reads them all, those of a workspace's head, too.
    ///
    /// # Errors
    /// The refs cannot be listed.
    pub fn read(ctx: &Context<'_>, store: &Store) -> Result<Self> {
        let mut talks = Self::own(ctx, store)?;
        if let Err(error) = talks.add_head(ctx) {
            talks.unreadable.push(error.message().to_owned());
        }
        Ok(talks)
    }

    fn add_head(&mut self, ctx: &Context<'_>) -> Result<()> {
        let Some(head) = Head::open(ctx)? else {
            return Ok(());
        };
        self.registers.push(head.ctx.sessions());
        let mut all = self.notes(head.ctx.store()?)?;
        for notes in &mut all {
            head.translate(notes)?;
        }
        self.of_head = all;
        Ok(())
    }

    fn notes(&mut self, store: &Store) -> Result<Vec<SessionNotes>> {
        let mut all = Vec::new();
        for name in store.record_names(RecordKind::Sessions)? {
            let Record::Session(session) = name else {
                continue;
            };
            match checkpoint::read(store, &session) {
                Ok(notes) => {
                    self.unreadable.extend(notes.invalid.iter().cloned());
                    all.push(notes);
                }
                Err(error) => self.unreadable.push(error.message().to_owned()),
            }
        }
        Ok(all)
    }

    /// Whose turns may lie between the states.
    pub fn all(&self) -> impl Iterator<Item = &SessionNotes> {
        self.sessions.iter().chain(&self.of_head)
    }

    /// The record of a session.
    pub fn record(&self, session_id: &str) -> Option<SessionRecord> {
        let mut registers = self.registers.iter();
        registers.find_map(|register| register.get(session_id).ok().flatten())
    }

    /// As [`Self::all`], and whether it is the head of the workspace that has them.
    fn by_repository(&self) -> impl Iterator<Item = (&SessionNotes, bool)> {
        let own = self.sessions.iter().map(|notes| (notes, false));
        own.chain(self.of_head.iter().map(|notes| (notes, true)))
    }
}

/// The prompt of a turn.
#[derive(Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The session.
    pub session_id: String,
    /// Its number there.
    pub checkpoint_id: u64,
    /// What was asked, redacted.
    pub text: Option<String>,
    /// The session is one of the workspace's head: here it has no name.
    pub is_of_head: bool,
}

/// Turns by the states between which they lie.
#[derive(Debug, Default)]
pub struct Turns {
    /// Of each chain, by the place of the later of two states: those that a change there may be of.
    chains: Vec<Vec<Vec<Arc<Prompt>>>>,
}

/// A turn in a chain: what changed after `start`, up to `end`.
struct Turn {
    start: usize,
    end: Option<usize>,
    is_mark: bool,
    prompt: Arc<Prompt>,
}

impl Turns {
    /// Puts the turns of all sessions beside the states.
    pub fn new(talks: &Talks, states: &States) -> Self {
        let places = states.by_id();
        let place = |id: &str| places.get(id).map(|at| states.all[*at].place);
        let mut turns: Vec<Vec<Turn>> = states.chains.iter().map(|_| Vec::new()).collect();
        for (notes, is_of_head) in talks.by_repository() {
            let prompts = notes.prompts();
            for (nth, one) in prompts.iter().enumerate() {
                let Some((chain, start)) = place(&one.snapshot_id) else {
                    continue;
                };
                let id = one.checkpoint_id;
                let ended = notes.turn_ends.iter();
                let ended = ended.filter(|end| end.checkpoint_id == Some(id));
                let ended = ended.map(|end| end.snapshot_id.as_str()).next_back();
                let next = prompts.get(nth + 1).map(|next| next.snapshot_id.as_str());
                let in_chain = |id: &str| place(id).filter(|(other, _)| *other == chain);
                let end = ended.or(next).and_then(in_chain).map(|(_, at)| at);
                let end = end.or_else(|| end_of_session(talks, one, states, (chain, start)));
                turns[chain].push(Turn {
                    start,
                    end,
                    is_mark: one.is_mark(),
                    prompt: Arc::new(Prompt {
                        session_id: one.session_id.clone(),
                        checkpoint_id: id,
                        text: one.prompt.clone(),
                        is_of_head,
                    }),
                });
            }
        }
        let chains = turns.into_iter().zip(&states.chains);
        let chains = chains.map(|(turns, chain)| spread(turns, chain.states.len()));
        Self {
            chains: chains.collect(),
        }
    }

    /// Whose turn it was between the state before this place and the one there; None also where it may be more than one's.
    pub fn before(&self, place: (usize, usize)) -> Option<&Prompt> {
        match self.candidates(place) {
            [one] => Some(one),
            _ => None,
        }
    }

    /// All whose turn it may have been there.
    pub fn candidates(&self, (chain, at): (usize, usize)) -> &[Arc<Prompt>] {
        let there = self.chains.get(chain).and_then(|chain| chain.get(at));
        there.map_or(&[], Vec::as_slice)
    }
}

/// The first state taken when the session had ended, in which its last work is.
fn end_of_session(
    talks: &Talks,
    of: &Checkpoint,
    states: &States,
    (chain, start): (usize, usize),
) -> Option<usize> {
    let record = talks.record(&of.session_id)?;
    let ended_at = record.ended_at?;
    // Times are kept in seconds: the prompt's own was taken before the end, whatever they say.
    Some(states.taken_since(chain, start + 1, &ended_at))
}

/// For each place of a chain the turns that it may lie in.
fn spread(mut turns: Vec<Turn>, length: usize) -> Vec<Vec<Arc<Prompt>>> {
    turns.sort_by_key(|turn| turn.start);
    let mut starting: HashMap<usize, Vec<Turn>> = HashMap::new();
    for turn in turns {
        starting.entry(turn.start + 1).or_default().push(turn);
    }
    let mut open: Vec<Turn> = Vec::new();
    (0..length)
        .map(|at| {
            open.extend(starting.remove(&at).unwrap_or_default());
            open.retain(|turn| turn.end.is_none_or(|end| at <= end));
            let latest = open.iter().map(|turn| turn.start).max();
            let mut candidates: Vec<&Turn> = open
                .iter()
                .filter(|turn| turn.end.is_some() || Some(turn.start) == latest)
                .collect();
            if candidates.iter().any(|turn| !turn.is_mark) {
                candidates.retain(|turn| !turn.is_mark);
            }
            let prompts = candidates.into_iter();
            prompts.map(|turn| Arc::clone(&turn.prompt)).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(turns: &[(usize, Option<usize>)], length: usize) -> String {
        let turns = turns.iter().zip(0..).map(|((start, end), n)| Turn {
            start: *start,
            end: *end,
            is_mark: false,
            prompt: Arc::new(Prompt {
                session_id: String::new(),
                checkpoint_id: n,
                text: None,
                is_of_head: false,
            }),
        });
        let spread = spread(turns.collect(), length);
        let letter = |there: &Vec<Arc<Prompt>>| match there.as_slice() {
            [] => "-".to_owned(),
            [one] => one.checkpoint_id.to_string(),
            _ => "?".to_owned(),
        };
        spread.iter().map(letter).collect()
    }

    #[test]
    fn a_change_is_of_the_one_turn_that_it_lies_in() {
        assert_eq!(said(&[(0, Some(2)), (2, Some(3))], 6), "-001--");
        assert_eq!(said(&[(1, None)], 5), "--000");
    }

    #[test]
    fn of_turns_that_overlap_none_is_named_unless_one_was_left_open() {
        assert_eq!(said(&[(0, Some(3)), (1, Some(4))], 6), "-0??1-");
        assert_eq!(
            said(&[(0, None), (2, Some(4))], 7),
            "-00".to_owned() + "1100"
        );
        assert_eq!(said(&[(0, None), (2, None)], 5), "-0011");
    }
}
