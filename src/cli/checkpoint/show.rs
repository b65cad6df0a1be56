//! `tw checkpoint show`.

use crate::cli::human::time;
use crate::cli::prelude::*;
use crate::ops::checkpoint::{self, Shown};

/// Show a checkpoint
///
/// Says what was asked, which snapshot it has, where it stands in the conversation, and whether files and conversation
/// can still be gone back to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The checkpoint with number 3
  tw checkpoint show 3

  # One of another session
  tw checkpoint show 5f0c:3")]
pub struct Args {
    /// The checkpoint's number, 'checkpoint:N' or 'SESSION:N'
    #[arg(value_name = "CHECKPOINT", add = complete::checkpoints())]
    pub checkpoint: String,
}

impl Args {
    pub fn run(&self, session: Option<&str>, ctx: &Context<'_>) -> Reply {
        reply(checkpoint::show(ctx, &self.checkpoint, session))
    }
}

impl Human for Shown {
    fn print(&self, page: &mut Page) {
        let checkpoint = &self.checkpoint;
        page.line(format!(
            "checkpoint {} of session {}",
            checkpoint.checkpoint_id,
            clean(&checkpoint.session_id)
        ));
        let place = &checkpoint.transcript;
        let options = page.options;
        let mut row = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                page.line(format!("  {name:<12} {value}"));
            }
        };
        row(
            "made",
            Some(time::exactly(options.now, &checkpoint.created_at)),
        );
        row("kind", Some(checkpoint.kind.as_str().to_owned()));
        row("agent", checkpoint.agent.as_deref().map(clean));
        row("tool", checkpoint.tool.as_deref().map(clean));
        row("snapshot", Some(options.id(&checkpoint.snapshot_id)));
        row("supersedes", checkpoint.supersedes.as_deref().map(clean));
        row("transcript", place.path.as_deref().map(clean));
        row("line", place.line.map(number));
        row("tokens", checkpoint.tokens.context.map(number));
        let yes = "can be gone back to".to_owned();
        let code = if self.available.code {
            yes.clone()
        } else {
            "its snapshot was forgotten".to_owned()
        };
        row("files", Some(code));
        row(
            "conversation",
            Some(self.available.reason.as_deref().map_or(yes, clean)),
        );
        if let Some(prompt) = &checkpoint.prompt {
            page.line("");
            page.lines("  ", prompt);
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.checkpoint.snapshot_id.clone()])
    }
}
