//! Which rows of a Claude Code session file are on the timeline that goes on.
//!
//! Rows form a tree. Rewinding starts a new branch from an earlier row and leaves the old one in the file; parallel tool
//! calls branch too, without leaving the conversation. The active set is the path from a leaf to the root, the rows that
//! share a message with it, the results that answer it, and the rows beside messages that hang off these.

use std::collections::{HashMap, HashSet};

use super::rows::{Kind, Row};
use crate::agents::fork::calls::ToolUse as _;

/// The rows of a file, indexed by id.
pub struct Tree<'a> {
    rows: &'a [Row],
    by_uuid: HashMap<&'a str, usize>,
}

impl<'a> Tree<'a> {
    /// Indexes `rows`. Of rows with the same id the first counts.
    pub fn new(rows: &'a [Row]) -> Self {
        let mut by_uuid = HashMap::with_capacity(rows.len());
        for (index, row) in rows.iter().enumerate() {
            if let Some(uuid) = row.uuid.as_deref() {
                by_uuid.entry(uuid).or_insert(index);
            }
        }
        Self { rows, by_uuid }
    }

    /// The row with this id.
    pub fn by_uuid(&self, uuid: &str) -> Option<usize> {
        self.by_uuid.get(uuid).copied()
    }

    /// Whether another row before this one has the same id.
    pub fn is_duplicate(&self, index: usize) -> bool {
        let uuid = self.rows.get(index).and_then(|row| row.uuid.as_deref());
        uuid.is_some_and(|uuid| self.by_uuid(uuid) != Some(index))
    }

    /// The row before `index` on its timeline. A compaction boundary goes on at its logical parent; a parent that the
    /// file lacks (a torn line) at the row before it in the file.
    pub fn parent(&self, index: usize) -> Option<usize> {
        let row = self.rows.get(index)?;
        let named = match (&row.parent, row.boundary) {
            (Some(parent), _) => parent,
            (None, true) => match &row.logical_parent {
                Some(parent) => parent,
                None => return self.previous(index),
            },
            (None, false) => return None,
        };
        self.by_uuid(named).or_else(|| self.previous(index))
    }

    fn previous(&self, index: usize) -> Option<usize> {
        let before = self.rows.get(..index)?;
        before
            .iter()
            .rposition(Row::is_linked)
            .map(|found| self.first(found))
    }

    /// The first row with the same id.
    fn first(&self, index: usize) -> usize {
        let uuid = self.rows.get(index).and_then(|row| row.uuid.as_deref());
        uuid.and_then(|uuid| self.by_uuid(uuid)).unwrap_or(index)
    }

    /// The row that the conversation goes on from: the last message before `end`.
    pub fn leaf(&self, end: usize) -> Option<usize> {
        let last = self.rows.get(..end)?.iter().rposition(Row::is_message)?;
        Some(self.first(last))
    }

    /// For each row before `end` whether it is on the timeline that ends at `leaf`.
    pub fn active(&self, leaf: Option<usize>, end: usize) -> Vec<bool> {
        let mut active = vec![false; self.rows.len()];
        let mut next = leaf;
        while let Some(index) = next {
            // Been here: in a damaged file rows may follow each other in a circle.
            if std::mem::replace(&mut active[index], true) {
                break;
            }
            next = self.parent(index);
        }
        for flag in active.iter_mut().skip(end) {
            *flag = false;
        }
        self.add_same_messages(&mut active, end);
        self.add_results(&mut active, end);
        self.add_links(&mut active, end);
        active
    }

    fn before(&self, end: usize) -> impl Iterator<Item = (usize, &'a Row)> {
        self.rows.iter().enumerate().take(end)
    }

    /// Rows that share an API message with the path.
    fn add_same_messages(&self, active: &mut [bool], end: usize) {
        let messages: HashSet<&str> = self
            .before(end)
            .filter(|&(index, row)| active[index] && row.kind == Kind::Assistant)
            .filter_map(|(_, row)| row.message_id.as_deref())
            .collect();
        for (index, row) in self.before(end) {
            let shares = row.kind == Kind::Assistant
                && row
                    .message_id
                    .as_deref()
                    .is_some_and(|id| messages.contains(id));
            if shares && row.is_linked() && !self.is_duplicate(index) {
                active[index] = true;
            }
        }
    }

    /// Results that answer calls of the set.
    fn add_results(&self, active: &mut [bool], end: usize) {
        let calls: HashSet<&str> = self
            .before(end)
            .filter(|&(index, _)| active[index])
            .flat_map(|(_, row)| row.calls())
            .collect();
        for (index, row) in self.before(end) {
            let answers = row.kind == Kind::User && row.results().any(|id| calls.contains(id));
            if answers && row.is_linked() && !self.is_duplicate(index) {
                active[index] = true;
            }
        }
    }

    /// Progress, system and attachment rows that hang off the set.
    fn add_links(&self, active: &mut [bool], end: usize) {
        for (index, row) in self.before(end) {
            if row.kind == Kind::Link && row.is_linked() && !self.is_duplicate(index) {
                let parent = row
                    .parent
                    .as_deref()
                    .and_then(|parent| self.by_uuid(parent));
                // One of an unknown kind may follow what is no row.
                if parent.map_or(!row.is_known(), |parent| active[parent]) {
                    active[index] = true;
                }
            }
        }
    }
}
