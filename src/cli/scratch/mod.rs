//! `tw scratch`.

mod gc;
mod list;

use crate::cli::call::verbs;

/// List the directories that snapshots are laid out in, and clear away what was left
///
/// A scratch is a linked worktree beside the repository (../REPOSITORY.tw, or the scratch_dir setting) with the files of
/// a snapshot. 'tw open' makes one that stays; commands that run something in the past make one for each run, and take
/// it away when the run is over. Unchanged files have the times of the present's, so that build tools find their caches
/// fresh. Ignored files come along when .worktreeinclude or the scratch_include setting names them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Which are there?
  tw scratch list

  # Save and remove what a killed run left
  tw scratch gc

  # Lay node_modules and .env out, too
  printf 'node_modules/\\n.env\\n' >.worktreeinclude")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

verbs! {
    /// What can be done with scratches.
    Verb of Args {
        List(list::Args),
        Gc(gc::Args),
    }
}
