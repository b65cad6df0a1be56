//! `tw status`, and `tw` alone.

use serde_json::Value;

use crate::cli::human::snapshot::{at, headline_with_age};
use crate::cli::human::text::{self, in_a_line};
use crate::cli::human::time;
use crate::cli::prelude::*;
use crate::ops::outcome::{Status, Work};
use crate::store::state::Mode;
use crate::text::with_article;

/// Show where the working tree stands
///
/// Says whether the working tree is in the present or in the past, which snapshot is the latest, how many files changed
/// since, what goes on (a merge or rebase and its conflicts, the run of an issue, a session), and, before anything else,
/// whether a swap was interrupted. This is what tw does without a command. Only looks: nothing is written. In a linked worktree
/// the counts are that worktree's.
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
                "interrupted: {} that began {} did not end",
                with_article(&clean(interrupted.operation.as_str())),
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
            changed(page, &self.work, "there");
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
        if self.mode == Mode::Present {
            changed(page, &self.work, "since");
        }
        work(page, &self.work);
        if let Some(workspace) = &self.workspace {
            workspace.print(page);
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

/// How many files changed: `since` the latest snapshot, or `there`, in the past.
fn changed(page: &mut Page, work: &Work, adverb: &str) {
    match work.changed.as_ref().map(|changed| changed.files) {
        None => {}
        Some(0) => page.line(format!("  no file changed {adverb}")),
        Some(files) => {
            page.line(format!("  {} changed {adverb}", count(files, "file")));
            page.hint("'tw diff' shows what changed");
        }
    }
}

fn work(page: &mut Page, work: &Work) {
    if let Some(kinds) = &work.in_progress {
        let kinds = kinds.split('+').map(|kind| match kind {
            "rebase-merge" | "rebase-apply" => "rebase",
            other => other,
        });
        let kinds: Vec<_> = kinds.map(clean).collect();
        page.line(format!("  under way: {}", kinds.join(", ")));
    }
    if work.conflicts > 0 {
        page.line(format!("  {} in conflict", count(work.conflicts, "path")));
    }
    if let Some(issue) = &work.issue {
        let symptom = in_a_line(&issue.symptom);
        page.line(format!(
            "  working on issue {}: {symptom}",
            clean(&issue.issue_id)
        ));
    }
    if let Some(session) = &work.session {
        let agent = session
            .agent
            .as_deref()
            .map(|agent| format!(" of {}", clean(agent)));
        let agent = agent.unwrap_or_default();
        page.line(format!(
            "  session {}{agent}",
            in_a_line(&session.session_id)
        ));
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
    // In a private repository nobody commits, unless git was told of it.
    if repository.private && oid.is_none() {
        page.line("  no git here: the history is in a private repository");
    } else {
        page.line(format!("  HEAD {}", at(branch.as_deref(), oid.as_deref())));
    }
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
