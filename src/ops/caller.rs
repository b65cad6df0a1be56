//! The session that calls: which one it is, and how that is known.
//!
//! Several agents may work in one tree. Who names a session is believed first, then the hook's payload, then what a client says of its
//! call over MCP, then the agent's own environment variable; only then it is the last one that was started here. A server that an agent
//! starts once keeps that variable when the agent goes on in another session: where the one it names has ended, its successor calls.

use super::Context;
use crate::agents::AGENTS;
use crate::agents::hook::HookEvent;
use crate::env::Env;
use crate::error::Result;
use crate::store::Store;
use crate::store::session::SessionRecord;
use crate::store::state::State;
use crate::text::typed;

/// How the caller's session became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// Somebody named it.
    Flag,
    /// The hook's payload.
    Hook,
    /// What the client of the call over MCP says of it.
    Call,
    /// The agent's own environment variable.
    Environment,
    /// The one that this variable names has ended, and its agent went on in this one.
    Successor,
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

/// The session that calls: `named`, else the hook's payload, else what the client says of its call, else an agent's environment
/// variable, else the last one started in this worktree.
///
/// # Errors
/// When `state.json` cannot be read.
pub fn caller(
    ctx: &Context<'_>,
    store: &Store,
    named: Option<&str>,
    event: Option<&HookEvent>,
) -> Result<Option<Caller>> {
    match by_itself(ctx, named, event) {
        Some(caller) => Ok(Some(caller)),
        None => Ok(last_started(ctx, &store.dir.state()?)),
    }
}

/// The id of the caller's session, else of the last one that was started in this worktree, also when it has ended: for what is asked
/// about a session. What is recorded as a session's doing asks [`caller`].
///
/// # Errors
/// When `state.json` cannot be read.
pub fn caller_or_ended(ctx: &Context<'_>, store: &Store) -> Result<Option<String>> {
    match told(ctx) {
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

/// The session that calls by what this process was given, where that says it.
pub fn told(ctx: &Context<'_>) -> Option<Caller> {
    by_itself(ctx, None, None)
}

/// The session that says so itself.
fn by_itself(ctx: &Context<'_>, named: Option<&str>, event: Option<&HookEvent>) -> Option<Caller> {
    if let Some(id) = named {
        return Some(Caller::new(id, None, Via::Flag));
    }
    if let Some((event, id)) = event.and_then(|event| Some((event, event.session_id.as_deref()?))) {
        return Some(Caller::new(id, Some(event.agent), Via::Hook));
    }
    if let Some(caller) = by_call(ctx) {
        return Some(caller);
    }
    let (agent, id) = by_environment(ctx.env, None)?;
    Some(match successor(ctx, id) {
        Some(next) => Caller::new(&next.session_id, Some(agent), Via::Successor),
        None => Caller::new(id, Some(agent), Via::Environment),
    })
}

/// The session that a client names for its call. Another client may mean something else by the same words: only one that the register
/// knows as that agent's counts.
fn by_call(ctx: &Context<'_>) -> Option<Caller> {
    let sessions = ctx.sessions();
    let is_known = |id: &str, agent: &str| {
        let record = sessions.get(id).ok().flatten();
        record.is_some_and(|record| record.agent.is_none_or(|known| known == agent))
    };
    AGENTS.iter().find_map(|agent| {
        let mut named = agent.sessions_of_call(ctx.env.call()).into_iter();
        let id = named.find(|id| is_known(id, agent.name()))?;
        Some(Caller::new(&id, Some(agent.name()), Via::Call))
    })
}

/// The session in which its agent went on when the one with this id had ended; None while that one goes on, and where no other
/// followed.
fn successor(ctx: &Context<'_>, id: &str) -> Option<SessionRecord> {
    let sessions = ctx.sessions();
    // A register that cannot be read tells of no end.
    let mut last = sessions.get(id).ok()??;
    last.ended_at.as_ref()?;
    let (mut records, _) = sessions.list().ok()?;
    loop {
        // None comes twice, so that there is no circle within one second.
        records.retain(|record| record.session_id != last.session_id);
        let later = records.iter().filter(|record| record.follows(&last));
        match later.min_by_key(|record| &record.last_started_at) {
            Some(next) => last = next.clone(),
            None => break,
        }
    }
    (last.session_id != id).then_some(last)
}

fn last_started(ctx: &Context<'_>, state: &State) -> Option<Caller> {
    let last = state.session_id.as_deref();
    let last = last.filter(|_| !state.session_ended)?;
    // A register that cannot be read tells of no end.
    let record = ctx.sessions().get(last).ok().flatten();
    let record = record.unwrap_or_default();
    // Where a swap kept the end out of the state.
    let goes_on = record.ended_at.is_none();
    goes_on.then(|| Caller::new(last, record.agent.as_deref(), Via::State))
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
    let Some(caller) = by_itself(ctx, named, None).or_else(|| last_started(ctx, state)) else {
        return (None, agent);
    };
    // A register that cannot be read keeps nothing from being recorded.
    let registered = || ctx.sessions().get(&caller.session_id).ok()??.agent;
    let agent = agent.or_else(|| caller.agent.clone()).or_else(registered);
    (Some(caller.session_id), agent)
}
