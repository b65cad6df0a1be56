//! `tw try list`.

use crate::cli::prelude::*;
use crate::ops::sharing::experiments::{SharedTry, SharedTryRun};
use crate::ops::tries::Try;
use crate::ops::try_::{self, Tries};

/// List tries, newest first
///
/// Each with what it began with, its best run, and its command. A try is kept on this machine until it is dropped. Those that
/// others shared follow, with the name that each is claimed by (see tw-share(1)): they are shown and no more. With -v their runs are shown, too.
/// Records that cannot be read are told as such and hide no others.
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
        for shared in &self.shared {
            print(shared, page);
        }
        super::unreadable::<Try>(&self.invalid, page);
        page.notices(&self.notices);
        if self.tries.is_empty() && self.shared.is_empty() && self.invalid.is_empty() {
            page.hint("'tw try -- COMMAND' makes one");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        // Nothing can be done here with those of others.
        let ids = self.tries.iter().map(|record| record.try_id.clone());
        Some(ids.collect())
    }
}

/// A try of somebody else: what was said of it.
fn print(shared: &SharedTry, page: &mut Page) {
    let best = match shared.best {
        Some(best) => format!("best: run {best}"),
        None => "none is good".to_owned(),
    };
    let of = match &shared.issue_id {
        Some(issue) => format!(" for issue {}", clean(issue)),
        None => String::new(),
    };
    page.line(format!(
        "{}  {} of {}{of}  {}  {best}  (claimed by {})",
        clean(&shared.try_id),
        count(shared.runs.len(), "run"),
        clean(&shared.source),
        page.options.ago(&shared.created_at),
        clean(&shared.claimed_by)
    ));
    if let Some(command) = &shared.command {
        page.line(format!("    {}", clean(command)));
    }
    if page.options.verbose {
        for run in &shared.runs {
            page.line(line(run));
        }
    }
}

fn line(run: &SharedTryRun) -> String {
    let check = match &run.verify {
        Some(check) => format!("  {}", clean(&check.command)),
        None => String::new(),
    };
    let size = super::size(run.diff_stat, false);
    let status = clean(&run.status);
    format!("  {:>3}  {status:10}  {size}{check}", run.number)
}
