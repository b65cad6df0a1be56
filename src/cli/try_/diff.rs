//! `tw try diff`.

use crate::cli::diff::{DiffPage, Form};
use crate::cli::prelude::*;
use crate::ops::compare::Patches;
use crate::ops::outcome::Diff;
use crate::ops::try_;

/// Show what a run changed, as a patch
///
/// Against the snapshot that it began with. What the check wrote is not in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What did the best run do?
  tw try diff latest

  # How much did the second change?
  tw try diff latest 2 --stat")]
pub struct Args {
    /// The try: its id, a part of it, or 'latest'
    #[arg(value_name = "TRY", add = complete::tries())]
    pub name: String,

    /// The run (default: the best)
    #[arg(value_name = "RUN")]
    pub run: Option<u64>,

    /// Print the number of lines added and removed for each path instead
    #[arg(long)]
    pub stat: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Diff>("try diff")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let (patches, form) = if self.stat {
            (Patches::None, Form::Stat)
        } else {
            (Patches::Full, Form::Patch)
        };
        let diff = try_::diff(&call.open()?, &self.name, self.run, patches)?;
        reply(Ok(DiffPage {
            diff,
            form,
            exit_code: 0,
        }))
    }
}
