//! `tw try list`.

use crate::cli::prelude::*;
use crate::ops::try_::{self, Tries};

/// List tries, newest first
///
/// Each with what it began with, its best run, and its command. A try is kept on this machine until it is dropped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What was tried?
  tw try list")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Tries>("try list")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(try_::list(&call.open()?))
    }
}

impl Human for Tries {
    fn print(&self, page: &mut Page) {
        for record in &self.tries {
            let best = match record.best {
                Some(best) => format!("  best: run {best}"),
                None if record.ended_at.is_none() => "  not ended".to_owned(),
                None => "  none is good".to_owned(),
            };
            page.line(format!("{}{best}", super::headline(record, page)));
            page.line(format!("    {}", clean(&record.command)));
        }
        if self.tries.is_empty() {
            page.hint("'tw try -- COMMAND' makes one");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.tries.iter().map(|record| record.try_id.clone());
        Some(ids.collect())
    }
}
