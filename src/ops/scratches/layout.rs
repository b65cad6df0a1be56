//! A snapshot's files and index, put into an empty worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::present::{Brought, Present};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Durable, Root, Stamp};
use crate::git::index::{Builder, Entry, Flags, Stat};
use crate::git::objects::ObjectKind;
use crate::git::path;
use crate::git::tree::{self, DIR_MODE, GITLINK_MODE, LINK_MODE, Node};
use crate::ops::Context;
use crate::ops::swap::extras::stored_extras;
use crate::ops::swap::newindex::{entries_beside, fold};
use crate::store::Store;
use crate::store::snapshot::Lists;
use crate::store::stored::{Stored, part};
use crate::text::size;
use crate::worktree::apply::made::MadePaths;
use crate::worktree::apply::{Applied, Apply, Expected, Granted, Securing, temp_name};
use crate::worktree::plan::{DirChange, Extras, Plan, PlanEntry, Side};
use crate::worktree::scan::DESK;

/// What a file takes on disk beside its bytes, at most.
const BLOCK: u64 = 4096;

/// Refuses when the file system has not enough room.
///
/// # Errors
/// `NO_SPACE`.
pub fn check_room(stored: &Stored, dir: &Path) -> Result<()> {
    let stats = &stored.record.stats;
    let needed = stats
        .bytes
        .saturating_add(stats.files.saturating_mul(BLOCK));
    let room = room_at(dir).context(|| format!("cannot look at '{}'", dir.display()))?;
    // Not 'f_bfree': that counts what is reserved for root, too.
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    if needed <= free {
        return Ok(());
    }
    Err(Error::new(
        Code::NoSpace,
        format!(
            "'{}' needs up to {}, and {} are free",
            stored.id,
            size(needed),
            size(free)
        ),
    ))
}

/// The file system of a directory, also when others have just taken that away for being empty: what is above it is on the same one.
fn room_at(dir: &Path) -> rustix::io::Result<rustix::fs::StatVfs> {
    match (rustix::fs::statvfs(dir), dir.parent()) {
        (Err(Errno::NOENT), Some(above)) => room_at(above),
        (answer, _) => answer,
    }
}

/// What was laid out.
pub struct LaidOut {
    /// How many files.
    pub files: usize,
    /// What was done.
    pub applied: Applied,
    /// Ignored files of the present that came along.
    pub brought: Brought,
    /// Directories of submodules, which are empty.
    pub submodules: Vec<Vec<u8>>,
    nodes: BTreeMap<Vec<u8>, Node>,
}

/// How a file begins that stands for one which git LFS did not fetch.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
/// Such a file is smaller than this.
const LFS_LARGEST: u64 = 1024;

impl LaidOut {
    /// Files that git LFS did not fetch. Looked for only where attributes speak of it.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn lfs_pointers(&self, store: &Store) -> Result<Vec<&[u8]>> {
        let small = |node: &Node| -> Result<Option<Vec<u8>>> {
            match store.objects.header(node.oid)? {
                Some((_, size)) if size < LFS_LARGEST => Ok(Some(store.objects.read(node.oid)?.1)),
                _ => Ok(None),
            }
        };
        let mut speak = false;
        let attributes = self.nodes.iter();
        for (_, node) in attributes.filter(|(full, _)| path::split(full).1 == b".gitattributes") {
            let bytes = store.objects.read(node.oid)?.1;
            speak = speak || bytes.windows(10).any(|part| part == b"filter=lfs");
        }
        let mut found = Vec::new();
        let files = self.nodes.iter();
        let files = files.filter(|(_, node)| speak && node.mode & 0o170_000 == 0o100_000);
        for (full, node) in files {
            if small(node)?.is_some_and(|bytes| bytes.starts_with(LFS_POINTER)) {
                found.push(full.as_slice());
            }
        }
        Ok(found)
    }
}

/// Writes the files below `root`, then the index.
///
/// # Errors
/// `CORRUPT_RECORD` when something cannot be read, `WOULD_OVERWRITE` when somebody else writes there.
pub fn lay_out(
    there: &Context<'_>,
    store: &Store,
    stored: &Stored,
    (root, present): (&Root, &Present<'_>),
    made: &MadePaths,
) -> Result<LaidOut> {
    let lists = store.lists(stored)?;
    let nodes: BTreeMap<Vec<u8>, Node> = tree::flatten(&store.objects, stored.tree)?
        .into_iter()
        .collect();
    let mut extras = stored_extras(store, stored)?;
    if !rustix::process::geteuid().is_root() {
        // As root what is made belongs to whom its directory belongs to; else the bits were meant for this group.
        extras.access.owner = extras.access.owner.or_else(|| present.root_owner());
    }
    let plan = plan(&extras, &nodes);
    let tag = format!("open-{}", stored.id.tail());
    let mut applied = write(there, (store, root), &tag, (&plan, &extras), made)?;
    present.give_times(root, &nodes)?;
    // It remembers the times.
    write_index(there, store, stored, &lists, &nodes)?;
    let mut brought = present.bring_ignored(root, made)?;
    applied.lost.extend(std::mem::take(&mut brought.lost));
    present.give_dir_times(root, &store.objects, stored.tree)?;
    let is_submodule = |node: &Node| node.mode == GITLINK_MODE;
    let submodules = nodes.iter().filter(|(_, node)| is_submodule(node));
    Ok(LaidOut {
        files: plan.entries.len(),
        applied,
        brought,
        submodules: submodules.map(|(full, _)| full.clone()).collect(),
        nodes,
    })
}

/// Writes what a plan has, with the access that its side has of it, where nothing is, and notes what it made.
///
/// # Errors
/// As [`lay_out`].
pub(super) fn write(
    there: &Context<'_>,
    (store, root): (&Store, &Root),
    tag: &str,
    (plan, side): (&Plan, &Extras),
    made: &MadePaths,
) -> Result<Applied> {
    let objects = &store.objects;
    let copy = |oid, out: &mut dyn std::io::Write| objects.copy_blob(oid, out);
    Apply {
        root,
        tag,
        copy_blob: &copy,
        expected: &|_| Expected::Absent,
        is_noted: &|_, _| true,
        securing: &mut NoOneElse,
        access: &Granted::by(side, plan),
        replaced: None,
        protected: &[],
        made: Some(made),
        workshop: None,
        progress: there.progress,
    }
    .run(plan)
    .inspect_err(|_| remove_temps(root, tag, plan))
}

/// Takes away what was written and did not get its name. What has such a name is ours, as the whole directory is claimed.
fn remove_temps(root: &Root, tag: &str, plan: &Plan) {
    for (nth, entry) in plan.entries.iter().enumerate() {
        if let Ok(dir) = root.open_dir(path::split(&entry.path).0) {
            let temp = temp_name(tag, nth);
            // Most are not there.
            let _ = rustix::fs::unlinkat(&dir, OsStr::from_bytes(&temp), AtFlags::empty());
        }
    }
}

/// Nothing was there: nothing can be in the way but what somebody puts there now.
struct NoOneElse;

impl Securing for NoOneElse {
    fn secure(
        &mut self,
        full: &[u8],
        _dir: BorrowedFd<'_>,
        _temp: &[u8],
        _stamp: &Stamp,
    ) -> Result<()> {
        Err(Error::new(
            Code::WouldOverwrite,
            format!("somebody else wrote '{}'", path::display(full)),
        ))
    }
}

fn plan(extras: &Extras, nodes: &BTreeMap<Vec<u8>, Node>) -> Plan {
    let mut dirs: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut plan = Plan::default();
    for (full, node) in nodes {
        if extras.absent.contains(full) || is_desk(full) {
            continue;
        }
        if node.mode == GITLINK_MODE {
            // git makes an empty directory for a submodule.
            dirs.insert(full.clone());
            continue;
        }
        let perm = match node.mode {
            LINK_MODE => 0,
            mode => extras.permissions(full, mode),
        };
        let after = Some(Side { node: *node, perm });
        plan.entries.push(PlanEntry {
            path: full.clone(),
            before: None,
            after,
        });
    }
    let empty = extras.empty_dirs.iter().filter(|dir| !is_desk(dir));
    dirs.extend(empty.cloned());
    let leaves: Vec<Vec<u8>> = plan
        .entries
        .iter()
        .map(|entry| entry.path.clone())
        .collect();
    for full in leaves.iter().chain(&dirs.clone()) {
        let mut above = path::split(full).0;
        while !above.is_empty() && dirs.insert(above.to_vec()) {
            above = path::split(above).0;
        }
    }
    plan.dirs = dirs
        .into_iter()
        .map(|full| DirChange {
            after: Some(extras.permissions(&full, DIR_MODE)),
            before: None,
            path: full,
        })
        .collect();
    let withheld = extras.withheld.iter();
    let withheld = withheld.filter(|(full, _)| nodes.contains_key(*full));
    plan.beyond
        .extend(withheld.map(|(full, lost)| (full.clone(), lost.clone())));
    plan
}

pub(super) fn is_desk(full: &[u8]) -> bool {
    path::is_within(full, DESK) && full != b".timewarp/config.toml"
}

/// The snapshot's index, with stat data of the files just written.
fn write_index(
    there: &Context<'_>,
    store: &Store,
    stored: &Stored,
    lists: &Lists,
    nodes: &BTreeMap<Vec<u8>, Node>,
) -> Result<()> {
    let side = store.index_side(stored)?;
    let marked = |list: &[Vec<u8>]| list.iter().cloned().collect::<BTreeSet<_>>();
    let (conflicts, skipped) = (marked(&lists.conflicts), marked(&lists.skip_worktree));
    let (assumed, converted) = (marked(&lists.assume_unchanged), marked(&lists.converted));
    let flags = |full: &[u8]| {
        let mut flags = Flags::empty();
        if skipped.contains(full) {
            flags = flags | Flags::SKIP_WORKTREE;
        }
        if assumed.contains(full) {
            flags = flags | Flags::ASSUME_VALID;
        }
        flags
    };
    let mut builder = Builder::new(store.objects.format());
    for (full, node) in tree::flatten(&store.objects, side.tree)? {
        // The tree has one side of them; their stages follow below.
        if conflicts.contains(&full) {
            continue;
        }
        let mut entry = Entry::new(node.mode, node.oid);
        entry.flags = flags(&full);
        // Stat data says that the file is as the entry: only where the bytes on disk are the entry's. Of any other git finds out itself.
        let same = nodes.get(&full) == Some(&node) && node.mode != GITLINK_MODE;
        if same || converted.contains(&full) {
            entry.stat = stat(there, &full);
        }
        builder.push(&full, entry)?;
    }
    for (full, mode) in intents(stored, lists)? {
        let mut entry = Entry::new(mode, store.objects.hash(ObjectKind::Blob, b"")?);
        entry.flags = flags(&full) | Flags::INTENT_TO_ADD;
        builder.push(&full, entry)?;
    }
    for (full, mut entry) in entries_beside(store, stored)? {
        if entry.stage == 0 {
            entry.flags = flags(&full);
        }
        builder.push(&full, entry)?;
    }
    builder.set_resolve_undo(store.state_blob(side.state, part::RESOLVE_UNDO)?);
    let mut index = builder.finish();
    // git would fold them itself, and dies of it when `git add -N` gave the index an entry.
    fold(store, stored, &lists.folded, &mut index)?;
    index.splits = there.repo.needs_split_index()?;
    let (file, git_dir) = (there.repo.index_path(), there.repo.git_dir());
    // As git's own index, which is not waited for, either.
    index.write(&file, git_dir, Durable::No, 0o644)
}

/// What git would remember of a file; nothing, which makes git look at it, when it is not there.
fn stat(there: &Context<'_>, full: &[u8]) -> Stat {
    let file = there.repo.worktree_root().join(OsStr::from_bytes(full));
    match file.symlink_metadata() {
        Ok(meta) if !meta.is_dir() => Stat::from(&meta),
        _ => Stat::default(),
    }
}

/// `git add -N` paths with their modes.
fn intents(stored: &Stored, lists: &Lists) -> Result<Vec<(Vec<u8>, u32)>> {
    let modes = &stored.record.index.intent_to_add_modes;
    let one = |full: &Vec<u8>| {
        let name = crate::store::state::stored_path(full);
        let mode = match modes.get(&name) {
            None => 0o100_644,
            Some(text) => match u32::from_str_radix(text, 8) {
                Ok(mode @ (0o100_644 | 0o100_755 | LINK_MODE | GITLINK_MODE)) => mode,
                _ => return Err(damaged(stored)),
            },
        };
        Ok((full.clone(), mode))
    };
    lists.intent_to_add.iter().map(one).collect()
}

fn damaged(stored: &Stored) -> Error {
    Error::new(
        Code::CorruptRecord,
        format!("'{}' is damaged: its index is not well formed", stored.id),
    )
    .hint("run 'tw doctor'")
}
