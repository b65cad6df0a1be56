//! What an issue is taken from, as flags of `tw issue report` and `edit`: a snapshot, a conversation, a document.

use std::path::PathBuf;

use clap::ValueHint;

use crate::agents::transcript::Selection;
use crate::cli::{complete, flags};

/// Where an issue's snapshot, conversation and texts come from.
#[derive(Debug, clap::Args)]
pub struct Sources {
    /// Tie it to this snapshot
    #[arg(long, value_name = "SNAPSHOT", add = complete::destinations())]
    pub snapshot: Option<String>,

    /// Take the conversation from this session file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub transcript: Option<PathBuf>,

    /// The agent's session: its id or its first characters, four or more
    #[arg(long, value_name = "SESSION", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// Keep only the last N turns of the conversation
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,

    /// Keep this many messages before and after the last one
    #[arg(long, value_name = "BEFORE,AFTER", conflicts_with = "last", value_parser = window)]
    pub window: Option<(usize, usize)>,

    /// Read the texts from a JSON document; '-' is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from_json: Option<PathBuf>,
}

impl Sources {
    /// Which part of the conversation is kept.
    pub fn selection(&self) -> Selection {
        match (self.last, self.window) {
            (Some(turns), _) => Selection::LastTurns(turns),
            (None, Some((before, after))) => Selection::Window {
                before,
                after,
                anchor: None,
            },
            (None, None) => Selection::Whole,
        }
    }
}

fn window(text: &str) -> std::result::Result<(usize, usize), String> {
    let pair = text.split_once(',');
    let pair = pair.and_then(|(before, after)| Some((before.parse().ok()?, after.parse().ok()?)));
    pair.ok_or_else(|| "must be two non-negative integers, such as 20,0".to_owned())
}
