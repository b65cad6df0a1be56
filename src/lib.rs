//! Time travel for working trees.

// Tests write their fixtures as they please; the rules against it guard what runs for users.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod env;
pub mod error;
pub mod git;
pub mod interrupt;
pub mod ops;
pub mod progress;
pub mod store;
pub mod worktree;
