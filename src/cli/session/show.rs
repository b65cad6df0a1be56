//! `tw session show`.

use super::line;
use crate::cli::human::text;
use crate::cli::human::time;
use crate::cli::prelude::*;
use crate::ops::session::{self, Shown, Touched};
use crate::text::command_line;

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
    const DOCUMENTS: &[Document] = &[document::<Shown>("session show")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(session::show(&call.open()?, self.session.id()))
    }
}

/// This many files are named without `-v`.
const FILES: usize = 10;

/// How many files, and which, where they are few.
fn named(files: &[Touched], options: &RenderOptions) -> String {
    let few = if options.verbose { files.len() } else { FILES };
    let mut names: Vec<String> = files
        .iter()
        .take(few)
        .map(|file| quoted(&file.path))
        .collect();
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
        let session = &self.session;
        let talk = &session.talk;
        let options = page.options;
        page.line(line(session, &options));
        let mut row = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                page.line(format!("  {name:<11} {}", clean(value)));
            }
        };
        row(
            "started",
            Some(&time::exactly(options.now, &session.started_at)),
        );
        let ended = session.ended_at.as_deref();
        row(
            "ended",
            ended.map(|at| time::exactly(options.now, at)).as_deref(),
        );
        row("worktree", Some(&session.worktree));
        row("source", session.source.as_deref());
        row("snapshot", session.snapshot_id.as_deref());
        row("transcript", session.transcript.as_deref());
        let number = |number: Option<usize>| number.map(|number| number.to_string());
        let tokens = talk.tokens.and_then(|tokens| tokens.context);
        row("title", talk.title.as_deref());
        row("prompts", number(talk.prompts).as_deref());
        row("tokens", tokens.map(text::number).as_deref());
        row("checkpoints", number(talk.checkpoints).as_deref());
        row("rewinds", number(talk.rewinds).as_deref());
        for issue in talk.issues.iter().flatten() {
            row("issue", Some(issue));
        }
        let files = self.files.as_ref().map(|files| named(files, &options));
        row("files", files.as_deref());
        let origin = session.forked_from.as_ref().map(ToString::to_string);
        row("forked from", origin.as_deref());
        for child in &self.children {
            row("sub-agent", Some(child));
        }
        row(
            "resume",
            self.resume_command
                .as_ref()
                .map(|words| command_line(words))
                .as_deref(),
        );
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.session.session_id.clone()])
    }
}
