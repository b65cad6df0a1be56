//! `tw config`.

use crate::cli::prelude::*;
use crate::ops::outcome::ConfigListing;

/// List every setting with its value and where it comes from
///
/// Settings come from .timewarp/config.toml (the team's; may be committed), 'git config timewarp.*' (yours; wins)
/// and flags (win over both). A key is spelled keep_days in the file and timewarp.keepDays in git config. Sizes take
/// k, m and g. The team's file may only make things safer: other keys in it do not count and are named.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What holds here, and why?
  tw config

  # Keep snapshots for 30 days in this repository
  git config timewarp.keepDays 30")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<ConfigListing>("config")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::config::list(&call.open()?))
    }
}

impl Human for ConfigListing {
    fn print(&self, page: &mut Page) {
        for entry in &self.entries {
            let value = clean(&entry.value.to_string());
            page.line(format!(
                "{} = {value}  {}",
                page.options.style.bold(entry.key),
                page.options
                    .style
                    .dim(&format!("({})", clean(&entry.origin)))
            ));
            if page.options.verbose {
                page.line(format!("    {}", clean(entry.description)));
            }
        }
        page.notices(&self.warnings);
    }
}
