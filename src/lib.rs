//! Time travel for working trees that people and coding agents share.
//!
//! # Words
//!
//! Terms are git's ([gitglossary(7)](https://git-scm.com/docs/gitglossary)). These are our own:
//!
//! - **snapshot**: everything in a working tree (edits, staged state, untracked files) as one commit on a hidden ref.
//! - **present**, **past**: the working tree as it goes on; a snapshot's state that `travel` has put in its place. **return**
//!   brings the present back exactly.
//! - **stay**: the time from a travel to its return. **hop**: a travel from one past to another within a stay. **trip**: a travel
//!   with its return.
//! - **backup**: a snapshot of what a swap replaces. **experiment**: one of what a return leaves behind in the past.
//! - **swap**: putting one recorded state of files, index and HEAD in place of another, whole or not at all.
//! - **undo log**, **redo log**: the finished swaps that can be taken back, each a **level**. **step**: one level that is taken
//!   from either log.
//! - **session**: one run of an agent. **checkpoint**: a point of its conversation tied to a snapshot. **rewind**: going
//!   back to one.
//! - **turn**: what an agent does for one prompt, from the snapshot before it to the one at its end.
//! - **harness**: the program that runs a model and its tools. **context log**: the conversation of a harness that has no session
//!   file of its own.
//! - **scratch**: a snapshot laid out in a directory of its own. **run**: one execution of a command or an agent, mostly in a
//!   scratch. **try**: several runs of one command side by side. **replay**: runs on past issues.
//! - **workspace**: several repositories that travel together; its **head**, where the commands are run, and its **members**.
//! - **watcher**: a process that knows in which directories of a working tree something changed.
//! - **depot**: the repository, beside the user's own, through which records are exchanged with a remote.
//! - **issue**: a report of friction tied to a snapshot. **desk**: its files in `.timewarp/issues/`, a checkout of its record
//!   for editors.
//! - **private repository**: the git directory of a directory without git, outside of it, known by the directory's identity.
//! - **anchor**: the ref that holds the objects whose ids the cache remembers; while it stands they need no look.
//! - **racy**: of a stamp: so fresh that a later change may not show in it; as in git.
//! - **settled**: of a swap: all that it wrote is on disk, also after a power cut.
//! - **seed**: an id taken from git's index instead of hashing the file; *proven* once the bytes were compared.
//!
//! # Use
//!
//! Each command is a function in [`ops`] that takes a [`ops::Context`] (one repository, one thread) and a request, and answers with
//! plain data. `cli::run` is the whole command line.
//!
//! ```no_run
//! use timewarp::env::Env;
//! use timewarp::ops::request::{Return, Take, Travel};
//! use timewarp::ops::{Context, return_, snapshots, travel};
//! use timewarp::progress::Silent;
//! use timewarp::store::trigger::Trigger;
//!
//! # fn main() -> timewarp::error::Result<()> {
//! let env = Env::from_process();
//! let ctx = Context::open(".".as_ref(), &env, &Silent)?;
//! let taken = snapshots::take(&ctx, &Take { trigger: Trigger::Manual, ..Take::default() })?;
//! let address = taken.snapshot.id;
//! travel::travel(&ctx, &Travel { address, ..Travel::default() })?;
//! return_::return_(&ctx, &Return::default())?;
//! # Ok(())
//! # }
//! ```
//!
//! Ctrl-C never ends a swap in its midst once [`interrupt::watch`] was called; what is made has the process's umask.
//!
//! # Layers
//!
//! Arrows point down only; a test holds it:
//!
//! ```text
//! main -> cli, mcp, ui, web -> wire -> ops -> store, worktree, agents, runner -> git
//! error, env, interrupt, json, progress, redact, text, work: used by all, use no layer
//! ```
//!
//! [`git`] is the one face of git2 and of git's files; [`worktree`] scans, captures, plans and applies; [`store`] keeps refs,
//! records and state; [`ops`] are the commands without a face, whose answers describe themselves with [`json`]; [`wire`] makes JSON
//! documents of them; [`cli`] is the binary, `mcp` what agents see of it, and `ui` its full screen.
//!
//! # Refs
//!
//! ```text
//! refs/…/snapshots/<id>, backups/<id>, experiments/<id>   one commit each: tree = the captured files, raw bytes;
//!                                                         parents = HEAD's commit, then the index commit
//! refs/…/records/labels/<name>                            the snapshot that a label names
//! refs/…/records/issues/<id>, chats/<id>, sessions/<id>   records, in notes on the snapshots that they are of
//! refs/notes/…/issues/<id>, chats/<id>, sessions/<id>     the same commits, where plain git shows notes
//! refs/…-shared/v1, …-shared/snapshots-v1                 on a remote: what was shared, and nothing else of ours
//! ```
//!
//! The index commit's tree is the index; its parents are HEAD's commit and, when needed, a state commit with what a tree cannot
//! say: conflict stages, long lists, the files of a merge or rebase under way. See `store::names` for the exact names.

// Tests write their fixtures as they please; the rules against it guard what runs for users.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

pub mod agents;
pub mod cli;
pub mod env;
pub mod error;
pub mod git;
pub mod interrupt;
pub mod json;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod ops;
pub mod progress;
pub mod redact;
pub mod runner;
pub mod store;
pub mod text;
#[cfg(feature = "ui")]
pub mod ui;
#[cfg(feature = "web")]
pub mod web;
pub mod wire;
pub mod work;
pub mod worktree;

// One account of what could not be tried, for the tests here and those of the commands.
#[cfg(test)]
#[allow(
    dead_code,
    reason = "some of it serves the tests of the commands alone"
)]
#[path = "../tests/it/provided.rs"]
mod provided;
