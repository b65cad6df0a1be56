//! `tw try apply`.

use crate::cli::human::swap::applied_run;
use crate::cli::prelude::*;
use crate::ops::try_::{self, Applied, Apply};

/// Put what a run made onto the present
///
/// A three-way merge of the snapshot that the run began with, of what it left, and of what is there now; renames are followed. The
/// present is saved first, and 'tw undo' brings it back; the index stays. Where both changed the same lines nothing is written and
/// the paths are named (exit status 5), unless --conflicts asks for both sides in the files, with git's markers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Take over what the best run made
  tw try apply latest

  # What would the second change?
  tw try apply latest 2 --dry-run")]
pub struct Args {
    /// The try: its id, a part of it, or 'latest'
    #[arg(value_name = "TRY", add = complete::tries())]
    pub name: String,

    /// The run (default: the best)
    #[arg(value_name = "RUN")]
    pub run: Option<u64>,

    /// Write both sides of what conflicts, with markers
    #[arg(long)]
    pub conflicts: bool,

    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Applied>("try apply")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = Apply {
            name: self.name.clone(),
            run: self.run,
            conflicts: self.conflicts,
            dry_run: self.dry_run.into(),
        };
        swapped(call, |context| try_::apply(context, &request))
    }
}

impl Human for Applied {
    fn print(&self, page: &mut Page) {
        let applied = &self.applied;
        applied_run(page, &clean(&self.try_id), applied);
        if applied.dry_run || applied.backup_id.is_none() {
            return;
        }
        if !applied.conflicts.is_empty() {
            page.hint("fix the files, or run 'tw undo' to take everything back");
            return;
        }
        if let Some(issue) = &self.issue_id {
            let issue = clean(issue);
            page.hint(format!(
                "'tw issue verify {issue}' runs its check, 'tw issue close {issue}' closes it"
            ));
        }
        page.hint("'tw undo' takes it back");
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.applied.backup_id.iter().cloned().collect())
    }

    fn exit_code(&self) -> u8 {
        u8::from(!self.applied.dry_run && !self.applied.conflicts.is_empty())
    }
}
