//! `tw context checkpoint`.

use crate::cli::prelude::*;
use crate::ops::context::{self, Checkpointed, ContextLog, Marker};

/// Add a checkpoint
///
/// Numbers count up from 0. 'tw context revert N' comes back to just before checkpoint N.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Before each prompt
  n=$(tw -q context checkpoint)")]
pub struct Args {
    /// Add a message that shows the number to the model
    #[arg(long)]
    pub marker: bool,
}

impl Args {
    pub fn run(&self, log: &ContextLog) -> Reply {
        let marker = if self.marker {
            Marker::Visible
        } else {
            Marker::Hidden
        };
        reply(context::checkpoint(log, marker))
    }
}

impl Human for Checkpointed {
    fn print(&self, page: &mut Page) {
        let marker = if self.marker {
            ", visible to the model"
        } else {
            ""
        };
        page.line(format!("checkpoint {}{marker}", self.checkpoint_id));
        page.notices(&self.notices);
        page.hint(format!(
            "'tw context revert {}{flag}' comes back here",
            self.checkpoint_id,
            flag = self.flag
        ));
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.checkpoint_id.to_string()])
    }
}
