//! The words of commands that take, keep and forget snapshots, and set the repository up.

#![allow(
    clippy::doc_markdown,
    reason = "these comments are help for a terminal, which shows no backticks"
)]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::ValueHint;
use clap_complete::ArgValueCompleter;

use crate::cli::complete;

/// Take a snapshot of everything in the working tree
///
/// Captures every tracked file, every untracked file that no rule leaves out, the index, HEAD and the state of a merge,
/// rebase, cherry-pick, revert or bisect under way, byte for byte, as a commit on a hidden ref. HEAD, index, branches and
/// stash are not touched, and no hook or filter runs.
///
/// Left out is what git ignores. Left out and listed, each with its reason: the default globs (node_modules/, target/,
/// *.log and the like, untracked files only); your own exclude globs; what lies in submodules and nested repositories,
/// but for files there that the index tracks (of a submodule the commit is kept that the index has); directories of git
/// itself, whatever their name; untracked files over max_file_size (100 MiB); pipes, sockets, devices and what cannot be
/// read; index entries of which neither file nor object is there. Symlinks are captured as links and never followed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Before a risky step
  tw snapshot -m 'before the refactor'

  # With a label to find it by
  tw snapshot --label before-refactor

  # Take an ignored file along
  tw snapshot --include .env.local

  # In a script: the id alone
  id=$(tw -q snapshot)")]
pub struct Snapshot {
    /// Use TEXT as the title
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,

    /// Label it NAME
    ///
    /// A labelled snapshot is found by its label and never forgotten by 'tw prune'. The name must be free.
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,

    /// Bring ignored files in that match GLOB
    ///
    /// May be given more than once, and adds to the include setting.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,

    /// Leave files out that match GLOB, tracked ones too
    ///
    /// May be given more than once, and adds to the exclude setting.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// Answer with the newest snapshot when nothing changed since
    ///
    /// Nothing means files, index and HEAD of this worktree. Without this flag, every call makes a new snapshot.
    #[arg(long)]
    pub if_changed: bool,

    /// Go on where the working tree is '/', your home directory or above it
    #[arg(long)]
    pub force: bool,

    /// Record the agent's session ID
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Record the agent's name
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// Record who asked
    #[arg(long, value_name = "WORD", default_value = "manual", hide = true)]
    pub trigger: String,
}

/// Lay a snapshot out in a directory of its own
///
/// Makes a detached linked worktree with the captured files, for experiments side by side; the present is not touched.
/// Without DIR it goes beside the repository, as ../REPOSITORY.tw/ID. A DIR must be new or empty and outside of the
/// working tree. The snapshot is kept until 'tw close DIR'.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Compare two states side by side
  tw open before-refactor
  tw open latest ../try-it
  tw close ../try-it")]
pub struct Open {
    /// Lay out this snapshot
    #[arg(value_name = "SNAPSHOT", add = ArgValueCompleter::new(complete::addresses))]
    pub address: String,

    /// Put it here
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// Remove a directory made by open, keeping what was made in it
///
/// Takes an experiment of the directory first, then removes what 'tw open' made and nothing else. Refuses when it holds
/// something that cannot be captured.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Done with it
  tw close ../try-it")]
pub struct Close {
    /// Remove this directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// Give a snapshot a label, or take one away
///
/// A label names one snapshot of the repository, and holds it: 'tw prune' keeps labelled snapshots. It reads like a
/// component of a ref name and may not look like another kind of address (a keyword, a part of an id, a number, a time,
/// 4 to 40 hex digits).
#[derive(Debug, Args)]
#[command(
    override_usage = "tw label [OPTIONS] <SNAPSHOT> <NAME>\n       tw label [OPTIONS] --remove <NAME>",
    after_help = "\
Examples:
  # Find it again by name
  tw label latest before-refactor
  tw travel before-refactor

  # Take the label away
  tw label --remove before-refactor"
)]
pub struct Label {
    /// Label this snapshot
    #[arg(value_name = "SNAPSHOT", required_unless_present = "remove", add = ArgValueCompleter::new(complete::addresses))]
    pub address: Option<String>,

    /// Use this label
    #[arg(value_name = "NAME", required_unless_present = "remove")]
    pub name: Option<String>,

    /// Take the label NAME away
    #[arg(long, value_name = "NAME", conflicts_with_all = ["address", "name"])]
    pub remove: Option<String>,
}

/// Forget snapshots that nothing needs any more
///
/// Kept are the snapshots of the last 14 days or the newest 200, whichever is more (the keep_days and keep_last
/// settings), and every one that something holds: a label, an undo step, an open directory, the state of any worktree.
/// Backups and experiments are kept for 30 days. What is forgotten can be taken back with 'tw recover --dropped' until
/// git's own gc removes the objects; tw never runs gc.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # What would go?
  tw prune --dry-run

  # Keep only the last week
  tw prune --keep-days 7 --keep-last 0")]
pub struct Prune {
    /// List what would go, and forget nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Keep snapshots of the last N days, in place of the setting
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u32>,

    /// Keep the newest N snapshots, in place of the setting
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,
}

/// Forget these snapshots
///
/// Asks first on a terminal; elsewhere it needs -y. Refused for what a label, an undo step, an open directory or the
/// state of a worktree holds, unless --force. Backups and experiments can be dropped too. 'tw recover --dropped' takes
/// them back while git still has the objects.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # One by a part of its id
  tw drop ab12cd

  # In a script
  tw -y drop s_20260228_153012_ab12cd")]
pub struct Drop {
    /// Forget these
    #[arg(value_name = "SNAPSHOT", required = true, add = ArgValueCompleter::new(complete::addresses))]
    pub addresses: Vec<String>,

    /// Forget them also when something holds them
    #[arg(long)]
    pub force: bool,

    /// List what would go, and forget nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Take files out of every snapshot
///
/// For a secret that slipped in: rewrites every snapshot, backup and experiment that has one of the PATHs, which are
/// literal paths, not patterns. Shows what it would rewrite and asks; without a terminal it needs --yes-purge. Refused
/// while any worktree is in the past. Ends with what it cannot reach (branches, the stash, clones) and the command that
/// makes git really delete the old bytes. This cannot be undone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Where is it?
  tw purge --dry-run config/secrets.yml

  # Take it out
  tw purge config/secrets.yml")]
pub struct Purge {
    /// Take these files out
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<OsString>,

    /// List what would be rewritten, and rewrite nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Rewrite without asking
    #[arg(long)]
    pub yes_purge: bool,
}

/// Set the repository up for tw
///
/// Writes a .timewarp/config.toml with every setting commented out, and puts the rest of .timewarp/ into git's
/// info/exclude. Never required: every command works without it. Files that are right already stay as they are.
///
/// With --agent or --git-hooks it sets up those instead. --agent writes an agent's hooks, its entry for 'tw mcp' and a
/// skill that teaches it tw into the project's files for that agent; --remove takes them out again and leaves every byte
/// that is not tw's. --git-hooks adds a pre-push hook that refuses to publish what is tw's by accident, and a
/// post-checkout hook that takes a snapshot, as marked blocks in the hooks that are there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # What would it write?
  tw init --dry-run

  # Write it, and share the settings with your team
  tw init
  git add .timewarp/config.toml

  # Let two agents snapshot when their sessions start
  tw init --agent claude,codex

  # The same for all your projects, and away again
  tw init --agent claude --user
  tw init --agent claude --user --remove

  # Guard against publishing tw's refs
  tw init --git-hooks")]
#[allow(
    clippy::struct_excessive_bools,
    reason = "flags of a command line, not states"
)]
pub struct Init {
    /// List what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Set these agents up: claude, codex, gemini, kimi, kimi-code, opencode, cursor, copilot
    ///
    /// May be given more than once, or with commas between the names. kimi and kimi-code have settings for the user only.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub agent: Vec<String>,

    /// Write your own settings under HOME instead of the project's
    #[arg(long, requires = "agent")]
    pub user: bool,

    /// Set up git's pre-push and post-checkout hooks
    ///
    /// A hooks directory outside of this repository's git directory (core.hooksPath) is not written: the lines are
    /// printed. --yes writes them all the same.
    #[arg(long)]
    pub git_hooks: bool,

    /// Take out what --agent or --git-hooks put in
    #[arg(long)]
    pub remove: bool,
}
