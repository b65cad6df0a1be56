//! `tw restore`.

use super::{Call, Reply, dry_run, swapped};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::Restore, call: &Call<'_>) -> Reply {
    let request = request::Restore {
        address: args.address.clone(),
        paths: args.paths.clone(),
        dry_run: dry_run(args.dry_run),
    };
    swapped(call, |context| ops::restore::restore(context, &request))
}
