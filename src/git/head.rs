//! HEAD as a swap needs it: its raw bytes read and put back, its reflog, who else is on a branch, where a nested repository stands.
//!
//! The caller holds `HEAD.lock`; nothing here takes it. Where HEAD is in a reftable, which that lock does not keep others
//! from, it is compared and put in one step: [`super::refs`] says why. No branch is ever moved.

use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Oid;
use super::create;
use super::fs::{
    Durable, entries, is_there, read_optional, remove_optional, sync_parent, write_atomic_with_mode,
};
use super::objects::{ObjectKind, ObjectStore, PartOfId};
use super::path;
use super::reflog;
use super::refs::{LogEntry, OwnChange, RefFormat, Refs, Value, head_of};
use super::regular::{self, Links};
use super::repo::{Repo, git_dirs_of};
use crate::env::Moment;
use crate::error::{Code, Error, Result, ResultExt};

impl Repo {
    /// The bytes of this worktree's HEAD file. For one that is a symlink, as old versions of git made it: `symlink: ` and
    /// where it leads. Of one in a reftable, what the file would be.
    pub fn raw_head(&self) -> Result<String> {
        if self.refs().format() == RefFormat::Reftable {
            return Ok(raw_text(self.refs().read_value("HEAD")?));
        }
        let raw = raw_head_in(self.git_dir())?;
        String::from_utf8(raw).map_err(|error| not_utf8("HEAD", error.as_bytes()))
    }

    /// Puts HEAD's bytes in place, whole, and when `log` is given tells its reflog so. The caller holds `HEAD.lock`.
    ///
    /// # Errors
    /// `BUSY` when HEAD is not `before` any more; nothing has changed then.
    pub fn move_head(
        &self,
        before: Option<&str>,
        after: &str,
        log: Option<(Moment, &str)>,
    ) -> Result<()> {
        if let Some(change) = self.refs().change_own()? {
            return self.move_reftable_head(change, before, after, log);
        }
        if before.is_some_and(|before| self.raw_head().is_ok_and(|now| now != before)) {
            return Err(moved_meanwhile());
        }
        let Some((at, message)) = log else {
            return self.write_raw_head(after);
        };
        let mut old = self.head_target()?;
        if before.is_none() && self.raw_head()? == after {
            // It was moved by somebody who died before the log said so: it goes on from where that ends.
            old = reflog::read(self).last().map(|last| last.new).or(old);
        }
        self.write_raw_head(after)?;
        self.append_head_reflog(old, self.head_target()?, at, message)
    }

    fn move_reftable_head(
        &self,
        mut change: OwnChange,
        before: Option<&str>,
        after: &str,
        log: Option<(Moment, &str)>,
    ) -> Result<()> {
        let now = change.find("HEAD")?;
        let commit = |value: &Option<Value>| match value {
            Some(Value::Direct(oid)) => Ok(Some(*oid)),
            Some(Value::Symbolic(name)) => match self.refs().read(name) {
                Err(error) if error.code() == Code::CorruptRecord => Ok(None),
                read => read,
            },
            None => Ok(None),
        };
        let old = commit(&now)?;
        let now = raw_text(now);
        if before.is_some_and(|before| now != before) {
            return Err(moved_meanwhile());
        }
        let text = after.trim_end();
        let value = match text.strip_prefix("ref: ").or(text.strip_prefix(SYMLINK)) {
            Some(name) => Value::Symbolic(name.to_owned()),
            None => Value::Direct(Oid::from_hex(text)?),
        };
        let value = Some(value);
        // git goes on with a log that is there, whatever the setting says now.
        if let Some((at, message)) = log
            && (self.logs_refs() || change.has_log("HEAD")?)
        {
            let entry = LogEntry {
                old,
                new: commit(&value)?,
                at: at.seconds(),
                message: message.to_owned(),
            };
            change.log("HEAD", entry);
        }
        if now != after {
            change.put("HEAD", value);
        }
        change.commit()
    }

    /// Takes HEAD's reflog away, in a worktree that was just made.
    pub fn forget_head_reflog(&self) -> Result<()> {
        if let Some(mut change) = self.refs().change_own()? {
            change.forget_log("HEAD");
            return change.commit();
        }
        remove_optional(&self.git_dir().join("logs/HEAD"))
    }

    fn logs_refs(&self) -> bool {
        self.config_bool("core.logAllRefUpdates").ok().flatten() != Some(false)
    }

    fn write_raw_head(&self, text: &str) -> Result<()> {
        let path = self.git_dir().join("HEAD");
        if let Some(target) = text.strip_prefix(SYMLINK) {
            return put_symlink(target.trim_end(), &path)
                .context(|| format!("cannot write '{}'", path.display()));
        }
        let old = path.symlink_metadata().ok().filter(Metadata::is_file);
        let mode = old.map_or(0o644, |meta| meta.mode() & 0o777);
        write_atomic_with_mode(&path, text.as_bytes(), Durable::Yes, mode)
    }

    fn append_head_reflog(
        &self,
        old: Option<Oid>,
        new: Option<Oid>,
        at: Moment,
        message: &str,
    ) -> Result<()> {
        let path = self.git_dir().join("logs/HEAD");
        // git goes on with a log that is there, whatever the setting says now.
        if !is_there(&path)? && !self.logs_refs() {
            return Ok(());
        }
        let zero = self.object_format().null();
        let line = format!(
            "{} {} timewarp <timewarp@localhost> {} +0000\t{message}\n",
            old.unwrap_or(zero),
            new.unwrap_or(zero),
            at.seconds()
        );
        let what = || format!("cannot write '{}'", path.display());
        if let Some(dir) = path.parent() {
            create::dirs(dir, 0o777).context(what)?;
        }
        let mut file = regular::append(&path, 0o644, Links::Follow).context(what)?;
        file.write_all(line.as_bytes()).context(what)
    }

    /// The worktree, other than this one, whose HEAD is on `branch`; also one that rebases or bisects it, or moves it with a rebase of
    /// another one. A bare repository's HEAD is no checkout.
    pub fn checked_out_elsewhere(&self, branch: &str) -> Result<Option<PathBuf>> {
        let mut dirs = Vec::new();
        if !self.is_bare()? {
            dirs.push(self.common_dir().to_owned());
        }
        dirs.extend(entries(&self.common_dir().join("worktrees"))?);
        for dir in dirs {
            if dir != self.git_dir() && self.is_on_branch(&dir, branch)? {
                return Ok(Some(dir));
            }
        }
        Ok(None)
    }

    /// HEAD's commit of a repository nested at `path` in the working tree, read from its files alone.
    pub fn nested_head(&self, path: &[u8]) -> Option<Oid> {
        use std::os::unix::ffi::OsStrExt;
        let dir = self.worktree_root().join(std::ffi::OsStr::from_bytes(path));
        let (git_dir, common) = git_dirs_of(&dir)?;
        let format = match head_of(&git_dir) {
            Some(_) => RefFormat::Reftable,
            None => RefFormat::Files,
        };
        let refs = Refs::new(common, git_dir, format);
        refs.read("HEAD").ok().flatten()
    }
}

/// How the text of a HEAD begins that is a symlink.
pub const SYMLINK: &str = "symlink: ";

fn raw_head_in(git_dir: &Path) -> Result<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let path = git_dir.join("HEAD");
    match std::fs::read_link(&path) {
        Ok(target) => Ok([SYMLINK.as_bytes(), target.as_os_str().as_bytes(), b"\n"].concat()),
        Err(_) => Ok(read_optional(&path)?.unwrap_or_default()),
    }
}

/// Puts a symlink in place, whole. The caller holds the lock of `path`.
fn put_symlink(target: &str, path: &Path) -> std::io::Result<()> {
    let temp = path.with_extension("tw-link");
    // One left by a process that died under this lock.
    let _ = std::fs::remove_file(&temp);
    std::os::unix::fs::symlink(target, &temp)?;
    create::settle_link(&temp)?;
    std::fs::rename(&temp, path)?;
    sync_parent(path)
}

/// HEAD as the bytes of a file, where there is none.
fn raw_text(head: Option<Value>) -> String {
    match head {
        Some(Value::Direct(oid)) => format!("{oid}\n"),
        Some(Value::Symbolic(name)) => format!("ref: {name}\n"),
        None => String::new(),
    }
}

/// What is said of a ref that names another one which is no text. A name of ours is one.
pub(super) fn not_utf8(name: &str, target: &[u8]) -> Error {
    let target = target.strip_prefix(b"ref: ").unwrap_or(target);
    let shown = path::display(target.trim_ascii_end());
    let message = format!("{name} names the ref '{shown}', which is not UTF-8");
    let error = Error::new(Code::UnsupportedRepository, message);
    if name == "HEAD" {
        error.hint("'git checkout --detach' leaves that branch, with files and index as they are; 'git branch -m NAME' gives it another name")
    } else {
        error
    }
}

fn moved_meanwhile() -> Error {
    Error::new(Code::Busy, "HEAD was moved by somebody else meanwhile")
        .hint("wait for the git command that runs here")
}

impl Repo {
    /// Whether the worktree with this git directory is on a branch, rebases or bisects it, or moves it when its rebase ends.
    fn is_on_branch(&self, git_dir: &Path, branch: &str) -> Result<bool> {
        let line = |name: &str| -> Result<Option<String>> {
            let bytes = read_optional(&git_dir.join(name))?;
            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
        };
        let refs = Refs::new(self.common_dir(), git_dir, self.refs().format());
        let head = match refs.format() {
            RefFormat::Reftable => raw_text(refs.read_value("HEAD")?).into_bytes(),
            RefFormat::Files => raw_head_in(git_dir)?,
        };
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        let on = |prefix: &str| head.strip_prefix(prefix) == Some(branch);
        let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        Ok(on("ref: ")
        || on(SYMLINK)
        || line("rebase-merge/head-name")?.as_deref() == Some(branch)
        || line("rebase-apply/head-name")?.as_deref() == Some(branch)
        // git writes a branch without `refs/heads/` there.
        || line("BISECT_START")?.as_deref() == Some(short)
        // Of each branch that the rebase will move three lines: its name, then two commits.
        || line("rebase-merge/update-refs")?
            .is_some_and(|text| text.lines().step_by(3).any(|name| name == branch)))
    }
}

impl Repo {
    /// The commit that a full or abbreviated id, or a ref's full name, names. No other revision syntax.
    pub fn resolve_commit(&self, objects: &ObjectStore, name: &str) -> Option<NamedCommit> {
        if let Some(part) = PartOfId::parse(name.as_bytes()) {
            let oid = objects
                .resolve(part)
                .filter(|oid| objects.is_commit(*oid))?;
            return Some(NamedCommit { oid, by_ref: None });
        }
        let refs = self.refs();
        // git's order for short names, as far as a ref of ours or a tag or branch of the user's goes.
        let mut found = ["", "refs/", "refs/tags/", "refs/heads/"]
            .iter()
            .map(|prefix| format!("{prefix}{name}"))
            .filter_map(|full| Some((refs.read(&full).ok().flatten()?, full)));
        let (oid, full) = found.next()?;
        let is_direct = full.starts_with("refs/")
            && matches!(refs.read_direct(&full), Ok(Some(at)) if at == oid);
        let by_ref = is_direct.then_some(full);
        match objects.peel(oid) {
            Ok((oid, ObjectKind::Commit)) => Some(NamedCommit { oid, by_ref }),
            _ => None,
        }
    }
}

/// What a name that git knows leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCommit {
    /// The commit.
    pub oid: Oid,
    /// The ref that names it, in full, unless an id does, or HEAD or another symbolic ref.
    pub by_ref: Option<String>,
}
