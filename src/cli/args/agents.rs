//! The words of commands that have to do with agents: session, hook, mcp.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use std::ffi::OsString;

use clap::{Args, Subcommand};

/// Start, list, show and end the sessions of agents
///
/// A session is one run of an agent. Its start takes a snapshot, which 'session' names wherever a snapshot is asked for,
/// and then forgets old snapshots as 'tw prune' would. Agents that were set up with 'tw init --agent' do this by
/// themselves. A session is live until it ends or nothing was heard of it for 24 hours; the snapshots of live
/// sessions are kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # In a script that runs an agent
  id=$(tw -q session start --agent generic --hint 'nightly refactor')
  tw session end \"$id\"

  # What has changed since this session began?
  tw diff session

  # Who is at work here?
  tw session list --live")]
pub struct Session {
    /// What to do
    #[command(subcommand)]
    pub verb: SessionVerb,
}

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
#[allow(
    missing_docs,
    reason = "the comment of the arguments is the command's help; one here would replace it"
)]
pub enum SessionVerb {
    /// Record a session and take its snapshot
    ///
    /// Under an id that is known already (a resumed session) it takes a new snapshot and makes it the session's. In the
    /// past, for a sub-agent and after a compaction the session is recorded and nothing else happens.
    Start(SessionStart),
    /// List sessions, last active first
    ///
    /// Those of this worktree, unless --all-worktrees asks for more. A record that cannot be read is named and hides no other.
    List(SessionList),
    /// Show what is recorded of a session
    ///
    /// Its agent, times, snapshots, transcript, title, prompts, tokens, checkpoints, rewinds, the issues reported in it, the files that changed in it (by anybody: from its first snapshot to its last, or up to now while it is live), its sub-agents, and the agent's own command that resumes it.
    #[command(after_help = "\
Examples:
  # The session that calls, or the last one started here
  tw session show

  # One by the beginning of its id
  tw session show 3f2c")]
    Show(SessionName),
    Resume(SessionResume),
    /// End a session, and its sub-agents' with it
    ///
    /// It no longer counts as live, so that its snapshots are kept as long as others and no longer. Started again under the
    /// same id, it goes on.
    #[command(after_help = "\
Examples:
  # At the end of a script that runs an agent
  tw session end \"$id\"")]
    End(SessionName),
}

/// What a session's start says.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Before an agent of your own begins
  tw session start --agent generic --hint 'nightly refactor'

  # A sub-agent's, linked to its root
  tw session start --session helper-1 --parent \"$id\"")]
pub struct SessionStart {
    /// Name the agent: claude, codex, gemini, kimi, kimi-code, pi, opencode, cursor, copilot, generic
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// Use this id; default: the agent's own from the environment, else a new one
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Link it to the session ID as a sub-agent's
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,

    /// Name the conversation's file
    #[arg(long, value_name = "FILE")]
    pub transcript: Option<String>,

    /// Say what it is about
    #[arg(long, value_name = "TEXT")]
    pub hint: Option<String>,

    /// Say how it starts: startup, resume, clear, compact, fork
    #[arg(long, value_name = "WORD")]
    pub source: Option<String>,

    /// Go on where the working tree is '/', your home directory or above it
    #[arg(long)]
    pub force: bool,
}

/// Which sessions to list.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Who is at work here?
  tw session list --live

  # In every worktree, for a program
  tw session list --all-worktrees --json")]
pub struct SessionList {
    /// Show at most N
    #[arg(short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Show only live ones
    #[arg(long)]
    pub live: bool,

    /// Show those of other worktrees too
    #[arg(long)]
    pub all_worktrees: bool,
}

/// Print the agent's command that resumes a session
///
/// The command has to be run where the session was, so tw names that directory, too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Go on where the last session stopped
  tw session resume --exec

  # Only say how
  tw session resume 5f0c")]
pub struct SessionResume {
    /// The session's id or its first characters, four or more; default: the caller's
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,

    /// Run the command
    #[arg(long)]
    pub exec: bool,
}

/// One session.
#[derive(Debug, Args)]
pub struct SessionName {
    /// The session's id or its first characters, four or more; default: the caller's
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

/// Take in an event of an agent
///
/// Agents call this; 'tw init --agent' sets it up. Reads the event's payload from standard input as JSON, and prints
/// nothing, but for the note that a rewind left for the session that starts (see tw-rewind). Never fails the agent: the exit code is 0 whatever happens, and what went wrong stands in
/// timewarp/log.jsonl in the git directory. EVENT is the agent's own name of it or ours: session-start and session-end
/// start and end a session, user-prompt-submit makes a checkpoint (see tw-checkpoint), post-tool-use does when
/// timewarp.checkpoints is 'steps', others only note that it is live. Outside of a repository nothing happens.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # By hand, as a harness would
  echo '{\"session_id\": \"abcd\"}' | tw hook generic session-start")]
pub struct Hook {
    /// The agent: claude, codex, gemini, kimi, kimi-code, pi, opencode, cursor, copilot, generic
    #[arg(value_name = "AGENT")]
    pub agent: String,

    /// The event; default: what the payload says
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,

    /// More words of the agent's; the last one may be the payload
    #[arg(
        value_name = "PAYLOAD",
        hide = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub rest: Vec<OsString>,
}

/// Serve an agent over the Model Context Protocol
///
/// Agents start this; 'tw init --agent' sets it up. Speaks the protocol on standard input and output until the agent closes
/// its end. The tools are those of an agent that may be misled: nothing in them runs a command, forgets a record, or leads out
/// of the workspace. A travel gives a guard token, without which another agent cannot return by accident. Issues and their
/// conversations are resources, and the way of an issue is a prompt.
#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Let Claude Code use it in this project
  tw init --agent claude

  # The same by hand
  claude mcp add tw -- tw mcp")]
pub struct Mcp {
    /// Do the one call that stands on standard input: how the server does each
    #[arg(long, hide = true)]
    pub call: bool,
}
