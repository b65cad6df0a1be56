//! What a scratch takes over from the present beside its snapshot: modification times, so that build tools find their caches fresh,
//! and the ignored files that are asked for.
//!
//! A file that is the same in both gets the time that it has in the present; so does a directory with the same captured files. Ignored
//! files come along when `.worktreeinclude` at the root of the working tree (gitignore syntax) or the `scratch_include` setting names
//! them: by reflink where the file system can, else copied, never as another name of the same file, and for those who may use the present's.
//! Nothing is followed, and nothing that was laid out is replaced.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::reach::Reach;
use crate::error::{Result, ResultExt};
use crate::git::access::{Access, Lost, without_capabilities};
use crate::git::command::Git;
use crate::git::fs::{Root, create_at, read_link_at, stamp_at, stamp_of};
use crate::git::hex::hex;
use crate::git::regular::read_rules;
use crate::git::repo::holds_repository;
use crate::git::tree::{self, Node, ReadTree};
use crate::git::{Oid, path, threads};
use crate::ops::Context;
use crate::ops::capture::rules::rule_parts;
use crate::ops::capture::{CaptureOptions, Storing, capture};
use crate::store::Store;
use crate::worktree::apply::made::MadePaths;
use crate::worktree::ignore::{Globals, PathRules, PatternFile, Verdict};
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::scan::{DESK, read_ignore_file};

/// Names the ignored files that scratches need.
const INCLUDE: &str = ".worktreeinclude";

/// The working tree that a scratch is made from.
pub struct Present<'a> {
    ctx: &'a Context<'a>,
    manifest: Manifest,
}

/// Ignored files that came along.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Brought {
    /// How many.
    pub files: usize,
    /// Which could not, and why.
    pub left: Vec<(Vec<u8>, String)>,
    /// Files and directories whose owner, group or attributes could not all be kept.
    pub lost: Vec<(Vec<u8>, Lost)>,
}

impl<'a> Present<'a> {
    /// Looks at the working tree. Stores nothing.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn look(ctx: &'a Context<'a>) -> Result<Self> {
        let wanted = CaptureOptions {
            storing: Storing::No,
            ..CaptureOptions::default()
        };
        let manifest = capture(ctx, ctx.store()?, &wanted)?.manifest;
        Ok(Self { ctx, manifest })
    }

    /// What its repository has.
    ///
    /// # Errors
    /// As [`Context::store`].
    pub fn store(&self) -> Result<&'a Store> {
        self.ctx.store()
    }

    /// Whom the root directory belongs to.
    pub fn root_owner(&self) -> Option<(u32, u32)> {
        let root = self.manifest.dirs.first();
        root.map(|root| (root.stamp.uid, root.stamp.gid))
    }

    /// Gives files that were laid out the times of the present's, where they are the same.
    ///
    /// # Errors
    /// The system refuses.
    pub fn give_times(&self, root: &Root, nodes: &BTreeMap<Vec<u8>, Node>) -> Result<()> {
        for (full, node) in nodes {
            let known = self.manifest.file(full);
            let same = known.filter(|file| {
                matches!(file.kind, Kind::File | Kind::Symlink)
                    && file.oid == node.oid
                    && file.git_mode == node.mode
            });
            if let Some(file) = same {
                give_time(root, full, file.stamp.mtime)?;
            }
        }
        Ok(())
    }

    /// The same for directories with the same captured files. Comes last: whatever is put into a directory changes its time.
    ///
    /// # Errors
    /// A tree cannot be read, or the system refuses.
    pub fn give_dir_times(&self, root: &Root, trees: &dyn ReadTree, snapshot: Oid) -> Result<()> {
        for (full, oid) in dirs(trees, snapshot)? {
            let known = self.manifest.dir_on_disk(&full);
            if let Some(known) = known.filter(|known| known.tree == oid) {
                give_time(root, &full, known.stamp.mtime)?;
            }
        }
        Ok(())
    }

    /// Copies the ignored files that are asked for, and notes what it made.
    ///
    /// # Errors
    /// git fails, or the disk is full. A file that cannot be copied for another reason is named in the answer.
    pub fn bring_ignored(&self, to: &Root, made: &MadePaths) -> Result<Brought> {
        let wanted = self.wanted()?;
        if wanted.is_empty() {
            return Ok(Brought::default());
        }
        let from = Root::open(self.ctx.repo.worktree_root())?;
        let mut by_dir: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
        for full in &wanted {
            by_dir.entry(path::split(full).0).or_default().push(full);
        }
        let dirs: Vec<_> = by_dir.into_iter().collect();
        let reach = Reach::new((&from, to));
        let copy = |(dir, files): &(&[u8], Vec<&[u8]>), brought: &mut Brought| {
            copy_dir((&from, to, &reach), (dir, files), made, brought)
        };
        let (parts, failed) = threads::gather(&dirs, wanted.len(), copy);
        if let Some(error) = failed {
            return Err(error);
        }
        let mut brought = Brought::default();
        for part in parts {
            brought.files += part.files;
            brought.left.extend(part.left);
            brought.lost.extend(part.lost);
        }
        brought.left.sort();
        for (dir, _) in dirs.iter().rev() {
            copy_dir_time(&from, to, dir);
        }
        Ok(brought)
    }

    /// A hash of the ignored files that come along: their paths, modes and contents.
    ///
    /// # Errors
    /// git fails, or one cannot be read.
    pub fn ignored_hash(&self) -> Result<String> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let mut hash = Sha256::new();
        for full in self.wanted()? {
            let what = || format!("cannot read '{}'", path::display(&full));
            let (dir, name) = path::split(&full);
            let dir = root.open_dir(dir).context(what)?;
            let Some(stamp) = stamp_at(dir.as_fd(), name).context(what)? else {
                continue;
            };
            let content = if stamp.is_symlink() {
                Sha256::digest(read_link_at(dir.as_fd(), name).context(what)?)
            } else if stamp.is_file() {
                let mut file = File::from(root.open_file(&full).context(what)?);
                let mut content = Sha256::new();
                std::io::copy(&mut file, &mut content).context(what)?;
                content.finalize()
            } else {
                continue;
            };
            hash.update(format!("{} {:o} ", full.len(), stamp.permissions()));
            hash.update(&full);
            hash.update(content);
        }
        Ok(hex(&hash.finalize()))
    }

    /// Ignored files that somebody asks for.
    fn wanted(&self) -> Result<Vec<Vec<u8>>> {
        let repo = &self.ctx.repo;
        let file = repo.worktree_root().join(INCLUDE);
        let is_there = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let globs = &self.ctx.settings.scratch_include;
        if !is_there && globs.is_empty() {
            return Ok(Vec::new());
        }
        if repo.is_private() {
            return self.wanted_without_git(is_there.then_some(&file));
        }
        let list = |git: Git<'_>| -> Result<Vec<Vec<u8>>> {
            let bytes = git.run()?;
            let names = bytes.split(|byte| *byte == 0);
            // A name that ends with a slash is a repository of its own.
            let files = names.filter(|name| path::is_safe(name) && !path::is_within(name, DESK));
            Ok(files.map(<[u8]>::to_vec).collect())
        };
        let look = || Git::new(repo).args(["ls-files", "-z", "--others", "--ignored"]);
        let mut named = look();
        if is_there {
            named = named.arg("--exclude-from").arg(&file);
        }
        for glob in globs {
            named = named.arg("--exclude").arg(glob);
        }
        let named = list(named)?;
        if named.is_empty() {
            return Ok(named);
        }
        let ignored = list(look().arg("--exclude-standard"))?;
        let ignored: std::collections::HashSet<&Vec<u8>> = ignored.iter().collect();
        let is_ignored = |full: &Vec<u8>| ignored.contains(full);
        Ok(named
            .iter()
            .filter(|full| is_ignored(full))
            .cloned()
            .collect())
    }
}

impl Present<'_> {
    /// The same where nobody need have git: every ignored file is held against the lists.
    fn wanted_without_git(&self, file: Option<&std::path::PathBuf>) -> Result<Vec<Vec<u8>>> {
        let repo = &self.ctx.repo;
        let (globals, _, _) = rule_parts(self.ctx, &[], &[])?;
        let mut lines = match file {
            Some(file) => read_rules(file)?.unwrap_or_default(),
            None => Vec::new(),
        };
        for glob in &self.ctx.settings.scratch_include {
            lines.push(b'\n');
            lines.extend_from_slice(glob.as_bytes());
        }
        let named = Globals {
            info_exclude: PatternFile::parse(&lines, b""),
            excludes_file: PatternFile::default(),
            ignore_case: globals.ignore_case,
            ..Globals::default()
        };
        let root = Root::open(repo.worktree_root())?;
        let mut ignored = PathRules::new(globals, |dir| read_ignore_file(&root, dir));
        let mut named = PathRules::new(Arc::new(named), |_| Ok(None));
        let mut found = Vec::new();
        let mut pending = vec![Vec::new()];
        while let Some(dir) = pending.pop() {
            for name in root.names(&dir)? {
                let full = path::join(&dir, &name);
                if !path::is_safe(&full) || path::is_within(&full, DESK) {
                    continue;
                }
                let Some(stamp) = root.stamp(&full)? else {
                    continue;
                };
                if stamp.is_dir() {
                    if !holds_repository(&repo.worktree_root().join(OsStr::from_bytes(&full))) {
                        pending.push(full);
                    }
                } else if named.is_path_ignored(&full, false)? == Verdict::Ignored
                    && ignored.is_path_ignored(&full, false)? == Verdict::Ignored
                {
                    found.push(full);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Gives a time to what was laid out. What was sparse where the snapshot was taken was not.
fn give_time(root: &Root, full: &[u8], mtime: i64) -> Result<()> {
    let (dir, name) = path::split(full);
    let set = root
        .open_dir(dir)
        .and_then(|fd| set_time(fd.as_fd(), name, mtime));
    match set {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => {
            Err(errno).context(|| format!("cannot set the time of '{}'", path::display(full)))
        }
    }
}

/// Every directory of a tree, with its own tree.
fn dirs(trees: &dyn ReadTree, root: Oid) -> Result<Vec<(Vec<u8>, Oid)>> {
    let mut found = Vec::new();
    let mut pending = vec![(Vec::new(), root)];
    while let Some((dir, oid)) = pending.pop() {
        for entry in tree::parse(&trees.read_tree(oid)?, oid.format())? {
            if entry.node.is_dir() {
                let full = path::join(&dir, entry.name);
                found.push((full.clone(), entry.node.oid));
                pending.push((full, entry.node.oid));
            }
        }
    }
    // What is in a directory comes before it.
    found.sort_by(|a, b| b.0.cmp(&a.0));
    Ok(found)
}

fn copy_dir(
    sides: (&Root, &Root, &Reach<'_>),
    (dir, files): (&[u8], &[&[u8]]),
    made: &MadePaths,
    brought: &mut Brought,
) -> Result<()> {
    let (from, _, reach) = sides;
    let opened = from.open_dir(dir).and_then(|opened| {
        let there = make_dirs(sides, dir, made, &mut brought.lost)?;
        Ok((opened, there, reach.of(dir)?))
    });
    let (from_dir, to_dir, reach) = match opened {
        Ok(all) => all,
        Err(Errno::NOSPC) => return Err(std::io::Error::from(Errno::NOSPC).into()),
        Err(errno) => {
            let left = files.iter().map(|full| (full.to_vec(), errno.to_string()));
            brought.left.extend(left);
            return Ok(());
        }
    };
    for full in files {
        let name = path::split(full).1;
        let dirs = (from_dir.as_fd(), to_dir.as_fd());
        let copied = copy(from, full, (dirs, name), reach);
        if !matches!(copied, Ok(None))
            && let Ok(Some(stamp)) = stamp_at(to_dir.as_fd(), name)
        {
            made.add_copy(full, stamp);
        }
        match copied {
            Ok(Some(lost)) => {
                brought.files += 1;
                if !lost.is_empty() {
                    brought.lost.push((full.to_vec(), lost));
                }
            }
            Ok(None) => {}
            Err(error) if error.raw_os_error() == Some(Errno::NOSPC.raw_os_error()) => {
                return Err(error).context(|| format!("cannot copy '{}'", path::display(full)));
            }
            Err(error) => brought.left.push((full.to_vec(), error.to_string())),
        }
    }
    Ok(())
}

/// Copies a file or a symlink that is not there yet, with no more than these permission bits, and says what of its access could not be
/// kept. None: there is one, or nothing to copy.
fn copy(
    from: &Root,
    full: &[u8],
    ((from_dir, to_dir), name): ((BorrowedFd<'_>, BorrowedFd<'_>), &[u8]),
    reach: u32,
) -> std::io::Result<Option<Lost>> {
    let Some(stamp) = stamp_at(from_dir, name)? else {
        return Ok(None);
    };
    if stamp_at(to_dir, name)?.is_some() {
        return Ok(None);
    }
    let lost = if stamp.is_symlink() {
        let target = read_link_at(from_dir, name)?;
        if std::path::Path::new(OsStr::from_bytes(&target)).starts_with(from.path()) {
            // What is written through it would reach the present.
            return Err(std::io::Error::other("a link into the working tree"));
        }
        let name = OsStr::from_bytes(name);
        rustix::fs::symlinkat(OsStr::from_bytes(&target), to_dir, name)?;
        Access::owned((stamp.uid, stamp.gid)).give_link_owner(to_dir, name)?
    } else if stamp.is_file() {
        let (access, stat) = Access::at(from_dir, name)?.ok_or(Errno::NOENT)?;
        let source = from.open_file(full)?;
        let opened = rustix::fs::fstat(&source)?;
        if (opened.st_dev, opened.st_ino) != (stat.st_dev, stat.st_ino) {
            return Err(std::io::Error::other("it was replaced meanwhile"));
        }
        copy_file(source, (access, stat.st_mode & reach), to_dir, name)?
    } else {
        return Ok(None);
    };
    set_time(to_dir, name, stamp.mtime)?;
    Ok(Some(lost))
}

/// For those who may use the original, and for nobody else until it is whole.
fn copy_file(
    source: OwnedFd,
    (mut access, mode): (Access, u32),
    to_dir: BorrowedFd<'_>,
    name: &[u8],
) -> std::io::Result<Lost> {
    let target = create_at(to_dir, name, 0o600)?;
    // No record says that a program may do more than its content: it is not made again by a copy.
    without_capabilities(&mut access);
    let mut lost = access.give_owner(&target)?;
    if !clone(&target, &source) {
        let (mut source, mut target) = (File::from(source), File::from(target.try_clone()?));
        std::io::copy(&mut source, &mut target)?;
    }
    access.give_rest(&target, mode & 0o777, &mut lost)?;
    Ok(lost)
}

/// Shares the blocks, where the file system can.
fn clone(target: &OwnedFd, source: &OwnedFd) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::ioctl_ficlone(target, source).is_ok();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Opens a directory of a scratch, made with what is above it where it is not there: for those who may use the present's.
fn make_dirs(
    (from, to, reach): (&Root, &Root, &Reach<'_>),
    dir: &[u8],
    made: &MadePaths,
    lost: &mut Vec<(Vec<u8>, Lost)>,
) -> rustix::io::Result<OwnedFd> {
    match to.open_dir(dir) {
        Err(Errno::NOENT) if !dir.is_empty() => {}
        other => return other,
    }
    let (above, name) = path::split(dir);
    let fd = make_dirs((from, to, reach), above, made, lost)?;
    let reach = reach.of(above)?;
    let original = Access::at(from.open_dir(above)?.as_fd(), name)?;
    let (access, stat) = original.ok_or(Errno::NOENT)?;
    // Closed to others until it has its owner and attributes: who gets in before stays in.
    let own = Mode::RWXU;
    match rustix::fs::mkdirat(&fd, OsStr::from_bytes(name), own) {
        Ok(()) => {
            made.add_dir(dir);
            let new = to.open_dir_for_reading(dir)?;
            let mut missed = access.give_owner(&new)?;
            // Its owner goes on putting files into it.
            let bits = stat.st_mode & 0o7777 & reach | own.bits();
            access.give_rest(&new, bits, &mut missed)?;
            if !missed.is_empty() {
                lost.push((dir.to_vec(), missed));
            }
        }
        // Another thread puts something into it, too.
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    to.open_dir(dir)
}

/// The time of a directory in which files were put. One that cannot be set costs a rebuild, and nothing else.
fn copy_dir_time(from: &Root, to: &Root, dir: &[u8]) {
    let (above, name) = path::split(dir);
    let stamp = from.open_dir(dir).and_then(|fd| stamp_of(fd.as_fd()));
    if let (Ok(stamp), Ok(fd), false) = (stamp, to.open_dir(above), name.is_empty()) {
        let _ = set_time(fd.as_fd(), name, stamp.mtime);
    }
}

fn set_time(dir: BorrowedFd<'_>, name: &[u8], mtime: i64) -> rustix::io::Result<()> {
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: mtime.div_euclid(1_000_000_000),
            tv_nsec: mtime.rem_euclid(1_000_000_000),
        },
    };
    rustix::fs::utimensat(
        dir,
        OsStr::from_bytes(name),
        &times,
        AtFlags::SYMLINK_NOFOLLOW,
    )
}
