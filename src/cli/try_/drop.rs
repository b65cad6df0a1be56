//! `tw try drop`.

use crate::cli::prelude::*;
use crate::ops::try_::{self, Dropped};

/// Forget a try and its logs
///
/// What its runs left stays as long as any experiment: see 'tw prune'. One that cannot be read is forgotten by its whole id.
/// Refuses while its runs go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Nothing came of it
  tw try drop latest")]
pub struct Args {
    /// The try: its id, a part of it, or 'latest'
    #[arg(value_name = "TRY", add = complete::tries())]
    pub name: String,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Dropped>("try drop")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(try_::drop(&call.open()?, &self.name))
    }
}

impl Human for Dropped {
    fn print(&self, page: &mut Page) {
        page.line(format!("forgot {}", clean(&self.try_id)));
        if !self.experiments.is_empty() {
            page.line(format!(
                "  {} of it stay for a while",
                count(self.experiments.len(), "experiment")
            ));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.try_id.clone()])
    }
}
