//! What the present had when it was left for the past, and what its backup does not have: what rules left out, nested repositories, files over
//! the limit.
//!
//! The rules that left it out cannot be asked again at the return. An ignore file that ignores itself is in no tree, the team's settings
//! and git's are those of the past by then, a nested repository may be none any more. So the names are noted when the stay begins, each
//! with all that is beneath it, and count whatever the rules say later: a look at the past leaves them alone, and no swap takes them for
//! something that was made in the past. What a swap of the stay writes beneath one of them is the past's all the same.
//!
//! Of a large file that a filter converts (git LFS) the backup has what git's index says, and not its bytes: noted is how it was on disk, so
//! that a swap which finds it so, be it under another name, does not put git's text in its place.
//!
//! A return that renames what is in its way notes that here first: whoever dies in between leaves what goes back to its place.

mod filtered;
mod renamed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::env::clock_nanos;
use crate::error::{Code, Error, Result};
use crate::git::fs::{self, Durable, Root};
use crate::git::path;
use crate::store::id::SnapshotId;
use crate::store::state::{Journal, Mode, StateDir, path_from_stored, read_json, stored_path};
use crate::worktree::ignore::LeftAlone;
use crate::worktree::manifest::{DirFlags, FileRec, Kind, Manifest};
use crate::worktree::plan::{DirChange, Plan};
pub use filtered::{Certainty, Filtered};
pub use renamed::{NameOf, Renamed, give_all};

const VERSION: u32 = 1;

/// The file in the worktree's `timewarp` directory.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    version: u32,
    /// The backup of the present that has none of it.
    backup_id: String,
    /// When it was looked for, nanoseconds since the epoch.
    #[serde(default)]
    looked_at: Option<i64>,
    /// The names.
    roots: Vec<String>,
    /// What swaps of the stay wrote beneath them, with the directories over it.
    written: Vec<String>,
    /// Directories that are none of the names, and that no record has either.
    #[serde(default)]
    dirs: Vec<String>,
    /// The permission bits that directories of it had before a swap gave them others.
    #[serde(default)]
    bits: Vec<(String, u32)>,
    /// What was renamed to be out of the way of the return, or was about to be: old and new names.
    #[serde(default)]
    moved_aside: Vec<(String, String)>,
    /// What has another name in the past.
    #[serde(default)]
    renamed: Vec<renamed::Stored>,
    /// Large files that a filter converts.
    #[serde(default)]
    filtered: Vec<(String, Filtered)>,
}

/// What it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsaved {
    /// The names, and what is none of it.
    pub left_alone: LeftAlone,
    /// Directories that are none of the names, and that no record has either: beneath the names those that were there when a swap wrote
    /// into them, over them those that were entered for what git tracks in them and is not there. They stay when what was written goes.
    pub dirs: BTreeSet<Vec<u8>>,
    /// The permission bits that directories of it had before a swap gave them others: no record has them.
    pub bits: BTreeMap<Vec<u8>, u32>,
    /// When it was looked for, nanoseconds since the epoch: what changed later changed in the past.
    pub looked_at: Option<i64>,
    /// What was renamed to be out of the way of the return, or was about to be: old and new names. Some of it may be in there.
    pub moved_aside: Vec<(Vec<u8>, Vec<u8>)>,
    /// What has another name in the past, in the order in which the present's names were given.
    pub renamed: Vec<Renamed>,
    /// Large files that a filter converts: the backup has what git's index says of them.
    pub filtered: BTreeMap<Vec<u8>, Filtered>,
}

fn file(dir: &StateDir) -> PathBuf {
    dir.file("unsaved.json")
}

impl Unsaved {
    /// What the present has of it that is here, by its capture.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn of_present(root: &Root, manifest: &Manifest) -> Result<Self> {
        let mut found = Self {
            looked_at: Some(clock_nanos()),
            ..Self::default()
        };
        found.left_alone.roots = left_out(root, manifest)?;
        let files = manifest.entries();
        let filtered = files.filter(|(_, file)| file.kind == Kind::FilteredClean);
        found.filtered = filtered
            .map(|(dir, file)| (manifest.path_of(dir, &file), Filtered::of(&file)))
            .collect();
        found.look_into_submodules(root, manifest);
        let dirs = manifest.dirs.iter().skip(1);
        let entered = dirs.filter(|dir| !dir.flags.has(DirFlags::VIRTUAL) && !dir.is_recorded());
        let entered = entered.map(|dir| manifest.dir_path(dir));
        let over = entered.filter(|dir| !found.left_alone.roots.contains(*dir));
        found.dirs = over.map(<[u8]>::to_vec).collect();
        Ok(found)
    }

    /// Of a submodule that was not fetched only what is in its directory is the present's, so that what the past puts beside it is the
    /// past's. Where nobody may look all may be.
    fn look_into_submodules(&mut self, root: &Root, manifest: &Manifest) {
        let roots = &mut self.left_alone.roots;
        let submodules = roots.iter().filter(|path| manifest.is_submodule(path));
        let submodules: Vec<Vec<u8>> = submodules.cloned().collect();
        for dir in submodules {
            let names = match root.stamp(&dir) {
                Ok(None) => Vec::new(),
                _ => match root.names(&dir) {
                    Ok(names) if names.iter().all(|name| name != b".git") => names,
                    _ => continue,
                },
            };
            roots.extend(names.iter().map(|name| path::join(&dir, name)));
            roots.remove(&dir);
        }
    }

    /// Of the present that this stay left; nothing in the present.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`.
    pub fn of_stay(dir: &StateDir) -> Result<Self> {
        if file(dir).symlink_metadata().is_err() {
            return Ok(Self::default());
        }
        let state = dir.state()?;
        match state.backup_id.filter(|_| state.mode == Mode::Past) {
            Some(backup) => Self::of_backup(dir, &backup),
            None => Ok(Self::default()),
        }
    }

    /// Of the present that has this backup, whatever the state says; nothing when the stay ended, or never began.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD`.
    pub fn of_backup(dir: &StateDir, backup_id: &str) -> Result<Self> {
        let noted = read_json::<Noted>(&file(dir)).map_err(with_way_out)?;
        let Some(noted) = noted.filter(|noted| noted.backup_id == backup_id) else {
            return Ok(Self::default());
        };
        let paths = |stored: &[String]| {
            let paths = stored.iter();
            paths.filter_map(|path| path_from_stored(path)).collect()
        };
        Ok(Self {
            left_alone: LeftAlone {
                roots: paths(&noted.roots),
                written: paths(&noted.written),
            },
            dirs: paths(&noted.dirs),
            bits: {
                let bits = noted.bits.iter();
                bits.filter_map(|(path, bits)| Some((path_from_stored(path)?, *bits)))
                    .collect()
            },
            looked_at: noted.looked_at,
            moved_aside: pairs(&noted.moved_aside),
            renamed: {
                let renamed = noted.renamed.iter();
                renamed.filter_map(renamed::Stored::read).collect()
            },
            filtered: {
                let filtered = noted.filtered.into_iter();
                filtered
                    .filter_map(|(path, file)| Some((path_from_stored(&path)?, file)))
                    .collect()
            },
        })
    }

    /// Whether there is nothing of it.
    pub fn is_empty(&self) -> bool {
        self.left_alone.roots.is_empty() && self.filtered.is_empty()
    }

    /// Whether a path is one of them: it was there before anything was written.
    pub fn is_one(&self, path: &[u8]) -> bool {
        self.left_alone.roots.contains(path)
    }

    /// Whether a path is one of them, or beneath one.
    pub fn has(&self, path: &[u8]) -> bool {
        path::has_or_is_within(&self.left_alone.roots, path)
    }

    /// The names.
    pub fn roots(&self) -> impl Iterator<Item = &[u8]> {
        self.left_alone.roots.iter().map(Vec::as_slice)
    }

    /// Those beneath a directory.
    pub fn beneath<'s>(&'s self, dir: &[u8]) -> impl Iterator<Item = &'s [u8]> {
        let start = [dir, b"/"].concat();
        let from = self.left_alone.roots.range(start.clone()..);
        from.map(Vec::as_slice)
            .take_while(move |path| path.starts_with(&start))
    }

    /// The directories beneath a directory with their permission bits, where nothing else is in it but these names. None where
    /// anything else is, or nobody may look.
    pub fn only_dirs_in(&self, root: &Root, dir: &[u8]) -> Option<Vec<(Vec<u8>, u32)>> {
        let mut dirs = Vec::new();
        let mut pending = vec![dir.to_vec()];
        while let Some(at) = pending.pop() {
            for name in root.names(&at).ok()? {
                let full = path::join(&at, &name);
                if self.is_one(&full) && !self.left_alone.written.contains(&full) {
                    continue;
                }
                let stamp = root.stamp(&full).ok()??;
                if !stamp.is_dir() || name == b".git" {
                    return None;
                }
                dirs.push((full.clone(), stamp.permissions()));
                pending.push(full);
            }
        }
        Some(dirs)
    }

    /// Whether a path is, or lies in, what was renamed to be out of the way of the return, by its old name.
    pub fn is_moved_from(&self, path: &[u8]) -> bool {
        let mut moved = self.moved_aside.iter();
        moved.any(|(from, _)| path::is_within(path, from))
    }

    /// As [`Self::is_moved_from`], by its new name.
    pub fn is_moved_to(&self, path: &[u8]) -> bool {
        let mut moved = self.moved_aside.iter();
        moved.any(|(_, to)| path::is_within(path, to))
    }

    /// Whether a directory that is at this path is one of them, or known to have been there beside them.
    pub fn is_dir(&self, path: &[u8]) -> bool {
        self.is_one(path) || self.dirs.contains(path)
    }

    /// Whether a directory that is at this path was there, unsaved, when the present was left: no swap of the stay made it.
    pub fn has_dir(&self, path: &[u8]) -> bool {
        self.is_dir(path) || self.has(path) && !self.left_alone.written.contains(path)
    }

    /// Takes note of what a swap is about to write, and of the directories that it finds there, but for those that were made in the past.
    /// Whether any of it is beneath one of them.
    pub fn write(&mut self, root: &Root, plan: &Plan) -> bool {
        let files = plan.entries.iter().filter(|entry| entry.after.is_some());
        let files: Vec<&[u8]> = files
            .map(|entry| entry.path.as_slice())
            .filter(|path| self.has(path))
            .collect();
        let dirs = plan.dirs.iter().filter(|dir| dir.after.is_some());
        let dirs: Vec<&DirChange> = dirs.filter(|dir| self.has(&dir.path)).collect();
        let makes = dirs.iter().filter(|dir| dir.before.is_none());
        let makes: BTreeSet<&[u8]> = makes.map(|dir| dir.path.as_slice()).collect();
        let over = files.iter().map(|path| path::split(path).0);
        let all = over.chain(dirs.iter().map(|dir| dir.path.as_slice()));
        for dir in all.flat_map(path::with_parents) {
            let is_there = self.has(dir) && !self.is_one(dir) && !makes.contains(dir);
            // What an earlier swap wrote into is known already.
            if is_there && !self.left_alone.written.contains(dir) && !self.is_younger(root, dir) {
                self.dirs.insert(dir.to_vec());
            }
        }
        let is_beneath = !files.is_empty() || !dirs.is_empty();
        let all = files.into_iter();
        let all = all.chain(dirs.into_iter().map(|dir| dir.path.as_slice()));
        let written = all.flat_map(path::with_parents).map(<[u8]>::to_vec);
        self.left_alone.written.extend(written);
        is_beneath
    }

    /// Takes note of the large files that a filter converts and that a swap is about to save in `saved_in`, as this look saw them, under
    /// whatever names they have by now. Whether there are any.
    pub fn save_filtered(&mut self, seen: &Manifest, plan: &Plan, saved_in: &str) -> bool {
        if self.filtered.is_empty() {
            return false;
        }
        let touched = plan.entries.iter().filter(|entry| entry.before.is_some());
        let touched = touched.filter_map(|entry| seen.file(&entry.path));
        let touched = touched.filter(|file| file.kind == Kind::File);
        let touched: HashMap<(u64, u64), FileRec> = touched
            .map(|file| ((file.stamp.ino, file.stamp.size), file))
            .collect();
        let mut any = false;
        for file in self.filtered.values_mut() {
            if let Some(found) = touched.get(&file.key())
                && let Some(certainty) = file.is(&found.stamp)
            {
                any |= file.save(found.oid, certainty, saved_in);
            }
        }
        any
    }

    /// Whether a directory was made after the present was looked at; where the file system does not say it was not.
    pub fn is_younger(&self, root: &Root, dir: &[u8]) -> bool {
        let born = root.dir_birth(dir);
        matches!((born, self.looked_at), (Some(born), Some(looked_at)) if born > looked_at)
    }

    /// Takes note of a directory that gets other permission bits. Whether it was there, unsaved, and had none noted.
    pub fn change_bits(&mut self, dir: &[u8], before: u32) -> bool {
        let is_new = self.has_dir(dir) && !self.bits.contains_key(dir);
        if is_new {
            self.bits.insert(dir.to_vec(), before);
        }
        is_new
    }

    /// Puts what was renamed among the fields of the return's journal, what an undo had given its old name before among it.
    pub fn note_moved_aside(&self, extra: &mut Map<String, Value>) {
        note_pairs(MOVED_ASIDE, &self.moved(), extra);
    }

    /// Old and new names of all that has, or may have, another name than in the past when its return is done.
    pub fn moved(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let renamed = self.renamed.iter();
        let renamed = renamed.map(|one| (one.past.clone(), one.present.clone()));
        renamed.chain(self.moved_aside.iter().cloned()).collect()
    }

    /// Notes it for the stay that has this backup; before the stay begins, or a swap of it.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn note(&self, dir: &StateDir, backup_id: &str) -> Result<()> {
        if self.is_empty() && self.moved_aside.is_empty() && self.renamed.is_empty() {
            return forget(dir);
        }
        let stored =
            |paths: &BTreeSet<Vec<u8>>| paths.iter().map(|path| stored_path(path)).collect();
        let noted = Noted {
            version: VERSION,
            backup_id: backup_id.to_owned(),
            looked_at: self.looked_at,
            roots: stored(&self.left_alone.roots),
            written: stored(&self.left_alone.written),
            dirs: stored(&self.dirs),
            bits: {
                let bits = self.bits.iter();
                bits.map(|(path, bits)| (stored_path(path), *bits))
                    .collect()
            },
            moved_aside: stored_pairs(&self.moved_aside),
            renamed: self.renamed.iter().map(renamed::Stored::from).collect(),
            filtered: {
                let filtered = self.filtered.iter();
                filtered
                    .map(|(path, file)| (stored_path(path), file.clone()))
                    .collect()
            },
        };
        let bytes = serde_json::to_vec(&noted).expect("plain data serialises");
        fs::write_atomic(&file(dir), &bytes, Durable::Yes)
    }
}

/// The topmost names of what a capture leaves out and is there: what rules leave out, directories of submodules and nested repositories,
/// and what is beside the files of ours in one, files over the limit.
///
/// # Errors
/// A directory cannot be read.
pub fn left_out(root: &Root, manifest: &Manifest) -> Result<BTreeSet<Vec<u8>>> {
    let mut found = BTreeSet::new();
    let mut repositories: BTreeSet<Vec<u8>> = BTreeSet::new();
    for dir in &manifest.dirs {
        for file in manifest.files_of(dir).iter() {
            if file.kind == Kind::Nested && manifest.bytes(file.name) == b".git" {
                repositories.insert(manifest.dir_path(dir).to_vec());
            }
            if !file.kind.in_tree() && file.kind != Kind::Gone || file.kind == Kind::Gitlink {
                found.insert(manifest.path_of(dir, &file));
            }
        }
        // Directories come before what is in them.
        let is_in_repository = || {
            let on_disk = !dir.flags.has(DirFlags::VIRTUAL);
            on_disk && path::has_or_is_within(&repositories, manifest.dir_path(dir))
        };
        if dir.ignored.entries > 0 || is_in_repository() {
            found.extend(unknown(root, manifest, manifest.dir_path(dir))?);
        }
    }
    // A rule leaves them out, and they were entered for what git tracks in them and is not there.
    let entered = manifest.empty_dirs();
    let entered = entered.filter(|dir| dir.flags.has(DirFlags::INSIDE_IGNORED));
    found.extend(entered.map(|dir| manifest.dir_path(dir).to_vec()));
    Ok(found)
}

/// The files that a capture could not read.
pub fn unreadable(manifest: &Manifest) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    for dir in &manifest.dirs {
        let files = manifest.files_of(dir);
        let files = files.iter().filter(|file| file.kind == Kind::Unreadable);
        found.extend(files.map(|file| manifest.path_of(dir, &file)));
    }
    found
}

/// Names of a directory that its capture does not have.
fn unknown(root: &Root, manifest: &Manifest, dir: &[u8]) -> Result<Vec<Vec<u8>>> {
    let names = root.names(dir)?.into_iter();
    let names = names.filter(|name| name != b".git");
    let paths = names.map(|name| path::join(dir, &name));
    Ok(paths
        .filter(|full| manifest.file(full).is_none() && manifest.find_dir(full).is_none())
        .collect())
}

/// Whether it can be read.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD`.
pub fn check(dir: &StateDir) -> Result<()> {
    read_json::<Noted>(&file(dir)).map(|_| ())
}

/// The ids of the experiments and backups that alone have bytes of the present that has this backup.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD`.
pub fn saved_in(dir: &StateDir, backup_id: &str) -> Result<BTreeSet<String>> {
    let noted = Unsaved::of_backup(dir, backup_id)?;
    let found = noted.filtered.values().filter_map(Filtered::saved_in);
    Ok(found.map(str::to_owned).collect())
}

/// The backup of the stay that it was noted for, whatever the state says.
pub fn backup_noted(dir: &StateDir) -> Option<SnapshotId> {
    let noted = read_json::<Noted>(&file(dir)).ok()??;
    SnapshotId::parse(&noted.backup_id)
}

fn stored_pairs(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(from, to)| (stored_path(from), stored_path(to)))
        .collect()
}

/// The field of a return's journal with what it renamed: its undo gives it its name again.
pub const MOVED_ASIDE: &str = "moved_aside";

/// The field of the journal of such an undo with what it gives its old name.
pub const OLD_NAMES: &str = "old_names";

/// Puts old and new names among the fields of a journal, when there are any.
pub fn note_pairs(field: &str, pairs: &[(Vec<u8>, Vec<u8>)], extra: &mut Map<String, Value>) {
    if !pairs.is_empty() {
        extra.insert(field.into(), json!(stored_pairs(pairs)));
    }
}

/// Old and new names of a field of a journal.
pub fn noted_pairs(field: &str, journal: &Journal) -> Vec<(Vec<u8>, Vec<u8>)> {
    let noted = journal.extra.get(field).cloned();
    let noted = noted.and_then(|noted| serde_json::from_value::<Vec<(String, String)>>(noted).ok());
    pairs(&noted.unwrap_or_default())
}

fn pairs(stored: &[(String, String)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let read =
        |(from, to): &(String, String)| Some((path_from_stored(from)?, path_from_stored(to)?));
    stored.iter().filter_map(read).collect()
}

/// A stay must not be without a way home because of it.
fn with_way_out(error: Error) -> Error {
    if error.code() != Code::CorruptRecord {
        return error;
    }
    error.with_hints([
        "'tw recover' sets it aside: what the present ignored may then go into the experiment, and comes back with 'tw restore'".to_owned(),
    ])
}

/// Forgets it: the stay has ended.
///
/// # Errors
/// The disk refuses.
pub fn forget(dir: &StateDir) -> Result<()> {
    fs::remove_optional(&file(dir))
}
