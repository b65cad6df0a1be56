//! `tw snapshot`.

use super::{Call, Reply, reply};
use crate::cli::{args, background};
use crate::ops::{self, request};

pub fn run(args: &args::Snapshot, call: &Call<'_>) -> Reply {
    let request = request::Take {
        message: args.message.clone(),
        label: args.label.clone(),
        include: args.include.clone(),
        exclude: args.exclude.clone(),
        if_changed: args.if_changed,
        preferred: Vec::new(),
        trigger: args.trigger.clone(),
        force: args.force,
        session: args.session.clone(),
        agent: args.agent.clone(),
        hint: None,
    };
    let context = call.open()?;
    let taken = ops::snapshot::take(&context, &request)?;
    background::start_when_due(&context);
    reply(Ok(taken))
}
