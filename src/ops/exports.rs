//! The conversation of an agent that keeps no file that could be read: asked for by the agent's own command.
//!
//! The answer lies under the worktree's own directory, for its owner alone, as long as somebody works from it: it goes with its
//! [`Export`]. One whose process died goes with the next. The session is only read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::fs::create_private;
use crate::git::process::Maker;
use crate::ops::Context;
use crate::store::names::session_component;

/// Where exports lie, and the forks of them that wait to be imported, below the worktree's directory.
pub const DIR: &str = "exports";

/// What an export's name has after the session's; then who reads it, and a number.
const MARK: &str = ".export-";

/// So much of what a failed export complained of is repeated.
const COMPLAINT: usize = 200;

/// A session that was written out, to be read. Dropped, it goes.
#[derive(Debug)]
pub struct Export {
    path: PathBuf,
}

impl Export {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        // Best effort: the next one clears it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Has the agent write a session out.
///
/// # Errors
/// `TRANSCRIPT_NOT_FOUND` when the agent is not there, or does not know the session.
pub fn export(ctx: &Context<'_>, session_id: &str, command: &[String]) -> Result<Export> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let dir = ctx.store()?.dir.file(DIR);
    clear_dead(&dir);
    let name = session_component(session_id);
    let maker = Maker::this();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let export = Export {
        path: dir.join(format!(".{name}{MARK}{maker}-{number}.json")),
    };
    let doing = || format!("cannot write '{}'", export.path.display());
    crate::git::create::private_dir(&dir).context(doing)?;
    // Some programs end before all of a long answer is through a pipe: it goes straight into a file.
    let answer = create_private(&export.path).context(doing)?;
    run(ctx.repo.worktree_root(), command, answer)?;
    Ok(export)
}

/// Removes the exports that killed processes left.
pub fn clear_dead(dir: &Path) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        let maker = entry.file_name().to_str().and_then(parse_maker);
        if maker.is_some_and(|maker| !maker.is_alive()) {
            // Best effort: the next one tries again.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Who reads an export, by its name.
fn parse_maker(name: &str) -> Option<Maker> {
    let (_, maker) = name.strip_suffix(".json")?.rsplit_once(MARK)?;
    Maker::parse(maker).map(|(maker, _)| maker)
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
