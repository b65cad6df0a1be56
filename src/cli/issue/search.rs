//! `tw issue search`. Its output is that of `tw issue list`.

use super::{StatusWord, status};
use crate::cli::prelude::*;
use crate::ops::issue::{self, Filter};

/// List the issues that contain a text
///
/// Looks into the texts, the experiment, the comments, what was said when it was closed, and the conversation, whatever the case.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Was it met before?
  tw issue search 'link fails'")]
pub struct Args {
    /// Look for this
    #[arg(value_name = "TEXT")]
    pub text: String,

    /// Only those with this status: open, experimenting, fixed, wontfix, duplicate or all
    #[arg(
        long,
        value_name = "STATUS",
        default_value = "all",
        hide_possible_values = true
    )]
    pub status: StatusWord,

    /// Only those of this kind of friction; an empty word means those that have none
    #[arg(long, value_name = "WORD", add = complete::kinds())]
    pub kind: Option<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<issue::IssueListing>("issue search")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let filter = Filter {
            status: status(self.status),
            kind: self.kind.clone(),
            ..Filter::default()
        };
        reply(issue::search(&call.open()?, &self.text, &filter))
    }
}
