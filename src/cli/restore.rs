//! `tw restore`.

mod parts;

use std::ffi::OsString;

use crate::cli::human::snapshot::headline_with_age;
use crate::cli::human::swap::{changes, saved};
use crate::cli::prelude::*;
use crate::ops::outcome::Restored;
use crate::ops::restore::hunks;

/// Put files of a snapshot into the working tree
///
/// Makes the named paths, or without paths the whole tree, as the snapshot has them: captured files that the snapshot
/// lacks go too. What was there is saved in a backup first, so 'tw undo' takes it back. HEAD, the index and the mode do
/// not change: in the present you stay in the present. When nothing differs, nothing is saved and there is nothing to
/// undo.
///
/// With --staged it is git's index alone that changes: stages of conflicts, 'git add -N' and all; whether git looks at a file
/// (skip-worktree, assume-unchanged) stays as it is.
///
/// Paths are pathspecs as git has them: '*.rs', ':(glob)src/*.rs', ':!docs', ':/' for the root, ':(literal)a*b'.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # One file as it was
  tw restore latest src/main.rs

  # A directory as it was yesterday; look first
  tw restore yesterday src --dry-run
  tw restore yesterday src

  # Some hunks of a file
  tw restore latest -p src/main.rs

  # What was staged then, and no files
  tw restore latest --staged src

  # All but the documents
  tw restore latest -- ':!docs'

  # A name that starts with a dash
  tw restore latest -- -odd-name")]
pub struct Args {
    /// Take the files from this snapshot
    #[arg(value_name = "SNAPSHOT", add = complete::snapshots())]
    pub address: String,

    /// Restore only these paths and what lies beneath them, or what matches
    #[arg(value_name = "PATH", add = complete::snapshot_paths())]
    pub paths: Vec<OsString>,

    /// Put entries of git's index back as the snapshot's index had them, and no files
    #[arg(short = 'S', long)]
    pub staged: bool,

    /// Choose what to take, hunk by hunk
    ///
    /// Asks for each as git does; answers may come from a pipe, a line each. What was chosen goes in place at once, in one step of
    /// the undo log; nothing does when a file changed meanwhile.
    #[arg(short, long, conflicts_with_all = ["staged", "dry_run"])]
    pub patch: bool,

    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Restored>("restore")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = request::Restore {
            address: self.address.clone(),
            paths: self.paths.clone(),
            staged: self.staged,
            dry_run: self.dry_run.into(),
        };
        if self.patch {
            return swapped(call, |context| in_parts(call, context, &request));
        }
        swapped(call, |context| ops::restore::restore(context, &request))
    }
}

fn in_parts(call: &Call<'_>, ctx: &Context<'_>, request: &request::Restore) -> Result<Restored> {
    if call.output.is_json() {
        return Err(Error::usage("--patch asks, and cannot be used with --json")
            .hint("name the paths instead: tw restore SNAPSHOT PATH..."));
    }
    let offer = hunks::offer(ctx, request)?;
    let chosen = parts::choose(call, &offer)?;
    hunks::put(ctx, &offer, &chosen)
}

impl Human for Restored {
    fn print(&self, page: &mut Page) {
        let verb = if self.dry_run {
            "would restore"
        } else {
            "restored"
        };
        let what = if self.staged { " git's index" } else { "" };
        page.line(format!(
            "{verb}{what} from {}",
            headline_with_age(&self.snapshot, &page.options)
        ));
        saved(page, "what was there", self.backup_id.as_deref());
        changes(page, &self.changes, self.dry_run);
        page.notices(&self.notices);
        if !self.dry_run && self.backup_id.is_some() {
            page.hint("'tw undo' takes it back");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}
