//! `tw list`.

use std::fmt::Write as _;

use clap::ValueEnum;

use crate::cli::human::style::Style;
use crate::cli::human::text::{in_a_line, short};
use crate::cli::human::{USUAL_TAIL, screen};
use crate::cli::prelude::*;
use crate::cli::selection::Selection;
use crate::ops::list::Listing;
use crate::ops::outcome::{Invalid, Listed};
use crate::ops::sharing::experiments::SharedExperiment;
use crate::store::snapshot::TakenIn;

/// List snapshots, newest first
///
/// Without options: the snapshots of this worktree that were taken in the present, all of them. Each line has the id,
/// its age and its title; the part of the id that is enough to name it stands out on a terminal. Where experiments are
/// asked for without a filter, those that others shared follow, with the name that each is claimed by (see tw-share(1)).
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "ls",
    after_help = "\
Examples:
  # The last ten
  tw list -n 10

  # What travel, restore and return have saved
  tw list --kind backup
  tw list --all

  # Which snapshots changed something in src/ since yesterday?
  tw list --since yesterday -- src/

  # Ids only, for a script
  tw -q list -n 1"
)]
pub struct Args {
    #[command(flatten)]
    pub selection: Selection,

    /// Show every kind, of every worktree
    ///
    /// The same as --kind for each kind together with --all-worktrees.
    #[arg(long)]
    pub all: bool,

    /// Show only this kind
    #[arg(
        long,
        value_name = "KIND",
        conflicts_with = "all",
        default_value = "snapshot",
        hide_default_value = true
    )]
    pub kind: ListKind,

    /// Show those of other worktrees too, and those taken in the past
    #[arg(long)]
    pub all_worktrees: bool,
}

/// So much of a title is shown, however narrow the terminal is.
const LEAST: usize = 8;

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ListKind {
    /// What 'tw snapshot' took (the default)
    #[default]
    Snapshot,
    /// The present as travel, restore and undo saved it before they changed it
    Backup,
    /// The past as return found it
    Experiment,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Listing>("list")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let filter = self.selection.filter(&context)?;
        let request = ops::list::List {
            limit: filter.limit,
            filter,
            kind: match self.kind {
                _ if self.all => ops::list::ListKind::All,
                ListKind::Snapshot => ops::list::ListKind::Snapshot,
                ListKind::Backup => ops::list::ListKind::Backup,
                ListKind::Experiment => ops::list::ListKind::Experiment,
            },
            all_worktrees: self.all || self.all_worktrees,
        };
        reply(ops::list::list(&context, &request))
    }
}

impl Human for Listing {
    fn print(&self, page: &mut Page) {
        // A column that would say the same in each line is left out.
        let kinds = self.snapshots.iter().any(|row| row.kind != "snapshot");
        let first = self.snapshots.first().map(|row| &row.worktree);
        let worktrees = self
            .snapshots
            .iter()
            .any(|row| Some(&row.worktree) != first);
        let ages: Vec<_> = self
            .snapshots
            .iter()
            .map(|row| page.options.ago(&row.created_at))
            .collect();
        let width = ages.iter().map(String::len).max().unwrap_or(0);
        for (at, (row, age)) in self.snapshots.iter().zip(&ages).enumerate() {
            let unique = self.unique_tail.get(at).copied().unwrap_or(USUAL_TAIL);
            let id = clean(&row.id);
            let mut line = String::new();
            if page.options.verbose {
                let _ = write!(line, "  {}", short(&row.commit.to_string()));
            }
            let _ = write!(line, "  {age:width$}");
            if kinds {
                let _ = write!(line, "  {:10}", row.kind);
            }
            if worktrees {
                let _ = write!(line, "  {}:", clean(&row.worktree));
            }
            line.push_str("  ");
            let title = title(row, &page.options, || {
                let beside = [&id, &line, &marks(row, Style::new(false))];
                beside.into_iter().map(|text| screen::width(text)).sum()
            });
            line.push_str(&title);
            line.push_str(&marks(row, page.options.style));
            let id = page.options.style.id(&id, unique);
            page.line(format!("{id}{}", line.trim_end()));
        }
        for one in &self.shared {
            page.line(shared_line(one, &page.options));
        }
        for Invalid { id, reason } in &self.invalid {
            page.note(format!("'{id}' cannot be read: {reason}"));
        }
        if !self.shared.is_empty() {
            return;
        }
        if self.total == 0 && self.invalid.is_empty() {
            page.note("there is nothing to list");
            page.hint("'tw snapshot' takes a snapshot");
        } else if self.snapshots.is_empty() && self.chosen {
            let all = count(self.total, "snapshot");
            page.note(format!("none of {all} matches"));
        } else if self.snapshots.is_empty() && self.invalid.is_empty() {
            let all = count(self.total, "snapshot");
            page.note(format!("none of {all} is of this worktree's present"));
            page.hint("'tw list --all' shows them");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.snapshots.iter().map(|row| row.id.clone()).collect())
    }
}

/// An experiment of somebody else: what was said of it.
fn shared_line(shared: &SharedExperiment, options: &RenderOptions) -> String {
    let mut parts = vec![
        clean(&shared.experiment_id),
        options.ago(&shared.created_at),
    ];
    if let Some(from) = &shared.started_from {
        parts.push(format!("experiment on {}", clean(from)));
    }
    parts.extend(shared.agent.as_deref().map(clean));
    parts.push(format!("(claimed by {})", clean(&shared.claimed_by)));
    parts.join("  ")
}

/// Its title, cut where a line of the terminal ends, unless everything is asked for. `beside` tells how wide the rest is.
fn title(row: &Listed, options: &RenderOptions, beside: impl FnOnce() -> usize) -> String {
    if options.verbose {
        return clean(&row.title);
    }
    let title = in_a_line(&row.title);
    match options.screen.columns {
        Some(columns) => {
            let room = columns.saturating_sub(beside()).max(LEAST);
            options.screen.fit(&title, room)
        }
        None => title,
    }
}

/// What sets a snapshot apart, after its title: label, where it was taken, where it comes from.
fn marks(row: &Listed, style: Style) -> String {
    let mut marks = String::new();
    for label in &row.labels {
        let _ = write!(marks, "  [{}]", style.green(&clean(label)));
    }
    if row.kind == "snapshot" && row.taken_in == TakenIn::Past {
        marks.push_str(&style.dim("  (taken in the past)"));
    }
    if row.foreign {
        marks.push_str(&style.yellow("  (foreign)"));
    }
    marks
}
