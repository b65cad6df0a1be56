//! What a swap would do: pure, from two sides to a list of paths.
//!
//! A side is a tree with the permission bits, empty directories and sparse paths that a tree cannot say. Only what differs is
//! in the plan. A path is removed only when the earlier side captured it, the later side lacks it, and the later side's own
//! rules would not have left it out. Submodules and the desk are never in a plan.

mod access;
mod dirs;

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{Kind, Manifest};
use super::scan::DESK;
use crate::error::Result;
use crate::git::Oid;
use crate::git::access::{Access, Lost};
use crate::git::access_list::AccessList;
use crate::git::path;
use crate::git::tree::{self, Change, LINK_MODE, Node};
pub use dirs::closed_parents;

/// What a path is on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// git mode and blob.
    pub node: Node,
    /// Permission bits; meaningless for symlinks.
    pub perm: u32,
}

impl Side {
    /// Whether nothing differs on disk: the bits of a file say whether it is executable, whatever git's mode was when it was looked at.
    pub fn is_as(self, other: Self) -> bool {
        let is_file = self.node.is_same_file(other.node) && self.perm == other.perm;
        let is_link = self.node == other.node && self.node.mode == LINK_MODE;
        self == other || is_file || is_link
    }
}

/// A path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// The path.
    pub path: Vec<u8>,
    /// What the backup has.
    pub before: Option<Side>,
    /// What is put there. The same as before when only owner, group or attributes differ.
    pub after: Option<Side>,
}

impl PlanEntry {
    /// Only permission bits differ.
    pub fn is_chmod(&self) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => before.node == after.node && before.perm != after.perm,
            _ => false,
        }
    }
}

/// A directory that is made, removed or gets other permission bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirChange {
    /// The path.
    pub path: Vec<u8>,
    /// Permission bits before; None when it was not there.
    pub before: Option<u32>,
    /// Permission bits after; None when it goes (if it is empty).
    pub after: Option<u32>,
}

/// Everything a swap does to the working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Paths, sorted by bytes.
    pub entries: Vec<PlanEntry>,
    /// Directories, sorted by bytes.
    pub dirs: Vec<DirChange>,
    /// Paths that the later side lacks but would have left out: they stay.
    pub left: Vec<Vec<u8>>,
    /// Directories that stay although nothing is left in them: the later side has them empty.
    pub keep_dirs: BTreeSet<Vec<u8>>,
    /// Paths that keep an owner, group or attributes that they should not have: they belong to somebody else.
    pub beyond: BTreeMap<Vec<u8>, Lost>,
    /// Owner, group and attributes of paths that come from another side than the one that it leads to.
    pub access: BTreeMap<Vec<u8>, Access>,
    /// Paths that keep owner, group and attributes of what is there, whatever the side that it leads to recorded.
    pub keep_access: BTreeSet<Vec<u8>>,
    /// Paths that get fewer permission bits than their side has: what they come from was closed to somebody since.
    pub narrowed: BTreeSet<Vec<u8>>,
    /// Directories that no record has: they keep owner, group and attributes, and get the bits that stand here as they are.
    pub unrecorded: BTreeSet<Vec<u8>>,
    /// Large files that a filter converts, which come out with git's text of them: their bytes are nowhere.
    pub lost: Vec<Vec<u8>>,
    /// Large files that a filter converts, of which nothing proves that they come out with the bytes that they had.
    pub unproven: Vec<Vec<u8>>,
    /// Files over the size limit that the capture does not have, and that have the bytes of such a file: it has to have them first.
    pub uncaptured: Vec<Vec<u8>>,
}

impl Plan {
    /// Nothing differs.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.dirs.is_empty()
    }

    /// What happens at a path.
    pub fn entry(&self, path: &[u8]) -> Option<&PlanEntry> {
        let entries = &self.entries;
        let at = entries.binary_search_by(|entry| entry.path.as_slice().cmp(path));
        at.ok().map(|at| &entries[at])
    }

    /// What happens to a directory.
    pub fn dir(&self, path: &[u8]) -> Option<&DirChange> {
        let at = self
            .dirs
            .binary_search_by(|dir| dir.path.as_slice().cmp(path));
        at.ok().map(|at| &self.dirs[at])
    }

    /// All paths in it, of files and directories.
    pub fn paths(&self) -> Vec<Vec<u8>> {
        let files = self.entries.iter().map(|entry| entry.path.clone());
        let dirs = self.dirs.iter().map(|dir| dir.path.clone());
        files.chain(dirs).collect()
    }

    /// Paths created or replaced, and paths removed.
    pub fn changes(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (written, removed): (Vec<_>, Vec<_>) =
            self.entries.iter().partition(|entry| entry.after.is_some());
        let paths =
            |entries: Vec<&PlanEntry>| entries.iter().map(|entry| entry.path.clone()).collect();
        (paths(written), paths(removed))
    }
}

/// What a tree cannot say of a side.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// Permission bits by path, of files and directories, where they differ from the defaults, and of submodules' directories.
    pub modes: BTreeMap<Vec<u8>, u32>,
    /// Permission bits of the others: plain files, executables, directories.
    pub defaults: [u32; 3],
    /// Directories without captured content.
    pub empty_dirs: BTreeSet<Vec<u8>>,
    /// Tree paths that were not on disk.
    pub absent: BTreeSet<Vec<u8>>,
    /// Owner, group and attributes by path, as far as they are known and were recorded here.
    pub access: AccessList,
    /// Somebody else made this side: it gives nobody more than he had.
    pub foreign: bool,
    /// It came from another repository (`tw pull`): its bits open nothing wider than is usual here.
    pub is_pulled: bool,
    /// Somebody else says that it was made here: he may have written all that it says.
    pub claimed: bool,
    /// What it does not give for that, by path.
    pub withheld: BTreeMap<Vec<u8>, Lost>,
    /// What it takes the place of.
    pub replaced: Option<Box<Extras>>,
}

fn of_mode([file, executable, directory]: [u32; 3], git_mode: u32) -> u32 {
    match git_mode {
        0o100_755 => executable,
        tree::DIR_MODE => directory,
        _ => file,
    }
}

/// What files, executables and directories are to group and others that nobody here has opened wider.
const USUAL: [u32; 3] = [0o644, 0o755, 0o755];

impl Extras {
    /// This side in the place of another one, whose bits it may have although it was pulled.
    #[must_use]
    pub fn in_place_of(&self, replaced: &Self) -> Self {
        Self {
            replaced: Some(Box::new(replaced.clone())),
            ..self.clone()
        }
    }

    /// The permission bits of a file with this git mode. Of a pulled side group and others get no more than is usual,
    /// unless what is replaced gave it to them.
    pub fn permissions(&self, path: &[u8], git_mode: u32) -> u32 {
        let recorded = self.recorded_permissions(path, git_mode);
        if !self.is_pulled {
            return recorded;
        }
        let replaced = self.replaced.as_ref();
        let had = replaced.map_or(0, |side| side.permissions(path, git_mode));
        recorded & (0o7700 | of_mode(USUAL, git_mode) | had)
    }

    /// The same, whoever made this side.
    pub fn recorded_permissions(&self, path: &[u8], git_mode: u32) -> u32 {
        let recorded = self.modes.get(path).copied();
        recorded.unwrap_or_else(|| of_mode(self.defaults, git_mode))
    }

    /// Whether both record the same permission bits and empty directories.
    pub fn records_as(&self, other: &Self) -> bool {
        (&self.modes, self.defaults, &self.empty_dirs)
            == (&other.modes, other.defaults, &other.empty_dirs)
    }

    /// Whether an empty directory is at a path or beneath it, so that a directory is there although the tree may not have it.
    pub fn leads_to_empty_dir(&self, path: &[u8]) -> bool {
        self.empty_dirs.contains(path) || path::any_within(&self.empty_dirs, path)
    }

    fn side(&self, path: &[u8], node: Option<Node>) -> Option<Side> {
        let node = node.filter(|node| !node.is_gitlink())?;
        if self.absent.contains(path) {
            return None;
        }
        let perm = if node.mode == LINK_MODE {
            0
        } else {
            self.permissions(path, node.mode)
        };
        Some(Side { node, perm })
    }
}

/// The directories over a path, the nearest first, without the root.
fn parents(full: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path::split(full).0), |at| Some(path::split(at).0))
        .take_while(|at| !at.is_empty())
}

/// Whether empty directories that only the earlier side has are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyDirs {
    /// They may stay: travel and restore.
    Stay,
    /// They go, so that the later side is there exactly: return, undo, recovery.
    Go,
}

/// Whether a path of a file or directory is meant.
pub type Takes<'a> = &'a dyn Fn(&[u8]) -> bool;

/// What the planner is given.
pub struct Planning<'a> {
    /// Where the two trees differ.
    pub changes: &'a [Change],
    /// The earlier side's manifest: what is on disk.
    pub manifest: &'a Manifest,
    /// The earlier side.
    pub before: &'a Extras,
    /// The later side.
    pub after: &'a Extras,
    /// Looks a path up in the later tree.
    pub after_node: &'a dyn Fn(&[u8]) -> Result<Option<Node>>,
    /// The paths beneath a tree of the later side, as that tree has them.
    pub leaves: &'a dyn Fn(Oid) -> Result<Vec<Vec<u8>>>,
    /// Whether the later side's rules would have left a path out.
    pub left_out: &'a dyn Fn(&[u8]) -> Result<bool>,
    /// Whether they would have left a directory out, with all that is in it.
    pub leaves_dir_out: &'a dyn Fn(&[u8]) -> bool,
    /// Whether a directory stays, whatever becomes of what is in it.
    pub stays: &'a dyn Fn(&[u8]) -> Result<bool>,
    /// Whether empty directories that only the earlier side has go.
    pub empty_dirs: EmptyDirs,
    /// Whether a file or directory is meant; none given means all are, and what else makes up the whole of a state.
    pub only: Option<Takes<'a>>,
    /// Whether this process may change who may use what belongs to a user.
    pub may_change: fn(u32) -> bool,
}

/// Plans the changes that lead from the earlier side to the later one.
pub fn plan(planning: &Planning<'_>) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
    for change in planning.changes {
        seen.insert(&change.path);
        planning.add(&mut plan, &change.path, change.old, change.new)?;
    }
    for full in planning.paths_with_other_extras() {
        if !seen.contains(full.as_slice()) {
            let node = planning.node_on_disk(&full);
            let (old, new) = match node {
                Some(node) => (Some(node), Some(node)),
                // Equal in both trees, and not on disk on the earlier side.
                None => match (planning.after_node)(&full)? {
                    Some(node) if !node.is_dir() => (Some(node), Some(node)),
                    _ => continue,
                },
            };
            planning.add(&mut plan, &full, old, new)?;
        }
    }
    planning.take_in_the_way(&mut plan);
    planning.leave_what_is_beyond(&mut plan)?;
    plan.entries.sort_by(|a, b| a.path.cmp(&b.path));
    plan.entries.dedup_by(|a, b| a.path == b.path);
    let removed = plan.entries.iter().filter(|entry| entry.after.is_none());
    let emptied: BTreeSet<&[u8]> = removed.flat_map(|entry| parents(&entry.path)).collect();
    for dir in emptied {
        if (planning.stays)(dir)? {
            plan.keep_dirs.insert(dir.to_vec());
        }
    }
    plan.dirs = planning.dirs(&plan)?;
    plan.left.sort();
    plan.keep_dirs
        .extend(planning.after.empty_dirs.iter().cloned());
    Ok(plan)
}

impl Planning<'_> {
    fn wanted(&self, full: &[u8]) -> bool {
        let in_desk =
            // Issues under edit are not of any past state; only what git may track there is.
            path::is_within(full, DESK) && full != b".timewarp/config.toml" && full != DESK;
        !in_desk && self.only.is_none_or(|is_meant| is_meant(full))
    }

    fn add(
        &self,
        plan: &mut Plan,
        full: &[u8],
        old: Option<Node>,
        new: Option<Node>,
    ) -> Result<()> {
        if !self.wanted(full) {
            // It may yet stand in the way of what was asked for.
            if new.is_none() && old.is_some() && !path::is_within(full, DESK) {
                plan.left.push(full.to_vec());
            }
            return Ok(());
        }
        if self.is_lost_gitlink(full, old, new) {
            plan.keep_dirs.insert(full.to_vec());
        }
        let before = self.before.side(full, old);
        let after = self.after.side(full, new);
        match (before, after) {
            (None, None) => return Ok(()),
            (Some(a), Some(b)) if a.is_as(b) && !self.access_differs(full) => {
                return Ok(());
            }
            (Some(_), None) if (self.left_out)(full)? => {
                plan.left.push(full.to_vec());
                return Ok(());
            }
            _ => {}
        }
        plan.entries.push(PlanEntry {
            path: full.to_vec(),
            before,
            after,
        });
        Ok(())
    }

    /// A submodule's directory that the later side has on disk, and of which nothing is here. It comes back empty, as `git checkout`
    /// makes it: what is in one is never captured.
    fn is_lost_gitlink(&self, full: &[u8], old: Option<Node>, new: Option<Node>) -> bool {
        let is = |side: &Extras, node: Option<Node>| {
            node.is_some_and(Node::is_gitlink) && !side.absent.contains(full)
        };
        let vacant =
            |kind: Kind| matches!(kind, Kind::File | Kind::Symlink | Kind::Absent | Kind::Gone);
        is(self.after, new)
            && !is(self.before, old)
            && self
                .manifest
                .file(full)
                .is_none_or(|file| vacant(file.kind))
    }

    /// What the later side's rules would leave is removed all the same where the later side has a directory in its place, or
    /// a file in the place of a directory over it: it is in the backup like any other.
    fn take_in_the_way(&self, plan: &mut Plan) {
        if plan.left.is_empty() {
            return;
        }
        let mut placed: BTreeSet<&[u8]> = BTreeSet::new();
        let mut dirs: BTreeSet<&[u8]> = BTreeSet::new();
        for entry in plan.entries.iter().filter(|entry| entry.after.is_some()) {
            placed.insert(&entry.path);
            dirs.extend(parents(&entry.path));
        }
        for full in self
            .after
            .empty_dirs
            .iter()
            .filter(|full| self.wanted(full))
        {
            dirs.insert(full);
            dirs.extend(parents(full));
        }
        let (in_the_way, left) = std::mem::take(&mut plan.left)
            .into_iter()
            .partition(|full| {
                dirs.contains(full.as_slice()) || parents(full).any(|over| placed.contains(over))
            });
        plan.left = left;
        plan.left.retain(|full| self.wanted(full));
        let in_the_way: Vec<Vec<u8>> = in_the_way;
        for full in in_the_way {
            let before = self.before.side(&full, self.node_on_disk(&full));
            plan.entries.push(PlanEntry {
                path: full,
                before,
                after: None,
            });
        }
    }

    fn node_on_disk(&self, full: &[u8]) -> Option<Node> {
        let file = self.manifest.file(full)?;
        file.kind.in_tree().then_some(Node {
            mode: file.git_mode,
            oid: file.oid,
        })
    }

    /// Paths whose permission bits, access or presence on disk may differ although the trees agree.
    fn paths_with_other_extras(&self) -> BTreeSet<Vec<u8>> {
        let (before, after) = (self.before, self.after);
        let mut paths: BTreeSet<Vec<u8>> = BTreeSet::new();
        let keys = before.modes.keys().chain(after.modes.keys());
        for full in keys {
            if before.modes.get(full) != after.modes.get(full) {
                paths.insert(full.clone());
            }
        }
        paths.extend(before.absent.symmetric_difference(&after.absent).cloned());
        // Recorded under another umask: any file may differ.
        if before.defaults != after.defaults {
            let captured = self
                .manifest
                .entries()
                .filter(|(_, file)| file.kind.in_tree());
            paths.extend(captured.map(|(dir, file)| self.manifest.path_of(dir, &file)));
        }
        paths.extend(self.paths_with_other_access());
        paths
    }
}
