//! A line given to a shell.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::git::command::NAMES_A_REPOSITORY;

/// A line for a shell that works in `dir`. Started from a git hook, it would work in that hook's repository, index and objects: it is not
/// told of them.
pub fn shell(line: impl AsRef<OsStr>, dir: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(dir);
    for name in NAMES_A_REPOSITORY {
        command.env_remove(name);
    }
    command
}
