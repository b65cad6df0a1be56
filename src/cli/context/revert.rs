//! `tw context revert`.

use super::{kept, skipped};
use crate::cli::input;
use crate::cli::prelude::*;
use crate::ops::context::{self, ContextLog, Revert, Reverted};

/// Go back to a checkpoint
///
/// The log becomes what it was just before checkpoint N was added; the log before stays in a numbered file. A checkpoint
/// that stands between a tool call and its result takes the call along. With --note the log ends in a new checkpoint and a
/// message to the one who goes on from there. Files are not touched: 'tw restore' and 'tw travel' do that.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Forget a long search, keep what it found
  tw context revert 4 --note 'the parser is in src/lex.rs; nothing else matters'")]
pub struct Args {
    /// The checkpoint
    #[arg(value_name = "N", allow_negative_numbers = true)]
    pub checkpoint: i64,

    /// Leave a note to the one who goes on from there; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

impl Args {
    pub fn run(&self, log: &ContextLog) -> Reply {
        let request = Revert {
            checkpoint_id: self.checkpoint,
            note: self.note.as_deref().map(input::text).transpose()?,
        };
        reply(context::revert(log, &request))
    }
}

impl Human for Reverted {
    fn print(&self, page: &mut Page) {
        page.line(format!(
            "back before checkpoint {}: {} discarded, {} tokens",
            self.checkpoint_id,
            count(self.messages_discarded, "message"),
            number(self.tokens_discarded)
        ));
        if let Some(id) = self.note_checkpoint {
            page.line(format!("  the note stands after checkpoint {id}"));
        }
        kept(page, self.rotated_to.as_deref());
        skipped(page, self.skipped);
    }
}
