//! `tw issue start`.

use crate::cli::human::again::{Again, command, flag};
use crate::cli::prelude::*;
use crate::ops::issue::{self, Started};
use crate::ops::request::Travel;

/// Travel to an issue's snapshot and open a run
///
/// As 'tw travel' does: the present is saved first, and 'tw return' brings it back exactly. The run records the checks made
/// there and how much the experiment changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Go, reproduce, try, come home
  tw issue start ab12
  tw issue verify ab12
  tw return")]
pub struct Args {
    #[command(flatten)]
    pub issue: flags::Issue,

    #[command(flatten)]
    pub dry_run: flags::DryRun,

    #[command(flatten)]
    pub force: flags::Force,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Started>("issue start")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = Travel {
            dry_run: self.dry_run.into(),
            force: self.force.into(),
            ..Travel::default()
        };
        let force = bool::from(self.force);
        swapped(call, |context| {
            let started = issue::start(context, &self.issue.id(context)?, &request)?;
            let again = command(&["tw issue start", &started.issue_id, flag(force, "--force")]);
            Ok(Again {
                command: started.travelled.dry_run.then_some(again),
                answer: started,
            })
        })
    }
}

impl Human for Started {
    fn print(&self, page: &mut Page) {
        self.travelled.print(page);
        let id = clean(&self.issue_id);
        if !self.travelled.dry_run {
            page.line(format!("  run {} of issue {id}", self.run));
            page.hint(format!("'tw issue verify {id}' runs its check"));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.travelled.brief()
    }
}
