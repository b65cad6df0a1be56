//! `tw backtrack` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::backtrack::{self, Schedule};

/// # Leave a message to an earlier self
///
/// Schedules a note to a checkpoint of this session. When this step has ended the harness goes back to that checkpoint and
/// goes on from there with the note alone. For a detour that is better forgotten: put what it taught into the note. Files do
/// not change. One message waits at a time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backtrack {
    /// The checkpoint's number, 'checkpoint:N' or 'SESSION:N'. An unknown one is refused with the range of numbers.
    checkpoint: Address,
    /// What the earlier self has to know.
    note: String,
    /// Why, for the record.
    rationale: Option<String>,
}

impl Request for Backtrack {
    const NAME: &str = "backtrack";
    const OUTPUTS: &[Document] = &[document::<ops::backtrack::Scheduled>("backtrack")];
    const EFFECT: Effect = Effect::Adds;

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = Schedule {
            checkpoint: self.checkpoint.into(),
            note: self.note,
            rationale: self.rationale,
            ..Schedule::default()
        };
        Ok(wire::value(&backtrack::schedule(ctx, &request)?))
    }
}
