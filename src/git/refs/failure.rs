//! Why a transaction was refused.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Code, Error};
use crate::git::Oid;

/// A transaction that did not happen: the ref it failed on, and the reason.
#[derive(Debug)]
pub struct TransactionError {
    /// The full ref name.
    pub name: String,
    /// What stood against it.
    pub reason: Reason,
    /// Refs already changed that could not be taken back. Empty but for a disk that fails twice or a stale lock.
    pub left_behind: Vec<String>,
}

/// What stood against a change of one ref.
#[derive(Debug)]
pub enum Reason {
    /// It was to be made and is there. `found` is None when it is symbolic.
    Exists {
        /// What it names.
        found: Option<Oid>,
    },
    /// It is not what it was said to be. `found` is None when it is gone.
    Changed {
        /// The old value that was stated.
        expected: Oid,
        /// The value now.
        found: Option<Oid>,
    },
    /// Another process holds the lock, or died holding it.
    Locked {
        /// The lock file.
        lock: PathBuf,
    },
    /// A ref cannot stand beside one whose name is a directory of its own.
    Conflict {
        /// The other ref, or directory.
        with: String,
    },
    /// No valid name below `refs/`, or named twice in one transaction.
    Name,
    /// Reading or writing failed, or a ref is broken.
    Io(Error),
}

impl TransactionError {
    pub(super) fn new(name: &str, reason: Reason) -> Self {
        Self {
            name: name.to_owned(),
            reason,
            left_behind: Vec::new(),
        }
    }

    /// Whether somebody else was first, so that reading again and trying again may help.
    pub fn is_lost_race(&self) -> bool {
        matches!(self.reason, Reason::Exists { .. } | Reason::Changed { .. })
    }

    /// The error, without the ref where it was what the ref was to hold that could not be had.
    pub fn of_objects(self) -> Error {
        match self.reason {
            Reason::Io(error) if matches!(error.code(), Code::CorruptRecord | Code::Usage) => error,
            _ => self.into(),
        }
    }
}

impl fmt::Display for TransactionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot change ref '{}': ", self.name)?;
        match &self.reason {
            Reason::Exists { .. } => f.write_str("it exists already"),
            Reason::Changed {
                expected,
                found: Some(found),
            } => write!(f, "it is at {found} but expected {expected}"),
            Reason::Changed {
                expected,
                found: None,
            } => write!(f, "it is gone but expected {expected}"),
            Reason::Locked { lock } => write!(f, "'{}' is held by another process", lock.display()),
            Reason::Conflict { with } => write!(f, "'{with}' is in the way"),
            Reason::Name => f.write_str("not a valid name here"),
            Reason::Io(error) => error.fmt(f),
        }?;
        if !self.left_behind.is_empty() {
            write!(f, " (left in place: {})", self.left_behind.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for TransactionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<TransactionError> for Error {
    fn from(failure: TransactionError) -> Self {
        let code = match &failure.reason {
            Reason::Exists { .. } | Reason::Changed { .. } | Reason::Locked { .. } => Code::Busy,
            Reason::Conflict { .. } | Reason::Name => Code::Io,
            Reason::Io(error) => error.code(),
        };
        Self::new(code, failure.to_string()).caused_by(failure)
    }
}
