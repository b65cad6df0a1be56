//! Answers that need no operation.

use schemars::JsonSchema;
use serde::Serialize;

/// Answer of `completions`: the registration script of one shell.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Script {
    /// The shell's name.
    pub shell: &'static str,
    /// The registration script, as checked in.
    pub script: &'static str,
}

/// Answer of `prompt`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Prompt {
    /// One short line; null: nothing to say.
    pub prompt: Option<String>,
}

/// Answer of `agent-help`.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct AgentHelp {
    /// What an agent should know of `tw`: Markdown, for an agent to read.
    pub help: &'static str,
}
