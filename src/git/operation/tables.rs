//! What git keeps of an operation as refs, where refs are in the reftable format: `ORIG_HEAD`, `CHERRY_PICK_HEAD` and the like
//! beside HEAD, and `refs/bisect/*`, `refs/rewritten/*`.
//!
//! To the layers above, those beside HEAD are the files that they are elsewhere, with the line that git would write there,
//! so that a snapshot says the same in both formats. All changes are one transaction.

use std::collections::HashMap;

use super::names::{REF_DIRS, TOP};
use super::{OperationState, is_known_ref};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::refs::{OwnChange, Refs, Value, is_root_ref};

/// The permission bits that such a file is said to have.
pub(super) const MODE: u32 = 0o644;

/// Whether git keeps a file of this name as a ref.
pub(super) fn is_ref(name: &str) -> bool {
    !name.contains('/') && is_root_ref(name)
}

/// Adds the refs to `state`.
pub(super) fn read(refs: &Refs, state: &mut OperationState) -> Result<()> {
    for name in TOP.into_iter().filter(|name| is_ref(name)) {
        match refs.read_value(name)? {
            Some(Value::Direct(oid)) => {
                let line = format!("{oid}\n").into_bytes();
                state.files.push((name.to_owned(), line, MODE));
            }
            Some(Value::Symbolic(_)) => state.unknown.push(name.to_owned()),
            None => {}
        }
    }
    for (name, value) in own_refs(refs)? {
        match value {
            Some(oid) => state.refs.push((name, oid)),
            None => state.unknown.push(name),
        }
    }
    Ok(())
}

/// The worktree's refs of an operation; without an id those that are no plain refs.
fn own_refs(refs: &Refs) -> Result<Vec<(String, Option<Oid>)>> {
    let mut found = Vec::new();
    for dir in REF_DIRS {
        for name in refs.names(&format!("refs/{dir}/"))? {
            if is_known_ref(&name) {
                let oid = refs.read_direct(&name)?;
                found.push((name, oid));
            }
        }
    }
    Ok(found)
}

/// Makes the refs be exactly those of `state`. What is no plain ref stays.
pub(super) fn restore(refs: &Refs, change: OwnChange, state: &OperationState) -> Result<()> {
    let mut wanted: HashMap<&str, Oid> = HashMap::new();
    for (name, content, _) in state.files.iter().filter(|(name, ..)| is_ref(name)) {
        wanted.insert(name, parse(name, content)?);
    }
    wanted.extend(state.refs.iter().map(|(name, oid)| (name.as_str(), *oid)));
    let mut present: HashMap<String, Option<Oid>> = own_refs(refs)?.into_iter().collect();
    for name in TOP.into_iter().filter(|name| is_ref(name)) {
        match change.find(name)? {
            Some(Value::Direct(oid)) => drop(present.insert(name.to_owned(), Some(oid))),
            Some(Value::Symbolic(_)) => drop(present.insert(name.to_owned(), None)),
            None => {}
        }
    }
    let mut change = change;
    for (name, oid) in &present {
        if oid.is_some() && !wanted.contains_key(name.as_str()) {
            change.put(name, None);
        }
    }
    for (name, oid) in wanted {
        if present.get(name) != Some(&Some(oid)) {
            change.put(name, Some(Value::Direct(oid)));
        }
    }
    change.commit()
}

fn parse(name: &str, content: &[u8]) -> Result<Oid> {
    let line = content.split(|byte| *byte == b'\n').next();
    let text = std::str::from_utf8(line.unwrap_or_default()).ok();
    let oid = text.and_then(|text| Oid::from_hex(text.trim_end()).ok());
    oid.ok_or_else(|| {
        let message = format!("'{name}' names no object, as a ref has to");
        Error::new(Code::CorruptRecord, message)
    })
}
