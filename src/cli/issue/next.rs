//! `tw issue next`.

use super::page::headline;
use crate::cli::prelude::*;
use crate::ops::issue::{self, Next};

/// Show which issue to take next
///
/// Ranks the issues that wait by severity, how often they were met, whether they have a verify command, and age. Those whose snapshot is
/// not in this repository come last: of an issue of others it is shared only when they name it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Pick one and go
  tw issue start $(tw -q issue next)")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Next>("issue next")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(issue::next(&call.open()?))
    }
}

impl Human for Next {
    fn print(&self, page: &mut Page) {
        for entry in &self.ranked {
            page.line(headline(&entry.issue, &page.options));
            page.line(format!("  {}", entry.reasons.join(", ")));
        }
        page.notices(&self.notices);
        match self.ranked.first() {
            Some(entry) if !entry.way_to_snapshot.is_empty() => {
                for hint in &entry.way_to_snapshot {
                    page.hint(hint.clone());
                }
            }
            // In quotes stands what works now.
            Some(entry) if self.in_past => page.hint(format!(
                "'tw return' first, then tw issue start {}",
                entry.issue.issue_id
            )),
            Some(entry) => page.hint(format!("'tw issue start {}'", entry.issue.issue_id)),
            None => page.line("no issue waits"),
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let first = self.ranked.first();
        Some(
            first
                .map(|entry| entry.issue.issue_id.to_string())
                .into_iter()
                .collect(),
        )
    }
}
