//! `tw watch`.

mod start;
mod status;
mod stop;

use std::time::Duration;

use crate::cli::call::{Answer, verbs};
use crate::cli::prelude::*;
use crate::ops::watch::{Over, Ready, Service, State, Watching};
use crate::worktree::watch::serve::Options;

/// Watch the working tree, so that a snapshot looks only where something changed
///
/// Without it a snapshot looks at every file, which takes a quarter of a second for half a million. The watcher is told by the
/// system in which directories something happened, and a snapshot asks it: it takes milliseconds, and looks at everything
/// whenever the watcher is not there, does not answer at once, or cannot say. Travel, return, restore and all else that overwrites
/// files never asks it.
///
/// The system does not tell of everything. What it leaves out is compared every --audit, and what was missed turns the watcher
/// off: 'tw doctor' says why. It needs a watch of the system's for each directory (fs.inotify.max_user_watches), but none for what
/// is ignored. Network file systems are refused, since others change them unseen. docs/watch.md says more.
///
/// Runs until it is stopped, or until the working tree is gone. With the setting 'watch' the first hook of an agent starts one.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  # In the background, until 'tw watch stop'
  tw watch start
  tw watch status

  # Whenever an agent works here
  tw config watch true

  # As a service of systemd
  mkdir -p ~/.config/systemd/user
  tw watch --print-service | tee ~/.config/systemd/user/tw-watch-site.service
  systemctl --user enable --now tw-watch-site"
)]
pub struct Args {
    /// What to do; default: watch here, in the foreground
    #[command(subcommand)]
    pub verb: Option<Verb>,

    #[command(flatten)]
    how: How,

    /// Print a unit for systemd that runs it
    #[arg(long, conflicts_with_all = ["idle", "audit"])]
    print_service: bool,

    /// It was started beside a command
    #[arg(long, hide = true)]
    detached: bool,
}

/// How it runs.
#[derive(Debug, clap::Args)]
pub struct How {
    /// End when nobody asked for this long: '90s', '30m' or '2h' (default: never)
    #[arg(long, value_name = "TIME", value_parser = flags::duration)]
    idle: Option<Duration>,

    /// Compare every file this often, as long as somebody asks
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = flags::duration)]
    audit: Duration,
}

impl How {
    fn options(&self) -> Options {
        Options {
            idle: self.idle,
            audit: self.audit,
        }
    }
}

verbs! {
    /// What can be done with the watcher.
    Verb {
        Start(start::Args),
        Stop(stop::Args),
        Status(status::Args),
    }
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Ready>("watch"),
        document::<Service>("watch --print-service"),
    ];

    fn documents() -> Vec<Document> {
        [Self::DOCUMENTS.to_vec(), Verb::documents()].concat()
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        if let Some(verb) = &self.verb {
            return verb.run(call);
        }
        let context = call.open()?;
        if self.print_service {
            return reply(ops::watch::service(&context));
        }
        let run = ops::watch::Run {
            options: self.how.options(),
            detached: self.detached,
        };
        let mut ready = |ready: Ready| {
            call.output.answer(&ready);
        };
        let over = ops::watch::run(&context, &run, &mut ready)?;
        Ok(Box::new(over))
    }
}

impl Human for Ready {
    fn print(&self, page: &mut Page) {
        page.note("watching; it ends with Ctrl-C, or with 'tw watch stop'");
    }
}

/// Under `--json` there was a document already: this is for people alone.
impl Human for Over {
    fn print(&self, page: &mut Page) {
        page.note(match self.ended {
            "idle" => "ended: idle for too long",
            "gone" => "ended: the working tree or its git directory is gone, or elsewhere",
            _ => "ended: it was stopped",
        });
    }
}

impl Answer for Over {
    fn json(&self) -> String {
        String::new()
    }
}

impl Human for Service {
    fn print(&self, page: &mut Page) {
        for line in self.unit.lines() {
            page.line(line);
        }
    }
}

fn counted(number: Option<u64>, what: &str) -> String {
    let number = usize::try_from(number.unwrap_or_default());
    count(number.unwrap_or(usize::MAX), what)
}

impl Human for Watching {
    fn print(&self, page: &mut Page) {
        let pid = self.pid.unwrap_or_default();
        page.line(match self.state {
            State::Running => format!(
                "watching {} (process {pid})",
                count(self.directories.unwrap_or_default(), "directory")
            ),
            State::Off => "there is no watcher here: snapshots look at all files".to_owned(),
            State::Silent => format!("the watcher (process {pid}) does not answer"),
            State::Fault => format!(
                "the watcher turned itself off: {}",
                clean(self.reason.as_deref().unwrap_or_default())
            ),
        });
        if self.state == State::Running {
            page.line(format!(
                "  {}, {} unanswered; {}; events lost {}",
                counted(self.asked, "question"),
                self.unanswered.unwrap_or_default(),
                counted(self.audits, "audit"),
                counted(self.overflows, "time")
            ));
        }
    }
}
