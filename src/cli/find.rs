//! `tw find`.

use std::ffi::OsString;

use crate::cli::human::text::{short, short_session, size};
use crate::cli::prelude::*;
use crate::ops::find::{Find, Found, PathVersion};
use crate::ops::versions::Scope;

/// Find the versions of a path in all snapshots
///
/// Lists each content that PATH has had once, newest first: its blob, its size, the first and the last snapshot that has it,
/// and the prompt in whose turn it was made, as far as one is known. A directory stands for all that is in it, and a path
/// need not be there any more. 'tw restore SNAPSHOT PATH' brings one back. The exit code is 3 when no snapshot has any.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Which versions of a file are there?
  tw find src/parser.rs

  # Bring the last one of a deleted file back
  tw find notes.md
  tw restore SNAPSHOT notes.md

  # Everything that a directory has had, for a program
  tw find --json src/")]
pub struct Args {
    /// A file, or a directory
    #[arg(value_name = "PATH", required = true, add = complete::paths_of_all_times())]
    paths: Vec<OsString>,

    /// Look at backups and experiments, too, of every worktree
    #[arg(long)]
    all: bool,

    /// Look at snapshots of other worktrees, too, and at those taken in the past
    #[arg(long)]
    all_worktrees: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Found>("find")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = Find {
            paths: self.paths.clone(),
            scope: match (self.all, self.all_worktrees) {
                (true, _) => Scope::All,
                (_, true) => Scope::AllWorktrees,
                _ => Scope::Here,
            },
        };
        reply(ops::find::find(&call.open()?, &request))
    }
}

impl Human for Found {
    fn print(&self, page: &mut Page) {
        let mut above = None;
        for version in &self.versions {
            if above != Some(&version.path) {
                if above.is_some() {
                    page.line("");
                }
                page.line(page.options.style.bold(&quoted(&version.path)));
                above = Some(&version.path);
            }
            version_lines(page, version);
        }
        page.notices(&self.notices);
        page.hint("'tw restore SNAPSHOT PATH' brings one back");
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.versions.iter();
        Some(ids.map(|version| version.last_snapshot.clone()).collect())
    }
}

fn version_lines(page: &mut Page, version: &PathVersion) {
    let options = page.options;
    let bytes = version.bytes.map_or("not here".to_owned(), size);
    let mut line = format!(
        "  {}  {bytes:>12}  {}  {}",
        short(&version.oid),
        options.id(&version.last_snapshot),
        options.ago(&version.last_at),
    );
    if version.first_snapshot != version.last_snapshot {
        line.push_str(&format!(
            "  since {} ({})",
            options.id(&version.first_snapshot),
            count(version.snapshots, "snapshot")
        ));
    }
    if version.staged {
        line.push_str("  (staged only)");
    }
    page.line(line);
    if let (Some(session), Some(checkpoint)) = (&version.session_id, version.checkpoint) {
        let prompt = version.prompt.as_deref().and_then(|text| {
            let mut lines = text.lines().map(str::trim);
            lines.find(|line| !line.is_empty())
        });
        page.line(format!(
            "    made in {}:{checkpoint} '{}'",
            short_session(session),
            clean(prompt.unwrap_or_default())
        ));
    }
}
