//! `tw session end`.

use crate::cli::prelude::*;
use crate::ops::sessions::{self, Ended};

/// End a session, and its sub-agents' with it
///
/// It no longer counts as live, so that its snapshots are kept as long as others and no longer. Started again under the
/// same id, it goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # At the end of a script that runs an agent
  tw session end \"$id\"")]
pub struct Args {
    #[command(flatten)]
    pub session: flags::Session,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Ended>("session end")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(sessions::end(&call.open()?, self.session.id()))
    }
}

impl Human for Ended {
    fn print(&self, page: &mut Page) {
        let id = clean(&self.session_id);
        let ended = self.session.ended_at.as_deref();
        page.line(match ended.filter(|_| self.had_ended) {
            Some(at) => format!("session {id} had ended {}", page.options.ago(at)),
            None => format!("ended session {id}"),
        });
        for child in &self.ended_with_it {
            page.line(format!("  and its sub-agent's {}", clean(child)));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.session_id.clone()])
    }
}
