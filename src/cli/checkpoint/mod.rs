//! `tw checkpoint`.

mod list;
mod show;

use clap::{Subcommand, ValueEnum};

use crate::cli::prelude::*;
use crate::ops::checkpoints::{self, Take, Taken};
use crate::store::checkpoint::{Checkpoint, Kind};

/// Mark this point of the session's conversation
///
/// A checkpoint ties a numbered point of an agent's conversation to a snapshot of the working tree; 'tw rewind' goes back
/// to it. Agents that were set up with 'tw init' make one at each prompt, before they act; with
/// 'git config timewarp.checkpoints steps' (before 'tw init', so that the agent tells of its tools) also after each tool
/// that wrote, with 'false' none. TW_DISABLE_CHECKPOINTS=1
/// turns those off for one process. Numbers count up from 0 in each session and are never given twice. When nothing has
/// changed since the newest snapshot, no new one is taken. Where no session was started, or the last one has ended,
/// this starts one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Before trying something
  tw checkpoint -m 'tests pass'

  # What was asked so far, and the numbers to go back to
  tw checkpoint list

  # The snapshot of a checkpoint can be named wherever a snapshot is asked for
  tw diff checkpoint:3")]
pub struct Args {
    /// What else to do
    #[command(subcommand)]
    pub verb: Option<Verb>,

    /// Say what it is about
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,

    /// Say what makes it: prompt, step or manual; default: manual
    #[arg(long, value_name = "KIND", hide_possible_values = true)]
    pub kind: Option<KindWord>,

    /// Mean this session: its id or its first characters, four or more; default: the caller's
    #[arg(long, value_name = "SESSION", global = true, add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,
}

/// What makes a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindWord {
    /// A prompt is about to be answered
    Prompt,
    /// A tool has written
    Step,
    /// Somebody asks for it
    Manual,
}

/// What else can be done with checkpoints.
#[derive(Debug, Subcommand)]
pub enum Verb {
    List(list::Args),
    Show(show::Args),
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<ops::checkpoints::Taken>("checkpoint"),
        document::<ops::checkpoint::Listing>("checkpoint list")
            .when("and tw rewind --json without a CHECKPOINT"),
        document::<ops::checkpoint::Shown>("checkpoint show"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let ctx = call.open()?;
        let session = self.session.clone();
        if self.verb.is_some() && (self.message.is_some() || self.kind.is_some()) {
            return Err(Error::usage(
                "--message and --kind are for a new checkpoint",
            ));
        }
        match &self.verb {
            None => reply(checkpoints::take(
                &ctx,
                &Take {
                    message: self.message.clone(),
                    kind: self.kind.map_or(Kind::Manual, kind),
                    session,
                },
            )),
            Some(Verb::List(args)) => args.run(session, &ctx),
            Some(Verb::Show(args)) => args.run(session.as_deref(), &ctx),
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

/// What was asked, on one line.
pub fn headline(checkpoint: &Checkpoint) -> String {
    let text = checkpoint.prompt.as_deref().or(checkpoint.tool.as_deref());
    beginning(text.unwrap_or_default())
}

impl Human for Taken {
    fn print(&self, page: &mut Page) {
        let checkpoint = &self.checkpoint;
        let since = if self.fresh {
            ""
        } else {
            "  (nothing changed since that snapshot)"
        };
        page.line(format!(
            "checkpoint {} of session {}",
            checkpoint.checkpoint_id,
            clean(&checkpoint.session_id)
        ));
        page.line(format!("  {}{since}", page.id(&checkpoint.snapshot_id)));
        page.notices(&self.notices);
        page.hint(format!(
            "'tw rewind {}{flag}' goes back to it",
            checkpoint.checkpoint_id,
            flag = self.session_flag
        ));
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.checkpoint.checkpoint_id.to_string()])
    }
}
