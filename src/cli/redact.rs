//! `tw redact`.

use std::path::{Path, PathBuf};

use crate::cli::input;
use crate::cli::prelude::*;
use crate::ops::redaction::{self, Cleaned};

/// Take secrets out of a text
///
/// Reads FILE or standard input and prints it with every secret replaced by ***REDACTED***, or ***REDACTED:RULE*** where
/// the format of a known issuer matched. This is what every text goes through that enters an issue or a chat. Known values
/// in the working tree's .env files and in the environment are replaced, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Before sending a log to somebody
  tw redact build.log > build.clean.log

  # In a hook: fail when there is a secret
  tw redact --check notes.md")]
pub struct Args {
    /// Read this file; standard input when there is none, or '-'
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Print no text, and exit with 1 when something would be replaced
    #[arg(long)]
    pub check: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Cleaned>("redact")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let bytes = input::read(self.file.as_deref().unwrap_or(Path::new("-")))?;
        // A text can be redacted anywhere; a repository only adds the values of its .env files.
        let context = call.open().ok();
        reply(Ok(redaction::clean(context.as_ref(), &bytes, self.check)))
    }
}

impl Human for Cleaned {
    fn print(&self, page: &mut Page) {
        if let Some(bytes) = &self.bytes {
            // The text itself, not a picture of it: it goes into files.
            page.text.extend_from_slice(bytes);
        }
        for (rule, times) in &self.counts {
            let times = usize::try_from(*times).unwrap_or(usize::MAX);
            page.note(format!("{rule}: {}", count(times, "replacement")));
        }
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.bytes.is_none() && !self.counts.is_empty())
    }
}
