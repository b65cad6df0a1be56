//! `tw config`.

use serde_json::Value;

use crate::cli::prelude::*;
use crate::git::repo::ConfigFile;
use crate::ops::config::{Change, Setting};
use crate::ops::outcome::{ConfigEntry, ConfigListing};

/// List every setting with its value and where it comes from, show one, or set it
///
/// Settings come from .timewarp/config.toml (the team's; may be committed), 'git config timewarp.*' (yours; wins)
/// and flags (win over both). A key is spelled keep_days in the file and timewarp.keepDays in git config; here either
/// will do. Sizes take k, m and g. The team's file may only make things safer: other keys in it do not count and are
/// named. With a VALUE, the setting is written to this repository's git config.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What holds here, and why?
  tw config

  # One value, for a script
  tw config keep_days

  # Keep snapshots for 30 days: in this repository, or everywhere
  tw config keep_days 30
  tw config --global keep_days 30

  # Leave more out; back to what holds without it
  tw config --add exclude 'data/raw/'
  tw config --unset exclude")]
pub struct Args {
    /// Show this setting alone
    #[arg(value_name = "KEY", add = complete::settings())]
    pub key: Option<String>,

    /// Set it to VALUE
    ///
    /// Of a list (exclude, include, scratch_include) it becomes the only entry; --add adds one or several.
    #[arg(value_name = "VALUE", requires = "key", allow_hyphen_values = true)]
    pub values: Vec<String>,

    /// Add each VALUE to a list instead of replacing it
    #[arg(long, requires = "values")]
    pub add: bool,

    /// Take the setting out of the file
    #[arg(long, requires = "key", conflicts_with = "values")]
    pub unset: bool,

    /// Write to your own git config, for all repositories
    #[arg(long, requires = "key")]
    pub global: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<ConfigListing>("config"),
        document::<Setting>("config KEY").named("config-key"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open_despite_faults()?;
        let Some(key) = &self.key else {
            return reply(ops::config::list(&context));
        };
        let change = match (self.values.as_slice(), self.add, self.unset) {
            ([], _, true) => Some(Change::Unset),
            ([], _, false) => None,
            (values, true, _) => Some(Change::Add(values.to_vec())),
            ([value], false, _) => Some(Change::Set(value.clone())),
            (_, false, _) => {
                return Err(
                    Error::usage("a setting has one VALUE").hint("--add adds several to a list")
                );
            }
        };
        let file = if self.global {
            ConfigFile::Global
        } else {
            ConfigFile::Local
        };
        match &change {
            Some(change) => reply(ops::config::change(&context, key, file, change)),
            None if self.global => Err(Error::usage("--global goes with a VALUE or with --unset")
                .hint("'tw config KEY' shows the value in effect")),
            None => reply(ops::config::get(&context, key)),
        }
    }
}

impl Human for ConfigListing {
    fn print(&self, page: &mut Page) {
        for entry in &self.entries {
            entry_line(entry, page);
            if page.options.verbose {
                page.line(format!("    {}", clean(entry.description)));
            }
        }
        page.notices(&self.warnings);
    }
}

impl Human for Setting {
    fn print(&self, page: &mut Page) {
        if self.changed {
            entry_line(&self.entry, page);
        } else {
            for value in plain(&self.entry.value) {
                page.line(clean(&value));
            }
        }
        page.notices(&self.warnings);
        if self.overridden {
            page.note(format!(
                "the new value has no effect: {} takes precedence",
                self.entry.origin
            ));
        }
    }
}

fn entry_line(entry: &ConfigEntry, page: &mut Page) {
    let style = page.options.style;
    let value = clean(&entry.value.to_string());
    let origin = style.dim(&format!("({})", clean(&entry.origin)));
    page.line(format!("{} = {value}  {origin}", style.bold(entry.key)));
}

/// A value for a script: the entries of a list one a line, a text without quotes.
fn plain(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(plain).collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}
