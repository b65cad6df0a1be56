//! `tw issue apply`.

use crate::cli::human::swap::applied_run;
use crate::cli::prelude::*;
use crate::ops::issue::{self, Applied, Apply};

/// Put what a run changed onto the present
///
/// A three-way merge of the run's snapshot, of what 'tw return' left as its experiment, and of what is there now; renames
/// are followed. The present is saved first, and 'tw undo' brings it back. Where both changed the same lines the file gets
/// git's conflict markers and the index its stages (none for a file that goes through a filter of git's), 'git status'
/// shows them, and the exit status is 1; the rest of the index, HEAD and the branch stay. Of a file that one side deleted
/// the changed version stays in place.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would the last run change here?
  tw issue apply ab12 --dry-run

  # Take over what the first run tried
  tw issue apply ab12 --run 1")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// Take run N instead of the last one that left an experiment
    #[arg(long, value_name = "N")]
    pub run: Option<u64>,

    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Applied>("issue apply")];

    fn run(&self, call: &Call<'_>) -> Reply {
        swapped(call, |context| {
            let request = Apply {
                issue: self.issue.id(context)?,
                run: self.run,
                dry_run: self.dry_run.into(),
            };
            issue::apply(context, &request)
        })
    }
}

impl Human for Applied {
    fn print(&self, page: &mut Page) {
        let id = clean(&self.issue_id);
        let applied = &self.applied;
        applied_run(page, &format!("issue {id}"), applied);
        if applied.dry_run {
            page.hint(format!(
                "'tw issue apply {id} --run {}' does it",
                applied.run
            ));
        } else if applied.backup_id.is_some() && !applied.conflicts.is_empty() {
            page.hint("fix the files and 'git add' them, or run 'tw undo' to take everything back");
        } else if applied.backup_id.is_some() {
            page.hint(format!(
                "'tw issue verify {id}' runs its check, 'tw undo' takes it back"
            ));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.applied.backup_id.iter().cloned().collect())
    }

    fn exit_code(&self) -> u8 {
        u8::from(!self.applied.dry_run && !self.applied.conflicts.is_empty())
    }
}
