//! `tw share status`.

use crate::cli::prelude::*;
use crate::ops::share::{self, Standing};
use crate::ops::sharing::Prompts;

/// Show with whom records are shared, and what waits to be sent
///
/// Does not ask the remote: what waits is told by what it had when 'tw push' or 'tw pull' ran last.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Is anything shared?
  tw share status")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Standing>("share status")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(share::status(&call.open()?))
    }
}

impl Human for Standing {
    fn print(&self, page: &mut Page) {
        let (Some(remote), Some(shared_ref)) = (&self.remote, &self.shared_ref) else {
            page.line("sharing is off");
            page.hint("'tw share init REMOTE' names a remote to share issues with");
            return;
        };
        let what = match self.prompts {
            Some(Prompts::Redacted) => {
                "issues, sessions and experiments, with redacted prompts and conversations"
            }
            Some(Prompts::None) | None => {
                "issues, sessions and experiments, without prompts and conversations"
            }
        };
        page.line(format!(
            "sharing {what}, with '{}' ({})",
            clean(remote),
            clean(shared_ref)
        ));
        for (what, at) in [("pushed", &self.pushed_at), ("pulled", &self.pulled_at)] {
            let ago = at
                .as_deref()
                .map_or("never".to_owned(), |at| page.options.ago(at));
            page.line(format!("{what}: {ago}"));
        }
        match self.to_push.len() {
            0 => page.line("nothing to push"),
            waiting => {
                page.line(format!("to push: {}", count(waiting, "record")));
                super::changed(page, &self.to_push);
            }
        }
        page.notices(&self.notices);
    }
}
