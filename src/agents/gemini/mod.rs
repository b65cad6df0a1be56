//! gemini-cli: where its chats are, how both their formats read, how a session is resumed.

mod fork;
mod fork_document;
pub mod place;
pub mod read;
pub mod record;
mod setup;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::shape::Shape;
use super::fork::{Draft, ForkPlan, Validation};
use super::hook::EventKind;
use super::install::SetupOf;
use super::places::{Candidate, Places, SubAgent};
use super::transcript::{Cut, Detail, Transcript};
use super::used::{Traces, UserDirectory};
use super::version::Tried;
use super::{Agent, words};
use crate::env::Moment;
use crate::error::Result;

/// The variable that names another home directory for it.
const HOME: &str = "GEMINI_CLI_HOME";

/// The agent's name in the table.
pub const NAME: &str = "gemini";

/// gemini-cli.
pub struct Gemini;

impl Agent for Gemini {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "0.61.0",
            package: "@google/gemini-cli",
            recorded: &[],
        })
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["GEMINI_SESSION_ID"]
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["gemini", "-p", task]))
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["gemini"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["gemini", "--resume", session_id]))
    }

    fn limit_of_project_settings(&self) -> Option<&'static str> {
        Some(
            "Gemini CLI reads a project's settings only when it is started in the project's root: for directories below it 'tw init --agent gemini --user' sets it up instead",
        )
    }

    fn event_that_tells(&self) -> Option<(EventKind, &'static str)> {
        // What SessionStart says is lost in its terminal program, where the resumed history takes its place.
        Some((EventKind::UserPromptSubmit, "BeforeAgent"))
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

    fn main_file(&self, named: &Path) -> Option<PathBuf> {
        place::main_file(named)
    }

    fn recognises(&self, path: &Path, head: &[Value]) -> bool {
        let names = |record: &Value| {
            record.get("sessionId").is_some() && record.get("projectHash").is_some()
        };
        head.iter().any(names) || (head.is_empty() && read::is_document(path))
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }

    fn setup(&self) -> Option<SetupOf> {
        Some(setup::setup)
    }

    fn deciding_files(&self, paths: &super::install::InstallPaths<'_>) -> Vec<PathBuf> {
        setup::deciding_files(paths)
    }

    fn silenced(&self, text: &str) -> Option<&'static str> {
        setup::silenced(text)
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".gemini"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["gemini"],
            user: vec![UserDirectory {
                variable: HOME,
                base: "",
                name: ".gemini",
            }],
            project: &[".gemini"],
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

    fn check_document(&self, original: &Path, fork: &Path) -> Option<Result<Validation>> {
        read::is_document(fork).then(|| fork_document::validate(original, fork))
    }

    fn has_same_history(&self, original: &Path, cut: &Cut, fork: &Path) -> Result<bool> {
        fork::is_same_history(original, cut, fork)
    }
}

#[cfg(test)]
mod tests;
