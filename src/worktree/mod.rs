//! The working tree: what is there, what of it is captured, what changed, and how it is put into another state.

pub mod apply;
pub mod attributes;
pub mod cache;
pub mod capture;
pub mod globs;
pub mod ignore;
pub mod manifest;
pub mod pattern;
pub mod plan;
pub mod rules;
pub mod scan;

#[cfg(test)]
mod oracle;
pub mod watch;
