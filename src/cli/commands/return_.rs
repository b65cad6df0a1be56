//! `tw return`.

use super::{Call, Reply, dry_run, swapped};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::Return, call: &Call<'_>) -> Reply {
    let request = request::Return {
        guard: request::Guard::Unasked,
        keep: args.keep.clone(),
        discard: args.discard,
        move_aside: args.move_aside,
        dry_run: dry_run(args.dry_run),
    };
    swapped(call, |context| ops::return_::return_(context, &request))
}
