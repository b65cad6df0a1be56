//! What git knows of the working tree, as capture needs it: tracked paths, submodules, and which stamps the index vouches for.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{Code, Result};
use crate::git::fs::{Root, Stamp, is_racy, nanoseconds};
use crate::git::index::{Checksum, Entry, Flags, Index, MemoryTrees, Stat, TreeSource};
use crate::git::objects::{ObjectStore, is_empty_blob};
use crate::git::path;
use crate::git::repo::Repo;
use crate::git::tree::{self, GITLINK_MODE};
use crate::git::{ObjectFormat, Oid};
use crate::text::typed_path;
use crate::worktree::attributes::{
    AttributeConfig, AttributeFiles, Attributes, Conversion, DirAttributes,
};
use crate::worktree::scan::{Seeds, Tracked, read_ignore_file_named};

/// Gives trees out of the object store, for sparse indexes.
pub struct Trees<'a>(pub &'a ObjectStore);

impl TreeSource for Trees<'_> {
    fn format(&self) -> ObjectFormat {
        self.0.format()
    }

    fn tree(&self, oid: Oid) -> Result<Vec<u8>> {
        self.0.read_tree(oid)
    }
}

/// Reads this worktree's index.
pub fn read_index(repo: &Repo, objects: &ObjectStore) -> Result<Index> {
    let file = IndexFile::of(repo)?;
    file.read(objects).map_err(|error| match error.code() {
        Code::CorruptRecord => error.hint(way_out(repo)),
        _ => error,
    })
}

/// Where an index is, and what may be taken from it.
struct IndexFile {
    path: PathBuf,
    git_dir: PathBuf,
    /// `git replace` gives some object another content. What git writes then has that content, under an id that
    /// stands for another one wherever nothing is replaced, as here: no entry is its file's id.
    has_replaced: bool,
}

impl IndexFile {
    fn of(repo: &Repo) -> Result<Self> {
        Ok(Self {
            path: repo.index_path(),
            git_dir: repo.git_dir().to_owned(),
            has_replaced: !repo.refs().names("refs/replace/")?.is_empty(),
        })
    }

    fn read(&self, objects: &ObjectStore) -> Result<Index> {
        // git does not hash its index at every command either.
        let trees = Trees(objects);
        Index::read(&self.path, &self.git_dir, &trees, Checksum::Trust)
    }
}

/// What to do about an index that cannot be read, as a power cut may leave it: what was staged is in the snapshots.
fn way_out(repo: &Repo) -> String {
    let index = typed_path(&repo.index_path());
    format!(
        "mv {index} {index}.damaged; then 'tw restore --staged latest' stages what the latest snapshot has, or 'git reset' what HEAD has"
    )
}

/// Reads the `.gitattributes` of a directory.
pub type LoadAttributes<'a> = Box<dyn FnMut(&[u8]) -> Result<Option<Vec<u8>>> + Send + 'a>;

/// The attributes of a tree whose own files `load` reads, beneath those that hold everywhere.
pub fn attributes<'a>(
    repo: &Repo,
    mut load: LoadAttributes<'a>,
) -> Result<Attributes<LoadAttributes<'a>>> {
    let converts = repo.autocrlf().is_some_and(|value| !is_false(&value)) || repo.eol().is_some();
    let config = AttributeConfig {
        converts_eol: converts,
        ignore_case: repo.ignore_case()?,
    };
    let info = crate::git::regular::read_rules(&repo.common_dir().join("info/attributes"))?;
    let global = match repo.attributes_file() {
        Some(file) => crate::git::regular::read_rules(&file)?,
        None => None,
    };
    let top = load(b"")?;
    let system = crate::git::regular::read_rules(std::path::Path::new("/etc/gitattributes"))?;
    let files = AttributeFiles {
        system: system.as_deref(),
        global: global.as_deref(),
        root: top.as_deref(),
        info: info.as_deref(),
    };
    Ok(Attributes::new(DirAttributes::root(files, config), load))
}

/// The filters that git would start for a file that it adds. One that attributes name and the configuration does not know does nothing.
///
/// # Errors
/// The configuration cannot be read.
pub fn clean_filters(repo: &Repo) -> Result<BTreeSet<Vec<u8>>> {
    let filters = filters(repo)?.into_iter();
    Ok(filters
        .filter_map(|(name, cleans)| cleans.then_some(name))
        .collect())
}

/// All filters that the configuration knows, each with whether git would start it for a file that it adds.
///
/// # Errors
/// The configuration cannot be read.
pub fn filters(repo: &Repo) -> Result<BTreeMap<Vec<u8>, bool>> {
    let mut filters = BTreeMap::new();
    for entry in repo.config_entries("filter.")? {
        let name = entry.key.strip_prefix("filter.");
        let Some((name, key @ ("clean" | "process" | "smudge"))) =
            name.and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        let cleans = key != "smudge" && !entry.text().is_empty();
        *filters.entry(name.as_bytes().to_vec()).or_default() |= cleans;
    }
    Ok(filters)
}

/// What is known without the index.
#[derive(Default)]
pub struct Known {
    /// Paths in HEAD that the index lacks.
    pub head_only: BTreeSet<Vec<u8>>,
    /// Paths captured whatever the rules say; those of directories end with a slash.
    pub forced: BTreeSet<Vec<u8>>,
    /// Whether the index has any submodule.
    pub submodules: bool,
    /// Paths of the index whose objects are not there or damaged, in order.
    pub missing: Vec<Vec<u8>>,
    /// The `.gitignore` files among the skip-worktree paths, in order.
    pub sparse_ignore_files: Vec<Vec<u8>>,
}

/// The index, read when somebody asks, with HEAD's own paths and what the caller forces in.
pub struct GitView<'a> {
    file: IndexFile,
    objects: &'a ObjectStore,
    index: OnceLock<Option<Index>>,
    known: Known,
    attributes: Mutex<Attributes<LoadAttributes<'a>>>,
    failed: Mutex<Option<crate::error::Error>>,
}

impl<'a> GitView<'a> {
    /// Over an index that is already read, or is read when first asked for.
    pub fn new(
        repo: &Repo,
        objects: &'a ObjectStore,
        root: &'a Root,
        index: Option<Index>,
        known: Known,
    ) -> Result<Self> {
        let cell = OnceLock::new();
        if let Some(index) = index {
            let _ = cell.set(Some(index));
        }
        let load: LoadAttributes<'a> =
            Box::new(move |dir: &[u8]| read_ignore_file_named(root, dir, b".gitattributes"));
        Ok(Self {
            file: IndexFile::of(repo)?,
            objects,
            index: cell,
            known,
            attributes: Mutex::new(attributes(repo, load)?),
            failed: Mutex::new(None),
        })
    }

    /// The index. An unreadable one is remembered as an error for [`GitView::check`] and counts as empty meanwhile.
    pub fn index(&self) -> Option<&Index> {
        self.index
            .get_or_init(|| match self.file.read(self.objects) {
                Ok(index) => Some(index),
                Err(error) => {
                    *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    None
                }
            })
            .as_ref()
    }

    /// The error of a lazy read, if there was one: nothing judged since then may be used.
    pub fn check(&self) -> Result<()> {
        match self
            .failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Gives the index back, when it was read.
    pub fn into_index(self) -> Option<Index> {
        self.index.into_inner().flatten()
    }

    fn entry(&self, path: &[u8]) -> Option<&Entry> {
        self.index()?.get(path, 0)
    }

    fn lock_attributes(&self) -> std::sync::MutexGuard<'_, Attributes<LoadAttributes<'a>>> {
        self.attributes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What may happen to a path's bytes when git adds it; nothing when attributes cannot be read.
    pub fn conversion(&self, full: &[u8]) -> Option<Conversion> {
        self.lock_attributes().conversion(full).ok()
    }

    /// The blob and mode of a clean entry, when the file's raw bytes are the blob's as far as can be told without reading them: a
    /// conversion that applied once may have kept the size, so that the caller still has to prove it.
    fn seed(
        &self,
        index: &Index,
        entry: &Entry,
        conversion: &Conversion,
        stamp: &Stamp,
    ) -> Option<(Oid, u32)> {
        let marked = entry.flags.contains(Flags::ASSUME_VALID)
            || entry.flags.contains(Flags::SKIP_WORKTREE)
            || entry.flags.contains(Flags::INTENT_TO_ADD);
        if marked || !is_stat_clean(entry, index, stamp) || entry.mode & 0o170_000 != 0o100_000 {
            return None;
        }
        // Zero is also how git marks a racy entry.
        if stamp.size == 0 && entry.stat.size == 0 && !is_empty_blob(entry.oid) {
            return None;
        }
        // What was converted when it was added may be of another size. A blob that is not there stands for nothing.
        let same_size =
            conversion.is_none() && self.objects.blob_size(entry.oid) == Some(stamp.size);
        same_size.then_some((entry.oid, entry.mode))
    }
}

fn is_false(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "false" | "no" | "off" | "0"
    )
}

/// Whether git's index vouches for a file: same size, times and inode, and the entry is older than the index itself.
pub fn is_stat_clean(entry: &Entry, index: &Index, stamp: &Stamp) -> bool {
    let Some(file) = index.file else { return false };
    let stat = &entry.stat;
    let time = |(seconds, nanos): (u32, u32)| nanoseconds(seconds.into(), nanos.into());
    // Also where the index is on a finer file system than the file.
    let racy = is_racy(time(stat.mtime), time(file.mtime));
    let now = Stat::of(stamp, 0);
    !racy
        && stat.size == now.size
        && stat.mtime == now.mtime
        && stat.ctime == now.ctime
        && stat.ino == now.ino
}

/// What git compares of a file's stat data, as it is configured.
pub struct StatRules {
    /// `core.trustctime`.
    trusts_ctime: bool,
    /// `core.checkStat` is not `minimal`.
    checks_all: bool,
}

impl StatRules {
    /// Those of a repository.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn of(repo: &Repo) -> Result<Self> {
        Ok(Self {
            trusts_ctime: repo.trust_ctime()?,
            checks_all: !repo.checks_stat_minimally(),
        })
    }

    /// Whether git holds a file for clean without a look at it. Of ctime, which bits and names move as well, it compares whole seconds,
    /// where it trusts it at all; so it may where [`is_stat_clean`] does not, which stands for bytes.
    pub fn are_clean(&self, entry: &Entry, index: &Index, stamp: &Stamp) -> bool {
        let (stat, now) = (&entry.stat, Stat::of(stamp, 0));
        // What is of the second of the index itself git looks at; what it wrote later it had looked at.
        let is_racy = index.file.is_none_or(|file| file.mtime.0 <= stat.mtime.0);
        !is_racy
            && stat.size == now.size
            && stat.mtime.0 == now.mtime.0
            && (!self.checks_all || stat.mtime.1 == now.mtime.1 && stat.ino == now.ino)
            && (!self.compares_ctime() || stat.ctime.0 == now.ctime.0)
            && self.are_same_owner(stat, &now)
    }

    /// Whether git had looked at a file as it is now, and looks at it again only since it is of the second of the index.
    pub fn were_clean(&self, entry: &Entry, index: &Index, stamp: &Stamp) -> bool {
        is_stat_clean(entry, index, stamp) && self.are_same_owner(&entry.stat, &Stat::of(stamp, 0))
    }

    fn compares_ctime(&self) -> bool {
        self.checks_all && self.trusts_ctime
    }

    fn are_same_owner(&self, one: &Stat, other: &Stat) -> bool {
        !self.checks_all || (one.uid, one.gid) == (other.uid, other.gid)
    }
}

impl Tracked for GitView<'_> {
    fn is_tracked(&self, full: &[u8]) -> bool {
        self.known.head_only.contains(full) || self.is_in_index(full)
    }

    fn any_beneath(&self, dir: &[u8]) -> bool {
        path::any_within(&self.known.head_only, dir) || self.index_beneath(dir)
    }

    fn is_in_index(&self, full: &[u8]) -> bool {
        self.known.forced.contains(full) || self.index().is_some_and(|index| index.has_path(full))
    }

    fn index_beneath(&self, dir: &[u8]) -> bool {
        path::any_within(&self.known.forced, dir)
            || self
                .index()
                .is_some_and(|index| !index.within(dir).is_empty())
    }

    fn is_forced_dir(&self, dir: &[u8]) -> bool {
        path::all_within(&self.known.forced, dir).any(|path| path.ends_with(b"/"))
    }

    fn gitlink(&self, full: &[u8]) -> Option<Oid> {
        if !self.known.submodules {
            return None;
        }
        let entry = self.entry(full)?;
        (entry.mode == GITLINK_MODE).then_some(entry.oid)
    }

    fn seeds<'t>(&'t self, dir: &[u8], has_attributes: bool) -> Seeds<'t> {
        let index = self.index().filter(|_| !self.file.has_replaced);
        let Some((index, within)) = index.map(|index| (index, index.within(dir))) else {
            return Box::new(|_, _| None);
        };
        if within.is_empty() {
            return Box::new(|_, _| None);
        }
        let attributes = {
            let mut attributes = self.lock_attributes();
            attributes.enter(dir, has_attributes).ok()
        };
        // Names are asked for in order: mostly the next entry is it.
        let next = Cell::new(within.start);
        Box::new(move |full, stamp| {
            let at = index.find_from(next.get(), within.clone(), full)?;
            next.set(at + 1);
            let entry = index.entries().get(at)?;
            let is_missing = |path: &Vec<u8>| path.as_slice().cmp(full);
            if self.known.missing.binary_search_by(is_missing).is_ok() {
                return None;
            }
            let conversion = attributes.as_ref()?.conversion(full);
            self.seed(index, entry, &conversion, stamp)
        })
    }

    fn filtered_clean(&self, full: &[u8], stamp: &Stamp) -> Option<Oid> {
        if self.known.forced.contains(full) {
            return None;
        }
        let index = self.index()?;
        let entry = index.get(full, 0)?;
        if !is_stat_clean(entry, index, stamp) || entry.mode & 0o170_000 != 0o100_000 {
            return None;
        }
        self.conversion(full)?.filter?;
        self.objects.is_sound(entry.oid).then_some(entry.oid)
    }

    fn index_mode(&self, full: &[u8]) -> Option<u32> {
        let stages = self.index()?.stages(full);
        // As git adds a path in conflict: ours first, then what both sides had.
        let ours = stages.iter().find(|entry| entry.stage == 2);
        Some(ours.or_else(|| stages.first())?.mode)
    }

    fn sparse_ignore_file(&self, dir: &[u8]) -> Option<Vec<u8>> {
        let known = &self.known.sparse_ignore_files;
        if known.is_empty() {
            return None;
        }
        let full = path::join(dir, b".gitignore");
        known.binary_search(&full).ok()?;
        let entry = self.entry(&full)?;
        // As of a tree: git follows no `.gitignore` that is a symbolic link.
        if entry.mode & 0o170_000 != 0o100_000 {
            return None;
        }
        // In a partial clone it may be one that was not fetched: it is none until it is there.
        self.objects.read(entry.oid).ok().map(|(_, bytes)| bytes)
    }
}

/// The paths that HEAD's tree has and the index lacks. One with an unsafe name is none of them: it is listed as on disk.
pub fn head_only_paths(
    trees: &MemoryTrees<'_>,
    head_tree: Option<Oid>,
    index_tree: Oid,
    index: &Index,
) -> Result<BTreeSet<Vec<u8>>> {
    let (of_head, of_index) = (|oid| trees.read_safe(oid), |oid| trees.read(oid));
    let Some(head_tree) = head_tree else {
        return Ok(BTreeSet::new());
    };
    let changes = tree::diff_sides((&of_head, Some(head_tree)), (&of_index, Some(index_tree)))?;
    Ok(changes
        .into_iter()
        .filter(|change| change.new.is_none() && !index.has_path(&change.path))
        .filter(|change| change.old.is_some_and(|node| node.mode != GITLINK_MODE))
        .map(|change| change.path)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::index::Builder;

    const SECOND: i64 = 1_000_000_000;

    /// A file of 7.5 s, of which bits or a name changed at `ctime`, and which has another inode or time now.
    fn is_clean(
        rules: (bool, bool),
        index_written: u32,
        change: impl FnOnce(&mut Stamp),
    ) -> [bool; 2] {
        let (trusts_ctime, checks_all) = rules;
        let mut stamp = Stamp {
            mtime: 7 * SECOND + SECOND / 2,
            ctime: 8 * SECOND,
            ino: 5,
            size: 3,
            mode: 0o100_644,
            ..Stamp::default()
        };
        let mut entry = Entry::new(0o100_644, Oid::from(&[7; 20]));
        entry.stat = Stat::of(&stamp, 0);
        let mut builder = Builder::new(ObjectFormat::Sha1);
        builder.push(b"f", entry).expect("small");
        let mut index = builder.finish();
        index.file = Some(Stat {
            mtime: (index_written, 900_000_000),
            ..Stat::default()
        });
        change(&mut stamp);
        let entry = index.get(b"f", 0).expect("pushed");
        let rules = StatRules {
            trusts_ctime,
            checks_all,
        };
        [
            is_stat_clean(entry, &index, &stamp),
            rules.are_clean(entry, &index, &stamp),
        ]
    }

    #[test]
    fn what_git_holds_for_clean_is_told_by_its_own_rules() {
        let all = (true, true);
        let same_second = |stamp: &mut Stamp| stamp.ctime += SECOND / 4;
        let later = |stamp: &mut Stamp| stamp.ctime += 4 * SECOND;
        assert_eq!(is_clean(all, 9, |_| ()), [true, true]);
        assert_eq!(is_clean(all, 9, same_second), [false, true]);
        assert_eq!(is_clean(all, 7, same_second), [false, false], "racy to git");
        assert_eq!(is_clean(all, 9, later), [false, false]);
        assert_eq!(is_clean((false, true), 9, later), [false, true]);
        assert_eq!(is_clean((true, false), 9, later), [false, true]);
        let moved = |stamp: &mut Stamp| stamp.ino = 6;
        assert_eq!(is_clean((false, true), 9, moved), [false, false]);
        assert_eq!(is_clean((true, false), 9, moved), [false, true]);
        let given = |stamp: &mut Stamp| stamp.uid = 6;
        assert_eq!(is_clean((false, true), 9, given), [true, false]);
        assert_eq!(is_clean((true, false), 9, given), [true, true]);
        // A write leaves its mark, whatever git makes of it.
        let written = |stamp: &mut Stamp| stamp.mtime += 5;
        assert_eq!(is_clean(all, 9, written), [false, false]);
        assert_eq!(is_clean((true, false), 9, written), [false, true]);
        let longer = |stamp: &mut Stamp| stamp.size = 4;
        assert_eq!(is_clean((false, false), 9, longer), [false, false]);
    }
}
