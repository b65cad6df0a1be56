//! `tw checkpoint` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::checkpoints::{self, Take};

/// # Mark this point of the conversation
///
/// Ties a numbered point of this session's conversation to a snapshot of the working tree; 'checkpoint:N' names that snapshot
/// wherever one is asked for. Where hooks are set up each prompt has one already.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// What it is about.
    message: Option<String>,
}

impl Request for Checkpoint {
    const NAME: &str = "timewarp_checkpoint";
    const OUTPUTS: &[Document] = &[document::<ops::checkpoints::Taken>("checkpoint")];
    const EFFECT: Effect = Effect::Adds;

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let request = Take {
            message: self.message,
            ..Take::default()
        };
        Ok(wire::value(&checkpoints::take(ctx, &request)?))
    }
}
