//! Coding agents: where each keeps its sessions, how its files and hook payloads read, how a session is resumed or forked.
//!
//! Owns [`trait Agent`](Agent), the table by name, and the neutral [`transcript`]. A live session file is never written:
//! [`fork`] writes a new session beside it. Reads no environment (see [`places::Places`]) and starts no program. What
//! stands in their settings is here ([`install`], [`edit`]); writing those files is `ops::install`'s.

mod branch;
mod builder;
pub mod claude;
pub mod codex;
pub mod context_log;
mod copilot;
pub mod current;
mod cursor;
pub mod document;
pub mod edit;
pub mod fork;
pub mod gemini;
mod generic;
pub mod hook;
pub mod install;
pub mod kimi;
pub mod kimi_code;
pub mod lines;
pub mod opencode;
pub mod pi;
pub mod places;
pub mod prefix;
mod qwen;
pub mod transcript;
pub mod used;
mod value;
pub mod version;
pub mod writes;

#[cfg(test)]
#[path = "tests.rs"]
mod samples;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tolerance;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::env::Moment;
use crate::error::{Code, Error, Result, ResultExt as _};
use fork::shape::Shape;
use fork::{Draft, ForkPlan, Validation};
use hook::EventKind;
use install::{InstallPaths, SetupOf};
use places::{Candidate, Places, SubAgent};
use transcript::{Cut, Detail, GoesOn, Transcript};
use used::Traces;
use version::Tried;

/// How many records at the head of a file tell its format.
const HEAD: usize = 12;

/// What `tw` knows of one agent.
pub trait Agent: Sync {
    /// The name in commands and records.
    fn name(&self) -> &'static str;

    /// The name for people.
    fn title(&self) -> &'static str;

    /// Whether it stands for any harness, not for one program.
    fn is_any_harness(&self) -> bool {
        false
    }

    /// Whether a hook's payload shows that this agent calls, whichever agent's hooks it runs.
    fn is_caller(&self, _payload: &Value) -> bool {
        false
    }

    /// The newest version that `tw` was tested with; `None` for one that was never driven.
    fn tried(&self) -> Option<Tried> {
        None
    }

    /// Whether the payload of a prompt's event tells only that a turn goes on, as with what a tool answered.
    fn continues_turn(&self, _payload: &Value) -> bool {
        false
    }

    /// Environment variables that carry the session's id, best first.
    fn session_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// The environment variable in which its hooks find the project that the session was started in, where the payload names the
    /// directory of its shell.
    fn project_variable(&self) -> Option<&'static str> {
        None
    }

    /// The sessions that may have made a call over MCP by what this agent says of it (`_meta`), best first.
    fn sessions_of_call(&self, _meta: &Value) -> Vec<String> {
        Vec::new()
    }

    /// The command that works on a task without a terminal and without asking, and ends. It asks for no permission: what the agent
    /// may do is up to its settings and to words of the user's, which come behind.
    fn headless_command(&self, _task: &str) -> Option<Vec<String>> {
        None
    }

    /// The command that starts a new session.
    fn start_command(&self) -> Option<Vec<String>> {
        None
    }

    /// The command that resumes a session, to be run in the session's directory. The caller has looked whether the id is one
    /// ([`is_argument`]).
    fn resume_command(&self, _session_id: &str) -> Option<Vec<String>> {
        None
    }

    /// The command that resumes a fork that was written to `file`, where that takes more than the session's id.
    fn resume_fork_command(&self, session_id: &str, _file: &Path) -> Option<Vec<String>> {
        self.resume_command(session_id)
    }

    /// The command that writes a session to its standard output, for an agent that keeps no file that could be read.
    fn export_command(&self, _session_id: &str) -> Option<Vec<String>> {
        None
    }

    /// The event of which the hook's output reaches the model, and the agent's own name of it;
    /// `None` for an agent that takes nothing from hooks.
    fn event_that_tells(&self) -> Option<(EventKind, &'static str)> {
        None
    }

    /// Session files whose recorded directory is `cwd` or lies beneath it, newest first.
    fn find(&self, _cwd: &Path, _places: &Places) -> Vec<Candidate> {
        Vec::new()
    }

    /// The file of a session, by its id. `cwd` helps agents that keep sessions by directory.
    fn locate(&self, _session_id: &str, _cwd: Option<&Path>, _places: &Places) -> Option<PathBuf> {
        None
    }

    /// The sub-agent that a session file is of, by the file's name and its head; None for a root session's. Asked for every event
    /// whose payload names no parent: more of the file is not read.
    fn sub_agent(&self, _file: &Path) -> Option<SubAgent> {
        None
    }

    /// Where a session file is now that is not any more where it was.
    fn moved(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// Where a conversation stands that goes on in another file than the one it was read from; None when it does not.
    fn goes_on(&self, _transcript: &Transcript) -> Option<GoesOn> {
        None
    }

    /// The file to read instead of what was named: the one in a session's directory, or beside a file that only accompanies it.
    fn main_file(&self, _named: &Path) -> Option<PathBuf> {
        None
    }

    /// Whether a file that begins with these records is this agent's.
    fn recognises(&self, _path: &Path, _head: &[Value]) -> bool {
        false
    }

    /// Reads a session file, streamed. Bad lines are counted in `skipped`, never an error.
    ///
    /// # Errors
    /// `TRANSCRIPT_NOT_FOUND` when there is no such file, or when this agent's sessions cannot be read.
    fn read(&self, path: &Path, _detail: Detail) -> Result<Transcript> {
        Err(Error::new(
            Code::TranscriptNotFound,
            format!(
                "session files of {} cannot be read: '{}'",
                self.title(),
                path.display()
            ),
        ))
    }

    /// What its settings need; `None` for an agent that cannot be set up.
    fn setup(&self) -> Option<SetupOf> {
        None
    }

    /// Whether its settings are its user's alone, so that a project has none of its own.
    fn has_only_user_settings(&self) -> bool {
        false
    }

    /// Where a project's settings do not reach although it works in the project, and what does reach there; `None` where they hold in every
    /// directory of the project.
    fn limit_of_project_settings(&self) -> Option<&'static str> {
        None
    }

    /// The directories that setting it up may make, by name, besides those that hold a skill.
    fn directories(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it leaves where it is used.
    fn traces(&self) -> Traces {
        Traces::default()
    }

    /// Whether a program of one of its names is its own, for names that another agent has, too.
    fn is_its_program(&self, _program: &Path) -> bool {
        true
    }

    /// The settings that can keep its hooks from running, whatever the scope of `paths`.
    fn deciding_files(&self, _paths: &InstallPaths<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Why no hook runs with a deciding file of this text; `None` when nothing in it is against them.
    fn silenced(&self, _text: &str) -> Option<&'static str> {
        None
    }

    /// How its user trusts a hook, for an agent that runs none before.
    fn how_to_trust(&self) -> Option<&'static str> {
        None
    }

    /// The name of another agent whose hooks it may run, too.
    fn runs_hooks_of(&self) -> Option<&'static str> {
        None
    }

    /// What a fork of a session keeps that is cut at `cut`; `None` before the first prompt.
    ///
    /// # Errors
    /// `CHECKPOINT_UNAVAILABLE` when the file does not hold that place any more, or this agent's sessions cannot be forked.
    fn draft_fork(&self, _transcript: &Transcript, _cut: &Cut) -> Result<Option<Draft>> {
        Err(fork::cannot_fork(self.name()))
    }

    /// Where a fork goes: beside the session that it was made from.
    fn fork_path(&self, plan: &ForkPlan, new_id: &str, _now: Moment) -> PathBuf {
        plan.source.with_file_name(format!("{new_id}.jsonl"))
    }

    /// A new session's id in the form that the agent gives its own, from random bytes.
    fn new_session_id(&self, random: [u8; 20], _now: Moment) -> String {
        fork::ids::uuid(random)
    }

    /// What the validator must know of this file of a fork; `None` where forks have no lines, or none are made.
    fn fork_shape(&self, _file: &Path) -> Option<&'static Shape> {
        None
    }

    /// Checks a fork that is one document, not lines.
    fn check_document(&self, _original: &Path, _fork: &Path) -> Option<Result<Validation>> {
        None
    }

    /// Whether the agent takes the same history from a fork as from the original up to the cut, for those whose records change what
    /// stands before them.
    ///
    /// # Errors
    /// Either cannot be read.
    fn has_same_history(&self, _original: &Path, _cut: &Cut, _fork: &Path) -> Result<bool> {
        Ok(true)
    }
}

/// Every agent, in the order of help texts.
pub static AGENTS: &[&dyn Agent] = &[
    &claude::Claude,
    &codex::Codex,
    &gemini::Gemini,
    &qwen::Qwen,
    &kimi::Kimi,
    &kimi_code::KimiCode,
    &pi::Pi,
    &opencode::Opencode,
    &cursor::Cursor,
    &copilot::Copilot,
    &generic::Generic,
];

/// The agent with this name.
pub fn by_name(name: &str) -> Option<&'static dyn Agent> {
    AGENTS.iter().copied().find(|agent| agent.name() == name)
}

/// Whether an id can be handed to an agent as an argument: whoever tells of a session chooses its id, and must not choose options.
pub fn is_argument(session_id: &str) -> bool {
    !session_id.is_empty() && !session_id.starts_with('-')
}

/// The agent whose format `path` has, by its first records.
///
/// # Errors
/// `TRANSCRIPT_NOT_FOUND` when there is no such file.
pub fn detect(path: &Path) -> Result<Option<&'static dyn Agent>> {
    let path = &session_file(path);
    let mut reader = lines::open(path, None)?;
    let mut head = Vec::new();
    while head.len() < HEAD {
        let Some(line) = reader.next_line().context(|| lines::shown(path))? else {
            break;
        };
        // A file of something else may have no record at all.
        if line.position.line > 64 {
            break;
        }
        head.extend(line.object());
    }
    Ok(AGENTS
        .iter()
        .copied()
        .find(|agent| agent.recognises(path, &head)))
}

/// Reads a session file of any agent.
///
/// # Errors
/// `TRANSCRIPT_NOT_FOUND` when there is no such file or no agent's format is recognised.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    let path = &session_file(path);
    match detect(path)? {
        Some(agent) => agent.read(path, detail),
        None => Err(Error::new(
            Code::TranscriptNotFound,
            format!(
                "'{}' is not a session file of a known agent",
                path.display()
            ),
        )),
    }
}

/// The session file of what was named: [`Agent::main_file`].
pub fn session_file(named: &Path) -> PathBuf {
    let instead = AGENTS.iter().find_map(|agent| agent.main_file(named));
    instead.unwrap_or_else(|| named.to_owned())
}

/// Whether an agent writes its session file anew at each turn, so that its beginning does not stay what it was.
pub fn is_rewritten(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

/// What the hook of [`Agent::event_that_tells`] prints so that the model is told `text`; `None` for any other event. The form is
/// Claude Code's; others took it over.
pub fn additional_context(agent: &dyn Agent, event: &EventKind, text: &str) -> Option<Value> {
    let (ours, name) = agent.event_that_tells()?;
    let output = serde_json::json!({"hookEventName": name, "additionalContext": text});
    (*event == ours).then(|| serde_json::json!({"hookSpecificOutput": output}))
}

/// A command line of fixed words and ids.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_its_own_name_and_commands() {
        let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
        assert_eq!(
            names.join(" "),
            "claude codex gemini qwen kimi kimi-code pi opencode cursor copilot generic"
        );
        for agent in AGENTS {
            assert!(by_name(agent.name()).is_some());
            let resumed = agent.resume_command("an-id");
            assert_eq!(resumed.is_some(), agent.start_command().is_some());
            assert!(resumed.is_none_or(|words| words.contains(&"an-id".to_owned())));
        }
        assert!(by_name("nobody").is_none());
    }

    #[test]
    fn a_file_of_no_agent_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("notes.jsonl");
        std::fs::write(&path, "{\"a\":1}\nplain words\n").expect("written");
        let error = read(&path, Detail::Full).expect_err("refused");
        assert_eq!(error.code(), Code::TranscriptNotFound);
        let error = read(dir.path(), Detail::Full).expect_err("refused");
        assert_eq!(error.code(), Code::TranscriptNotFound);
    }
}
