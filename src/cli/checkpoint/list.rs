//! `tw checkpoint list`.

use super::headline;
use crate::cli::prelude::*;
use crate::ops::checkpoint::{self, List, Listing};
use crate::store::checkpoint::Checkpoint;

/// List the checkpoints of a session
///
/// Shows them in the order of their numbers, with what was asked at each, its snapshot, and the size of the model's
/// context just before it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The last ten
  tw checkpoint list -n 10

  # Those of another session
  tw checkpoint list --session 5f0c")]
pub struct Args {
    /// Show only the newest N
    #[arg(short = 'n', value_name = "N")]
    pub limit: Option<usize>,
}

impl Args {
    pub fn run(&self, session: Option<String>, ctx: &Context<'_>) -> Reply {
        reply(checkpoint::list(
            ctx,
            &List {
                session,
                limit: self.limit,
            },
        ))
    }
}

fn row(checkpoint: &Checkpoint, options: &RenderOptions) -> String {
    let context = checkpoint.tokens.context;
    let context = context.map_or_else(String::new, |tokens| format!("  {} tokens", number(tokens)));
    format!(
        "{:>4}  {:<6}  {}  {}{context}  {}",
        checkpoint.checkpoint_id,
        checkpoint.kind.as_str(),
        options.id(&checkpoint.snapshot_id),
        options.ago(&checkpoint.created_at),
        headline(checkpoint)
    )
    .trim_end()
    .to_owned()
}

impl Human for Listing {
    fn print(&self, page: &mut Page) {
        for checkpoint in &self.checkpoints {
            page.line(row(checkpoint, &page.options));
            let rewinds = self.rewinds.iter();
            for rewind in rewinds.filter(|rewind| rewind.checkpoint_id == checkpoint.checkpoint_id)
            {
                let fork = rewind.fork.as_ref();
                let to = fork.map_or_else(String::new, |fork| {
                    format!(", goes on as {}", clean(&fork.session_id))
                });
                let undone = if rewind.undone_at.is_some() {
                    ", undone"
                } else {
                    ""
                };
                page.line(format!(
                    "      rewound to here ({}) {}{to}{undone}",
                    clean(&rewind.mode),
                    page.options.ago(&rewind.rewound_at)
                ));
            }
        }
        page.notices(&self.invalid);
        page.notices(&self.notices);
        let flag = &self.session_flag;
        if self.checkpoints.is_empty() {
            page.hint(format!(
                "'tw checkpoint{flag}' makes one; 'tw init' lets your agents do it at each prompt"
            ));
        } else {
            page.hint(format!(
                "'tw rewind N{flag}' shows what going back would do"
            ));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.checkpoints.iter();
        Some(
            ids.map(|checkpoint| checkpoint.checkpoint_id.to_string())
                .collect(),
        )
    }
}
