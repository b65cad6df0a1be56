//! `tw backtrack`.

use clap::Subcommand;

use crate::cli::input;
use crate::cli::prelude::*;
use crate::ops::backtrack::{self, Cancelled, Schedule, Scheduled, Shown, Taken};
use crate::store::backtrack::Message;

/// Leave a message to an earlier self
///
/// For a model that wants to forget a detour: it sends a note to a checkpoint of its own session, its harness takes the
/// note when the step has ended, goes back to the checkpoint and goes on from there with the note alone. Nothing is changed
/// by sending: files stay, and the conversation is the harness's to cut, with 'tw context revert' where it keeps its log
/// here.
///
/// One message waits at a time. The checkpoint has to be one of the session's, and still be in its context: after a
/// compaction older ones are unavailable. The checkpoints are those that 'tw' keeps of the session, or those of its context
/// log when there are none. A sub-agent cannot go back. kimi-cli calls this a D-Mail.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "dmail",
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  # What the model calls
  tw backtrack 4 --note 'the parser is in src/lex.rs' --rationale 'the search was long'

  # What the harness calls after the step, or when a tool call of it was rejected
  tw backtrack take --json
  tw backtrack cancel"
)]
pub struct Args {
    /// Take, show or drop what waits
    #[command(subcommand)]
    pub verb: Option<Verb>,

    /// The checkpoint to go back to: its number, or SESSION:NUMBER
    #[arg(
        value_name = "CHECKPOINT",
        required = true,
        add = complete::checkpoints(),
        allow_negative_numbers = true
    )]
    pub checkpoint: Option<String>,

    /// What the earlier self has to know; '-' reads standard input
    #[arg(long, value_name = "TEXT", required = true)]
    pub note: Option<String>,

    /// Say why
    #[arg(long, value_name = "TEXT")]
    pub rationale: Option<String>,

    #[command(flatten)]
    pub whose: Whose,
}

/// What can be done with a message that waits.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Take the message away for going back
    ///
    /// Prints it, or nothing when none waits; with --json 'backtrack' is null then. When the conversation was compacted
    /// since, so that the checkpoint is gone, the message is dropped and the error has the note.
    #[command(after_help = "\
Examples:
  # After each step
  tw backtrack take --json | jq -r '.backtrack // empty | .checkpoint_id'")]
    Take(Whose),
    /// Show the message that waits
    ///
    /// It goes on waiting.
    #[command(after_help = "\
Examples:
  # What will I be told?
  tw backtrack show")]
    Show(Whose),
    /// Drop the message that waits
    ///
    /// A harness calls this when the tool call that sent the message, or one of the same step, was rejected.
    #[command(after_help = "\
Examples:
  # The user said no
  tw backtrack cancel")]
    Cancel(Whose),
}

/// The session whose message is meant.
#[derive(Debug, clap::Args)]
pub struct Whose {
    /// Mean this session; default: the caller's
    #[arg(long, value_name = "ID", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Scheduled>("backtrack"),
        document::<Cancelled>("backtrack cancel"),
        document::<Shown>("backtrack show"),
        document::<Taken>("backtrack take"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let ctx = call.open()?;
        match &self.verb {
            Some(Verb::Take(of)) => reply(backtrack::take(&ctx, of.session.as_deref())),
            Some(Verb::Show(of)) => reply(backtrack::show(&ctx, of.session.as_deref())),
            Some(Verb::Cancel(of)) => reply(backtrack::cancel(&ctx, of.session.as_deref())),
            None => {
                let request = Schedule {
                    checkpoint: self.checkpoint.clone().unwrap_or_default(),
                    note: input::text(self.note.as_deref().unwrap_or_default())?,
                    rationale: self.rationale.clone(),
                    session: self.whose.session.clone(),
                };
                reply(backtrack::schedule(&ctx, &request))
            }
        }
    }
}

fn show(page: &mut Page, message: Option<&Message>) {
    let Some(message) = message else {
        page.note("no message waits");
        return;
    };
    page.line(format!("to checkpoint {}", message.checkpoint_id));
    if let Some(rationale) = &message.rationale {
        page.line(format!("because {}", clean(rationale)));
    }
    page.line("");
    page.lines("", &message.note);
}

impl Human for Scheduled {
    fn print(&self, page: &mut Page) {
        page.line(format!(
            "a message waits to go back to checkpoint {}",
            self.backtrack.checkpoint_id
        ));
        let flag = &self.session_flag;
        page.hint(format!(
            "the harness takes it with 'tw backtrack take{flag}'"
        ));
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.backtrack.checkpoint_id.to_string()])
    }
}

impl Human for Taken {
    fn print(&self, page: &mut Page) {
        show(page, self.backtrack.as_ref());
    }
}

impl Human for Shown {
    fn print(&self, page: &mut Page) {
        show(page, self.backtrack.as_ref());
    }
}

impl Human for Cancelled {
    fn print(&self, page: &mut Page) {
        match &self.backtrack {
            Some(message) => page.line(format!(
                "dropped the message to checkpoint {}",
                message.checkpoint_id
            )),
            None if self.notices.is_empty() => page.line("no message waits"),
            None => page.notices(&self.notices),
        }
    }
}
