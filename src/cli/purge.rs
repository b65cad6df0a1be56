//! `tw purge`: shows what it would rewrite and asks; `-y` is not enough.

use std::ffi::OsString;

use crate::cli::ask::Flag;
use crate::cli::prelude::*;
use crate::ops::outcome::{Purged, Rewritten};
use crate::ops::request::DryRun;

/// Take files out of every snapshot
///
/// For a secret that slipped in: rewrites every snapshot, backup and experiment that has one of the PATHs, which are
/// literal paths, not patterns; a path that is nowhere is an error. Shows what it would rewrite and asks; without a terminal it needs --yes-purge. Refused
/// while any worktree is in the past. Ends with what it cannot reach (branches, the stash, clones; -v names each) and the command that
/// makes git really delete the old bytes. This cannot be undone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Where is it?
  tw purge --dry-run config/secrets.yml

  # Take it out
  tw purge config/secrets.yml")]
pub struct Args {
    /// Take these files out
    #[arg(value_name = "PATH", required = true, add = complete::paths_of_all_times())]
    pub paths: Vec<OsString>,

    /// List what would be rewritten, and rewrite nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Rewrite without asking
    #[arg(long)]
    pub yes_purge: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Purged>("purge")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let mut request = ops::purge::Purge {
            paths: self.paths.clone(),
            dry_run: DryRun::Yes,
        };
        if self.dry_run {
            return reply(ops::purge::purge(&context, &request));
        }
        if !self.yes_purge {
            if call.ask.can_ask() {
                call.output.preview(&ops::purge::purge(&context, &request)?);
            }
            // -y answers for what can be taken back; this cannot.
            call.ask.confirm(
                "Rewrite these? This cannot be undone.",
                Flag::Own("--yes-purge"),
            )?;
        }
        request.dry_run = DryRun::No;
        reply(ops::purge::purge(&context, &request))
    }
}

impl Human for Purged {
    fn print(&self, page: &mut Page) {
        let verb = if self.dry_run {
            "would rewrite"
        } else {
            "rewrote"
        };
        for Rewritten { id, .. } in &self.rewritten {
            page.line(format!("{verb} {}", page.id(id)));
        }
        let paths: Vec<_> = self.paths.iter().map(|path| quoted(path)).collect();
        page.line(match self.rewritten.len() {
            0 => format!("no record has {}", paths.join(" or ")),
            records => format!(
                "{verb} {} without {}",
                count(records, "record"),
                paths.join(", ")
            ),
        });
        let unreached = if page.options.verbose {
            self.unreachable.clone()
        } else {
            ops::purge::summed(&self.unreachable)
        };
        for sentence in unreached {
            page.line(format!("not reached: {}", clean(&sentence)));
        }
        if !self.dry_run && !self.finish.is_empty() {
            page.hint(format!("'{}' really deletes the old bytes", self.finish));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.rewritten.iter().map(|one| one.id.clone()).collect())
    }
}
