//! Time travel for working trees that people and coding agents share.
//!
//! # Words
//!
//! A **snapshot** is everything in a working tree (edits, staged state, untracked files) as one commit on a hidden ref.
//! To **travel** puts the working tree into a snapshot's state; it is then in the **past**, and **return** brings the
//! **present** back exactly. What a swap replaces is kept as a **backup**; what return leaves behind as an **experiment**. An
//! **issue** is a report of friction tied to a snapshot, a **checkpoint** a point of an agent's conversation tied to one, and
//! to **rewind** goes back to it.
//!
//! # Layers
//!
//! Arrows point down only; a test holds it:
//!
//! ```text
//! main -> cli, mcp -> wire -> ops -> store, worktree, agents -> git
//! error, env, interrupt, json, progress, redact, text, work: used by all, use no layer
//! ```
//!
//! [`git`] is the one face of git2 and of git's files; [`worktree`] scans, captures, plans and applies; [`store`] keeps refs,
//! records and state; [`ops`] are the commands without a face, whose answers describe themselves with [`json`]; [`wire`] makes JSON
//! documents of them; [`cli`] is the binary, and `mcp` what agents see of it.
//!
//! # Refs
//!
//! ```text
//! refs/…/snapshots/<id>, backups/<id>, experiments/<id>   one commit each: tree = the captured files, raw bytes;
//!                                                         parents = HEAD's commit, then the index commit
//! refs/…/records/labels/<name>                            the snapshot that a label names
//! ```
//!
//! The index commit's tree is the index; its parents are HEAD's commit and, when needed, a state commit with what a tree cannot
//! say: conflict stages, long lists, the files of a merge or rebase under way. See `store::names` for the exact names.

// Tests write their fixtures as they please; the rules against it guard what runs for users.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

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
pub mod store;
pub mod text;
pub mod wire;
pub mod work;
pub mod worktree;
