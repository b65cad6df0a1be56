//! `tw init`.

use super::{Call, Reply, dry_run, reply};
use crate::cli::args;
use crate::error::{Code, Error};
use crate::ops::install::{Install, Way};
use crate::ops::{self, request};

pub fn run(args: &args::Init, call: &Call<'_>) -> Reply {
    if args.agent.is_empty() && !args.git_hooks {
        if args.remove {
            return Err(Error::new(Code::Usage, "--remove of what?")
                .hint("give --agent NAME or --git-hooks with it"));
        }
        let request = request::Init {
            dry_run: dry_run(args.dry_run),
        };
        return reply(ops::init::init(&call.open()?, &request));
    }
    let request = Install {
        agents: args.agent.clone(),
        user: args.user,
        git_hooks: args.git_hooks,
        way: if args.remove { Way::Out } else { Way::In },
        yes: call.yes,
        dry_run: dry_run(args.dry_run),
    };
    // The user's own settings need no repository.
    let ctx = match call.open() {
        Err(error) if error.code() == Code::NotARepository => None,
        other => Some(other?),
    };
    reply(ops::install::install(ctx.as_ref(), call.env, &request))
}
