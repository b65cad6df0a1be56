//! `tw rewind`: without a mode it shows what each choice would do, and asks.

use super::{Call, Reply, dry_run, reply};
use crate::cli::args;
use crate::cli::{background, exec};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::rewind::{self, Mode, Rewind, Undo};

pub fn run(args: &args::Rewind, call: &Call<'_>) -> Reply {
    let ctx = call.open()?;
    let Some(checkpoint) = args.checkpoint.clone().filter(|_| !args.undo) else {
        let session = args.session.clone();
        let undone = rewind::undo(&ctx, &Undo { session });
        background::start_when_due(&ctx);
        return reply(undone);
    };
    if args.exec && call.output.is_json() {
        return Err(Error::new(
            Code::Usage,
            "--exec and --json do not go together",
        ));
    }
    let mode = match mode_of(args) {
        Some(mode) => mode,
        None => ask(&ctx, call, &checkpoint, args.session.as_deref())?,
    };
    let rewound = rewind::rewind(
        &ctx,
        &Rewind {
            checkpoint,
            session: args.session.clone(),
            mode,
            note: args.note.clone(),
            rationale: args.rationale.clone(),
            dry_run: dry_run(args.dry_run),
        },
    )?;
    if args.exec
        && let Some(part) = &rewound.conversation
        && let Some(words) = &part.resume_command
    {
        call.output.answer(&rewound);
        return Err(exec::replace_process(words, part.cwd.as_deref()));
    }
    background::start_when_due(&ctx);
    reply(Ok(rewound))
}

fn mode_of(args: &args::Rewind) -> Option<Mode> {
    let asked = [
        (args.code, Mode::Code),
        (args.conversation, Mode::Conversation),
        (args.both, Mode::Both),
        (args.never_mind, Mode::NeverMind),
    ];
    asked
        .into_iter()
        .find_map(|(flag, mode)| flag.then_some(mode))
}

fn ask(
    ctx: &Context<'_>,
    call: &Call<'_>,
    checkpoint: &str,
    session: Option<&str>,
) -> Result<Mode> {
    if !call.ask.can_ask() {
        return Err(Error::new(
            Code::Usage,
            "a mode is needed where there is no terminal to ask on",
        )
        .hint("give --code, --conversation or --both; --dry-run shows what it would do"));
    }
    call.output
        .preview_of(&rewind::choices(ctx, checkpoint, session)?);
    let chosen = call.ask.choose("Which", 4)?;
    Ok(match chosen {
        Some(1) => Mode::Both,
        Some(2) => Mode::Conversation,
        Some(3) => Mode::Code,
        _ => Mode::NeverMind,
    })
}
