//! `tw undo`.

use crate::cli::ask::Flag;
use crate::cli::human::again::{Again, command, flag};
use crate::cli::human::swap::{
    RETURN_HINT, STAYED, changes, members, remark, saved, told_of_members,
};
use crate::cli::prelude::*;
use crate::ops::outcome::{DetachedBy, HeadStays};
use crate::ops::steps::{LevelView, Levels, SWAP_ID, StepRequest, Undone};
use crate::ops::swap::undo_log::Log;
use crate::store::state::Mode;
use crate::store::trigger::SwapKind;

/// Undo the last swap of the working tree
///
/// Steps back over travel, return, restore, rewind and apply, one for each call, and says which it took back: undo of a
/// travel is a return, undo of a return goes back into the past as it was left. Touches only what that swap touched; what
/// changed since is saved in a backup first and named. When HEAD has moved since, HEAD and index stay and tw says so. The
/// log reaches back 100 steps or 30 days, whichever is more, also across restarts. 'tw redo' brings back what undo
/// replaced.
///
/// With the number of an older one only that is taken back: it is merged out of what is there now, and where later
/// changes touch the same lines nothing is done, nor where all that it did was to the index and HEAD has moved since.
///
/// What 'tw drop' forgets comes back by 'tw recover --dropped ID' alone, and what 'tw purge' removes by nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Take back a restore
  tw restore latest src/main.rs
  tw undo

  # What comes next, and what would it do?
  tw undo --list
  tw undo --dry-run

  # Only the one before the last
  tw undo 2

  # Back into the past that was just left
  tw undo --into-past")]
pub struct Args {
    #[command(flatten)]
    pub step: StepArgs,
}

/// What undo and redo are asked.
#[derive(Debug, clap::Args)]
pub struct StepArgs {
    /// Only this one: its number in the list, its id, or its backup's id
    #[arg(value_name = "SWAP", add = complete::swaps(), conflicts_with = "list")]
    pub swap: Option<String>,

    /// List what can be taken back, the next first
    #[arg(long, conflicts_with_all = ["dry_run", "into_past"])]
    pub list: bool,

    /// Go into the past where that is what it takes
    ///
    /// Undo of a return and redo of a travel lead there. Without it they ask on a terminal, and are refused elsewhere.
    #[arg(long)]
    pub into_past: bool,

    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl StepArgs {
    /// Runs the command for one of the logs.
    pub fn run(&self, call: &Call<'_>, log: Log) -> Reply {
        if self.list {
            return reply(ops::undo::levels(&call.open()?, log));
        }
        let request = StepRequest {
            log,
            level: self.swap.clone(),
            into_past: self.into_past || call.ask.answered(Flag::Yes),
            dry_run: self.dry_run.into(),
        };
        let asking = |context: &Context<'_>| match ops::undo::undo(context, &request) {
            Err(error) if error.code() == Code::NotApproved && call.ask.can_ask() => {
                call.ask.confirm(&question(error.message()), Flag::Yes)?;
                let swap = error.find_detail(SWAP_ID).and_then(|id| id.as_str());
                let approved = StepRequest {
                    // Another process may have swapped while the question stood there.
                    level: swap.map(str::to_owned),
                    into_past: true,
                    ..request
                };
                ops::undo::undo(context, &approved)
            }
            answer => answer,
        };
        swapped(call, |context| {
            let undone = asking(context)?;
            let again = command(&[
                "tw",
                log.as_str(),
                flag(undone.level.leads_into_past(), "--into-past"),
                self.swap.as_deref().unwrap_or_default(),
            ]);
            Ok(Again {
                command: undone.dry_run.then_some(again),
                answer: undone,
            })
        })
    }
}

fn question(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let message: String = first.into_iter().chain(letters).collect();
    format!("{message}. Go there?")
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Undone>("undo"),
        document::<Levels>("undo --list"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        self.step.run(call, Log::Undo)
    }
}

/// A swap in a few words: `restore from s_…`.
fn in_words(level: &LevelView, page: &Page) -> String {
    let operation = clean(level.operation.as_str());
    let word = match level.operation {
        SwapKind::Travel | SwapKind::Rewind => "to",
        _ => "from",
    };
    match &level.snapshot_id {
        Some(id) => format!("{operation} {word} {}", page.id(id)),
        None => operation,
    }
}

impl Human for Levels {
    fn print(&self, page: &mut Page) {
        for level in &self.levels {
            let back = if level.mode_before == level.mode_after {
                count(level.paths, "path")
            } else {
                format!("back to the {}", level.mode_before.as_str())
            };
            page.line(format!(
                "{:3}  {:16} {}: {back}; before it: {}",
                level.level,
                page.options.ago(&level.at),
                in_words(level, page),
                page.id(&level.backup_id),
            ));
        }
        if self.levels.is_empty() {
            page.note("there is nothing to list");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(
            self.levels
                .iter()
                .map(|level| level.swap_id.clone())
                .collect(),
        )
    }
}

/// Why HEAD stayed, in words.
fn head_words(reason: HeadStays) -> &'static str {
    match reason {
        HeadStays::Moved => "HEAD has moved since",
        HeadStays::Detached(DetachedBy::BranchMoved) => "its branch has moved since",
        HeadStays::Detached(DetachedBy::BranchGone) => "its branch is gone",
        HeadStays::Detached(DetachedBy::BranchBroken) => "its branch is broken",
        HeadStays::Detached(DetachedBy::CheckedOutElsewhere) => {
            "its branch is checked out in another worktree"
        }
        HeadStays::Detached(DetachedBy::TagGone) => "the tag that it was at is gone",
    }
}

impl Human for Undone {
    fn print(&self, page: &mut Page) {
        let verb = match (self.direction, self.dry_run) {
            (Log::Redo, false) => "redid",
            (Log::Redo, true) => "would redo",
            (Log::Undo, false) => "undid",
            (Log::Undo, true) => "would undo",
        };
        page.line(format!(
            "{verb} {} ({}): in the {}",
            in_words(&self.level, page),
            page.options.ago(&self.level.at),
            self.mode.as_str()
        ));
        // A return brings that backup back, and saves what was there as an experiment.
        if !self.level.leads_home() {
            saved(page, "what was there", self.backup_id.as_deref());
        }
        saved(
            page,
            "what was made in the past",
            self.experiment_id.as_deref(),
        );
        changes(page, &self.changes, self.dry_run);
        members(page, &self.members, self.dry_run);
        remark(
            page,
            "changed since; those bytes are in the backup",
            &self.changed_since,
        );
        remark(page, STAYED, &self.stayed);
        told_of_members(page, &self.members, self.dry_run);
        if let Some(why) = self.head_stayed {
            page.line(format!(
                "  HEAD and index stay as they are: {}",
                head_words(why)
            ));
        }
        page.notices(&self.notices);
        if self.dry_run {
            return;
        }
        if self.direction == Log::Undo {
            // From the present, redo goes into the past only when that is meant.
            let redo = if self.level.leads_home() {
                "tw redo --into-past"
            } else {
                "tw redo"
            };
            page.hint(format!("'{redo}' brings back what this replaced"));
        }
        if self.mode == Mode::Past {
            page.hint(RETURN_HINT);
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}
