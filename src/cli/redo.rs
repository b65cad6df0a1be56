//! `tw redo`. Its output is that of `tw undo`.

use super::undo::StepArgs;
use crate::cli::prelude::*;
use crate::ops::steps::{Levels, Undone};
use crate::ops::swap::undo_log::Log;

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
pub struct Args {
    #[command(flatten)]
    pub step: StepArgs,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Undone>("redo"),
        document::<Levels>("redo --list"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        self.step.run(call, Log::Redo)
    }
}
