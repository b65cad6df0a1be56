//! `tw purge`: shows what it would rewrite and asks; `-y` is not enough.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::cli::ask::Flag;
use crate::ops;
use crate::ops::request::{self, DryRun};

pub fn run(args: &args::Purge, call: &Call<'_>) -> Reply {
    let context = call.open()?;
    let mut request = request::Purge {
        paths: args.paths.clone(),
        dry_run: DryRun::Yes,
    };
    if args.dry_run {
        return reply(ops::purge::purge(&context, &request));
    }
    if !args.yes_purge {
        if call.ask.can_ask() {
            call.output.preview(&ops::purge::purge(&context, &request)?);
        }
        call.ask.confirm(
            "Rewrite these? This cannot be undone.",
            Flag::Own("--yes-purge"),
        )?;
    }
    request.dry_run = DryRun::No;
    reply(ops::purge::purge(&context, &request))
}
