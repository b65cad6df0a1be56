//! `tw issue report`.

use super::page::headline;
use super::sources::Sources;
use super::texts::{IssueTexts, fields};
use crate::cli::prelude::*;
use crate::cli::{editor, input};
use crate::ops::issue::{self, IssueSummary, Report, Reported};

/// Report an issue
///
/// Task context, symptom and success criteria are required; on a terminal an editor asks for those that are missing. The
/// issue is tied to the session's newest snapshot, or to one taken now when something has changed since. The conversation is read from the agent's own file of that session; only
/// where no session is known, from the newest of this directory. Every text is redacted. Without a conversation the issue is
/// recorded all the same and says why.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "create",
    after_help = "\
Examples:
  # Friction in this session
  tw issue report --task-context 'release build' --symptom 'link fails' \\
    --success-criteria 'it links'

  # From a program
  echo '{\"task_context\": \"…\", \"symptom\": \"…\", \"success_criteria\": \"…\"}' |
    tw issue report --from-json -"
)]
pub struct Args {
    /// Its texts.
    #[command(flatten)]
    pub texts: IssueTexts,

    /// What it is taken from.
    #[command(flatten)]
    pub sources: Sources,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Reported>("issue report")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let mut fields = fields(&self.texts);
        let json = self
            .sources
            .from_json
            .as_deref()
            .map(input::read)
            .transpose()?;
        if json.is_none() && call.ask.can_ask() {
            editor::complete(&mut fields, call.env)?;
        }
        let request = Report {
            is_typed: self.texts.verify.is_some(),
            fields,
            json,
            snapshot: self.sources.snapshot.clone(),
            transcript: self.sources.transcript.clone(),
            session: self.sources.session.clone(),
            selection: self.sources.selection(),
        };
        reply(issue::report(&self.worktrees.open(call)?, &request))
    }
}

impl Human for Reported {
    fn print(&self, page: &mut Page) {
        let issue = &self.view.issue;
        let summary = IssueSummary::from(&issue.issue);
        page.line(format!("reported {}", headline(&summary, &page.options)));
        if let Some(chat) = &self.chat {
            page.line(format!(
                "  with {} of the conversation (found by: {})",
                count(chat.messages, "message"),
                chat.found_by.unwrap_or("given")
            ));
        }
        page.line(format!("  at {}", issue.snapshot_id));
        page.notices(&self.view.notices);
        // In quotes stands what works now.
        if self.in_past {
            page.hint(format!(
                "'tw return' first, then tw issue start {}",
                issue.id
            ));
        } else {
            page.hint(format!("'tw issue start {}' goes there", issue.id));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.view.brief()
    }
}
