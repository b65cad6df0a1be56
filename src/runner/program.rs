//! This program started once more, and a line given to a shell.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::git::command::NAMES_A_REPOSITORY;

/// This program, also when its file was replaced since it was started. By its own name, which is what `ps` shows, where it still has it.
#[expect(
    clippy::disallowed_methods,
    reason = "whether it is still there is looked at here"
)]
pub fn own_program() -> PathBuf {
    let running = Path::new("/proc/self/exe");
    match std::env::current_exe() {
        // Of a file that was replaced, Linux says 'tw (deleted)'.
        Ok(named) if named.exists() || !running.exists() => named,
        _ => running.to_owned(),
    }
}

/// This program once more, for work that nobody waits for: without input and output, and in a group of its own, so that Ctrl-C at the
/// terminal does not reach it.
pub fn detached(dir: &Path) -> Command {
    let mut command = Command::new(own_program());
    command
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

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
