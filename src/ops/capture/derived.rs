//! What a record says that follows from the manifest alone: usual modes and owner, sizes, the lists of exceptions.
//!
//! The cache keeps it while it is short, so that nothing of it is worked out again for an unchanged working tree.

use serde::{Deserialize, Serialize};

use crate::git::access::RUNS_AS;
use crate::git::fs::Stamp;
use crate::store::paths;
use crate::store::snapshot::{DefaultModes, IgnoredRecord, Lists, Stats, Uncaptured, octal};
use crate::worktree::manifest::{DirFlags, DirRec, FileFlags, FileRec, Ignored, Kind, Manifest};

/// With more paths than this it is not kept.
// Every command and every hook parses the cache: what is long is worked out again by those who need it.
const LIMIT: usize = 200;

/// The permission bits of plain files, executables and directories as git makes them under the usual umask.
const MADE_BY_GIT: [u32; 3] = [0o644, 0o755, 0o755];

/// What follows from a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derived {
    /// What most plain files, executables and directories have.
    pub usual_modes: [u32; 3],
    /// Captured files and symlinks.
    files: u64,
    /// Their sizes' sum.
    bytes: u64,
    /// Ids that were taken from git's index and not proven by content since.
    #[serde(default)]
    pub unproven: u64,
    modes: Vec<(Vec<u8>, u32)>,
    /// Owner and group of most files and directories.
    pub usual_owner: (u32, u32),
    /// Paths that belong to somebody else.
    pub owners: Vec<(Vec<u8>, (u32, u32))>,
    /// Paths that have attributes, or that nobody opened to see.
    #[serde(with = "paths")]
    pub attributed: Vec<Vec<u8>>,
    /// Files that run as their owner or group.
    #[serde(with = "paths")]
    pub programs: Vec<Vec<u8>>,
    #[serde(with = "paths")]
    empty_dirs: Vec<Vec<u8>>,
    #[serde(with = "paths")]
    unstable: Vec<Vec<u8>>,
    #[serde(with = "paths")]
    absent: Vec<Vec<u8>>,
    uncaptured: Vec<(Vec<u8>, Uncaptured)>,
    /// What git ignores: entries and bytes.
    ignored: (u64, u64),
}

impl Derived {
    /// Derives all this from a manifest.
    pub fn of(manifest: &Manifest) -> Self {
        // Mostly right, and few have others; else the first look tells what is usual, and a second takes what is not.
        let guess = Usual {
            modes: MADE_BY_GIT,
            owner: manifest
                .dirs
                .first()
                .map(|root| owner(&root.stamp))
                .unwrap_or_default(),
        };
        let (derived, usual) = Self::with_usual(manifest, guess, LIMIT);
        if usual == guess && derived.modes.len() < LIMIT && derived.owners.len() < LIMIT {
            return derived;
        }
        Self::with_usual(manifest, usual, usize::MAX).0
    }

    /// Works it out as if this were usual, with at most this many others, and what is usual.
    fn with_usual(manifest: &Manifest, usual: Usual, most_others: usize) -> (Self, Usual) {
        let mut census = Censuses::default();
        let mut derived = Self {
            usual_modes: usual.modes,
            usual_owner: usual.owner,
            empty_dirs: empty_dirs(manifest),
            ..Self::default()
        };
        for dir in &manifest.dirs {
            let perm = dir.stamp.permissions();
            let path = manifest.dir_path(dir);
            let on_disk = !dir.flags.has(DirFlags::VIRTUAL);
            derived.add_ignored(dir.ignored);
            if on_disk {
                census.modes[2].add(perm);
            }
            if on_disk && !path.is_empty() && dir.is_recorded() {
                if perm != usual.modes[2] && derived.modes.len() < most_others {
                    derived.modes.push((path.to_vec(), perm));
                }
                derived.take_owner(&dir.stamp, || path.to_vec(), &mut census, most_others);
                if dir.flags.has(DirFlags::ATTRIBUTES) {
                    derived.attributed.push(path.to_vec());
                }
            }
            for file in manifest.files_of(dir).iter() {
                if on_disk {
                    derived.take(manifest, dir, &file, &mut census, most_others);
                } else {
                    derived.absent.push(manifest.path_of(dir, &file));
                }
            }
        }
        // Directories come in preorder, but the record's lists are in the order of whole paths.
        derived.uncaptured.sort_by(|a, b| a.0.cmp(&b.0));
        derived.absent.sort();
        derived.unstable.sort();
        let [plain, executable, directory] = MADE_BY_GIT;
        let most = Usual {
            modes: [
                census.modes[0].most(plain),
                census.modes[1].most(executable),
                census.modes[2].most(directory),
            ],
            owner: census.owners.most(usual.owner),
        };
        (derived, most)
    }

    fn add_ignored(&mut self, more: Ignored) {
        self.ignored.0 += more.entries;
        self.ignored.1 = self.ignored.1.saturating_add(more.bytes);
    }

    fn take_owner(
        &mut self,
        stamp: &Stamp,
        path: impl FnOnce() -> Vec<u8>,
        census: &mut Censuses,
        most_others: usize,
    ) {
        let owner = owner(stamp);
        census.owners.add(owner);
        if owner != self.usual_owner && self.owners.len() < most_others {
            self.owners.push((path(), owner));
        }
    }

    fn take(
        &mut self,
        manifest: &Manifest,
        dir: &DirRec,
        file: &FileRec,
        census: &mut Censuses,
        most_others: usize,
    ) {
        if file.kind.is_on_disk() {
            self.files += 1;
            self.bytes += file.stamp.size;
            let path = || manifest.path_of(dir, file);
            self.take_owner(&file.stamp, path, census, most_others);
            // Of one that git's filters stand for nobody read a byte.
            if file.flags.has(FileFlags::ATTRIBUTES) || file.kind == Kind::FilteredClean {
                self.attributed.push(path());
            }
        }
        if file.flags.has(FileFlags::UNPROVEN) {
            self.unproven += 1;
        }
        // It is watched, and ignored like any other.
        if file.kind == Kind::IgnoreFile {
            let (entries, bytes) = (1, file.stamp.size);
            self.add_ignored(Ignored { entries, bytes });
        }
        if file.kind.reason().is_some() {
            self.uncaptured.push(uncaptured(manifest, dir, file));
        }
        // A submodule's are always recorded: a record without them is one that knows nothing of them.
        if file.kind == Kind::Gitlink && file.stamp.is_dir() && self.modes.len() < most_others {
            let perm = file.stamp.permissions();
            self.modes.push((manifest.path_of(dir, file), perm));
        }
        if file.kind == Kind::Absent {
            self.absent.push(manifest.path_of(dir, file));
        }
        if file.flags.has(FileFlags::UNSTABLE) {
            self.unstable.push(manifest.path_of(dir, file));
        }
        if matches!(file.kind, Kind::File | Kind::FilteredClean) {
            let perm = file.stamp.permissions();
            let sort = usize::from(file.git_mode == 0o100_755);
            census.modes[sort].add(perm);
            if perm & RUNS_AS != 0 {
                self.programs.push(manifest.path_of(dir, file));
            }
            if perm != self.usual_modes[sort] && self.modes.len() < most_others {
                self.modes.push((manifest.path_of(dir, file), perm));
            }
        }
    }

    /// As the cache keeps it; null when it is too long.
    pub fn kept(&self) -> serde_json::Value {
        let paths = self.modes.len()
            + self.owners.len()
            + self.attributed.len()
            + self.programs.len()
            + self.empty_dirs.len()
            + self.unstable.len()
            + self.absent.len()
            + self.uncaptured.len();
        if paths > LIMIT {
            return serde_json::Value::Null;
        }
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The lists, as far as the manifest has them.
    pub fn lists(&self) -> Lists {
        Lists {
            modes: self.modes.iter().cloned().collect(),
            empty_dirs: self.empty_dirs.clone(),
            unstable: self.unstable.clone(),
            absent: self.absent.clone(),
            uncaptured: self.uncaptured.clone(),
            ..Lists::default()
        }
    }

    /// The usual modes as a record has them.
    pub fn default_modes(&self) -> DefaultModes {
        let [file, executable, directory] = self.usual_modes.map(octal);
        DefaultModes {
            file,
            executable,
            directory,
        }
    }

    /// Returns how many entries git ignores, and their size.
    pub fn ignored(&self) -> IgnoredRecord {
        let (entries, bytes) = self.ignored;
        IgnoredRecord { entries, bytes }
    }

    /// How much is captured.
    pub fn stats(&self) -> Stats {
        Stats {
            files: self.files,
            bytes: self.bytes,
            ..Stats::default()
        }
    }
}

fn uncaptured(manifest: &Manifest, dir: &DirRec, file: &FileRec) -> (Vec<u8>, Uncaptured) {
    // A repository with files of ours in it is known by its `.git`, and listed like any other.
    let is_entered = file.kind == Kind::Nested && manifest.bytes(file.name) == b".git";
    let path = if is_entered {
        manifest.dir_path(dir).to_vec()
    } else {
        manifest.path_of(dir, file)
    };
    let mut entry = Uncaptured::new(&path, file.kind.reason().unwrap_or_default());
    if matches!(file.kind, Kind::TooLarge | Kind::FilteredClean) {
        entry.bytes = Some(file.stamp.size);
    }
    (path, entry)
}

/// Directories that hold nothing captured, for `empty_dirs`.
fn empty_dirs(manifest: &Manifest) -> Vec<Vec<u8>> {
    let empty = manifest.empty_dirs();
    let empty = empty.filter(|dir| !dir.flags.has(DirFlags::INSIDE_IGNORED));
    empty.map(|dir| manifest.dir_path(dir).to_vec()).collect()
}

/// What most files and directories have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Usual {
    /// Permission bits of plain files, executables and directories.
    modes: [u32; 3],
    /// User and group.
    owner: (u32, u32),
}

/// Who owns what has this stamp: user and group.
fn owner(stamp: &Stamp) -> (u32, u32) {
    (stamp.uid, stamp.gid)
}

#[derive(Default)]
struct Censuses {
    modes: [Census<u32>; 3],
    owners: Census<(u32, u32)>,
}

/// How often each value was seen. There are few: the last one asked for is nearly always the next.
#[derive(Default)]
struct Census<T> {
    counts: Vec<(T, usize)>,
}

impl<T: Copy + Ord> Census<T> {
    fn add(&mut self, value: T) {
        match self.counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((value, 1)),
        }
    }

    /// The most frequent; of two equally frequent the one preferred, else the smaller.
    fn most(&self, preferred: T) -> T {
        let best = self
            .counts
            .iter()
            .max_by_key(|(value, count)| (*count, *value == preferred, std::cmp::Reverse(*value)));
        best.map_or(preferred, |(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worktree::manifest::no_oid;
    use std::collections::BTreeMap;

    /// A root directory with files of seven bytes: name, kind and mode of each.
    fn root_of(files: impl IntoIterator<Item = (Vec<u8>, Kind, u32)>) -> Manifest {
        let mut manifest = Manifest::default();
        let stamp = |mode| Stamp {
            mode,
            size: 7,
            ..Stamp::default()
        };
        let path = manifest.intern(b"");
        let first = manifest.next_place();
        for (name, kind, mode) in files {
            let name = manifest.intern(&name);
            manifest.push_file(FileRec {
                name,
                kind,
                flags: FileFlags::UNSTABLE,
                stamp: stamp(mode),
                git_mode: 0o100_644,
                oid: no_oid(),
            });
        }
        manifest.dirs.push(DirRec {
            path,
            parent: 0,
            first,
            end: manifest.next_place(),
            flags: DirFlags::NONE,
            stamp: stamp(0o040_755),
            tree: no_oid(),
            ignored: Default::default(),
        });
        manifest
    }

    #[test]
    fn what_is_kept_is_what_was_worked_out() {
        let manifest = root_of([
            (b"a".to_vec(), Kind::File, 0o100_644),
            (b"b\xff\"".to_vec(), Kind::File, 0o100_600),
            (b"c".to_vec(), Kind::File, 0o100_644),
            (b"p".to_vec(), Kind::Pipe, 0o010_644),
        ]);
        let derived = Derived::of(&manifest);
        let read: Derived = serde_json::from_value(derived.kept()).expect("read back");
        assert_eq!(read, derived);
        let lists = read.lists();
        assert_eq!(lists.modes, BTreeMap::from([(b"b\xff\"".to_vec(), 0o600)]));
        assert_eq!(lists.uncaptured[0].1.reason, "pipe");
        assert_eq!((read.stats().files, read.stats().bytes), (3, 21));
        assert_eq!(read.default_modes().file, "0644");
    }

    #[test]
    fn what_most_have_is_usual_however_many_have_others() {
        for (plain, others, other) in [(0o644, 3, 0o600), (0o664, 3, 0o644), (0o644, 400, 0o600)] {
            let manifest = root_of((0..1000).map(|nth| {
                let perm = if nth < others { other } else { plain };
                (
                    format!("{nth:04}").into_bytes(),
                    Kind::File,
                    0o100_000 | perm,
                )
            }));
            let derived = Derived::of(&manifest);
            assert_eq!(derived.usual_modes[0], plain);
            assert_eq!(derived.modes.len(), others);
            assert!(derived.modes.iter().all(|(_, perm)| *perm == other));
        }
    }

    #[test]
    fn of_two_equally_frequent_modes_git_s_own_is_usual() {
        let mut census = Census::default();
        for perm in [0o600, 0o644, 0o640] {
            census.add(perm);
        }
        assert_eq!(census.most(0o644), 0o644);
        assert_eq!(census.most(0o755), 0o600);
        assert_eq!(Census::default().most(0o755), 0o755);
    }
}
