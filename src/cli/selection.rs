//! Which of many snapshots or entries: the arguments that `list` and `log` have alike.

use std::ffi::OsString;

use super::{complete, flags};
use crate::error::Result;
use crate::ops::Context;
use crate::ops::pathspec::Pathspec;
use crate::ops::timeline::{Filter, time, time_since};

/// The arguments of a filter.
#[derive(Debug, clap::Args)]
pub struct Selection {
    /// Show at most N
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,

    /// Show only what has a match of REGEX in its text or labels
    ///
    /// Upper and lower case are told apart only when REGEX has a capital letter.
    #[arg(long, value_name = "REGEX")]
    pub grep: Option<String>,

    /// Show nothing from before TIME; a day begins in the morning
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,

    /// Show nothing from after TIME; a day ends at night
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,

    /// Show only what has this label; * stands for any text
    #[arg(long, value_name = "NAME", add = complete::labels())]
    pub label: Option<String>,

    /// Show only this session's: its id or its first characters, four or more
    #[arg(long, value_name = "SESSION", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// Show only this agent's
    #[arg(long, value_name = "AGENT", add = complete::agents_seen(), value_parser = flags::named())]
    pub agent: Option<String>,

    /// Show only what changed something in PATH, a pathspec as in git
    #[arg(value_name = "PATH", add = complete::paths_of_all_times())]
    pub paths: Vec<OsString>,
}

impl Selection {
    /// What is asked for.
    ///
    /// # Errors
    /// `USAGE` for a time or path that is none.
    pub fn filter(&self, ctx: &Context<'_>) -> Result<Filter> {
        let since = self.since.as_deref().map(|word| time_since(ctx, word));
        let until = self.until.as_deref().map(|word| time(ctx, word));
        Ok(Filter {
            limit: self.limit,
            grep: self.grep.clone(),
            since: since.transpose()?,
            until: until.transpose()?,
            label: self.label.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            kinds: Vec::new(),
            paths: Pathspec::parse(ctx, &self.paths)?,
            all_worktrees: false,
        })
    }
}
