//! What happened, newest first: all of it, or part by part.

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::timeline::{Entry, Filter, Timeline};
use crate::error::Result;

/// Entries of the timeline.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Log {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Sentences about what could not be read.
    pub notices: Vec<String>,
}

/// Whether what the entries changed is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Files and lines.
    Counted,
    /// Nothing is.
    Left,
}

/// The entries that a filter lets through, to be read on.
pub struct Reader<'c> {
    timeline: Timeline<'c>,
    counts: Counts,
}

impl<'c> Reader<'c> {
    /// Begins at the newest.
    ///
    /// # Errors
    /// As [`Timeline::new`].
    pub fn new(ctx: &'c Context<'_>, filter: &Filter, counts: Counts) -> Result<Self> {
        Ok(Self {
            timeline: Timeline::new(ctx, filter)?,
            counts,
        })
    }

    /// This many more; fewer only at the end.
    ///
    /// # Errors
    /// As [`Timeline::page`].
    pub fn next(&mut self, entries: usize) -> Result<Vec<Entry>> {
        let mut entries = self.timeline.page(entries)?;
        if self.counts == Counts::Counted {
            self.timeline.count(&mut entries);
        }
        Ok(entries)
    }

    /// Sentences about what could not be read so far.
    pub fn notices(&self) -> Vec<String> {
        let invalid = self.timeline.invalid().into_iter();
        invalid
            .map(|(what, why)| format!("{what} cannot be read: {why}"))
            .collect()
    }
}

/// All that a filter lets through.
///
/// # Errors
/// As [`Reader::new`]; what cannot be read is told of in a sentence.
pub fn log(ctx: &Context<'_>, filter: &Filter, counts: Counts) -> Result<Log> {
    let mut reader = Reader::new(ctx, filter, counts)?;
    Ok(Log {
        entries: reader.next(usize::MAX)?,
        notices: reader.notices(),
    })
}
