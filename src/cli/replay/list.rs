//! `tw replay list`.

use crate::cli::prelude::*;
use crate::ops::replay::{self, Replays};

/// List replays, newest first
///
/// Each with how many issues passed, and its command. A replay is kept on this machine until it is dropped.
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
        if self.replays.is_empty() {
            page.hint("'tw replay -- COMMAND' makes one");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.replays.iter().map(|record| record.replay_id.clone());
        Some(ids.collect())
    }
}
