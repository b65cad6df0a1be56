//! `tw watch status`.

use crate::cli::prelude::*;
use crate::ops::watch::Watching;

/// Show the state of the watcher
///
/// Whether it runs, what it watches, how often it was asked and could not answer, and why it turned itself off.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Does it run, and does it answer?
  tw watch status")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Watching>("watch status")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::watch::status(&call.open()?))
    }
}
