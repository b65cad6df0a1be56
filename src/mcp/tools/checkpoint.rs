//! The tools for points of the conversation.

use serde_json::Value;

use super::{Effect, Tool, dry_run};
use crate::error::{Code, Error, Result};
use crate::mcp::arguments::{Arg, Arguments, DRY_RUN, Kind};
use crate::ops::backtrack::{self, Schedule};
use crate::ops::checkpoint::{self, Take};
use crate::ops::rewind::{self, Mode, Rewind};
use crate::ops::{Context, request::DryRun};
use crate::wire;

const CHECKPOINT: Arg = Arg::required(
    "checkpoint",
    Kind::Address,
    "The checkpoint's number, 'checkpoint:N' or 'SESSION:N'. An unknown one is refused with the range of numbers.",
);

/// `tw checkpoint`.
pub const TAKE: Tool = Tool {
    name: "timewarp_checkpoint",
    title: "Mark this point of the conversation",
    about: "Ties a numbered point of this session's conversation to a snapshot of the working tree; 'checkpoint:N' \
            names that snapshot wherever one is asked for. Where hooks are set up each prompt has one already.",
    args: &[Arg::new("message", Kind::Text, "What it is about.")],
    outputs: &["checkpoint"],
    withholds: &[],
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

/// `tw rewind`.
pub const REWIND: Tool = Tool {
    name: "timewarp_rewind",
    title: "Go back to a checkpoint",
    about: "Goes back to a checkpoint: 'code' puts the files back, 'conversation' writes a fork of the conversation that ends \
            before it, 'both' does both. Only a dry run unless 'confirm' is true. The session's own file is never changed; the \
            answer has the command by which the user resumes the fork.",
    args: &[
        CHECKPOINT,
        Arg::new("code", Kind::Flag, "Put the files back."),
        Arg::new("conversation", Kind::Flag, "Fork the conversation."),
        Arg::new("both", Kind::Flag, "Do both."),
        Arg::new(
            "note",
            Kind::Text,
            "What the future self is told: it remembers nothing that came after.",
        ),
        Arg::new("rationale", Kind::Text, "Why, for the record."),
        Arg::new("confirm", Kind::Flag, "Really go back."),
        DRY_RUN,
    ],
    outputs: &["rewind"],
    withholds: &[],
    effect: Effect::Replaces,
    quotes: Some("prompts of the conversation"),
    run: rewind,
};

fn rewind(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let modes = [
        ("code", Mode::Code),
        ("conversation", Mode::Conversation),
        ("both", Mode::Both),
    ];
    let mut given = modes.into_iter().filter(|(name, _)| args.flag(name));
    let (Some((_, mode)), None) = (given.next(), given.next()) else {
        return Err(Error::new(
            Code::Usage,
            "one of 'code', 'conversation' and 'both' has to be true",
        ));
    };
    let unconfirmed = !args.flag("confirm");
    let request = Rewind {
        checkpoint: args.needed("checkpoint"),
        session: None,
        mode,
        note: args.text("note"),
        rationale: args.text("rationale"),
        dry_run: if unconfirmed {
            DryRun::Yes
        } else {
            dry_run(args)
        },
    };
    let mut rewound = rewind::rewind(ctx, &request)?;
    if unconfirmed && !args.flag("dry_run") {
        rewound
            .notices
            .push("nothing was changed: a rewind is done only with 'confirm': true".to_owned());
    }
    Ok(wire::value(&rewound))
}

/// `tw backtrack`.
pub const BACKTRACK: Tool = Tool {
    name: "backtrack",
    title: "Leave a message to an earlier self",
    about: "Schedules a note to a checkpoint of this session. When this step has ended the harness goes back to that checkpoint \
            and goes on from there with the note alone. For a detour that is better forgotten: put what it taught into the note. \
            Files do not change. One message waits at a time.",
    args: &[
        CHECKPOINT,
        Arg::required("note", Kind::Text, "What the earlier self has to know."),
        Arg::new("rationale", Kind::Text, "Why, for the record."),
    ],
    outputs: &["backtrack"],
    withholds: &[],
    effect: Effect::Adds,
    quotes: None,
    run: leave_message,
};

fn leave_message(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let request = Schedule {
        checkpoint: args.needed("checkpoint"),
        note: args.text("note").unwrap_or_default(),
        rationale: args.text("rationale"),
        session: None,
    };
    Ok(wire::value(&backtrack::schedule(ctx, &request)?))
}
