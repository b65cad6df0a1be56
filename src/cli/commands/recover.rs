//! `tw recover`: a swap that died, or refs that were dropped.

use super::{Call, Reply, reply};
use crate::cli::args;
use crate::cli::ask::Flag;
use crate::error::{Code, Error};
use crate::ops::outcome::Recovered;
use crate::ops::{self, request};
use crate::wire;

pub fn run(args: &args::Recover, call: &Call<'_>) -> Reply {
    let context = call.open()?;
    if let Some(ids) = &args.dropped {
        return reply(ops::recover_dropped::dropped(&context, ids));
    }
    let mut request = request::Recover {
        direction: match (args.forward, args.back) {
            (true, _) => request::Direction::Forward,
            (false, true) => request::Direction::Back,
            (false, false) => request::Direction::Auto,
        },
        yes: call.ask.answered(Flag::Yes),
    };
    let recovered = ops::recover::recover(&context, &request)?;
    if recovered.action != "undecided" {
        return reply(Ok(recovered));
    }
    if !call.ask.can_ask() {
        return Err(undecided(&recovered));
    }
    call.output.preview(&recovered);
    call.ask
        .confirm("Keep these as they are and finish?", Flag::Yes)?;
    request.yes = true;
    reply(ops::recover::recover(&context, &request))
}

/// Nobody can be asked: the paths go into the error.
fn undecided(recovered: &Recovered) -> Error {
    let mut error = Error::new(
        Code::Interrupted,
        format!(
            "{} changed since the interrupted swap, and neither side explains it",
            crate::cli::human::text::count(recovered.differing.len(), "path")
        ),
    )
    .hint("'tw recover -y' keeps the later bytes in place and finishes");
    let document = wire::value(recovered);
    for name in ["operation", "rescue_id", "differing", "differing_bytes"] {
        if let Some(value) = document.get(name) {
            error = error.detail(name, value.clone());
        }
    }
    error
}
