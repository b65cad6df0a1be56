//! `tw backtrack`.

use super::context::text;
use super::{Call, Reply, reply};
use crate::cli::args::{self, BacktrackVerb};
use crate::ops::backtrack::{self, Schedule};

pub fn run(args: &args::Backtrack, call: &Call<'_>) -> Reply {
    let ctx = call.open()?;
    match &args.verb {
        Some(BacktrackVerb::Take(of)) => reply(backtrack::take(&ctx, of.session.as_deref())),
        Some(BacktrackVerb::Show(of)) => reply(backtrack::show(&ctx, of.session.as_deref())),
        Some(BacktrackVerb::Cancel(of)) => reply(backtrack::cancel(&ctx, of.session.as_deref())),
        None => {
            let request = Schedule {
                checkpoint: args.checkpoint.clone().unwrap_or_default(),
                note: text(args.note.as_deref().unwrap_or_default())?,
                rationale: args.rationale.clone(),
                session: args.session.clone(),
            };
            reply(backtrack::schedule(&ctx, &request))
        }
    }
}
