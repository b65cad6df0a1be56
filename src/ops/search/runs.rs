//! From the matching lines of each version of a path to how long each line was there. Pure.
//!
//! Lines of one version with the same text are told apart by their count: the second is there as long as there are two. Of a version that
//! cannot be read, or in which too many lines match, nobody knows which lines it has: it ends none.

use std::collections::HashMap;

use super::content::{Line, Matches, Neighbour, Text, Whole};
use crate::ops::versions::ChainPlace;

/// What is the same in two versions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum What {
    /// A line.
    Line(Text),
    /// A file that matches somewhere.
    File(Whole),
}

/// A line in all the states of a chain from one to another.
#[derive(Debug, Clone)]
pub struct Run {
    /// The line.
    pub what: What,
    /// How many of the same were above it.
    pub nth: usize,
    /// The chain.
    pub chain: usize,
    /// The first state that has it.
    pub from: usize,
    /// The last one.
    pub to: usize,
    /// The last one that may have it: as `to`, or behind that what nobody knows of.
    pub reach: usize,
    /// Where it is in the first one.
    pub begin: Spot,
    /// Where it is in the last one.
    pub end: Spot,
}

impl Run {
    /// The place of the first state that has it.
    pub fn first(&self) -> ChainPlace {
        ChainPlace::new(self.chain, self.from)
    }

    /// The place of the last one.
    pub fn last(&self) -> ChainPlace {
        ChainPlace::new(self.chain, self.to)
    }

    /// The place of the last one that may have it.
    pub fn last_possible(&self) -> ChainPlace {
        ChainPlace::new(self.chain, self.reach)
    }
}

/// Where a line is in a version.
#[derive(Debug, Clone, Default)]
pub struct Spot {
    /// Its number.
    pub number: u64,
    /// The lines before it.
    pub before: Vec<Neighbour>,
    /// The lines after it.
    pub after: Vec<Neighbour>,
}

/// Takes the versions of a path in, chain by chain, oldest first.
#[derive(Debug, Default)]
pub struct Runs {
    open: HashMap<What, Vec<Run>>,
    /// The last state so far, with what was passed over.
    reach: Option<ChainPlace>,
    done: Vec<Run>,
}

impl Runs {
    /// Takes the next version in.
    pub fn take(&mut self, version: (usize, usize, usize), matches: &Matches) {
        let (chain, from, to) = version;
        if !self.is_followed_by(chain, from) {
            self.close();
        }
        let mut seen: HashMap<What, usize> = HashMap::new();
        match matches {
            Matches::Lines(lines) => {
                for line in lines {
                    self.meet(
                        What::Line(line.text.clone()),
                        version,
                        Some(line),
                        &mut seen,
                    );
                }
            }
            Matches::Whole(whole) => self.meet(What::File(*whole), version, None, &mut seen),
        }
        let lines_are_unknown = matches!(matches, Matches::Whole(Whole::TooMany));
        for (what, runs) in &mut self.open {
            if lines_are_unknown && matches!(what, What::Line(_)) {
                continue;
            }
            let left = seen.get(what).copied().unwrap_or(0);
            let gone = runs.split_off(left.min(runs.len()));
            let reach = from.saturating_sub(1);
            self.done
                .extend(gone.into_iter().map(|run| Run { reach, ..run }));
        }
        self.open.retain(|_, runs| !runs.is_empty());
        self.reach = Some(ChainPlace::new(chain, to));
    }

    /// Passes a version over that cannot be read: what is there again behind it is taken to have stayed.
    pub fn pass_over(&mut self, (chain, from, to): (usize, usize, usize)) {
        if self.is_followed_by(chain, from) {
            self.reach = Some(ChainPlace::new(chain, to));
        }
    }

    fn is_followed_by(&self, chain: usize, from: usize) -> bool {
        let follows = |last: ChainPlace| last.chain == chain && last.at + 1 == from;
        self.reach.is_some_and(follows)
    }

    fn meet(
        &mut self,
        what: What,
        (chain, from, to): (usize, usize, usize),
        line: Option<&Line>,
        seen: &mut HashMap<What, usize>,
    ) {
        let count = seen.entry(what.clone()).or_default();
        let nth = *count;
        *count += 1;
        let spot = line.map_or_else(Spot::default, |line| Spot {
            number: line.number,
            before: line.before.clone(),
            after: line.after.clone(),
        });
        let runs = self.open.entry(what.clone()).or_default();
        if let Some(run) = runs.get_mut(nth) {
            run.to = to;
            run.end = spot;
            return;
        }
        runs.push(Run {
            what,
            nth,
            chain,
            from,
            to,
            reach: to,
            begin: spot.clone(),
            end: spot,
        });
    }

    fn close(&mut self) {
        let reach = self.reach.map_or(0, |last| last.at);
        let open = self.open.drain().flat_map(|(_, runs)| runs);
        self.done.extend(open.map(|run| Run { reach, ..run }));
    }

    /// Ends the last run and returns all of them.
    pub fn done(mut self) -> Vec<Run> {
        self.close();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Matches {
        let lines = text
            .split(' ')
            .zip(1..)
            .filter(|(word, _)| !word.is_empty());
        Matches::Lines(
            lines
                .map(|(word, number)| Line::plain(number, word.as_bytes()))
                .collect(),
        )
    }

    fn said(versions: &[(usize, usize, usize, &str)]) -> Vec<String> {
        let mut runs = Runs::default();
        for (chain, from, to, text) in versions {
            runs.take((*chain, *from, *to), &lines(text));
        }
        let mut said: Vec<String> = runs.done().iter().map(say).collect();
        said.sort();
        said
    }

    fn say(run: &Run) -> String {
        let what = match &run.what {
            What::Line(text) => String::from_utf8_lossy(&text.shown).into_owned(),
            What::File(_) => "file".to_owned(),
        };
        let (chain, from, to) = (run.chain, run.from, run.to);
        let (nth, first, last) = (run.nth, run.begin.number, run.end.number);
        format!("{what}{nth} {chain}:{from}-{to} line {first}-{last}")
    }

    #[test]
    fn a_line_goes_on_while_versions_have_it() {
        let found = said(&[(0, 0, 1, "a b"), (0, 2, 4, "x a"), (0, 5, 5, "a a")]);
        assert_eq!(
            found,
            [
                "a0 0:0-5 line 1-1",
                "a1 0:5-5 line 2-2",
                "b0 0:0-1 line 2-2",
                "x0 0:2-4 line 1-1"
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_ends_nothing() {
        let mut runs = Runs::default();
        runs.take((0, 0, 1), &lines("a b"));
        runs.pass_over((0, 2, 2));
        runs.take((0, 3, 3), &lines("a"));
        runs.pass_over((0, 4, 4));
        let mut found: Vec<String> = runs.done().iter().map(say).collect();
        found.sort();
        assert_eq!(found, ["a0 0:0-3 line 1-1", "b0 0:0-1 line 2-2"]);
    }

    #[test]
    fn a_line_may_be_in_what_nobody_knows_of() {
        let mut runs = Runs::default();
        runs.take((0, 0, 1), &lines("a b c"));
        runs.take((0, 2, 2), &lines("a b"));
        runs.take((0, 3, 3), &Matches::Whole(Whole::TooMany));
        runs.take((0, 4, 4), &lines("a"));
        runs.pass_over((0, 5, 5));
        let known = |run: &Run| (say(run), run.reach);
        let mut found: Vec<_> = runs.done().iter().map(known).collect();
        found.sort();
        let wanted = [
            ("a0 0:0-4 line 1-1", 5),
            ("b0 0:0-2 line 2-2", 3),
            ("c0 0:0-1 line 3-3", 1),
            ("file0 0:3-3 line 0-0", 3),
        ];
        assert_eq!(found, wanted.map(|(run, reach)| (run.to_owned(), reach)));
    }

    #[test]
    fn a_gap_or_another_chain_ends_all() {
        let found = said(&[(0, 0, 1, "a"), (0, 3, 3, "a"), (1, 4, 5, "a")]);
        assert_eq!(
            found,
            [
                "a0 0:0-1 line 1-1",
                "a0 0:3-3 line 1-1",
                "a0 1:4-5 line 1-1"
            ]
        );
    }
}
