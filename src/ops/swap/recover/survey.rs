//! How every journalled path is on disk: as the one side has it, as the other, or as somebody else left it.

use super::super::journal::{path_of, side_of};
use super::put_back::Unfinished;
use crate::error::{Result, ResultExt};
use crate::git::fs::{ASIDE, Root, names_in, stamp_at};
use crate::git::tree::{LINK_MODE, Node};
use crate::git::{ObjectFormat, Oid, path};
use crate::store::Store;
use crate::store::state::{Journal, JournalEntry};
use crate::worktree::apply::{content_oid, temp_prefix};
use crate::worktree::plan::Side;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

/// How a journalled path is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDisk {
    /// As before the swap.
    Before,
    /// As the swap leaves it.
    After,
    /// As somebody else left it.
    Other,
}

/// What a look at every journalled path found.
pub(super) struct Survey {
    /// Per entry, in order.
    pub(super) found: Vec<OnDisk>,
    /// Paths that neither side explains.
    pub(super) differing: Vec<Vec<u8>>,
    /// Temporary files that are still there, and whether their bytes are known to be kept.
    pub(super) temps: Vec<(Vec<u8>, bool)>,
}

impl Survey {
    /// Whether a path that somebody changed since, and that stays, needs the place: the one is a directory of the other.
    pub(super) fn is_blocked(&self, root: &Root, full: &[u8]) -> bool {
        self.differing.iter().any(|kept| {
            let in_the_way = path::is_within(kept, full) || path::is_within(full, kept);
            in_the_way && !matches!(root.stamp(kept), Ok(None))
        })
    }
}

/// What is at a path; nothing when its directory is not there. What nobody may read is what no side has.
pub(in crate::ops::swap) fn node_of(
    root: &Root,
    full: &[u8],
    format: ObjectFormat,
) -> Result<Disk> {
    let (dir, name) = path::split(full);
    let what = || format!("cannot read '{}'", path::display(full));
    let Some(fd) = root.dir_if_there(dir).context(what)? else {
        return Ok(None);
    };
    let Some(stamp) = stamp_at(fd.as_fd(), name).context(what)? else {
        return Ok(None);
    };
    // The owner's bit alone makes a file executable, as for git.
    let mode = match (stamp.is_symlink(), stamp.is_file(), stamp.mode & 0o100) {
        (true, _, _) => LINK_MODE,
        (_, true, 0) => 0o100_644,
        (_, true, _) => 0o100_755,
        // A directory or something special: no side of a journal has that.
        _ => 0,
    };
    let oid = content_oid(format, fd.as_fd(), name, &stamp).context(what)?;
    let node = Node {
        mode,
        oid: oid.unwrap_or(Oid::NULL),
    };
    Ok(Some((node, stamp.permissions())))
}

/// How a path is on disk: its node and permission bits.
pub(in crate::ops::swap) type Disk = Option<(Node, u32)>;

impl Unfinished<'_> {
    /// Looks at every journalled path.
    ///
    /// # Errors
    /// A path cannot be read; `CORRUPT_RECORD`.
    pub(super) fn survey(&self) -> Result<Survey> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let trusted = self.ctx.repo.file_mode()?;
        let format = self.store.objects.format();
        let mut survey = Survey {
            found: Vec::new(),
            differing: Vec::new(),
            temps: temps(&root, self.journal, format)?,
        };
        let asides = asides(&root, &survey.temps, format)?;
        let known = journalled(self.journal)?;
        let prefix = temp_prefix(&self.journal.swap_id);
        for entry in &self.journal.entries {
            let full = path_of(&entry.path)?;
            let sides = (
                side_of(entry.before.as_ref())?,
                side_of(entry.after.as_ref())?,
            );
            let disk = node_of(&root, &full, format)?;
            let aside = aside_of(&asides, &full, sides).filter(|_| disk.is_none());
            let found = match explained(disk, sides, trusted) {
                OnDisk::Other if aside.is_some() => aside.unwrap_or(OnDisk::Other),
                // Somebody made it, or wrote into it.
                OnDisk::Before | OnDisk::After
                    if is_dir(disk) && has_others(&root, &full, &known, &prefix)? =>
                {
                    OnDisk::Other
                }
                // Files are renamed into place: only a power cut leaves half of one.
                OnDisk::Other if self.journal.is_of_another_boot() => {
                    torn_of(self.store, &root, &full, sides)?
                }
                found => found,
            };
            if found == OnDisk::Other {
                survey.differing.push(full);
            }
            survey.found.push(found);
        }
        Ok(survey)
    }
}

/// What was moved out of a place that was then left empty, as a kill may leave it where names cannot be exchanged: its directory and what
/// it holds.
fn asides(
    root: &Root,
    temps: &[(Vec<u8>, bool)],
    format: ObjectFormat,
) -> Result<Vec<(Vec<u8>, Oid)>> {
    let mut found = Vec::new();
    for (temp, _) in temps.iter().filter(|(temp, _)| temp.ends_with(ASIDE)) {
        if let Some((node, _)) = node_of(root, temp, format)? {
            found.push((path::split(temp).0.to_vec(), node.oid));
        }
    }
    Ok(found)
}

/// The side of an empty place that was moved out of it.
fn aside_of(
    asides: &[(Vec<u8>, Oid)],
    full: &[u8],
    (before, after): (Option<Side>, Option<Side>),
) -> Option<OnDisk> {
    let dir = path::split(full).0;
    let is_aside = |side: Option<Side>| {
        let oid = side.map(|side| side.node.oid);
        let mut asides = asides.iter();
        asides.any(|(at, found)| at == dir && Some(*found) == oid)
    };
    match (is_aside(before), is_aside(after)) {
        (true, _) => Some(OnDisk::Before),
        (_, true) => Some(OnDisk::After),
        _ => None,
    }
}

/// Whether it is a directory, or something special.
fn is_dir(disk: Disk) -> bool {
    disk.is_some_and(|(node, _)| node.mode == 0 && node.oid.is_null())
}

/// The paths of a journal.
fn journalled(journal: &Journal) -> Result<BTreeSet<Vec<u8>>> {
    let entries = journal.entries.iter();
    entries.map(|entry| path_of(&entry.path)).collect()
}

/// Whether something is beneath a directory that is neither in the journal nor a temporary file of the swap, beside directories.
/// Something special is no directory, and nobody's but its maker's.
fn has_others(
    root: &Root,
    dir: &[u8],
    known: &BTreeSet<Vec<u8>>,
    temp_prefix: &[u8],
) -> Result<bool> {
    let stamp_of = |full: &[u8]| {
        let stamp = root.stamp(full);
        stamp.context(|| format!("cannot read '{}'", path::display(full)))
    };
    if !stamp_of(dir)?.is_some_and(|stamp| stamp.is_dir()) {
        return Ok(true);
    }
    let mut pending = vec![dir.to_vec()];
    while let Some(at) = pending.pop() {
        for name in root.names(&at)? {
            let full = path::join(&at, &name);
            let stamp = stamp_of(&full)?;
            if stamp.is_some_and(|stamp| stamp.is_dir()) {
                pending.push(full);
            } else if stamp.is_some() && !known.contains(&full) && !name.starts_with(temp_prefix) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Which side of an entry is on disk, where bits can be relied on.
pub(super) fn on_disk(entry: &JournalEntry, disk: Disk) -> Result<OnDisk> {
    let (before, after) = (entry.before.as_ref(), entry.after.as_ref());
    Ok(explained(disk, (side_of(before)?, side_of(after)?), true))
}

/// Which of the sides before and after explains what is on disk.
fn explained(disk: Disk, (before, after): (Option<Side>, Option<Side>), trusted: bool) -> OnDisk {
    let is = |side: Option<Side>| match (disk, side) {
        (None, None) => true,
        (Some((node, _)), Some(side)) => {
            node.oid == side.node.oid
                && (node.mode == side.node.mode
                    || (!trusted && node.mode != LINK_MODE && side.node.mode != LINK_MODE))
        }
        // A directory where a path is to be nothing: what is beneath is looked at by itself.
        (Some(_), None) => is_dir(disk),
        (None, Some(_)) => false,
    };
    let perm_is = |side: Option<Side>| match (disk, side) {
        (Some((_, perm)), Some(side)) => perm == side.perm,
        _ => true,
    };
    match (is(before), is(after)) {
        // Where only permissions change, they alone tell the sides apart.
        (true, true) if !perm_is(before) && perm_is(after) => OnDisk::After,
        (true, _) => OnDisk::Before,
        (false, true) => OnDisk::After,
        (false, false) => OnDisk::Other,
    }
}

/// Which side a path that no side explains is left of, after the power went: what was written last had not reached the disk.
fn torn_of(
    store: &Store,
    root: &Root,
    full: &[u8],
    (before, after): (Option<Side>, Option<Side>),
) -> Result<OnDisk> {
    let is_torn =
        |side: Option<Side>| side.map_or(Ok(false), |side| is_torn(store, root, full, side));
    if is_torn(before)? {
        Ok(OnDisk::Before)
    } else if is_torn(after)? {
        Ok(OnDisk::After)
    } else {
        Ok(OnDisk::Other)
    }
}

/// Whether what stands at a path is what a power cut leaves of a side: nothing, or no more than a beginning of its bytes, with
/// zeros where some did not reach the disk.
pub(super) fn is_torn(store: &Store, root: &Root, full: &[u8], side: Side) -> Result<bool> {
    // The smallest unit that a disk writes: each has reached it or has not.
    const SECTOR: usize = 512;
    let Some(stamp) = root.stamp(full)? else {
        return Ok(true);
    };
    if side.node.mode == LINK_MODE || !stamp.is_file() {
        return Ok(false);
    }
    let what = || format!("cannot read '{}'", path::display(full));
    let (_, whole) = store.objects.read(side.node.oid)?;
    let mut found = Vec::new();
    let file = match root.open_file(full) {
        Err(Errno::ACCESS | Errno::PERM) => return Ok(false),
        other => File::from(other.context(what)?),
    };
    // One byte more shows that a file is longer, however long it is.
    file.take(whole.len() as u64 + 1)
        .read_to_end(&mut found)
        .context(what)?;
    let mut parts = found.chunks(SECTOR).zip(whole.chunks(SECTOR));
    Ok(found.len() <= whole.len()
        && parts
            .all(|(part, wanted)| wanted.starts_with(part) || part.iter().all(|byte| *byte == 0)))
}

/// The swap's temporary files, and those of recoveries of it that died as well, beside the paths they were for.
pub(super) fn temps(
    root: &Root,
    journal: &Journal,
    format: ObjectFormat,
) -> Result<Vec<(Vec<u8>, bool)>> {
    let mut known = BTreeSet::new();
    let mut dirs = BTreeSet::new();
    for entry in &journal.entries {
        dirs.insert(path::split(&path_of(&entry.path)?).0.to_vec());
        let sides = [&entry.before, &entry.after];
        known.extend(sides.into_iter().flatten().map(|side| side.oid.clone()));
    }
    let prefix = temp_prefix(&journal.swap_id);
    let mut temps = Vec::new();
    for dir in dirs {
        let what = || format!("cannot read '{}'", path::display(&dir));
        let Some(fd) = root.dir_to_read_if_there(&dir).context(what)? else {
            continue;
        };
        for name in names_in(fd.as_fd()).context(what)? {
            let temp = path::join(&dir, &name);
            if name.starts_with(&prefix)
                && let Some((node, _)) = node_of(root, &temp, format)?
            {
                // A file that was being written when the process died is a beginning of the target: no side has it.
                let kept = known.contains(&node.oid.to_string());
                temps.push((temp, kept));
            }
        }
    }
    Ok(temps)
}
