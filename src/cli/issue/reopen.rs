//! `tw issue reopen`.

use crate::cli::prelude::*;
use crate::ops::issue;

/// Open a closed issue again
///
/// What was said when it was closed stays in the record: 'tw issue get' shows it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # It came back
  tw issue reopen ab12")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<issue::IssueView>("issue reopen")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        reply(issue::reopen(&context, &self.issue.id(&context)?))
    }
}
