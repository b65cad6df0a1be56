//! What stands where a plan writes and is not in the backup: files to capture first, and things that cannot be.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use super::present_own::PresentOwn;
use crate::error::{Result, ResultExt};
use crate::git::fs::{Root, Stamp, names_in, stamp_at, stamp_of};
use crate::git::index::Index;
use crate::git::own::OwnDirs;
use crate::git::path;
use crate::ops::capture::Capture;
use crate::ops::uncapturable::{Uncapturable, Why};
use crate::ops::unsaved::Unsaved;
use crate::worktree::manifest::{DirFlags, Kind, Manifest};
use crate::worktree::plan::Plan;

/// What is in the way.
#[derive(Debug, Default)]
pub struct Obstacles {
    /// Paths to capture although the rules leave them out; those of directories end with a slash.
    pub to_force: BTreeSet<Vec<u8>>,
    /// What cannot be captured.
    pub refused: Vec<Uncapturable>,
}

/// Looks at every place that the plan writes to, replaces or removes.
pub(super) fn find_obstacles(
    root: &Root,
    own: &OwnDirs,
    shared: &BTreeSet<Vec<u8>>,
    (capture, present): (&Capture<'_>, Option<&PresentOwn<'_>>),
    plan: &Plan,
) -> Result<Obstacles> {
    let manifest = &capture.manifest;
    let mut finder = Finder {
        root,
        own,
        shared,
        manifest,
        present,
        index: capture.parsed_index.as_ref(),
        found: Obstacles::default(),
        clear: BTreeSet::new(),
    };
    for entry in &plan.entries {
        if let Some(file) = manifest.file(&entry.path)
            && file.kind == Kind::FilteredClean
        {
            // The capture has what git's index says, and never read its bytes: it could not even be given other bits for what it is.
            finder.found.to_force.insert(entry.path.clone());
        }
        // What cannot be reached through what is refused is no place to look at.
        if entry.after.is_some() && finder.parents(&entry.path)? {
            finder.place(&entry.path)?;
        }
    }
    for dir in plan
        .dirs
        .iter()
        .filter(|dir| dir.before.is_none() && dir.after.is_some())
    {
        if !finder.parents(&dir.path)? {
            continue;
        }
        // A submodule that no rule of the past shows is where it was, with its own repository.
        let is_of_present = present.is_some_and(|present| present.has_dir(&dir.path));
        if is_of_present && finder.is_dir(&dir.path) {
            continue;
        }
        finder.dir_place(&dir.path, &dir.path)?;
    }
    Ok(finder.found)
}

struct Finder<'a> {
    root: &'a Root,
    own: &'a OwnDirs,
    /// Nested repositories that the later side was in with files of its own.
    shared: &'a BTreeSet<Vec<u8>>,
    manifest: &'a Manifest,
    present: Option<&'a PresentOwn<'a>>,
    index: Option<&'a Index>,
    found: Obstacles,
    /// Directories known to be passable.
    clear: BTreeSet<Vec<u8>>,
}

/// What a look at a path finds.
enum Seen {
    Nothing,
    There(Stamp),
    /// A directory above it lets nobody look.
    Closed,
}

fn why_by(stamp: &Stamp) -> Why {
    match stamp.mode & 0o170_000 {
        0o140_000 => Why::Kind(Kind::Socket),
        0o010_000 => Why::Kind(Kind::Pipe),
        0o040_000 => Why::Directory,
        _ => Why::Kind(Kind::Device),
    }
}

impl Finder<'_> {
    fn refuse(&mut self, path: &[u8], why: Why) {
        self.found.refused.push(Uncapturable::new(path, why));
    }

    /// What is at a path. Where nobody may look, the directory that keeps us out is refused.
    fn look(&mut self, full: &[u8]) -> Result<Seen> {
        match self.root.stamp(full) {
            Ok(None) => Ok(Seen::Nothing),
            Ok(Some(stamp)) => Ok(Seen::There(stamp)),
            Err(Errno::ACCESS | Errno::PERM) => {
                self.refuse(path::split(full).0, Why::Kind(Kind::Unreadable));
                Ok(Seen::Closed)
            }
            Err(errno) => {
                Err(errno).context(|| format!("cannot inspect '{}'", path::display(full)))
            }
        }
    }

    /// Whether every directory over a path is one, or can be made, and none is somebody else's repository.
    fn parents(&mut self, full: &[u8]) -> Result<bool> {
        let (dir, _) = path::split(full);
        let mut ends: Vec<usize> = dir
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| at)
            .collect();
        if !dir.is_empty() {
            ends.push(dir.len());
        }
        for end in ends {
            let at = &dir[..end];
            if self.clear.contains(at) {
                continue;
            }
            if !self.dir_place(at, full)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a directory is, or can be made, at this path, for something to stand at `full`. What is in the way is noted.
    fn dir_place(&mut self, at: &[u8], full: &[u8]) -> Result<bool> {
        // A directory that only leads to entries of the index which are not on disk: a file may be in its place that the rules hide.
        let is_on_disk = self.manifest.dir_on_disk(at).is_some();
        if self.manifest.find_dir(at).is_some() && (is_on_disk || self.is_dir(at)) {
            if self.is_nested(at) && !self.shared.contains(at) {
                // Of a repository of somebody else only what the index has is ours to write.
                let ours = self.in_index(full);
                if !ours {
                    self.refuse(at, Why::Kind(Kind::Nested));
                }
                return Ok(ours);
            }
            self.clear.insert(at.to_vec());
            return Ok(true);
        }
        if let Some(file) = self.manifest.file(at) {
            let is_shared = file.kind == Kind::Nested && self.shared.contains(at);
            if file.kind == Kind::Gitlink && self.may_fill(at) {
                self.clear.insert(at.to_vec());
                return Ok(true);
            }
            return Ok(is_shared || self.known(at, file.kind));
        }
        match self.look(at)? {
            Seen::Nothing => {}
            Seen::Closed => return Ok(false),
            Seen::There(stamp) if stamp.is_dir() && self.refuse_if_foreign(at) => {
                return Ok(false);
            }
            Seen::There(stamp) if stamp.is_dir() => {}
            Seen::There(stamp) if stamp.is_file() || stamp.is_symlink() => {
                self.found.to_force.insert(at.to_vec());
            }
            Seen::There(stamp) => {
                self.refuse(at, why_by(&stamp));
                return Ok(false);
            }
        }
        self.clear.insert(at.to_vec());
        Ok(true)
    }

    /// Whether a directory that was entered is a nested repository.
    fn is_nested(&self, dir: &[u8]) -> bool {
        let dot_git = self.manifest.file(&path::join(dir, b".git"));
        dot_git.is_some_and(|file| file.kind == Kind::Nested)
    }

    fn in_index(&self, full: &[u8]) -> bool {
        self.index
            .is_some_and(|index| index.has_path(full) || !index.within(full).is_empty())
    }

    /// A name that the manifest has in the way: captured ones are replaced, others are captured first or refused.
    fn known(&mut self, at: &[u8], kind: Kind) -> bool {
        match kind {
            Kind::File | Kind::Symlink | Kind::Absent | Kind::FilteredClean | Kind::Gone => true,
            Kind::DefaultExclude
            | Kind::UserExclude
            | Kind::TeamExclude
            | Kind::IgnoreFile
            | Kind::TooLarge => match self.root.stamp(at) {
                Ok(Some(stamp)) if stamp.is_dir() => !self.refuse_if_foreign(at),
                Ok(Some(stamp)) if stamp.is_file() || stamp.is_symlink() => {
                    // A backup keeps to the size limit as well.
                    if kind == Kind::TooLarge {
                        self.refuse(at, Why::Kind(Kind::TooLarge));
                        return false;
                    }
                    self.found.to_force.insert(at.to_vec());
                    true
                }
                Ok(None) => true,
                _ => {
                    self.refuse(at, Why::kind(kind).unwrap_or(Why::Kind(Kind::Unreadable)));
                    false
                }
            },
            // Directories can be made again.
            Kind::Gitlink if Unsaved::default().only_dirs_in(self.root, at).is_some() => true,
            Kind::Nested
            | Kind::StrayGit
            | Kind::Gitlink
            | Kind::Socket
            | Kind::Pipe
            | Kind::Device
            | Kind::Unreadable
            | Kind::UnsafeName
            | Kind::GitDirectory
            | Kind::Collision => {
                self.refuse(at, Why::kind(kind).unwrap_or(Why::CannotBeCaptured));
                false
            }
        }
    }

    /// Refuses a directory, hidden by rules, that files are to be put into when it is git's own, or a repository that no side has files in.
    fn refuse_if_foreign(&mut self, at: &[u8]) -> bool {
        if self.is_of_git(at) || !self.shared.contains(at) {
            return self.refuse_if_repository(at);
        }
        false
    }

    /// Refuses a directory that the manifest does not have when it is git's own, or holds a repository.
    fn refuse_if_repository(&mut self, at: &[u8]) -> bool {
        let kind = if self.is_of_git(at) {
            Kind::GitDirectory
        } else if self.holds_repository(at) {
            Kind::Nested
        } else {
            return false;
        };
        self.refuse(at, Why::Kind(kind));
        true
    }

    fn is_of_git(&self, at: &[u8]) -> bool {
        let fd = self.root.open_dir(at);
        let seen = fd.and_then(|fd| Ok((stamp_of(fd.as_fd())?, fd)));
        seen.is_ok_and(|(stamp, fd)| self.own.contains(fd.as_fd(), &stamp))
    }

    /// Whether the record of what is there speaks of a directory, be there nothing in it, or of none of its kind: those in a submodule's
    /// can be made again.
    fn is_recorded(&self, dir: &[u8]) -> bool {
        let on_disk = self.manifest.dir_on_disk(dir);
        on_disk.is_some_and(|dir| !dir.flags.has(DirFlags::INSIDE_IGNORED))
            || path::with_parents(dir).any(|at| self.manifest.is_submodule(at))
    }

    fn is_dir(&self, full: &[u8]) -> bool {
        self.root.dir_stamp(full).is_some()
    }

    /// Whether files may be put into the directory of a submodule. In the past where it holds nothing but what the present left out, where
    /// it had a directory of its own: that is in nobody's way, and stays. In the present where the submodule was not fetched: what is in
    /// there is noted, and stays as well.
    fn may_fill(&self, dir: &[u8]) -> bool {
        match self.present {
            Some(present) => present.only_dirs_in(self.root, dir).is_some(),
            None => self.is_dir(dir) && !self.holds_repository(dir),
        }
    }

    fn holds_repository(&self, at: &[u8]) -> bool {
        let dot_git = path::join(at, b".git");
        // In doubt it holds one: an error must not cost somebody a repository.
        !matches!(self.root.stamp(&dot_git), Ok(None))
    }

    /// A file is to stand here.
    fn place(&mut self, full: &[u8]) -> Result<()> {
        if let Some(file) = self.manifest.file(full) {
            let kind = file.kind;
            if matches!(kind, Kind::File | Kind::Symlink | Kind::FilteredClean) {
                return Ok(());
            }
            let is_dir = matches!(self.look(full)?, Seen::There(stamp) if stamp.is_dir());
            if !self.known(full, kind) || !is_dir {
                return Ok(());
            }
        }
        match self.look(full)? {
            Seen::Nothing | Seen::Closed => Ok(()),
            Seen::There(stamp) if stamp.is_dir() => self.inside(full),
            Seen::There(stamp) if stamp.is_file() || stamp.is_symlink() => {
                self.found.to_force.insert(full.to_vec());
                Ok(())
            }
            Seen::There(stamp) => {
                self.refuse(full, why_by(&stamp));
                Ok(())
            }
        }
    }

    /// A directory has to give way to a file: whatever is in it and not captured yet is captured first, also where it is empty.
    fn inside(&mut self, dir: &[u8]) -> Result<()> {
        let mut pending = vec![dir.to_vec()];
        while let Some(at) = pending.pop() {
            if (at != dir || self.is_nested(&at) || self.manifest.find_dir(&at).is_none())
                && self.refuse_if_repository(&at)
            {
                continue;
            }
            let Some(fd) = self.open_to_list(&at)? else {
                continue;
            };
            let what = || format!("cannot read '{}'", path::display(&at));
            let names = names_in(fd.as_fd()).context(what)?;
            let is_empty = names.is_empty();
            for name in &names {
                let full = path::join(&at, name);
                // Somebody made a repository in there since.
                if name == b".git" {
                    self.refuse(&full, Why::Kind(Kind::UnsafeName));
                    continue;
                }
                if let Some(file) = self.manifest.file(&full)
                    && matches!(file.kind, Kind::File | Kind::Symlink)
                {
                    continue;
                }
                match self.look_in(fd.as_fd(), &at, name)? {
                    Seen::Nothing => {}
                    Seen::There(stamp) if stamp.is_dir() => pending.push(full),
                    Seen::There(stamp) => self.not_captured(full, &stamp),
                    Seen::Closed => break,
                }
            }
            let mut present = self.present.iter();
            if present.any(|present| present.has_old_dir(self.root, &at)) {
                // No backup of the present has it, whatever a swap put into it: the return could not bring it back.
                self.refuse(&at, Why::IgnoredInThePresent);
            } else if is_empty && !self.is_recorded(&at) {
                self.found.to_force.insert(path::join(&at, b""));
            }
        }
        Ok(())
    }

    /// A directory, to list its names; none where there is none to list any more, or nobody may.
    fn open_to_list(&mut self, dir: &[u8]) -> Result<Option<OwnedFd>> {
        match self.root.open_dir_for_reading(dir) {
            Ok(fd) => Ok(Some(fd)),
            // Replaced since: `apply` looks at each path once more before it touches it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            // What nobody can list, nobody can save.
            Err(Errno::ACCESS | Errno::PERM) => {
                self.refuse(dir, Why::Kind(Kind::Unreadable));
                Ok(None)
            }
            Err(errno) => Err(errno).context(|| format!("cannot read '{}'", path::display(dir))),
        }
    }

    /// What is at a name of a directory.
    fn look_in(&mut self, fd: BorrowedFd<'_>, dir: &[u8], name: &[u8]) -> Result<Seen> {
        match stamp_at(fd, name) {
            // Its names can be listed, and that is all.
            Err(Errno::ACCESS | Errno::PERM) => {
                self.refuse(dir, Why::Kind(Kind::Unreadable));
                Ok(Seen::Closed)
            }
            other => Ok(other?.map_or(Seen::Nothing, Seen::There)),
        }
    }

    /// Something that is no directory and that the capture does not have as a file has to go.
    fn not_captured(&mut self, full: Vec<u8>, stamp: &Stamp) {
        if !stamp.is_file() && !stamp.is_symlink() {
            self.refuse(&full, why_by(stamp));
            return;
        }
        let name = path::split(&full).1;
        if let Some(file) = self.manifest.file(&full) {
            self.known(&full, file.kind);
        } else if path::is_safe_component(name) && (!stamp.is_symlink() || path::is_safe_link(name))
        {
            self.found.to_force.insert(full);
        } else {
            self.refuse(&full, Why::Kind(Kind::UnsafeName));
        }
    }
}
