//! Who may use what a swap puts in place, where that differs from what was there: a field of its journal, so of its level in the undo log.
//!
//! A recovery that ends the swap gives it, and an undo of this swap alone knows by it what the swap had changed. What was there before is in
//! the access list of the swap's backup.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::goal::PathChanges;
use crate::error::{Code, Error, Result};
use crate::git::access::Access;
use crate::git::access_list::AccessList;
use crate::git::ids::IdMaps;
use crate::git::path;
use crate::store::Store;
use crate::store::access::{decode, encode};
use crate::store::made::Made;
use crate::store::state::Journal;
use crate::store::stored::Stored;
use crate::worktree::apply::Granted;
use crate::worktree::plan::{Extras, Plan};

/// Among the journal's other fields.
pub(super) const FIELD: &str = "access";

/// Puts what a plan gives among a journal's other fields. `now`: who may use what is there.
///
/// # Errors
/// The list cannot be written down.
pub(super) fn note(
    (plan, granted): (&Plan, Granted<'_>),
    now: &AccessList,
    extra: &mut Map<String, Value>,
) -> Result<()> {
    let files = plan.entries.iter().filter(|entry| entry.after.is_some());
    let files = files.map(|entry| (&entry.path, entry.before.is_some()));
    let dirs = plan.dirs.iter();
    let dirs = dirs.filter(|dir| dir.after.is_some() && !plan.unrecorded.contains(&dir.path));
    let dirs = dirs.map(|dir| (&dir.path, dir.before.is_some()));
    let mut paths = BTreeMap::new();
    for (path, is_there) in files.chain(dirs) {
        // What is made where nothing was, and of which nothing was said, is as usual on its side.
        let given = if is_there {
            granted.of(path)
        } else {
            granted.named(path)
        };
        let Some(given) = given else {
            continue;
        };
        let now = now.of(path).filter(|_| is_there);
        if now.is_none_or(|now| !now.is_as(&given)) {
            paths.insert(path.clone(), given.into_owned());
        }
    }
    if !paths.is_empty() {
        let mut list = AccessList::of_paths(paths);
        list.ids = IdMaps::here().map(ToString::to_string);
        let list = serde_json::from_slice(&encode(&list)).map_err(|_| damaged())?;
        extra.insert(FIELD.into(), list);
    }
    Ok(())
}

/// What a journal says that its swap gives, by path.
///
/// # Errors
/// `CORRUPT_RECORD`; `NEWER_RECORD`.
pub fn read(journal: &Journal) -> Result<BTreeMap<Vec<u8>, Access>> {
    let Some(list) = journal.extra.get(FIELD) else {
        return Ok(BTreeMap::new());
    };
    let list = decode(list.to_string().as_bytes(), &journal.swap_id)?.known_here();
    if list.paths.keys().all(|path| path::is_safe(path)) {
        Ok(list.paths)
    } else {
        Err(damaged())
    }
}

/// Has a recovery that ends a swap give what its journal says. A journal may have come with somebody else's copy of the repository, and gives
/// nothing that the swap's backup may not: then the permission bits keep out whom an ACL would have kept out.
///
/// # Errors
/// As [`read`]; it cannot be told whether this machine made the backup.
pub(super) fn give(
    (store, journal, backup): (&Store, &Journal, &Stored),
    saved: &mut Extras,
    changes: &mut PathChanges,
) -> Result<()> {
    let given = read(journal)?;
    if store.made(backup.commit)? == Made::Here {
        saved.access.paths.extend(given);
        return Ok(());
    }
    let closed = |path: &[u8], bits: &mut u32| {
        let without = given.get(path);
        *bits = without
            .and_then(|access| access.bits_without_acl(*bits))
            .unwrap_or(*bits);
    };
    for (path, side) in &mut changes.paths {
        if let Some(side) = side {
            closed(path, &mut side.perm);
        }
    }
    for (path, bits) in &mut changes.dirs {
        if let Some(bits) = bits {
            closed(path, bits);
        }
    }
    Ok(())
}

/// The entries of the field in a journal that is only read as JSON.
pub(super) fn entries(journal: &mut Value) -> Option<&mut Vec<Value>> {
    journal.get_mut(FIELD)?.get_mut("paths")?.as_array_mut()
}

fn damaged() -> Error {
    Error::new(
        Code::CorruptRecord,
        "the journal's access list is not well formed",
    )
}
