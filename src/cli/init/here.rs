//! `tw init --here`: asks, and says what became of the private repository.

use std::path::PathBuf;

use crate::cli::ask::Flag;
use crate::cli::human::text;
use crate::cli::prelude::*;
use crate::ops::here::{self, Directories, HistoryChange, HistoryRequest, KeptHere, KeptStatus};
use crate::ops::request::DryRun;

/// The options of `--here`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Keep the history of this directory without git, in a private repository outside of it
    ///
    /// It is kept under $XDG_STATE_HOME/timewarp (~/.local/state/timewarp), and known again by the directory's identity. No
    /// .git appears, and 'git' need not be installed. Asks first; needs -y without a terminal. After the directory was moved,
    /// this goes on with its history. With --remove the history is kept and nothing is added to it any more.
    #[arg(long, conflicts_with_all = ["agent", "git_hooks", "user"])]
    pub here: bool,

    /// Go on with the history of a directory that is gone: its path, or its key
    ///
    /// For one that was restored from a backup, moved to another file system, or made anew.
    #[arg(long, value_name = "DIR", requires = "here", conflicts_with = "remove", value_hint = ValueHint::DirPath)]
    pub adopt: Option<PathBuf>,

    /// List every directory whose history is kept like this
    #[arg(long, requires = "here", conflicts_with_all = ["adopt", "remove"])]
    pub list: bool,

    /// With --here --remove: delete the history, too
    #[arg(long, requires_all = ["here", "remove"])]
    pub delete_history: bool,
}

impl Options {
    /// Lists, keeps, adopts or removes the history of a directory without git, as the options say.
    pub fn run(&self, call: &Call<'_>, remove: bool, dry_run: DryRun) -> Reply {
        if self.list {
            return reply(here::list(call.env));
        }
        let request = match &self.adopt {
            Some(named) => HistoryRequest::Adopt(named.clone()),
            None if remove => HistoryRequest::Remove {
                delete_history: self.delete_history,
            },
            None => HistoryRequest::Keep,
        };
        let plan = here::plan(call.start, call.env, &request)?;
        if dry_run == DryRun::Yes {
            return reply(Ok(plan.preview()));
        }
        if plan.changes() {
            call.ask.confirm(&plan.question(), Flag::Yes)?;
        }
        reply(plan.carry_out(call.env))
    }
}

impl Human for KeptHere {
    fn print(&self, page: &mut Page) {
        let path = text::path(&self.path);
        let held = count(self.snapshots, "snapshot");
        let is_dry = self.dry_run;
        let words = |done: &'static str, would: &'static str| if is_dry { would } else { done };
        let was = self.was_at.as_deref().map(text::path);
        match self.became {
            HistoryChange::Created => page.line(format!(
                "{} the history of {path}, without git",
                words("from now on tw keeps", "tw would keep")
            )),
            HistoryChange::Unchanged => page.line(format!("nothing to do for {path}: {held}")),
            HistoryChange::Attached | HistoryChange::Adopted => page.line(format!(
                "{path} {} the history {}: {held}",
                words("goes on with", "would go on with"),
                was.map_or("that it had".to_owned(), |was| format!("of {was}"))
            )),
            HistoryChange::SetAside => page.line(format!(
                "nothing {} added to the history of {path} any more: {held}",
                words("is", "would be")
            )),
            HistoryChange::Deleted => page.line(format!(
                "{} the history of {path}",
                words("deleted", "would delete")
            )),
        }
        if let Some(repository) = &self.repository {
            page.line(format!("it is in {}", text::path(repository)));
        }
        page.notices(&self.notices);
        if self.dry_run {
            return;
        }
        match self.became {
            HistoryChange::Created => {
                page.hint("'tw snapshot' takes a snapshot");
                page.hint("'tw init' sets up the coding agents that you use");
            }
            HistoryChange::SetAside if self.repository.is_some() => {
                page.hint("'tw init --here' goes on with it");
            }
            _ => {}
        }
    }
}

impl Human for Directories {
    fn print(&self, page: &mut Page) {
        if self.directories.is_empty() {
            page.line("no history is kept without git");
        }
        for one in &self.directories {
            let stands = match one.standing {
                KeptStatus::InPlace => "",
                KeptStatus::Gone => "  gone",
                KeptStatus::Replaced => "  another directory is there now",
                KeptStatus::SetAside => "  set aside",
                KeptStatus::HistoryGone => "  its history is gone",
            };
            page.line(format!(
                "{}  {}  {}  {}{stands}",
                one.key,
                text::path(&one.path),
                count(one.snapshots, "snapshot"),
                text::size(one.bytes)
            ));
        }
        let is_lost =
            |stands: KeptStatus| matches!(stands, KeptStatus::Gone | KeptStatus::Replaced);
        if self.directories.iter().any(|one| is_lost(one.standing)) {
            page.hint(
                "'tw init --here --adopt KEY' goes on with one in the directory where it is run",
            );
        }
    }
}
