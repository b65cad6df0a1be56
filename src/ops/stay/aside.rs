//! What is in the way of a return and cannot be captured, renamed on request.
//!
//! What the present left out of its backup is moved by nobody: where it is in a directory that has to be renamed, it goes back to
//! its place at once. What is renamed is noted before (`ops::unsaved`): a return that failed or died after it is followed by one that
//! finishes it, and tells of it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::access::may_change;
use crate::git::fs::{Root, Stamp, rename_to_free, rename_to_free_in, stamp_at};
use crate::git::path;
use crate::git::tree::{self, GITLINK_MODE};
use crate::ops::Context;
use crate::ops::capture::Storing;
use crate::ops::outcome::MovedAside;
use crate::ops::swap::goal::Goal;
use crate::ops::swap::{GIT_DIRECTORY, RAW_PATHS, prepare};
use crate::ops::uncapturable::make_only_dir_own;
use crate::ops::unsaved::{NameOf, Renamed, Unsaved, give_all};
use crate::store::Store;
use crate::store::state::{Mode, State, path_from_stored};
use crate::store::stored::Stored;
use crate::text::typed_path;

/// No more rounds than this: something that makes files in the way faster than they are renamed would go on for ever.
const MOST: usize = 1000;

/// Old and new name.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// What is renamed on the way home, all returns of a stay together.
pub(super) struct Aside<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    backup: &'a Stored,
    root: Root,
    unsaved: Unsaved,
    /// What this return renamed.
    renamed: BTreeSet<Vec<u8>>,
    /// What of the present could not go back to its place.
    left: Vec<Pair>,
}

impl<'a> Aside<'a> {
    /// Of the stay that has this backup. What an earlier return renamed before it failed, or died, is part of it.
    ///
    /// # Errors
    /// What was noted cannot be read.
    pub fn of_stay(ctx: &'a Context<'a>, store: &'a Store, backup: &'a Stored) -> Result<Self> {
        Ok(Self {
            ctx,
            store,
            backup,
            root: Root::open(ctx.repo.worktree_root())?,
            unsaved: Unsaved::of_stay(&store.dir)?,
            renamed: BTreeSet::new(),
            left: Vec::new(),
        })
    }

    /// What the present left out, and what is noted of the renames.
    pub fn unsaved(&self) -> &Unsaved {
        &self.unsaved
    }

    /// Brings back to its place what an earlier return had no more time for.
    ///
    /// # Errors
    /// The file system refuses to rename it.
    pub fn finish_earlier(&mut self) -> Result<()> {
        for (from, to) in self.unsaved.moved_aside.clone() {
            self.bring_back(&from, &to)?;
        }
        Ok(())
    }

    /// Gives what has its name of the past again, since a return was undone, that of the present. With `make_way` what came under that
    /// meanwhile is renamed.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE`, where something has that name or its directory lets nobody rename it; all have their names of the past then.
    pub fn take_names_home(&mut self, make_way: bool) -> Result<()> {
        let all = self.unsaved.renamed.clone();
        for (one, errno) in give_all(&self.root, &all, NameOf::Present) {
            if let Err(error) = self.take_home(one, errno, make_way) {
                self.leave_names();
                return Err(error);
            }
        }
        if !all.is_empty() {
            fail_point("return-names-home");
        }
        Ok(())
    }

    fn take_home(&mut self, one: &Renamed, errno: Errno, make_way: bool) -> Result<()> {
        let mut given = Err(errno);
        if errno == Errno::EXIST && make_way && self.rename(&one.present)? {
            given = one.give(&self.root, NameOf::Present);
        }
        match given {
            Ok(_) => Ok(()),
            Err(Errno::EXIST) => Err(has_its_name(one)),
            Err(Errno::ACCESS | Errno::PERM) => Err(self.closed_for_writing(&one.past)),
            Err(errno) => {
                Err(errno).context(|| format!("cannot rename '{}'", path::display(&one.past)))
            }
        }
    }

    /// Gives them the names of the past again, unless the return came to its end or left a journal.
    pub fn leave_names(&self) {
        let is_past = |state: State| state.mode == Mode::Past;
        if !self.store.dir.has_journal() && self.store.dir.state().is_ok_and(is_past) {
            // One that keeps the present's gets it from the next return all the same.
            let _ = give_all(&self.root, &self.unsaved.renamed, NameOf::Past);
        }
    }

    /// What [`Self::take_names_home`] would rename: old and new names.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE`, as there.
    pub fn to_take_home(&self, make_way: bool) -> Result<Vec<Pair>> {
        let all = &self.unsaved.renamed;
        let mut found = Vec::new();
        for one in all
            .iter()
            .filter(|one| one.has_name(&self.root, NameOf::Past))
        {
            let goes = |other: &Renamed| {
                other.past == one.present && other.has_name(&self.root, NameOf::Past)
            };
            let names = self.root.names(&one.present);
            let is_free = self.stamp(&one.present)?.is_none()
                || names.is_ok_and(|names| names.is_empty())
                || all.iter().any(goes);
            if !is_free && !make_way {
                return Err(has_its_name(one));
            }
            found.push((one.past.clone(), one.present.clone()));
        }
        Ok(found)
    }

    /// Renames what is in the way and cannot be captured.
    ///
    /// # Errors
    /// As [`prepare`], when what is in the way is git's own or is not to be renamed.
    pub fn make_way(&mut self, goal: &mut Goal<'_>) -> Result<()> {
        // Only the next preparation tells whether there is more behind what was renamed.
        for _ in 0..MOST {
            let error = match prepare(self.ctx, self.store, goal, &Storing::No) {
                Ok(_) => return Ok(()),
                Err(error) if error.code() == Code::WouldOverwrite => error,
                Err(error) => return Err(error),
            };
            let mut any = false;
            for path in renameable(&error) {
                let path = with_its_directory(self.store, self.backup, &path)?.to_vec();
                self.check_open(&path)?;
                // One that is there again is made anew by somebody, without end.
                any |= self.renamed.insert(path.clone()) && self.rename(&path)?;
            }
            if !any {
                return Err(error);
            }
            self.let_stay(goal)?;
        }
        Err(Error::new(Code::Busy, "things keep appearing in the way")
            .hint("stop what makes them and run 'tw return --move-aside' again"))
    }

    /// Has what was renamed stay under its new name, where it may be a file like any other.
    ///
    /// # Errors
    /// As [`Self::moved`].
    pub fn let_stay(&self, goal: &mut Goal<'_>) -> Result<()> {
        let moved = self.unsaved.moved_aside.iter().chain(&self.left);
        let moved = self.that_are_there(moved.cloned())?;
        goal.keep(moved.into_iter().map(|(_, to)| to));
        Ok(())
    }

    /// Refuses what lets nobody look into it where something of the present is in there: that could not go back to its place.
    fn check_open(&self, path: &[u8]) -> Result<()> {
        if self.unsaved.beneath(path).next().is_none() {
            return Ok(());
        }
        let fd = self.root.open_dir_for_reading(path);
        match fd.and_then(|fd| stamp_at(fd.as_fd(), b".")) {
            Err(Errno::ACCESS | Errno::PERM) => {}
            // What is no directory has nothing in it.
            _ => return Ok(()),
        }
        let message = format!(
            "what the present left out is in '{}', which lets nobody look into it",
            path::display(path)
        );
        let there = self.ctx.repo.worktree_root().join(OsStr::from_bytes(path));
        Err(Error::new(Code::WouldOverwrite, message).hint(format!(
            "let tw look into it, then run 'tw return' again: chmod u+rwX {}",
            typed_path(&there)
        )))
    }

    /// Old and new names of what has another name now, what of the present could not go back among them.
    ///
    /// # Errors
    /// A directory cannot be looked at.
    pub fn moved(&self) -> Result<Vec<Pair>> {
        let home = self.unsaved.renamed.iter();
        let home = home.filter(|one| one.has_name(&self.root, NameOf::Present));
        let mut moved: Vec<Pair> = home
            .map(|one| (one.past.clone(), one.present.clone()))
            .collect();
        let aside = self.unsaved.moved_aside.iter().chain(&self.left);
        moved.extend(self.that_are_there(aside.cloned())?);
        Ok(moved)
    }

    /// Those of which the new name is there.
    fn that_are_there(&self, pairs: impl Iterator<Item = Pair>) -> Result<Vec<Pair>> {
        let mut there = Vec::new();
        for pair in pairs {
            if self.stamp(&pair.1)?.is_some() {
                there.push(pair);
            }
        }
        Ok(there)
    }

    fn stamp(&self, path: &[u8]) -> Result<Option<Stamp>> {
        let stamp = self.root.stamp(path);
        stamp.context(|| format!("cannot inspect '{}'", path::display(path)))
    }

    /// Renames to the first free name, noted before. Whether it was still there.
    fn rename(&mut self, from: &[u8]) -> Result<bool> {
        let what = || format!("cannot rename '{}'", path::display(from));
        let (dir, name) = path::split(from);
        let fd = self.root.open_dir(dir).context(what)?;
        for new_name in names_aside(name, self.backup.id.tail()) {
            let to = path::join(dir, &new_name);
            if self.stamp(&to)?.is_some() {
                continue;
            }
            // One that was noted for nothing is not told of twice.
            self.unsaved.moved_aside.retain(|(_, noted)| *noted != to);
            self.unsaved.moved_aside.push((from.to_vec(), to.clone()));
            self.unsaved
                .note(&self.store.dir, &self.backup.id.to_string())?;
            match rename_to_free(fd.as_fd(), name, &new_name) {
                Ok(()) => {
                    fail_point("return-moved-aside");
                    return self.bring_back(from, &to).map(|()| true);
                }
                Err(Errno::EXIST) => {
                    self.unsaved.moved_aside.pop();
                }
                Err(Errno::NOENT) => return Ok(false),
                Err(Errno::ACCESS | Errno::PERM) => return Err(self.closed_for_writing(from)),
                Err(Errno::XDEV) => return Err(self.not_renamed_here(from, &to)),
                Err(errno) => return Err(errno).context(what),
            }
        }
        Ok(false)
    }

    /// The error where a directory lets nobody rename what is in it.
    fn closed_for_writing(&self, path: &[u8]) -> Error {
        let message = format!(
            "'{}' is in the way, and its directory lets nobody rename it",
            path::display(path)
        );
        let dir = path::split(path).0;
        let there = self.there(dir);
        let owner = self
            .root
            .open_dir(dir)
            .and_then(|dir| stamp_at(dir.as_fd(), b"."));
        // Only its owner may change its bits.
        let command = match owner {
            Ok(Some(dir)) if !may_change(dir.uid) => make_only_dir_own(&there),
            _ => format!("chmod u+w {}", typed_path(&there)),
        };
        Error::new(Code::WouldOverwrite, message)
            .paths("paths", &[path])
            .hint(format!(
                "let tw write into it, then run 'tw return --move-aside' again: {command}"
            ))
    }

    /// The error where the file system has a directory that it cannot rename: an overlay's, of a lower layer.
    fn not_renamed_here(&self, from: &[u8], to: &[u8]) -> Error {
        let (from, to) = (self.there(from), self.there(to));
        let message = format!("the file system cannot rename '{}'", from.display());
        let (from, to) = (typed_path(&from), typed_path(&to));
        Error::new(Code::Io, message).hint(format!(
            "copy it, then run 'tw return' again: cp -a {from} {to} && rm -r {from}"
        ))
    }

    fn there(&self, path: &[u8]) -> PathBuf {
        match path {
            b"" => self.root.path().to_owned(),
            _ => self.root.path().join(OsStr::from_bytes(path)),
        }
    }

    /// Renames what the present left out back to its place, out of what has another name now.
    fn bring_back(&mut self, from: &[u8], to: &[u8]) -> Result<()> {
        for own in self.unsaved.beneath(from) {
            let there = [to, &own[from.len()..]].concat();
            match rename_with_dirs(&self.root, &there, own) {
                // It is back, or went away by itself.
                Ok(()) | Err(Errno::NOENT) => {}
                // Somebody took the right to look into it, or put something else in its place.
                Err(Errno::ACCESS | Errno::PERM | Errno::EXIST | Errno::NOTDIR | Errno::LOOP) => {
                    self.left.push((own.to_vec(), there));
                }
                Err(errno) => {
                    return Err(errno).context(|| {
                        let there = path::display(&there);
                        format!("cannot rename '{there}' to '{}'", path::display(own))
                    });
                }
            }
        }
        Ok(())
    }
}

/// The error where something else has the name of the present.
fn has_its_name(one: &Renamed) -> Error {
    let (past, present) = (path::display(&one.past), path::display(&one.present));
    let message =
        format!("'{past}' is called '{present}' in the present, and something else is there");
    Error::new(Code::WouldOverwrite, message)
        .paths("paths", &[one.present.as_slice()])
        .hint("tw return --move-aside")
        .hint("or move that away yourself and run 'tw return' again")
}

/// What [`Aside::make_way`] would rename of these paths: old and new names, as names are free now.
///
/// # Errors
/// A directory cannot be looked at.
pub(super) fn would_move(
    ctx: &Context<'_>,
    store: &Store,
    backup: &Stored,
    paths: &[Vec<u8>],
) -> Result<Vec<MovedAside>> {
    let root = Root::open(ctx.repo.worktree_root())?;
    let mut moved = Vec::new();
    let mut whole: BTreeSet<&[u8]> = BTreeSet::new();
    for path in paths {
        whole.insert(with_its_directory(store, backup, path)?);
    }
    for path in whole {
        let (dir, name) = path::split(path);
        let mut free = None;
        for to in names_aside(name, backup.id.tail()) {
            let to = path::join(dir, &to);
            let taken = root
                .stamp(&to)
                .context(|| format!("cannot inspect '{}'", path::display(&to)))?;
            if taken.is_none() {
                free = Some(to);
                break;
            }
        }
        moved.extend(free.map(|to| MovedAside::from((path.to_vec(), to))));
    }
    Ok(moved)
}

/// What is renamed for a path: where the present has a file in the place of a directory over it, that directory.
fn with_its_directory<'p>(store: &Store, backup: &Stored, full: &'p [u8]) -> Result<&'p [u8]> {
    for at in path::with_parents(full) {
        match tree::find(&store.objects, backup.tree, at)? {
            Some(node) if node.is_dir() => {}
            Some(node) if node.mode != GITLINK_MODE => return Ok(at),
            _ => break,
        }
    }
    Ok(full)
}

/// The names that are tried one after the other. A long name is cut, for one may have 255 bytes.
fn names_aside(name: &[u8], tail: &str) -> impl Iterator<Item = Vec<u8>> {
    const LONGEST: usize = 255 - ".tw-past-123456-9999".len();
    // Not in the middle of a character.
    let is_start = |at: &usize| name.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=name.len().min(LONGEST)).rev().find(is_start);
    let name = &name[..end.unwrap_or_default()];
    let base = [name, b".tw-past-", tail.as_bytes()].concat();
    let numbered = base.clone();
    let more = (2..).map(move |nth| [&numbered[..], format!("-{nth}").as_bytes()].concat());
    std::iter::once(base).chain(more)
}

/// The paths of a refusal, when they may be renamed. What is git's own is moved by nobody but its owner.
fn renameable(error: &Error) -> Vec<Vec<u8>> {
    if error.find_detail(GIT_DIRECTORY).is_some() {
        return Vec::new();
    }
    let paths = error.find_detail(RAW_PATHS);
    let paths = paths.and_then(|paths| serde_json::from_value::<Vec<String>>(paths.clone()).ok());
    let paths = paths.unwrap_or_default();
    paths
        .iter()
        .filter_map(|path| path_from_stored(path))
        .collect()
}

/// Renames to a name that is free; the directories over it are made as those are that it was in. None are made where nothing is renamed.
fn rename_with_dirs(root: &Root, from: &[u8], to: &[u8]) -> rustix::io::Result<()> {
    let ((from_dir, from_name), (to_dir, to_name)) = (path::split(from), path::split(to));
    let source = match root.open_dir(from_dir) {
        // It was removed, with the directories over it.
        Err(Errno::NOTDIR | Errno::LOOP) => return Err(Errno::NOENT),
        other => other?,
    };
    if stamp_at(source.as_fd(), from_name)?.is_none() {
        return Err(Errno::NOENT);
    }
    let mut made = Vec::new();
    let renamed = make_dirs_over(root, (from, to), &mut made).and_then(|()| {
        let target = root.open_dir(to_dir)?;
        rename_to_free_in((source.as_fd(), from_name), (target.as_fd(), to_name))
    });
    for (above, name, mode) in made.iter().rev() {
        match renamed {
            // Not before something is in them: their bits may keep that out.
            Ok(()) => rustix::fs::chmodat(above, name, *mode, AtFlags::empty())?,
            // One that somebody else has put something in stays.
            Err(_) => drop(rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)),
        }
    }
    renamed
}

/// A directory that was made: the one over it, its name and its final permission bits.
type MadeDir = (OwnedFd, OsString, rustix::fs::Mode);

/// Makes the directories over the new name that are not there, closed to all others.
fn make_dirs_over(
    root: &Root,
    (from, to): (&[u8], &[u8]),
    made: &mut Vec<MadeDir>,
) -> rustix::io::Result<()> {
    for dir in path::with_parents(path::split(to).0).filter(|dir| !dir.is_empty()) {
        if root.stamp(dir)?.is_some() {
            continue;
        }
        let (above, name) = path::split(dir);
        // As far below the new name of what was moved as this is below the old one.
        let like = &from[..from.len() - (to.len() - dir.len())];
        let Some(like) = root.stamp(like)? else {
            return Err(Errno::NOENT);
        };
        let mode = rustix::fs::Mode::from_bits_truncate(like.permissions());
        let above = root.open_dir(above)?;
        let name = OsStr::from_bytes(name);
        rustix::fs::mkdirat(&above, name, rustix::fs::Mode::RWXU)?;
        made.push((above, name.to_owned(), mode));
    }
    Ok(())
}
