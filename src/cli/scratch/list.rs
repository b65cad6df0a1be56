//! `tw scratch list`.

use crate::cli::human::text;
use crate::cli::prelude::*;
use crate::ops::scratch::{self, Scratches};
use crate::ops::scratches::known::State;

/// List the directories that snapshots are laid out in
///
/// Each with what it is for: 'open' until 'tw close', or a run. A run's is 'in-use' while its command lives, and 'left'
/// when that was killed; 'lost' is one of which a run took away what made it a worktree.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Which are there?
  tw scratch list

  # Their directories, for a script
  tw -q scratch list")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Scratches>("scratch list")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(scratch::list(&call.open()?))
    }
}

impl Human for Scratches {
    fn print(&self, page: &mut Page) {
        for scratch in &self.scratches {
            page.line(text::path(&scratch.dir));
            let what = if scratch.purpose == "open" {
                String::new()
            } else {
                format!("{}, ", clean(&scratch.purpose))
            };
            let state = scratch.state.as_str();
            page.line(match (&scratch.snapshot_id, &scratch.created_at) {
                (Some(id), Some(at)) => {
                    format!(
                        "  {what}{state} of {} {}",
                        page.id(id),
                        page.options.ago(at)
                    )
                }
                _ => format!("  {what}{state}: git knows nothing of it any more"),
            });
        }
        let has = |state| self.scratches.iter().any(|scratch| scratch.state == state);
        if has(State::Left) {
            page.hint("'tw scratch gc' saves and removes what was left");
        }
        if has(State::Gone) {
            page.hint("'git worktree prune' forgets those whose directories are gone");
        }
        if self.scratches.is_empty() {
            page.hint("'tw open SNAPSHOT' lays one out");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let dirs = self.scratches.iter();
        Some(dirs.map(|one| text::path(&one.dir)).collect())
    }
}
