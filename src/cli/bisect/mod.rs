//! `tw bisect`.

mod run;

use crate::cli::call::verbs;

/// Find the prompt that broke it
///
/// A command says of a state whether it is good; tw searches the snapshots for the one that made the difference, and names
/// the prompt in whose turn it was taken.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Which prompt broke the tests?
  tw bisect run -- cargo test")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

verbs! {
    /// What can be done to search.
    Verb of Args {
        Run(Box<run::Args>),
    }
}
