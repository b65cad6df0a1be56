//! `tw close`.

use std::path::PathBuf;

use crate::cli::human::text::{self};
use crate::cli::prelude::*;
use crate::ops::outcome::Closed;

/// Remove a directory made by open, keeping what was made in it
///
/// Takes an experiment of the directory first, then removes what 'tw open' made and nothing else. Refuses when it holds
/// something that cannot be captured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Done with it
  tw close ../try-it")]
pub struct Args {
    /// Remove this directory
    #[arg(value_name = "DIR", add = complete::opened())]
    pub dir: PathBuf,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Closed>("close")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::close::close(&call.open()?, &self.dir))
    }
}

impl Human for Closed {
    fn print(&self, page: &mut Page) {
        page.line(format!("closed {}", text::path(&self.dir)));
        if let Some(id) = &self.experiment_id {
            page.line(format!("  what was in it is saved as {}", page.id(id)));
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.experiment_id.iter().cloned().collect())
    }
}
