//! pi: what its settings need, where its sessions are, how its tree of entries reads, how a session is resumed.

mod fork;
pub mod place;
pub mod read;
mod setup;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::shape::Shape;
use super::fork::{Draft, ForkPlan};
use super::hook::EventKind;
use super::install::SetupOf;
use super::places::{Candidate, Places};
use super::transcript::{Cut, Detail, Transcript};
use super::used::{Traces, UserDirectory};
use super::value::text;
use super::version::Tried;
use super::{Agent, words};
use crate::env::Moment;
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

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "1.6.0",
            package: "@earendil-works/pi-coding-agent",
            recorded: &[],
        })
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["PI_SESSION_ID"]
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["pi", "-p", task]))
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["pi"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["pi", "--session", session_id]))
    }

    fn event_that_tells(&self) -> Option<(EventKind, &'static str)> {
        Some((EventKind::SessionStart, "SessionStart"))
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

    fn setup(&self) -> Option<SetupOf> {
        Some(setup::setup)
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".pi", "agent", "extensions"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["pi"],
            user: vec![UserDirectory::moved_by("PI_CODING_AGENT_DIR", ".pi/agent")],
            project: &[".pi"],
        }
    }

    fn draft_fork(&self, transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
        fork::draft(transcript, cut)
    }

    fn fork_path(&self, plan: &ForkPlan, new_id: &str, now: Moment) -> PathBuf {
        place::new_path(&plan.source, new_id, now)
    }

    fn fork_shape(&self, _file: &Path) -> Option<&'static Shape> {
        Some(&fork::SHAPE)
    }
}

#[cfg(test)]
mod tests;
