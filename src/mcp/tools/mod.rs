//! The table of tools, and what each says of itself: a struct for its arguments, with its title, its description and theirs as
//! comments, and how it is run.
//!
//! A request is given a repository and gives the document that the command prints with `--json`. What every tool shares (the
//! directory, the names of the workspace, hints, the origin of quoted records) is `call`'s.

#![allow(
    clippy::doc_markdown,
    reason = "the comments of requests are descriptions for a model, which shows no backticks"
)]
#![allow(
    clippy::needless_update,
    reason = "a flag that only the command has leaves its tool alone"
)]
#![allow(
    clippy::struct_excessive_bools,
    reason = "arguments of a call, not states"
)]

mod backtrack;
mod bisect;
mod blame;
mod checkpoint;
mod diff;
mod issue;
mod list;
mod prelude;
mod restore;
mod return_;
mod revert;
mod rewind;
mod search;
mod sessions;
mod snapshot;
mod status;
mod travel;
mod try_;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::arguments::{self, Everywhere};
use crate::error::Result;
use crate::ops::Context;
use crate::wire::schema::Document;

/// The arguments of a tool.
pub trait Request: DeserializeOwned + JsonSchema + 'static {
    /// The tool's name.
    const NAME: &str;
    /// The documents it answers with: those of commands.
    const OUTPUTS: &[Document];
    /// The fields of these documents that are not for an agent.
    const WITHHOLDS: &[&str] = &[];
    /// What it does to the world.
    const EFFECT: Effect;
    /// What in its answer was written by others, and is data to judge.
    const QUOTES: Option<&str> = None;

    /// Does what is asked, and gives the document of the command.
    fn run(self, ctx: &Context<'_>) -> Result<Value>;
}

/// What a tool does in a repository.
pub type Action = dyn FnOnce(&Context<'_>) -> Result<Value>;

/// A call of a tool that is yet to be done.
pub struct Pending {
    /// What every tool takes.
    pub everywhere: Everywhere,
    /// What is left to do once the repository is open.
    pub run: Box<Action>,
}

/// A [`Request`] as a row of the table.
pub struct Tool {
    /// How clients call it.
    pub name: &'static str,
    /// The documents it answers with.
    pub outputs: &'static [Document],
    /// The fields of these documents that are not for an agent.
    pub withholds: &'static [&'static str],
    /// What it does to the world.
    pub effect: Effect,
    /// What in its answer was written by others.
    pub quotes: Option<&'static str>,
    /// Its title and description.
    pub described: fn() -> Map<String, Value>,
    /// The schema of its arguments.
    pub schema: fn() -> Map<String, Value>,
    /// Takes the arguments of a call in.
    pub parse: fn(Map<String, Value>) -> Result<Pending>,
}

const fn tool<T: Request>() -> Tool {
    Tool {
        name: T::NAME,
        outputs: T::OUTPUTS,
        withholds: T::WITHHOLDS,
        effect: T::EFFECT,
        quotes: T::QUOTES,
        described: arguments::described::<T>,
        schema: arguments::schema::<T>,
        parse: |given| {
            let (everywhere, request) = arguments::parse::<T>(given)?;
            Ok(Pending {
                everywhere,
                run: Box::new(|ctx| request.run(ctx)),
            })
        },
    }
}

/// What a tool does to the world. None goes beyond this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Looks, and changes nothing.
    ReadOnly,
    /// Looks, and takes in what was edited on the desks of issues: again changes nothing more.
    TakesIn,
    /// Writes what was known already: again changes nothing more.
    Idempotent,
    /// Adds a record each time.
    Adds,
    /// Replaces files of the working tree, having saved them.
    Replaces,
}

impl Effect {
    /// Returns MCP's `readOnlyHint`, `destructiveHint` and `idempotentHint`.
    pub fn hints(self) -> (bool, bool, bool) {
        match self {
            Self::ReadOnly => (true, false, true),
            Self::TakesIn | Self::Idempotent => (false, false, true),
            Self::Adds => (false, false, false),
            Self::Replaces => (false, true, false),
        }
    }
}

/// Every tool, in the order in which clients list them.
pub static TOOLS: [Tool; 20] = [
    tool::<status::Status>(),
    tool::<snapshot::Snapshot>(),
    tool::<list::List>(),
    tool::<diff::Diff>(),
    tool::<search::Search>(),
    tool::<blame::Blame>(),
    tool::<bisect::Bisect>(),
    tool::<travel::Travel>(),
    tool::<return_::Return>(),
    tool::<restore::Restore>(),
    tool::<revert::Revert>(),
    tool::<issue::Report>(),
    tool::<issue::List>(),
    tool::<issue::Get>(),
    tool::<issue::Update>(),
    tool::<try_::Try>(),
    tool::<sessions::Sessions>(),
    tool::<checkpoint::Checkpoint>(),
    tool::<rewind::Rewind>(),
    tool::<backtrack::Backtrack>(),
];

/// A tool by its name.
pub fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// An agent reads what it lists: this many, unless it asks for more.
const FEW: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    /// What must never reach `tw` from an agent that may be misled.
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
        for tool in &TOOLS {
            for (name, _) in (tool.schema)()["properties"].as_object().expect("a map") {
                assert!(!FORBIDDEN.contains(&name.as_str()), "{}: {name}", tool.name);
            }
            for verb in ["prune", "drop", "purge", "close", "config"] {
                assert!(!tool.name.contains(verb), "{}", tool.name);
            }
        }
    }

    #[test]
    fn every_row_is_complete() {
        for tool in &TOOLS {
            let said = (tool.described)();
            let text = |said: &Value| said.as_str().unwrap_or_default().to_owned();
            assert!(!text(&said["title"]).is_empty(), "{}", tool.name);
            assert!(text(&said["description"]).ends_with('.'), "{}", tool.name);
            assert!(!tool.outputs.is_empty(), "{}", tool.name);
            assert_eq!(said["additionalProperties"], false, "{}", tool.name);
            let own = said.get("properties").and_then(Value::as_object);
            for (name, argument) in own.into_iter().flatten() {
                let about = text(&argument["description"]);
                assert!(about.ends_with('.'), "{}: {name}", tool.name);
                assert_ne!(name, "dir", "{}: every tool has it", tool.name);
            }
            let named: Vec<_> = TOOLS
                .iter()
                .filter(|other| other.name == tool.name)
                .collect();
            assert_eq!(named.len(), 1, "{}", tool.name);
        }
    }
}
