//! Whose a change between two states in a row is.
//!
//! A turn begins with the snapshot of its prompt. Where its end was noted, all up to there is the turn's, and what comes after is
//! somebody's between turns. Where it was not, the turn goes on for certain only as long as a tool's checkpoint shows it to, and
//! what came after, up to the next prompt, may be either's. Changes in turns that overlap may be of each of them; a mark that somebody
//! made by hand gives way to an agent's turn.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::env::Moment;
use crate::ops::versions::{States, Talks};
use crate::store::checkpoint::{Checkpoint, Kind, SessionNotes, TurnEnd};
use crate::store::id::IdKind;

/// Those who may have made a change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Owners {
    /// Turns.
    pub turns: Vec<Rc<Turn>>,
    /// Somebody outside of them may have, too.
    pub or_between: bool,
}

/// An agent's turn.
#[derive(Debug, PartialEq)]
pub struct Turn {
    /// The checkpoint of its prompt.
    pub prompt: Checkpoint,
    /// The session's next prompt.
    pub next: Option<Checkpoint>,
}

/// Where a turn lies in a chain.
#[derive(Debug)]
struct Span {
    turn: Rc<Turn>,
    /// The place of its prompt's snapshot.
    start: usize,
    /// The place up to which all is its own.
    certain: usize,
    /// The place up to which something may be; None: it goes on.
    end: Option<usize>,
    /// When it began, and when it ended as far as that was noted, in seconds.
    times: (i64, Option<i64>),
    /// Nobody said that it ended, and its session does not live any more.
    is_abandoned: bool,
}

/// The turns of all sessions, by chain.
#[derive(Debug)]
pub struct TurnSpans {
    chains: Vec<Vec<Span>>,
}

impl TurnSpans {
    /// Puts the turns beside the states.
    pub fn new(talks: &Talks, states: &States, now: Moment) -> Self {
        let places = states.by_id();
        let place = |id: &str| places.get(id).map(|at| states.all[*at].place);
        let mut chains: Vec<Vec<Span>> = states.chains.iter().map(|_| Vec::new()).collect();
        for notes in talks.all() {
            let record = notes.checkpoints.first();
            let record = record.and_then(|one| talks.record(&one.session_id));
            let is_live = record.as_ref().is_some_and(|record| record.is_live(now));
            let ended_at = record.and_then(|record| record.ended_at);
            let prompts = notes.prompts();
            for (nth, prompt) in prompts.iter().enumerate() {
                let Some((chain, start)) = place(&prompt.snapshot_id) else {
                    continue;
                };
                // What was the same as an older snapshot has that one: what else was taken in between was before it all the same.
                let here = |id: &str, at: &str| {
                    let (_, there) = place(id).filter(|(other, _)| *other == chain)?;
                    let mut between = there + 1..states.taken_since(chain, there + 1, at);
                    let taken = |at: usize| states.all[states.chains[chain].states[at]].id.kind();
                    let next = between.find(|at| taken(*at) == IdKind::Snapshot);
                    Some(next.unwrap_or(between.end.max(there + 1)) - 1)
                };
                let of = |one: &Checkpoint| here(&one.snapshot_id, &one.created_at);
                let start = of(prompt).unwrap_or(start);
                let next = prompts.get(nth + 1).copied();
                let end = end(notes, prompt);
                let noted = end.and_then(|end| here(&end.snapshot_id, &end.created_at));
                // Times are kept in seconds: the prompt's own was taken before the end, whatever they say.
                let stopped = ended_at.as_deref();
                let stopped = stopped.map(|at| states.taken_since(chain, start + 1, at));
                let may_end = next.and_then(of).or(stopped);
                let last_step = last_step(notes, prompt, next).and_then(of);
                chains[chain].push(Span {
                    turn: Rc::new(Turn {
                        prompt: (*prompt).clone(),
                        next: next.cloned(),
                    }),
                    start,
                    certain: noted.or(last_step).unwrap_or(start),
                    end: noted.or(may_end),
                    times: (
                        seconds(&prompt.created_at),
                        end.map(|end| seconds(&end.created_at)),
                    ),
                    is_abandoned: next.is_none() && noted.is_none() && !is_live,
                });
            }
        }
        for spans in &mut chains {
            spans.sort_by_key(|span| span.start);
        }
        Self { chains }
    }

    /// Who may have made what changed between the state before this place and the one there. A place behind the last one stands
    /// for the present.
    pub fn before(&self, place: (usize, usize)) -> Owners {
        Self::owners(self.covering(place).collect(), place.1)
    }

    /// Who may have made a commit at this time. A turn that left nothing behind but commits has no states of its own: its times tell,
    /// as long as the clocks agree with the states around it, which were taken at these seconds.
    pub fn of_commit(&self, place: (usize, usize), at: i64, around: (i64, i64)) -> Owners {
        let ended = self.spans(place.0).iter().filter(|span| {
            let ends_here = span.end.is_some_and(|end| end + 1 == place.1);
            ends_here && span.times.1.is_some_and(|end| end > around.0)
        });
        let ended: Vec<&Span> = ended.collect();
        if ended.is_empty() || at < around.0 || at > around.1 {
            return self.before(place);
        }
        let mut spans: Vec<&Span> = self.covering(place).chain(ended).collect();
        spans.retain(|span| span.times.0 <= at && span.times.1.is_none_or(|end| at <= end));
        let noted = |span: &&&Span| span.times.1.is_some();
        let is_certain = spans.iter().filter(noted).count() > 0;
        let mut owners = Self::owners(spans, place.1);
        owners.or_between &= !is_certain;
        owners
    }

    fn spans(&self, chain: usize) -> &[Span] {
        self.chains.get(chain).map_or(&[], Vec::as_slice)
    }

    fn covering(&self, (chain, at): (usize, usize)) -> impl Iterator<Item = &Span> {
        let covers = move |span: &&Span| span.start < at && span.end.is_none_or(|end| at <= end);
        self.spans(chain).iter().filter(covers)
    }

    fn owners(mut covering: Vec<&Span>, at: usize) -> Owners {
        let latest = covering.iter().map(|span| span.start).max();
        // A turn that nobody ended gives way to a later one.
        covering.retain(|span| !span.is_abandoned || Some(span.start) == latest);
        if covering.iter().any(|span| !span.turn.prompt.is_mark()) {
            covering.retain(|span| !span.turn.prompt.is_mark());
        }
        let mut owners = Owners {
            or_between: true,
            ..Owners::default()
        };
        for span in covering {
            owners.or_between &= at > span.certain;
            owners.turns.push(Rc::clone(&span.turn));
        }
        owners
    }
}

/// The snapshot at the end of a prompt's turn.
fn end<'n>(notes: &'n SessionNotes, prompt: &Checkpoint) -> Option<&'n TurnEnd> {
    let mut ends = notes.turn_ends.iter().rev();
    ends.find(|end| end.checkpoint_id == Some(prompt.checkpoint_id))
}

fn seconds(at: &str) -> i64 {
    Moment::parse_rfc3339(at).map_or(0, Moment::seconds)
}

/// The snapshot of the last tool's checkpoint in a prompt's turn.
fn last_step<'n>(
    notes: &'n SessionNotes,
    prompt: &Checkpoint,
    next: Option<&Checkpoint>,
) -> Option<&'n Checkpoint> {
    let until = next.map_or(u64::MAX, |next| next.checkpoint_id);
    let by_id: BTreeMap<u64, &Checkpoint> = notes
        .checkpoints
        .iter()
        .filter(|one| one.kind == Kind::Step)
        .map(|one| (one.checkpoint_id, one))
        .collect();
    let (_, last) = by_id.range(prompt.checkpoint_id..until).next_back()?;
    Some(last)
}
