//! `tw agent-help`: prints the skill that is installed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::prelude::*;

/// Print how an agent should use tw
///
/// Prints the text that 'tw init' installs as a skill: what the commands are for, how to report friction and how
/// to work on issues, in a form for an agent to read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # For an agent that takes no skills
  tw agent-help >>AGENTS.md")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<AgentHelp>("agent-help")];

    fn run(&self, _call: &Call<'_>) -> Reply {
        let help = crate::agents::install::SKILL;
        // What stands between the first two lines of dashes is for the agent's list of skills.
        let body = help.splitn(3, "---\n").nth(2).unwrap_or(help);
        reply(Ok(AgentHelp {
            help: body.trim_start(),
        }))
    }
}

/// Answer of `agent-help`.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct AgentHelp {
    /// What an agent should know of `tw`: Markdown, for an agent to read.
    pub help: &'static str,
}

impl Human for AgentHelp {
    fn print(&self, page: &mut Page) {
        page.text.extend_from_slice(self.help.as_bytes());
    }
}
