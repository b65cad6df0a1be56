//! kimi-cli: where its sessions are, how its context and wire files read, how a session is resumed.

pub mod context;
mod fork;
pub mod place;
pub mod read;
pub(super) mod setup;
pub mod wire;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::shape::Shape;
use super::fork::{Draft, ForkPlan};
use super::install::{InstallPaths, SetupOf, toml_settings};
use super::places::{Candidate, Places};
use super::transcript::{Cut, Detail, Transcript};
use super::used::{Traces, UserDirectory};
use super::value::text;
use super::version::Tried;
use super::{Agent, words};
use crate::env::Moment;
use crate::error::Result;

/// The agent's name in the table.
pub const NAME: &str = "kimi";

const VARIABLE: &str = "KIMI_SHARE_DIR";
const DIRECTORY: &str = ".kimi";

/// The program that only its package has: `kimi` is another agent's, too.
pub const PROGRAM: &str = "kimi-cli";

/// kimi-cli.
pub struct Kimi;

impl Agent for Kimi {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "kimi-cli"
    }

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "1.51.0",
            package: "",
            recorded: &[],
        })
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["kimi", "--print", "-p", task]))
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

    fn main_file(&self, named: &Path) -> Option<PathBuf> {
        read::main_file(named)
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

    fn setup(&self) -> Option<SetupOf> {
        Some(|paths| setup::setup(paths, NAME, VARIABLE, DIRECTORY))
    }

    fn has_only_user_settings(&self) -> bool {
        true
    }

    fn directories(&self) -> &'static [&'static str] {
        &[DIRECTORY]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &[PROGRAM],
            user: vec![UserDirectory::moved_by(VARIABLE, DIRECTORY)],
            project: &[],
        }
    }

    fn deciding_files(&self, paths: &InstallPaths<'_>) -> Vec<PathBuf> {
        vec![paths.user_file(VARIABLE, DIRECTORY, "config.toml")]
    }

    fn silenced(&self, text: &str) -> Option<&'static str> {
        toml_settings(text).err()
    }

    fn draft_fork(&self, transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
        fork::draft(transcript, cut)
    }

    fn fork_path(&self, plan: &ForkPlan, new_id: &str, _now: Moment) -> PathBuf {
        if !plan.is_directory() {
            return plan.source.with_file_name(format!("{new_id}.jsonl"));
        }
        // The session is a directory: its parent holds the sessions of one working directory.
        let session = plan.source.parent().unwrap_or(&plan.source);
        session.with_file_name(new_id)
    }

    fn fork_shape(&self, file: &Path) -> Option<&'static Shape> {
        let wire = file.file_name().is_some_and(|name| name == place::WIRE);
        Some(if wire {
            &fork::WIRE_SHAPE
        } else {
            &fork::CONTEXT_SHAPE
        })
    }
}

#[cfg(test)]
mod tests;
