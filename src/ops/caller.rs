//! The session that calls: which one it is, and how that is known.
//!
//! Several agents may work in one tree. Who names a session is believed first, then the hook's payload, then the agent's own
//! environment variable; only then it is the last one that was started here.

use super::Context;
use crate::agents::AGENTS;
use crate::agents::hook::HookEvent;
use crate::env::Env;
use crate::error::Result;
use crate::store::Store;
use crate::store::state::State;
use crate::text::typed;

/// How the caller's session became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// Somebody named it.
    Flag,
    /// The hook's payload.
    Hook,
    /// The agent's own environment variable.
    Environment,
    /// It is the last one started in this worktree.
    State,
}

/// The session that calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its id.
    pub session_id: String,
    /// Its agent, when that is known.
    pub agent: Option<String>,
    /// How it became known.
    pub via: Via,
}

impl Caller {
    fn new(session_id: &str, agent: Option<&str>, via: Via) -> Self {
        Self {
            session_id: session_id.to_owned(),
            agent: agent.map(str::to_owned),
            via,
        }
    }
}

/// The session that calls: `named`, else the hook's payload, else an agent's environment variable, else the last one started
/// in this worktree.
///
/// # Errors
/// When `state.json` cannot be read.
pub fn caller(
    ctx: &Context<'_>,
    store: &Store,
    named: Option<&str>,
    event: Option<&HookEvent>,
) -> Result<Option<Caller>> {
    match by_itself(ctx.env, named, event) {
        Some(caller) => Ok(Some(caller)),
        None => Ok(last_started(&store.dir.state()?)),
    }
}

/// The id of the caller's session, else of the last one that was started in this worktree, also when it has ended: for what is asked
/// about a session. What is recorded as a session's doing asks [`caller`].
///
/// # Errors
/// When `state.json` cannot be read.
pub fn caller_or_ended(ctx: &Context<'_>, store: &Store) -> Result<Option<String>> {
    match by_itself(ctx.env, None, None) {
        Some(caller) => Ok(Some(caller.session_id)),
        None => Ok(store.dir.state()?.session_id),
    }
}

/// How a command that is named to people has to name a session: ` --session ID`, and nothing where it would mean that one anyway.
pub fn session_flag(ctx: &Context<'_>, store: &Store, session_id: &str) -> String {
    match caller_or_ended(ctx, store) {
        Ok(Some(caller)) if caller == session_id => String::new(),
        // Else it would be read as another option.
        _ if session_id.starts_with('-') => format!(" --session={}", typed(session_id)),
        _ => format!(" --session {}", typed(session_id)),
    }
}

/// The session that says so itself.
fn by_itself(env: &Env, named: Option<&str>, event: Option<&HookEvent>) -> Option<Caller> {
    if let Some(id) = named {
        return Some(Caller::new(id, None, Via::Flag));
    }
    if let Some((event, id)) = event.and_then(|event| Some((event, event.session_id.as_deref()?))) {
        return Some(Caller::new(id, Some(event.agent), Via::Hook));
    }
    let (agent, id) = by_environment(env, None)?;
    Some(Caller::new(id, Some(agent), Via::Environment))
}

fn last_started(state: &State) -> Option<Caller> {
    let last = state.session_id.as_deref();
    let last = last.filter(|_| !state.session_ended);
    last.map(|id| Caller::new(id, None, Via::State))
}

/// The session that an agent's own variable names. `only` names the one agent to look at.
pub fn by_environment<'e>(env: &'e Env, only: Option<&str>) -> Option<(&'static str, &'e str)> {
    let fits = |name: &str| only.is_none_or(|only| only == name);
    AGENTS
        .iter()
        .filter(|agent| fits(agent.name()))
        .find_map(|agent| {
            let mut ids = agent
                .session_variables()
                .iter()
                .filter_map(|name| env.text(name));
            Some((agent.name(), ids.next()?))
        })
}

/// The session and the agent that something is recorded with. `named` and `agent`: as far as they were given.
pub fn recorded(
    ctx: &Context<'_>,
    state: &State,
    named: Option<&str>,
    agent: Option<&str>,
) -> (Option<String>, Option<String>) {
    let agent = agent.map(str::to_owned);
    let Some(caller) = by_itself(ctx.env, named, None).or_else(|| last_started(state)) else {
        return (None, agent);
    };
    // A register that cannot be read keeps nothing from being recorded.
    let registered = || ctx.sessions().get(&caller.session_id).ok()??.agent;
    let agent = agent.or_else(|| caller.agent.clone()).or_else(registered);
    (Some(caller.session_id), agent)
}
