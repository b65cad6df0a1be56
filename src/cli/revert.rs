//! `tw revert`.

use std::ffi::OsString;

use crate::cli::human::swap::{changes, remark, saved};
use crate::cli::prelude::*;
use crate::git::path::RepoPath;
use crate::ops::request::DryRun;
use crate::ops::revert::{self, Conflicts, Lines, Revert, Reverted, Shared, Taken};

/// Take back what one prompt changed, and keep all that came later
///
/// A prompt's turn is what lies between the snapshot before it and the one at its end; what came after the end is not part of it.
/// It is merged out of what is there now: files that were renamed since are followed, later changes stay, also in lines directly
/// beside it where their place is clear (they are named). The present is saved first, and 'tw undo' brings it back. HEAD and git's index stay. With a session
/// and no checkpoint, all of its turns are taken back. A snapshot may be named instead of a checkpoint: it stands for what it changed
/// against the one before it. A turn whose first or last snapshot was forgotten stays, and is named: what it changed is not known any
/// more.
///
/// Where the same lines were changed since, nothing is written (exit status 5): the lines are named, and the later prompts that
/// touched them. So it is where something was put directly beside a line that comes back or changes back, and nothing tells which of
/// both comes first. --with-dependents takes those prompts back, too; --conflicts writes both sides into the files, with git's markers,
/// and the exit status is 1.
///
/// Where turns of several sessions overlap, a file is the session's whose tools alone named it; where another one ran a shell meanwhile,
/// or its conversation is not there, only if they name each line that differs. What cannot be told apart is listed and stays, unless
/// --include-shared is given. A prompt that changed nothing, or is taken back already, changes nothing: where a later
/// prompt made the same change again, that is its own. A revert counts until 'tw undo' takes it back, or what it took comes back whole
/// with an older state or by hand.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would go, and what stays?
  tw revert 4 --dry-run

  # Take it back
  tw revert 4

  # Only in some files
  tw revert 4 -- src '*.toml'

  # All that a session did, and what was built on it
  tw revert --session 0199ab --with-dependents

  # Prompts of another session
  tw revert 0199ab:2 0199ab:3")]
pub struct Args {
    /// The prompt's checkpoint: its number, 'checkpoint:N' or 'SESSION:N'; or a snapshot
    #[arg(value_name = "CHECKPOINT", required_unless_present = "session", add = complete::checkpoints())]
    pub checkpoints: Vec<String>,

    /// Take back all that this session did; with checkpoints, whose they are: its id or its first characters, four or more
    #[arg(long, value_name = "SESSION", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// Only in these paths and what lies beneath them, or what matches; one that means nothing is an error
    #[arg(value_name = "PATH", last = true, add = complete::paths_of_all_times())]
    pub paths: Vec<OsString>,

    /// Take back the later prompts that touched the same lines, or put something directly beside them, too
    #[arg(long, conflicts_with = "conflicts")]
    pub with_dependents: bool,

    /// Write both sides of what conflicts, with markers
    #[arg(long)]
    pub conflicts: bool,

    /// Take back also what may be another session's
    #[arg(long)]
    pub include_shared: bool,

    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Reverted>("revert")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let conflicts = match (self.with_dependents, self.conflicts) {
            (true, _) => Conflicts::WithDependents,
            (false, true) => Conflicts::Write,
            (false, false) => Conflicts::Refuse,
        };
        let request = Revert {
            what: self.checkpoints.clone(),
            session: self.session.clone(),
            paths: self.paths.clone(),
            conflicts,
            shared: if self.include_shared {
                Shared::Include
            } else {
                Shared::Leave
            },
            dry_run: DryRun::from(self.dry_run),
        };
        swapped(call, |context| revert::revert(context, &request))
    }
}

/// This many prompts are named without `-v`.
const PROMPTS: usize = 10;

fn named(page: &Page, taken: &Taken) -> String {
    let prompt = &taken.prompt;
    let Some(n) = prompt.checkpoint_id else {
        let id = taken.end_snapshot_id.as_deref().unwrap_or_default();
        return format!("what {} changed", page.id(id));
    };
    let said = beginning(prompt.prompt.as_deref().unwrap_or_default());
    let session = clean(prompt.session_id.as_deref().unwrap_or_default());
    match said.as_str() {
        "" => format!("checkpoint {n} of session {session}"),
        said => format!("checkpoint {n} of session {session}: {said}"),
    }
}

fn at(path: &RepoPath, lines: &[Lines]) -> String {
    match revert::place_of(lines) {
        None => quoted(path),
        Some(place) => format!("{} {place}", quoted(path)),
    }
}

impl Reverted {
    /// Whether all that there is to take back may be another session's, and stays: something differs all the same.
    fn leaves_all(&self) -> bool {
        let changes = &self.changes;
        let is_empty = changes.written.is_empty() && changes.removed.is_empty();
        is_empty && !self.included_shared && !self.unattributed.is_empty()
    }
}

impl Human for Reverted {
    fn print(&self, page: &mut Page) {
        let verb = match &self.backup_id {
            _ if self.dry_run => "would revert",
            None if !self.already_reverted.is_empty() => "already reverted:",
            None => "nothing to revert of",
            Some(_) => "reverted",
        };
        let shown = if page.options.verbose {
            self.reverted.len()
        } else {
            PROMPTS
        };
        for taken in self.reverted.iter().take(shown) {
            page.line(format!("{verb} {}", named(page, taken)));
        }
        if self.reverted.len() > shown {
            page.line(format!("and {} more", self.reverted.len() - shown));
        }
        saved(page, "the present", self.backup_id.as_deref());
        if !self.leaves_all() {
            changes(page, &self.changes, self.dry_run);
        }
        remark(page, "merged with later changes", &self.merged);
        if self.backup_id.is_some() || self.dry_run {
            remark(page, "reverted before", &self.already_reverted);
        }
        for beside in &self.adjacent {
            let lines = at(&beside.path, &beside.lines);
            page.line(format!("  stays, directly beside it: {lines}"));
        }
        for conflict in &self.conflicts {
            let said = format!("  conflict ({}): ", conflict.reason.as_str());
            let said = format!("{said}{}", at(&conflict.path, &conflict.lines));
            page.line(page.options.style.red(&said));
        }
        let shared: Vec<RepoPath> = self
            .unattributed
            .iter()
            .map(|one| one.path.clone())
            .collect();
        let what = if self.included_shared {
            "may be another session's, taken back too"
        } else {
            "may be another session's, left alone"
        };
        remark(page, what, &shared);
        page.notices(&self.notices);
        if !shared.is_empty() && !self.included_shared {
            page.hint("'--include-shared' takes that back, too");
        }
        if !self.dry_run && self.backup_id.is_some() {
            if !self.conflicts.is_empty() {
                page.hint("fix the files, or run 'tw undo' to take everything back");
            }
            page.hint("'tw undo' takes it back");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }

    fn exit_code(&self) -> u8 {
        u8::from(!self.dry_run && !self.conflicts.is_empty())
    }
}
