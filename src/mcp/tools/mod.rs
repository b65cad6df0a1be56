//! The table of tools: a row for each, with its words, its arguments, what it does to the world, and its handler.
//!
//! A handler takes a repository and checked arguments and gives the document that the command prints with `--json`. What
//! every tool shares (the directory, the names of the workspace, hints, the origin of quoted records) is `call`'s.

mod checkpoint;
mod issue;
mod look;
mod session;
mod swap;

use serde_json::Value;

use super::arguments::{Arg, Arguments};
use crate::error::Result;
use crate::ops::{Context, request::DryRun};

/// One tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it.
    pub about: &'static str,
    /// What it takes, beside `dir`.
    pub args: &'static [Arg],
    /// The documents it answers with, by the names of their schemas.
    pub outputs: &'static [&'static str],
    /// The fields of these documents that are not for an agent.
    pub withholds: &'static [&'static str],
    /// What it does to the world.
    pub effect: Effect,
    /// What in its answer was written by others, and is data to judge.
    pub quotes: Option<&'static str>,
    /// Does it.
    pub run: fn(&Context<'_>, &Arguments) -> Result<Value>,
}

/// What a tool does to the world. None goes beyond this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    ReadOnly,
    /// Writes what was known already: again changes nothing more.
    Idempotent,
    /// Adds a record each time.
    Adds,
    /// Replaces files of the working tree, having saved them.
    Replaces,
}

impl Effect {
    /// `readOnlyHint`, `destructiveHint`, `idempotentHint`.
    pub fn hints(self) -> (bool, bool, bool) {
        match self {
            Self::ReadOnly => (true, false, true),
            Self::Idempotent => (false, false, true),
            Self::Adds => (false, false, false),
            Self::Replaces => (false, true, false),
        }
    }
}

/// Every tool, in the order in which clients list them.
pub const TOOLS: [&Tool; 15] = [
    &look::STATUS,
    &swap::SNAPSHOT,
    &look::LIST,
    &look::DIFF,
    &swap::TRAVEL,
    &swap::RETURN,
    &swap::RESTORE,
    &issue::REPORT,
    &issue::LIST,
    &issue::GET,
    &issue::UPDATE,
    &session::SESSIONS,
    &checkpoint::TAKE,
    &checkpoint::REWIND,
    &checkpoint::BACKTRACK,
];

/// A tool by its name.
pub fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().copied().find(|tool| tool.name == name)
}

fn dry_run(args: &Arguments) -> DryRun {
    if args.flag("dry_run") {
        DryRun::Yes
    } else {
        DryRun::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What must never reach `tw` from an agent that may be misled (DESIGN, section 7).
    const FORBIDDEN: [&str; 9] = [
        "force",
        "yes",
        "include",
        "exec",
        "verify",
        "verify_command",
        "allow",
        "transcript",
        "from_json",
    ];

    #[test]
    fn no_tool_takes_what_could_do_harm() {
        for tool in TOOLS {
            for arg in tool.args {
                assert!(
                    !FORBIDDEN.contains(&arg.name),
                    "{}: {}",
                    tool.name,
                    arg.name
                );
            }
            for verb in ["prune", "drop", "purge", "close", "config"] {
                assert!(!tool.name.contains(verb), "{}", tool.name);
            }
        }
    }

    #[test]
    fn every_row_is_complete() {
        for tool in TOOLS {
            assert!(
                !tool.title.is_empty() && tool.about.ends_with('.'),
                "{}",
                tool.name
            );
            assert!(!tool.outputs.is_empty(), "{}", tool.name);
            for arg in tool.args {
                assert!(arg.about.ends_with('.'), "{}: {}", tool.name, arg.name);
                assert_ne!(arg.name, "dir", "{}: every tool has it", tool.name);
            }
            let named: Vec<_> = TOOLS
                .iter()
                .filter(|other| other.name == tool.name)
                .collect();
            assert_eq!(named.len(), 1, "{}", tool.name);
        }
    }
}
