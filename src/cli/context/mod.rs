//! `tw context`.

mod append;
mod checkpoint;
mod compact;
mod revert;
mod show;
mod usage;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::cli::human::text::{self};
use crate::cli::prelude::*;
use crate::ops::context::{self, ContextLog, NoSession};

/// Keep the conversation of a harness in a log
///
/// For a harness that has no session file of its own: one file of JSON lines with the messages that the model sees,
/// checkpoints to come back to, and token counts. The form is that of kimi-cli's context.jsonl, and each reads what the
/// other writes. The log is private and is never redacted.
///
/// The log is timewarp/contexts/SESSION.jsonl in the git directory of the worktree, SESSION being the caller's session, or
/// the file that --file names. Where no session was started, or the last one has ended, the first append, checkpoint or
/// usage starts one. A change is made whole or not at all, and by one process at a time. What 'revert' and 'compact'
/// take out stays beside the log as SESSION_1.jsonl, SESSION_2.jsonl and so on. Lines that are malformed, or torn
/// by a crash, are skipped and counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # A turn
  tw context checkpoint
  tw context append --role user 'fix the tests'
  tw context append --json '{\"role\": \"assistant\", \"content\": \"Which ones?\"}'
  tw context usage 1200

  # Go back to where it began, and say why
  tw context revert 0 --note 'the tests need a database; start one first'

  # Look into a session of kimi-cli
  tw context --file context.jsonl show")]
pub struct Args {
    /// Use this file; it may belong to no repository
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "session", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Use the log of this session; default: the caller's
    #[arg(long, value_name = "ID", global = true, add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// What can be done with a log.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Append(append::Args),
    Checkpoint(checkpoint::Args),
    Usage(usage::Args),
    Show(show::Args),
    Revert(revert::Args),
    Compact(compact::Args),
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<ops::context::Appended>("context append"),
        document::<ops::context::Checkpointed>("context checkpoint"),
        document::<ops::context::Compacted>("context compact"),
        document::<ops::context::Reverted>("context revert"),
        document::<ops::context::Shown>("context show"),
        document::<ops::context::Counted>("context usage"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let log = find(self, call)?;
        match &self.verb {
            Verb::Append(args) => args.run(&log),
            Verb::Checkpoint(args) => args.run(&log),
            Verb::Usage(args) => args.run(&log),
            Verb::Show(show::Args {}) => show::run(&log),
            Verb::Revert(args) => args.run(&log),
            Verb::Compact(args) => args.run(&log, call),
        }
    }
}

/// A named file needs no repository.
fn find(args: &Args, call: &Call<'_>) -> Result<ContextLog> {
    let Some(file) = &args.file else {
        let absent = match args.verb {
            Verb::Append(_) | Verb::Checkpoint(_) | Verb::Usage(_) => NoSession::Start,
            Verb::Show(_) | Verb::Revert(_) | Verb::Compact(_) => NoSession::Refuse,
        };
        return context::of_session(&call.open()?, args.session.as_deref(), absent);
    };
    let wait = call
        .open()
        .map_or(context::PATIENCE, |ctx| ctx.settings.lock_timeout);
    context::at_file(call.start, file, wait)
}

pub fn kept(page: &mut Page, rotated: Option<&Path>) {
    if let Some(path) = rotated {
        page.line(format!("  the log before is {}", text::path(path)));
    }
}

pub fn skipped(page: &mut Page, lines: usize) {
    if lines > 0 {
        page.note(format!("{} could not be read", count(lines, "line")));
    }
}
