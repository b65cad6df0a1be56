//! The agent's command that goes on with a session, as JSON has it: one line for a shell, and the same word by word.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::error::{Code, Error};
use crate::text::{command_line, one_line};

/// The directory that a command has to be run in, when it is there no more.
pub fn gone(cwd: Option<&str>) -> Option<&str> {
    cwd.filter(|cwd| !std::path::Path::new(cwd).is_dir())
}

/// What is said of a command whose directory is gone.
pub fn gone_notice(dir: &str) -> String {
    let again = one_line(&["mkdir".to_owned(), "-p".to_owned(), dir.to_owned()]);
    format!("the directory that the session was in is gone; its agent finds it only there: {again}")
}

/// The error of a command that cannot be run, since its directory is gone.
pub fn refusal(dir: &str) -> Error {
    let message = format!("the directory that the session was in is gone: '{dir}'");
    let again = one_line(&["mkdir".to_owned(), "-p".to_owned(), dir.to_owned()]);
    Error::new(Code::PathNotFound, message)
        .detail("cwd", dir)
        .hint(format!("make it again: {again}"))
}

/// A command: `#[serde(flatten, with = "ResumeCommand")]`.
#[derive(Serialize, JsonSchema)]
pub struct ResumeCommand {
    /// The agent's own, one line for a shell.
    resume_command: String,
    /// The same, word by word.
    resume_argv: Vec<String>,
}

impl ResumeCommand {
    /// Serialises a command as one line and as its words.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(words: &[String], serializer: S) -> Result<S::Ok, S::Error> {
        let both = Self {
            resume_command: command_line(words),
            resume_argv: words.to_vec(),
        };
        Serialize::serialize(&both, serializer)
    }
}

/// A command, if there is one: `#[serde(flatten, with = "ResumeCommandOrNull")]`.
#[derive(Serialize, JsonSchema)]
pub struct ResumeCommandOrNull {
    /// The agent's own, one line for a shell; null when it has none, and in a dry run.
    resume_command: Option<String>,
    /// The same, word by word.
    resume_argv: Option<Vec<String>>,
}

impl ResumeCommandOrNull {
    /// Serialises a command, where there is one, as one line and as its words.
    ///
    /// # Errors
    /// The serializer's.
    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub fn serialize<S: Serializer>(
        words: &Option<Vec<String>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let both = Self {
            resume_command: words.as_deref().map(command_line),
            resume_argv: words.clone(),
        };
        Serialize::serialize(&both, serializer)
    }
}
