//! What of ours a settings file holds, in a word.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Piece, SKILL, Target};

/// What a file holds of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Holds {
    /// What tells `tw` of sessions and prompts.
    Hooks,
    /// The MCP server.
    Mcp,
    /// How to use `tw`.
    Skill,
}

impl Target {
    /// What belongs into it, each once.
    pub fn holds(&self) -> Vec<Holds> {
        let mut all = Vec::new();
        for one in self.pieces.iter().filter_map(Piece::holds) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }
}

impl Piece {
    fn holds(&self) -> Option<Holds> {
        match self {
            Self::Server { .. } => Some(Holds::Mcp),
            Self::Block(text) if text.contains("[mcp_servers.") => Some(Holds::Mcp),
            Self::Whole(text) if text == SKILL => Some(Holds::Skill),
            Self::Hook { .. } | Self::Block(_) | Self::Whole(_) | Self::Listed { .. } => {
                Some(Holds::Hooks)
            }
            Self::Version(_) | Self::Former(_) => None,
        }
    }
}
