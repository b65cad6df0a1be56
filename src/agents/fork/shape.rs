//! What the validator must know of each format: which ids may change, and what a record says of ids, chain and tools.

use std::ops::Range;

use serde_json::Value;

use super::KeyPath;
use crate::agents::value::{owned, text};

/// What one record says.
#[derive(Debug, Default)]
pub struct Facts {
    /// The session it belongs to.
    pub session: Option<String>,
    /// Its id in the chain.
    pub id: Option<String>,
    /// The id of a record of a kind that is not known: others may follow it, and nothing is asked of it.
    pub also: Option<String>,
    /// The id of the row before it.
    pub parent: Option<String>,
    /// Begins a compacted context: its parent is named elsewhere.
    pub boundary: bool,
    /// Tool calls that begin in it.
    pub calls: Vec<String>,
    /// Tool calls that it answers.
    pub results: Vec<String>,
    /// Tool calls that stand in it with their results.
    pub settled: Vec<String>,
}

/// What of a line may differ from the original.
#[derive(Debug, Clone, Copy, Default)]
pub struct Free {
    /// Ids that may have another value.
    pub ids: &'static [KeyPath],
    /// A member that may have been added.
    pub origin: Option<KeyPath>,
}

/// One format.
pub struct Shape {
    /// What may differ in the first line.
    pub head: Free,
    /// What may differ in the others.
    pub rest: Free,
    /// Whether rows name the row before them.
    pub chained: bool,
    /// Whether every row must name the same session, or only the first that names one counts.
    pub every_session: bool,
    /// Which pieces of a line a fork may leave out.
    pub left_out: fn(&[u8]) -> Vec<Range<usize>>,
    /// Whether a record is one that a fork adds.
    pub added: fn(&Value) -> bool,
    /// Reads a record.
    pub facts: fn(&Value) -> Facts,
}

/// No field of a fork's records may differ from the original's.
pub const NOTHING: Free = Free {
    ids: &[],
    origin: None,
};

/// Lines without ids, of which nothing is known.
pub const LINES: Shape = Shape {
    head: NOTHING,
    rest: NOTHING,
    chained: false,
    every_session: false,
    left_out: |_| Vec::new(),
    added: |_| false,
    facts: |_| Facts::default(),
};

/// The strings at `key` of those items that `fits`.
pub fn strings(list: &[Value], key: &str, fits: impl Fn(&Value) -> bool) -> Vec<String> {
    list.iter()
        .filter(|item| fits(item))
        .filter_map(|item| owned(item, key))
        .collect()
}

/// Whether a record is of this type.
pub fn of_type(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |item| text(item, "type") == Some(kind)
}
