//! `tw return`.

use std::ffi::OsString;
use std::path::Path;

use crate::cli::human::again::{Again, command, flag};
use crate::cli::human::swap::{changes, commits, members, saved, told, told_of_members};
use crate::cli::human::text::short;
use crate::cli::prelude::*;
use crate::ops::outcome::{DetachedBy, HeadReport, Returned};
use crate::text::{typed, typed_path};

/// Bring the present back exactly
///
/// Saves what was made in the past as an experiment, puts every path, the index, HEAD and the operation under way back
/// as the backup has them, and proves it: the answer is 'verified' when nothing differs. HEAD goes back onto its branch
/// only when the branch has not moved; otherwise it stays detached at the same commit and tw says how to go on. What
/// somebody else changed in the meantime is left as it is and named. When nothing was changed in the past there is no
/// experiment.
///
/// Of a clean file that a filter converts (git LFS) and that is over max_file_size, the backup has what git's index says.
/// When it changed in the past and its bytes are nowhere at hand, git's text is put there, and the answer is 'not verified'
/// and names it. So it is where something of it changed, be it its name, and nothing proves that its bytes did not: what
/// git LFS has of a file proves it, what other filters make does not.
///
/// Nothing made in the past is carried over unless you name it with --keep; all of it stays in the experiment.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Come home
  tw return

  # Come home and bring one file along
  tw return --keep notes.md

  # See what the experiment was
  tw list --kind experiment -n 1")]
pub struct Args {
    /// Carry these files over into the present
    ///
    /// A directory is carried over as it is: files that the present had in it, or in its place, stay away and are named. What is beneath a
    /// file of the present cannot be carried over.
    #[arg(long, value_name = "PATH", num_args = 1.., add = complete::paths_on_disk())]
    pub keep: Vec<OsString>,

    /// Keep no copy of large untracked files made in the past
    ///
    /// For when they are more than the experiment may hold (experiment_limit, 2 GiB by default). What is left out is
    /// listed. Everything else still goes into the experiment.
    #[arg(long)]
    pub discard: bool,

    /// Rename what is in the way and cannot be saved
    ///
    /// Such as a nested repository or a pipe where the present has a file, or a directory of another user, who lets nobody else change what
    /// is in it. It gets a name ending in .tw-past-.
    #[arg(long)]
    pub move_aside: bool,

    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Returned>("return")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = request::Return {
            guard: request::Guard::Unasked,
            keep: self.keep.clone(),
            discard: self.discard,
            move_aside: self.move_aside,
            dry_run: self.dry_run.into(),
        };
        let kept = self.keep.iter().map(|path| typed_path(Path::new(path)));
        let kept = kept.collect::<Vec<_>>().join(" ");
        let again = command(&[
            "tw return",
            flag(self.discard, "--discard"),
            flag(self.move_aside, "--move-aside"),
            flag(!kept.is_empty(), "--keep"),
            &kept,
        ]);
        swapped(call, |context| {
            let returned = ops::return_::return_(context, &request)?;
            Ok(Again {
                command: returned.dry_run.then_some(again),
                answer: returned,
            })
        })
    }
}

/// There is always a way back to the present: a refusal that names none is followed by this command again.
pub fn with_way_home(error: Error) -> Error {
    // Also by way of -C.
    let names_one = |hint: &String| {
        let mut words = hint.split([' ', '\'']).skip_while(|word| *word != "tw");
        words.any(|word| matches!(word, "return" | "recover"))
    };
    let is_at_home = matches!(error.code(), Code::NotInPast | Code::Usage);
    if is_at_home || error.hints().iter().any(names_one) {
        return error;
    }
    error.hint("then 'tw return' again brings the present back")
}

impl Human for Returned {
    fn print(&self, page: &mut Page) {
        if self.dry_run {
            page.line(format!(
                "would return to the present, saved as {}",
                self.backup_id
            ));
        } else {
            let proof = if self.verified {
                "verified"
            } else {
                "not verified"
            };
            page.line(
                page.options
                    .style
                    .green(&format!("in the present, {proof}")),
            );
        }
        saved(
            page,
            "what was made in the past",
            self.experiment_id.as_deref(),
        );
        changes(page, &self.changes, self.dry_run);
        members(page, &self.members, self.dry_run);
        told(page, &self.aftermath, "", self.dry_run);
        told_of_members(page, &self.members, self.dry_run);
        head(page, &self.aftermath.head);
        commits(page, &self.aftermath.commits_made);
        page.notices(&self.notices);
        match &self.experiment_id {
            _ if self.dry_run => {}
            Some(id) => page.hint(format!(
                "'tw diff {id} present' shows what differs from the past"
            )),
            None => page.hint("'tw undo --into-past' goes back into the past as it was left"),
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.experiment_id.iter().cloned().collect())
    }
}

fn head(page: &mut Page, head: &HeadReport) {
    if head.restored {
        return;
    }
    let oid = head.oid.map(|oid| oid.to_string()).unwrap_or_default();
    if head.reason == Some(DetachedBy::TagGone) {
        page.line(format!(
            "  HEAD is detached at {}: the tag that it was at is gone",
            short(&oid)
        ));
        return;
    }
    let reference = head.reference.as_deref().unwrap_or("its branch");
    let branch = clean(reference.strip_prefix("refs/heads/").unwrap_or(reference));
    let why = match head.reason {
        Some(DetachedBy::BranchMoved) => "has moved since",
        Some(DetachedBy::BranchGone) => "is gone",
        Some(DetachedBy::BranchBroken) => "is broken",
        Some(DetachedBy::CheckedOutElsewhere) => "is checked out in another worktree",
        _ => "could not be taken up again",
    };
    page.line(format!(
        "  HEAD stays detached at {}: branch '{branch}' {why}",
        short(&oid)
    ));
    let there = typed(reference.strip_prefix("refs/heads/").unwrap_or(reference));
    page.hint(match head.reason {
        Some(DetachedBy::BranchBroken) => "'tw doctor' says how to fix it".to_owned(),
        Some(DetachedBy::BranchGone) => format!("'git switch -c {there}' makes the branch again"),
        Some(DetachedBy::CheckedOutElsewhere) => "'git worktree list' shows where".to_owned(),
        _ => format!(
            "'git log {}..{there}' shows what came since; 'git switch {there}' goes there",
            short(&oid)
        ),
    });
}
