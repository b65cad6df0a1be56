//! Codex CLI: where its rollouts are, how they read, how a session is resumed.

mod base;
mod fork;
pub mod place;
pub mod read;
mod setup;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::shape::Shape;
use super::fork::{Draft, ForkPlan, ids};
use super::hook::EventKind;
use super::install::{InstallPaths, SetupOf};
use super::places::{Candidate, Places, SubAgent};
use super::transcript::{Cut, Detail, GoesOn, Transcript};
use super::used::{Traces, UserDirectory};
use super::value::{owned, text};
use super::version::Tried;
use super::{Agent, words};
use crate::env::Moment;
use crate::error::Result;

/// The agent's name in the table.
pub const NAME: &str = "codex";

/// Codex CLI.
pub struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "0.171.0",
            package: "@openai/codex",
            recorded: &["payload", "cli_version"],
        })
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["CODEX_THREAD_ID"]
    }

    fn sessions_of_call(&self, meta: &Value) -> Vec<String> {
        let turn = &meta["x-codex-turn-metadata"];
        // A sub-agent calls in a thread of its own, in its root's session.
        let named = [
            owned(meta, "threadId"),
            owned(turn, "thread_id"),
            owned(meta, "sessionId"),
            owned(turn, "session_id"),
        ];
        named.into_iter().flatten().collect()
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["codex", "exec", task]))
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["codex"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["codex", "resume", session_id]))
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

    fn moved(&self, path: &Path) -> Option<PathBuf> {
        place::moved(path)
    }

    fn goes_on(&self, transcript: &Transcript) -> Option<GoesOn> {
        read::goes_on(transcript)
    }

    fn recognises(&self, path: &Path, head: &[Value]) -> bool {
        if place::is_compressed(path) {
            return true;
        }
        head.iter().any(|record| {
            let wrapped = matches!(
                text(record, "type"),
                Some("session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted")
            );
            let bare = record.get("type").is_none()
                && record.get("instructions").is_some()
                && record.get("timestamp").is_some();
            (wrapped && record.get("payload").is_some()) || bare
        })
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }

    fn setup(&self) -> Option<SetupOf> {
        Some(setup::setup)
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".codex"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["codex"],
            user: vec![UserDirectory::moved_by("CODEX_HOME", ".codex")],
            project: &[".codex"],
        }
    }

    fn deciding_files(&self, paths: &InstallPaths<'_>) -> Vec<PathBuf> {
        setup::deciding_files(paths)
    }

    fn silenced(&self, text: &str) -> Option<&'static str> {
        setup::silenced(text)
    }

    fn how_to_trust(&self) -> Option<&'static str> {
        Some("open '/hooks' in codex, review the hooks of tw and trust them")
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

    fn new_session_id(&self, random: [u8; 20], now: Moment) -> String {
        ids::uuid_of_time(random, now)
    }
}

#[cfg(test)]
mod tests;
