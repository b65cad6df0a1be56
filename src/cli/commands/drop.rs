//! `tw drop`: asks, having shown what would go.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::cli::ask::Flag;
use crate::ops;
use crate::ops::request::{self, DryRun};

pub fn run(args: &args::Drop, call: &Call<'_>) -> Reply {
    let context = call.open()?;
    let mut request = request::Drop {
        addresses: args.addresses.clone(),
        force: args.force,
        dry_run: DryRun::Yes,
    };
    if args.dry_run {
        return reply(ops::prune::drop(&context, &request));
    }
    if call.ask.can_ask() && !call.ask.answered(Flag::Yes) {
        call.output.preview(&ops::prune::drop(&context, &request)?);
    }
    call.ask.confirm("Forget these?", Flag::Yes)?;
    request.dry_run = DryRun::No;
    reply(ops::prune::drop(&context, &request))
}
