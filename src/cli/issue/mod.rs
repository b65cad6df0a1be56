//! `tw issue`.

mod apply;
mod chat;
mod close;
mod comment;
mod edit;
mod experiment;
mod get;
mod list;
mod next;
mod page;
mod reopen;
mod report;
mod search;
mod sources;
mod start;
mod texts;
mod verify;

use clap::ValueEnum;

use crate::cli::call::verbs;
use crate::store::issue::Status;

/// Report friction and work through it
///
/// An issue says what was being done, what went wrong and when it counts as solved. It is tied to a snapshot, so that
/// somebody can go back to the very state in which it happened, and keeps the redacted conversation that led to it. Issues
/// are JSON notes of the repository: 'git log --notes=timewarp/*' shows them.
///
/// The way of an issue: report it and go on working; later 'tw issue next', 'tw issue start ID' goes to its snapshot;
/// reproduce, try, 'tw issue verify ID'; 'tw return'; make the change for good, or 'tw issue apply ID'; verify again, 'tw issue
/// close ID'. Or 'tw try ID' lets a command or an agent try several times beside the present, and 'tw try apply' takes the best.
///
/// An ISSUE is an id, or four characters or more of its beginning or of its last six. Its files stand in .timewarp/issues/ID/
/// and may be edited: the texts are taken in by the next command that looks at the issue.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Friction: say it and go on
  tw issue report --task-context 'adding a login form' --symptom 'the tests hang' \\
    --success-criteria 'make test ends within a minute' --verify 'timeout 60 make test'

  # Later: let an agent try it three times, take the best
  tw try ab12 --agent claude
  tw try apply latest
  tw issue close ab12 --proof latest

  # Or pick one, go back, try
  tw issue next
  tw issue start ab12
  tw issue verify ab12
  tw return
  tw issue apply ab12
  tw issue close ab12")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

verbs! {
    /// The commands of `tw issue`.
    Verb of Args {
        Report(Box<report::Args>),
        List(list::Args),
        Get(get::Args),
        Chat(chat::Args),
        Edit(Box<edit::Args>),
        Experiment(experiment::Args),
        Next(next::Args),
        Search(search::Args),
        Start(start::Args),
        Verify(verify::Args),
        Apply(apply::Args),
        Comment(comment::Args),
        Close(close::Args),
        Reopen(reopen::Args),
    }
}

/// A status, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusWord {
    /// Reported
    Open,
    /// Somebody is on it
    Experimenting,
    /// Solved
    Fixed,
    /// Stays as it is
    Wontfix,
    /// Another issue has it
    Duplicate,
    /// All of them
    All,
}

pub(super) fn status(word: StatusWord) -> Option<Status> {
    match word {
        StatusWord::Open => Some(Status::Open),
        StatusWord::Experimenting => Some(Status::Experimenting),
        StatusWord::Fixed => Some(Status::Fixed),
        StatusWord::Wontfix => Some(Status::Wontfix),
        StatusWord::Duplicate => Some(Status::Duplicate),
        StatusWord::All => None,
    }
}
