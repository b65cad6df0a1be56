//! `tw prune`.

use super::{Call, Reply, dry_run, reply};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::Prune, call: &Call<'_>) -> Reply {
    let request = request::Prune {
        dry_run: dry_run(args.dry_run),
        keep_days: args.keep_days,
        keep_last: args.keep_last,
    };
    reply(ops::prune::prune(&call.open()?, &request))
}
