//! What must hold before a transaction may write: names, old values, and no ref where another needs a directory.

use std::collections::{HashMap, HashSet};

use crate::error::{Code, Error};
use crate::git::Oid;

use super::failure::{Reason, TransactionError};
use super::loose::{self, Value};
use super::packed::Packed;
use super::rewrite::Rewrite;
use super::transaction::{Change, Edit};
use super::{Refs, is_ours_to_name};

/// Checks edits against one version of `packed-refs`, opened after the locks were taken: a locked ref's loose file
/// cannot go (`git pack-refs` prunes under the same lock), so the two together are its true value.
pub(super) struct Check<'a> {
    refs: &'a Refs,
    packed: Packed,
    /// The packed values of all refs of the transaction, when it read the whole file anyway.
    known: Option<HashMap<String, Oid>>,
    /// Directories already found free of refs.
    directories: HashSet<String>,
}

impl<'a> Check<'a> {
    pub(super) fn new(
        refs: &'a Refs,
        rewrite: Option<&Rewrite>,
        edits: &[Edit],
    ) -> Result<Self, TransactionError> {
        let first = edits.first().map_or("", |edit| edit.name.as_str());
        let open = || -> Result<Self, Error> {
            let names: HashSet<&str> = edits.iter().map(|edit| edit.name.as_str()).collect();
            Ok(Self {
                refs,
                packed: Packed::open(&refs.common_dir)?,
                known: rewrite.map(|all| all.values(&names)).transpose()?,
                directories: HashSet::new(),
            })
        };
        open().map_err(|error| TransactionError::new(first, Reason::Io(error)))
    }

    /// Refuses names that are invalid, stand twice, or lie one below the other.
    pub(super) fn names(edits: &[Edit]) -> Result<(), TransactionError> {
        let mut seen = HashSet::new();
        for Edit { name, .. } in edits {
            if !is_ours_to_name(name) || !seen.insert(name.as_str()) {
                return Err(TransactionError::new(name, Reason::Name));
            }
        }
        for Edit { name, .. } in edits {
            if let Some(above) = above(name).find(|above| seen.contains(above)) {
                let with = above.to_owned();
                return Err(TransactionError::new(name, Reason::Conflict { with }));
            }
        }
        Ok(())
    }

    /// Checks one edit.
    pub(super) fn edit(&mut self, edit: &Edit) -> Result<(), TransactionError> {
        let name = &edit.name;
        match edit.change {
            Change::Create { .. } => self.create(name),
            Change::Update { old, .. } | Change::Delete { old: Some(old) } => {
                let value = self.value(name).map_err(Reason::Io);
                value.and_then(|value| equals(name, value, old))
            }
            Change::Delete { old: None } => Ok(()),
            Change::Verify { oid } => return Self::holds(self.refs, name, oid),
        }
        .map_err(|reason| TransactionError::new(name, reason))
    }

    /// Checks that a ref which is not locked is `oid` now.
    pub(super) fn holds(refs: &Refs, name: &str, oid: Oid) -> Result<(), TransactionError> {
        refs.read_value(name)
            .map_err(Reason::Io)
            .and_then(|value| equals(name, value, oid))
            .map_err(|reason| TransactionError::new(name, reason))
    }

    fn create(&mut self, name: &str) -> Result<(), Reason> {
        match self.value(name).map_err(Reason::Io)? {
            Some(Value::Direct(oid)) => Err(Reason::Exists { found: Some(oid) }),
            Some(Value::Symbolic(_)) => Err(Reason::Exists { found: None }),
            None => match self.in_the_way(name).map_err(Reason::Io)? {
                Some(with) => Err(Reason::Conflict { with }),
                None => Ok(()),
            },
        }
    }

    fn value(&mut self, name: &str) -> Result<Option<Value>, Error> {
        if let Some(value) = loose::read(&self.refs.path(name), name)? {
            return Ok(Some(value));
        }
        let packed = match &self.known {
            Some(known) => known.get(name).copied(),
            None => self.packed.find(name)?,
        };
        Ok(packed.map(Value::Direct))
    }

    /// A ref above or below `name`. Loose ones above need no look: the lock stands in a directory.
    fn in_the_way(&mut self, name: &str) -> Result<Option<String>, Error> {
        for above in above(name) {
            if !self.directories.contains(above) {
                if self.packed.find(above)?.is_some() {
                    return Ok(Some(above.to_owned()));
                }
                self.directories.insert(above.to_owned());
            }
        }
        let below = format!("{name}/");
        let loose = self.refs.loose_names(&below)?.into_iter().next();
        match loose {
            Some(loose) => Ok(Some(loose)),
            None => self.packed.first(&below),
        }
    }
}

/// The names above `name` that could be refs: `refs/a` and `refs/a/b` for `refs/a/b/c`.
pub(super) fn above(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/')
        .skip(1)
        .filter_map(|(at, _)| name.get(..at))
}

pub(super) fn equals(name: &str, value: Option<Value>, expected: Oid) -> Result<(), Reason> {
    let found = match value {
        Some(Value::Direct(oid)) => Some(oid),
        Some(Value::Symbolic(target)) => {
            let message = format!("ref '{name}' is symbolic (to '{target}')");
            return Err(Reason::Io(Error::new(Code::CorruptRecord, message)));
        }
        None => None,
    };
    if found == Some(expected) {
        Ok(())
    } else {
        Err(Reason::Changed { expected, found })
    }
}
