//! `tw watch stop`.

use crate::cli::prelude::*;
use crate::ops::watch::Stopped;

/// Stop the watcher
///
/// Snapshots look at all files again. Does nothing when there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Look at all files again
  tw watch stop")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Stopped>("watch stop")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::watch::stop(&call.open()?))
    }
}

impl Human for Stopped {
    fn print(&self, page: &mut Page) {
        page.line(if self.stopped {
            "stopped the watcher"
        } else {
            "there is no watcher here"
        });
    }
}
