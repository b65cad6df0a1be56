//! `tw issue experiment`.

use std::path::Path;

use super::page::{claimed_line, lines};
use crate::cli::input;
use crate::cli::prelude::*;
use crate::ops::issue::{self, Experiment, ExperimentShown, Sections};

/// Show an issue's experiment, or write sections of it
///
/// Without flags it prints experiment.md. The file in .timewarp/issues/ID/ may be edited instead; headings of your own are
/// kept. A text goes when there is nothing left below its heading; a file that lacks a heading with a text was cut short, and is
/// not taken in. A '## ' within a section's text, or a fence that nothing closes, stands there with a backslash before it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What worked
  tw issue experiment ab12 --changes 'raised the pool size' --result 'ends in 12 s'

  # A longer text from a file
  tw issue experiment ab12 --repro - < notes.md")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    /// How to see the problem; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub repro: Option<String>,

    /// What was changed; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub changes: Option<String>,

    /// How that was checked; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub validation: Option<String>,

    /// What came of it; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub result: Option<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<ExperimentShown>("issue experiment")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let mut stdin = None;
        let mut text = |given: &Option<String>| -> Result<Option<String>> {
            match given.as_deref() {
                Some("-") => {
                    // It can be read once only, and several flags may name it.
                    if stdin.is_none() {
                        let bytes = input::read(Path::new("-"))?;
                        stdin = Some(String::from_utf8_lossy(&bytes).into_owned());
                    }
                    Ok(stdin.clone())
                }
                given => Ok(given.map(str::to_owned)),
            }
        };
        let sections = Sections {
            repro: text(&self.repro)?,
            changes: text(&self.changes)?,
            validation: text(&self.validation)?,
            result: text(&self.result)?,
        };
        let context = call.open()?;
        let request = Experiment {
            issue: self.issue.id(&context)?,
            sections,
        };
        reply(issue::experiment(&context, &request))
    }
}

impl Human for ExperimentShown {
    fn print(&self, page: &mut Page) {
        claimed_line(page, self.claimed_by.as_deref());
        lines(page, &self.markdown);
        page.notices(&self.notices);
    }
}
