//! `tw session start`.

use crate::cli::human::snapshot::headline;
use crate::cli::prelude::*;
use crate::ops::sessions::{self, Asked, NoSnapshot, Start, Started};

/// Record a session and take its snapshot
///
/// Under an id that is known already (a resumed session) it takes a new snapshot and makes it the session's. In the
/// past, for a sub-agent and after a compaction the session is recorded and nothing else happens.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Before an agent of your own begins
  tw session start --agent generic --hint 'nightly refactor'

  # A sub-agent's, linked to its root
  tw session start --session helper-1 --parent \"$id\"")]
pub struct Args {
    /// Name the agent: claude, codex, gemini, qwen, kimi, kimi-code, pi, opencode, cursor, copilot, generic
    #[arg(long, value_name = "NAME", add = complete::agents(), value_parser = flags::named())]
    pub agent: Option<String>,

    /// Use this id; default: the agent's own from the environment, else a new one
    #[arg(long, value_name = "ID", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// Link it to the session ID as a sub-agent's
    #[arg(long, value_name = "ID", add = complete::sessions(), value_parser = flags::named())]
    pub parent: Option<String>,

    /// Name the conversation's file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub transcript: Option<String>,

    /// Say what it is about
    #[arg(long, value_name = "TEXT")]
    pub hint: Option<String>,

    /// Say how it starts, such as startup, resume, clear, compact or fork; any word is noted
    #[arg(long, value_name = "WORD")]
    pub source: Option<String>,

    #[command(flatten)]
    pub force: flags::Force,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Started>("session start")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let ctx = call.open()?;
        let start = Start {
            session: self.session.clone(),
            agent: self.agent.clone(),
            parent: self.parent.clone(),
            transcript: self.transcript.clone(),
            hint: self.hint.clone(),
            source: self.source.clone(),
            force: self.force.into(),
            asked: Asked::ByCommand,
        };
        let started = sessions::start(&ctx, &start)?;
        background::start_when_due(&ctx);
        reply(Ok(started))
    }
}

impl Human for Started {
    fn print(&self, page: &mut Page) {
        page.line(format!("session {}", clean(&self.session_id)));
        match &self.snapshot {
            Ok(taken) => page.line(format!("  {}", headline(taken, &page.options))),
            Err(why) => page.line(match why {
                NoSnapshot::Past => "  recorded only: the working tree is in the past",
                NoSnapshot::SubAgent => "  recorded only: a sub-agent shares its root's snapshot",
                NoSnapshot::Compaction => "  goes on after a compaction, with the snapshot it had",
                NoSnapshot::Repeated => "  was started a moment ago",
            }),
        }
        for entry in &self.pruned {
            let id = page.id(&entry.id);
            page.line(format!(
                "  forgot {id}  {}",
                page.options.ago(&entry.created_at)
            ));
        }
        page.notices(&self.notices);
        if self.snapshot.is_ok() {
            page.hint("'tw diff session' shows what has changed since");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.session_id.clone()])
    }
}
