//! `tw issue list`.

use super::page::headline;
use super::{StatusWord, status};
use crate::cli::prelude::*;
use crate::ops::issue::{self, Entry, Filter, IssueListing};

/// List issues, newest first
///
/// Shows what is not closed: the open ones, and those that somebody is working on. Records that cannot be read are listed as invalid and hide no others.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What is to be done?
  tw issue list

  # Everything
  tw issue list --status all")]
pub struct Args {
    /// Only those with this status: open, experimenting, fixed, wontfix, duplicate or all
    #[arg(long, value_name = "STATUS", hide_possible_values = true)]
    pub status: Option<StatusWord>,

    /// Only those of this kind of friction; an empty word means those that have none
    #[arg(long, value_name = "WORD", add = complete::kinds())]
    pub kind: Option<String>,

    /// Show at most N
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub limit: Option<usize>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<IssueListing>("issue list")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let filter = Filter {
            status: self.status.and_then(status),
            active: self.status.is_none(),
            kind: self.kind.clone(),
            limit: self.limit,
        };
        reply(issue::list(&call.open()?, &filter))
    }
}

impl Human for IssueListing {
    fn print(&self, page: &mut Page) {
        for entry in &self.issues {
            match entry {
                Entry::Issue(issue) => page.line(headline(issue, &page.options)),
                Entry::Invalid(issue) => page.line(format!(
                    "{}  {}  {}",
                    page.id(&issue.issue_id),
                    page.options.style.red(issue.status),
                    clean(&issue.reason)
                )),
            }
        }
        if self.issues.is_empty() {
            let what = match self.filter.status {
                "all" => String::new(),
                status => format!(" {status}"),
            };
            page.line(format!("no{what} issues"));
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.issues.iter().filter_map(|entry| match entry {
            Entry::Issue(issue) => Some(issue.issue_id.to_string()),
            Entry::Invalid(_) => None,
        });
        Some(ids.collect())
    }
}
