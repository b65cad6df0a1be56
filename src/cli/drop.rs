//! `tw drop`: asks, having shown what would go. Its output is that of `tw prune`.

use crate::cli::ask::Flag;
use crate::cli::prelude::*;
use crate::ops::outcome::Pruned;
use crate::ops::request::DryRun;

/// Forget these snapshots
///
/// Asks first on a terminal; elsewhere it needs -y. Refused for what a label, an undo step, an open directory or the
/// state of a worktree holds, unless --force. Backups and experiments can be dropped too. 'tw recover --dropped ID' takes
/// them back while git still has the objects.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # One by a part of its id
  tw drop ab12cd

  # In a script
  tw -y drop s_20260228_153012_ab12cd")]
pub struct Args {
    /// Forget these
    #[arg(value_name = "SNAPSHOT", required = true, add = complete::snapshots())]
    pub addresses: Vec<String>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Forget them also when something holds them
    #[arg(long)]
    pub force: bool,

    /// List what would go, and forget nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Pruned>("drop")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = self.worktrees.open(call)?;
        let mut request = ops::drop::Drop {
            addresses: self.addresses.clone(),
            force: self.force,
            dry_run: DryRun::Yes,
        };
        if self.dry_run {
            return reply(ops::drop::drop(&context, &request));
        }
        if !call.ask.answered(Flag::Yes) {
            // What is held is refused before anything is asked: a yes does not help there.
            let would = ops::drop::drop(&context, &request)?;
            if call.ask.can_ask() {
                call.output.preview(&would);
            }
        }
        call.ask.confirm("Forget these?", Flag::Yes)?;
        request.dry_run = DryRun::No;
        reply(ops::drop::drop(&context, &request))
    }
}
