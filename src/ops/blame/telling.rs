//! From where a line was found to whose it is.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::exchange::claims::Claims;
use super::format::Formats;
use super::forms::Form;
use super::graph::{Links, Node};
use super::named::{Named, Says};
use super::origin::{Candidate, Kind, Line, Origin};
use super::trace::{Spot, Traced};
use super::{Blame, FileAsked, content};
use crate::env::Moment;
use crate::error::Result;
use crate::git::Oid;
use crate::git::blame::{self, Question};
use crate::git::path::RepoPath;
use crate::ops::Context;
use crate::ops::issues;
use crate::ops::versions::{ChainPlace, Owners, Turn, Turns};
use crate::store::Store;
use crate::store::trigger::Trigger;

/// A line that is told of.
pub struct ToldLine {
    pub line: Line,
    /// The place of the state that it came with; None for what came with somebody else's commit, and for what nothing has.
    place: Option<ChainPlace>,
}

/// Tells whose lines are.
pub struct Teller<'a> {
    links: &'a Links<'a>,
    turns: &'a Turns,
    traced: &'a Traced,
    claims: &'a Claims,
    named: Named<'a>,
    formats: Formats<'a>,
    /// The numbers of all states, in order: where one is missing that no issue has, a snapshot was forgotten.
    numbers: Vec<u64>,
    store: &'a Store,
    /// The numbers of the issues, in order. Read only where one is missing.
    issues: OnceCell<Vec<u64>>,
    known: RefCell<HashMap<FileOf, Rc<Came>>>,
}

/// A file of a state or a commit.
type FileOf = (Node, Vec<u8>);

/// Those who may have written what came with a state or a commit.
struct Came {
    owners: Owners,
    is_forgotten: bool,
    /// The commit in which all of it was formatting.
    formatted: Option<Oid>,
    place: ChainPlace,
}

impl<'a> Teller<'a> {
    pub fn new(
        ctx: &'a Context<'a>,
        store: &'a Store,
        links: &'a Links<'a>,
        turns: &'a Turns,
        traced: &'a Traced,
        claims: &'a Claims,
    ) -> Self {
        let mut numbers: Vec<u64> = links.states.all.iter().map(|state| state.seq).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self {
            links,
            turns,
            traced,
            claims,
            named: Named::new(ctx, store),
            formats: Formats { ctx, store, links },
            numbers,
            store,
            issues: OnceCell::new(),
            known: RefCell::default(),
        }
    }

    /// Tells of all lines that are asked for.
    pub fn lines(&self, file: &FileAsked, asked: &[usize], name: &[u8]) -> Vec<ToldLine> {
        let texts: Vec<&[u8]> = file.text.split(|byte| *byte == b'\n').collect();
        let told = asked.iter().map(|number| {
            let text = texts.get(*number).copied().unwrap_or_default();
            let bare = text.strip_suffix(b"\r");
            let spot = self.traced.spots.get(number);
            let (origin, place) = match spot {
                Some(spot) => self.origin(spot),
                None => (Origin::of(Kind::Dirty), None),
            };
            let line = Line {
                line: number + 1,
                text: bare.unwrap_or(text).to_vec(),
                has_return: bare.is_some(),
                original_line: spot.map_or(*number, |spot| spot.line) + 1,
                original_path: RepoPath::new(spot.map_or(name, |spot| &spot.path)),
                origin,
            };
            ToldLine { line, place }
        });
        told.collect()
    }

    fn origin(&self, spot: &Spot) -> (Origin, Option<ChainPlace>) {
        let mut origin = self.first_seen(spot);
        if let Node::End(commit) = spot.node {
            if let Some(about) = self.traced.about.get(&commit) {
                origin.author = Some(about.author.clone());
                origin.title = Some(about.title.clone());
                origin.about = Some(about.clone());
            }
            self.claims.tell(spot, commit, &mut origin);
            return (origin, None);
        }
        let came = self.came(spot);
        if let Some(commit) = came.formatted {
            origin.kind = Kind::CommitStep;
            origin.commit = Some(commit.to_string());
        } else {
            self.tell_owners(&came, spot, &mut origin);
        }
        (origin, Some(came.place))
    }

    /// The state or commit that a line came with, and when.
    fn first_seen(&self, spot: &Spot) -> Origin {
        let mut origin = Origin::of(Kind::Commit);
        match spot.node {
            Node::State(at) => {
                let state = &self.links.states.all[at];
                origin.at = Some(state.created_at.clone());
                origin.snapshot_id = Some(state.id.to_string());
            }
            Node::Made(commit) | Node::End(commit) => {
                let about = self.traced.about.get(&commit);
                origin.commit = Some(commit.to_string());
                origin.at = about.map(|about| Moment::of_seconds(about.author_time).rfc3339());
            }
        }
        origin
    }

    /// Says whose a line is, of those who may have written it.
    fn tell_owners(&self, came: &Came, spot: &Spot, origin: &mut Origin) {
        let owners = &came.owners;
        let is_certain = owners.is_certain();
        let named = if is_certain {
            None
        } else {
            self.only_named(owners, spot)
        };
        if is_certain || named.is_some() {
            origin.kind = Kind::Prompt;
            if let Some(turn) = named.or(owners.turns.first()) {
                let said = candidate(turn);
                origin.session_id = said.session_id;
                origin.agent = said.agent;
                origin.checkpoint_id = said.checkpoint_id;
                origin.prompt = said.prompt;
                origin.at = said.at;
                origin.model = self.named.model(turn);
            }
        } else if owners.turns.is_empty() && !owners.or_forgotten && !came.is_forgotten {
            origin.kind = Kind::Between;
        } else {
            origin.kind = Kind::Ambiguous;
            origin.candidates = owners.turns.iter().map(|turn| candidate(turn)).collect();
            if owners.or_between {
                origin.candidates.push(nobodys(Kind::Between));
            }
            if owners.or_forgotten {
                origin.candidates.push(nobodys(Kind::Ambiguous));
            }
        }
    }

    /// The one turn of several whose tools name a line as theirs.
    fn only_named<'o>(&self, owners: &'o Owners, spot: &Spot) -> Option<&'o Arc<Turn>> {
        let mut named = owners
            .turns
            .iter()
            .filter(|turn| self.is_named(turn, owners, spot));
        let first = named.next();
        first.filter(|_| named.next().is_none())
    }

    /// Whether a turn's tools name a line as theirs, as far as no other turn may have written it without saying so.
    fn is_named(&self, turn: &Arc<Turn>, owners: &Owners, spot: &Spot) -> bool {
        let mut others = owners.turns.iter().filter(|other| *other != turn);
        match self.named.says(turn, spot, self.links) {
            Says::Nothing => false,
            Says::Likely => {
                !owners.or_forgotten && !others.any(|other| self.named.has_untold(other))
            }
            Says::Sure => true,
        }
    }

    fn came(&self, spot: &Spot) -> Rc<Came> {
        let key = (spot.node, spot.path.clone());
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let (place, owners) = match spot.node {
            Node::State(at) => {
                let place = self.links.states.all[at].place;
                (place, self.owners_of_state(at))
            }
            Node::Made(commit) | Node::End(commit) => match self.links.made.get(&commit) {
                Some(made) => {
                    let around = around(self.links, made.place);
                    let owners = self.turns.of_commit(made.place, made.at, around);
                    (made.place, owners)
                }
                None => (ChainPlace::new(0, 0), Owners::default()),
            },
        };
        let came = Rc::new(Came {
            owners,
            is_forgotten: self.is_forgotten(place),
            formatted: self.formats.commit(spot),
            place,
        });
        self.known.borrow_mut().insert(key, Rc::clone(&came));
        came
    }

    /// Who may have written what came with a state.
    fn owners_of_state(&self, at: usize) -> Owners {
        let state = &self.links.states.all[at];
        if state.opened_from().is_none() {
            return self.turns.before(state.place).clone();
        }
        // What goes on in a directory of its own goes on in its present.
        let there = self.links.last_there(at);
        let there = there.map(|ChainPlace { chain, at }| ChainPlace::new(chain, at + 1));
        let mut owners = self.turns.before(there.unwrap_or(state.place)).clone();
        // A command wrote it that may have been an agent.
        owners.or_forgotten |= state.trigger() == Trigger::Scratch && !owners.is_certain();
        owners
    }

    /// Whether a state that lay between this one and the one before it is not there any more.
    fn is_forgotten(&self, ChainPlace { chain, at }: ChainPlace) -> bool {
        let taken = &self.links.states.chains[chain].states;
        let number = |state: usize| self.links.states.all[state].seq;
        let Some(this) = taken.get(at).copied() else {
            return false;
        };
        let before = match at.checked_sub(1) {
            Some(before) => taken.get(before).copied(),
            None => self.links.before(this),
        };
        let between = before.map_or(0, number) + 1..number(this);
        let issues = || self.issues.get_or_init(|| self.issue_numbers());
        let mut missing = between.end.saturating_sub(between.start);
        missing = missing.saturating_sub(how_many(&self.numbers, &between));
        missing > 0 && how_many(issues(), &between) < missing
    }

    /// The numbers that issues have and no state. One that cannot be read has none.
    fn issue_numbers(&self) -> Vec<u64> {
        let all = issues::all(self.store).unwrap_or_default();
        let numbers = all.issues.iter().filter_map(|issue| issue.seq);
        let is_own = |number: &u64| self.numbers.binary_search(number).is_err();
        let numbers: BTreeSet<u64> = numbers.filter(is_own).collect();
        numbers.into_iter().collect()
    }
}

/// How many of these numbers, which are in order, are within a range.
fn how_many(numbers: &[u64], range: &Range<u64>) -> u64 {
    let up_to = |end: u64| numbers.partition_point(|number| *number < end);
    up_to(range.end).saturating_sub(up_to(range.start)) as u64
}

fn candidate(turn: &Turn) -> Candidate {
    let prompt = &turn.prompt;
    Candidate {
        kind: Kind::Prompt,
        session_id: Some(prompt.session_id.clone()),
        agent: prompt.agent.clone(),
        checkpoint_id: Some(prompt.checkpoint_id),
        prompt: prompt.prompt.clone(),
        at: Some(prompt.created_at.clone()),
    }
}

/// One that no turn stands for.
fn nobodys(kind: Kind) -> Candidate {
    Candidate {
        kind,
        session_id: None,
        agent: None,
        checkpoint_id: None,
        prompt: None,
        at: None,
    }
}

/// The states and commits in which a file changed in nothing but formatting.
pub fn formatting(
    ctx: &Context<'_>,
    store: &Store,
    links: &Links<'_>,
    traced: &Traced,
) -> Vec<Oid> {
    let formats = Formats { ctx, store, links };
    let spots: HashSet<(Node, &[u8])> = traced
        .spots
        .values()
        .map(|spot| (spot.node, spot.path.as_slice()))
        .collect();
    let found = spots.into_iter().filter_map(|(node, path)| {
        let commit = match node {
            Node::State(at) => links.states.all[at].commit,
            Node::Made(commit) => commit,
            Node::End(_) => return None,
        };
        formats.is_formatting(node, path).then_some(commit)
    });
    let found: BTreeSet<Oid> = found.collect();
    found.into_iter().collect()
}

/// Says of lines of turns, and of people, in which commit HEAD has them.
///
/// # Errors
/// When git fails.
pub fn committed(
    ctx: &Context<'_>,
    links: &Links<'_>,
    (name, form): (&[u8], Form),
    text: &[u8],
    request: &Blame,
    told: &mut [ToldLine],
) -> Result<()> {
    let store = links.store;
    let Some(head) = ctx.repo.head(&store.objects)?.oid else {
        return Ok(());
    };
    let Some(old) = content(store, head, name)? else {
        return Ok(());
    };
    let same = form.same_lines(&old, text, request.follow.ignores_space)?;
    let there = |told: &ToldLine| {
        told.place?;
        same.get(told.line.line - 1).copied().flatten()
    };
    let wanted: BTreeSet<usize> = told.iter().filter_map(there).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let lines = super::trace::ranges(wanted.into_iter());
    let answer = in_history(ctx, links, (head, name, &lines), request)?;
    let pieces = answer.pieces.iter();
    let commits: HashMap<_, _> = pieces
        .flat_map(|piece| piece.lines.clone().map(|line| (line, piece.commit)))
        .collect();
    for one in told {
        let Some((commit, place)) = there(one)
            .and_then(|line| commits.get(&line))
            .zip(one.place)
        else {
            continue;
        };
        // The same text may have been committed before: this line was not.
        let is_later = match links.made.get(commit) {
            Some(made) if made.place.chain == place.chain => made.place.at >= place.at,
            _ => {
                let committed = answer
                    .about
                    .get(commit)
                    .map_or(0, |about| about.committer_time);
                committed >= around(links, place).0
            }
        };
        if is_later {
            one.line.origin.commit = Some(commit.to_string());
        }
    }
    Ok(())
}

/// What git says of lines of HEAD, followed as the others are.
fn in_history(
    ctx: &Context<'_>,
    links: &Links<'_>,
    (head, name, lines): (Oid, &[u8], &[Range<usize>]),
    request: &Blame,
) -> Result<blame::Blame> {
    let formats = Formats {
        ctx,
        store: links.store,
        links,
    };
    let mut ignored = Vec::new();
    loop {
        let question = Question {
            commit: head,
            path: name,
            lines,
            parents: None,
            ignored: &ignored,
            follow: request.follow,
        };
        let answer = blame::blame(&ctx.repo, &question)?;
        let pieces: BTreeSet<_> = answer
            .pieces
            .iter()
            .filter(|piece| request.ignores_format && !ignored.contains(&piece.commit))
            .map(|piece| (piece.commit, piece.path.as_slice()))
            .collect();
        let found = pieces
            .into_iter()
            .filter(|(commit, path)| formats.is_formatting_commit(*commit, path));
        let found: BTreeSet<Oid> = found.map(|(commit, _)| commit).collect();
        if found.is_empty() {
            return Ok(answer);
        }
        ignored.extend(found);
    }
}

/// When the states before this place and there were taken.
fn around(links: &Links<'_>, ChainPlace { chain, at }: ChainPlace) -> (i64, i64) {
    let taken = |at: usize| {
        let state = links.states.chains[chain].states.get(at)?;
        let moment = Moment::parse_rfc3339(&links.states.all[*state].created_at)?;
        Some(moment.seconds())
    };
    let before = at.checked_sub(1).and_then(taken);
    (before.unwrap_or(i64::MIN), taken(at).unwrap_or(i64::MAX))
}
