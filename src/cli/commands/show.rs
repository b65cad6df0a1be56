//! `tw show`.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::ops;

pub fn run(args: &args::Show, call: &Call<'_>) -> Reply {
    reply(ops::snapshot::show(&call.open()?, &args.address))
}
