//! `tw share init`.

use super::PromptsWord;
use crate::cli::prelude::*;
use crate::ops::share::{self, Init, Named};
use crate::ops::sharing::Prompts;

/// Name the remote to share issues, sessions and experiments with
///
/// Sends nothing, and does not ask the remote. What is named counts in this repository alone: it is in no file that a
/// clone has, and no team's settings can set it. Giving it again changes it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # A remote that git knows
  tw share init origin

  # With the prompts of sessions, the conversations of issues and the commands of tries
  tw share init origin --prompts redacted")]
pub struct Args {
    /// The remote, as 'git remote' lists it
    #[arg(value_name = "REMOTE", add = complete::remotes())]
    pub remote: String,

    /// Whether prompts, conversations and the commands of tries go along: none or redacted
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "none",
        hide_possible_values = true
    )]
    pub prompts: PromptsWord,

    /// Use the branch timewarp-shared, for a service that takes no other refs
    #[arg(long)]
    pub as_branch: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Named>("share init")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = Init {
            remote: self.remote.clone(),
            prompts: self.prompts.into(),
            as_branch: self.as_branch,
        };
        reply(share::init(&call.open()?, &request))
    }
}

impl Human for Named {
    fn print(&self, page: &mut Page) {
        let what = match self.prompts {
            Prompts::None => "issues, sessions and experiments, without prompts and conversations",
            Prompts::Redacted => {
                "issues, sessions and experiments, with redacted prompts and conversations"
            }
        };
        let remote = clean(&self.remote);
        page.line(format!(
            "sharing {what}, with '{remote}' ({})",
            self.shared_ref
        ));
        page.notices(&self.notices);
        page.hint("nothing was sent; 'tw push --dry-run' shows what would go");
    }
}
