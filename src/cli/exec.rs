//! Going over into another program: an agent's own command that resumes a session.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::error::{Code, Error};
use crate::ops::resume_command::{gone, refusal};
use crate::text::one_line;

/// Replaces this process by the command, run in `cwd`. Comes back only with an error: also when that directory is gone, since an agent
/// that is started elsewhere does not find its session.
pub fn replace_process(words: &[String], cwd: Option<&str>) -> Error {
    let Some((program, args)) = words.split_first() else {
        return Error::usage("there is no command to run");
    };
    if let Some(dir) = gone(cwd) {
        return refusal(dir);
    }
    let mut command = Command::new(program);
    command.args(args);
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    let error = command.exec();
    Error::new(Code::Io, format!("cannot run '{program}': {error}"))
        .caused_by(error)
        .hint("the command above goes on from there")
}

/// The command that goes on, with the directory that it belongs into: one line, for a shell as well as for people.
pub fn resume_line(words: &[String], cwd: Option<&str>) -> String {
    let command = one_line(words);
    match cwd {
        Some(cwd) => format!("cd {} && {command}", one_line(&[cwd.to_owned()])),
        None => command,
    }
}
