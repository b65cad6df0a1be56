//! `tw share`.

mod init;
mod off;
mod scan;
mod status;

use clap::ValueEnum;

use crate::cli::call::verbs;
use crate::cli::prelude::*;
use crate::ops::sharing::{Changed, Conflict, Prompts, Refused};

/// Share issues, sessions and experiments through a remote: off until you name one
///
/// The remote gets one ref, refs/timewarp-shared/v1, with one JSON file for each issue, session, experiment and try. 'tw push' sends, 'tw pull'
/// brings what others sent; each field is merged by itself. Of a session go ids, agent and times, of an experiment what it was made
/// from, of a try how its runs came out. Prompts, conversations and the commands of tries stay here
/// unless --prompts redacted is given, and so do the files of snapshots and experiments, unless 'tw push --snapshots SNAPSHOT' names
/// them. docs/sharing.md lists field by field what goes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Name the remote; nothing is sent
  tw share init origin

  # What would go, and does any of it look like a secret?
  tw share status
  tw share scan

  # Send, and bring what others sent
  tw push
  tw pull")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

verbs! {
    /// What can be done about sharing.
    Verb of Args {
        Init(init::Args),
        Status(status::Args),
        Scan(scan::Args),
        Off(off::Args),
    }
}

/// Whether prompts and conversations go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PromptsWord {
    /// They stay here
    None,
    /// They go along, redacted once more
    Redacted,
}

impl From<PromptsWord> for Prompts {
    fn from(word: PromptsWord) -> Self {
        match word {
            PromptsWord::None => Self::None,
            PromptsWord::Redacted => Self::Redacted,
        }
    }
}

/// A line for each record.
pub fn changed(page: &mut Page, records: &[Changed]) {
    let kinds = records.iter().map(|record| record.kind.as_str().len());
    let width = kinds.max().unwrap_or_default();
    for record in records {
        let mut line = format!(
            "  {:<8} {:<width$} {}",
            record.change.as_str(),
            record.kind.as_str(),
            page.id(&record.id)
        );
        if let Some(name) = &record.claimed_by {
            line.push_str(&format!("  claimed by {}", clean(name)));
        }
        page.line(line);
    }
}

/// A note for each field that several set, and for each thing that was not taken.
pub fn aside(page: &mut Page, conflicts: &[Conflict], refused: &[Refused]) {
    for conflict in conflicts {
        page.note(format!(
            "{} {}: '{}' was set by several; one value stands, the others are in 'conflicts'",
            conflict.kind.as_str(),
            conflict.id,
            clean(&conflict.field)
        ));
    }
    for one in refused {
        page.note(format!(
            "not taken: {}: {}",
            clean(&one.path),
            clean(&one.reason)
        ));
    }
}
