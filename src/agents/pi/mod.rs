//! pi: where its sessions are, how its tree of entries reads, how a session is resumed.

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
pub const NAME: &str = "pi";

/// The pi coding agent.
pub struct Pi;

impl Agent for Pi {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "pi"
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["pi"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["pi", "--session", session_id]))
    }

    fn find(&self, cwd: &Path, places: &Places) -> Vec<Candidate> {
        place::find(cwd, places)
    }

    fn locate(&self, session_id: &str, _cwd: Option<&Path>, places: &Places) -> Option<PathBuf> {
        place::locate(session_id, places)
    }

    fn recognises(&self, _path: &Path, head: &[Value]) -> bool {
        head.iter().any(|record| {
            text(record, "type") == Some("session")
                && text(record, "id").is_some()
                && record.get("cwd").is_some()
        })
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }
}

#[cfg(test)]
mod tests;
