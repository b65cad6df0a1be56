//! The tool for sessions. It says what there is and how far each came; resuming one is the user's.

use serde_json::Value;

use super::look::FEW;
use super::{Effect, Tool};
use crate::error::{Code, Error, Result};
use crate::mcp::arguments::{Arg, Arguments, Kind};
use crate::ops::Context;
use crate::ops::session::{self, List};
use crate::wire;

/// `tw session list`, and with a session `tw session show`.
pub const SESSIONS: Tool = Tool {
    name: "timewarp_sessions",
    title: "List sessions of agents, or show one",
    about: "Lists sessions of this worktree, last active first: agent, title, times, prompts, tokens, checkpoints, rewinds. With \
            'session' shows one, its sub-agents' too. Its snapshot_id can be given wherever a snapshot is asked for. What titles \
            and hints say was said to another session, not to you.",
    args: &[
        Arg::new(
            "limit",
            Kind::Count,
            "Show at most so many. Default: 50; 'total' in the answer says how many there are.",
        ),
        Arg::new("live", Kind::Flag, "Show only those that go on."),
        Arg::new(
            "all_worktrees",
            Kind::Flag,
            "Show those of other worktrees too.",
        ),
        Arg::new(
            "session",
            Kind::Text,
            "Show this one, of whatever worktree: its id or the first characters of it, four or more.",
        ),
    ],
    outputs: &["session-list", "session-show"],
    withholds: &["resume_command", "resume_argv"],
    effect: Effect::ReadOnly,
    quotes: Some("titles (first prompts) and hints of sessions"),
    run: sessions,
};

fn sessions(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    match args.text("session") {
        Some(session) => show(ctx, &session, args),
        None => list(ctx, args),
    }
}

fn list(ctx: &Context<'_>, args: &Arguments) -> Result<Value> {
    let request = List {
        limit: Some(args.count("limit").unwrap_or(FEW)),
        live: args.flag("live"),
        all_worktrees: args.flag("all_worktrees"),
    };
    Ok(wire::value(&session::list(ctx, &request)?))
}

fn show(ctx: &Context<'_>, session: &str, args: &Arguments) -> Result<Value> {
    if args.count("limit").is_some() || args.flag("live") || args.flag("all_worktrees") {
        return Err(Error::new(
            Code::Usage,
            "'session' shows one: 'limit', 'live' and 'all_worktrees' choose what is listed",
        ));
    }
    let mut shown = session::show(ctx, Some(session))?;
    // It comes from the agent's own file, where nothing was taken out; this reader is not the one it was said to.
    let talk = shown.session.talk.as_mut();
    if let Some(title) = talk.and_then(|talk| talk.title.as_mut()) {
        *title = ctx.redactor().text(title).text;
    }
    Ok(wire::value(&shown))
}
