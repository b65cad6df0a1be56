//! Looking at directories: known ones again, and new ones top down.

use super::entry::{Entry, NameToJudge};
use super::found::{FoundDir, FoundFile, Names, ReadNames};
use super::names::NameBuffer;
use super::workers::Task;
use super::{Chain, DirChange, Run, Way, read_ignore_file};
use crate::error::{Result, ResultExt};
use crate::git::access::has_attributes;
use crate::git::fs::{Stamp, stamp_at, stamp_of};
use crate::git::path;
use crate::worktree::manifest::{DirFlags, FileRec, Files, Ignored, Kind, Manifest};
use crate::worktree::rules::{Decision, Sides, SidesInside};
use rustix::io::Errno;
use std::cmp::Ordering;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;

/// Whether a file need be looked for.
#[derive(Clone, Copy)]
enum OnDisk {
    /// It may be there.
    Maybe,
    /// A listing said that it is not.
    No,
}

/// A directory whose names were read.
struct OpenedDir {
    path: Vec<u8>,
    /// Its place in the earlier manifest.
    old: Option<usize>,
    fd: OwnedFd,
    /// From before its names were read.
    stamp: Stamp,
}

/// What became of a directory's names so far.
struct Judged {
    files: ReadNames,
    /// Directories that are to be read.
    tasks: Vec<Task>,
}

impl Run<'_, '_, '_> {
    /// The fast way's look at a directory of the earlier manifest.
    pub(super) fn known_dir(
        &self,
        at: usize,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Some(old) = self.old else { return Ok(()) };
        let dir = &old.dirs[at];
        if let Some(DirChange::Touched(touched)) = self.scan.seen.get(at) {
            self.touched_names(at, touched, found);
            return Ok(());
        }
        let dir_path = old.dir_path(dir);
        let fd = match self.scan.root.open_dir(dir_path) {
            Ok(_) if dir.flags.has(DirFlags::VIRTUAL) => {
                self.needs_full();
                return Ok(());
            }
            Ok(fd) => fd,
            Err(Errno::NOENT) if dir.flags.has(DirFlags::VIRTUAL) => {
                self.set_same(at);
                return Ok(());
            }
            // A file in its place: the sparse entries beneath give way to it in the tree.
            Err(Errno::NOTDIR | Errno::LOOP) if dir.flags.has(DirFlags::VIRTUAL) => {
                self.needs_full();
                return Ok(());
            }
            // Gone.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(Errno::ACCESS) => {
                self.needs_full();
                return Ok(());
            }
            Err(errno) => {
                return Err(errno).context(|| format!("cannot open '{}'", path::display(dir_path)));
            }
        };
        let stamp = stamp_of(fd.as_fd())?;
        if dir.flags.has(DirFlags::RACY) || !self.same(&dir.stamp, &stamp) {
            if self.scan.own.contains(fd.as_fd(), &stamp) {
                // git's own directory was moved to where another one was.
                self.needs_full();
                return Ok(());
            }
            return self.reread_known(at, stamp, found, names);
        }
        self.known_names(at, fd.as_fd(), stamp, found, names)
    }

    /// The comparison with the cache has looked at the names of this directory already.
    fn touched_names(&self, at: usize, touched: &[(usize, Stamp)], found: &mut Vec<FoundDir>) {
        let Some(old) = self.old else { return };
        let dir = &old.dirs[at];
        let files = old.files_of(dir);
        let differing = touched.iter().filter_map(|&(nth, stamp)| {
            let rec = self.with_stamp(old, dir, &files.get(nth)?, &stamp)?;
            Some((nth, rec))
        });
        self.keep_names(at, differing.collect(), found);
    }

    /// The directory has the names that it had; these records differ.
    fn keep_names(&self, at: usize, differing: Vec<(usize, FileRec)>, found: &mut Vec<FoundDir>) {
        let Some(old) = self.old else { return };
        let dir = &old.dirs[at];
        found.push(FoundDir {
            known: Some(at),
            path: Vec::new(),
            stamp: dir.stamp,
            flags: dir
                .flags
                .only(DirFlags::INSIDE_IGNORED | DirFlags::VACANT | DirFlags::ATTRIBUTES),
            names: Names::Known(differing),
        });
    }

    /// The directory did not move: only its known names are looked at.
    fn known_names(
        &self,
        at: usize,
        fd: BorrowedFd<'_>,
        stamp: Stamp,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Some(old) = self.old else { return Ok(()) };
        let dir = &old.dirs[at];
        let mut differing = Vec::new();
        for (nth, file) in old.files_of(dir).iter().enumerate() {
            if !file.kind.is_watched() {
                continue;
            }
            match self.stat_again(old, dir, &file, fd)? {
                Some(new) if is_same_record(&file, &new) => {}
                Some(new) => differing.push((nth, new)),
                // It went away just now.
                None => return self.reread_known(at, stamp, found, names),
            }
        }
        if differing.is_empty() {
            self.set_same(at);
        } else {
            self.keep_names(at, differing, found);
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
        let dir_path = old.dir_path(&old.dirs[at]).to_vec();
        let Some(chain) = self.chain(&dir_path)? else {
            self.needs_full();
            return Ok(());
        };
        self.read_names_of(dir_path, at, &chain, stamp, found, names)
    }

    /// The rules in a directory, its ancestors' ignore files read on the way.
    pub(super) fn chain(&self, dir_path: &[u8]) -> Result<Option<Chain>> {
        let lock = || self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(dir_path) {
            return Ok(known.clone());
        }
        let made = self.make_chain(dir_path)?;
        lock().insert(dir_path.to_vec(), made.clone());
        Ok(made)
    }

    pub(super) fn make_chain(&self, dir_path: &[u8]) -> Result<Option<Chain>> {
        let rules = self.scan.rules;
        if dir_path.is_empty() {
            let ignore = self.ignore_file(dir_path, OnDisk::Maybe)?;
            return Ok(Some((rules.root(ignore.as_deref()), false)));
        }
        let Some((parent, _)) = self.chain(path::split(dir_path).0)? else {
            return Ok(None);
        };
        let Decision::Descend(inside) = self.judge_dir(&parent, dir_path) else {
            return Ok(None);
        };
        let inside = if self.was_nested(dir_path) {
            inside.in_nested_repository()
        } else {
            inside
        };
        let ignore = self.ignore_file(dir_path, OnDisk::Maybe)?;
        let rules = rules.enter(&parent, dir_path, inside, ignore.as_deref());
        Ok(Some((rules, inside.is_for_some())))
    }

    /// The bytes of a directory's `.gitignore`: on disk or, as for git, those of the index where the sparse checkout leaves it out.
    fn ignore_file(&self, dir_path: &[u8], on_disk: OnDisk) -> Result<Option<Vec<u8>>> {
        let found = match on_disk {
            OnDisk::Maybe => read_ignore_file(self.scan.root, dir_path)?,
            OnDisk::No => None,
        };
        Ok(found.or_else(|| self.scan.tracked.sparse_ignore_file(dir_path)))
    }

    pub(super) fn judge_dir(&self, rules: &Sides, full: &[u8]) -> Decision<SidesInside> {
        match rules.judge_dir(full, false) {
            Decision::Descend(inside) => Decision::Descend(inside),
            other if self.scan.tracked.any_beneath(full) => match rules.judge_dir(full, true) {
                Decision::Descend(inside) => Decision::Descend(inside),
                _ => other,
            },
            other => other,
        }
    }

    /// The full way's look at a directory.
    pub(super) fn read_dir(
        &self,
        task: Task,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Task {
            path: dir_path,
            fd,
            above,
        } = task;
        let open = || {
            let fd = self.scan.root.open_dir_for_reading(&dir_path)?;
            let stamp = stamp_of(fd.as_fd())?;
            Ok((fd, stamp))
        };
        let (fd, stamp) = match fd.map_or_else(open, Ok) {
            Ok(opened) => opened,
            // It went away after its parent was read; the parent's stamp is racy then, so the next look sees it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => {
                return Err(errno)
                    .context(|| format!("cannot read '{}'", path::display(&dir_path)));
            }
        };
        names.read(fd.as_fd(), &dir_path)?;
        // The listing spares most directories an open that would find nothing.
        let is_listed = if names.has(b".gitignore") {
            OnDisk::Maybe
        } else {
            OnDisk::No
        };
        let ignore = self.ignore_file(&dir_path, is_listed)?;
        let rules = self.scan.rules;
        let (rules, for_some) = match &above {
            None => (rules.root(ignore.as_deref()), false),
            Some((parent, inside)) => (
                rules.enter(parent, &dir_path, *inside, ignore.as_deref()),
                inside.is_for_some(),
            ),
        };
        let opened = OpenedDir {
            old: self.old.and_then(|old| old.find_dir(&dir_path)),
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
        at: usize,
        (rules, for_some): &Chain,
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
        // A directory with `r` and without `x` still lists its names, but none can be looked at.
        if stamp_at(fd.as_fd(), b".git") == Err(Errno::ACCESS) {
            // It was taken away from us since: its parent lists it now.
            self.needs_full();
            return Ok(());
        }
        names.read(fd.as_fd(), &dir_path)?;
        let lost_repository = self.was_nested(&dir_path) && !names.has(b".git");
        if lost_repository || self.lost_ignore_file(at, names) {
            self.needs_full();
            return Ok(());
        }
        let opened = OpenedDir {
            path: dir_path,
            old: Some(at),
            fd,
            stamp,
        };
        self.judge_names(opened, rules, *for_some, found, names)
    }

    /// Judges a directory's names, and queues the directories among them.
    fn judge_names(
        &self,
        opened: OpenedDir,
        rules: &Sides,
        for_some: bool,
        found: &mut Vec<FoundDir>,
        names: &NameBuffer,
    ) -> Result<()> {
        let mut earlier = Earlier::new(self.old.zip(opened.old));
        let seeds = (self.way == Way::Full).then(|| {
            let has_attributes = names.has(b".gitattributes");
            self.scan.tracked.seeds(&opened.path, has_attributes)
        });
        let mut judged = Judged {
            files: ReadNames::with_capacity(names.len()),
            tasks: Vec::new(),
        };
        for (name, is_dir) in names.iter() {
            if name == b".git" {
                if opened.path.is_empty() {
                    continue;
                }
                let nested = self.nested().is_repository(&opened.path);
                if self.way == Way::Fast && nested != self.was_nested(&opened.path) {
                    // A repository appeared in a directory we know, or went: what is not tracked in it drops out.
                    self.needs_full();
                    return Ok(());
                }
            }
            let to_judge = NameToJudge {
                fd: opened.fd.as_fd(),
                dir_path: &opened.path,
                name,
                is_dir,
                known: earlier.find(name),
                rules,
                seeds: seeds.as_ref(),
            };
            self.add(&mut judged, &to_judge, self.entry(&to_judge)?);
        }
        let Judged { mut files, tasks } = judged;
        self.keep_absent(opened.old, &mut files, names);
        let inside_ignored = for_some && !self.scan.tracked.is_forced_dir(&opened.path);
        let attributes = has_attributes(&opened.fd)
            .context(|| format!("cannot look at '{}'", path::display(&opened.path)))?;
        found.push(FoundDir {
            known: opened.old.filter(|_| self.way == Way::Fast),
            path: opened.path,
            stamp: opened.stamp,
            flags: DirFlags::RACY.when(self.is_untold || self.is_racy(&opened.stamp))
                | DirFlags::INSIDE_IGNORED.when(inside_ignored)
                | DirFlags::VACANT.when(names.len() == 0)
                | DirFlags::ATTRIBUTES.when(attributes),
            names: Names::Read(files),
        });
        self.push(tasks);
        Ok(())
    }

    /// Adds what becomes of a name to what becomes of its directory.
    fn add(&self, judged: &mut Judged, look: &NameToJudge<'_>, entry: Entry) {
        let Judged { files, tasks } = judged;
        match entry {
            Entry::File(rec) => {
                // On the fast way the earlier manifest's bytes are kept.
                let known = look.known.filter(|_| self.way == Way::Fast);
                match known {
                    Some(FileRec { name, .. }) => files.files.push(FoundFile {
                        is_new: false,
                        rec: FileRec { name, ..rec },
                    }),
                    None => files.push_new(look.name, rec),
                }
            }
            Entry::Dir(inside, fd) => {
                let full = path::join(look.dir_path, look.name);
                let known = self.way == Way::Fast
                    && self.old.is_some_and(|old| old.find_dir(&full).is_some());
                if !known {
                    tasks.push(Task {
                        path: full,
                        // One huge directory must not use up all that may be open.
                        fd: fd.filter(|_| tasks.len() < self.most_open_of_one()),
                        above: Some((look.rules.clone(), inside)),
                    });
                }
            }
            Entry::Ignored(bytes) => {
                files.ignored = files.ignored.and(Ignored { entries: 1, bytes });
            }
            Entry::Nothing => {}
        }
    }

    /// Whether the fast way's directory had an ignore file that is gone: what it hid beneath may be in directories that did
    /// not move.
    fn lost_ignore_file(&self, at: usize, names: &NameBuffer) -> bool {
        let had = |old: &Manifest| {
            let files = old.files_of(&old.dirs[at]);
            let found = old.find_in(&old.dirs[at], b".gitignore");
            let file = found.and_then(|nth| files.get(nth));
            file.is_some_and(|file| file.kind != Kind::Absent)
        };
        self.old.is_some_and(had) && !names.has(b".gitignore")
    }

    /// Whether the earlier manifest has the directory as a nested repository, entered for what is tracked in it.
    fn was_nested(&self, dir: &[u8]) -> bool {
        let file = self.old.and_then(|old| old.file(&path::join(dir, b".git")));
        file.is_some_and(|file| file.kind == Kind::Nested)
    }

    /// Sparse entries of the directory that are still not on disk stay, on the fast way.
    fn keep_absent(&self, at: Option<usize>, found: &mut ReadNames, names: &NameBuffer) {
        let (Way::Fast, Some(old), Some(at)) = (self.way, self.old, at) else {
            return;
        };
        for file in old.files_of(&old.dirs[at]).iter() {
            let name = old.bytes(file.name);
            if file.kind == Kind::Absent && !names.has(name) {
                let files = &found.files;
                let place = files.partition_point(|file| found.name_of(file, old) < name);
                let kept = FoundFile {
                    is_new: false,
                    rec: file,
                };
                found.files.insert(place, kept);
            }
        }
    }
}

/// The names of a directory in the earlier manifest, asked for in order.
struct Earlier<'m> {
    /// The manifest and the directory's files.
    old: Option<(&'m Manifest, Files<'m>)>,
    /// How many of them are behind us.
    next: usize,
}

impl<'m> Earlier<'m> {
    fn new(place: Option<(&'m Manifest, usize)>) -> Self {
        Self {
            old: place.map(|(old, at)| (old, old.files_of(&old.dirs[at]))),
            next: 0,
        }
    }

    /// The record of a name, which is behind all that were asked for before.
    fn find(&mut self, name: &[u8]) -> Option<FileRec> {
        let (old, files) = self.old?;
        while let Some(first) = files.name(self.next) {
            match old.bytes(first).cmp(name) {
                Ordering::Less => self.next += 1,
                Ordering::Equal => return files.get(self.next),
                Ordering::Greater => return None,
            }
        }
        None
    }
}

pub(super) fn is_same_record(old: &FileRec, new: &FileRec) -> bool {
    old.kind == new.kind && old.flags == new.flags && old.stamp == new.stamp && old.oid == new.oid
}
