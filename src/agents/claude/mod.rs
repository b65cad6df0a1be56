//! Claude Code: where its session files are, how they read, how a session is resumed.

mod fork;
pub mod place;
pub mod read;
pub mod rows;
mod setup;
pub mod timeline;
mod typed;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::Draft;
use super::fork::shape::Shape;
use super::hook::EventKind;
use super::install::{InstallPaths, SetupOf, all_hooks_off};
use super::places::{Candidate, Places, SubAgent};
use super::transcript::{Cut, Detail, Transcript};
use super::used::{Traces, UserDirectory};
use super::value::text;
use super::version::Tried;
use super::{Agent, words};
use crate::error::Result;

/// The agent's name in the table.
pub const NAME: &str = "claude";

/// Claude Code.
pub struct Claude;

impl Agent for Claude {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "2.1.332",
            package: "@anthropic-ai/claude-code",
            recorded: &["version"],
        })
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["CLAUDE_CODE_SESSION_ID"]
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PROJECT_DIR")
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["claude", "-p", task]))
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["claude"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["claude", "--resume", session_id]))
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

    fn sub_agent(&self, file: &Path) -> Option<SubAgent> {
        place::sub_agent(file)
    }

    fn recognises(&self, _path: &Path, head: &[Value]) -> bool {
        head.iter().any(|record| {
            // Others took the envelope over, and put other members into it.
            let own =
                record.pointer("/message/parts").is_none() && record.get("systemPayload").is_none();
            let linked = own && record.get("sessionId").is_some() && record.get("uuid").is_some();
            match text(record, "type") {
                Some("user" | "assistant" | "system" | "progress" | "attachment") => linked,
                Some("file-history-snapshot") => record.get("snapshot").is_some(),
                Some("summary") => record.get("leafUuid").is_some(),
                Some("queue-operation" | "permission-mode") => record.get("sessionId").is_some(),
                _ => false,
            }
        })
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }

    fn setup(&self) -> Option<SetupOf> {
        Some(setup::setup)
    }

    fn limit_of_project_settings(&self) -> Option<&'static str> {
        Some(
            "Claude Code runs a project's hooks only when it is started in the project's root: for directories below it 'tw init --agent claude --user' sets it up instead",
        )
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".claude"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["claude"],
            user: vec![UserDirectory::moved_by("CLAUDE_CONFIG_DIR", ".claude")],
            project: &[".claude"],
        }
    }

    fn deciding_files(&self, paths: &InstallPaths<'_>) -> Vec<PathBuf> {
        setup::deciding_files(paths)
    }

    fn silenced(&self, text: &str) -> Option<&'static str> {
        all_hooks_off(text)
    }

    fn draft_fork(&self, transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
        fork::draft(transcript, cut)
    }

    fn fork_shape(&self, _file: &Path) -> Option<&'static Shape> {
        Some(&fork::SHAPE)
    }
}

#[cfg(test)]
mod tests;
