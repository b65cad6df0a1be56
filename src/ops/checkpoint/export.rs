//! The conversation of an agent that keeps no file that could be read: asked for by the agent's own command.
//!
//! The answer is kept under the worktree's own directory, for its owner alone; each one replaces the one before. The session is
//! only read.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::fs;
use crate::ops::Context;
use crate::store::Store;
use crate::store::names::session_component;

/// Where exports are kept, below the worktree's directory.
const DIR: &str = "exports";

/// So much of what a failed export complained of is repeated.
const COMPLAINT: usize = 200;

/// Has the agent write a session out, and gives the file.
///
/// # Errors
/// `TRANSCRIPT_NOT_FOUND` when the agent is not there, or does not know the session.
pub fn export(ctx: &Context<'_>, session_id: &str, command: &[String]) -> Result<PathBuf> {
    let dir = Store::open(&ctx.repo)?.dir.file(DIR);
    let name = session_component(session_id);
    let path = dir.join(format!("{name}.json"));
    // Some programs end before all of a long answer is through a pipe: it goes straight into a file.
    let coming = dir.join(format!(".{name}.{}", std::process::id()));
    let doing = || format!("cannot write '{}'", path.display());
    fs::create_private_dir(&dir).context(doing)?;
    let answer = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&coming)
        .context(doing)?;
    let done = run(ctx.repo.worktree_root(), command, answer)
        .and_then(|()| std::fs::rename(&coming, &path).context(doing));
    if let Err(error) = done {
        // Best effort: the error to report is the other one.
        let _ = std::fs::remove_file(&coming);
        return Err(error);
    }
    Ok(path)
}

fn run(dir: &Path, command: &[String], answer: File) -> Result<()> {
    let shown = command.join(" ");
    let failed = |why: &str| {
        let message = format!("the conversation is asked for with '{shown}', which failed: {why}");
        Error::new(Code::TranscriptNotFound, message).hint("its files can be rewound: give --code")
    };
    let (program, args) = command.split_first().ok_or_else(|| failed("no command"))?;
    let output = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(answer)
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    let why = last.map_or_else(
        || output.status.to_string(),
        |line| line.trim().chars().take(COMPLAINT).collect(),
    );
    Err(failed(&why))
}
