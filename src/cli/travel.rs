//! `tw travel`.

use crate::cli::human::again::{Again, command, flag};
use crate::cli::human::snapshot::headline_with_age;
use crate::cli::human::swap::{RETURN_HINT, changes, commits, members, saved};
use crate::cli::prelude::*;
use crate::ops::outcome::Travelled;

/// Put the working tree back to a snapshot
///
/// Saves the present as a backup first, then makes every captured path as the snapshot has it: files, staged state, HEAD
/// (detached) and a merge, cherry-pick or revert that was under way. Only paths that differ are touched. Ignored and
/// excluded files stay where they are, so that the past builds and runs. Branches never move.
///
/// Afterwards the working tree is in the past: work, build and commit as you like; 'tw return' brings the present back
/// exactly. From the past, return first, or go on with --hop. If something that cannot be saved is in the way, tw names it and changes
/// nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Go to the newest snapshot
  tw travel latest

  # See what that would change
  tw travel latest --dry-run

  # Go to what was there two hours ago
  tw travel '2h ago'

  # From there, two snapshots further back
  tw travel --hop latest~2")]
pub struct Args {
    /// Go to this snapshot
    #[arg(value_name = "SNAPSHOT", add = complete::destinations())]
    pub address: String,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    #[command(flatten)]
    pub dry_run: flags::DryRun,

    /// Change files only: leave HEAD and the index as they are
    #[arg(long)]
    pub files_only: bool,

    /// From the past, go on to this snapshot; the present to return to stays the same
    ///
    /// What was made in the past that is left is saved as an experiment.
    #[arg(long)]
    pub hop: bool,

    #[command(flatten)]
    pub force: flags::Force,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Travelled>("travel")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = request::Travel {
            address: self.address.clone(),
            dry_run: self.dry_run.into(),
            files_only: self.files_only,
            issue_id: None,
            force: self.force.into(),
            hop: self.hop,
        };
        let force = bool::from(self.force);
        swapped(call, |context| {
            self.worktrees.widen(context);
            let travelled = ops::travel::travel(context, &request)?;
            let again = command(&[
                "tw travel",
                flag(self.hop, "--hop"),
                flag(self.files_only, "--files-only"),
                flag(force, "--force"),
                &travelled.snapshot.id,
            ]);
            Ok(Again {
                command: travelled.dry_run.then_some(again),
                answer: travelled,
            })
        })
    }
}

impl Human for Travelled {
    fn print(&self, page: &mut Page) {
        let place = headline_with_age(&self.snapshot, &page.options);
        if self.dry_run {
            page.line(format!("would travel to {place}"));
        } else {
            page.line(format!(
                "{} {place}",
                page.options.style.yellow("in the past:")
            ));
        }
        saved(page, "what was made there", self.experiment_id.as_deref());
        saved(page, "the present", self.backup_id.as_deref());
        changes(page, &self.changes, self.dry_run);
        commits(page, &self.commits_made);
        members(page, &self.members, self.dry_run);
        if self.files_only {
            page.line("  HEAD and index stay as they are");
        }
        page.notices(&self.notices);
        if !self.dry_run {
            page.hint(RETURN_HINT);
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}
