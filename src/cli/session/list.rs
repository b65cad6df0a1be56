//! `tw session list`.

use super::line;
use crate::cli::human::text::in_a_line;
use crate::cli::prelude::*;
use crate::ops::outcome::Invalid;
use crate::ops::session::{self, List, Listing};
use crate::ops::sharing::sessions::SharedSession;

/// List sessions, last active first
///
/// Those of this worktree, unless --all-worktrees asks for more, and those that others shared, with the name that each is claimed by
/// (see tw-share(1)): these are shown and no more; they can neither be resumed nor rewound here. With -v their prompts are shown,
/// where they were shared. A record that cannot be read is named and hides no other.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Who is at work here?
  tw session list --live

  # In every worktree, for a program
  tw session list --all-worktrees --json")]
pub struct Args {
    /// Show at most N
    #[arg(short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Show only live ones
    #[arg(long)]
    pub live: bool,

    /// Show those of other worktrees too
    #[arg(long)]
    pub all_worktrees: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Listing>("session list")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(session::list(
            &call.open()?,
            &List {
                limit: self.limit,
                live: self.live,
                all_worktrees: self.all_worktrees,
            },
        ))
    }
}

/// A session of somebody else: what was said of it.
fn shared_line(shared: &SharedSession, options: &RenderOptions) -> String {
    let mut parts = vec![in_a_line(&shared.session_id)];
    parts.extend(shared.agent.as_deref().map(clean));
    parts.push(match &shared.ended_at {
        Some(at) => format!("ended {}", options.ago(at)),
        None => format!("active {}", options.ago(&shared.last_active_at)),
    });
    if let Some(parent) = &shared.parent {
        parts.push(format!("sub-agent of {}", in_a_line(parent)));
    }
    let prompts = shared.checkpoints.iter().filter(|one| one.kind == "prompt");
    match prompts.clone().count() {
        0 => {}
        number => parts.push(count(number, "prompt")),
    }
    let title = prompts.clone().find_map(|one| one.prompt.as_deref());
    parts.extend(shared.hint.as_deref().or(title).map(beginning));
    parts.push(format!("(claimed by {})", clean(&shared.claimed_by)));
    parts.join("  ")
}

impl Human for Listing {
    fn print(&self, page: &mut Page) {
        for view in &self.sessions {
            page.line(line(view, &page.options));
        }
        for shared in &self.shared {
            page.line(shared_line(shared, &page.options));
            if page.options.verbose {
                for one in &shared.checkpoints {
                    let ago = page.options.ago(&one.created_at);
                    let asked = beginning(one.prompt.as_deref().unwrap_or(&one.kind));
                    page.line(format!("  {}  {ago}  {asked}", one.checkpoint_id));
                }
            }
        }
        for Invalid { id, reason } in &self.invalid {
            page.note(format!(
                "the record of session '{id}' cannot be read: {reason}"
            ));
        }
        page.notices(&self.notices);
        if self.sessions.is_empty() && self.shared.is_empty() {
            page.hint("'tw session start' starts one; 'tw init' lets your agents do it");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        // Nothing can be done here with those of others.
        let ids = self.sessions.iter();
        Some(ids.map(|view| view.session_id.clone()).collect())
    }
}
