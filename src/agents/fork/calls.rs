//! Tool calls and their results at the end of what a fork keeps: an agent does not resume a session in which one lacks the
//! other.
//!
//! One pass for every agent that writes them apart. What an entry says of calls is the agent's, and so is whether an id
//! names one call for good.

use std::collections::{HashMap, HashSet};

use crate::agents::lines::Entry;

/// What one entry of a session file says of tool calls.
pub trait ToolUse {
    /// The half of a pair that it is, where it says one thing of calls at most.
    fn half(&self) -> Option<Half<'_>> {
        None
    }

    /// The ids of the calls that begin in it.
    fn calls(&self) -> impl Iterator<Item = &str> {
        let half = self.half().into_iter();
        half.filter_map(|half| match half {
            Half::Call(id) => Some(id),
            Half::Result(_) => None,
        })
    }

    /// The ids of the calls that it answers.
    fn results(&self) -> impl Iterator<Item = &str> {
        let half = self.half().into_iter();
        half.filter_map(|half| match half {
            Half::Result(id) => Some(id),
            Half::Call(_) => None,
        })
    }
}

/// A call, or its answer.
pub enum Half<'a> {
    /// The id of the call that begins.
    Call(&'a str),
    /// The id of the call that is answered.
    Result(&'a str),
}

impl<I: ToolUse> ToolUse for Entry<I> {
    fn calls(&self) -> impl Iterator<Item = &str> {
        self.item.calls()
    }

    fn results(&self) -> impl Iterator<Item = &str> {
        self.item.results()
    }
}

/// How a call and its result belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// By id alone: it names one call, and the order of the file is not that of the conversation.
    ById,
    /// By id in the order of the file: a later step may use an id again, and a result is the last such call's.
    InOrder,
}

/// Leaves out entries with a call without its result or a result without its call, until there are none: an entry that goes
/// takes the other half of its pairs along. Returns the entries that were left out.
pub fn drop_dangling<E: ToolUse>(
    entries: &[E],
    kept: &mut [bool],
    pairing: Pairing,
) -> HashSet<usize> {
    let mut dropped = HashSet::new();
    loop {
        let dangling = match pairing {
            Pairing::ById => dangling_by_id(entries, kept),
            Pairing::InOrder => dangling_in_order(entries, kept),
        };
        if dangling.is_empty() {
            return dropped;
        }
        for index in dangling {
            kept[index] = false;
            dropped.insert(index);
        }
    }
}

/// [`drop_dangling`] of entries that are all kept so far: for each whether it stays.
pub fn without_dangling<E: ToolUse>(entries: &[E], pairing: Pairing) -> Vec<bool> {
    let mut kept = vec![true; entries.len()];
    drop_dangling(entries, &mut kept, pairing);
    kept
}

/// The entries that `kept` keeps, with their places.
pub fn kept_of<'a, E>(entries: &'a [E], kept: &'a [bool]) -> impl Iterator<Item = (usize, &'a E)> {
    let all = entries.iter().enumerate();
    all.filter(|(index, _)| kept.get(*index) == Some(&true))
}

fn dangling_by_id<E: ToolUse>(entries: &[E], kept: &[bool]) -> HashSet<usize> {
    let of_kept = || kept_of(entries, kept);
    let calls: HashSet<&str> = of_kept().flat_map(|(_, entry)| entry.calls()).collect();
    let results: HashSet<&str> = of_kept().flat_map(|(_, entry)| entry.results()).collect();
    of_kept()
        .filter(|(_, entry)| {
            entry.calls().any(|id| !results.contains(id))
                || entry.results().any(|id| !calls.contains(id))
        })
        .map(|(index, _)| index)
        .collect()
}

fn dangling_in_order<E: ToolUse>(entries: &[E], kept: &[bool]) -> HashSet<usize> {
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut dangling = HashSet::new();
    for (index, entry) in kept_of(entries, kept) {
        for id in entry.results() {
            if open.remove(id).is_none() {
                dangling.insert(index);
            }
        }
        for id in entry.calls() {
            dangling.extend(open.insert(id, index));
        }
    }
    dangling.extend(open.into_values());
    dangling
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Step(&'static [&'static str], &'static [&'static str]);

    impl ToolUse for Step {
        fn calls(&self) -> impl Iterator<Item = &str> {
            self.0.iter().copied()
        }
        fn results(&self) -> impl Iterator<Item = &str> {
            self.1.iter().copied()
        }
    }

    const NONE: &[&str] = &[];

    #[test]
    fn what_goes_takes_its_other_halves_along() {
        let entries = [
            Step(NONE, NONE),
            Step(&["a", "b"], NONE),
            Step(NONE, &["a"]),
            Step(&["c"], NONE),
            Step(NONE, &["c"]),
            Step(NONE, &["lost"]),
        ];
        for pairing in [Pairing::ById, Pairing::InOrder] {
            let kept = without_dangling(&entries, pairing);
            assert_eq!(kept, [true, false, false, true, true, false], "{pairing:?}");
        }
    }

    #[test]
    fn an_id_that_comes_again_is_the_last_call_s() {
        let entries = [Step(&["a"], NONE), Step(&["a"], NONE), Step(NONE, &["a"])];
        let kept = without_dangling(&entries, Pairing::InOrder);
        assert_eq!(kept, [false, true, true]);
        let kept = without_dangling(&entries, Pairing::ById);
        assert_eq!(kept, [true, true, true]);
    }

    #[test]
    fn order_counts_only_where_it_is_the_conversation_s() {
        let entries = [Step(NONE, &["a"]), Step(&["a"], NONE)];
        assert_eq!(without_dangling(&entries, Pairing::ById), [true, true]);
        assert_eq!(without_dangling(&entries, Pairing::InOrder), [false, false]);
    }
}
