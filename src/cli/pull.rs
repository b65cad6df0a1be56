//! `tw pull`.

use super::share::{aside, changed};
use crate::cli::prelude::*;
use crate::ops::pull::{self, PulledRecords};

/// Bring the issues, sessions and tries that others sent to the remote
///
/// Merges field by field with yours. Where both sides set a field, one value stands and the other is kept beside it, in
/// 'conflicts'. What comes is shown as 'claimed by' its sender, for nobody proves who that is; its commands do not run here
/// until you approve them. What others deleted stays here.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would come?
  tw pull --dry-run

  # Bring it
  tw pull
  tw issue list")]
pub struct Args {
    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<PulledRecords>("pull")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(pull::pull(&call.open()?, self.dry_run.into()))
    }
}

impl Human for PulledRecords {
    fn print(&self, page: &mut Page) {
        let remote = clean(&self.remote);
        match (self.received.len(), &self.commit) {
            (0, None) => page.line(format!("'{remote}' shares nothing yet")),
            (0, Some(_)) => page.line(format!("nothing new on '{remote}'")),
            (number, _) => {
                let records = count(number, "record");
                let what = if self.dry_run { "would come" } else { "came" };
                page.line(format!("{records} {what} from '{remote}'"));
                changed(page, &self.received);
            }
        }
        aside(page, &self.conflicts, &self.refused);
        page.notices(&self.notices);
        if self.to_push > 0 {
            let records = count(self.to_push, "record");
            page.hint(format!("{records} to send: 'tw push'"));
        }
    }
}
