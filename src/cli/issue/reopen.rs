//! `tw issue reopen`.

use crate::cli::prelude::*;
use crate::ops::issue;

/// Open a closed issue again
///
/// What was said when it was closed stays in the record's history.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # It came back
  tw issue reopen ab12")]
pub struct Args {
    /// Which issue
    #[arg(value_name = "ISSUE")]
    pub issue: String,
}

impl Run for Args {
    fn run(&self, call: &Call<'_>) -> Reply {
        reply(issue::reopen(&call.open()?, &self.issue))
    }
}
