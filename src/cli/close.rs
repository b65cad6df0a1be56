//! `tw close`.

use std::path::PathBuf;

use crate::cli::human::text::{self};
use crate::cli::prelude::*;
use crate::ops::outcome::Closed;

/// Remove a directory made by open, keeping what was made in it
///
/// Takes an experiment of the directory first, ignored files too, then removes the directory. What a command makes again goes
/// without being saved, and is named: node_modules/, .venv/, venv/, __pycache__/, .next/, target/, .cache/, .gradle/, *.pid,
/// *.sock and .DS_Store where git does not track them, unless default_excludes is off. Refuses when the directory holds
/// anything else that cannot be captured, or while a try, replay, bisection or check runs in or from it. Branches, tags and stashes that came while it was open stay, and are named.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Done with it
  tw close ../try-it")]
pub struct Args {
    /// Remove this directory
    #[arg(value_name = "DIR", add = complete::opened())]
    pub dir: PathBuf,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Closed>("close")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::close::close(&call.open()?, &self.dir))
    }
}

impl Human for Closed {
    fn print(&self, page: &mut Page) {
        page.line(format!("closed {}", text::path(&self.dir)));
        if let Some(id) = &self.experiment_id {
            page.line(format!("  what was in it is saved as {}", page.id(id)));
        }
        let refs = self.refs_made.as_deref().unwrap_or_default();
        if !refs.is_empty() {
            let names: Vec<String> = refs.iter().map(|name| text::clean(name)).collect();
            let names = names.join(", ");
            page.line(format!("  refs that came meanwhile, and stay: {names}"));
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.experiment_id.iter().cloned().collect())
    }
}
