//! `tw session list` and `tw session show` as a tool. It says what there is and how far each came; resuming one is the user's.

use super::FEW;
use crate::mcp::tools::prelude::*;
use crate::ops::session::{self, List};

/// # List sessions of agents, or show one
///
/// Lists sessions of this worktree, last active first: agent, title, times, prompts, tokens, checkpoints, rewinds. With
/// 'session' shows one, its sub-agents' too. Its snapshot_id can be given wherever a snapshot is asked for. What titles and
/// hints say was said to another session, not to you.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Show at most this many. Default: 50; 'total' in the answer says how many there are.
    limit: Option<usize>,
    /// Show only those that go on.
    #[serde(default)]
    live: bool,
    /// Show those of other worktrees too.
    #[serde(default)]
    all_worktrees: bool,
    /// Show this one, of whatever worktree: its id or the first characters of it, four or more.
    session: Option<String>,
}

impl Request for Sessions {
    const NAME: &str = "timewarp_sessions";
    const OUTPUTS: &[Document] = &[
        document::<ops::session::Listing>("session list"),
        document::<ops::session::Shown>("session show"),
    ];
    const WITHHOLDS: &[&str] = &["resume_command", "resume_argv"];
    const EFFECT: Effect = Effect::ReadOnly;
    const QUOTES: Option<&str> = Some("titles (first prompts) and hints of sessions");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        if let Some(session) = &self.session {
            return self.show(ctx, session);
        }
        let request = List {
            limit: Some(self.limit.unwrap_or(FEW)),
            live: self.live,
            all_worktrees: self.all_worktrees,
            ..List::default()
        };
        Ok(wire::value(&session::list(ctx, &request)?))
    }
}

impl Sessions {
    fn show(&self, ctx: &Context<'_>, session: &str) -> Result<Value> {
        if self.limit.is_some() || self.live || self.all_worktrees {
            return Err(Error::usage(
                "'session' shows one: 'limit', 'live' and 'all_worktrees' choose what is listed",
            ));
        }
        let mut shown = session::show(ctx, Some(session))?;
        // It comes from the agent's own file, where nothing was taken out; this reader is not the one it was said to.
        if let Some(title) = &mut shown.session.talk.title {
            *title = ctx.redactor().text(title).text;
        }
        Ok(wire::value(&shown))
    }
}
