//! Kimi Code: where its sessions are, how its journal reads, how a session is resumed.

mod fork;
pub mod place;
pub mod read;
mod setup;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::shape::Shape;
use super::fork::{Draft, ForkPlan, ids};
use super::install::{InstallPaths, SetupOf};
use super::kimi;
use super::places::{Candidate, Places};
use super::transcript::{Cut, Detail, Transcript};
use super::used::{Traces, UserDirectory};
use super::value::text;
use super::version::Tried;
use super::{Agent, words};
use crate::env::Moment;
use crate::error::Result;
use crate::git::fs::is_there;

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

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "2.1.0",
            package: "@moonshot-ai/kimi-code",
            recorded: &["app_version"],
        })
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["kimi", "-p", task]))
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

    fn main_file(&self, named: &Path) -> Option<PathBuf> {
        let journal = named.join(place::JOURNAL);
        journal.is_file().then_some(journal)
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

    fn setup(&self) -> Option<SetupOf> {
        Some(setup::setup)
    }

    fn has_only_user_settings(&self) -> bool {
        true
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".kimi-code"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["kimi"],
            user: vec![UserDirectory::moved_by(setup::VARIABLE, setup::DIRECTORY)],
            project: &[],
        }
    }

    fn is_its_program(&self, program: &Path) -> bool {
        // kimi-cli's package has a program of this name, too, and one of its own beside it.
        !is_there(&program.with_file_name(kimi::PROGRAM)).unwrap_or(false)
    }

    fn deciding_files(&self, paths: &InstallPaths<'_>) -> Vec<PathBuf> {
        setup::deciding_files(paths)
    }

    fn silenced(&self, text: &str) -> Option<&'static str> {
        setup::silenced(text)
    }

    fn draft_fork(&self, transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
        fork::draft(transcript, cut)
    }

    fn fork_path(&self, plan: &ForkPlan, new_id: &str, _now: Moment) -> PathBuf {
        let session = place::session_directory(&plan.source);
        session.unwrap_or(&plan.source).with_file_name(new_id)
    }

    fn fork_shape(&self, _file: &Path) -> Option<&'static Shape> {
        Some(&fork::SHAPE)
    }

    fn new_session_id(&self, random: [u8; 20], _now: Moment) -> String {
        format!("session_{}", ids::uuid(random))
    }
}

#[cfg(test)]
mod tests;
