//! What is in the working tree and what changed since the last look, in parallel.
//!
//! One function, [`scan`], stands for the whole question, so that a file watcher can answer it later. It reads directories
//! and stamps, never content. Two ways lead to the same manifest:
//!
//! * *fast*, against an earlier manifest made under the same rules: every known directory is opened and compared by its own
//!   stamp; where that did not move, only the known names are looked at (`fstatat`), elsewhere the names are read again and
//!   the rules are asked about the unknown ones alone;
//! * *full*, top down: every directory is read and every name is judged. Stamps of the earlier manifest still save hashing.
//!
//! Whatever the fast way cannot decide (an ignore file moved, a repository appeared inside, a sparse directory came to life)
//! makes it give up for the full one. A stamp that is not older than the scan itself is marked racy and looked at again next
//! time, since a later write within the same clock tick would leave it alone.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use rustix::io::Errno;

use super::manifest::{
    DIRTY, DirRec, FileRec, INSIDE_IGNORED, Kind, Manifest, Name, RACY, TO_HASH, TRACKED, VACANT,
    VIRTUAL, no_oid, preorder,
};
use crate::error::{Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Root, Stamp, stamp_at, stamp_of};
use crate::git::path;

/// A stamp this close to the scan's start (or later) is racy: kernel time moves in ticks of up to 10 ms.
const RACY_NANOS: i64 = 20_000_000;
/// Directories a worker takes at a time on the fast way.
const CHUNK: usize = 16;
/// The desk of `tw`, never captured.
pub const DESK: &[u8] = b".timewarp";
/// The one file of the desk that is captured, when git tracks it.
const DESK_CONFIG: &[u8] = b"config.toml";

/// What the rules say of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<I> {
    /// A file that is captured.
    Take,
    /// A directory that is entered, with what follows from it for its names.
    Enter(I),
    /// Left out by git's rules.
    Ignored,
    /// Left out by a glob of ours, with the kind that says which.
    Excluded(Kind),
}

/// The rules: what is left out. Implemented by `rules`; asked from several threads.
pub trait Judge: Sync {
    /// The rules that hold in one directory.
    type Dir: Clone + Send + Sync;
    /// What follows from a directory for its names.
    type Inside: Copy + Send + Sync;
    /// The rules in the root, given its ignore file.
    fn root(&self, ignore_file: Option<&[u8]>) -> Self::Dir;
    /// The rules in a directory, given its parent's and its ignore file.
    fn enter(
        &self,
        parent: &Self::Dir,
        path: &[u8],
        inside: Self::Inside,
        ignore_file: Option<&[u8]>,
    ) -> Self::Dir;
    /// Whether a directory is left out itself, and entered only for what is tracked or included beneath.
    fn is_for_some(&self, inside: &Self::Inside) -> bool;
    /// What becomes of a name in a directory. For a directory, `tracked` means that something tracked lies beneath.
    fn judge(
        &self,
        dir: &Self::Dir,
        path: &[u8],
        is_dir: bool,
        tracked: bool,
    ) -> Verdict<Self::Inside>;
}

/// What git knows of paths: index, HEAD, and what the caller forces in.
pub trait Tracked: Sync {
    /// In the index, in HEAD or forced in: captured whatever the rules say.
    fn is_tracked(&self, path: &[u8]) -> bool;
    /// Something tracked lies beneath this directory.
    fn any_beneath(&self, dir: &[u8]) -> bool;
    /// The submodule commit that the index names at this path.
    fn gitlink(&self, path: &[u8]) -> Option<Oid>;
    /// The blob of a file whose stamp the index vouches for, when its raw bytes are that blob.
    fn seed(&self, path: &[u8], stamp: &Stamp) -> Option<Oid>;
    /// The index blob of a clean file under a filter, which need not be read.
    fn filtered_clean(&self, path: &[u8], stamp: &Stamp) -> Option<Oid>;
    /// The mode the index has for it, where the file system cannot say (`core.fileMode=false`).
    fn index_mode(&self, path: &[u8]) -> Option<u32>;
}

/// Whether the permission bits of the file system are to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// The owner's x bit decides.
    Trusted,
    /// `core.fileMode=false`: the index decides.
    FromIndex,
}

/// Whether status change times are to be believed (`core.trustctime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ctime {
    /// They are compared.
    Trusted,
    /// They are not.
    Ignored,
}

/// Which way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Against an earlier manifest made under the same rules.
    Fast,
    /// Everything read and judged.
    Full,
}

/// What a scan needs.
pub struct Scan<'a, J: Judge> {
    /// The working tree.
    pub root: &'a Root,
    /// The rules.
    pub judge: &'a J,
    /// What git knows.
    pub tracked: &'a dyn Tracked,
    /// Untracked files over this size are listed, not captured.
    pub max_file_size: u64,
    /// See [`FileMode`].
    pub file_mode: FileMode,
    /// See [`Ctime`].
    pub ctime: Ctime,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// When the scan starts, nanoseconds since the epoch.
    pub started: i64,
}

/// What a scan found.
#[derive(Debug)]
pub enum Scanned {
    /// Nothing differs from the earlier manifest.
    Unchanged,
    /// The new manifest; files flagged `TO_HASH` have no object id yet, directories flagged `DIRTY` no tree.
    Changed(Manifest),
    /// The fast way cannot decide: take the full one.
    NeedsFull,
}

/// One directory as a worker found it.
struct FoundDir {
    path: Vec<u8>,
    stamp: Stamp,
    flags: u8,
    files: Vec<FoundFile>,
}

struct FoundFile {
    name: Vec<u8>,
    rec: FileRec,
}

struct Task<J: Judge> {
    path: Vec<u8>,
    /// The rules of the parent directory, and what follows from this one; None for the root.
    above: Option<(J::Dir, J::Inside)>,
}

struct Queue<J: Judge> {
    tasks: Mutex<QueueState<J>>,
    wake: Condvar,
}

struct QueueState<J: Judge> {
    tasks: Vec<Task<J>>,
    busy: usize,
    error: Option<Error>,
}

/// The rules in a directory, and whether it is entered only for some of what is in it.
type Chain<J> = (<J as Judge>::Dir, bool);

/// States of the known directories on the fast way.
const SAME: u8 = 1;
const FOUND: u8 = 2;
const GONE: u8 = 3;

struct Run<'a, 'b, J: Judge> {
    scan: &'a Scan<'b, J>,
    old: Option<&'a Manifest>,
    way: Way,
    states: Vec<AtomicU8>,
    next: AtomicUsize,
    queue: Queue<J>,
    give_up: AtomicBool,
    chains: Mutex<HashMap<Vec<u8>, Option<Chain<J>>>>,
}

/// Looks at the working tree.
///
/// # Errors
/// A directory whose names cannot be read for another reason than permissions, with its path.
pub fn scan<J: Judge>(scan: &Scan<'_, J>, old: Option<&Manifest>, way: Way) -> Result<Scanned> {
    let way = if old.is_some() { way } else { Way::Full };
    let known = if way == Way::Fast {
        old.map_or(0, |old| old.dirs.len())
    } else {
        0
    };
    let tasks = if way == Way::Full {
        vec![Task {
            path: Vec::new(),
            above: None,
        }]
    } else {
        Vec::new()
    };
    let run = Run {
        scan,
        old,
        way,
        states: std::iter::repeat_with(|| AtomicU8::new(0))
            .take(known)
            .collect(),
        next: AtomicUsize::new(0),
        queue: Queue {
            tasks: Mutex::new(QueueState {
                tasks,
                busy: 0,
                error: None,
            }),
            wake: Condvar::new(),
        },
        give_up: AtomicBool::new(false),
        chains: Mutex::new(HashMap::new()),
    };
    let found = run.in_parallel();
    if let Some(error) = run.lock_queue().error.take() {
        return Err(error);
    }
    if run.give_up.load(Ordering::Relaxed) {
        return Ok(Scanned::NeedsFull);
    }
    match (way, old) {
        (Way::Fast, Some(old)) => Ok(run.merge_fast(old, found)),
        _ => Ok(Scanned::Changed(assemble(old, found))),
    }
}

impl<J: Judge> Run<'_, '_, J> {
    fn lock_queue(&self) -> std::sync::MutexGuard<'_, QueueState<J>> {
        self.queue
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn in_parallel(&self) -> Vec<FoundDir> {
        let threads = self.scan.threads.max(1);
        if threads == 1 || (self.way == Way::Fast && self.states.len() <= CHUNK) {
            return self.work();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(|| self.work())).collect();
            let mut found = self.work();
            for worker in workers {
                found.extend(worker.join().expect("scan workers do not panic"));
            }
            found
        })
    }

    fn work(&self) -> Vec<FoundDir> {
        let mut found = Vec::new();
        let mut names = NameBuffer::default();
        loop {
            let at = self.next.fetch_add(CHUNK, Ordering::Relaxed);
            if at >= self.states.len() {
                break;
            }
            for known in at..(at + CHUNK).min(self.states.len()) {
                if self.give_up.load(Ordering::Relaxed) {
                    return found;
                }
                if let Err(error) = self.known_dir(known, &mut found, &mut names) {
                    self.fail(error);
                    return found;
                }
            }
        }
        while let Some(task) = self.take() {
            let result = if self.give_up.load(Ordering::Relaxed) {
                Ok(())
            } else {
                self.read_dir(task, &mut found, &mut names)
            };
            let mut queue = self.lock_queue();
            queue.busy -= 1;
            if let Err(error) = result {
                queue.error.get_or_insert(error);
                queue.tasks.clear();
                self.give_up.store(true, Ordering::Relaxed);
            }
            let idle = queue.busy == 0 && queue.tasks.is_empty();
            drop(queue);
            if idle {
                self.queue.wake.notify_all();
            }
        }
        found
    }

    fn fail(&self, error: Error) {
        self.give_up.store(true, Ordering::Relaxed);
        self.lock_queue().error.get_or_insert(error);
    }

    fn take(&self) -> Option<Task<J>> {
        let mut queue = self.lock_queue();
        loop {
            if let Some(task) = queue.tasks.pop() {
                queue.busy += 1;
                return Some(task);
            }
            // Known directories still being looked at by another worker may add tasks; those workers then do them.
            if queue.busy == 0 {
                return None;
            }
            queue = self
                .queue
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn push(&self, tasks: Vec<Task<J>>) {
        if !tasks.is_empty() {
            self.lock_queue().tasks.extend(tasks);
            self.queue.wake.notify_all();
        }
    }

    fn needs_full(&self) {
        self.give_up.store(true, Ordering::Relaxed);
    }

    fn set_state(&self, at: usize, state: u8) {
        self.states[at].store(state, Ordering::Relaxed);
    }

    fn is_racy(&self, stamp: &Stamp) -> bool {
        let time = match self.scan.ctime {
            Ctime::Trusted => stamp.ctime,
            Ctime::Ignored => stamp.mtime,
        };
        time >= self.scan.started - RACY_NANOS
    }

    fn same(&self, old: &Stamp, new: &Stamp) -> bool {
        old.mtime == new.mtime
            && old.size == new.size
            && old.ino == new.ino
            && old.mode == new.mode
            && (self.scan.ctime == Ctime::Ignored || old.ctime == new.ctime)
    }

    /// The fast way's look at a directory of the earlier manifest.
    fn known_dir(
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
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.set_state(at, if dir.flags & VIRTUAL != 0 { SAME } else { GONE });
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
    fn known_names(&self, at: usize, fd: BorrowedFd<'_>, found: &mut Vec<FoundDir>) -> Result<()> {
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

    /// Looks at a known name once more; `None` when it is not there any more.
    fn look_again(
        &self,
        old: &Manifest,
        dir: &DirRec,
        file: &FileRec,
        fd: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<Option<FileRec>> {
        let full = || path::join(old.dir_path(dir), name);
        let Some(stamp) = stamp_at(fd, name)
            .context(|| format!("cannot look at '{}'", path::display(&full())))?
        else {
            if name == b".gitignore" {
                self.needs_full();
            }
            return Ok((file.kind == Kind::Absent).then_some(*file));
        };
        match file.kind {
            Kind::Nested | Kind::Gitlink => {
                if !stamp.is_dir() || (file.kind == Kind::Nested && !is_repository(fd, name)) {
                    self.needs_full();
                }
                return Ok(Some(*file));
            }
            Kind::Absent => {
                self.needs_full();
                return Ok(Some(*file));
            }
            _ => {}
        }
        if self.same(&file.stamp, &stamp) && file.flags & (RACY | TO_HASH) == 0 {
            return Ok(Some(*file));
        }
        if name == b".gitignore" && !(self.same(&file.stamp, &stamp) && file.kind == Kind::File) {
            self.needs_full();
        }
        let tracked = file.flags & TRACKED != 0;
        if stamp.is_dir() {
            // It was no directory and is one now: its parent moved, which is looked at elsewhere or next.
            self.needs_full();
            return Ok(None);
        }
        if file.kind == Kind::IgnoreFile {
            return Ok(Some(FileRec {
                stamp,
                flags: self.racy_flag(&stamp),
                ..*file
            }));
        }
        Ok(Some(self.file_record(&full(), file.name, &stamp, tracked)))
    }

    fn racy_flag(&self, stamp: &Stamp) -> u8 {
        if self.is_racy(stamp) { RACY } else { 0 }
    }

    /// A file, symlink or special file that is to be captured as far as its kind allows; content unknown.
    fn file_record(&self, full: &[u8], name: Name, stamp: &Stamp, tracked: bool) -> FileRec {
        let mut rec = FileRec {
            name,
            kind: Kind::File,
            flags: if tracked { TRACKED } else { 0 } | self.racy_flag(stamp),
            stamp: *stamp,
            git_mode: 0,
            oid: no_oid(),
        };
        match stamp.mode & 0o170_000 {
            0o100_000 => {
                if stamp.size > self.scan.max_file_size {
                    if !tracked && !self.scan.tracked.is_tracked(full) {
                        rec.kind = Kind::TooLarge;
                        return rec;
                    }
                    if let Some(oid) = self.scan.tracked.filtered_clean(full, stamp) {
                        rec.kind = Kind::FilteredClean;
                        rec.oid = oid;
                    }
                }
                rec.git_mode = self.regular_mode(full, stamp);
            }
            0o120_000 if !path::is_safe_link(path::split(full).1) => rec.kind = Kind::UnsafeName,
            0o120_000 => {
                rec.kind = Kind::Symlink;
                rec.git_mode = 0o120_000;
            }
            0o140_000 => rec.kind = Kind::Socket,
            0o010_000 => rec.kind = Kind::Pipe,
            _ => rec.kind = Kind::Device,
        }
        if matches!(rec.kind, Kind::File | Kind::Symlink) {
            rec.flags |= TO_HASH;
        }
        rec
    }

    fn regular_mode(&self, full: &[u8], stamp: &Stamp) -> u32 {
        if self.scan.file_mode == FileMode::FromIndex {
            return match self.scan.tracked.index_mode(full) {
                Some(0o100_755) => 0o100_755,
                _ => 0o100_644,
            };
        }
        if stamp.mode & 0o100 != 0 {
            0o100_755
        } else {
            0o100_644
        }
    }

    /// The directory moved: its names are read again.
    fn reread_known(
        &self,
        at: usize,
        stamp: Stamp,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Some(old) = self.old else { return Ok(()) };
        let dir = &old.dirs[at];
        let dir_path = old.dir_path(dir).to_vec();
        let Some((rules, for_some)) = self.chain(&dir_path)? else {
            self.needs_full();
            return Ok(());
        };
        self.set_state(at, FOUND);
        self.read_names_of(dir_path, Some(dir), &rules, for_some, stamp, found, names)
    }

    /// The rules in a directory, its ancestors' ignore files read on the way.
    fn chain(&self, dir_path: &[u8]) -> Result<Option<Chain<J>>> {
        let lock = || self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(dir_path) {
            return Ok(known.clone());
        }
        let made = self.make_chain(dir_path)?;
        lock().insert(dir_path.to_vec(), made.clone());
        Ok(made)
    }

    fn make_chain(&self, dir_path: &[u8]) -> Result<Option<Chain<J>>> {
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

    fn judge_dir(&self, rules: &J::Dir, full: &[u8]) -> Verdict<J::Inside> {
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
    fn read_dir(
        &self,
        task: Task<J>,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let Task {
            path: dir_path,
            above,
        } = task;
        let ignore = read_ignore_file(self.scan.root, &dir_path)?;
        let judge = self.scan.judge;
        let (rules, for_some) = match &above {
            None => (judge.root(ignore.as_deref()), false),
            Some((parent, inside)) => (
                judge.enter(parent, &dir_path, *inside, ignore.as_deref()),
                judge.is_for_some(inside),
            ),
        };
        let fd = match self.scan.root.open_dir(&dir_path) {
            Ok(fd) => fd,
            // It went away after its parent was read; the parent's stamp is racy then, so the next look sees it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => {
                return Err(errno)
                    .context(|| format!("cannot open '{}'", path::display(&dir_path)));
            }
        };
        let stamp = stamp_of(fd.as_fd())?;
        let old = self
            .old
            .and_then(|old| old.find_dir(&dir_path).map(|at| &old.dirs[at]));
        self.read_names_of(dir_path, old, &rules, for_some, stamp, found, names)
    }

    /// Reads a directory's names, judges them, and queues the directories among them.
    #[expect(
        clippy::too_many_arguments,
        reason = "the two ways meet here, each with all it knows"
    )]
    fn read_names_of(
        &self,
        dir_path: Vec<u8>,
        old_dir: Option<&DirRec>,
        rules: &J::Dir,
        for_some: bool,
        stamp: Stamp,
        found: &mut Vec<FoundDir>,
        names: &mut NameBuffer,
    ) -> Result<()> {
        let fd = match self.scan.root.open_dir_for_reading(&dir_path) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(Errno::ACCESS | Errno::PERM) if self.way == Way::Fast => {
                self.needs_full();
                return Ok(());
            }
            Err(errno) => {
                return Err(errno)
                    .context(|| format!("cannot read '{}'", path::display(&dir_path)));
            }
        };
        if self.way == Way::Fast && stamp_at(fd.as_fd(), b".git") == Err(Errno::ACCESS) {
            // It was taken away from us since: its parent lists it now.
            self.needs_full();
            return Ok(());
        }
        names.read(fd.as_fd(), &dir_path)?;
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

    /// Sparse entries of the directory that are still not on disk stay, on the fast way.
    fn keep_absent(&self, old_dir: Option<&DirRec>, files: &mut Vec<FoundFile>) {
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

    /// What a name is and what becomes of it.
    fn entry(&self, look: &Look<'_, J>) -> Result<Entry<J::Inside>> {
        let Look {
            fd,
            full,
            name,
            old_dir,
            rules,
        } = *look;
        if full == DESK {
            return Ok(self.desk(rules, fd, full));
        }
        if full.starts_with(b".timewarp/") && name != DESK_CONFIG {
            return Ok(Entry::Nothing);
        }
        let Some(stamp) =
            stamp_at(fd, name).context(|| format!("cannot look at '{}'", path::display(full)))?
        else {
            return Ok(Entry::Nothing);
        };
        let known = self.old.zip(old_dir).and_then(|(old, dir)| {
            let at = old.find_in(dir, name)?;
            old.files.get(at).map(|file| (old, file))
        });
        if let Some((_, file)) = known
            && self.way == Way::Fast
            && file.kind.is_watched()
            && !matches!(
                file.kind,
                Kind::Nested | Kind::Gitlink | Kind::Absent | Kind::Unreadable
            )
            && self.same(&file.stamp, &stamp)
            && file.flags & (RACY | TO_HASH) == 0
        {
            return Ok(Entry::File(*file));
        }
        if name == b".gitignore" && self.way == Way::Fast {
            let touched_only = known
                .is_some_and(|(_, file)| file.kind == Kind::File && self.same(&file.stamp, &stamp));
            if !touched_only {
                self.needs_full();
            }
        }
        if !path::is_safe_component(name) {
            return Ok(Entry::File(self.listed(Kind::UnsafeName, &stamp)));
        }
        if stamp.is_dir() {
            return self.dir_entry(look, &stamp);
        }
        let mut rec = self.judged_file(full, name, &stamp, rules);
        if let (Some(rec), Some((_, file))) = (&mut rec, known) {
            self.reuse(file, rec);
        }
        if let Some(rec) = &mut rec
            && self.way == Way::Full
            && rec.flags & TO_HASH != 0
            && rec.kind == Kind::File
            && let Some(oid) = self.scan.tracked.seed(full, &stamp)
        {
            rec.oid = oid;
            rec.flags &= !TO_HASH;
        }
        Ok(rec.map_or(Entry::Nothing, Entry::File))
    }

    /// Takes over the object id of the earlier manifest when the stamp vouches for it.
    fn reuse(&self, file: &FileRec, rec: &mut FileRec) {
        if rec.flags & TO_HASH != 0
            && file.kind == rec.kind
            && file.flags & (RACY | TO_HASH) == 0
            && self.same(&file.stamp, &rec.stamp)
        {
            rec.oid = file.oid;
            rec.flags &= !TO_HASH;
        }
    }

    fn judged_file(
        &self,
        full: &[u8],
        name: &[u8],
        stamp: &Stamp,
        rules: &J::Dir,
    ) -> Option<FileRec> {
        let unnamed = Name::default();
        let verdict = self.scan.judge.judge(rules, full, false, false);
        if matches!(verdict, Verdict::Take) {
            return Some(self.file_record(full, unnamed, stamp, false));
        }
        if self.scan.tracked.is_tracked(full) {
            let verdict = self.scan.judge.judge(rules, full, false, true);
            if let Verdict::Excluded(kind) = verdict {
                return Some(self.listed(kind, stamp));
            }
            return Some(self.file_record(full, unnamed, stamp, true));
        }
        match verdict {
            Verdict::Excluded(kind) => Some(self.listed(kind, stamp)),
            _ if name == b".gitignore" => Some(FileRec {
                flags: self.racy_flag(stamp),
                ..self.listed(Kind::IgnoreFile, stamp)
            }),
            _ => None,
        }
    }

    fn listed(&self, kind: Kind, stamp: &Stamp) -> FileRec {
        FileRec {
            name: Name::default(),
            kind,
            flags: 0,
            stamp: *stamp,
            git_mode: 0,
            oid: no_oid(),
        }
    }

    fn dir_entry(&self, look: &Look<'_, J>, stamp: &Stamp) -> Result<Entry<J::Inside>> {
        let verdict = self.judge_dir(look.rules, look.full);
        if let Some(oid) = self.scan.tracked.gitlink(look.full) {
            let mut rec = self.listed(Kind::Gitlink, stamp);
            rec.git_mode = 0o160_000;
            rec.oid = oid;
            rec.flags = TRACKED;
            return Ok(Entry::File(rec));
        }
        let inside = match verdict {
            Verdict::Enter(inside) => inside,
            Verdict::Excluded(kind) => return Ok(Entry::File(self.listed(kind, stamp))),
            Verdict::Ignored | Verdict::Take => return Ok(Entry::Nothing),
        };
        let unreadable = || Ok(Entry::File(self.listed(Kind::Unreadable, stamp)));
        match self.scan.root.open_dir_for_reading(look.full) {
            // Without the x bit names can be read, but nothing behind them.
            Ok(fd) if stamp_at(fd.as_fd(), b".git") == Err(Errno::ACCESS) => unreadable(),
            Ok(_) if is_repository(look.fd, look.name) => {
                Ok(Entry::File(self.listed(Kind::Nested, stamp)))
            }
            Ok(_) => Ok(Entry::Dir(inside)),
            Err(Errno::ACCESS | Errno::PERM) => unreadable(),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Entry::Nothing),
            Err(errno) => {
                Err(errno).context(|| format!("cannot open '{}'", path::display(look.full)))
            }
        }
    }

    /// The desk is left out silently, but for its `config.toml` when git tracks that.
    fn desk(&self, rules: &J::Dir, fd: BorrowedFd<'_>, full: &[u8]) -> Entry<J::Inside> {
        let config = path::join(DESK, DESK_CONFIG);
        match stamp_at(fd, full) {
            Ok(Some(stamp)) if stamp.is_dir() => {
                if !self.scan.tracked.is_tracked(&config) {
                    return Entry::Nothing;
                }
                match self.scan.judge.judge(rules, full, true, true) {
                    Verdict::Enter(inside) => Entry::Dir(inside),
                    _ => Entry::Nothing,
                }
            }
            Ok(Some(stamp)) if self.scan.tracked.is_tracked(full) => {
                Entry::File(self.file_record(full, Name::default(), &stamp, true))
            }
            _ => Entry::Nothing,
        }
    }

    fn merge_fast(&self, old: &Manifest, found: Vec<FoundDir>) -> Scanned {
        let all_same = found.is_empty()
            && self
                .states
                .iter()
                .all(|state| state.load(Ordering::Relaxed) == SAME);
        if all_same {
            return Scanned::Unchanged;
        }
        let same: Vec<usize> = self
            .states
            .iter()
            .enumerate()
            .filter(|(_, state)| state.load(Ordering::Relaxed) == SAME)
            .map(|(at, _)| at)
            .collect();
        Scanned::Changed(merge(Some(old), &same, found))
    }
}

struct Look<'a, J: Judge> {
    fd: BorrowedFd<'a>,
    full: &'a [u8],
    name: &'a [u8],
    old_dir: Option<&'a DirRec>,
    rules: &'a J::Dir,
}

enum Entry<I> {
    File(FileRec),
    Dir(I),
    Nothing,
}

fn is_same_record(old: &FileRec, new: &FileRec) -> bool {
    old.kind == new.kind && old.flags == new.flags && old.stamp == new.stamp && old.oid == new.oid
}

fn owned(old: &Manifest, file: &FileRec) -> FoundFile {
    FoundFile {
        name: old.bytes(file.name).to_vec(),
        rec: *file,
    }
}

/// The bytes of the `.gitignore` in a directory of the working tree; a symlink does not count, as in git.
pub fn read_ignore_file(root: &Root, dir_path: &[u8]) -> Result<Option<Vec<u8>>> {
    read_ignore_file_named(root, dir_path, b".gitignore")
}

/// The bytes of a rule file (`.gitignore`, `.gitattributes`) in a directory of the working tree.
pub fn read_ignore_file_named(
    root: &Root,
    dir_path: &[u8],
    name: &[u8],
) -> Result<Option<Vec<u8>>> {
    use std::io::Read;
    let full = path::join(dir_path, name);
    let Ok(fd) = root.open_file(&full) else {
        return Ok(None);
    };
    if !stamp_of(fd.as_fd())?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    std::fs::File::from(fd)
        .read_to_end(&mut bytes)
        .context(|| format!("cannot read '{}'", path::display(&full)))?;
    Ok(Some(bytes))
}

/// Whether a directory holds a repository of its own: a `.git` directory with a HEAD, or a `.git` file that names one.
fn is_repository(parent: BorrowedFd<'_>, name: &[u8]) -> bool {
    is_repository_dir(parent, &path::join(name, b".git"))
}

fn is_repository_dir(parent: BorrowedFd<'_>, dot_git: &[u8]) -> bool {
    match stamp_at(parent, dot_git) {
        Ok(Some(stamp)) if stamp.is_dir() => {
            matches!(stamp_at(parent, &path::join(dot_git, b"HEAD")), Ok(Some(_)))
        }
        // A file (a submodule or linked worktree) or a symlink: not ours to look behind.
        Ok(Some(_)) => true,
        Ok(None) => false,
        Err(_) => true,
    }
}

/// All directories found by the full way.
fn assemble(old: Option<&Manifest>, found: Vec<FoundDir>) -> Manifest {
    let mut manifest = merge(None, &[], found);
    if let Some(old) = old {
        take_over_trees(old, &mut manifest);
    }
    manifest
}

/// On the full way every directory was found anew: those whose names and objects are as before keep their tree.
fn take_over_trees(old: &Manifest, new: &mut Manifest) {
    for at in 0..new.dirs.len() {
        let dir = &new.dirs[at];
        let Some(before) = old.find_dir(new.dir_path(dir)).map(|at| &old.dirs[at]) else {
            continue;
        };
        if before.flags & DIRTY != 0 {
            continue; // Its tree is in doubt.
        }
        let mut old_files = old
            .files_of(before)
            .iter()
            .filter(|file| file.kind.in_tree());
        let mut new_files = new.files_of(dir).iter().filter(|file| file.kind.in_tree());
        let same = loop {
            match (old_files.next(), new_files.next()) {
                (None, None) => break true,
                (Some(a), Some(b))
                    if b.flags & TO_HASH == 0
                        && a.oid == b.oid
                        && a.git_mode == b.git_mode
                        && old.bytes(a.name) == new.bytes(b.name) => {}
                _ => break false,
            }
        };
        if same {
            let tree = before.tree;
            let dir = &mut new.dirs[at];
            dir.tree = tree;
            dir.flags &= !DIRTY;
        }
    }
    mark_parents_of_gone(old, new);
    spread_dirt(new);
}

/// Puts the unchanged directories of the earlier manifest and the found ones together, in order.
fn merge(old: Option<&Manifest>, same: &[usize], mut found: Vec<FoundDir>) -> Manifest {
    found.sort_by(|a, b| preorder(&a.path, &b.path));
    let mut new = Manifest::default();
    let same_files: usize = old.map_or(0, |old| old.files.len());
    new.files
        .reserve(same_files + found.iter().map(|dir| dir.files.len()).sum::<usize>());
    new.dirs.reserve(same.len() + found.len());
    new.names
        .reserve(old.map_or(0, |old| old.names.len()) + 64 * found.len());
    let appeared = old.map_or(0, |old| {
        let is_new = |dir: &&FoundDir| old.find_dir(&dir.path).is_none();
        found.iter().filter(is_new).count()
    });
    let mut parents: Vec<u32> = Vec::new();
    let mut same = same.iter().copied().peekable();
    let mut found = found.into_iter().peekable();
    loop {
        let take_same = match (old, same.peek(), found.peek()) {
            (Some(old), Some(&at), Some(dir)) => {
                preorder(old.dir_path(&old.dirs[at]), &dir.path).is_lt()
            }
            (Some(_), Some(_), None) => true,
            _ => false,
        };
        if take_same {
            let (Some(old), Some(at)) = (old, same.next()) else {
                break;
            };
            let dir = old.dirs[at];
            add_dir(&mut new, &mut parents, old.dir_path(&dir), dir, |new| {
                for file in old.files_of(&dir) {
                    let name = new.intern(old.bytes(file.name));
                    new.files.push(FileRec { name, ..*file });
                }
            });
        } else if let Some(dir) = found.next() {
            let rec = DirRec {
                path: Name::default(),
                parent: 0,
                first: 0,
                end: 0,
                flags: dir.flags | DIRTY,
                stamp: dir.stamp,
                tree: no_oid(),
            };
            add_dir(&mut new, &mut parents, &dir.path, rec, |new| {
                for file in &dir.files {
                    let name = new.intern(&file.name);
                    new.files.push(FileRec { name, ..file.rec });
                }
            });
        } else {
            break;
        }
    }
    if let Some(old) = old
        && new.dirs.len() != old.dirs.len() + appeared
    {
        mark_parents_of_gone(old, &mut new);
    }
    spread_dirt(&mut new);
    new
}

/// Adds a directory unless its parent is not there (it went away while we looked).
fn add_dir(
    new: &mut Manifest,
    parents: &mut Vec<u32>,
    dir_path: &[u8],
    rec: DirRec,
    add_files: impl FnOnce(&mut Manifest),
) {
    let at = u32::try_from(new.dirs.len()).expect("fewer than 2^32 directories");
    let parent = if dir_path.is_empty() {
        0
    } else {
        let (wanted, _) = path::split(dir_path);
        loop {
            let Some(&candidate) = parents.last() else {
                return;
            };
            let path = new.dir_path(&new.dirs[candidate as usize]);
            if path == wanted {
                break candidate;
            }
            parents.pop();
        }
    };
    let path = new.intern(dir_path);
    let first = u32::try_from(new.files.len()).expect("fewer than 2^32 names");
    add_files(new);
    let end = u32::try_from(new.files.len()).expect("fewer than 2^32 names");
    new.dirs.push(DirRec {
        path,
        parent,
        first,
        end,
        ..rec
    });
    parents.push(at);
}

/// A directory that went away leaves its parent's own names alone, but not its tree.
fn mark_parents_of_gone(old: &Manifest, new: &mut Manifest) {
    for dir in &old.dirs {
        let dir_path = old.dir_path(dir);
        if new.find_dir(dir_path).is_none()
            && let Some(at) = new.find_dir(path::split(dir_path).0)
        {
            new.dirs[at].flags |= DIRTY;
        }
    }
}

/// A directory over a dirty one is dirty.
fn spread_dirt(manifest: &mut Manifest) {
    for at in (1..manifest.dirs.len()).rev() {
        if manifest.dirs[at].flags & DIRTY != 0 {
            let parent = manifest.dirs[at].parent as usize;
            manifest.dirs[parent].flags |= DIRTY;
        }
    }
}

/// The names of one directory, read with one allocation that is used again.
#[derive(Default)]
struct NameBuffer {
    raw: Vec<u8>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl NameBuffer {
    fn read(&mut self, fd: BorrowedFd<'_>, dir_path: &[u8]) -> Result<()> {
        self.bytes.clear();
        self.ends.clear();
        if self.raw.capacity() == 0 {
            self.raw.reserve(32 * 1024);
        }
        let what = || format!("cannot read '{}'", path::display(dir_path));
        let mut dir = rustix::fs::RawDir::new(fd, self.raw.spare_capacity_mut());
        while let Some(entry) = dir.next() {
            let entry = entry.context(what)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.bytes.extend_from_slice(name);
                self.ends.push(self.bytes.len());
            }
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.bytes[start..end])
    }
}
