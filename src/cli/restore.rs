//! `tw restore`.

mod parts;

use std::ffi::OsString;

use crate::cli::human::patch::patch;
use crate::cli::human::snapshot::headline_with_age;
use crate::cli::human::swap::{changes, saved};
use crate::cli::prelude::*;
use crate::ops::line_range::LineRange;
use crate::ops::outcome::Restored;
use crate::ops::restore::{hunks, lines};

/// Put files of a snapshot into the working tree
///
/// Makes the named paths, or without paths the whole tree, as the snapshot has them: captured files that the snapshot
/// lacks go too. What was there is saved in a backup first, so 'tw undo' takes it back. HEAD, the index and the mode do
/// not change: in the present you stay in the present. When nothing differs, nothing is saved and there is nothing to
/// undo.
///
/// With --staged it is git's index alone that changes: stages of conflicts, 'git add -N' and all; whether git looks at a file
/// (skip-worktree, assume-unchanged) stays as it is.
///
/// Paths are pathspecs as git has them: '*.rs', ':(glob)src/*.rs', ':!docs', ':/' for the root, ':(literal)a*b'.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # One file as it was
  tw restore latest src/main.rs

  # A directory as it was yesterday; look first
  tw restore yesterday src --dry-run
  tw restore yesterday src

  # Some hunks of a file
  tw restore latest -p src/main.rs

  # Lines 10 to 20 of a file, as the snapshot has them; look first
  tw restore latest -L 10,20 src/main.rs --dry-run
  tw restore latest -L 10,20 src/main.rs

  # What was staged then, and no files
  tw restore latest --staged src

  # All but the documents
  tw restore latest -- ':!docs'

  # A name that starts with a dash
  tw restore latest -- -odd-name")]
pub struct Args {
    /// Take the files from this snapshot
    #[arg(value_name = "SNAPSHOT", add = complete::snapshots())]
    pub address: String,

    /// Restore only these paths and what lies beneath them, or what matches
    #[arg(value_name = "PATH", add = complete::snapshot_paths())]
    pub paths: Vec<OsString>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Put entries of git's index back as the snapshot's index had them, and no files
    #[arg(short = 'S', long)]
    pub staged: bool,

    /// Choose what to take, hunk by hunk
    ///
    /// Asks for each as git does; answers may come from a pipe, a line each. What was chosen goes in place at once, in one step of
    /// the undo log; nothing does when a file changed meanwhile.
    #[arg(short, long, conflicts_with_all = ["staged", "dry_run"])]
    pub patch: bool,

    /// Put back only these lines of one file: START,END or START,+COUNT; can be given several times
    ///
    /// The lines are counted in the snapshot's file, as in the '+' side of 'tw diff present SNAPSHOT PATH'. Each hunk that has one of
    /// them, or lies between two of them, is put back whole; all others stay. Afterwards these lines stand together in the file.
    #[arg(short = 'L', value_name = "RANGE", conflicts_with_all = ["staged", "patch"])]
    pub lines: Vec<String>,

    /// Refuse unless the file of -L is this blob now, which --dry-run with --json tells as 'found'
    #[arg(long, value_name = "OID", requires = "lines")]
    pub expect: Option<String>,

    #[command(flatten)]
    pub dry_run: flags::DryRun,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Restored>("restore")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = request::Restore {
            address: self.address.clone(),
            paths: self.paths.clone(),
            staged: self.staged,
            dry_run: self.dry_run.into(),
        };
        if self.patch {
            return self.swapped(call, |context| in_parts(call, context, &request));
        }
        if !self.lines.is_empty() {
            let ranges = self.lines.iter().map(|word| LineRange::parse(word));
            let wanted = lines::LineSelection {
                ranges: ranges.collect::<Result<_>>()?,
                expect: self.expect.as_deref().map(blob).transpose()?,
            };
            return self.swapped(call, |context| lines::restore(context, &request, &wanted));
        }
        self.swapped(call, |context| ops::restore::restore(context, &request))
    }
}

impl Args {
    /// Restores, with addresses that look as far as was said.
    fn swapped(
        &self,
        call: &Call<'_>,
        restore: impl FnOnce(&Context<'_>) -> Result<Restored>,
    ) -> Reply {
        swapped(call, |context| {
            self.worktrees.widen(context);
            restore(context)
        })
    }
}

fn in_parts(call: &Call<'_>, ctx: &Context<'_>, request: &request::Restore) -> Result<Restored> {
    if call.output.is_json() {
        return Err(Error::usage("--patch asks, and cannot be used with --json")
            .hint("name the paths instead: tw restore SNAPSHOT PATH..."));
    }
    let offer = hunks::offer(ctx, request)?;
    let chosen = parts::choose(call, &offer)?;
    let mut restored = hunks::put(ctx, &offer, &chosen)?;
    restored.declined = restored.backup_id.is_none() && !offer.files.is_empty();
    if restored.declined {
        restored.notices.push("nothing was chosen".to_owned());
    }
    Ok(restored)
}

/// The id of an object, in full: an abbreviated one may be another's by then.
fn blob(word: &str) -> Result<String> {
    let is_whole =
        matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_whole {
        return Ok(word.to_ascii_lowercase());
    }
    Err(
        Error::usage(format!("'{}' is not a full object id", clean(word)))
            .hint("'tw --json restore ... --dry-run' tells it as 'found'"),
    )
}

impl Human for Restored {
    fn print(&self, page: &mut Page) {
        if self.declined {
            page.line("nothing was restored");
            page.notices(&self.notices);
            return;
        }
        let verb = if self.dry_run {
            "would restore"
        } else {
            "restored"
        };
        let what = if self.staged { " git's index" } else { "" };
        page.line(format!(
            "{verb}{what} from {}",
            headline_with_age(&self.snapshot, &page.options)
        ));
        saved(page, "what was there", self.backup_id.as_deref());
        match self.lines.as_ref().map(|lines| &lines.patch) {
            Some(None) => page.line("  none of these lines differs"),
            Some(Some(text)) => {
                changes(page, &self.changes, self.dry_run);
                patch(page, text);
            }
            None => changes(page, &self.changes, self.dry_run),
        }
        page.notices(&self.notices);
        if !self.dry_run && self.backup_id.is_some() {
            page.hint("'tw undo' takes it back");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}
