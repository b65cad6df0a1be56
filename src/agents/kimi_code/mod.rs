//! Kimi Code: where its sessions are, how its journal reads, how a session is resumed.

pub mod place;
pub mod read;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::places::{Candidate, Places};
use super::transcript::{Detail, Transcript};
use super::value::text;
use super::{Agent, words};
use crate::error::Result;

/// The agent's name in the table.
pub const NAME: &str = "kimi-code";

/// Kimi Code.
pub struct KimiCode;

impl Agent for KimiCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Kimi Code"
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["kimi"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["kimi", "--session", session_id]))
    }

    fn find(&self, cwd: &Path, places: &Places) -> Vec<Candidate> {
        place::find(cwd, places)
    }

    fn locate(&self, session_id: &str, _cwd: Option<&Path>, places: &Places) -> Option<PathBuf> {
        place::locate(session_id, places)
    }

    fn recognises(&self, _path: &Path, head: &[Value]) -> bool {
        head.iter().any(|record| match text(record, "type") {
            Some("metadata") => {
                record.get("protocol_version").is_some() && record.get("created_at").is_some()
            }
            Some("turn.prompt" | "context.append_message" | "context.append_loop_event") => true,
            _ => false,
        })
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }
}

#[cfg(test)]
mod tests;
