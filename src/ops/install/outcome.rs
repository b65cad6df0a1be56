//! What setting up answers: each file once by what became of it, and each agent with its files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::install::{Holds, Scope};
use crate::error::{Code, Error, Result};
use crate::json;

/// Answer of `init`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Installed {
    /// Nothing was written.
    pub dry_run: bool,
    /// Files written (or that would be).
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub changed: Vec<PathBuf>,
    /// Files that went: nothing in them was not ours.
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub removed: Vec<PathBuf>,
    /// Files that were right already.
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub unchanged: Vec<PathBuf>,
    /// Files that were left alone.
    pub printed: Vec<Printed>,
    /// The agents that were set up, or that had something of ours.
    pub agents: Vec<AgentFiles>,
    /// What the user has to know or do.
    pub notices: Vec<String>,
    /// Files that could not be edited.
    #[serde(skip)]
    pub left: Vec<LeftFile>,
}

/// A file that was left alone.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Printed {
    /// The file.
    #[serde(serialize_with = "json::file")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// What belongs into it.
    pub text: String,
}

/// An agent and its files.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AgentFiles {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its programs and directories that show that it is used.
    #[serde(serialize_with = "json::files")]
    #[schemars(with = "Vec<String>")]
    pub found: Vec<PathBuf>,
    /// Its files, which it may share with other agents.
    pub files: Vec<AgentFile>,
}

/// A file of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AgentFile {
    /// The file, where the agent looks for it.
    #[serde(serialize_with = "json::file")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Where that leads to through symbolic links: what was edited.
    #[serde(skip)]
    pub leads_to: PathBuf,
    /// Other agents use the same file.
    #[serde(skip)]
    pub is_shared: bool,
    /// Whose settings it has.
    pub scope: Scope,
    /// What of ours belongs into it.
    pub holds: Vec<Holds>,
    /// What became of it (or would).
    pub became: FileChange,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FileChange {
    /// It was written.
    Changed,
    /// It went.
    Removed,
    /// It was right already.
    Unchanged,
    /// It cannot be edited.
    Left,
}

/// A file that could not be edited.
#[derive(Debug)]
pub struct LeftFile {
    /// The file.
    pub path: PathBuf,
    /// `WOULD_OVERWRITE` for what stands in it, else the failure to read or write it.
    pub code: Code,
    /// Why, naming the file.
    pub why: String,
}

impl Installed {
    /// The answer, unless a file was left out: then something is not set up, and nobody must take it for that.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE` for a file with other things in it, else the first failure to read or write one.
    pub fn complete(self) -> Result<Self> {
        let Some(first) = self.left.first() else {
            return Ok(self);
        };
        let paths = |list: &[PathBuf]| -> Vec<String> {
            list.iter().map(|path| path.display().to_string()).collect()
        };
        let left: Vec<PathBuf> = self.left.iter().map(|file| file.path.clone()).collect();
        let why: Vec<&str> = self.left.iter().map(|file| file.why.as_str()).collect();
        let mut codes = self.left.iter().map(|file| file.code);
        let code = codes
            .find(|&code| code == Code::WouldOverwrite)
            .unwrap_or(first.code);
        let error = Error::new(code, why.join("; "))
            .detail("left", paths(&left))
            .detail("changed", paths(&self.changed))
            .detail("removed", paths(&self.removed))
            .hint(format!(
                "look at '{}', then run the command again; what could be done without it is done",
                first.path.display()
            ));
        let notices = self.notices.into_iter();
        Err(notices.fold(error, Error::hint))
    }

    /// Whether a file of an agent is written or goes.
    pub fn agents_change(&self) -> bool {
        let mut files = self.agents.iter().flat_map(|agent| &agent.files);
        files.any(|file| matches!(file.became, FileChange::Changed | FileChange::Removed))
    }

    /// Tells the user something, once.
    pub(super) fn note(&mut self, notice: String) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Notes a file that stays as it is, once.
    pub(super) fn leave(&mut self, file: LeftFile) {
        if !self.left.iter().any(|known| known.path == file.path) {
            self.left.push(file);
        }
    }

    /// Notes the file of an error that named it.
    pub(super) fn leave_for(&mut self, path: PathBuf, error: &Error) {
        self.leave(LeftFile {
            path,
            code: error.code(),
            why: error.message().to_owned(),
        });
    }
}
