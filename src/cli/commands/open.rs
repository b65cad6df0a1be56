//! `tw open`.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::Open, call: &Call<'_>) -> Reply {
    let request = request::Open {
        address: args.address.clone(),
        dir: args.dir.clone(),
    };
    reply(ops::open::open(&call.open()?, &request))
}
