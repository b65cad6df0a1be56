//! Qwen Code: what its settings need, where its sessions are, how its tree of records reads, how a session is resumed.

mod fork;
mod place;
mod read;
mod setup;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::Draft;
use super::fork::shape::Shape;
use super::hook::EventKind;
use super::install::{SetupOf, all_hooks_off};
use super::places::{Candidate, Places, SubAgent};
use super::transcript::{Cut, Detail, Transcript};
use super::used::{Traces, UserDirectory};
use super::value::text;
use super::version::Tried;
use super::{Agent, words};
use crate::error::Result;

/// The variable that names its directory instead of `~/.qwen`.
const HOME: &str = "QWEN_HOME";

/// The agent's name in the table.
pub const NAME: &str = "qwen";

/// Qwen Code.
pub struct Qwen;

impl Agent for Qwen {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Qwen Code"
    }

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "0.24.4",
            package: "@qwen-code/qwen-code",
            recorded: &["version"],
        })
    }

    fn continues_turn(&self, payload: &Value) -> bool {
        // It tells of a tool's results as it tells of a prompt, without text.
        text(payload, "prompt").is_some_and(str::is_empty)
            && payload.get("submitted_prompt").is_none()
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["QWEN_CODE_SESSION_ID"]
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["qwen", "-p", task]))
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["qwen"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["qwen", "--resume", session_id]))
    }

    fn limit_of_project_settings(&self) -> Option<&'static str> {
        Some(
            "Qwen Code reads a project's settings only when it is started in the project's root: for directories below it 'tw init --agent qwen --user' sets it up instead",
        )
    }

    fn event_that_tells(&self) -> Option<(EventKind, &'static str)> {
        // What SessionStart says is gone with the process; this stays in the session.
        Some((EventKind::UserPromptSubmit, "UserPromptSubmit"))
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
            let linked = record.get("sessionId").is_some() && record.get("uuid").is_some();
            let parts = record.pointer("/message/parts");
            linked && (parts.is_some() || record.get("systemPayload").is_some())
        })
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }

    fn setup(&self) -> Option<SetupOf> {
        Some(setup::setup)
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".qwen"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["qwen"],
            user: vec![UserDirectory::moved_by(HOME, ".qwen")],
            project: &[".qwen"],
        }
    }

    fn deciding_files(&self, paths: &super::install::InstallPaths<'_>) -> Vec<PathBuf> {
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
