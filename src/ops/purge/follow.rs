//! What names rewritten commits by their ids: states, undo and redo levels and those put aside, open directories.

use serde_json::Value;

use super::Moved;
use crate::error::Result;
use crate::git::path;
use crate::ops::swap::renamed;
use crate::ops::swap::undo_log::{self, Log};
use crate::ops::worktrees::{OPENED, Worktree};
use crate::store::state::path_from_stored;

/// Makes a worktree's files name the new commits, and its levels forget the paths. Answers whether one had to change.
///
/// # Errors
/// When one cannot be read or written.
pub fn worktree(worktree: &Worktree, moved: &Moved, paths: &[Vec<u8>]) -> Result<bool> {
    let mut changed = false;
    for name in ["state.json", OPENED] {
        changed |= renamed::in_file(&worktree.dir.file(name), moved, &|_| true)?;
    }
    let stays = |entry: &Value| !is_purged(entry, paths);
    for log in Log::ALL {
        for level in undo_log::levels(&worktree.dir, log)? {
            changed |= renamed::in_file(&level.path, moved, &stays)?;
        }
    }
    for level in undo_log::files_aside(&worktree.dir)? {
        changed |= renamed::in_file(&level, moved, &stays)?;
    }
    Ok(changed)
}

fn is_purged(entry: &Value, paths: &[Vec<u8>]) -> bool {
    let stored = entry.get("path").and_then(Value::as_str);
    stored
        .and_then(path_from_stored)
        .is_some_and(|path| paths.iter().any(|gone| path::is_within(&path, gone)))
}
