//! Files of ours that name commits by their ids, made to name what these have become.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::{given, pathindex};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::{Durable, write_atomic};
use crate::git::regular;
use crate::json;

/// Old commits and what they became.
pub type Moved = HashMap<Oid, Oid>;

/// Makes a JSON file name the new commits, and of the paths of a level keep those that stay. Answers whether it had to change.
///
/// # Errors
/// It cannot be read, or written.
pub fn in_file(path: &Path, moved: &Moved, stays: &dyn Fn(&Value) -> bool) -> Result<bool> {
    let Some(bytes) = regular::read_optional(path)? else {
        return Ok(false);
    };
    let old: Value = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("cannot read '{}': {error}", path.display());
        Error::new(Code::CorruptRecord, message)
    })?;
    let mut new = old.clone();
    rename(&mut new, moved);
    // An undo takes the index entries of a level from here, and from nowhere else.
    for list in ["entries", pathindex::FIELD] {
        if let Some(entries) = new.get_mut(list).and_then(Value::as_array_mut) {
            entries.retain(stays);
        }
    }
    if let Some(entries) = given::entries(&mut new) {
        entries.retain(stays);
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
pub fn last(oid: Oid, moved: &Moved) -> Oid {
    let mut at = oid;
    for _ in 0..=moved.len() {
        match moved.get(&at) {
            Some(next) => at = *next,
            None => break,
        }
    }
    at
}
