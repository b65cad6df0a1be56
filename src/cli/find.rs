//! `tw find`.

use std::ffi::OsString;

use crate::cli::human::screen::width;
use crate::cli::human::text::{checkpoint_name, short, size};
use crate::cli::prelude::*;
use crate::ops::find::{Find, FoundVersions, PathVersion};
use crate::ops::versions::Scope;

/// Find the versions of a path in all snapshots
///
/// Lists each content that PATH has had once, newest first: its blob, its size, the first and the last snapshot that has it,
/// and the prompt in whose turn it was made, as far as one is known. A directory stands for all that is in it, and a path
/// need not be there any more. 'tw restore SNAPSHOT PATH' brings one back, with --staged one that was only staged. The exit code is 3 when no snapshot has any.
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
    const DOCUMENTS: &[Document] = &[document::<FoundVersions>("find")];

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

impl Human for FoundVersions {
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
        page.hint(if self.below_root {
            "'tw restore SNAPSHOT :/PATH' brings one back; paths begin at the root of the working tree"
        } else {
            "'tw restore SNAPSHOT PATH' brings one back"
        });
        if self.versions.iter().any(|version| version.staged) {
            page.hint("one that was only staged: 'tw restore SNAPSHOT --staged PATH'");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.versions.iter();
        Some(ids.map(|version| version.last_snapshot.clone()).collect())
    }
}

fn version_lines(page: &mut Page, version: &PathVersion) {
    let options = page.options;
    let bytes = version.bytes.map_or("not here".to_owned(), size);
    let row = |last: &str, since: Option<&str>| {
        let content = format!("  {}  {bytes:>12}", short(&version.oid));
        let newest = format!("  {last}  {}", options.ago(&version.last_at));
        let since = since.map(|first| {
            let snapshots = count(version.snapshots, "snapshot");
            format!("  since {first} ({snapshots})")
        });
        let staged = version.staged.then(|| "  (staged only)".to_owned());
        [Some(content), Some(newest), since, staged]
    };
    let first = Some(&version.first_snapshot).filter(|first| **first != version.last_snapshot);
    let plain = row(
        &clean(&version.last_snapshot),
        first.map(|first| clean(first)).as_deref(),
    );
    let shown = row(
        &options.id(&version.last_snapshot),
        first.map(|first| options.id(first)).as_deref(),
    );
    let widths = plain.map(|part| part.map_or(0, |part| width(&part)));
    for line in broken(&shown, widths, options.screen.columns) {
        page.line(line);
    }
    if let (Some(session), Some(checkpoint)) = (&version.session_id, version.checkpoint) {
        let prompt = version.prompt.as_deref().and_then(|text| {
            let mut lines = text.lines().map(str::trim);
            lines.find(|line| !line.is_empty())
        });
        let line = format!(
            "    made in {}{} '{}'",
            checkpoint_name(session, checkpoint),
            if version.or_between {
                " or between"
            } else {
                ""
            },
            clean(prompt.unwrap_or_default())
        );
        page.line(match options.screen.columns {
            Some(columns) => options.screen.fit(&line, columns),
            None => line,
        });
    }
}

/// The parts in one line, or in as many as they need where a line has this many columns.
fn broken(
    parts: &[Option<String>],
    widths: [usize; 4],
    columns: Option<usize>,
) -> impl Iterator<Item = String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for (part, width) in parts.iter().zip(widths) {
        let Some(part) = part else { continue };
        if used > 0 && columns.is_some_and(|columns| used + width > columns) {
            lines.push("  ".to_owned());
            used = 2;
        }
        used += width;
        if let Some(line) = lines.last_mut() {
            line.push_str(part);
        }
    }
    lines.into_iter()
}
