//! `tw issue comment`.

use crate::cli::prelude::*;
use crate::ops::issue::{self, Comment};

/// Comment on an issue
///
/// The comment is kept in the issue with its time and, where one is known, the session it was made in.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What was found out
  tw issue comment ab12 -m 'only with two workers'

  # Of the one that is being worked on
  tw issue comment -m 'the pool is too small'")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// The text
    #[arg(short, long, visible_alias = "body", value_name = "TEXT")]
    pub message: String,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<issue::IssueView>("issue comment")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let request = Comment {
            issue: self.issue.id(&context)?,
            text: self.message.clone(),
            session: None,
        };
        reply(issue::comment(&context, &request))
    }
}
