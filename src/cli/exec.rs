//! Going over into another program: an agent's own command that resumes a session.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::human::text::clean;
use crate::error::{Code, Error};
use crate::text::command_line;

/// Replaces this process by the command, run in `cwd` when that is still there. Comes back only with an error.
pub fn replace_process(words: &[String], cwd: Option<&str>) -> Error {
    let Some((program, args)) = words.split_first() else {
        return Error::usage("there is no command to run");
    };
    let mut command = Command::new(program);
    command.args(args);
    if let Some(cwd) = cwd.filter(|cwd| std::path::Path::new(cwd).is_dir()) {
        command.current_dir(cwd);
    }
    let error = command.exec();
    Error::new(Code::Io, format!("cannot run '{program}': {error}"))
        .caused_by(error)
        .hint("the command above goes on from there")
}

/// The command that goes on, with the directory that it belongs into.
pub fn resume_line(words: &[String], cwd: Option<&str>) -> String {
    clean(&resume_script(words, cwd))
}

/// The same for a script, which takes every character as it is.
pub fn resume_script(words: &[String], cwd: Option<&str>) -> String {
    let command = command_line(words);
    match cwd {
        Some(cwd) => format!("cd {} && {command}", command_line(&[cwd.to_owned()])),
        None => command,
    }
}
