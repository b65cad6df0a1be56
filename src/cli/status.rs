//! `tw status`, and `tw` alone.

use serde_json::Value;

use crate::cli::human::snapshot::{at, headline_with_age};
use crate::cli::human::text::{self};
use crate::cli::human::time;
use crate::cli::prelude::*;
use crate::ops::outcome::Status;
use crate::store::state::Mode;

/// Show where the working tree stands
///
/// Says whether the working tree is in the present or in the past, which snapshot is the latest, and, before
/// anything else, whether a swap was interrupted. This is what tw does without a command. Looks at records only:
/// the working tree is not scanned.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "st",
    after_help = "\
Examples:
  # Where am I?
  tw status

  # The same for a program
  tw status --json"
)]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Status>("status")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::status::status(&call.open()?))
    }
}

impl Human for Status {
    fn print(&self, page: &mut Page) {
        // First: whatever follows may be half of one state and half of the other.
        if let Some(interrupted) = &self.interrupted {
            page.line(page.options.style.red(&format!(
                "interrupted: a {} that began {} did not end",
                clean(&interrupted.operation),
                page.options.ago(&interrupted.since)
            )));
            page.hint("'tw recover' finishes or undoes it");
        }
        let state = |name: &str| self.state.get(name).and_then(Value::as_str);
        if self.mode == Mode::Past {
            let place = match (&self.current, state("current_snapshot_id")) {
                (Some(view), _) => headline_with_age(view, &page.options),
                (None, Some(id)) => clean(id),
                (None, None) => "an unknown snapshot".to_owned(),
            };
            page.line(format!(
                "{} {place}",
                page.options.style.yellow("in the past:")
            ));
            if let Some(since) = state("entered_at") {
                page.line(format!(
                    "  since {}",
                    time::exactly(page.options.now, since)
                ));
            }
            if let Some(backup) = state("backup_id") {
                page.line(format!("  the present is saved as {}", clean(backup)));
            }
            page.hint("'tw return' brings the present back");
        } else {
            page.line("in the present");
        }
        repository(page, self);
        match &self.latest {
            Some(view) => page.line(format!(
                "  latest snapshot {}",
                headline_with_age(view, &page.options)
            )),
            None => page.hint("'tw snapshot' takes the first snapshot"),
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        let place = self.current.as_ref().map(|view| format!(" {}", view.id));
        let warning = self.interrupted.as_ref().map(|_| "interrupted ");
        Some(vec![format!(
            "{}{}{}",
            warning.unwrap_or_default(),
            self.mode.as_str(),
            place.unwrap_or_default()
        )])
    }
}

fn repository(page: &mut Page, status: &Status) {
    let repository = &status.repository;
    let branch = repository
        .head
        .reference
        .as_deref()
        .map(|name| clean(name.strip_prefix("refs/heads/").unwrap_or(name)));
    let oid = repository.head.oid.map(|oid| oid.to_string());
    page.line(format!("  HEAD {}", at(branch.as_deref(), oid.as_deref())));
    let counts = repository.counts;
    page.line(format!(
        "  {}, {}, {}",
        count(counts.snapshots, "snapshot"),
        count(counts.backups, "backup"),
        count(counts.experiments, "experiment")
    ));
    if page.options.verbose {
        page.line(format!(
            "  working tree {}",
            text::path(&repository.workspace_root)
        ));
        page.line(format!("  worktree {}", clean(&repository.worktree)));
        page.line(format!(
            "  git directory {}",
            text::path(&repository.git_dir)
        ));
        if let Some(id) = &repository.repository_id {
            page.line(format!("  repository {}", clean(id)));
        }
    }
}
