//! Which commits were made in the working trees of the repository, and between which of their states.
//!
//! The reflogs of their HEADs tell both: a move of it is put between the states before and after it, by the time of each and by where HEAD was in
//! the states. A commit that is not in it came from elsewhere, or nobody knows any more. One that was picked, rebased or mailed, and
//! whose author and date none has that was made here, comes from the commit that has them.

use std::collections::{HashMap, HashSet};

use crate::env::Moment;
use crate::error::Result;
use crate::git::Oid;
use crate::git::command::Git;
use crate::git::commit::RawCommit;
use crate::git::objects::ObjectStore;
use crate::git::reflog::Move;
use crate::git::repo::Repo;
use crate::ops::versions::{ChainPlace, States};

/// What copies were made from is looked for among this many commits.
const MOST: usize = 100_000;

/// A commit that was made here.
#[derive(Debug, Clone)]
pub struct Made {
    /// The commit.
    pub commit: Oid,
    /// The place of the state after it; that behind the last state for one since.
    pub place: ChainPlace,
    /// When, in seconds.
    pub at: i64,
    /// Its parents, and what it was put in the place of.
    pub parents: Vec<Oid>,
}

/// The commits that were made here, by their ids.
pub type MadeHere = HashMap<Oid, Made>;

/// What the reflogs say of the chains.
#[derive(Debug, Default)]
pub struct Moved {
    /// The commits that were made here.
    pub made: MadeHere,
    /// Where HEAD was before it was reset, by the place of the state after that: what is there in the files may be from there.
    pub left: HashMap<ChainPlace, Vec<Oid>>,
    /// The places of the states after the files were reset to HEAD, as a stash does it, in order.
    pub reset: Vec<ChainPlace>,
    /// The commits that HEADs were moved away from.
    pub behind: Vec<Left>,
}

/// A commit that HEAD was moved away from.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    /// The commit.
    pub commit: Oid,
    /// The place of the state after that, where it was in a chain.
    pub place: Option<ChainPlace>,
    /// When, in seconds.
    pub at: i64,
}

/// The moves of the HEAD of a working tree, with its chain.
pub type HeadLog = (usize, Vec<Move>);

/// Looks at the moves of all HEADs.
///
/// # Errors
/// When git fails that is asked for what copies were made from.
pub fn moved(
    repo: &Repo,
    objects: &ObjectStore,
    states: &States,
    logs: &[HeadLog],
) -> Result<Moved> {
    let mut left: HashMap<_, Vec<Oid>> = HashMap::new();
    let (mut reset, mut behind) = (Vec::new(), Vec::new());
    let mut found = CommitsSoFar::default();
    for (one, place) in in_order(states, logs) {
        let is_gone = one.old.filter(|old| one.leaves() && *old != one.new);
        behind.extend(is_gone.map(|commit| Left {
            commit,
            place: Some(place),
            at: one.at,
        }));
        if place.at > 0 && one.message.starts_with("reset:") {
            let old = one
                .old
                .filter(|old| *old != one.new && objects.contains(*old));
            if old.is_none() && reset.last() != Some(&place) {
                reset.push(place);
            }
            left.entry(place).or_default().extend(old);
        }
        // What was made before the first state is history.
        if place.at > 0 && one.makes_commit() && !found.made.contains_key(&one.new) {
            found.take(objects, one, place, left.get(&place));
        }
    }
    Ok(Moved {
        made: found.made(repo, objects)?,
        left,
        reset,
        behind,
    })
}

/// The commits that were made, as far as HEAD's moves have been looked at.
#[derive(Default)]
struct CommitsSoFar {
    made: MadeHere,
    /// By the authors' lines: titles and ids.
    authors: HashMap<Vec<u8>, Vec<(Vec<u8>, Oid)>>,
    /// Copies of what somebody else made.
    copies: Vec<Copied>,
}

/// A commit that was made from somebody else's.
struct Copied {
    commit: Oid,
    author: Vec<u8>,
    /// What it was put onto.
    onto: Option<Oid>,
}

impl CommitsSoFar {
    /// Takes a commit in; what git has lost by now tells nothing.
    fn take(
        &mut self,
        objects: &ObjectStore,
        one: &Move,
        place: ChainPlace,
        left: Option<&Vec<Oid>>,
    ) {
        if !objects.contains(one.new) {
            return;
        }
        let Ok(bytes) = objects.read_commit(one.new) else {
            return;
        };
        let Some(commit) = RawCommit::parse(&bytes) else {
            return;
        };
        let mut parents = commit.parents;
        let author = author(&bytes);
        // A copy has the author and the date of what it was made from.
        if one.copies() && !self.authors.contains_key(&author) {
            // Of several commits in one nobody can tell which lines are whose: it is an end.
            if one.amends() {
                return;
            }
            self.copies.push(Copied {
                commit: one.new,
                author,
                onto: parents.first().copied(),
            });
        } else {
            let title = title(&commit.message);
            let twins = self.authors.entry(author).or_default();
            let mut earlier = twins.iter().rev();
            let twin = earlier.find(|(other, _)| *other == title);
            parents.extend(one.old.filter(|_| one.amends()));
            parents.extend(twin.map(|(_, twin)| *twin));
            twins.push((title, one.new));
        }
        parents.extend(left.into_iter().flatten());
        let known = |parent: &Oid| objects.contains(*parent) && *parent != one.new;
        parents.retain(known);
        let mut seen = HashSet::new();
        parents.retain(|parent| seen.insert(*parent));
        self.made.insert(
            one.new,
            Made {
                commit: one.new,
                place,
                at: one.at,
                parents,
            },
        );
    }

    /// All of them. A copy comes from what it was made from, too; where that is not found, it is an end: its lines are its author's.
    fn made(mut self, repo: &Repo, objects: &ObjectStore) -> Result<MadeHere> {
        let originals = originals(repo, objects, &self.copies)?;
        for copy in &self.copies {
            match (originals.get(&copy.author), self.made.get_mut(&copy.commit)) {
                (Some(originals), Some(made)) => made.parents.extend(originals),
                _ => {
                    self.made.remove(&copy.commit);
                }
            }
        }
        Ok(self.made)
    }
}

/// What copies were made from, by the authors' lines: whatever branches, tags and reflogs lead to, but for what the first copy was
/// put onto.
fn originals(
    repo: &Repo,
    objects: &ObjectStore,
    copies: &[Copied],
) -> Result<HashMap<Vec<u8>, Vec<Oid>>> {
    let mut found: HashMap<_, Vec<Oid>> = HashMap::new();
    let Some(first) = copies.first() else {
        return Ok(found);
    };
    // Refs and commits that lead nowhere are no originals; git asks for the first before it hears of any.
    let mut git = Git::new(repo).args(["rev-list", "--ignore-missing", "--missing=allow-any"]);
    git = git.args(["--branches", "--remotes", "--tags", "--reflog"]);
    git = git.args(["--format=%at", &format!("--max-count={MOST}")]);
    if let Some(onto) = first.onto {
        git = git.arg(format!("^{onto}"));
    }
    let said = git.run()?;
    let said = String::from_utf8_lossy(&said);
    let mut lines = said.lines();
    while let (Some(commit), Some(at)) = (lines.next(), lines.next()) {
        let id = commit.strip_prefix("commit ").unwrap_or(commit);
        let Ok(commit) = Oid::from_hex(id) else {
            continue;
        };
        let is_at = |copy: &&Copied| {
            let mut words = copy.author.rsplit(|byte| *byte == b' ');
            words.nth(1) == Some(at.as_bytes())
        };
        if !copies.iter().any(|copy| is_at(&copy))
            || copies.iter().any(|copy| copy.commit == commit)
        {
            continue;
        }
        let author = author(&objects.read_commit(commit)?);
        if copies.iter().any(|copy| copy.author == author) {
            found.entry(author).or_default().push(commit);
        }
    }
    Ok(found)
}

/// The author's line of a commit.
fn author(bytes: &[u8]) -> Vec<u8> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let found = lines.find(|line| line.starts_with(b"author ") || line.is_empty());
    found.unwrap_or_default().to_vec()
}

/// The first line of a message.
fn title(message: &[u8]) -> Vec<u8> {
    let mut lines = message.split(|byte| *byte == b'\n');
    lines.next().unwrap_or_default().to_vec()
}

/// All moves by their times, those of one HEAD as it made them, with the places of the states after them.
fn in_order<'m>(states: &States, logs: &'m [HeadLog]) -> Vec<(&'m Move, ChainPlace)> {
    let mut all = Vec::new();
    for (chain, moves) in logs {
        let mut latest = i64::MIN;
        for (one, at) in moves.iter().zip(places(states, *chain, moves)) {
            latest = latest.max(one.at);
            all.push((latest, one, ChainPlace::new(*chain, at)));
        }
    }
    all.sort_by_key(|(at, ..)| *at);
    all.into_iter()
        .map(|(_, one, place)| (one, place))
        .collect()
}

/// For each move the place of the state after it.
fn places(states: &States, chain: usize, moves: &[Move]) -> Vec<usize> {
    let mut places = Vec::with_capacity(moves.len());
    let taken = &states.chains[chain].states;
    for (at, state) in taken.iter().enumerate() {
        if places.len() == moves.len() {
            return places;
        }
        let state = &states.all[*state];
        let moment = Moment::seconds_of(&state.created_at);
        let end = end(moves, places.len(), moment, state.head());
        places.resize(end, at);
    }
    places.resize(moves.len(), taken.len());
    places
}

/// How many of the moves a state has seen: those before its second, and of those in it as many as lead to its HEAD. Where clocks
/// do not say, HEAD does.
fn end(moves: &[Move], from: usize, moment: i64, head: Option<Oid>) -> usize {
    let leads = |end: &usize| match end.checked_sub(1).and_then(|last| moves.get(last)) {
        Some(last) => Some(last.new) == head,
        None => moves.first().is_none_or(|first| first.old == head),
    };
    let rest = &moves[from..];
    let before = from + rest.iter().take_while(|one| one.at < moment).count();
    let until = from + rest.iter().take_while(|one| one.at <= moment).count();
    let mut in_time = before..=until;
    if let Some(end) = in_time.find(leads) {
        return end;
    }
    let earlier = (from..before).rev().find(leads);
    earlier
        .or_else(|| (until..=moves.len()).find(leads))
        .unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(n: u8) -> Oid {
        Oid::from_bytes(&[n; 20]).expect("an id")
    }

    fn moves(all: &[(u8, u8, i64)]) -> Vec<Move> {
        let of = |(old, new, at): &(u8, u8, i64)| Move {
            old: (*old != 0).then(|| oid(*old)),
            new: oid(*new),
            at: *at,
            message: "commit: x".to_owned(),
        };
        all.iter().map(of).collect()
    }

    #[test]
    fn a_move_lies_before_the_state_that_has_seen_it() {
        let all = moves(&[(0, 1, 10), (1, 2, 20), (2, 1, 20), (1, 2, 20), (2, 3, 30)]);
        assert_eq!(end(&all, 0, 9, None), 0);
        assert_eq!(end(&all, 0, 15, Some(oid(1))), 1);
        // In one second HEAD decides.
        assert_eq!(end(&all, 1, 20, Some(oid(1))), 1);
        assert_eq!(end(&all, 1, 20, Some(oid(2))), 2);
        assert_eq!(end(&all, 1, 25, Some(oid(2))), 4);
        // A clock that is wrong.
        assert_eq!(end(&all, 0, 99, Some(oid(1))), 3);
        assert_eq!(end(&all, 0, 1, Some(oid(3))), 5);
        assert_eq!(end(&all, 1, 99, Some(oid(9))), 1);
    }
}
