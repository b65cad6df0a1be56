//! `tw issue get`.

use crate::cli::prelude::*;
use crate::ops::issue;

/// Show an issue
///
/// Edits on its desk are taken in first, and the desk files are written.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # All of it
  tw issue get ab12")]
pub struct Args {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,
}

impl Run for Args {
    fn run(&self, call: &Call<'_>) -> Reply {
        reply(issue::get(&call.open()?, &self.issue))
    }
}
