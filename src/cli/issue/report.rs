//! `tw issue report`.

use std::path::PathBuf;

use super::page::headline;
use super::texts::{IssueTexts, fields};
use crate::agents::transcript::Selection;
use crate::cli::prelude::*;
use crate::cli::{complete, editor, input};
use crate::ops::issue::{self, IssueSummary, Report, Reported};

/// Report an issue
///
/// Task context, symptom and success criteria are required; on a terminal an editor asks for those that are missing. The
/// issue is tied to the session's newest snapshot, or to one taken now when something has changed since. The conversation is read from the agent's own session file: the one of the
/// session in the environment, else the newest of this directory. Every text is redacted. Without a conversation the issue
/// is recorded all the same and says why.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "create",
    after_help = "\
Examples:
  # Friction in this session
  tw issue report --task-context 'release build' --symptom 'link fails' --success-criteria 'it links'

  # From a program
  echo '{\"task_context\": \"…\", \"symptom\": \"…\", \"success_criteria\": \"…\"}' | tw issue report --from-json -"
)]
pub struct Args {
    /// Its texts.
    #[command(flatten)]
    pub texts: IssueTexts,

    /// Tie it to this snapshot instead of the state as it is now
    #[arg(long, value_name = "SNAPSHOT", add = complete::destinations())]
    pub snapshot: Option<String>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Take the conversation from this session file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub transcript: Option<PathBuf>,

    /// The agent's session ID
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,

    /// Keep only the last N turns of the conversation
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,

    /// Keep so many messages before and after the last one
    #[arg(long, value_name = "BEFORE,AFTER", conflicts_with = "last", value_parser = window)]
    pub window: Option<(usize, usize)>,

    /// Read the texts from a JSON document; '-' is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from_json: Option<PathBuf>,
}

fn window(text: &str) -> std::result::Result<(usize, usize), String> {
    let pair = text.split_once(',');
    let pair = pair.and_then(|(before, after)| Some((before.parse().ok()?, after.parse().ok()?)));
    pair.ok_or_else(|| "must be two non-negative integers, such as 20,0".to_owned())
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Reported>("issue report")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let mut fields = fields(&self.texts);
        let json = self.from_json.as_deref().map(input::read).transpose()?;
        if json.is_none() && call.ask.can_ask() {
            editor::complete(&mut fields, call.env)?;
        }
        let selection = match (self.last, self.window) {
            (Some(turns), _) => Selection::LastTurns(turns),
            (None, Some((before, after))) => Selection::Window {
                before,
                after,
                anchor: None,
            },
            (None, None) => Selection::Whole,
        };
        let request = Report {
            trusted: self.texts.verify.is_some(),
            fields,
            json,
            snapshot: self.snapshot.clone(),
            transcript: self.transcript.clone(),
            session: self.session.clone(),
            selection,
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
