//! `tw redo`. Its output is that of `tw undo`.

use crate::cli::prelude::*;
use crate::ops::outcome::Undone;

/// Bring back what undo replaced
///
/// Goes forward over the swaps that 'tw undo' stepped back over. A new travel, return or restore ends the way
/// forward.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Undo, and think again
  tw undo
  tw redo")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Undone>("redo")];

    fn run(&self, call: &Call<'_>) -> Reply {
        swapped(call, ops::undo::redo)
    }
}
