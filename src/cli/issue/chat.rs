//! `tw issue chat`.

use super::page::{claimed_line, lines};
use crate::cli::prelude::*;
use crate::ops::issue::{self, ChatPart, ChatShown};

/// Show the conversation of an issue
///
/// Redacted, as it was captured with the report.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # How did it come to that?
  tw issue chat ab12 --last 3")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// Show only the last N turns
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<ChatShown>("issue chat")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let part = ChatPart { last: self.last };
        let context = call.open()?;
        reply(issue::chat(&context, &self.issue.id(&context)?, part))
    }
}

impl Human for ChatShown {
    fn print(&self, page: &mut Page) {
        claimed_line(page, self.claimed_by.as_deref());
        lines(page, &self.chat.to_markdown());
        page.notices(&self.notices);
    }
}
