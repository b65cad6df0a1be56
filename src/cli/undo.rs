//! `tw undo`.

use crate::cli::human::swap::{RETURN_HINT, changes, remark, saved};
use crate::cli::prelude::*;
use crate::ops::outcome::Undone;
use crate::store::state::Mode;

/// Undo the last swap of the working tree
///
/// Steps back over travel, return, restore and rewind, one for each call: undo of a travel is a return, undo of a return
/// goes back into the past as it was left. Touches only what that swap touched; what changed since is saved in a
/// backup first and named. When HEAD has moved since, HEAD and index stay and tw says so. The log reaches back 100
/// steps or 30 days, whichever is more, also across restarts. 'tw redo' brings back what undo replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Take back a restore
  tw restore latest src/main.rs
  tw undo")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Undone>("undo")];

    fn run(&self, call: &Call<'_>) -> Reply {
        swapped(call, ops::undo::undo)
    }
}

impl Human for Undone {
    fn print(&self, page: &mut Page) {
        let verb = if self.direction == "redo" {
            "redid"
        } else {
            "undid"
        };
        page.line(format!(
            "{verb} {}: in the {}",
            clean(&self.operation),
            self.mode.as_str()
        ));
        saved(page, "what was there", self.backup_id.as_deref());
        saved(
            page,
            "what was made in the past",
            self.experiment_id.as_deref(),
        );
        changes(page, &self.changes, false);
        remark(
            page,
            "changed since; those bytes are in the backup",
            &self.changed_since,
        );
        if let Some(why) = &self.head_stayed {
            page.line(format!("  HEAD and index stay as they are: {}", clean(why)));
        }
        page.notices(&self.notices);
        if self.direction == "undo" {
            page.hint("'tw redo' brings back what this replaced");
        }
        if self.mode == Mode::Past {
            page.hint(RETURN_HINT);
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}
