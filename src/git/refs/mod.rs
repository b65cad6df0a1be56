//! Bare ref primitives on both of git's backends.
//!
//! Owns reading, listing and changing refs by name, and transactions that lock as git locks and state the old values: in
//! loose files and `packed-refs`, or in the stacks of `reftable`, whichever the repository has. [`Refs`] is the one
//! place that decides between them. Promises to cost the same with ten refs and ten thousand, to start no hook and to
//! write no reflog but HEAD's. Leaves out refs of other worktrees (`worktrees/<name>/…`) and
//! `core.sharedRepository`'s modes.

mod check;
mod failure;
mod holding;
mod lock;
mod loose;
mod name;
mod pack;
mod packed;
mod reftable;
mod rewrite;
#[cfg(test)]
pub(in crate::git) mod sandbox;
mod stacks;
mod transaction;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::liveness::Dead;
use crate::git::threads;

pub use failure::{Reason, TransactionError};
pub(in crate::git) use loose::Value;
pub use name::{is_valid_component, is_valid_name};
use packed::Packed;
pub(in crate::git) use reftable::LogEntry;
use stacks::Stacks;
pub(in crate::git) use stacks::{OwnChange, head_of};
pub use transaction::{Prepared, Transaction};

/// How many symbolic refs are followed before it is called a loop; git's own limit.
const MAX_DEPTH: usize = 5;

/// The directories under `refs/` that each worktree has for itself.
const PER_WORKTREE: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// The object a ref itself names, while it can be read: one that a power cut left empty keeps nothing alive, like one that is gone,
/// nor does a symbolic one.
///
/// # Errors
/// The disk refuses.
pub fn standing(refs: &Refs, name: &str) -> Result<Option<Oid>> {
    match refs.read_direct(name) {
        Err(error) if error.code() == Code::CorruptRecord => Ok(None),
        read => read,
    }
}

/// The refs of a repository, seen from one worktree. Keeps nothing open but tables, which never change, and nothing in
/// memory, so it can be shared by threads and never shows an old state.
#[derive(Debug, Clone)]
pub struct Refs {
    common_dir: PathBuf,
    git_dir: PathBuf,
    /// Where the repository has its refs in the reftable format.
    stacks: Option<Stacks>,
}

/// How a repository keeps its refs: `extensions.refStorage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RefFormat {
    /// A file for each, and `packed-refs`.
    #[default]
    Files,
    /// Tables of them.
    Reftable,
}

impl Refs {
    /// The refs under `common_dir`, with HEAD and the per-worktree refs under `git_dir`.
    pub fn new(
        common_dir: impl Into<PathBuf>,
        git_dir: impl Into<PathBuf>,
        format: RefFormat,
    ) -> Self {
        let (common_dir, git_dir) = (common_dir.into(), git_dir.into());
        let stacks = match format {
            RefFormat::Files => None,
            RefFormat::Reftable => Some(Stacks::of(&common_dir, &git_dir)),
        };
        Self {
            common_dir,
            git_dir,
            stacks,
        }
    }

    /// How they are kept.
    pub fn format(&self) -> RefFormat {
        match self.stacks {
            None => RefFormat::Files,
            Some(_) => RefFormat::Reftable,
        }
    }

    /// The object a ref names, symbolic refs followed. None: there is no such ref, or `name` could name none.
    ///
    /// # Errors
    /// `CorruptRecord` when the ref's file or `packed-refs` cannot be understood.
    pub fn read(&self, name: &str) -> Result<Option<Oid>> {
        let mut at = Cow::Borrowed(name);
        for _ in 0..=MAX_DEPTH {
            match self.read_value(&at)? {
                None => return Ok(None),
                Some(Value::Direct(oid)) => return Ok(Some(oid)),
                Some(Value::Symbolic(target)) => at = Cow::Owned(target),
            }
        }
        let message = format!("ref '{name}' leads through too many symbolic refs");
        Err(Error::new(Code::CorruptRecord, message))
    }

    /// The names that begin with `prefix`, sorted, each once. No ref file is opened: a name may turn out to be broken
    /// or gone. Lock files and names that git would not take are left out.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>> {
        if let Some(stacks) = &self.stacks {
            let refs = stacks.list(prefix)?;
            return Ok(refs.into_iter().map(|(name, _)| name).collect());
        }
        let mut names = self.loose_names(prefix)?;
        self.each_packed(prefix, |name| names.push(name.to_owned()))?;
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Calls `see` with the names that begin with `prefix`, in no order; one may come twice.
    ///
    /// # Errors
    /// As [`Refs::names`].
    pub fn each_name(&self, prefix: &str, mut see: impl FnMut(&str)) -> Result<()> {
        if self.stacks.is_some() {
            self.names(prefix)?.iter().for_each(|name| see(name));
            return Ok(());
        }
        for name in self.loose_names(prefix)? {
            see(&name);
        }
        self.each_packed(prefix, see)
    }

    /// To be asked after the loose ones: `git pack-refs` removes a loose file only when the packed one stands.
    fn each_packed(&self, prefix: &str, mut see: impl FnMut(&str)) -> Result<()> {
        let mut packed = Packed::open(&self.common_dir)?;
        packed.each_name(prefix, |name| {
            if is_valid_name(name) {
                see(name);
            }
        })
    }

    /// The refs whose names begin with `prefix`, sorted, with the objects they name. Broken and dangling refs are left
    /// out, as `git for-each-ref` does; [`Refs::names`] has them.
    pub fn list(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let mut refs = Vec::new();
        for (name, value) in self.read_all(prefix)? {
            match value {
                Ok(oid) => refs.push((name, oid)),
                Err(error) if error.code() == Code::CorruptRecord => {}
                Err(error) => return Err(error),
            }
        }
        Ok(refs)
    }

    /// As [`Refs::list`], with broken refs among the others and what [`Refs::read`] says of them. Many loose ones are read
    /// by several threads.
    pub fn read_all(&self, prefix: &str) -> Result<Vec<(String, Result<Oid>)>> {
        if let Some(stacks) = &self.stacks {
            let refs = stacks.list(prefix)?.into_iter();
            let followed = refs.filter_map(|(name, value)| {
                let value = match value {
                    Ok(Value::Direct(oid)) => Some(Ok(oid)),
                    Ok(Value::Symbolic(_)) => self.read(&name).transpose(),
                    Err(error) => Some(Err(error)),
                };
                Some((name, value?))
            });
            return Ok(followed.collect());
        }
        let loose = self.loose_names(prefix)?;
        let values = threads::map(&loose, |name| loose::read(&self.path(name), name));
        // After the loose ones, as in `names`.
        let packed = Packed::open(&self.common_dir)?.list(prefix)?;
        let packed = packed.into_iter().map(|(name, oid)| (name, Some(Ok(oid))));
        let mut refs: BTreeMap<String, Option<Result<Oid>>> =
            packed.filter(|(name, _)| is_valid_name(name)).collect();
        for (name, value) in loose.into_iter().zip(values) {
            let value = match value {
                // Packed, or deleted, since its directory was read.
                Ok(None) => continue,
                Ok(Some(Value::Direct(oid))) => Some(Ok(oid)),
                Ok(Some(Value::Symbolic(_))) => self.read(&name).transpose(),
                Err(error) => Some(Err(error)),
            };
            refs.insert(name, value);
        }
        let there = refs.into_iter();
        Ok(there
            .filter_map(|(name, value)| Some((name, value?)))
            .collect())
    }

    /// When a ref was written at the latest, in seconds, as far as its own file or table says it; `packed-refs` says nothing.
    pub fn written_at(&self, name: &str) -> Option<i64> {
        match &self.stacks {
            Some(stacks) => stacks.of_name(name).view().ok()?.written_at(name),
            None => Some(self.path(name).metadata().ok()?.mtime()),
        }
    }

    /// The locks that the dead left on refs, and on what holds many of them.
    ///
    /// # Errors
    /// A directory that may hold one cannot be read.
    pub fn locks_of(&self, dead: &Dead) -> Result<Vec<PathBuf>> {
        lock::locks_of(&self.common_dir, dead)
    }

    /// Removes the locks that the dead left on refs and on `packed-refs`.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn clear_locks_of(&self, dead: &Dead) -> Result<()> {
        lock::clear_locks_of(&self.common_dir, dead).map(|_| ())
    }

    /// An empty transaction.
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.clone())
    }

    /// Brings a ref to disk: its file, and the directories that lead to it. When it is packed, `packed-refs`.
    ///
    /// # Errors
    /// When there is no such ref, or the disk refuses.
    pub fn sync(&self, name: &str) -> Result<()> {
        if let Some(stacks) = &self.stacks {
            return match self.read_value(name)? {
                Some(_) => reftable::sync(stacks.of_name(name)),
                None => Err(Error::new(Code::Io, format!("ref '{name}' not found"))),
            };
        }
        let file = match crate::git::regular::open(self.path(name)) {
            Err(error) if loose::is_absent(&error) && self.read(name)?.is_some() => {
                crate::git::regular::open(self.common_dir.join("packed-refs"))
            }
            other => other,
        };
        file.and_then(|file| file.sync_all())
            .context(|| format!("syncing ref '{name}'"))?;
        self.sync_directories(name)
    }

    /// Syncs the directory of a ref's file and those above it.
    fn sync_directories(&self, name: &str) -> Result<()> {
        let base = self.base(name);
        let mut at = name;
        loop {
            at = at.rsplit_once('/').map_or("", |(dir, _)| dir);
            match crate::git::fs::sync_dir(&base.join(at)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::from(error).while_doing(format!("syncing '{at}'")));
                }
                _ if at.is_empty() => return Ok(()),
                _ => {}
            }
        }
    }

    /// The object that the ref itself names; None also when it is symbolic.
    ///
    /// # Errors
    /// As [`Refs::read`].
    pub fn read_direct(&self, name: &str) -> Result<Option<Oid>> {
        Ok(match self.read_value(name)? {
            Some(Value::Direct(oid)) => Some(oid),
            Some(Value::Symbolic(_)) | None => None,
        })
    }

    /// What the ref itself says, symbolic refs not followed.
    pub(in crate::git) fn read_value(&self, name: &str) -> Result<Option<Value>> {
        if !(is_ours_to_name(name) || name::is_root_name(name)) {
            return Ok(None);
        }
        if let Some(stacks) = self.stacks.as_ref().filter(|_| !is_file_always(name)) {
            return stacks.of_name(name).view()?.find(name);
        }
        if let Some(value) = loose::read(&self.path(name), name)? {
            return Ok(Some(value));
        }
        let packed = Packed::open(&self.common_dir)?.find(name)?;
        Ok(packed.map(Value::Direct))
    }

    fn loose_names(&self, prefix: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let dir = match prefix.rfind('/') {
            Some(at) if prefix.starts_with("refs/") => &prefix[..=at],
            None if "refs/".starts_with(prefix) => "refs/",
            _ => return Ok(names),
        };
        let mut parts = dir.trim_end_matches('/').split('/');
        if dir.ends_with("//") || !parts.all(is_valid_component) {
            return Ok(names);
        }
        loose::walk(&self.common_dir, dir, prefix, &mut names)?;
        // Those in the common directory are the main worktree's own.
        names.retain(|name| !is_per_worktree(name));
        for own in PER_WORKTREE {
            if dir.starts_with(own) {
                loose::walk(&self.git_dir, dir, prefix, &mut names)?;
            } else if own.starts_with(prefix) {
                loose::walk(&self.git_dir, own, prefix, &mut names)?;
            }
        }
        Ok(names)
    }

    /// Opens a change of what this worktree has for itself. None: in the files backend these are files.
    ///
    /// # Errors
    /// `BUSY` when somebody else holds the refs.
    pub(in crate::git) fn change_own(&self) -> Result<Option<OwnChange>> {
        let stacks = self.stacks.as_ref();
        stacks
            .map(|stacks| OwnChange::begin(self, stacks))
            .transpose()
    }

    /// The log of a ref, oldest entry first. None: in the files backend it is a file.
    ///
    /// # Errors
    /// A table is damaged.
    pub(in crate::git) fn log(&self, name: &str) -> Result<Option<Vec<LogEntry>>> {
        let stacks = self.stacks.as_ref();
        let view = stacks
            .map(|stacks| stacks.of_name(name).view())
            .transpose()?;
        view.map(|view| view.log(name)).transpose()
    }

    /// The file of a ref whose name has been checked.
    fn path(&self, name: &str) -> PathBuf {
        self.base(name).join(name)
    }

    fn base(&self, name: &str) -> &Path {
        if is_common(name) {
            &self.common_dir
        } else {
            &self.git_dir
        }
    }
}

/// Whether git keeps this one as a file whatever the format: it may say more than a ref can.
fn is_file_always(name: &str) -> bool {
    matches!(name, "FETCH_HEAD" | "MERGE_HEAD")
}

/// Whether git keeps `name`, which stands beside HEAD, as a ref and not as a file of another meaning: the rules of git's
/// `is_root_ref`.
pub(in crate::git) fn is_root_ref(name: &str) -> bool {
    let irregular = [
        "AUTO_MERGE",
        "BISECT_EXPECTED_REV",
        "MERGE_AUTOSTASH",
        "NOTES_MERGE_PARTIAL",
        "NOTES_MERGE_REF",
    ];
    name::is_root_name(name)
        && !is_file_always(name)
        && (name == "HEAD" || name.ends_with("_HEAD") || irregular.contains(&name))
}

/// Whether `name` is a valid ref name below `refs/`.
fn is_ours_to_name(name: &str) -> bool {
    name.starts_with("refs/") && is_valid_name(name)
}

/// Whether all worktrees have the ref of this name together.
fn is_common(name: &str) -> bool {
    name.starts_with("refs/") && !is_per_worktree(name)
}

/// Whether each worktree has its own ref of this name (`gitrepository-layout(5)`).
pub(in crate::git) fn is_per_worktree(name: &str) -> bool {
    PER_WORKTREE.iter().any(|own| name.starts_with(own))
}

#[cfg(test)]
mod tests;
