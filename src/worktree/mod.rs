//! The working tree: what is there, what changed, and how it is put into another state.

pub mod cache;
pub mod manifest;
pub mod scan;
