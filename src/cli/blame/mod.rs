//! `tw blame`.

mod exported;
mod page;
mod porcelain;

use std::ffi::OsString;

use serde::Serialize;

use crate::cli::prelude::*;
use crate::git::blame::Follow;
use crate::ops::blame::{Blame, Blamed, By, Export, Exported, Format};
use crate::ops::line_range::LineRange;

/// Show which prompt, person or commit each line comes from
///
/// Prints each line of PATH with its origin: the agent's turn in which it was written, as SESSION:CHECKPOINT; 'between turns' for
/// what somebody wrote outside of them; the commit, where it came with one that was not made here; 'not captured' for what no
/// snapshot has yet. Lines are followed through renames, commits, amends, rebases, squashes, travels and restores. Where several may
/// have written a line it is said to be ambiguous, and --json names them all: turns that overlap, or a turn whose end was not noted,
/// unless the agent's own tools say that they wrote the line. A line that was committed since also has its commit. Of a commit that was not made here
/// git-ai's note is read, and records of Agent Trace: what they say that an agent wrote is 'imported'. Nothing is written.
///
/// --export says, for those tools, which lines of the file's commits came from turns: of each commit that was made here those that it
/// brought, a note of git-ai's or a record of Agent Trace. Only what is certain and committed is in it. With --write-notes it becomes git
/// notes (refs/notes/ai, refs/notes/agent-trace); a note that another tool made is left alone. No remote gets them by itself.
///
/// REV is the file's state to look at: the address of a snapshot, or a commit as git names it (default: the working tree as it is).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Which prompt wrote these lines?
  tw blame -L 10,20 src/parser.rs

  # What was asked, and how many lines came of it
  tw blame --by prompt --stat src/parser.rs

  # As of a commit, without what only moved or was indented
  tw blame -w -M HEAD~2 src/parser.rs

  # For an editor that reads git's format
  tw blame --porcelain src/parser.rs

  # Notes for git-ai, on the commits of this file
  tw blame --export git-ai --write-notes src/parser.rs")]
pub struct Args {
    /// A snapshot or a commit, then the file; the file alone: as it is
    #[arg(value_names = ["REV", "PATH"], num_args = 1..=2, required = true, add = complete::files_in_states())]
    words: Vec<OsString>,

    /// Show only these lines: START,END or START,+COUNT; can be given several times
    #[arg(short = 'L', value_name = "RANGE")]
    lines: Vec<String>,

    /// Ignore white space when comparing lines
    #[arg(short = 'w', long)]
    ignore_all_space: bool,

    /// Follow lines that moved within the file
    #[arg(short = 'M', long = "moved")]
    moved: bool,

    /// Follow lines that were copied from files changed along with it, too; -C behind 'blame' is the same
    #[arg(long = "copied")]
    copied: bool,

    #[command(flatten)]
    worktrees: flags::AllWorktrees,

    /// Pass over changes of formatting alone: white space, quotes, commas and semicolons
    #[arg(long)]
    ignore_format: bool,

    /// Put lines together (default: line)
    #[arg(long, value_name = "WHAT", conflicts_with = "porcelain")]
    by: Option<Whose>,

    /// Print how many lines there are of each, instead of the lines; implies --by prompt
    #[arg(long, conflicts_with = "porcelain")]
    stat: bool,

    /// Print in git's format for programs, with the turn behind each line
    #[arg(long)]
    porcelain: bool,

    /// Print what is known of the file's commits in another tool's format; REV is a commit then (default: HEAD)
    #[arg(long, value_name = "FORMAT", conflicts_with_all = [
        "lines", "ignore_all_space", "moved", "copied", "ignore_format", "by", "stat", "porcelain",
    ])]
    export: Option<ExportFormat>,

    /// With --export, write it as git notes too, where a commit has no note of another tool's
    #[arg(long, requires = "export")]
    write_notes: bool,
}

/// A format of another tool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// The authorship log of git-ai, a note for each commit
    GitAi,
    /// Records of Agent Trace, one a line
    AgentTrace,
}

/// What lines are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Whose {
    /// Each by itself
    Line,
    /// By turn, and by commit
    Prompt,
    /// By session
    Session,
    /// By agent
    Agent,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Blamed>("blame"),
        document::<Exported>("blame --export"),
    ];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let (revision, path) = match &self.words[..] {
            [revision, path] => (Some(revision), path.clone()),
            [path] => (None, path.clone()),
            _ => return Err(Error::usage("a file is needed")),
        };
        let revision = revision.map(|word| word.to_string_lossy().into_owned());
        if let Some(format) = self.export {
            let request = Export {
                revision,
                path,
                format: match format {
                    ExportFormat::GitAi => Format::GitAi,
                    ExportFormat::AgentTrace => Format::AgentTrace,
                },
                writes_notes: self.write_notes,
            };
            return reply(ops::blame::export(&self.worktrees.open(call)?, &request));
        }
        let by = match self.by {
            None => self.stat.then_some(By::Prompt),
            Some(Whose::Line) => None,
            Some(Whose::Prompt) => Some(By::Prompt),
            Some(Whose::Session) => Some(By::Session),
            Some(Whose::Agent) => Some(By::Agent),
        };
        if self.stat && by.is_none() {
            return Err(Error::usage("--stat counts lines that are put together")
                .hint("give --by prompt, session or agent"));
        }
        let lines = self.lines.iter().map(|word| LineRange::parse(word));
        let request = Blame {
            revision,
            path,
            ranges: lines.collect::<Result<_>>()?,
            follow: Follow {
                ignores_space: self.ignore_all_space,
                moved: self.moved,
                copied: self.copied,
            },
            ignores_format: self.ignore_format,
            by,
        };
        let blamed = ops::blame::blame(&self.worktrees.open(call)?, &request)?;
        let form = if self.porcelain {
            Form::Porcelain
        } else if self.stat {
            Form::Stat
        } else if by.is_some() {
            Form::Groups
        } else {
            Form::Lines
        };
        reply(Ok(BlamePage { blamed, form }))
    }
}

/// How it is printed.
#[derive(Debug, Clone, Copy)]
enum Form {
    Lines,
    Groups,
    Stat,
    Porcelain,
}

/// The answer, and how it is printed.
#[derive(Debug, Serialize)]
struct BlamePage {
    #[serde(flatten)]
    blamed: Blamed,
    #[serde(skip)]
    form: Form,
}

impl Human for BlamePage {
    fn print(&self, page: &mut Page) {
        match self.form {
            Form::Lines => page::lines(page, &self.blamed),
            Form::Groups => page::groups(page, &self.blamed),
            Form::Stat => page::stat(page, &self.blamed),
            Form::Porcelain => porcelain::print(page, &self.blamed),
        }
        page.notices(&self.blamed.notices);
    }
}
