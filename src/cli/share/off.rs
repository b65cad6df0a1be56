//! `tw share off`.

use crate::cli::prelude::*;
use crate::ops::share::{self, Ended};

/// Stop sharing
///
/// Nothing is sent or brought any more. What the remote has it keeps, and what came from it stays here. 'tw share
/// init' goes on where it ended.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # No more
  tw share off")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Ended>("share off")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(share::off(&call.open()?))
    }
}

impl Human for Ended {
    fn print(&self, page: &mut Page) {
        match &self.remote {
            None => page.line("sharing was off"),
            Some(remote) => {
                let remote = clean(remote);
                page.line(format!("nothing is shared with '{remote}' any more"));
                page.note(format!("'{remote}' keeps what was pushed"));
            }
        }
    }
}
