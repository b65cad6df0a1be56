//! `tw session list`.

use super::line;
use crate::cli::prelude::*;
use crate::ops::outcome::Invalid;
use crate::ops::session::{self, List, Listing};

/// List sessions, last active first
///
/// Those of this worktree, unless --all-worktrees asks for more. A record that cannot be read is named and hides no other.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Who is at work here?
  tw session list --live

  # In every worktree, for a program
  tw session list --all-worktrees --json")]
pub struct Args {
    /// Show at most N
    #[arg(short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Show only live ones
    #[arg(long)]
    pub live: bool,

    /// Show those of other worktrees too
    #[arg(long)]
    pub all_worktrees: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Listing>("session list")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(session::list(
            &call.open()?,
            &List {
                limit: self.limit,
                live: self.live,
                all_worktrees: self.all_worktrees,
            },
        ))
    }
}

impl Human for Listing {
    fn print(&self, page: &mut Page) {
        for view in &self.sessions {
            page.line(line(view, &page.options));
        }
        for Invalid { id, reason } in &self.invalid {
            page.note(format!(
                "the record of session '{id}' cannot be read: {reason}"
            ));
        }
        if self.sessions.is_empty() {
            page.hint("'tw session start' starts one; 'tw init' lets your agents do it");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.sessions.iter();
        Some(ids.map(|view| view.session_id.clone()).collect())
    }
}
