//! Git's index file: read whole, looked up by path, written back.
//!
//! Owns the formats: versions 2 to 4, the split index (`link` and its shared file), the sparse index (`sdir`, expanded),
//! the cache tree (`TREE`) and resolve-undo (`REUC`). libgit2 knows neither split nor sparse indexes and takes a hundred
//! milliseconds where this takes a few.
//!
//! Promises: entries are always sorted by path and stage, with no key twice; a torn or hostile file is an error, never a
//! panic, and what is allocated stays in proportion to the file; the paths of all entries stand in one arena (for
//! versions 2 and 3 the file's own bytes), so that no entry allocates.
//!
//! Leaves out on purpose: the untracked cache, fsmonitor data and offset tables, which git rebuilds;
//! whether a path is safe to write to a working tree (that is [`super::path::is_safe`]); locking, which callers do.

mod arena;
mod builder;
mod cache_tree;
mod cursor;
mod entries;
mod ewah;
mod memory;
mod proven;
mod read;
mod sparse;
mod split;
mod tree;
mod write;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;

use arena::Arena;
use std::cmp::Ordering;
use std::fmt::Display;
use std::ops::{BitOr, Range};
use std::path::Path;

use super::tree::Node;
use super::{ObjectFormat, Oid};
use crate::error::{Code, Error, Result};
use crate::git::fs::{Durable, Stamp, write_atomic_with_mode};
use crate::git::mapped::Bytes;
use write::Split;

pub use builder::Builder;
pub use cache_tree::{CacheTree, Valid};
pub use memory::MemoryTrees;
pub use tree::{TreeSink, Unmerged, build_tree, build_tree_without, unsafe_names};

/// The file type bits of a mode.
const TYPE_MASK: u32 = 0o170_000;
/// A directory: a tree's subtree, or a sparse index's folded directory.
const MODE_DIRECTORY: u32 = 0o040_000;

/// Gives the raw bytes of tree objects, for folding out the directories of a sparse index.
pub trait TreeSource: Sync {
    /// How the repository names objects, in its index as in its trees.
    fn format(&self) -> ObjectFormat;

    /// The content of the tree `oid`, without its object header.
    ///
    /// # Errors
    /// When the object is missing or no tree.
    fn tree(&self, oid: Oid) -> Result<Vec<u8>>;
}

/// Whether a reader checks the hash at the file's end. Hashing costs more than all the rest; git itself trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// Hash the file and compare. A trailer of zeros (`index.skipHash`) passes.
    Verify,
    /// Check the structure alone.
    Trust,
}

/// What an entry remembers of its file, truncated to 32 bits each as the index stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(
    missing_docs,
    reason = "the names are those of stat(2), times are (seconds, nanoseconds)"
)]
pub struct Stat {
    pub ctime: (u32, u32),
    pub mtime: (u32, u32),
    pub dev: u32,
    pub ino: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u32,
}

impl Stat {
    /// What a stamp of a file on this device says.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the index keeps the low 32 bits"
    )]
    pub fn of(stamp: &Stamp, device: u64) -> Self {
        const SECOND: i64 = 1_000_000_000;
        let parts = |time: i64| {
            (
                time.div_euclid(SECOND) as u32,
                time.rem_euclid(SECOND) as u32,
            )
        };
        Self {
            ctime: parts(stamp.ctime),
            mtime: parts(stamp.mtime),
            dev: device as u32,
            ino: stamp.ino as u32,
            uid: stamp.uid,
            gid: stamp.gid,
            size: munged(stamp.size),
        }
    }
}

/// git's `munge_st_size`: a size that is a multiple of 4 GiB must not look like an empty or a smudged file.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the index keeps the low 32 bits"
)]
fn munged(size: u64) -> u32 {
    match size as u32 {
        0 if size != 0 => 0x8000_0000,
        size => size,
    }
}

impl From<&std::fs::Metadata> for Stat {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the index keeps the low 32 bits"
    )]
    fn from(meta: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            ctime: (meta.ctime() as u32, meta.ctime_nsec() as u32),
            mtime: (meta.mtime() as u32, meta.mtime_nsec() as u32),
            dev: meta.dev() as u32,
            ino: meta.ino() as u32,
            uid: meta.uid(),
            gid: meta.gid(),
            size: munged(meta.size()),
        }
    }
}

/// The marks that a user or git puts on an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// `git update-index --assume-unchanged`.
    pub const ASSUME_VALID: Self = Self(1);
    /// `git update-index --skip-worktree`, and what lies outside a sparse checkout.
    pub const SKIP_WORKTREE: Self = Self(2);
    /// `git add --intent-to-add`.
    pub const INTENT_TO_ADD: Self = Self(4);

    /// No mark at all.
    pub const fn empty() -> Self {
        Self(0)
    }

    /// True when every mark of `other` is set here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These marks and those of `other`.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These marks without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// Where a path stands in the arena.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: u32,
    len: u32,
}

impl Span {
    /// The span of `range`, or an error when it lies beyond 4 GiB.
    fn new(range: Range<usize>) -> Result<Self> {
        match (u32::try_from(range.start), u32::try_from(range.len())) {
            (Ok(start), Ok(len)) => Ok(Self { start, len }),
            _ => Err(unsupported("the index is larger than 4 GiB")),
        }
    }

    /// Its first `len` bytes.
    fn first(self, len: usize) -> Self {
        let len = u32::try_from(len).map_or(self.len, |len| len.min(self.len));
        Self { len, ..self }
    }
}

/// One entry of fixed size; [`Index::path`] gives its path.
#[derive(Debug, Clone)]
pub struct Entry {
    span: Span,
    /// Type and permission as git knows them: `100644`, `100755`, `120000`, `160000`.
    pub mode: u32,
    /// The blob, or a gitlink's commit. The empty blob for intent-to-add.
    pub oid: Oid,
    /// 0 merged, 1 base, 2 ours, 3 theirs.
    pub stage: u8,
    /// Marks.
    pub flags: Flags,
    /// The file as git last saw it; all zeros when it never did, size 0 when git smudged a racy entry.
    pub stat: Stat,
}

impl Entry {
    /// A merged entry without marks or stat data, to be given to [`Builder::push`].
    pub fn new(mode: u32, oid: Oid) -> Self {
        Self {
            span: Span::default(),
            mode,
            oid,
            stage: 0,
            flags: Flags::empty(),
            stat: Stat::default(),
        }
    }

    /// Its mode and id.
    pub fn node(&self) -> Node {
        Node {
            mode: self.mode,
            oid: self.oid,
        }
    }
}

/// A directory of a sparse index: its path, and the tree that stands for all beneath it.
pub type Folded = (Vec<u8>, Oid);

/// Whether the entries of an index prove its cache tree. What a builder changes keeps that so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeProof {
    /// It is as git left it.
    Open,
    /// What they do not prove is gone from it.
    Done,
}

/// A whole index in memory: sorted, unsplit, with no folded directory.
#[derive(Debug, Clone)]
pub struct Index {
    /// How objects are named in it.
    pub format: ObjectFormat,
    /// 2, 3 or 4, as read. Writing keeps 4 and chooses between 2 and 3 by need.
    pub version: u32,
    /// Sorted by path and stage.
    entries: Vec<Entry>,
    /// What the spans of the entries point into.
    paths: Arena,
    /// The trees that git says equal parts of this index.
    pub cache_tree: Option<CacheTree>,
    /// Whether they do.
    proof: TreeProof,
    /// The `REUC` payload as it stood in the file: conflicts that were resolved.
    pub resolve_undo: Option<Vec<u8>>,
    /// The file's trailer. All zeros under `index.skipHash` and for a missing file, so no identity by itself.
    pub checksum: Oid,
    /// The stat of the file that was read, from the descriptor it was read through: the racy rule compares with it.
    pub file: Option<Stat>,
    /// The file was a split index.
    pub was_split: bool,
    /// The file was a sparse index, or one with folded directories.
    pub was_sparse: bool,
    /// The directories that were folded in the file.
    pub was_folded: Vec<Folded>,
    /// Directories to write folded: see [`Index::fold`].
    fold: Vec<Folded>,
    /// To be written split, with no directory folded.
    pub splits: bool,
}

impl Index {
    /// An empty index, as of a repository without the file. Filled by a [`Builder`].
    pub fn new(format: ObjectFormat) -> Self {
        Self {
            format,
            version: 2,
            entries: Vec::new(),
            paths: Arena::default(),
            cache_tree: None,
            proof: TreeProof::Open,
            resolve_undo: None,
            checksum: format.null(),
            file: None,
            was_split: false,
            was_sparse: false,
            was_folded: Vec::new(),
            fold: Vec::new(),
            splits: false,
        }
    }

    /// Keeps of the cache tree what the entries prove.
    pub fn prove_trees(&mut self) {
        if self.proof == TreeProof::Done {
            return;
        }
        if let Some(root) = &mut self.cache_tree {
            proven::keep_true(root, &self.entries, &self.paths);
        }
        self.proof = TreeProof::Done;
    }

    /// The cache tree, once it is proven; none before.
    pub fn true_trees(&self) -> Option<&CacheTree> {
        self.cache_tree
            .as_ref()
            .filter(|_| self.proof == TreeProof::Done)
    }

    /// Has the directory `dir` written folded, as an entry for the tree `oid`, when that tree says exactly what the entries
    /// beneath say: merged, outside of the sparse checkout, and nothing else.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub fn fold(&mut self, dir: &[u8], oid: Oid, trees: &dyn TreeSource) -> Result<()> {
        if sparse::is_all(self, dir, oid, trees)? {
            self.fold.push((dir.to_vec(), oid));
        }
        Ok(())
    }

    /// Reads the index `file`; a missing one is an empty index. `git_dir` (the worktree's own) holds the shared file of a
    /// split index, `trees` folds out the directories of a sparse one.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` for what no git wrote whole, `UNSUPPORTED_REPOSITORY` for a version or a mandatory extension that
    /// is not known, `IO`. The message names the file.
    pub fn read(
        file: &Path,
        git_dir: &Path,
        trees: &dyn TreeSource,
        checksum: Checksum,
    ) -> Result<Self> {
        read::file(file, git_dir, trees, checksum)
    }

    /// Reads an index from the bytes of its file, else as [`Index::read`].
    ///
    /// # Errors
    /// As [`Index::read`], without the file's name.
    pub fn parse(
        bytes: Vec<u8>,
        git_dir: &Path,
        trees: &dyn TreeSource,
        checksum: Checksum,
    ) -> Result<Self> {
        read::whole(Bytes::Read(bytes), git_dir, trees, checksum)
    }

    /// The bytes of an index file that any git reads: version 4 when this one has it, else 2 or 3; with the cache tree and
    /// resolve-undo when present, and never split, or with what only caches. Sparse, and without a cache tree, where a
    /// directory was folded.
    pub fn write_bytes(&self) -> Vec<u8> {
        write::bytes(self)
    }

    /// Writes the index into `file`, in one step. With [`Index::splits`] its entries are in a shared file in `git_dir` (the
    /// worktree's own), which is written before.
    ///
    /// # Errors
    /// `IO`: a file cannot be written.
    pub fn write(&self, file: &Path, git_dir: &Path, durable: Durable, mode: u32) -> Result<()> {
        if !self.splits {
            return write_atomic_with_mode(file, &self.write_bytes(), durable, mode);
        }
        let Split { id, shared, small } = write::split(self);
        let shared_file = split::shared_path(git_dir, id);
        write_atomic_with_mode(&shared_file, &shared, durable, mode)?;
        write_atomic_with_mode(file, &small, durable, mode)
    }

    /// The entries, sorted by path and stage.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Paths and entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Entry)> {
        self.entries.iter().map(|entry| (self.path(entry), entry))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when nothing is tracked.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The path of one of this index's own entries.
    pub fn path(&self, entry: &Entry) -> &[u8] {
        self.paths.get(entry.span)
    }

    /// Where the entry stands, or where it would.
    ///
    /// # Errors
    /// The place where it would be inserted, when it is not there.
    pub fn position(&self, path: &[u8], stage: u8) -> std::result::Result<usize, usize> {
        self.entries
            .binary_search_by(|entry| compare(&self.paths, entry, (path, stage)))
    }

    /// The entry of `path` at `stage`.
    pub fn get(&self, path: &[u8], stage: u8) -> Option<&Entry> {
        self.entries.get(self.position(path, stage).ok()?)
    }

    /// Where the merged entry of `path` stands, looked for among these positions alone ([`Index::within`]'s, say), first at
    /// `likely`.
    pub fn find_from(&self, likely: usize, among: Range<usize>, path: &[u8]) -> Option<usize> {
        let is_it = |entry: &Entry| compare(&self.paths, entry, (path, 0));
        if among.contains(&likely) && self.entries.get(likely).map(is_it) == Some(Ordering::Equal) {
            return Some(likely);
        }
        let at = self.entries.get(among.clone())?.binary_search_by(is_it);
        Some(among.start + at.ok()?)
    }

    /// All entries of `path`: one merged entry, or up to three stages.
    pub fn stages(&self, path: &[u8]) -> &[Entry] {
        let start = self.position(path, 0).unwrap_or_else(|at| at);
        let rest = self.entries.get(start..).unwrap_or_default();
        let count = rest
            .iter()
            .take_while(|entry| self.path(entry) == path)
            .count();
        &rest[..count]
    }

    /// True when `path` itself is in the index, at any stage.
    pub fn has_path(&self, path: &[u8]) -> bool {
        let at = self.position(path, 0).unwrap_or_else(|at| at);
        self.entries
            .get(at)
            .is_some_and(|entry| self.path(entry) == path)
    }

    /// The positions of all entries beneath the directory `dir`; the root (empty) holds everything.
    pub fn within(&self, dir: &[u8]) -> Range<usize> {
        if dir.is_empty() {
            return 0..self.len();
        }
        let prefix = [dir, b"/"].concat();
        let start = self.position(&prefix, 0).unwrap_or_else(|at| at);
        let rest = self.entries.get(start..).unwrap_or_default();
        let is_in = |entry: &Entry| self.path(entry).starts_with(&prefix);
        // Most directories hold few: the end is looked for near the start, in steps that double.
        let mut step = 1;
        while rest.get(step).is_some_and(is_in) {
            step *= 2;
        }
        let near = rest.get(..step).unwrap_or(rest);
        start..start + near.partition_point(is_in)
    }

    /// Gives the entry at `position` other marks. Out of range: nothing.
    pub fn set_flags(&mut self, position: usize, flags: Flags) {
        if let Some(entry) = self.entries.get_mut(position) {
            entry.flags = flags;
        }
    }

    /// Gives the entry at `position` fresh stat data. Out of range: nothing.
    pub fn set_stat(&mut self, position: usize, stat: Stat) {
        if let Some(entry) = self.entries.get_mut(position) {
            entry.stat = stat;
        }
    }
}

/// The order of the index: by path bytes, then by stage.
fn compare(paths: &Arena, entry: &Entry, (path, stage): (&[u8], u8)) -> Ordering {
    paths
        .get(entry.span)
        .cmp(path)
        .then(entry.stage.cmp(&stage))
}

fn corrupt(what: impl Display) -> Error {
    Error::new(Code::CorruptRecord, format!("corrupt index: {what}"))
}

fn unsupported(what: impl Display) -> Error {
    Error::new(Code::UnsupportedRepository, what.to_string())
}
