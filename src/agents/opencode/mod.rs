//! opencode: its sessions are in a database of its own, and come and go by its own `opencode export` and `opencode import`.
//!
//! What is read here is what it exports: one JSON document. Nothing here starts it; whoever has no export asks with
//! [`Agent::export_command`].

pub mod fork;
pub mod read;
mod setup;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fork::{Draft, ForkPlan, Validation, ids};
use super::install::SetupOf;
use super::transcript::{Cut, Detail, Transcript};
use super::used::{Traces, UserDirectory};
use super::version::Tried;
use super::{Agent, words};
use crate::env::Moment;
use crate::error::Result;

/// The agent's name in the table.
pub const NAME: &str = "opencode";

/// Imports a fork, once, and goes on in it: the file, which goes when it was imported, is the shell's `$0`, the session its
/// `$1`.
const GO_ON: &str = "test ! -e \"$0\" || { opencode import \"$0\" && rm -f \"$0\"; } && exec opencode --session \"$1\"";

/// opencode.
pub struct Opencode;

impl Agent for Opencode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "opencode"
    }

    fn tried(&self) -> Option<Tried> {
        Some(Tried {
            version: "1.18.33",
            package: "opencode-ai",
            recorded: &[],
        })
    }

    fn headless_command(&self, task: &str) -> Option<Vec<String>> {
        Some(words(&["opencode", "run", task]))
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&["opencode"]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&["opencode", "--session", session_id]))
    }

    fn resume_fork_command(&self, session_id: &str, file: &Path) -> Option<Vec<String>> {
        let file = file.to_str()?;
        Some(words(&["sh", "-c", GO_ON, file, session_id]))
    }

    fn export_command(&self, session_id: &str) -> Option<Vec<String>> {
        let tail = session_id.strip_prefix("ses_")?;
        let plain = !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plain.then(|| words(&["opencode", "export", session_id]))
    }

    fn recognises(&self, path: &Path, head: &[Value]) -> bool {
        let is_export = |record: &Value| {
            record.get("messages").is_some_and(Value::is_array)
                && record.get("info").is_some_and(Value::is_object)
        };
        head.iter().any(is_export) || (head.is_empty() && read::begins_as_export(path))
    }

    fn read(&self, path: &Path, detail: Detail) -> Result<Transcript> {
        read::read(path, detail)
    }

    fn setup(&self) -> Option<SetupOf> {
        Some(setup::setup)
    }

    fn directories(&self) -> &'static [&'static str] {
        &[".opencode", ".config", "opencode", "plugins"]
    }

    fn traces(&self) -> Traces {
        Traces {
            programs: &["opencode"],
            user: vec![
                UserDirectory {
                    variable: "XDG_CONFIG_HOME",
                    base: ".config",
                    name: "opencode",
                },
                UserDirectory {
                    variable: "XDG_DATA_HOME",
                    base: ".local/share",
                    name: "opencode",
                },
            ],
            project: &[".opencode", "opencode.json"],
        }
    }

    fn draft_fork(&self, transcript: &Transcript, cut: &Cut) -> Result<Option<Draft>> {
        fork::draft(transcript, cut)
    }

    fn fork_path(&self, plan: &ForkPlan, new_id: &str, _now: Moment) -> PathBuf {
        plan.source.with_file_name(format!("{new_id}.json"))
    }

    fn check_document(&self, original: &Path, fork: &Path) -> Option<Result<Validation>> {
        Some(fork::validate(original, fork))
    }

    fn new_session_id(&self, random: [u8; 20], now: Moment) -> String {
        ids::opencode_id(now, &random)
    }
}

#[cfg(test)]
mod tests;
