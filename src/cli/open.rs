//! `tw open`.

use std::path::PathBuf;

use crate::cli::human::snapshot::headline;
use crate::cli::human::text::{self};
use crate::cli::prelude::*;
use crate::ops::outcome::Opened;
use crate::text::typed_path;

/// Lay a snapshot out in a directory of its own
///
/// Makes a detached linked worktree with the captured files, for experiments side by side; the present is not touched.
/// Without DIR it goes beside the repository, as ../REPOSITORY.tw/ID. A DIR must be new or empty and outside of the
/// working tree. The snapshot is kept until 'tw close DIR', which saves what was made there, but for what a command makes
/// again (target/, node_modules/ and the like).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Compare two states side by side
  tw open before-refactor
  tw open latest ../try-it
  tw close ../try-it")]
pub struct Args {
    /// Lay out this snapshot
    #[arg(value_name = "SNAPSHOT", add = complete::snapshots())]
    pub address: String,

    /// Put it here
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Opened>("open")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = ops::open::Open {
            address: self.address.clone(),
            dir: self.dir.clone(),
        };
        reply(ops::open::open(&self.worktrees.open(call)?, &request))
    }
}

impl Human for Opened {
    fn print(&self, page: &mut Page) {
        page.line(text::path(&self.dir));
        page.line(format!(
            "  {} of {}",
            count(self.files, "file"),
            headline(&self.snapshot, &page.options)
        ));
        page.notices(&self.notices);
        page.hint(format!(
            "'tw close {}' removes it again",
            typed_path(&self.dir)
        ));
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.dir.to_string_lossy().into_owned()])
    }
}
