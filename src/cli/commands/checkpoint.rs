//! `tw checkpoint`.

use super::{Call, Reply, reply};
use crate::cli::args::{self, CheckpointVerb, KindWord};
use crate::error::{Code, Error};
use crate::ops::checkpoint::{self, List, Take};
use crate::store::checkpoint::Kind;

pub fn run(args: &args::Checkpoint, call: &Call<'_>) -> Reply {
    let ctx = call.open()?;
    let session = args.session.clone();
    if args.verb.is_some() && (args.message.is_some() || args.kind.is_some()) {
        return Err(Error::new(
            Code::Usage,
            "--message and --kind are for a new checkpoint",
        ));
    }
    match &args.verb {
        None => reply(checkpoint::take(
            &ctx,
            &Take {
                message: args.message.clone(),
                kind: args.kind.map_or(Kind::Manual, kind),
                session,
            },
        )),
        Some(CheckpointVerb::List(args)) => reply(checkpoint::list(
            &ctx,
            &List {
                session,
                limit: args.limit,
            },
        )),
        Some(CheckpointVerb::Show(args)) => {
            reply(checkpoint::show(&ctx, &args.checkpoint, session.as_deref()))
        }
    }
}

fn kind(word: KindWord) -> Kind {
    match word {
        KindWord::Prompt => Kind::Prompt,
        KindWord::Step => Kind::Step,
        KindWord::Manual => Kind::Manual,
    }
}
