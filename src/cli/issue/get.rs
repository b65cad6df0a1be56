//! `tw issue get`.

use crate::cli::prelude::*;
use crate::ops::issue;

/// Show an issue
///
/// Edits on its desk are taken in first, and the desk files are written.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "show",
    after_help = "\
Examples:
  # All of it
  tw issue get ab12"
)]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<issue::IssueView>("issue get")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        reply(issue::get(&context, &self.issue.id(&context)?))
    }
}
