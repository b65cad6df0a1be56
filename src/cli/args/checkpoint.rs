//! The words of checkpoint and rewind.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use clap::{Args, Subcommand, ValueEnum};

/// Mark this point of the session's conversation
///
/// A checkpoint ties a numbered point of an agent's conversation to a snapshot of the working tree; 'tw rewind' goes back
/// to it. Agents that were set up with 'tw init --agent' make one at each prompt, before they act; with
/// 'git config timewarp.checkpoints steps' (before 'tw init --agent', so that the agent tells of its tools) also after each tool
/// that wrote, with 'false' none. TW_DISABLE_CHECKPOINTS=1
/// turns those off for one process. Numbers count up from 0 in each session and are never given twice. When nothing has
/// changed since the newest snapshot, no new one is taken. Where no session was started, this starts one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Before trying something
  tw checkpoint -m 'tests pass'

  # What was asked so far, and the numbers to go back to
  tw checkpoint list

  # The snapshot of a checkpoint can be named wherever a snapshot is asked for
  tw diff checkpoint:3")]
pub struct Checkpoint {
    /// What else to do
    #[command(subcommand)]
    pub verb: Option<CheckpointVerb>,

    /// Say what it is about
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,

    /// Say what makes it: prompt, step or manual; default: manual
    #[arg(long, value_name = "KIND", hide_possible_values = true)]
    pub kind: Option<KindWord>,

    /// Mean this session: its id or its first characters; default: the caller's
    #[arg(long, value_name = "ID", global = true)]
    pub session: Option<String>,
}

/// What makes a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindWord {
    /// A prompt is about to be answered
    Prompt,
    /// A tool has written
    Step,
    /// Somebody asks for it
    Manual,
}

/// What else can be done with checkpoints.
#[derive(Debug, Subcommand)]
#[allow(
    missing_docs,
    reason = "the comment of the arguments is the command's help; one here would replace it"
)]
pub enum CheckpointVerb {
    List(CheckpointList),
    Show(CheckpointShow),
}

/// List the checkpoints of a session
///
/// Shows them in the order of their numbers, with what was asked at each, its snapshot, and the size of the model's
/// context just before it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # The last ten
  tw checkpoint list -n 10

  # Those of another session
  tw checkpoint list --session 5f0c")]
pub struct CheckpointList {
    /// Show only the newest N
    #[arg(short = 'n', value_name = "N")]
    pub limit: Option<usize>,
}

/// Show a checkpoint
///
/// Says what was asked, which snapshot it has, where it stands in the conversation, and whether files and conversation
/// can still be gone back to.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # The checkpoint with number 3
  tw checkpoint show 3

  # One of another session
  tw checkpoint show 5f0c:3")]
pub struct CheckpointShow {
    /// The checkpoint's number, 'checkpoint:N' or 'SESSION:N'
    #[arg(value_name = "CHECKPOINT")]
    pub checkpoint: String,
}
