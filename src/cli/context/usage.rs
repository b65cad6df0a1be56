//! `tw context usage`.

use crate::cli::prelude::*;
use crate::ops::context::{self, ContextLog, Counted};

/// Record how large the context is
///
/// The last record counts. What is added after it is guessed at four characters a token, as kimi-cli does.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # As the model's API said
  tw context usage 48210")]
pub struct Args {
    /// The number of tokens
    #[arg(value_name = "N")]
    pub tokens: u64,
}

impl Args {
    pub fn run(&self, log: &ContextLog) -> Reply {
        reply(context::usage(log, self.tokens))
    }
}

impl Human for Counted {
    fn print(&self, page: &mut Page) {
        page.line(format!("{} tokens", number(self.token_count)));
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
