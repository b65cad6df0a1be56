//! `tw session show`.

use super::line;
use crate::cli::human::text::{self};
use crate::cli::prelude::*;
use crate::git::path::RepoPath;
use crate::ops::session::{self, Shown};

/// Show what is recorded of a session
///
/// Its agent, times, snapshots, transcript, title, prompts, tokens, checkpoints, rewinds, the issues reported in it, the files that changed in it (by anybody: from its first snapshot to its last, or up to now while it is live), its sub-agents, and the agent's own command that resumes it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The session that calls, or the last one started here
  tw session show

  # One by the beginning of its id
  tw session show 3f2c")]
pub struct Args {
    #[command(flatten)]
    pub session: flags::Session,
}

impl Run for Args {
    fn run(&self, call: &Call<'_>) -> Reply {
        reply(session::show(&call.open()?, self.session.id()))
    }
}

/// So many files are named without `-v`.
const FILES: usize = 10;

/// How many files, and which, where they are few.
fn named(files: &[RepoPath], options: &RenderOptions) -> String {
    let few = if options.verbose { files.len() } else { FILES };
    let mut names: Vec<String> = files.iter().take(few).map(|path| quoted(path)).collect();
    if files.len() > few {
        names.push(format!("and {} more", files.len() - few));
    }
    match names.as_slice() {
        [] => "none".to_owned(),
        names => format!("{}: {}", files.len(), names.join(", ")),
    }
}

impl Human for Shown {
    fn print(&self, page: &mut Page) {
        let record = &self.session.record;
        let options = page.options;
        page.line(line(&self.session, &options));
        let mut row = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                page.line(format!("  {name:<11} {}", clean(value)));
            }
        };
        row("started", Some(&record.started_at));
        row("worktree", Some(&record.worktree));
        row("source", record.source.as_deref());
        row("snapshot", self.session.snapshot_id.as_deref());
        row("transcript", record.transcript.as_deref());
        if let Some(talk) = &self.session.talk {
            row("title", talk.title.as_deref());
            row("prompts", Some(&talk.prompts.to_string()));
            row("tokens", talk.tokens.context.map(text::number).as_deref());
            row("checkpoints", Some(&talk.checkpoints.to_string()));
            row("rewinds", Some(&talk.rewinds.to_string()));
            for issue in &talk.issues {
                row("issue", Some(issue));
            }
            let files = talk.files.as_ref().map(|files| named(files, &options));
            row("files", files.as_deref());
        }
        let origin = record.forked_from.as_ref();
        let origin = origin.map(|origin| format!("{}:{}", origin.session_id, origin.checkpoint_id));
        row("forked from", origin.as_deref());
        for child in &self.children {
            row("sub-agent", Some(child));
        }
        row(
            "resume",
            self.resume_command
                .as_ref()
                .map(|words| words.join(" "))
                .as_deref(),
        );
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.session.record.session_id.clone()])
    }
}
