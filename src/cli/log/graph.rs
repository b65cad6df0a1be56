//! The graph beside the log: the working tree's own line at the left, and one for each session beside it, from its newest entry
//! that is shown to its oldest.
//!
//! Broken is the working tree's line where the tree was in the past.

use std::collections::HashMap;

use crate::ops::timeline::{Entry, EntryKind};
use crate::store::snapshot::TakenIn;
use crate::store::trigger::Trigger;

/// This many lines of sessions stand side by side; further ones share the last.
const MOST: usize = 6;

/// The lines that are open while entries are drawn, newest first.
pub struct Graph {
    unicode: bool,
    lanes: Vec<Option<String>>,
    past: bool,
    /// The widest row so far.
    width: usize,
}

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// What stands left of the entry.
    pub graph: String,
    /// Whether the entry is the newest of its session that is shown.
    pub begins: bool,
}

impl Graph {
    /// Makes a graph without lines, drawn in Unicode or in ASCII.
    pub fn new(unicode: bool) -> Self {
        Self {
            unicode,
            lanes: Vec::new(),
            past: false,
            width: 1,
        }
    }

    /// The rows of some entries; `later` come after them.
    pub fn rows(&mut self, entries: &[Entry], later: &[Entry]) -> Vec<Row> {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (at, entry) in entries.iter().chain(later).enumerate() {
            if let Some(session) = session_of(entry) {
                last.insert(session, at);
            }
        }
        let mut rows: Vec<Row> = entries
            .iter()
            .enumerate()
            .map(|(at, entry)| self.row(entry, |session| last.get(session) == Some(&at)))
            .collect();
        for row in &mut rows {
            let missing = self.width.saturating_sub(row.graph.chars().count());
            row.graph.extend(std::iter::repeat_n(' ', missing));
        }
        rows
    }

    fn row(&mut self, entry: &Entry, is_last: impl Fn(&str) -> bool) -> Row {
        let (unbroken, broken) = if self.unicode {
            ('│', '┊')
        } else {
            ('|', ':')
        };
        if let Some(taken_in) = &entry.taken_in {
            self.past = *taken_in == TakenIn::Past;
        }
        let session = session_of(entry);
        let (lane, begins) = session.map_or((None, false), |session| self.lane(session));
        let node = entry.kind.sign(self.unicode);
        let line = if self.past { broken } else { unbroken };
        let mut graph = String::from(if lane.is_none() { node } else { line });
        for (at, open) in self.lanes.iter().enumerate() {
            graph.push(' ');
            graph.push(match open {
                _ if lane == Some(at) => node,
                Some(_) => unbroken,
                None => ' ',
            });
        }
        if let (Some(session), Some(at)) = (session, lane)
            && is_last(session)
        {
            self.lanes[at] = None;
            while self.lanes.last().is_some_and(Option::is_none) {
                self.lanes.pop();
            }
        }
        graph.truncate(graph.trim_end().len());
        self.width = self.width.max(graph.chars().count());
        Row { graph, begins }
    }

    /// The place of a session's line, and whether it begins here.
    fn lane(&mut self, session: &str) -> (Option<usize>, bool) {
        let is_it = |open: &Option<String>| open.as_deref() == Some(session);
        if let Some(at) = self.lanes.iter().position(is_it) {
            return (Some(at), false);
        }
        let free = self.lanes.iter().position(Option::is_none);
        let at = free.unwrap_or(self.lanes.len()).min(MOST - 1);
        if at == self.lanes.len() {
            self.lanes.push(None);
        }
        self.lanes[at] = Some(session.to_owned());
        (Some(at), true)
    }
}

/// The session on whose line an entry stands. What a person does while one goes on is not its doing.
pub fn session_of(entry: &Entry) -> Option<&str> {
    let session = entry.session_id.as_deref()?;
    let is_by = |trigger| entry.trigger() == Some(&trigger);
    let is_its = match entry.kind {
        EntryKind::Prompt | EntryKind::TurnEnd => true,
        EntryKind::Issue => entry.agent.is_some(),
        // The one before a prompt has what was changed between the turns.
        EntryKind::Snapshot => {
            is_by(Trigger::SessionStart) || (entry.agent.is_some() && !is_by(Trigger::Checkpoint))
        }
        EntryKind::Swap => false,
    };
    is_its.then_some(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: EntryKind, session: Option<&str>) -> Entry {
        let mut entry = Entry::bare(kind, "s_1");
        entry.session_id = session.map(str::to_owned);
        entry
    }

    #[test]
    fn a_session_has_a_line_from_its_newest_entry_to_its_oldest() {
        use EntryKind::{Prompt, Snapshot, TurnEnd};
        let entries = [
            entry(TurnEnd, Some("one")),
            entry(Snapshot, None),
            entry(TurnEnd, Some("two")),
            entry(Prompt, Some("one")),
            entry(Prompt, Some("two")),
            entry(Prompt, Some("three")),
        ];
        let mut graph = Graph::new(false);
        let rows = graph.rows(&entries, &[]);
        let drawn: Vec<&str> = rows.iter().map(|row| row.graph.as_str()).collect();
        assert_eq!(
            drawn,
            ["| *  ", "o |  ", "| | *", "| > |", "|   >", "| >  "]
        );
        let begins: Vec<bool> = rows.iter().map(|row| row.begins).collect();
        assert_eq!(begins, [true, false, true, false, false, true]);
    }

    #[test]
    fn a_line_goes_on_where_more_is_to_come() {
        let one = [entry(EntryKind::TurnEnd, Some("one"))];
        let other = [entry(EntryKind::Snapshot, None)];
        let last = [entry(EntryKind::Prompt, Some("one"))];
        let mut graph = Graph::new(false);
        let mut drawn = graph.rows(&one, &last);
        drawn.extend(graph.rows(&other, &last));
        drawn.extend(graph.rows(&last, &[]));
        drawn.extend(graph.rows(&other, &[]));
        let drawn: Vec<&str> = drawn.iter().map(|row| row.graph.trim_end()).collect();
        assert_eq!(drawn, ["| *", "o |", "| >", "o"]);
    }

    #[test]
    fn more_sessions_than_there_is_room_for_share_the_last_line() {
        let names: Vec<String> = (0..9).map(|n| n.to_string()).collect();
        let entries: Vec<Entry> = names
            .iter()
            .chain(&names)
            .map(|name| entry(EntryKind::Prompt, Some(name)))
            .collect();
        let mut graph = Graph::new(false);
        for row in graph.rows(&entries, &[]) {
            assert!(row.graph.len() <= 1 + 2 * MOST, "{row:?}");
            assert_eq!(row.graph.matches('>').count(), 1, "{row:?}");
        }
    }
}
