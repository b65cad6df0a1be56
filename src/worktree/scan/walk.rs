//! Looking at directories: known ones again, and new ones top down.

use super::entry::{Entry, Look, is_repository_dir};
use super::names::NameBuffer;
use super::{
    Chain, FOUND, FoundDir, FoundFile, GONE, Judge, Run, SAME, Task, Verdict, Way, owned,
    read_ignore_file,
};
use crate::error::{Result, ResultExt};
use crate::git::fs::{Stamp, stamp_at, stamp_of};
use crate::git::path;
use crate::worktree::manifest::{DirRec, FileRec, INSIDE_IGNORED, Kind, RACY, VACANT, VIRTUAL};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;

/// A directory whose names were read.
struct OpenedDir<'o> {
    path: Vec<u8>,
    /// As the earlier manifest has it.
    old: Option<&'o DirRec>,
    fd: OwnedFd,
    /// From before its names were read.
    stamp: Stamp,
}

impl<J: Judge> Run<'_, '_, J> {
    /// The fast way's look at a directory of the earlier manifest.
    pub(super) fn known_dir(
        &self,
        at: usize,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Some(old) = self.old else { return Ok(()) };
        let dir = &old.dirs[at];
        let dir_path = old.dir_path(dir);
        let fd = match self.scan.root.open_dir(dir_path) {
            Ok(_) if dir.flags & VIRTUAL != 0 => {
                self.needs_full();
                return Ok(());
            }
            Ok(fd) => fd,
            Err(Errno::NOENT) if dir.flags & VIRTUAL != 0 => {
                self.set_state(at, SAME);
                return Ok(());
            }
            // A file in its place: the sparse entries beneath give way to it in the tree.
            Err(Errno::NOTDIR | Errno::LOOP) if dir.flags & VIRTUAL != 0 => {
                self.needs_full();
                return Ok(());
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.set_state(at, GONE);
                return Ok(());
            }
            Err(Errno::ACCESS) => {
                self.needs_full();
                return Ok(());
            }
            Err(errno) => {
                return Err(errno).context(|| format!("cannot open '{}'", path::display(dir_path)));
            }
        };
        let stamp = stamp_of(fd.as_fd())?;
        if dir.flags & RACY != 0 || !self.same(&dir.stamp, &stamp) {
            return self.reread_known(at, stamp, found, names);
        }
        self.known_names(at, fd.as_fd(), found)
    }

    /// The directory did not move: only its known names are looked at.
    pub(super) fn known_names(
        &self,
        at: usize,
        fd: BorrowedFd<'_>,
        found: &mut Vec<FoundDir>,
    ) -> Result<()> {
        let Some(old) = self.old else { return Ok(()) };
        let dir = &old.dirs[at];
        let mut changed: Option<Vec<FoundFile>> = None;
        for (nth, file) in old.files_of(dir).iter().enumerate() {
            let name = old.bytes(file.name);
            let new = if file.kind.is_watched() {
                self.look_again(old, dir, file, fd, name)?
            } else {
                Some(*file)
            };
            let same = new.as_ref().is_some_and(|new| is_same_record(file, new));
            if same && changed.is_none() {
                continue;
            }
            let list = changed.get_or_insert_with(|| {
                let before = &old.files_of(dir)[..nth];
                before.iter().map(|file| owned(old, file)).collect()
            });
            if let Some(rec) = new {
                list.push(FoundFile {
                    name: name.to_vec(),
                    rec,
                });
            }
        }
        match changed {
            None => self.set_state(at, SAME),
            Some(files) => {
                self.set_state(at, FOUND);
                found.push(FoundDir {
                    path: old.dir_path(dir).to_vec(),
                    stamp: dir.stamp,
                    flags: dir.flags & (INSIDE_IGNORED | VACANT),
                    files,
                });
            }
        }
        Ok(())
    }

    /// The directory moved: its names are read again.
    pub(super) fn reread_known(
        &self,
        at: usize,
        stamp: Stamp,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Some(old) = self.old else { return Ok(()) };
        let dir = &old.dirs[at];
        let dir_path = old.dir_path(dir).to_vec();
        let Some(chain) = self.chain(&dir_path)? else {
            self.needs_full();
            return Ok(());
        };
        self.set_state(at, FOUND);
        self.read_names_of(dir_path, dir, &chain, stamp, found, names)
    }

    /// The rules in a directory, its ancestors' ignore files read on the way.
    pub(super) fn chain(&self, dir_path: &[u8]) -> Result<Option<Chain<J>>> {
        let lock = || self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(dir_path) {
            return Ok(known.clone());
        }
        let made = self.make_chain(dir_path)?;
        lock().insert(dir_path.to_vec(), made.clone());
        Ok(made)
    }

    pub(super) fn make_chain(&self, dir_path: &[u8]) -> Result<Option<Chain<J>>> {
        let judge = self.scan.judge;
        if dir_path.is_empty() {
            let ignore = read_ignore_file(self.scan.root, dir_path)?;
            return Ok(Some((judge.root(ignore.as_deref()), false)));
        }
        let Some((parent, _)) = self.chain(path::split(dir_path).0)? else {
            return Ok(None);
        };
        let Verdict::Enter(inside) = self.judge_dir(&parent, dir_path) else {
            return Ok(None);
        };
        let ignore = read_ignore_file(self.scan.root, dir_path)?;
        let rules = judge.enter(&parent, dir_path, inside, ignore.as_deref());
        Ok(Some((rules, judge.is_for_some(&inside))))
    }

    pub(super) fn judge_dir(&self, rules: &J::Dir, full: &[u8]) -> Verdict<J::Inside> {
        match self.scan.judge.judge(rules, full, true, false) {
            Verdict::Enter(inside) => Verdict::Enter(inside),
            other if self.scan.tracked.any_beneath(full) => {
                match self.scan.judge.judge(rules, full, true, true) {
                    Verdict::Enter(inside) => Verdict::Enter(inside),
                    _ => other,
                }
            }
            other => other,
        }
    }

    /// The full way's look at a directory.
    pub(super) fn read_dir(
        &self,
        task: Task<J>,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Task {
            path: dir_path,
            above,
        } = task;
        let fd = match self.scan.root.open_dir_for_reading(&dir_path) {
            Ok(fd) => fd,
            // It went away after its parent was read; the parent's stamp is racy then, so the next look sees it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => {
                return Err(errno)
                    .context(|| format!("cannot read '{}'", path::display(&dir_path)));
            }
        };
        let stamp = stamp_of(fd.as_fd())?;
        names.read(fd.as_fd(), &dir_path)?;
        let ignore = if names.has(b".gitignore") {
            read_ignore_file(self.scan.root, &dir_path)?
        } else {
            None
        };
        let judge = self.scan.judge;
        let (rules, for_some) = match &above {
            None => (judge.root(ignore.as_deref()), false),
            Some((parent, inside)) => (
                judge.enter(parent, &dir_path, *inside, ignore.as_deref()),
                judge.is_for_some(inside),
            ),
        };
        let opened = OpenedDir {
            old: self
                .old
                .and_then(|old| old.find_dir(&dir_path).map(|at| &old.dirs[at])),
            path: dir_path,
            fd,
            stamp,
        };
        self.judge_names(opened, &rules, for_some, found, names)
    }

    /// Reads the names of a known directory again.
    fn read_names_of(
        &self,
        dir_path: Vec<u8>,
        old_dir: &DirRec,
        (rules, for_some): &Chain<J>,
        stamp: Stamp,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let fd = match self.scan.root.open_dir_for_reading(&dir_path) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => {
                self.needs_full();
                return Ok(());
            }
            Err(errno) => {
                return Err(errno)
                    .context(|| format!("cannot read '{}'", path::display(&dir_path)));
            }
        };
        if stamp_at(fd.as_fd(), b".git") == Err(Errno::ACCESS) {
            // It was taken away from us since: its parent lists it now.
            self.needs_full();
            return Ok(());
        }
        names.read(fd.as_fd(), &dir_path)?;
        if self.lost_ignore_file(Some(old_dir), names) {
            self.needs_full();
            return Ok(());
        }
        let opened = OpenedDir {
            path: dir_path,
            old: Some(old_dir),
            fd,
            stamp,
        };
        self.judge_names(opened, rules, *for_some, found, names)
    }

    /// Judges a directory's names, and queues the directories among them.
    fn judge_names(
        &self,
        opened: OpenedDir<'_>,
        rules: &J::Dir,
        for_some: bool,
        found: &mut Vec<FoundDir>,
        names: &NameBuffer,
    ) -> Result<()> {
        let OpenedDir {
            path: dir_path,
            old: old_dir,
            fd,
            stamp,
        } = opened;
        let seeds = (self.way == Way::Full).then(|| {
            let has_attributes = names.has(b".gitattributes");
            self.scan.tracked.seeds(&dir_path, has_attributes)
        });
        let mut files = Vec::with_capacity(names.len());
        let mut tasks = Vec::new();
        for name in names.iter() {
            if name == b".git" {
                if dir_path.is_empty() {
                    continue;
                }
                if self.way == Way::Fast && is_repository_dir(fd.as_fd(), b".git") {
                    // A repository appeared in a directory we know: the whole of it drops out.
                    self.needs_full();
                    return Ok(());
                }
            }
            let full = path::join(&dir_path, name);
            let look = Look {
                fd: fd.as_fd(),
                full: &full,
                name,
                old_dir,
                rules,
                seeds: seeds.as_ref(),
            };
            match self.entry(&look)? {
                Entry::File(rec) => files.push(FoundFile {
                    name: name.to_vec(),
                    rec,
                }),
                Entry::Dir(inside) => {
                    let known = self.way == Way::Fast
                        && self.old.is_some_and(|old| old.find_dir(&full).is_some());
                    if !known {
                        tasks.push(Task {
                            path: full,
                            above: Some((rules.clone(), inside)),
                        });
                    }
                }
                Entry::Nothing => {}
            }
        }
        self.keep_absent(old_dir, &mut files);
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let vacant = names.len() == 0;
        found.push(FoundDir {
            path: dir_path,
            stamp,
            flags: self.racy_flag(&stamp)
                | if for_some { INSIDE_IGNORED } else { 0 }
                | if vacant { VACANT } else { 0 },
            files,
        });
        self.push(tasks);
        Ok(())
    }

    /// Whether the fast way's directory had an ignore file that is gone: what it hid beneath may be in directories that did
    /// not move.
    fn lost_ignore_file(&self, old_dir: Option<&DirRec>, names: &NameBuffer) -> bool {
        let had = |old: &crate::worktree::manifest::Manifest, dir| {
            old.find_in(dir, b".gitignore").is_some()
        };
        self.way == Way::Fast
            && self
                .old
                .zip(old_dir)
                .is_some_and(|(old, dir)| had(old, dir))
            && !names.has(b".gitignore")
    }

    /// Sparse entries of the directory that are still not on disk stay, on the fast way.
    pub(super) fn keep_absent(&self, old_dir: Option<&DirRec>, files: &mut Vec<FoundFile>) {
        let (Way::Fast, Some(old), Some(dir)) = (self.way, self.old, old_dir) else {
            return;
        };
        for file in old.files_of(dir) {
            let name = old.bytes(file.name);
            if file.kind == Kind::Absent && !files.iter().any(|found| found.name == name) {
                files.push(owned(old, file));
            }
        }
    }
}

pub(super) fn is_same_record(old: &FileRec, new: &FileRec) -> bool {
    old.kind == new.kind && old.flags == new.flags && old.stamp == new.stamp && old.oid == new.oid
}
