//! `tw label`.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::ops::{self, request};

pub fn run(args: &args::Label, call: &Call<'_>) -> Reply {
    let request = request::Label {
        address: args.address.clone(),
        name: args
            .remove
            .as_ref()
            .or(args.name.as_ref())
            .cloned()
            .unwrap_or_default(),
        remove: args.remove.is_some(),
    };
    reply(ops::label::label(&call.open()?, &request))
}
