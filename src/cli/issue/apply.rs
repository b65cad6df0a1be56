//! `tw issue apply`.

use crate::cli::human::swap::{changes, remark, saved};
use crate::cli::prelude::*;
use crate::ops::issue::{self, Applied, Apply};

/// Put what a run changed onto the present
///
/// A three-way merge of the run's snapshot, of what 'tw return' left as its experiment, and of what is there now; renames are
/// followed. The present is saved first, and 'tw undo' brings it back. Where both changed the same lines the file gets git's
/// conflict markers and the index its stages, 'git status' shows them, and the exit status is 1; the rest of the index, HEAD
/// and the branch stay. Of a file that one side deleted the changed version stays in place.
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
        let verb = if self.dry_run {
            "would apply"
        } else {
            "applied"
        };
        let verb = match &self.backup_id {
            None if !self.dry_run => "nothing to apply of",
            _ => verb,
        };
        page.line(format!(
            "{verb} run {} of issue {}, {}",
            self.run,
            clean(&self.issue_id),
            page.id(&self.experiment_id)
        ));
        saved(page, "the present", self.backup_id.as_deref());
        changes(page, &self.changes, self.dry_run);
        remark(page, "merged with changes of the present", &self.merged);
        for conflict in &self.conflicts {
            let reason = conflict.reason.as_str();
            let said = format!("  conflict ({reason}): {}", quoted(&conflict.path));
            page.line(page.options.style.red(&said));
        }
        page.notices(&self.notices);
        let id = clean(&self.issue_id);
        if self.dry_run {
            page.hint(format!("'tw issue apply {id} --run {}' does it", self.run));
        } else if self.backup_id.is_some() && !self.conflicts.is_empty() {
            page.hint("mend the files and 'git add' them, or 'tw undo' takes it all back");
        } else if self.backup_id.is_some() {
            page.hint(format!(
                "'tw issue verify {id}' runs its check, 'tw undo' takes it back"
            ));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }

    fn exit_code(&self) -> u8 {
        u8::from(!self.dry_run && !self.conflicts.is_empty())
    }
}
