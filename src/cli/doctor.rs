//! `tw doctor`.

use crate::cli::prelude::*;
use crate::ops::outcome::{CheckStatus, Checkup};

/// Check the repository and what tw keeps in it
///
/// In a directory without git that was moved, it finds the history that was kept for it ('tw init --here').
///
/// Looks at HEAD, refs, records, caches, locks and settings, and names for each problem the command that fixes it. An agent
/// that is newer than the version tw was tested with is named, as no problem. Changes nothing. The exit code is 1 when a check found an error, 0 otherwise, also with warnings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Is everything in order?
  tw doctor")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Checkup>("doctor")];

    fn run(&self, call: &Call<'_>) -> Reply {
        match call.open_despite_faults() {
            Err(error) if error.code() == Code::NotARepository => {
                reply(ops::doctor::outside(call.start, call.env, error))
            }
            context => reply(ops::doctor::doctor(&context?)),
        }
    }
}

impl Human for Checkup {
    fn print(&self, page: &mut Page) {
        for check in &self.checks {
            let word = match check.status {
                CheckStatus::Ok => page.options.style.green("ok     "),
                CheckStatus::Warning => page.options.style.yellow("warning"),
                CheckStatus::Error => page.options.style.red("error  "),
            };
            page.line(format!("{word}  {}: {}", check.name, clean(&check.message)));
            if let Some(fix) = &check.fix {
                page.line(format!("         fix: {}", clean(fix)));
            }
        }
    }

    fn exit_code(&self) -> u8 {
        let broken = self
            .checks
            .iter()
            .any(|check| check.status == CheckStatus::Error);
        u8::from(broken)
    }
}
