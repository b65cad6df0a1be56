//! `tw prompt`: opens no repository.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::prelude::*;

/// Print one short line for a shell prompt
///
/// Prints nothing in the present and outside of a repository, so that it can stand in every prompt. In the past it
/// names the snapshot, and a swap that was interrupted comes first. Takes a few milliseconds: the repository is not
/// opened.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # bash: show it before the dollar sign
  PS1='\\w $(tw prompt)\\$ '")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Prompt>("prompt")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let prompt = ops::status::prompt_line(call.start);
        reply(Ok(Prompt { prompt }))
    }
}

/// Answer of `prompt`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Prompt {
    /// One short line; null: nothing to say.
    pub prompt: Option<String>,
}

impl Human for Prompt {
    fn print(&self, page: &mut Page) {
        if let Some(line) = &self.prompt {
            page.line(clean(line));
        }
    }
}
