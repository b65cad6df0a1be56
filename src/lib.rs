//! Time travel for working trees.

pub mod env;
pub mod error;
pub mod git;
pub mod ops;
pub mod progress;
pub mod store;
pub mod worktree;
