//! The words of commands that change the working tree.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use std::ffi::OsString;

use clap::Args;
use clap::builder::ValueHint;
use clap_complete::ArgValueCompleter;

use crate::cli::complete;

/// Put the working tree back to a snapshot
///
/// Saves the present as a backup first, then makes every captured path as the snapshot has it: files, staged state, HEAD
/// (detached) and a merge, cherry-pick or revert that was under way. Only paths that differ are touched. Ignored and
/// excluded files stay where they are, so that the past builds and runs. Branches never move.
///
/// Afterwards the working tree is in the past: work, build and commit as you like; 'tw return' brings the present back
/// exactly. From the past, return first. If something that cannot be saved is in the way, tw names it and changes
/// nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Go to the newest snapshot
  tw travel latest

  # See what that would change
  tw travel latest --dry-run

  # Go to what was there two hours ago
  tw travel '2h ago'")]
pub struct Travel {
    /// Go to this snapshot
    #[arg(value_name = "SNAPSHOT", add = ArgValueCompleter::new(complete::addresses))]
    pub address: String,

    /// List what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Change files only: leave HEAD and the index as they are
    #[arg(long)]
    pub files_only: bool,

    /// Go on where the working tree is '/', your home directory or above it
    #[arg(long)]
    pub force: bool,
}

/// Bring the present back exactly
///
/// Saves what was made in the past as an experiment, puts every path, the index, HEAD and the operation under way back
/// as the backup has them, and proves it: the answer is 'verified' when nothing differs. HEAD goes back onto its branch
/// only when the branch has not moved; otherwise it stays detached at the same commit and tw says how to go on. What
/// somebody else changed in the meantime is left as it is and named.
///
/// Nothing made in the past is carried over unless you name it with --keep; all of it stays in the experiment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Come home
  tw return

  # Come home and bring one file along
  tw return --keep notes.md

  # See what the experiment was
  tw list --kind experiment -n 1")]
pub struct Return {
    /// Carry these files over into the present
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub keep: Vec<OsString>,

    /// Keep no copy of large untracked files made in the past
    ///
    /// For when they are more than the experiment may hold (experiment_limit, 2 GiB by default). What is left out is
    /// listed. Everything else still goes into the experiment.
    #[arg(long)]
    pub discard: bool,

    /// Rename what is in the way and cannot be saved
    ///
    /// Such as a nested repository or a pipe where the present has a file. It gets a name ending in .tw-past-.
    #[arg(long)]
    pub move_aside: bool,

    /// List what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Put files of a snapshot into the working tree
///
/// Makes the named paths, or without paths the whole tree, as the snapshot has them: captured files that the snapshot
/// lacks go too. What was there is saved in a backup first, so 'tw undo' takes it back. HEAD, the index and the mode do
/// not change: in the present you stay in the present.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # One file as it was
  tw restore latest src/main.rs

  # A directory as it was yesterday; look first
  tw restore yesterday src --dry-run
  tw restore yesterday src

  # A name that starts with a dash
  tw restore latest -- -odd-name")]
pub struct Restore {
    /// Take the files from this snapshot
    #[arg(value_name = "SNAPSHOT", add = ArgValueCompleter::new(complete::addresses))]
    pub address: String,

    /// Restore only these paths and what lies beneath them
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<OsString>,

    /// List what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Finish or undo an interrupted swap, or take back what was dropped
///
/// A swap (travel, return, restore, undo) that was killed half-way left a journal. Recover saves what is on disk, then
/// goes back to before the swap, or forward when only the end of it is missing. Paths that somebody changed in between
/// are listed, and their later bytes stay in place when you agree (or with -y). Other commands that change something
/// recover by themselves when every path is as one of the two sides has it.
///
/// After a power cut it also puts right what came back empty or torn of a swap that had ended, and clears away snapshots
/// and records whose objects did not reach the disk, naming them. Otherwise it does nothing.
///
/// With --dropped it lists what prune and drop have forgotten and git still has; with ids it takes these back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # After a crash
  tw recover

  # Take back a snapshot that was dropped
  tw recover --dropped
  tw recover --dropped s_20260228_153012_ab12cd")]
pub struct Recover {
    /// Finish the swap
    #[arg(long, conflicts_with = "back")]
    pub forward: bool,

    /// Undo the swap
    #[arg(long)]
    pub back: bool,

    /// List what was dropped, or take these ids back
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["forward", "back"])]
    pub dropped: Option<Vec<String>>,
}
