//! `tw log`.

mod graph;
mod line;

use serde::Serialize;

use self::graph::Graph;
use self::line::{Head, line};
use crate::cli::human::screen::Screen;
use crate::cli::human::time;
use crate::cli::output::Output;
use crate::cli::prelude::*;
use crate::cli::selection::Selection;
use crate::ops::log::{Counts, Log, Reader};
use crate::ops::timeline;

/// Show what happened, newest first
///
/// One line each for snapshots, prompts, the ends of an agent's turns, swaps (travel, return, restore, undo, …) and reported
/// issues of this worktree, with what changed: of a snapshot since the one before, of a prompt in its turn. The snapshot that
/// the end of a turn took is told of in that line; '--kind snapshot' shows it by itself.
///
/// The graph has the working tree's line at the left, dotted where it was in the past, and beside it one for each session:
/// ○ a snapshot, ❯ a prompt, ● the end of a turn, ⇄ a swap, ! an issue (o > * ~ ! where the locale is not one of UTF-8).
/// The six characters behind it are an address: 'tw show', 'tw diff' and 'tw travel' take them. What others shared is told
/// as claimed by them. Nothing is wider than the terminal.
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

impl Args {
    /// What is asked for.
    ///
    /// # Errors
    /// `USAGE` for a time or path that is none.
    pub fn filter(&self, context: &Context<'_>) -> Result<timeline::Filter> {
        let mut filter = self.selection.filter(context)?;
        filter.kinds = self.kind.iter().map(|kind| (*kind).into()).collect();
        filter.all_worktrees = self.all_worktrees;
        Ok(filter)
    }
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Log>("log")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let filter = self.filter(&context)?;
        let output = call.output;
        if output.is_json() {
            return reply(ops::log::log(&context, &filter, Counts::Counted));
        }
        if output.options().quiet {
            return reply(ops::log::log(&context, &filter, Counts::Left));
        }
        let reader = Reader::new(&context, &filter, Counts::Counted)?;
        let screen = Screen::of_stdout(call.env, output.options().terminal);
        let told = print(reader, output, screen)?;
        reply(Ok(Told {
            chosen: filter.chooses() || filter.limit == Some(0),
            ..told
        }))
    }
}

/// This many entries are read before the first line is printed, and then each time.
const PART: usize = 32;

/// Prints entries as they are read, and gives what is to be said at the end.
fn print(mut reader: Reader<'_>, output: &Output, screen: Screen) -> Result<Told> {
    let mut graph = Graph::new(screen.unicode);
    let mut part = reader.next(PART)?;
    let any = !part.is_empty();
    while !part.is_empty() {
        // One part ahead, to know which sessions go on.
        let later = reader.next(PART)?;
        let options = output.options();
        let times: Vec<String> = part
            .iter()
            .map(|entry| time::short(options.now, &entry.at))
            .collect();
        let wide = times.iter().map(String::len).max().unwrap_or(0);
        let rows = graph.rows(&part, &later);
        let mut text = String::new();
        for ((entry, row), when) in part.iter().zip(&rows).zip(times) {
            let when = format!("{when:>wide$}");
            text.push_str(&line(entry, &Head { row, when }, options, screen));
            text.push('\n');
        }
        if !output.part(text.as_bytes())? {
            break;
        }
        part = later;
    }
    Ok(Told {
        any,
        chosen: false,
        notices: reader.notices(),
    })
}

/// What is said below the entries.
#[derive(Serialize)]
struct Told {
    any: bool,
    chosen: bool,
    notices: Vec<String>,
}

impl Human for Told {
    fn print(&self, page: &mut Page) {
        page.notices(&self.notices);
        if !self.any && self.chosen {
            page.note("nothing matches");
        } else if !self.any {
            page.note("nothing happened yet");
            page.hint("'tw snapshot' takes a snapshot");
        }
    }
}

impl Human for Log {
    /// With `-q` and `--json` alone it is read at once.
    fn print(&self, page: &mut Page) {
        for entry in &self.entries {
            page.line(clean(&entry.id));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.entries.iter().map(|entry| entry.id.clone()).collect())
    }
}
