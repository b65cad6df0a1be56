//! `tw prune`.

use crate::cli::human::text::size;
use crate::cli::prelude::*;
use crate::ops::outcome::Pruned;

/// Forget snapshots that nothing needs any more
///
/// Kept are the snapshots of the last 14 days or the newest 200, whichever is more (the keep_days and keep_last
/// settings), and every one that something holds: a label, an undo step, an open directory, the state of any worktree.
/// Backups and experiments are kept for 30 days, those of a try or replay until that is dropped. What is forgotten can be taken back with 'tw recover --dropped ID' until
/// git's own gc removes the objects; tw never runs gc. In a directory without git ('tw init --here') tw takes the room back itself,
/// once what was forgotten cannot be taken back any more: after 14 days.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would go?
  tw prune --dry-run

  # Keep only the last week
  tw prune --keep-days 7 --keep-last 0")]
pub struct Args {
    /// List what would go, and forget nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Keep snapshots of the last N days, in place of the setting
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u32>,

    /// Keep the newest N snapshots, in place of the setting
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Pruned>("prune")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = request::Prune {
            dry_run: self.dry_run.into(),
            keep_days: self.keep_days,
            keep_last: self.keep_last,
        };
        reply(ops::prune::prune(&call.open()?, &request))
    }
}

impl Human for Pruned {
    fn print(&self, page: &mut Page) {
        let verb = if self.dry_run {
            "would forget"
        } else {
            "forgot"
        };
        for entry in &self.forgotten {
            page.line(format!(
                "{verb} {}  {}  at most {}",
                page.id(&entry.id),
                page.options.ago(&entry.created_at),
                size(entry.bytes)
            ));
        }
        page.line(format!(
            "{verb} {}, at most {}; kept {}",
            self.forgotten.len(),
            size(self.bytes),
            self.kept
        ));
        if self.reclaimed > 0 {
            page.line(format!("took back {} on disk", size(self.reclaimed)));
        }
        page.notices(&self.notices);
        if let Some(first) = self.forgotten.first().filter(|_| !self.dry_run) {
            page.hint(match self.forgotten.len() {
                1 => format!(
                    "'tw recover --dropped {}' takes it back while git still has it",
                    first.id
                ),
                _ => "'tw recover --dropped ID...' takes them back while git still has them, and lists them without an ID".to_owned(),
            });
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(
            self.forgotten
                .iter()
                .map(|entry| entry.id.clone())
                .collect(),
        )
    }
}
