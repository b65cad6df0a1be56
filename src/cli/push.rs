//! `tw push`.

use super::share::{aside, changed};
use crate::cli::prelude::*;
use crate::ops::push::{self, PushedRecords};

/// Send issues, sessions and tries to the remote that 'tw share init' named
///
/// Fetches what others sent, merges it field by field, looks for secrets in all that would go, and pushes one commit to
/// one ref, without force. When somebody else was first it tries again, up to five times. Your records stay as they are:
/// 'tw pull' brings what others changed. The user's own git does the work, with its credentials; no hook is run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would go?
  tw push --dry-run

  # Send it
  tw push

  # With the files of the latest snapshot
  tw push --snapshots latest")]
pub struct Args {
    #[command(flatten)]
    pub dry_run: flags::DryRun,

    /// Send these snapshots, too, with all of their files; 'tw pull' brings them to the others
    #[arg(long, value_name = "SNAPSHOT", num_args = 1.., add = complete::snapshots())]
    pub snapshots: Vec<String>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Pass over the finding with this fingerprint: it is no secret; may be given more than once
    #[arg(long, value_name = "FINGERPRINT")]
    pub allow_finding: Vec<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<PushedRecords>("push")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = push::Request {
            dry_run: self.dry_run.into(),
            allowed: self.allow_finding.clone(),
            snapshots: self.snapshots.clone(),
        };
        reply(push::push(&self.worktrees.open(call)?, &request))
    }
}

impl Human for PushedRecords {
    fn print(&self, page: &mut Page) {
        let remote = clean(&self.remote);
        match self.sent.len() {
            0 => page.line(format!("'{remote}' has everything")),
            number => {
                let records = count(number, "record");
                let what = if self.dry_run { "would go" } else { "sent" };
                page.line(format!(
                    "{records} {what} to '{remote}' ({})",
                    clean(&self.shared_ref)
                ));
                changed(page, &self.sent);
            }
        }
        aside(page, &self.conflicts, &self.refused);
        page.notices(&self.notices);
        if self.to_pull > 0 {
            let records = count(self.to_pull, "record");
            page.hint(format!("others changed {records}: 'tw pull' brings that"));
        }
    }
}
