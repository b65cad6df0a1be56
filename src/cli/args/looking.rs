//! The words of commands that only look.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use std::ffi::OsString;

use clap::builder::ValueHint;
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;

use crate::cli::complete;

/// List snapshots, newest first
///
/// Without options: the snapshots of this worktree that were taken in the present, all of them. Each line has the id,
/// its age and its title; the part of the id that is enough to name it stands out on a terminal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # The last ten
  tw list -n 10

  # What travel, restore and return have saved
  tw list --kind backup
  tw list --all

  # Ids only, for a script
  tw -q list -n 1")]
pub struct List {
    /// Show at most N
    #[arg(short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Show every kind, of every worktree
    ///
    /// The same as --kind for each kind together with --all-worktrees.
    #[arg(long)]
    pub all: bool,

    /// Show only this kind
    #[arg(
        long,
        value_name = "KIND",
        conflicts_with = "all",
        default_value = "snapshot",
        hide_default_value = true
    )]
    pub kind: ListKind,

    /// Show those of other worktrees too, and those taken in the past
    #[arg(long)]
    pub all_worktrees: bool,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ListKind {
    /// What 'tw snapshot' took (the default)
    #[default]
    Snapshot,
    /// The present as travel, restore and undo saved it before they changed it
    Backup,
    /// The past as return found it
    Experiment,
}

/// Show what is recorded of a snapshot
///
/// Prints when, where and why it was taken, HEAD and the operation under way at that time, how much was captured, and
/// everything that was not captured, with the reason. With --json the whole record, every list complete. Backups and
/// experiments can be shown too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # The newest one
  tw show latest

  # By a part of its id
  tw show ab12cd

  # A file as it was, by plain git
  git show \"$(tw show latest --json | jq -r .snapshot.commit)\":README.md")]
pub struct Show {
    /// Show this snapshot
    #[arg(value_name = "SNAPSHOT", add = ArgValueCompleter::new(complete::addresses))]
    pub address: String,
}

/// Compare two snapshots, or a snapshot with the present
///
/// Without addresses: the latest snapshot against the present. With one: that one against the present. 'present' is the
/// working tree as it is, untracked files included. Prints counts for each path (--stat) unless told otherwise. Name
/// paths after '--' to see only these and what lies beneath them.
#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "flags of a command line, not states"
)]
#[command(after_help = "\
Examples:
  # What changed since the latest snapshot?
  tw diff

  # The same as a patch, for one directory
  tw diff -p -- src

  # Between two snapshots
  tw diff latest~3 latest

  # What did the present look like before I travelled?
  tw diff before-refactor present --name-status")]
pub struct Diff {
    /// Compare from this snapshot (default: latest)
    #[arg(value_name = "A", add = ArgValueCompleter::new(complete::addresses))]
    pub from: Option<String>,

    /// Compare to this snapshot (default: present)
    #[arg(value_name = "B", add = ArgValueCompleter::new(complete::addresses))]
    pub to: Option<String>,

    /// Look only at these paths
    #[arg(value_name = "PATH", last = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<OsString>,

    /// Print the number of lines added and removed for each path (the default)
    #[arg(long, group = "form")]
    pub stat: bool,

    /// Print a patch that 'git apply' takes
    ///
    /// With --json the patch of each path stands beside its counts.
    #[arg(short, long, group = "form")]
    pub patch: bool,

    /// Print the names of changed paths only
    #[arg(long, group = "form")]
    pub name_only: bool,

    /// Print the names of changed paths with A, M, D or T for added, modified, deleted or type changed
    #[arg(long, group = "form")]
    pub name_status: bool,
}

/// Print the completion script of a shell
///
/// The script asks the installed tw for every completion, so that commands, flags and snapshot ids are always up to
/// date. It needs tw in PATH.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # bash, for you alone
  tw completions bash > ~/.local/share/bash-completion/completions/tw

  # zsh, in a directory of your fpath
  tw completions zsh > ~/.zfunc/_tw

  # fish
  tw completions fish > ~/.config/fish/completions/tw.fish

  # elvish
  tw completions elvish >> ~/.config/elvish/rc.elv

  # PowerShell
  tw completions powershell >> $PROFILE")]
pub struct Completions {
    /// Print the script of this shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// The shells with completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
    /// Elvish
    Elvish,
    /// PowerShell
    Powershell,
}
