//! Whose a change between two states in a row is.
//!
//! A turn begins with the snapshot of its prompt. Where its end was noted, all up to there is the turn's, and what comes after is
//! somebody's between turns. Where it was not, the turn goes on for certain only as long as a tool's checkpoint shows it to, and
//! what came after, up to the next prompt, may be either's; as may what came after an end behind which work went on in the background, or
//! a tool wrote all the same. A prompt that was sent while the turn went on shows that it did. Changes in turns that overlap may be of
//! each of them; a mark that somebody made by hand gives way to an agent's turn. Where a snapshot of a turn was forgotten, the times in
//! the notes tell between which states it lay: there it may be that turn's.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use super::claim::{Claim, prevailing};
use super::of_head::Head;
use super::{ChainPlace, States};
use crate::env::Moment;
use crate::error::Result;
use crate::ops::Context;
use crate::store::Store;
use crate::store::checkpoint::{self, Checkpoint, Kind, SessionNotes, TurnEnd};
use crate::store::id::IdKind;
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

/// Those who may have made a change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Owners {
    /// Turns.
    pub turns: Vec<Arc<Turn>>,
    /// Somebody outside of them may have, too.
    pub or_between: bool,
    /// So may a turn whose snapshots were forgotten.
    pub or_forgotten: bool,
}

impl Owners {
    /// The only turn that may have made it; somebody between turns may have all the same.
    pub fn turn(&self) -> Option<&Turn> {
        match self.turns.as_slice() {
            [one] if !self.or_forgotten => Some(one),
            _ => None,
        }
    }

    /// Whether it was one turn, and nobody else.
    pub fn is_certain(&self) -> bool {
        self.turn().is_some() && !self.or_between
    }
}

static NOBODY: LazyLock<Owners> = LazyLock::new(|| Owners {
    or_between: true,
    ..Owners::default()
});

/// An agent's turn.
#[derive(Debug, PartialEq)]
pub struct Turn {
    /// The checkpoint of its prompt.
    pub prompt: Arc<Checkpoint>,
    /// The session's next prompt.
    pub next: Option<Arc<Checkpoint>>,
    /// The session is one of the workspace's head: here it has no name.
    pub is_of_head: bool,
}

/// Where a turn lies in a chain.
#[derive(Debug)]
struct Span {
    /// None: where it begins was forgotten, and this is all that it may be.
    turn: Option<Arc<Turn>>,
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

impl Span {
    fn covers(&self, at: usize) -> bool {
        self.start < at && self.end.is_none_or(|end| at <= end)
    }

    fn claim(&self) -> Claim {
        Claim {
            start: self.turn.is_some().then_some(self.start),
            is_abandoned: self.is_abandoned,
            is_mark: self.turn.as_ref().is_some_and(|turn| turn.prompt.is_mark()),
        }
    }
}

/// The turns of a chain.
#[derive(Debug, Default)]
struct Spans {
    /// By their start.
    all: Vec<Span>,
    /// By the place of the later of two states those who may have made what changed there; behind the last one: in the present.
    owners: Vec<Owners>,
}

/// The turns of all sessions, by chain.
#[derive(Debug, Default)]
pub struct Turns {
    chains: Vec<Spans>,
}

impl Turns {
    /// Puts the turns beside the states.
    pub fn new(talks: &Talks, states: &States, now: Moment) -> Self {
        let places = states.by_id();
        let mut chains: Vec<Vec<Span>> = states.chains.iter().map(|_| Vec::new()).collect();
        for (notes, is_of_head) in talks.by_repository() {
            let beside = Beside::new(talks, (states, &places), (notes, is_of_head), now);
            beside.add_to(&mut chains);
        }
        let chains = chains.into_iter().zip(&states.chains);
        let chains = chains.map(|(spans, chain)| Spans::new(spans, chain.states.len()));
        Self {
            chains: chains.collect(),
        }
    }

    /// Who may have made what changed between the state before this place and the one there. A place behind the last one stands
    /// for the present.
    pub fn before(&self, place: ChainPlace) -> &Owners {
        let there = self.chains.get(place.chain);
        let there = there.and_then(|chain| chain.owners.get(place.at));
        there.unwrap_or(&NOBODY)
    }

    /// Who may have made a commit at this time. A turn that left nothing behind but commits has no states of its own: its times tell,
    /// as long as the clocks agree with the states around it, which were taken at these seconds.
    pub fn of_commit(&self, place: ChainPlace, at: i64, around: (i64, i64)) -> Owners {
        let all = self
            .chains
            .get(place.chain)
            .map_or(&[][..], |chain| chain.all.as_slice());
        let ended = all.iter().filter(|span| {
            let ends_here = span.end.is_some_and(|end| end + 1 == place.at);
            ends_here && span.times.1.is_some_and(|end| end > around.0)
        });
        let ended: Vec<&Span> = ended.collect();
        if ended.is_empty() || at < around.0 || at > around.1 {
            return self.before(place).clone();
        }
        let covering = all.iter().filter(|span| span.covers(place.at));
        let mut spans: Vec<&Span> = covering.chain(ended).collect();
        spans.retain(|span| span.times.0 <= at && span.times.1.is_none_or(|end| at <= end));
        let is_certain = spans.iter().any(|span| span.times.1.is_some());
        let mut owners = owners(spans, place.at);
        owners.or_between &= !is_certain;
        owners
    }
}

impl Spans {
    fn new(mut all: Vec<Span>, length: usize) -> Self {
        all.sort_by_key(|span| span.start);
        let mut open: Vec<&Span> = Vec::new();
        let mut coming = all.iter().peekable();
        let of_place = |at: usize| {
            while let Some(span) = coming.next_if(|span| span.start < at) {
                open.push(span);
            }
            open.retain(|span| span.covers(at));
            owners(open.clone(), at)
        };
        let owners = (0..=length).map(of_place).collect();
        Self { all, owners }
    }
}

fn owners(covering: Vec<&Span>, at: usize) -> Owners {
    let mut owners = Owners {
        or_between: true,
        ..Owners::default()
    };
    for span in prevailing(covering, |span| span.claim()) {
        match &span.turn {
            Some(turn) => {
                owners.or_between &= at > span.certain;
                owners.turns.push(Arc::clone(turn));
            }
            None => owners.or_forgotten = true,
        }
    }
    owners
}

/// A turn of which no snapshot says where it began, and where in a chain it may lie.
#[derive(Debug)]
pub struct Forgotten {
    /// Its prompt.
    pub prompt: Arc<Checkpoint>,
    /// The chain.
    pub chain: usize,
    /// It began at this place or later.
    pub start: usize,
    /// It ended at this one or before; None: it goes on.
    pub end: Option<usize>,
    /// When its end was noted, in seconds.
    ended_at: Option<i64>,
}

impl From<Forgotten> for Span {
    fn from(turn: Forgotten) -> Self {
        Self {
            turn: None,
            start: turn.start,
            certain: turn.start,
            end: turn.end,
            times: (Moment::seconds_of(&turn.prompt.created_at), turn.ended_at),
            is_abandoned: false,
        }
    }
}

/// Where a snapshot is that notes name.
enum NotedPlace {
    /// At this place of the chain.
    At(usize),
    /// It was forgotten.
    Forgotten,
    /// In another chain.
    Elsewhere,
}

/// The notes of a session beside the states.
pub struct Beside<'a> {
    states: &'a States,
    places: &'a HashMap<String, usize>,
    notes: &'a SessionNotes,
    is_of_head: bool,
    talks: &'a Talks,
    now: Moment,
    /// Read only where notes do not say enough: there may be thousands.
    record: OnceCell<Option<SessionRecord>>,
    prompts: Vec<Arc<Checkpoint>>,
}

impl<'a> Beside<'a> {
    /// Puts them there; `places` are those of [`States::by_id`].
    pub fn new(
        talks: &'a Talks,
        (states, places): (&'a States, &'a HashMap<String, usize>),
        (notes, is_of_head): (&'a SessionNotes, bool),
        now: Moment,
    ) -> Self {
        let prompts = notes.prompts().into_iter().cloned();
        Self {
            states,
            places,
            notes,
            is_of_head,
            talks,
            now,
            record: OnceCell::new(),
            prompts: prompts.map(Arc::new).collect(),
        }
    }

    fn record(&self) -> Option<&SessionRecord> {
        let read = || {
            let first = self.notes.checkpoints.first()?;
            self.talks.record(&first.session_id)
        };
        self.record.get_or_init(read).as_ref()
    }

    fn is_live(&self) -> bool {
        self.record().is_some_and(|record| record.is_live(self.now))
    }

    fn add_to(&self, chains: &mut [Vec<Span>]) {
        for (nth, prompt) in self.prompts.iter().enumerate() {
            if let Some(place) = self.place(&prompt.snapshot_id) {
                chains[place.chain].push(self.span(nth, place));
            }
        }
        for turn in self.forgotten() {
            chains[turn.chain].push(turn.into());
        }
    }

    /// The turns whose prompt's snapshot was forgotten. What a mark made by hand would stand for is a person's anyway.
    pub fn forgotten(&self) -> Vec<Forgotten> {
        let is_forgotten = |nth: &usize| {
            let prompt = &self.prompts[*nth];
            !prompt.is_mark() && self.states.is_forgotten(self.places, &prompt.snapshot_id)
        };
        let forgotten: Vec<usize> = (0..self.prompts.len()).filter(is_forgotten).collect();
        if forgotten.is_empty() {
            return Vec::new();
        }
        let mut all = Vec::new();
        for chain in self.own_chains() {
            all.extend(forgotten.iter().map(|nth| self.may_lie(*nth, chain)));
        }
        all
    }

    fn place(&self, id: &str) -> Option<ChainPlace> {
        Some(self.states.all[*self.places.get(id)?].place)
    }

    /// The chains that a session worked in, as far as that is known.
    fn own_chains(&self) -> BTreeSet<usize> {
        let own = |chain: &usize| {
            let record = self.record().filter(|_| !self.is_of_head);
            record.is_some_and(|record| self.states.chains[*chain].is_of(record))
        };
        let of_record = (0..self.states.chains.len()).filter(own);
        let ids = self.notes.checkpoints.iter();
        let of_notes = ids.filter_map(|one| Some(self.place(&one.snapshot_id)?.chain));
        of_record.chain(of_notes).collect()
    }

    /// Where a snapshot is in a chain that notes name at this time. What was the same as an older snapshot has that one: what else was
    /// taken in between was before it all the same.
    fn find(&self, chain: usize, id: &str, at: &str) -> NotedPlace {
        let there = match self.place(id) {
            Some(place) if place.chain == chain => place.at,
            None if self.states.is_forgotten(self.places, id) => return NotedPlace::Forgotten,
            _ => return NotedPlace::Elsewhere,
        };
        let states = self.states;
        let mut between = there + 1..states.taken_since(chain, there + 1, at);
        let kind = |at: usize| {
            states.all[states.position(ChainPlace::new(chain, at))]
                .id
                .kind()
        };
        let next = between.find(|at| kind(*at) == IdKind::Snapshot);
        NotedPlace::At(next.unwrap_or(between.end.max(there + 1)) - 1)
    }

    fn find_prompt(&self, chain: usize, one: &Checkpoint) -> NotedPlace {
        self.find(chain, &one.snapshot_id, &one.created_at)
    }

    /// The snapshot at the end of a prompt's turn: of several the one that was taken last.
    fn end(&self, prompt: &Checkpoint) -> Option<&'a TurnEnd> {
        self.notes.ends_of(prompt.checkpoint_id).next_back()
    }

    /// The snapshot of the last tool's checkpoint in a prompt's turn.
    fn last_step(
        &self,
        prompt: &Checkpoint,
        next: Option<&Arc<Checkpoint>>,
    ) -> Option<&'a Checkpoint> {
        let until = next.map_or(u64::MAX, |next| next.checkpoint_id);
        let steps = self.notes.checkpoints.iter().rev();
        let mut steps = steps.filter(|one| one.kind == Kind::Step);
        let of_turn = prompt.checkpoint_id..until;
        steps.find(|one| of_turn.contains(&one.checkpoint_id))
    }

    /// A turn whose prompt has a snapshot.
    fn span(&self, nth: usize, ChainPlace { chain, at: start }: ChainPlace) -> Span {
        let prompt = &self.prompts[nth];
        let next = self.prompts.get(nth + 1);
        let start = match self.find_prompt(chain, prompt) {
            NotedPlace::At(start) => start,
            NotedPlace::Forgotten | NotedPlace::Elsewhere => start,
        };
        let next_at = next.map(|next| (next, self.find_prompt(chain, next)));
        let next_place = match &next_at {
            Some((_, NotedPlace::At(at))) => Some(*at),
            Some((next, NotedPlace::Forgotten)) => {
                Some(self.states.first_after(chain, &next.created_at).max(start))
            }
            _ => None,
        };
        let (noted, end) = self.ended(prompt, ChainPlace { chain, at: start }, next_place);
        // Times are kept in seconds: the prompt's own was taken before the end, whatever they say.
        let stopped = || {
            let ended_at = self.record()?.ended_at.as_deref()?;
            Some(self.states.taken_since(chain, start + 1, ended_at))
        };
        let last_step = self.last_step(prompt, next);
        let last_step = last_step.and_then(|step| match self.find_prompt(chain, step) {
            NotedPlace::At(at) => Some(at),
            NotedPlace::Forgotten | NotedPlace::Elsewhere => None,
        });
        let goes_on = self.end(prompt).is_some_and(|end| end.goes_on);
        let id = prompt.transcript.prompt_id.as_ref();
        let of_turn = |next: &Arc<Checkpoint>| next.transcript.prompt_id.as_ref() == id;
        let is_asked_in_it = id.is_some() && next.is_some_and(of_turn);
        let shown = match noted {
            None if is_asked_in_it => next_place.or(last_step),
            None => last_step,
            Some(_) => last_step.filter(|_| goes_on),
        };
        // A tool of the agent's that wrote behind the end shows that it was none.
        let end = end
            .filter(|_| !goes_on)
            .map(|end| end.max(last_step.unwrap_or(end)));
        let ended_at = self.end(prompt).filter(|_| !goes_on);
        Span {
            turn: Some(Arc::new(Turn {
                prompt: Arc::clone(prompt),
                next: next.cloned(),
                is_of_head: self.is_of_head,
            })),
            start,
            certain: noted.max(shown).unwrap_or(start),
            end: end.or(next_place).or_else(stopped),
            times: (
                Moment::seconds_of(&prompt.created_at),
                ended_at.map(|end| Moment::seconds_of(&end.created_at)),
            ),
            is_abandoned: next.is_none() && end.is_none() && !self.is_live(),
        }
    }

    /// Up to which place a turn whose end was noted is certain, and up to which something may be its. Behind its prompt at `start`.
    fn ended(
        &self,
        prompt: &Checkpoint,
        ChainPlace { chain, at: start }: ChainPlace,
        next_place: Option<usize>,
    ) -> (Option<usize>, Option<usize>) {
        let Some(end) = self.end(prompt) else {
            return (None, None);
        };
        match self.find(chain, &end.snapshot_id, &end.created_at) {
            NotedPlace::At(at) => (Some(at), Some(at)),
            NotedPlace::Forgotten => {
                // Between the last state that was taken before and the first one after.
                let before = self.states.first_since(chain, &end.created_at);
                let before = before.saturating_sub(1);
                let after = self.states.first_after(chain, &end.created_at);
                let after = next_place.map_or(after, |next| next.min(after));
                (Some(before.min(after).max(start)), Some(after.max(start)))
            }
            NotedPlace::Elsewhere => (None, None),
        }
    }

    fn may_lie(&self, nth: usize, chain: usize) -> Forgotten {
        let prompt = &self.prompts[nth];
        let ended = self.end(prompt).filter(|end| !end.goes_on);
        let states = self.states;
        let start = states
            .first_since(chain, &prompt.created_at)
            .saturating_sub(1);
        let start = start.max(self.least(nth, chain));
        let next = self.prompts.get(nth + 1);
        let end = ended.map(|end| (&end.snapshot_id, &end.created_at));
        let end = end.or_else(|| next.map(|next| (&next.snapshot_id, &next.created_at)));
        let end = match end {
            Some((id, at)) => Some(match self.find(chain, id, at) {
                NotedPlace::At(at) => at,
                NotedPlace::Forgotten | NotedPlace::Elsewhere => states.first_after(chain, at),
            }),
            None if self.is_live() => None,
            None => {
                let record = self.record();
                let at = record.map(|one| one.ended_at.as_ref().unwrap_or(&one.last_active_at));
                let at = at.unwrap_or(&prompt.created_at).max(&prompt.created_at);
                Some(states.first_after(chain, at))
            }
        };
        Forgotten {
            prompt: Arc::clone(prompt),
            chain,
            start,
            end,
            ended_at: ended.map(|end| Moment::seconds_of(&end.created_at)),
        }
    }

    /// The place before which a turn cannot have begun: the end of the one before it, or where that began.
    fn least(&self, nth: usize, chain: usize) -> usize {
        let Some(before) = nth.checked_sub(1).and_then(|nth| self.prompts.get(nth)) else {
            return 0;
        };
        let end = self
            .end(before)
            .map(|end| self.find(chain, &end.snapshot_id, &end.created_at));
        match (end, self.find_prompt(chain, before)) {
            (Some(NotedPlace::At(at)), _) | (_, NotedPlace::At(at)) => at,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A turn by its number: where it begins, up to where it is certain, and where it ends; whether it was abandoned.
    type Given = (u64, usize, usize, Option<usize>, bool);

    fn spans(turns: &[Given]) -> Vec<Span> {
        let turn = |n: u64| {
            let stored = json!({"version": 1, "checkpoint_id": n, "created_at": "", "snapshot_id": "", "kind": "prompt"});
            Arc::new(Turn {
                prompt: Arc::new(serde_json::from_value(stored).expect("a checkpoint")),
                next: None,
                is_of_head: false,
            })
        };
        let spans = turns
            .iter()
            .map(|(n, start, certain, end, is_abandoned)| Span {
                turn: (*n < 9).then(|| turn(*n)),
                start: *start,
                certain: *certain,
                end: *end,
                times: (0, None),
                is_abandoned: *is_abandoned,
            });
        spans.collect()
    }

    /// For each place `-` for nobody's, the number of the one turn, with `~` where somebody between turns may have been it as well, `?`
    /// for several; `!` where it may be one that was forgotten.
    fn said(turns: &[Given], length: usize) -> String {
        let letters = Spans::new(spans(turns), length)
            .owners
            .into_iter()
            .map(|owners| {
                let who = match owners.turns.as_slice() {
                    [] => "-".to_owned(),
                    [one] => one.prompt.checkpoint_id.to_string(),
                    _ => "?".to_owned(),
                };
                let is_between = owners.or_between && !owners.turns.is_empty();
                let between = if is_between { "~" } else { "" };
                let forgotten = if owners.or_forgotten { "!" } else { "" };
                format!("{who}{between}{forgotten}")
            });
        letters.collect()
    }

    #[test]
    fn a_change_is_of_the_one_turn_that_it_lies_in() {
        let turns = [(0, 0, 2, Some(2), false), (1, 2, 3, Some(3), false)];
        assert_eq!(said(&turns, 6), "-001---");
        assert_eq!(said(&[(0, 1, 1, None, false)], 3), "--0~0~");
        assert_eq!(said(&[(0, 1, 2, Some(3), false)], 4), "--00~-");
    }

    #[test]
    fn of_turns_that_overlap_none_is_named_unless_one_was_abandoned() {
        let turns = [(0, 0, 3, Some(3), false), (1, 1, 4, Some(4), false)];
        assert_eq!(said(&turns, 6), "-0??1--");
        let turns = [(0, 0, 1, None, true), (1, 2, 4, Some(4), false)];
        assert_eq!(said(&turns, 5), "-00~110~");
    }

    #[test]
    fn a_turn_that_was_forgotten_leaves_its_place_in_doubt() {
        let turns = [(0, 0, 2, Some(2), false), (9, 1, 1, Some(3), false)];
        assert_eq!(said(&turns, 4), "-00!-!-");
    }
}
