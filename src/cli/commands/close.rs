//! `tw close`.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::ops;

pub fn run(args: &args::Close, call: &Call<'_>) -> Reply {
    reply(ops::open::close(&call.open()?, &args.dir))
}
