//! `tw replay show`.

use crate::cli::prelude::*;
use crate::ops::replay::{self, ReplayAnswer};

/// Show a replay, issue by issue
///
/// With how each came out, and how it had in the replay of the same command before.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What came of the last one?
  tw replay show latest")]
pub struct Args {
    /// The replay: its id, a part of it, or 'latest'
    #[arg(value_name = "REPLAY", add = complete::replays())]
    pub name: String,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<ReplayAnswer>("replay show")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let answer = replay::show(&call.open()?, &self.name)?;
        reply(Ok(Shown(answer)))
    }
}

/// A replay that is looked at: whatever came of it, that succeeded.
#[derive(serde::Serialize)]
#[serde(transparent)]
struct Shown(ReplayAnswer);

impl Human for Shown {
    fn print(&self, page: &mut Page) {
        self.0.print(page);
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.0.brief()
    }
}
