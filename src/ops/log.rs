//! What happened, newest first.

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

/// The entries that a filter lets through, with what each changed.
///
/// # Errors
/// As [`Timeline::new`]; what cannot be read is told of in a sentence.
pub fn log(ctx: &Context<'_>, filter: &Filter) -> Result<Log> {
    let mut timeline = Timeline::new(ctx, filter)?;
    let mut entries = timeline.page(usize::MAX)?;
    timeline.count(&mut entries);
    let invalid = timeline.invalid().into_iter();
    Ok(Log {
        entries,
        notices: invalid
            .map(|(what, why)| format!("{what} cannot be read: {why}"))
            .collect(),
    })
}
