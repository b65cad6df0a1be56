//! kimi-cli: where its sessions are, how its context and wire files read, how a session is resumed.

pub mod context;
pub mod log;
pub mod place;
pub mod read;
pub mod record;
pub mod wire;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::places::{Candidate, Places};
use super::transcript::{Detail, Transcript};
use super::value::text;
use super::{Agent, words};
use crate::error::Result;

/// The agent's name in the table.
pub const NAME: &str = "kimi";

/// kimi-cli.
pub struct Kimi;

impl Agent for Kimi {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "kimi-cli"
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["kimi"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["kimi", "-r", session_id]))
    }

    fn find(&self, cwd: &Path, places: &Places) -> Vec<Candidate> {
        place::find(cwd, places)
    }

    fn locate(&self, session_id: &str, _cwd: Option<&Path>, places: &Places) -> Option<PathBuf> {
        place::locate(session_id, places)
    }

    fn recognises(&self, _path: &Path, head: &[Value]) -> bool {
        head.iter().any(|record| {
            let context = record.get("type").is_none()
                && matches!(
                    text(record, "role"),
                    Some(
                        "_system_prompt" | "_checkpoint" | "_usage" | "user" | "assistant" | "tool"
                    )
                );
            let wire = record.get("timestamp").is_some_and(Value::is_number)
                && record
                    .get("message")
                    .is_some_and(|message| text(message, "type").is_some());
            context || wire
        })
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }
}

#[cfg(test)]
mod tests;
