//! The random ids that tell repositories, and linked worktrees of one name, from each other.
//!
//! Names repeat: every clone has a `main`, and a linked worktree may be removed and another one added under its name. The main
//! worktree has no id of its own: a repository never has another. And what tells a git directory from its copies, which have its id.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::state::StateDir;
use super::{Store, state};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{self, Durable};
use crate::git::hex::hex;
use crate::git::private::Identity;
use crate::git::random;

/// The file in a linked worktree's `timewarp` directory.
pub const WORKTREE_ID: &str = "worktree-id";
/// How many random bytes an id has.
const LENGTH: usize = 16;

/// What tells this git directory from every copy of it. It stays with one that is moved within its file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A word or a few for it.
    pub key: String,
    /// Since when it is there, in seconds since the epoch.
    pub since: i64,
}

impl Store {
    /// Where the repository is.
    ///
    /// # Errors
    /// The git directory cannot be looked at; where nothing tells when that was made, the repository's id cannot, or there is none yet.
    pub fn place(&self) -> Result<Place> {
        let identity = Identity::of(self.repo.common_dir())?;
        let key = identity.key();
        if let Some(since) = identity.since() {
            return Ok(Place { key, since });
        }
        // The id is written once: what the system noted of that then, nobody can give a copy.
        let id = self.common("id");
        let meta = id
            .symlink_metadata()
            .context(|| format!("cannot look at '{}'", id.display()))?;
        let (inode, since) = (meta.ino(), meta.ctime());
        let key = format!("{key} {inode} {since} {}", meta.ctime_nsec());
        Ok(Place { key, since })
    }

    /// The repository's random id; `None` before anything was recorded.
    pub fn repository_id(&self) -> Result<Option<String>> {
        read(&self.common("id"))
    }

    /// The repository's random id, made when there is none yet.
    pub fn ensure_repository_id(&self) -> Result<String> {
        if let Some(id) = self.repository_id()? {
            return Ok(id);
        }
        match make(&self.common("id"))? {
            Some(id) => self.note_boot().map(|()| id),
            None => Ok(self.repository_id()?.unwrap_or_default()),
        }
    }

    /// The random id of this linked worktree; `None` before anything was recorded in it, and for the main one.
    pub fn worktree_id(&self) -> Result<Option<String>> {
        if !self.repo.is_linked_worktree() {
            return Ok(None);
        }
        worktree_id_in(&self.dir)
    }

    /// The random id of this linked worktree, made when there is none yet; `None` for the main one.
    pub fn ensure_worktree_id(&self) -> Result<Option<String>> {
        if !self.repo.is_linked_worktree() {
            return Ok(None);
        }
        if let Some(id) = self.worktree_id()? {
            return Ok(Some(id));
        }
        match make(&self.dir.file(WORKTREE_ID))? {
            Some(id) => Ok(Some(id)),
            None => self.worktree_id(),
        }
    }
}

/// The random id of the linked worktree whose directory it is; `None` before anything was recorded in it.
///
/// # Errors
/// It cannot be read.
pub fn worktree_id_in(dir: &StateDir) -> Result<Option<String>> {
    read(&dir.file(WORKTREE_ID))
}

fn read(file: &Path) -> Result<Option<String>> {
    let bytes = fs::read_optional(file).map_err(|error| state::with_way_in(error, file))?;
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    // Whatever else stands there would make strangers of all records that are ours.
    let id = parse(&bytes).ok_or_else(|| {
        let message = format!("cannot read '{}': it holds no id", file.display());
        Error::new(Code::CorruptRecord, message).hint("run 'tw recover'")
    })?;
    Ok(Some(id))
}

/// The id that a file holds; `None` when it is not as it is written: 32 hex digits.
pub fn parse(bytes: &[u8]) -> Option<String> {
    let id = bytes.trim_ascii();
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_id = id.len() == 2 * LENGTH && id.iter().all(is_digit);
    is_id.then(|| String::from_utf8_lossy(id).into_owned())
}

/// Makes an id; None where another process was first.
fn make(file: &Path) -> Result<Option<String>> {
    if let Some(dir) = file.parent() {
        create::private_dir(dir)?;
    }
    let mut bytes = [0u8; LENGTH];
    random::fill(&mut bytes)?;
    let id = hex(&bytes);
    // Of two that race, the first one's file stays: the link fails for the second.
    // Written whole under another name first: nobody ever reads half an id.
    let temp = file.with_extension(std::process::id().to_string());
    fs::write_atomic(&temp, format!("{id}\n").as_bytes(), Durable::Yes)?;
    let linked = std::fs::hard_link(&temp, file);
    fs::remove_optional(&temp)?;
    match linked {
        Ok(()) => Ok(Some(id)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error).context(|| format!("cannot write '{}'", file.display())),
    }
}
