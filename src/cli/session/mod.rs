//! `tw session`.

mod end;
mod list;
mod resume;
mod show;
mod start;

use crate::cli::call::verbs;
use crate::cli::human::text::in_a_line;
use crate::cli::prelude::*;
use crate::ops::sessions::{SessionView, Talk};

/// Start, list, show and end the sessions of agents
///
/// A session is one run of an agent. Its start takes a snapshot, which 'session' names wherever a snapshot is asked for,
/// and then forgets old snapshots as 'tw prune' would. Agents that were set up with 'tw init' do this by
/// themselves. A session is live until it ends or nothing was heard of it for 24 hours; the snapshots of live
/// sessions are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # In a script that runs an agent
  id=$(tw -q session start --agent generic --hint 'nightly refactor')
  tw session end \"$id\"

  # What has changed since this session began?
  tw diff session

  # Who is at work here?
  tw session list --live")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

verbs! {
    /// What can be done with sessions.
    Verb of Args {
        Start(start::Args),
        List(list::Args),
        Show(show::Args),
        Resume(resume::Args),
        End(end::Args),
    }
}

/// Agent, id and how it stands, on one line.
pub fn line(view: &SessionView, options: &RenderOptions) -> String {
    let state = match (&view.ended_at, view.live) {
        (Some(at), _) => format!("ended {}", options.ago(at)),
        (None, true) => format!("live, active {}", options.ago(&view.last_active_at)),
        (None, false) => format!("silent since {}", options.ago(&view.last_active_at)),
    };
    let mut parts = vec![in_a_line(&view.session_id)];
    parts.extend(view.agent.as_deref().map(clean));
    parts.push(state);
    if let Some(parent) = &view.parent {
        parts.push(format!("sub-agent of {}", in_a_line(parent)));
    }
    let counted = counts(&view.talk);
    if !counted.is_empty() {
        parts.push(counted);
    }
    let title = view.talk.title.as_deref();
    parts.extend(view.hint.as_deref().or(title).map(beginning));
    parts.join("  ")
}

/// `3 prompts, 1 rewind, 2 files`: what there is of each.
fn counts(talk: &Talk) -> String {
    let all = [
        (talk.prompts, "prompt"),
        (talk.rewinds, "rewind"),
        (talk.issues.as_ref().map(Vec::len), "issue"),
        (talk.files_touched, "file"),
    ];
    let all = all.map(|(number, what)| (number.unwrap_or(0), what));
    let there = all.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = there.map(|(number, what)| count(number, what)).collect();
    parts.join(", ")
}
