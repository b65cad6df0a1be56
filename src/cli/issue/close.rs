//! `tw issue close`.

use clap::ValueEnum;

use crate::cli::prelude::*;
use crate::ops::issue::{self, Close};
use crate::store::issue::Status;

/// Close an issue
///
/// As fixed it is closed with its proof: the check that was made last, by 'tw issue verify', a try (the run that was applied, else the
/// best), or a replay; --proof names another, and one of another issue, or that did not pass, is refused. Without a proof, or with none that was made here, it says so. A duplicate adds to the occurrences of the issue that has it, once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Solved
  tw issue close ab12 --note 'pool size'

  # Solved, as the best run of the last try shows
  tw issue close ab12 --proof latest

  # Reported before
  tw issue close ab12 --status duplicate --of cd34")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// Close it as fixed, wontfix or duplicate
    #[arg(
        long,
        value_name = "STATUS",
        default_value = "fixed",
        hide_possible_values = true
    )]
    pub status: ClosedWord,

    /// The issue that has it
    #[arg(long, value_name = "ISSUE", add = complete::issues())]
    pub of: Option<String>,

    /// The try or replay whose best run, or run RUN, proves the fix (default: the last check)
    #[arg(long, value_name = "TRY|REPLAY[:RUN]", add = complete::proofs())]
    pub proof: Option<String>,

    /// Say why or how
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// How an issue is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClosedWord {
    /// Solved
    Fixed,
    /// Stays as it is
    Wontfix,
    /// Another issue has it
    Duplicate,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<issue::IssueView>("issue close")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let request = Close {
            issue: self.issue.id(&context)?,
            status: match self.status {
                ClosedWord::Fixed => Status::Fixed,
                ClosedWord::Wontfix => Status::Wontfix,
                ClosedWord::Duplicate => Status::Duplicate,
            },
            duplicate_of: self.of.clone(),
            note: self.note.clone(),
            proof: self.proof.clone(),
        };
        reply(issue::close(&context, &request))
    }
}
