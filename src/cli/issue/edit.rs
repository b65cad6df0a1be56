//! `tw issue edit`.

use super::sources::Sources;
use super::texts::{IssueTexts, fields};
use crate::cli::input;
use crate::cli::prelude::*;
use crate::ops::issue::{self, Edit};

/// Change an issue's texts, snapshot or conversation
///
/// What is not given stays. An empty text clears suspected cause, chat summary, verify command and kind. With --transcript or
/// --session the conversation is read anew, whole or as far as --last or --window say, and takes the place of the one that the
/// issue has; what a record was before stays in its history.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # It hurts more than thought
  tw issue edit ab12 --severity high --verify 'make test'

  # The end of the conversation that belongs to it
  tw issue edit ab12 --transcript session.jsonl --last 3")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// The texts.
    #[command(flatten)]
    pub texts: IssueTexts,

    /// What it is taken from.
    #[command(flatten)]
    pub sources: Sources,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<issue::IssueView>("issue edit")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let json = self.sources.from_json.as_deref().map(input::read);
        let context = call.open()?;
        let request = Edit {
            issue: self.issue.id(&context)?,
            fields: fields(&self.texts),
            json: json.transpose()?,
            snapshot: self.sources.snapshot.clone(),
            transcript: self.sources.transcript.clone(),
            session: self.sources.session.clone(),
            selection: self.sources.selection(),
            is_typed: self.texts.verify.is_some(),
        };
        reply(issue::edit(&context, &request))
    }
}
