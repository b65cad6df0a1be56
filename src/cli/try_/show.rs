//! `tw try show`.

use crate::cli::prelude::*;
use crate::ops::try_::{self, Tried};

/// Show a try and its runs, best first
///
/// Passed ones come first, among them those that changed nothing that the check names, then smaller and quicker ones. Runs that left
/// the same files have the same tree.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What came of the last one?
  tw try show latest")]
pub struct Args {
    /// The try: its id, a part of it, or 'latest'
    #[arg(value_name = "TRY", add = complete::tries())]
    pub name: String,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Tried>("try show")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let tried = try_::show(&call.open()?, &self.name)?;
        reply(Ok(Shown(tried)))
    }
}

/// A try that is looked at: whatever came of it, that succeeded.
#[derive(serde::Serialize)]
#[serde(transparent)]
struct Shown(Tried);

impl Human for Shown {
    fn print(&self, page: &mut Page) {
        self.0.print(page);
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.0.brief()
    }
}
