//! `tw snapshot`.

use crate::cli::human::snapshot::{
    headline, headline_with_age, ignored, stats, uncaptured, uncaptured_count,
};
use crate::cli::prelude::*;
use crate::ops::outcome::{SnapshotView, Taken};
use crate::store::trigger::Trigger;

/// Take a snapshot of everything in the working tree
///
/// Captures every tracked file, every untracked file that no rule leaves out, the index, HEAD and the state of a merge,
/// rebase, cherry-pick, revert or bisect under way, byte for byte, as a commit on a hidden ref. HEAD, index, branches and
/// stash are not touched, and no hook or filter runs.
///
/// Left out is what git ignores: with -v it is counted. Left out and listed, each with its reason: the default globs (node_modules/, target/,
/// *.log and the like, untracked files only); your own exclude globs; what lies in submodules and nested repositories,
/// but for files there that the index tracks (of a submodule the commit is kept that the index has); directories of git
/// itself, whatever their name; untracked files over max_file_size (100 MiB); pipes, sockets, devices and what cannot be
/// read; index entries of which neither file nor object is there. Symlinks are captured as links and never followed.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "snap",
    after_help = "\
Examples:
  # Before a risky step
  tw snapshot 'before the refactor'

  # With a label to find it by
  tw snapshot --label before-refactor

  # Take an ignored file along
  tw snapshot --include .env.local

  # In a script: the id alone
  id=$(tw -q snapshot)"
)]
pub struct Args {
    /// Use TEXT as the title; the same as --message
    #[arg(value_name = "TEXT", conflicts_with = "message")]
    pub title: Option<String>,

    /// Use TEXT as the title
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,

    /// Label it NAME
    ///
    /// A labelled snapshot is found by its label and never forgotten by 'tw prune'. The name must be free.
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,

    /// Bring ignored files in that match GLOB
    ///
    /// May be given more than once, and adds to the include setting.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,

    /// Leave files out that match GLOB, tracked ones too
    ///
    /// May be given more than once, and adds to the exclude setting.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// Answer with the newest snapshot when nothing changed since
    ///
    /// Nothing means files, index and HEAD of this worktree. In the past it is the newest that was taken since the travel there. A label
    /// that is given goes to that snapshot. Without this flag, every call makes a new snapshot.
    #[arg(long)]
    pub if_changed: bool,

    #[command(flatten)]
    pub force: flags::Force,

    /// Record the agent's session ID
    #[arg(long, value_name = "ID", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// Record the agent's name
    #[arg(long, value_name = "NAME", add = complete::agents(), value_parser = flags::named())]
    pub agent: Option<String>,

    /// Record who asked
    #[arg(long, value_name = "WORD", default_value_t = Trigger::Manual, hide = true)]
    pub trigger: Trigger,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Taken>("snapshot")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = request::Take {
            message: self.message.clone().or_else(|| self.title.clone()),
            label: self.label.clone(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            if_changed: self.if_changed,
            preferred: Vec::new(),
            trigger: self.trigger.clone(),
            force: self.force.into(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            hint: None,
        };
        let context = call.open()?;
        let taken = ops::snapshots::take(&context, &request)?;
        background::start_when_due(&context);
        reply(Ok(taken))
    }
}

/// This many paths of one reason are named in one line.
const PATHS_IN_LINE: usize = 5;

impl Human for Taken {
    fn print(&self, page: &mut Page) {
        let view = &self.snapshot;
        if !self.fresh {
            page.line(format!(
                "nothing changed since {}",
                headline_with_age(view, &page.options)
            ));
            labels(view, page);
            page.notices(&self.notices);
            return;
        }
        page.line(headline(view, &page.options));
        if let Some(stats) = stats(&view.json) {
            page.line(format!("  {stats}"));
        }
        labels(view, page);
        if page.options.verbose {
            page.line(format!("  commit: {}", view.commit));
            if let Some(ignored) = ignored(&view.json) {
                page.line(format!("  ignored by git: {ignored}"));
            }
        }
        let reasons = uncaptured(&view.json);
        let mut named = 0;
        for (reason, paths) in &reasons {
            let shown = if page.options.verbose {
                paths.len()
            } else {
                PATHS_IN_LINE.min(paths.len())
            };
            named += shown;
            page.line(format!(
                "  not captured, {reason}: {}",
                paths[..shown].join(", ")
            ));
        }
        let rest = uncaptured_count(&view.json).saturating_sub(named);
        if rest > 0 {
            page.line(format!("  and {} more", count(rest, "path")));
            page.hint(format!("'tw show {}' lists all", view.id));
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.snapshot.id.clone()])
    }
}

fn labels(view: &SnapshotView, page: &mut Page) {
    if !view.labels.is_empty() {
        page.line(format!("  label: {}", clean(&view.labels.join(", "))));
    }
}
