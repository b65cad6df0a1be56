//! `tw agent-help`: prints the skill that is installed.

use crate::cli::prelude::*;
use crate::wire::AgentHelp;

/// Print how an agent should use tw
///
/// Prints the text that 'tw init --agent' installs as a skill: what the commands are for, how to report friction and how
/// to work on issues, in a form for an agent to read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # For an agent that takes no skills
  tw agent-help >>AGENTS.md")]
pub struct Args {}

impl Run for Args {
    fn run(&self, _call: &Call<'_>) -> Reply {
        let help = crate::agents::install::SKILL;
        // What stands between the first two lines of dashes is for the agent's list of skills.
        let body = help.splitn(3, "---\n").nth(2).unwrap_or(help);
        reply(Ok(AgentHelp {
            help: body.trim_start(),
        }))
    }
}

impl Human for AgentHelp {
    fn print(&self, page: &mut Page) {
        page.text.extend_from_slice(self.help.as_bytes());
    }
}
