//! `tw workspace`.

mod add;
mod list;
mod off;
mod remove;

use crate::cli::call::verbs;
use crate::cli::prelude::*;
use crate::ops::outcome::{Membership, Role};
use crate::ops::workspace::MembersChanged;

/// Let several repositories go together: one snapshot of all, and travel in all or in none
///
/// A workspace belongs to the repository where its members were added, its head. A member is another repository, beside it or inside
/// it. A snapshot of the head, taken by hand or by an agent's hook, has one of each member beside it. 'tw travel', 'tw return', 'tw
/// undo', 'tw redo' and the code of 'tw rewind', called in the head, are done in all of them or in none: a member that cannot take
/// part is named, and nothing has moved anywhere. After a kill, the next command in any of them recovers all.
///
/// In a member these commands are refused and name the head, undo and redo where their step is the workspace's; snapshot, restore and
/// everything else are its own. docs/workspaces.md says more.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # This repository, one beside it and one inside it
  tw workspace add ../lib vendor/core
  tw workspace list

  # From now on one snapshot covers all three
  tw snapshot
  tw travel latest
  tw return")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

verbs! {
    /// What can be done about a workspace.
    Verb of Args {
        Add(add::Args),
        List(list::Args),
        Remove(remove::Args),
        Off(off::Args),
    }
}

impl Human for Membership {
    fn print(&self, page: &mut Page) {
        let Some(head) = &self.head else {
            page.line("no workspace");
            page.hint("'tw workspace add DIR' makes one");
            return;
        };
        let here = if self.role == Role::Head {
            " (here)"
        } else {
            ""
        };
        page.line(format!("  workspace of {}{here}", clean(head)));
        for member in &self.members {
            let state = match (&member.problem, member.mode) {
                (Some(problem), _) => page.options.style.red(&clean(problem)),
                (None, mode) => mode.map_or("", |mode| mode.as_str()).to_owned(),
            };
            page.line(format!("    {}  {state}", clean(&member.path)));
        }
    }
}

impl Human for MembersChanged {
    fn print(&self, page: &mut Page) {
        for path in &self.added {
            page.line(format!("added: {}", clean(path)));
        }
        for path in self.removed.iter().filter(|path| !path.is_empty()) {
            page.line(format!("removed: {}", clean(path)));
        }
        if self.added.is_empty() && self.removed.is_empty() {
            page.line("nothing changed");
        }
        self.workspace.print(page);
        page.notices(&self.notices);
        if !self.added.is_empty() {
            page.hint("'tw snapshot' takes the first that covers all");
        }
    }
}
