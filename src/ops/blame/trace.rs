//! From lines of a file to the states and commits that they came with.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::forms::Forms;
use super::graph::{Links, Node};
use crate::error::Result;
use crate::git::Oid;
use crate::git::blame::{self, About, Follow, Question};
use crate::git::repo::Repo;

/// git is not asked more often than this.
const MOST: usize = 1000;

/// A line in a file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// What it came with.
    pub node: Node,
    /// The file there.
    pub path: Vec<u8>,
    /// The line there, from 0.
    pub line: usize,
}

/// Lines to be followed: of a file in a commit, each with the line that it is for.
type LinesToFollow = BTreeMap<(Oid, Vec<u8>), BTreeMap<usize, Vec<usize>>>;

/// Of a file in a commit the lines that its parents have in the other form, and which they are there.
type InOtherForm = HashMap<(Oid, Vec<u8>), Vec<Option<(Oid, usize)>>>;

/// Follows lines back to the state that brought them.
pub struct Tracer<'a> {
    pub repo: &'a Repo,
    pub links: Links<'a>,
    /// What git converts.
    pub forms: &'a Forms,
    pub follow: Follow,
    /// What is passed over.
    pub ignored: &'a [Oid],
}

/// What was found.
#[derive(Debug, Default)]
pub struct Traced {
    /// By the lines that were asked for.
    pub spots: HashMap<usize, Spot>,
    /// What git says of the commits.
    pub about: HashMap<Oid, About>,
}

impl Tracer<'_> {
    /// Follows lines of a file in a commit; each stands for the number beside it.
    ///
    /// # Errors
    /// When git fails.
    pub fn trace(
        &self,
        commit: Oid,
        path: &[u8],
        lines: impl Iterator<Item = (usize, usize)>,
        traced: &mut Traced,
    ) -> Result<()> {
        let mut pending = LinesToFollow::new();
        let first = pending.entry((commit, path.to_vec())).or_default();
        for (line, stands_for) in lines {
            first.entry(line).or_default().push(stands_for);
        }
        let (mut known, mut unlogged) = (InOtherForm::new(), HashMap::new());
        // Each step goes back in time; should links go round in a circle all the same, this ends it.
        let mut left = MOST;
        while let Some(((commit, path), lines)) = pending.pop_first() {
            if lines.is_empty() {
                continue;
            }
            left = left.saturating_sub(1);
            let is_end = matches!(self.links.node(commit), Node::End(_));
            let found = self.ask(commit, &path, &lines, is_end, traced)?;
            for (wanted, spot) in found {
                let next = match (is_end, spot.node) {
                    (false, Node::End(next)) | (true, Node::Made(next)) => Some((next, spot.line)),
                    (true, Node::End(next)) => {
                        let find = || self.links.unlogged_state(next, &spot.path);
                        let key = (next, spot.path.clone());
                        let state = *unlogged.entry(key).or_insert_with(find);
                        state.map(|state| (state, spot.line))
                    }
                    _ => self.in_other_form(&spot, &mut known)?,
                };
                if let Some((next, line)) = next.filter(|_| left > 0) {
                    let next = pending.entry((next, spot.path)).or_default();
                    next.entry(line).or_default().extend(wanted);
                } else {
                    for stands_for in wanted {
                        traced.spots.insert(stands_for, spot.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// Where a line was before in the other of the two forms that a file has which git converts.
    fn in_other_form(&self, spot: &Spot, known: &mut InOtherForm) -> Result<Option<(Oid, usize)>> {
        let commit = match spot.node {
            Node::State(at) => self.links.states.all[at].commit,
            Node::Made(commit) => commit,
            Node::End(_) => return Ok(None),
        };
        let lines = match known.entry((commit, spot.path.clone())) {
            Entry::Occupied(lines) => lines.into_mut(),
            Entry::Vacant(none) => {
                none.insert(self.forms.before(&self.links, commit, &spot.path)?)
            }
        };
        Ok(lines.get(spot.line).copied().flatten())
    }

    fn ask(
        &self,
        commit: Oid,
        path: &[u8],
        lines: &BTreeMap<usize, Vec<usize>>,
        is_end: bool,
        traced: &mut Traced,
    ) -> Result<Vec<(Vec<usize>, Spot)>> {
        let ranges = ranges(lines.keys().copied());
        let parents = (!is_end).then(|| self.links.text(commit));
        let answer = blame::blame(
            self.repo,
            &Question {
                commit,
                path,
                lines: &ranges,
                parents: parents.as_deref(),
                ignored: self.ignored,
                follow: self.follow,
            },
        )?;
        traced.about.extend(answer.about);
        let mut found = Vec::new();
        for piece in answer.pieces {
            let node = self.links.node(piece.commit);
            for (nth, line) in piece.lines.clone().enumerate() {
                let Some(wanted) = lines.get(&line) else {
                    continue;
                };
                let spot = Spot {
                    node,
                    path: piece.path.clone(),
                    line: piece.origin + nth,
                };
                found.push((wanted.clone(), spot));
            }
        }
        Ok(found)
    }
}

/// Numbers in order, as ranges.
pub fn ranges(numbers: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}
