//! The tools for points of the conversation.

use serde_json::Value;

use super::{Effect, Tool};
use crate::error::Result;
use crate::mcp::arguments::{Arg, Arguments, Kind};
use crate::ops::Context;
use crate::ops::checkpoint::{self, Take};
use crate::wire;

/// `tw checkpoint`.
pub const TAKE: Tool = Tool {
    name: "timewarp_checkpoint",
    title: "Mark this point of the conversation",
    about: "Ties a numbered point of this session's conversation to a snapshot of the working tree; 'checkpoint:N' \
            names that snapshot wherever one is asked for. Where hooks are set up each prompt has one already.",
    args: &[Arg::new("message", Kind::Text, "What it is about.")],
    outputs: &["checkpoint"],
    effect: Effect::Adds,
    quotes: None,
    run: take,
};

fn take(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let request = Take {
        message: args.text("message"),
        ..Take::default()
    };
    Ok(wire::value(&checkpoint::take(ctx, &request)?))
}
