//! `tw share scan`.

use super::PromptsWord;
use crate::cli::prelude::*;
use crate::ops::share::{self, Scanned};

/// Look for secrets in what 'tw push' would send
///
/// Every push does so first, and stops at a finding. Findings are shown by record, field and rule, never with what was
/// found. Does not ask the remote; without one that was named, everything that one would get is looked at.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Would anything go that should not?
  tw share scan

  # Conversations, too
  tw share scan --prompts redacted")]
pub struct Args {
    /// Look as if this had been given to 'tw share init': none or redacted
    #[arg(long, value_name = "WHICH", hide_possible_values = true)]
    pub prompts: Option<PromptsWord>,

    /// Pass over the finding with this fingerprint; may be given more than once
    #[arg(long, value_name = "FINGERPRINT")]
    pub allow_finding: Vec<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Scanned>("share scan")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let prompts = self.prompts.map(Into::into);
        let answer = share::search(&call.open()?, prompts, &self.allow_finding);
        reply(answer)
    }
}

impl Human for Scanned {
    fn print(&self, page: &mut Page) {
        let records = count(self.scanned, "record");
        page.line(format!(
            "{records} would be sent; nothing in them looks like a secret"
        ));
        page.notices(&self.notices);
    }
}
