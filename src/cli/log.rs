//! `tw log`.

use crate::cli::prelude::*;
use crate::cli::selection::Selection;
use crate::ops::log::Log;
use crate::ops::timeline::{self, Entry};

/// Show what happened, newest first
///
/// One line each for snapshots, prompts, the ends of an agent's turns, swaps (travel, return, restore, undo, …) and reported
/// issues of this worktree, with what changed: of a snapshot since the one before, of a prompt in its turn. The snapshot that
/// the end of a turn took is told of in that line; '--kind snapshot' shows it by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The last twenty things that happened
  tw log -n 20

  # What an agent was asked since yesterday, and what changed in src/
  tw log --kind prompt --since yesterday -- src/

  # For a program
  tw log --json -n 50")]
pub struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Show only entries of this kind; can be given several times
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<EntryKind>,

    /// Show what happened in other worktrees, too
    #[arg(long)]
    all_worktrees: bool,
}

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EntryKind {
    /// A snapshot was taken
    Snapshot,
    /// An agent was asked something, or a checkpoint was made
    Prompt,
    /// An agent's turn ended
    TurnEnd,
    /// Travel, return, restore, undo or the like
    Swap,
    /// An issue was reported
    Issue,
}

impl From<EntryKind> for timeline::EntryKind {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::Snapshot => Self::Snapshot,
            EntryKind::Prompt => Self::Prompt,
            EntryKind::TurnEnd => Self::TurnEnd,
            EntryKind::Swap => Self::Swap,
            EntryKind::Issue => Self::Issue,
        }
    }
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Log>("log")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let mut filter = self.selection.filter(&context)?;
        filter.kinds = self.kind.iter().map(|kind| (*kind).into()).collect();
        filter.all_worktrees = self.all_worktrees;
        reply(ops::log::log(&context, &filter))
    }
}

impl Human for Log {
    fn print(&self, page: &mut Page) {
        for entry in &self.entries {
            page.line(line(entry, &page.options));
        }
        page.notices(&self.notices);
        if self.entries.is_empty() {
            page.note("nothing happened yet, or nothing that was asked for");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.entries.iter().map(|entry| entry.id.clone()).collect())
    }
}

fn line(entry: &Entry, options: &RenderOptions) -> String {
    let mut line = format!(
        "{}  {}  {:8}  {}",
        options.id(&entry.id),
        options.ago(&entry.at),
        entry.kind.as_str(),
        clean(&entry.title)
    );
    if let (Some(files), Some(insertions), Some(deletions)) =
        (entry.files, entry.insertions, entry.deletions)
    {
        line.push_str(&format!("  ({files} files, +{insertions} -{deletions})"));
    }
    line
}
