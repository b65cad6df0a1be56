//! `tw scratch gc`.

use crate::cli::human::text;
use crate::cli::prelude::*;
use crate::ops::scratch::{self, Collected};

/// Save and remove the scratches that a killed run left
///
/// An experiment is taken of each first, unless nothing differs from its snapshot. What cannot be saved stays and is
/// named; so does one that was moved, is locked or was lost. Directories that 'tw open' made stay, too: 'tw close' removes them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # After a crash
  tw scratch gc")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Collected>("scratch gc")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(scratch::gc(&call.open()?))
    }
}

impl Human for Collected {
    fn print(&self, page: &mut Page) {
        for one in &self.removed {
            page.line(format!("removed {}", text::path(&one.dir)));
            if let Some(id) = &one.experiment_id {
                page.line(format!("  what was in it is saved as {}", page.id(id)));
            }
        }
        for one in &self.kept {
            page.note(format!(
                "{} stays: {}",
                text::path(&one.dir),
                clean(&one.reason)
            ));
            for hint in &one.hints {
                page.hint(hint);
            }
        }
        if self.removed.is_empty() && self.kept.is_empty() {
            page.line("no scratch was left behind");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.removed.iter();
        Some(ids.filter_map(|one| one.experiment_id.clone()).collect())
    }
}
