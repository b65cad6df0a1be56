//! `tw issue edit`.

use super::texts::{IssueTexts, fields};
use crate::cli::prelude::*;
use crate::ops::issue::{self, Edit};

/// Change an issue's texts
///
/// What is not given stays. An empty text clears suspected cause, chat summary, verify command and kind.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # It hurts more than thought
  tw issue edit ab12 --severity high --verify 'make test'")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// The texts.
    #[command(flatten)]
    pub texts: IssueTexts,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<issue::IssueView>("issue edit")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let request = Edit {
            issue: self.issue.id(&context)?,
            fields: fields(&self.texts),
            trusted: self.texts.verify.is_some(),
        };
        reply(issue::edit(&context, &request))
    }
}
