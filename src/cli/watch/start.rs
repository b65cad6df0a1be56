//! `tw watch start`.

use super::How;
use crate::cli::prelude::*;
use crate::ops::watch::Watching;

/// Start the watcher in the background
///
/// Answers once it can be asked: it has looked at every file by then. Does nothing when there is one. It keeps running when the
/// terminal closes, until 'tw watch stop' or until the working tree is gone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Until nobody took a snapshot for two hours
  tw watch start --idle 2h")]
pub struct Args {
    #[command(flatten)]
    how: How,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Watching>("watch start")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        reply(ops::watch::start(&context, &self.how.options()))
    }
}
