//! Which states to look at next, and what is known in the end: pure, over a line of trees from old to new.
//!
//! Nothing is remembered here: [`next`] is a function of the line and of what is known of its trees, so that verdicts kept from
//! earlier count like new ones. Promises: the ends are looked at first; a tree is asked for once, however often it is in the line; an
//! edge is named only where both of its sides were seen, or as a range where what lies between cannot be judged.

use std::collections::BTreeMap;

/// What is known of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// As the older end is to be.
    Old,
    /// As the newer end is to be.
    New,
    /// It cannot be judged.
    Unknown,
    /// Once so, once otherwise.
    Flaky,
}

/// A line of trees, and where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The tree of each state, from old to new, as a number; equal trees have equal numbers.
    pub trees: Vec<usize>,
    /// Whether the first of them is the older end. If not, one is sought from the newest backwards: 1, 2, 4, …
    pub is_bounded: bool,
    /// How many are looked at side by side, at least one.
    pub parallel: usize,
}

/// The next step of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Look at these places, side by side.
    Probe(Vec<usize>),
    /// Everything that can be known is known.
    Done(SearchResult),
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchResult {
    /// Where it changes, from old to new: one edge, or more where it went back and forth.
    Edges(Vec<Edge>),
    /// The newer end is not as it is to be, or cannot be judged.
    NewEnd,
    /// The older end is not; of an unbounded line, none is.
    OldEnd,
    /// This place is once so, once otherwise.
    Flaky(usize),
}

/// A change between two places that were judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The last place before the change.
    pub before: usize,
    /// The first one known to be after it; those between, which cannot be judged, may be, too.
    pub after: usize,
    /// What it is from there on.
    pub becomes: Seen,
}

impl Edge {
    /// Whether it is one place for certain.
    pub fn is_exact(&self) -> bool {
        self.after == self.before + 1
    }
}

/// What to do next, given what is known by tree.
pub fn next(line: &Line, known: &BTreeMap<usize, Seen>) -> Next {
    let search = Search { line, known };
    let Some(newest) = line.trees.len().checked_sub(1) else {
        return Next::Done(SearchResult::NewEnd);
    };
    if let Some(at) = (0..=newest).find(|at| search.seen(*at) == Some(Seen::Flaky)) {
        return Next::Done(SearchResult::Flaky(at));
    }
    let oldest = match search.ends(newest) {
        Ok(oldest) => oldest,
        Err(next) => return next,
    };
    search.between(oldest, newest)
}

struct Search<'a> {
    line: &'a Line,
    known: &'a BTreeMap<usize, Seen>,
}

impl Search<'_> {
    fn seen(&self, at: usize) -> Option<Seen> {
        let tree = self.line.trees.get(at)?;
        self.known.get(tree).copied()
    }

    /// The older end, once both ends are as they are to be. What is known to be otherwise before it is no end: the history goes back
    /// and forth, and one before that is sought. Where there is none, all that was judged counts.
    fn ends(&self, newest: usize) -> Result<usize, Next> {
        let steps = self.steps_back(newest);
        match self.seen(newest) {
            Some(Seen::New) => {}
            Some(_) => return Err(Next::Done(SearchResult::NewEnd)),
            None => {
                let both = std::iter::once(newest).chain(steps);
                return Err(Next::Probe(self.unseen(both, self.line.parallel.max(1))));
            }
        }
        let is_old = |at: &&usize| self.seen(**at) == Some(Seen::Old);
        let first_new = (0..=newest).find(|at| self.seen(*at) == Some(Seen::New));
        let before_new = |at: &&usize| first_new.is_none_or(|new| **at < new);
        if let Some(at) = steps.iter().filter(is_old).find(before_new) {
            return Ok(*at);
        }
        let has_old = steps.iter().any(|at| is_old(&at));
        let unseen = self.unseen(steps, self.line.parallel.max(1));
        match (unseen.is_empty(), has_old) {
            (false, _) => Err(Next::Probe(unseen)),
            (true, true) => Ok(0),
            (true, false) => Err(Next::Done(SearchResult::OldEnd)),
        }
    }

    /// Where the older end may be, in the order in which it is sought.
    fn steps_back(&self, newest: usize) -> Vec<usize> {
        if self.line.is_bounded || newest == 0 {
            return vec![0];
        }
        let doubling = std::iter::successors(Some(1_usize), |step| step.checked_mul(2));
        let back = doubling.map_while(|step| newest.checked_sub(step));
        // The oldest is the last to be asked, wherever the steps end.
        let mut places: Vec<usize> = back.collect();
        if places.last() != Some(&0) {
            places.push(0);
        }
        places
    }

    /// Of these places those whose trees nothing is known of, each tree once.
    fn unseen(&self, places: impl IntoIterator<Item = usize>, most: usize) -> Vec<usize> {
        let mut trees = Vec::new();
        let mut unseen = Vec::new();
        for at in places {
            let tree = self.line.trees.get(at);
            if unseen.len() < most && self.seen(at).is_none() && !trees.contains(&tree) {
                trees.push(tree);
                unseen.push(at);
            }
        }
        unseen
    }

    fn between(&self, oldest: usize, newest: usize) -> Next {
        let edges = self.edges(oldest, newest);
        let gaps: Vec<Vec<usize>> = edges
            .iter()
            .map(|edge| self.unseen(edge.before + 1..edge.after, usize::MAX))
            .filter(|gap| !gap.is_empty())
            .collect();
        if gaps.is_empty() {
            return Next::Done(SearchResult::Edges(edges));
        }
        let parallel = self.line.parallel.max(1);
        let each = (parallel / gaps.len()).max(1);
        let spread = gaps.iter().flat_map(|gap| evenly(gap, each));
        Next::Probe(self.unseen(spread, parallel))
    }

    /// Every change between places that were judged.
    fn edges(&self, oldest: usize, newest: usize) -> Vec<Edge> {
        let judged = (oldest..=newest).filter_map(|at| match self.seen(at) {
            Some(seen @ (Seen::Old | Seen::New)) => Some((at, seen)),
            _ => None,
        });
        let judged: Vec<(usize, Seen)> = judged.collect();
        let pairs = judged.iter().zip(judged.iter().skip(1));
        let changed = pairs.filter(|((_, seen), (_, then))| seen != then);
        changed
            .map(|((before, _), (after, becomes))| Edge {
                before: *before,
                after: *after,
                becomes: *becomes,
            })
            .collect()
    }
}

/// So many of a list that they cut it into parts of about the same length.
fn evenly(list: &[usize], count: usize) -> Vec<usize> {
    let count = count.min(list.len());
    let cut = |nth: usize| list.get((nth * (list.len() + 1) / (count + 1)).saturating_sub(1));
    (1..=count).filter_map(cut).copied().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs a search to its end; every round's places.
    fn run(line: &Line, truth: &[Seen]) -> (SearchResult, Vec<Vec<usize>>) {
        let mut known = BTreeMap::new();
        let mut rounds = Vec::new();
        loop {
            match next(line, &known) {
                Next::Done(found) => return (found, rounds),
                Next::Probe(places) => {
                    assert!(!places.is_empty() && places.len() <= line.parallel.max(1));
                    for at in &places {
                        let tree = line.trees[*at];
                        let before = known.insert(tree, truth[tree]);
                        assert_eq!(before, None, "tree {tree} was asked for twice");
                    }
                    rounds.push(places);
                }
            }
        }
    }

    fn line(length: usize, is_bounded: bool, parallel: usize) -> Line {
        Line {
            trees: (0..length).collect(),
            is_bounded,
            parallel,
        }
    }

    fn truth(word: &str) -> Vec<Seen> {
        let seen = |letter| match letter {
            'o' => Seen::Old,
            'n' => Seen::New,
            'f' => Seen::Flaky,
            _ => Seen::Unknown,
        };
        word.chars().map(seen).collect()
    }

    fn found(word: &str, is_bounded: bool, parallel: usize) -> SearchResult {
        run(&line(word.len(), is_bounded, parallel), &truth(word)).0
    }

    fn edge(before: usize, after: usize, becomes: Seen) -> Edge {
        Edge {
            before,
            after,
            becomes,
        }
    }

    #[test]
    fn both_ends_are_looked_at_first() {
        let (_, rounds) = run(&line(9, true, 2), &truth("oooonnnnn"));
        assert_eq!(rounds[0], [8, 0]);
        assert_eq!(found("ooooooooo", true, 1), SearchResult::NewEnd);
        assert_eq!(found("?oooooooo", true, 3), SearchResult::NewEnd);
        assert_eq!(found("nnnnnnnnn", true, 2), SearchResult::OldEnd);
        assert_eq!(found("?nnnnnnnn", true, 2), SearchResult::OldEnd);
        assert_eq!(found("", true, 2), SearchResult::NewEnd);
        assert_eq!(found("n", false, 2), SearchResult::OldEnd);
    }

    #[test]
    fn the_older_end_is_sought_backwards_in_growing_steps() {
        let (done, rounds) = run(&line(20, false, 1), &truth("oooooooooooooonnnnnn"));
        let asked: Vec<usize> = rounds.concat();
        assert_eq!(asked[..5], [19, 18, 17, 15, 11]);
        assert_eq!(done, SearchResult::Edges(vec![edge(13, 14, Seen::New)]));
        assert_eq!(found("nnnnnnnn", false, 3), SearchResult::OldEnd);
        // The oldest is asked for, too, where no step leads there.
        let only_first = SearchResult::Edges(vec![edge(0, 1, Seen::New)]);
        assert_eq!(found("onnnnnn", false, 1), only_first);
    }

    #[test]
    fn what_cannot_be_judged_at_the_edge_makes_a_range() {
        let range = SearchResult::Edges(vec![edge(2, 6, Seen::New)]);
        assert_eq!(found("ooo???nnn", true, 3), range);
        let exact = SearchResult::Edges(vec![edge(5, 6, Seen::New)]);
        assert_eq!(found("o?oo?onnn", true, 1), exact);
    }

    #[test]
    fn back_and_forth_is_every_edge_that_was_seen() {
        let all = vec![
            edge(0, 1, Seen::New),
            edge(2, 3, Seen::Old),
            edge(4, 5, Seen::New),
        ];
        assert_eq!(found("onnoon", true, 6), SearchResult::Edges(all));
    }

    #[test]
    fn what_is_known_before_the_older_end_counts() {
        let last = edge(7, 8, Seen::New);
        // One by one the first end is the answer; what was looked at beside it tells of more.
        assert_eq!(
            found("oonnnnnon", false, 1),
            SearchResult::Edges(vec![last])
        );
        let all = vec![edge(1, 2, Seen::New), edge(6, 7, Seen::Old), last];
        assert_eq!(found("oonnnnnon", false, 3), SearchResult::Edges(all));
        // Nothing older is as it was: what was seen is the answer.
        let back = vec![edge(2, 3, Seen::Old), edge(3, 4, Seen::New)];
        assert_eq!(found("nnnon", false, 3), SearchResult::Edges(back));
    }

    #[test]
    fn what_differs_from_run_to_run_is_blamed_on_nothing() {
        assert_eq!(found("ooofnnn", true, 1), SearchResult::Flaky(3));
        assert_eq!(found("oooonnf", true, 1), SearchResult::Flaky(6));
    }

    #[test]
    fn equal_trees_are_asked_for_once() {
        let same = Line {
            trees: vec![0, 0, 0, 1, 1, 2, 1, 2, 2],
            is_bounded: true,
            parallel: 1,
        };
        let (done, rounds) = run(&same, &truth("onn"));
        assert_eq!(done, SearchResult::Edges(vec![edge(2, 3, Seen::New)]));
        assert_eq!(rounds.concat().len(), 3);
    }

    #[test]
    fn three_side_by_side_take_fewer_rounds() {
        let rounds = |parallel| -> usize {
            let one = |at: usize| {
                let word: String = (0..31).map(|n| if n < at { 'o' } else { 'n' }).collect();
                run(&line(31, true, parallel), &truth(&word)).1.len()
            };
            (1..31).map(one).sum()
        };
        // On average over all edges, the ends included: 4.0 rounds against 6.9.
        assert!(
            rounds(3) * 10 < rounds(1) * 6,
            "{} {}",
            rounds(3),
            rounds(1)
        );
    }

    proptest! {
        #[test]
        fn what_is_found_is_true(
            trees in proptest::collection::vec(0..12_usize, 1..40),
            letters in "[on?]{12}",
            is_bounded: bool,
            parallel in 1..6_usize,
        ) {
            let (line, truth) = (Line { trees, is_bounded, parallel }, truth(&letters));
            let seen = |at: usize| truth[line.trees[at]];
            let newest = line.trees.len() - 1;
            match run(&line, &truth).0 {
                SearchResult::NewEnd => prop_assert_ne!(seen(newest), Seen::New),
                SearchResult::OldEnd => {
                    prop_assert_eq!(seen(newest), Seen::New);
                    prop_assert_ne!(seen(0), Seen::Old);
                }
                SearchResult::Flaky(_) => prop_assert!(false),
                SearchResult::Edges(edges) => {
                    prop_assert!(!edges.is_empty());
                    prop_assert_eq!(edges.last().map(|edge| edge.becomes), Some(Seen::New));
                    for edge in edges {
                        prop_assert_eq!(seen(edge.after), edge.becomes);
                        prop_assert!(![edge.becomes, Seen::Unknown].contains(&seen(edge.before)));
                        for at in edge.before + 1..edge.after {
                            prop_assert_eq!(seen(at), Seen::Unknown);
                        }
                    }
                }
            }
        }

        #[test]
        fn of_a_line_that_changes_once_the_edge_is_found_in_few_rounds(
            length in 2..300_usize, share in 0.0..1.0_f64, parallel in 1..6_usize,
        ) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let at = 1 + ((length - 1) as f64 * share) as usize;
            let word: String = (0..length).map(|n| if n < at { 'o' } else { 'n' }).collect();
            let (done, rounds) = run(&line(length, true, parallel), &truth(&word));
            prop_assert_eq!(done, SearchResult::Edges(vec![edge(at - 1, at, Seen::New)]));
            let mut left = length;
            let mut most = 2;
            while left > 1 {
                left /= parallel + 1;
                most += 1;
            }
            prop_assert!(rounds.len() <= most + 1, "{} rounds for {length}", rounds.len());
        }
    }
}
