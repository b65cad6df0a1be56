//! What names rewritten commits by their ids: states, undo and redo levels and those put aside, open directories.

use std::path::Path;

use serde_json::Value;

use super::Moved;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::{Durable, read_optional, write_atomic};
use crate::git::path;
use crate::json;
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
        changed |= file(&worktree.dir.file(name), moved, &[])?;
    }
    for log in Log::ALL {
        for level in undo_log::levels(&worktree.dir, log)? {
            changed |= file(&level.path, moved, paths)?;
        }
    }
    for level in undo_log::files_aside(&worktree.dir)? {
        changed |= file(&level, moved, paths)?;
    }
    Ok(changed)
}

fn file(path: &Path, moved: &Moved, paths: &[Vec<u8>]) -> Result<bool> {
    let Some(bytes) = read_optional(path)? else {
        return Ok(false);
    };
    let old: Value = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("cannot read '{}': {error}", path.display());
        Error::new(Code::CorruptRecord, message)
    })?;
    let mut new = old.clone();
    rename(&mut new, moved);
    if let Some(entries) = new.get_mut("entries").and_then(Value::as_array_mut) {
        entries.retain(|entry| !is_purged(entry, paths));
    }
    if new == old {
        return Ok(false);
    }
    write_atomic(path, &json::pretty(&new), Durable::Yes)?;
    Ok(true)
}

/// Replaces every string that is the id of a rewritten commit.
fn rename(value: &mut Value, moved: &Moved) {
    match value {
        Value::String(text) => {
            if let Ok(oid) = Oid::from_hex(text) {
                *text = last(oid, moved).to_string();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, moved)),
        Value::Object(map) => map.values_mut().for_each(|value| rename(value, moved)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a commit has become in the end. Commits name their parents, so there is no circle; still it is bounded.
fn last(oid: Oid, moved: &Moved) -> Oid {
    let mut at = oid;
    for _ in 0..=moved.len() {
        match moved.get(&at) {
            Some(next) => at = *next,
            None => break,
        }
    }
    at
}

fn is_purged(entry: &Value, paths: &[Vec<u8>]) -> bool {
    let stored = entry.get("path").and_then(Value::as_str);
    stored
        .and_then(path_from_stored)
        .is_some_and(|path| paths.iter().any(|gone| path::is_within(&path, gone)))
}
