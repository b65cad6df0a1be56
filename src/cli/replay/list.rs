//! `tw replay list`.

use crate::cli::prelude::*;
use crate::cli::try_::unreadable;
use crate::ops::replay::{self, Replays};
use crate::ops::replays::Replay;

/// List replays, newest first
///
/// Each with how many issues passed, and its command. A replay is kept on this machine until it is dropped. Records that cannot be read
/// are told as such and hide no others.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Did the last change of the instructions help?
  tw replay list")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Replays>("replay list")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(replay::list(&call.open()?))
    }
}

impl Human for Replays {
    fn print(&self, page: &mut Page) {
        for record in &self.replays {
            page.line(super::headline(record, page));
        }
        unreadable::<Replay>(&self.invalid, page);
        if self.replays.is_empty() && self.invalid.is_empty() {
            page.hint("'tw replay -- COMMAND' makes one");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.replays.iter().map(|record| record.replay_id.clone());
        Some(ids.collect())
    }
}
