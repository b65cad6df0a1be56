//! Arguments that several commands have, each with its one help text.

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueHint};

use super::call::Call;
use super::complete;
use crate::error::Result;
use crate::ops::{Context, request};

pub use crate::text::duration;

/// A plan instead of the change.
#[derive(Debug, Clone, Copy, Args)]
pub struct DryRun {
    /// List what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl From<DryRun> for request::DryRun {
    fn from(flag: DryRun) -> Self {
        flag.dry_run.into()
    }
}

/// How far an address looks.
#[derive(Debug, Clone, Copy, Args)]
pub struct AllWorktrees {
    /// Let 'latest' and times mean snapshots of other worktrees and repositories, too, and those taken in the past
    #[arg(long)]
    all_worktrees: bool,
}

impl AllWorktrees {
    /// Opens the repository for addresses that look so far.
    ///
    /// # Errors
    /// As [`Call::open`].
    pub fn open<'a>(self, call: &Call<'a>) -> Result<Context<'a>> {
        let context = call.open()?;
        self.widen(&context);
        Ok(context)
    }

    /// Lets addresses look so far.
    pub fn widen(self, context: &Context<'_>) {
        context.widen_addresses(self.all_worktrees);
    }
}

/// Work in a place that is too large to be meant.
#[derive(Debug, Clone, Copy, Args)]
pub struct Force {
    /// Go on where the working tree is '/', your home directory or above it
    #[arg(long)]
    force: bool,
}

impl From<Force> for bool {
    fn from(flag: Force) -> Self {
        flag.force
    }
}

/// What is in each scratch before its run begins, beside the files of its snapshot.
#[derive(Debug, Args)]
pub struct Scratch {
    /// Put the present's version of this path into each scratch; it is not part of what a run leaves
    #[arg(long, value_name = "PATH", add = complete::paths_on_disk())]
    pub with: Vec<OsString>,

    /// Run this shell command in each scratch first
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub setup: Option<String>,
}

/// How many runs of a try or a replay go on at a time, and how long.
#[derive(Debug, Clone, Copy, Args)]
pub struct Limits {
    /// Make J runs at a time
    #[arg(short, long, value_name = "J", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub jobs: u64,

    /// End a command that takes longer: '90s', '30m' or '2h'
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    pub timeout: Duration,
}

/// What each run of a try or a replay starts: an agent, or a command.
#[derive(Debug, Args)]
pub struct Program {
    /// Run this agent without a terminal: claude, codex, gemini, qwen, kimi, kimi-code, pi, opencode
    #[arg(long, value_name = "NAME", conflicts_with = "command", add = complete::agents_without_terminal(), value_parser = named())]
    pub agent: Option<String>,

    /// Give the agent these words, too; to be repeated
    #[arg(
        long,
        value_name = "WORD",
        requires = "agent",
        allow_hyphen_values = true
    )]
    pub agent_args: Vec<String>,

    /// The command
    #[arg(value_name = "CMD", last = true, value_hint = ValueHint::AnyPath)]
    pub command: Vec<OsString>,
}

/// The issue of a command, by its id or a part of it.
#[derive(Debug, Args)]
pub struct Issue {
    /// Which issue; default: the one that is being worked on here
    #[arg(value_name = "ISSUE", add = complete::issues())]
    id: Option<String>,
}

impl Issue {
    /// As it was given, or the one under way.
    ///
    /// # Errors
    /// `USAGE` when none was given, and none is.
    pub fn id(&self, context: &Context<'_>) -> Result<String> {
        match &self.id {
            Some(id) => Ok(id.clone()),
            None => crate::ops::issues::under_way(context),
        }
    }
}

/// The session of an agent, as an argument.
#[derive(Debug, Args)]
pub struct Session {
    /// The session's id or its first characters, four or more; default: the caller's
    #[arg(value_name = "SESSION", add = complete::sessions())]
    session: Option<String>,
}

/// A name that says something: an empty one is an unset variable of a script's, which names nothing.
pub fn named() -> NonEmptyStringValueParser {
    NonEmptyStringValueParser::new()
}

impl Session {
    /// Its id; None means the caller's.
    pub fn id(&self) -> Option<&str> {
        self.session.as_deref()
    }
}
