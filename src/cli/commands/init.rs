//! `tw init`.

use super::{Call, Reply, dry_run, reply};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::Init, call: &Call<'_>) -> Reply {
    let request = request::Init {
        dry_run: dry_run(args.dry_run),
    };
    reply(ops::init::init(&call.open()?, &request))
}
