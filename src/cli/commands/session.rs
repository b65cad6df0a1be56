//! `tw session`.

use super::{Call, Reply, reply};
use crate::cli::args::{self, SessionVerb};
use crate::cli::{background, exec};
use crate::error::{Code, Error};
use crate::ops::session::{self, Asked, List, Start};

pub fn run(args: &args::Session, call: &Call<'_>) -> Reply {
    let ctx = call.open()?;
    match &args.verb {
        SessionVerb::Start(args) => {
            let start = Start {
                session: args.session.clone(),
                agent: args.agent.clone(),
                parent: args.parent.clone(),
                transcript: args.transcript.clone(),
                hint: args.hint.clone(),
                source: args.source.clone(),
                force: args.force,
                asked: Asked::ByCommand,
            };
            let started = session::start(&ctx, &start)?;
            background::start_when_due(&ctx);
            reply(Ok(started))
        }
        SessionVerb::List(args) => reply(session::list(
            &ctx,
            &List {
                limit: args.limit,
                live: args.live,
                all_worktrees: args.all_worktrees,
            },
        )),
        SessionVerb::Show(args) => reply(session::show(&ctx, args.session.as_deref())),
        SessionVerb::Resume(args) => {
            let resume = session::resume(&ctx, args.session.as_deref())?;
            if !args.exec {
                return reply(Ok(resume));
            }
            if call.output.is_json() {
                return Err(Error::new(
                    Code::Usage,
                    "--exec and --json do not go together",
                ));
            }
            Err(exec::replace_process(
                &resume.resume_command,
                resume.cwd.as_deref(),
            ))
        }
        SessionVerb::End(args) => reply(session::end(&ctx, args.session.as_deref())),
    }
}
