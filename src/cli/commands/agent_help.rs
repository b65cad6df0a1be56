//! `tw agent-help`: prints the skill that is installed.

use super::{Reply, reply};
use crate::wire::AgentHelp;

pub fn run() -> Reply {
    let help = crate::agents::install::SKILL;
    // What stands between the first two lines of dashes is for the agent's list of skills.
    let body = help.splitn(3, "---\n").nth(2).unwrap_or(help);
    reply(Ok(AgentHelp {
        help: body.trim_start(),
    }))
}
