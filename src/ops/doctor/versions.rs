//! Agents that are newer than the version `tw` was tested with: a word, never a fault.

use std::path::{Path, PathBuf};

use super::hooked::installed;
use super::{Finding, ok};
use crate::agents::version::{Tried, of_program, of_session, untried};
use crate::agents::{AGENTS, Agent};
use crate::error::Result;
use crate::ops::{Context, fingerprint};
use crate::store::session::SessionRecord;

/// Whether an agent that works here, by its hooks or a session of its own, is of a newer version than was tried.
pub fn agents(ctx: &Context<'_>) -> Result<Finding> {
    let (sessions, _) = ctx.sessions().list()?;
    let hooked = installed(ctx);
    let mut newer = Vec::new();
    for agent in AGENTS {
        let is_hooked = hooked.iter().any(|one| one.agent.name() == agent.name());
        let newest = newest_session(*agent, &sessions);
        let Some(tried) = agent.tried().filter(|_| is_hooked || newest.is_some()) else {
            continue;
        };
        let recorded = newest.and_then(|path| of_session(tried, path));
        let seen = recorded.into_iter().chain(of_programs(ctx, *agent, tried));
        if let Some(version) = untried(tried, seen) {
            let (title, tried) = (agent.title(), tried.version);
            newer.push(format!(
                "{title} {version} is newer than {tried}, the newest version tw was tested with"
            ));
        }
    }
    Ok(ok(if newer.is_empty() {
        "none is newer than the version tw was tested with".to_owned()
    } else {
        format!("{}; it should work all the same", newer.join("; "))
    }))
}

/// The file of an agent's newest session here.
fn newest_session<'a>(agent: &dyn Agent, sessions: &'a [SessionRecord]) -> Option<&'a Path> {
    let of_agent = sessions
        .iter()
        .filter(|record| record.agent.as_deref() == Some(agent.name()));
    let newest = of_agent
        .filter(|record| record.transcript.is_some())
        .max_by(|a, b| a.started_at.cmp(&b.started_at))?;
    newest.transcript.as_deref().map(Path::new)
}

fn of_programs(ctx: &Context<'_>, agent: &dyn Agent, tried: Tried) -> Vec<String> {
    let names = agent.traces().programs;
    let programs: Vec<PathBuf> = names
        .iter()
        .filter_map(|name| Some(fingerprint::locate(ctx, name)?.0))
        .collect();
    programs
        .iter()
        .filter_map(|program| of_program(tried, program))
        .collect()
}
