//! The words of rewind.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use clap::{ArgGroup, Args};

/// Go back to a checkpoint: files, conversation, or both
///
/// The files go back as 'tw restore' puts them back: all that any tool, command or person changed since, saved in a backup
/// first. The conversation goes back by a fork: a new session file beside the agent's own, which ends just before the
/// checkpoint's prompt; tw prints the agent's command that resumes it. The file of the session that is rewound is never
/// touched. On a terminal without a mode, tw shows what each would do and asks; elsewhere a mode is needed.
///
/// --note tells the future self what the discarded part has taught. The agent gets it when the fork starts, by its
/// session-start hook where that is set up; else it is printed, to be pasted as the first prompt. 'tw rewind --undo' takes
/// the last rewind back.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("mode").args(["code", "conversation", "both", "never_mind"]),
    after_help = "\
Examples:
  # What would going back to checkpoint 3 do?
  tw rewind 3 --both --dry-run

  # Go back, and pass on what was learned
  tw rewind 3 --both --note 'the cache is not the problem; look at the parser'

  # Only the files
  tw rewind 3 --code

  # Think again
  tw rewind --undo"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a command line, not states"
)]
pub struct Rewind {
    /// The checkpoint's number, 'checkpoint:N' or 'SESSION:N'
    #[arg(value_name = "CHECKPOINT", required_unless_present = "undo")]
    pub checkpoint: Option<String>,

    /// Put the files back
    #[arg(long)]
    pub code: bool,

    /// Fork the conversation
    #[arg(long)]
    pub conversation: bool,

    /// Do both
    #[arg(long)]
    pub both: bool,

    /// Do nothing
    #[arg(long)]
    pub never_mind: bool,

    /// Tell the future self this
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// Say why, for the record
    #[arg(long, value_name = "TEXT")]
    pub rationale: Option<String>,

    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,

    /// Mean this session: its id or its first characters; default: the caller's
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Then run the agent's command that resumes the fork
    #[arg(long, conflicts_with_all = ["dry_run", "code", "never_mind"])]
    pub exec: bool,

    /// Take the last rewind back: the files, and the way back to the session
    #[arg(long, conflicts_with_all = ["checkpoint", "mode", "note", "rationale", "dry_run", "exec"])]
    pub undo: bool,
}
