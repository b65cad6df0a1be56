//! `tw try log`.

use crate::cli::prelude::*;
use crate::ops::try_::{self, Logged};

/// Show what a run printed
///
/// Of a long output the beginning and the end are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What did the second run say?
  tw try log latest 2")]
pub struct Args {
    /// The try: its id, a part of it, or 'latest'
    #[arg(value_name = "TRY", add = complete::tries())]
    pub name: String,

    /// The run (default: the best)
    #[arg(value_name = "RUN")]
    pub run: Option<u64>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Logged>("try log")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(try_::log(&call.open()?, &self.name, self.run))
    }
}

impl Human for Logged {
    fn print(&self, page: &mut Page) {
        for line in self.output.lines() {
            page.line(clean(line));
        }
        if let Some(output) = &self.verify_output {
            page.line("--- the check:");
            for line in output.lines() {
                page.line(clean(line));
            }
        }
    }
}
