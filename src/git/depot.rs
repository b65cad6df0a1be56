//! The depot: a repository of its own, beside ours, for what is exchanged with a remote.
//!
//! It holds what the remote sent and what is to go to it, and nothing else, and has no alternates. So a commit, tree or file that the
//! remote names and did not send is missing here, whatever objects our own repository has, and the fetch fails; and nothing that was
//! not put here can be sent, whatever the remote says that it has. Removing the directory forgets all of it, and touches nothing of ours.
//! A depot is there whole or not at all: its `HEAD` is written last and removed first. One that takes the place of another waits beside it, whole,
//! and is the depot from when that has no `HEAD` any more.
//!
//! Leaves out the network (`network`), which runs git here, and what the refs mean.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::create;
use super::fs::{Durable, is_there, read_optional, remove_optional, write_atomic};
use super::objects::{NewObjects, ObjectKind, ObjectStore, TakenObjects, Unheld};
use super::refs::{RefFormat, Refs, TransactionError};
use super::repo::Repo;
use super::tree;
use super::{ObjectFormat, Oid};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};

/// The file without which there is no depot.
const WRITTEN_LAST: &str = "HEAD";
/// The branch that HEAD names, which never exists.
const HEAD: &str = "ref: refs/heads/none\n";

/// One depot.
pub struct Depot {
    dir: PathBuf,
    /// Its refs.
    pub refs: Refs,
    /// Its objects.
    pub objects: ObjectStore,
}

impl Depot {
    /// Opens the depot in a directory. None: there is none.
    ///
    /// # Errors
    /// Its objects cannot be opened.
    pub fn open(dir: &Path, format: ObjectFormat) -> Result<Option<Self>> {
        let next = next(dir);
        let dir = match (is_whole(dir)?, is_whole(&next)?) {
            (true, _) => dir,
            (false, true) => &next,
            (false, false) => return Ok(None),
        };
        Ok(Some(Self {
            dir: dir.to_owned(),
            refs: Refs::new(dir, dir, RefFormat::Files),
            objects: ObjectStore::open(dir, format)?,
        }))
    }

    /// Opens it, or makes it for this repository. The caller keeps others from doing the same.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn open_or_make(repo: &Repo, dir: &Path) -> Result<Self> {
        let format = repo.object_format();
        Self::settle(dir)?;
        if let Some(there) = Self::open(dir, format)? {
            return Ok(there);
        }
        create::git_dirs(dir)?;
        let write =
            |name: &str, text: &str| write_atomic(&dir.join(name), text.as_bytes(), Durable::Yes);
        write("config", &config(repo)?)?;
        write(WRITTEN_LAST, HEAD)?;
        Self::open(dir, format)?
            .ok_or_else(|| Error::new(Code::Io, format!("'{}' was removed", dir.display())))
    }

    /// Removes the depot in a directory; none is as good.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn remove(dir: &Path) -> Result<()> {
        remove(&next(dir))?;
        remove(dir)
    }

    /// Whether somebody died while making or removing the one in a directory.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn is_unsettled(dir: &Path) -> Result<bool> {
        Ok(is_there(&next(dir))? || (is_there(dir)? && !is_whole(dir)?))
    }

    /// Ends that: what was not whole goes, and what was to take its place does; what waits beside one that is whole goes. The caller keeps others
    /// from doing the same.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn settle(dir: &Path) -> Result<()> {
        if !Self::is_unsettled(dir)? {
            return Ok(());
        }
        if is_whole(dir)? {
            return remove(&next(dir));
        }
        remove(dir)?;
        if is_there(&next(dir))? {
            rename(&next(dir), dir)?;
        }
        Ok(())
    }

    /// Forgets all but what these refs hold. It is made anew, so that not one byte of the rest stays; who dies in between has the old one or
    /// the new one.
    ///
    /// # Errors
    /// The disk refuses, or what is to stay cannot be read. Then it is as it was, or gone.
    pub fn keep_only(repo: &Repo, dir: &Path, names: &[&str]) -> Result<()> {
        let format = repo.object_format();
        Self::settle(dir)?;
        let Some(old) = Self::open(dir, format)? else {
            return Ok(());
        };
        let mut kept = Vec::new();
        for name in names {
            kept.extend(old.refs.read(name)?.map(|commit| (*name, commit)));
        }
        let place = dir.with_extension("new");
        Self::remove(&place)?;
        if kept.is_empty() {
            return Self::remove(dir);
        }
        let new = Self::open_or_make(repo, &place)?;
        let roots = kept.iter().map(|(_, commit)| (ObjectKind::Commit, *commit));
        let kept_objects = TakenObjects {
            from: &old.objects,
            roots: &roots.collect::<Vec<_>>(),
            new: &NewObjects::new(format),
            beside: None,
            most: None,
        };
        new.set_refs(&kept_objects, &kept)?;
        drop(new);
        rename(&place, &next(dir))?;
        remove(dir)?;
        fail_point("depot-removed");
        rename(&next(dir), dir)
    }

    /// Where it is: a git directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What of it was damaged here, or is lost: of the files that git needs, of its refs, and of all objects that these reach. What a remote
    /// sent came whole: it is not to blame. Of files only that they are there is looked at.
    ///
    /// # Errors
    /// Something cannot be looked at.
    pub fn damage(&self) -> Result<Option<String>> {
        for (name, needed) in [(WRITTEN_LAST, HEAD.trim_end()), ("config", "bare = true")] {
            let text = read_optional(&self.dir.join(name))?.unwrap_or_default();
            if !String::from_utf8_lossy(&text).contains(needed) {
                return Ok(Some(format!("its file '{name}' is damaged")));
            }
        }
        let mut tips = Vec::new();
        for (_, tip) in self.refs.read_all("refs/")? {
            match tip {
                Ok(tip) => tips.push(tip),
                Err(error) if error.code() == Code::CorruptRecord => {
                    return Ok(Some(error.message().to_owned()));
                }
                Err(error) => return Err(error),
            }
        }
        let lost = self.lost(tips)?;
        Ok(lost.map(|oid| format!("object {oid} is missing or damaged")))
    }

    /// An object that these reach and that is not there, or not what its name says.
    fn lost(&self, mut pending: Vec<Oid>) -> Result<Option<Oid>> {
        let mut seen = HashSet::new();
        while let Some(oid) = pending.pop() {
            if !seen.insert(oid) {
                continue;
            }
            match self.beneath(oid) {
                Ok(Some(more)) => pending.extend(more),
                Ok(None) => return Ok(Some(oid)),
                Err(error) if error.code() != Code::CorruptRecord => return Err(error),
                // What a remote sent may make no sense, and be whole.
                Err(_) if self.objects.is_intact(oid)? => {}
                Err(_) => return Ok(Some(oid)),
            }
        }
        Ok(None)
    }

    /// What an object names; None: it is not there.
    fn beneath(&self, oid: Oid) -> Result<Option<Vec<Oid>>> {
        let kind = self.objects.header(oid)?.map(|(kind, _)| kind);
        Ok(match kind {
            Some(ObjectKind::Commit) => {
                let commit = self.objects.commit(oid)?;
                Some([vec![commit.tree], commit.parents].concat())
            }
            Some(ObjectKind::Tree) => {
                let bytes = self.objects.read_tree(oid)?;
                let nodes = tree::parse_any_names(&bytes, oid.format())?.into_iter();
                let nodes = nodes.map(|entry| entry.node);
                let nodes = nodes.filter(|node| !node.is_gitlink());
                Some(nodes.map(|node| node.oid).collect())
            }
            Some(ObjectKind::Blob | ObjectKind::Tag) => Some(Vec::new()),
            // The empty tree needs no object.
            None => self.objects.read_tree(oid).ok().map(|_| Vec::new()),
        })
    }

    /// Has these refs name these commits, whatever they named; `new` goes before them.
    ///
    /// # Errors
    /// The refs or objects cannot be written.
    pub fn set_refs(&self, new: &impl Unheld, refs: &[(&str, Oid)]) -> Result<()> {
        self.set_and_delete_refs(new, refs, &[])
    }

    /// As [`Depot::set_refs`]; these other refs go afterwards, where they are there.
    ///
    /// # Errors
    /// As there.
    pub fn set_and_delete_refs(
        &self,
        new: &impl Unheld,
        refs: &[(&str, Oid)],
        gone: &[&str],
    ) -> Result<()> {
        let mut transaction = self.refs.transaction();
        for (name, commit) in refs {
            match self.refs.read(name)? {
                Some(old) if old == *commit => transaction.verify(name, old),
                Some(old) => transaction.update(name, *commit, old),
                None => transaction.create(name, *commit),
            }
        }
        for name in gone {
            if let Some(old) = self.refs.read(name)? {
                transaction.delete(name, Some(old));
            }
        }
        let set = transaction.commit_with(&self.objects, new);
        set.map_err(TransactionError::of_objects)
    }
}

/// Where the one waits that takes the place of the one in a directory.
fn next(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".next");
    name.into()
}

/// What may not be looked at is not taken for what is not there, which would be made anew in its place.
fn is_whole(dir: &Path) -> Result<bool> {
    let file = dir.join(WRITTEN_LAST);
    is_there(&file).context(|| format!("cannot look at '{}'", file.display()))
}

fn remove(dir: &Path) -> Result<()> {
    remove_optional(&dir.join(WRITTEN_LAST))?;
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(|| format!("cannot remove '{}'", dir.display()))
        }
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).context(|| format!("cannot rename '{}'", from.display()))
}

/// Its own settings: those of the user are given to each run.
fn config(repo: &Repo) -> Result<String> {
    let (version, extensions) = match repo.object_format() {
        ObjectFormat::Sha1 => (0, ""),
        ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
    };
    let shared = match repo.config("core.sharedRepository")? {
        Some(shared) if shared.chars().all(|char| char.is_ascii_alphanumeric()) => {
            format!("\tsharedRepository = {shared}\n")
        }
        _ => String::new(),
    };
    Ok(format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n\tlogAllRefUpdates = false\n{shared}{extensions}"
    ))
}
