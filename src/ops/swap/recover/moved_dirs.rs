//! Directories that somebody renamed while a swap worked in them.
//!
//! What the swap had put there is there under the new name. So before it touches anything it notes in its journal what each directory
//! is that it works in, and whoever puts its paths on a side gives them the names that these directories have by now, whatever their
//! names were: also where two were exchanged, or something else has the old name. A copy is another directory, and nobody's but its
//! maker's. Who dies in between is followed by one who finds the same: in the journal, whose paths and directories go on together where
//! late bytes are noted in it.
//!
//! A directory is its number and its time of birth. The number alone is not enough: what the swap makes gets that of what it has just
//! removed, and would be taken for it.
//!
//! Left out on purpose: directories that the swap itself made, which nobody had noted, what lies in another repository or under a name
//! that no snapshot has, and file systems that tell of no birth, or do not keep numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::journal::path_of;
use super::put_back::Unfinished;
use super::survey::{OnDisk, node_of, on_disk};
use crate::env::clock_nanos;
use crate::error::{Code, Error, Result};
use crate::git::ObjectFormat;
use crate::git::fs::{DirId, DirIds, Root, each_name, is_racy, tells_of_names};
use crate::git::path::{self, display};
use crate::ops::Context;
use crate::store::state::{Journal, JournalDir, JournalEntry, stored_path};
use crate::worktree::plan::Plan;

/// Among the journal's other fields: the directories that the swap works in.
const FIELD: &str = "known_dirs";

/// A directory as it was before the swap.
///
/// An earlier version noted some without a birth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KnownDir(String, u64, Option<i64>);

impl KnownDir {
    fn new(path: &[u8], id: DirId) -> Self {
        Self(stored_path(path), id.ino, Some(id.birth))
    }
}

/// Puts what the directories are in which a plan works among the fields of its journal.
pub(in crate::ops::swap) fn note(root: &Root, plan: &Plan, extra: &mut Map<String, Value>) {
    let mut dirs: BTreeSet<&[u8]> = BTreeSet::new();
    let mut last: &[u8] = b"";
    for entry in &plan.entries {
        let dir = path::split(&entry.path).0;
        // Mostly that of the entry before it.
        if dir != last {
            dirs.extend(path::with_parents(dir));
            last = dir;
        }
    }
    for dir in &plan.dirs {
        dirs.extend(path::with_parents(&dir.path));
    }
    dirs.remove(&b""[..]);
    if dirs.is_empty() {
        return;
    }
    let known = root.dir_ids().of_all(&dirs);
    let now = clock_nanos();
    let known = known.into_iter();
    // One as young as that may have its birth in common with what comes in its place.
    let known = known.filter(|(_, id)| !is_racy(id.birth, now));
    let known = known.map(|(dir, id)| KnownDir::new(dir, id));
    put(&known.collect::<Vec<_>>(), extra);
}

/// Takes it out of the journal of a swap that has ended: a level of the undo log works in what is there then.
pub(in crate::ops::swap) fn forget(journal: &mut Journal) {
    journal.extra.remove(FIELD);
}

fn put(known: &[KnownDir], extra: &mut Map<String, Value>) {
    if let Ok(known) = serde_json::to_value(known) {
        extra.insert(FIELD.into(), known);
    }
}

/// The directories of a journal, by the paths that they had. None in one of an earlier version.
fn known(journal: &Journal) -> Result<BTreeMap<Vec<u8>, DirId>> {
    let field = journal.extra.get(FIELD).cloned();
    let known = field.map(serde_json::from_value::<Vec<KnownDir>>);
    let known = known.transpose().map_err(|error| {
        let message = format!("the journal has a field '{FIELD}' that is not valid: {error}");
        Error::new(Code::CorruptRecord, message)
    })?;
    let known = known.unwrap_or_default().into_iter();
    let known =
        known.filter_map(|KnownDir(dir, ino, birth)| Some((dir, DirId { ino, birth: birth? })));
    known.map(|(dir, id)| Ok((path_of(&dir)?, id))).collect()
}

/// The directories that a swap works in, for who is about to change the names in one.
#[derive(Default)]
pub(in crate::ops::swap) struct Noted(BTreeMap<Vec<u8>, DirId>);

impl Noted {
    /// Those that a journal has.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`.
    pub(in crate::ops::swap) fn of(journal: &Journal) -> Result<Self> {
        known(journal).map(Self)
    }

    /// Whether the directory that was opened by a path is the one that was noted under it: what is in another one is none of the swap's.
    pub(in crate::ops::swap) fn is_it(&self, path: &[u8], opened: BorrowedFd<'_>) -> bool {
        let noted = self.0.get(path);
        noted.is_none_or(|noted| {
            rustix::fs::fstat(opened).is_ok_and(|stat| stat.st_ino == noted.ino)
        })
    }
}

/// A journal that follows renamed directories.
pub(super) struct Followed {
    /// With the paths as they are now.
    pub(super) journal: Journal,
    /// The uppermost directories that have other names, by those that they had.
    renamed: Vec<(Vec<u8>, Vec<u8>)>,
    /// Nothing can be put there: the journal has the paths that it had.
    is_refused: bool,
    /// Paths of the swap whose names something else of it has now.
    without_place: Vec<Vec<u8>>,
}

impl Followed {
    /// Whether any directory has another name.
    fn is_any(&self) -> bool {
        !self.renamed.is_empty()
    }

    /// The journal as it is, since nothing can be put where its directories are.
    fn refused(self, journal: &Journal) -> Self {
        Self {
            journal: journal.clone(),
            is_refused: true,
            without_place: Vec::new(),
            ..self
        }
    }

    /// What is to be said once all that can be put right is.
    pub(super) fn notices(&self) -> Vec<String> {
        let renamed = self.renamed.iter();
        let what = if self.is_refused {
            "where nothing can be put right: what had been put there stays"
        } else {
            "and was put right there"
        };
        let mut notices: Vec<String> = renamed
            .map(|(was, now)| format!("'{}' is '{}' by now, {what}", display(was), display(now)))
            .collect();
        let backup = &self.journal.backup_id;
        notices.extend(self.without_place.iter().map(|full| {
            format!(
                "'{}' is not put right, since another directory has its place; what was there is in {backup}",
                display(full)
            )
        }));
        notices
    }

    /// What is to be said where nothing is done yet.
    pub(super) fn obstacles(&self) -> Vec<String> {
        if self.is_refused {
            self.notices()
        } else {
            Vec::new()
        }
    }
}

/// Follows the directories of a dead or failed swap that were renamed meanwhile.
///
/// # Errors
/// A directory cannot be read; `CORRUPT_RECORD`.
fn followed(ctx: &Context<'_>, format: ObjectFormat, journal: &Journal) -> Result<Followed> {
    let mut followed = Followed {
        journal: journal.clone(),
        renamed: Vec::new(),
        is_refused: false,
        without_place: Vec::new(),
    };
    let known = known(journal)?;
    if known.is_empty() {
        return Ok(followed);
    }
    let root = Root::open(ctx.repo.worktree_root())?.within_mount();
    // Where numbers are given anew two that were born together may have exchanged theirs.
    if !tells_of_names(root.fd()) {
        return Ok(followed);
    }
    let places = Places::find(&root, known, journal, format)?;
    followed.renamed = places.renamed();
    if followed.is_any() {
        places.rename_in(&root, format, &mut followed)?;
    }
    Ok(followed)
}

/// Where the directories of a journal are now.
struct Places {
    /// Those that are in the working tree, by the paths that they had.
    now: BTreeMap<Vec<u8>, Vec<u8>>,
    known: BTreeMap<Vec<u8>, DirId>,
}

impl Places {
    fn find(
        root: &Root,
        known: BTreeMap<Vec<u8>, DirId>,
        journal: &Journal,
        format: ObjectFormat,
    ) -> Result<Self> {
        let ids = root.dir_ids();
        let mut now = BTreeMap::new();
        let mut sought = BTreeMap::new();
        for (dir, id) in &known {
            if ids.at(dir) == Some(*id) {
                now.insert(dir.clone(), dir.clone());
            } else {
                sought.insert(*id, dir.clone());
            }
        }
        let (mut made, mut removed) = (BTreeSet::new(), BTreeSet::new());
        for dir in &journal.dirs {
            match (&dir.before, &dir.after) {
                (None, _) => made.insert(path_of(&dir.path)?),
                (_, None) => removed.insert(path_of(&dir.path)?),
                _ => continue,
            };
        }
        // No rename: the swap has come to where it removes them.
        if sought.values().any(|dir| removed.contains(dir)) && has_put_any(root, journal, format) {
            sought.retain(|_, dir| !removed.contains(dir));
        }
        search(root, &ids, sought, &made, &mut now);
        Ok(Self { now, known })
    }

    /// The path that one of the journal has now, and how long the path of the directory is that says so.
    fn name_of(&self, own: &[u8]) -> (Vec<u8>, usize) {
        let over = path::with_parents(own);
        let found = over.filter_map(|dir| Some((dir, self.now.get(dir)?)));
        match found.last() {
            Some((dir, place)) => ([place, &own[dir.len()..]].concat(), place.len()),
            None => (own.to_vec(), 0),
        }
    }

    /// Those whose names do not follow from the names of what they are in.
    fn renamed(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let goes_along = |was: &[u8], now: &[u8]| {
            let (above, name) = path::split(was);
            let above = if above.is_empty() {
                Vec::new()
            } else {
                self.name_of(above).0
            };
            path::join(&above, name) == now
        };
        let now = self.now.iter().filter(|(was, now)| !goes_along(was, now));
        now.map(|(was, now)| (was.clone(), now.clone())).collect()
    }

    /// Gives the journal's paths their names of now.
    fn rename_in(&self, root: &Root, format: ObjectFormat, to: &mut Followed) -> Result<()> {
        let mut entries: BTreeMap<Vec<u8>, (usize, Vec<u8>, JournalEntry)> = BTreeMap::new();
        let mut left = Vec::new();
        for entry in std::mem::take(&mut to.journal.entries) {
            let own = path_of(&entry.path)?;
            let (name, nearness) = self.name_of(&own);
            if name != own {
                left.push((own.clone(), entry.clone()));
            }
            let path = stored_path(&name);
            // A directory that came to stand where the swap has another one: what is in it by itself goes before what would be.
            let entry = JournalEntry { path, ..entry };
            let new = (nearness, own, entry);
            let loser = match entries.get(&name) {
                Some((other, ..)) if *other >= nearness => Some(new),
                _ => entries.insert(name, new),
            };
            if let Some((_, own, entry)) = loser
                && entry.before.is_some()
            {
                to.without_place.push(own);
            }
        }
        for (own, entry) in left {
            if !entries.contains_key(&own)
                && let Some(entry) = left_behind(root, format, &own, entry)?
            {
                entries.insert(own.clone(), (0, own, entry));
            }
        }
        to.journal.entries = entries.into_values().map(|(.., entry)| entry).collect();
        to.journal.dirs = self.dirs_renamed(root, std::mem::take(&mut to.journal.dirs))?;
        // Late bytes are noted in the journal, which the next one reads then.
        let known = self.known.iter();
        let known = known.map(|(dir, id)| KnownDir::new(&self.name_of(dir).0, *id));
        put(&known.collect::<Vec<_>>(), &mut to.journal.extra);
        Ok(())
    }

    fn dirs_renamed(&self, root: &Root, old: Vec<JournalDir>) -> Result<Vec<JournalDir>> {
        let mut dirs: BTreeMap<Vec<u8>, (usize, JournalDir)> = BTreeMap::new();
        let mut left = Vec::new();
        for dir in old {
            let own = path_of(&dir.path)?;
            let (name, nearness) = self.name_of(&own);
            // One that the swap made where its parent was before, or is again.
            if name != own && dir.before.is_none() && root.dir_stamp(&own).is_some() {
                left.push(own);
            }
            let path = stored_path(&name);
            let is_nearer = dirs.get(&name).is_none_or(|(other, _)| *other < nearness);
            if is_nearer {
                dirs.insert(name, (nearness, JournalDir { path, ..dir }));
            }
        }
        for own in left {
            let path = stored_path(&own);
            dirs.entry(own).or_insert_with(|| {
                let (before, after) = (None, None);
                (
                    0,
                    JournalDir {
                        path,
                        before,
                        after,
                    },
                )
            });
        }
        Ok(dirs.into_values().map(|(_, dir)| dir).collect())
    }
}

/// What is to go from the path that an entry had: what the swap put there after its directory had got another name, into whatever has the
/// name by then. Also where nothing is, for temporary files are looked for beside it.
fn left_behind(
    root: &Root,
    format: ObjectFormat,
    own: &[u8],
    entry: JournalEntry,
) -> Result<Option<JournalEntry>> {
    let dir = path::split(own).0;
    if !dir.is_empty() && root.dir_stamp(dir).is_none() {
        return Ok(None);
    }
    let is_made = entry.before.is_none();
    let mut entry = JournalEntry {
        before: None,
        ..entry
    };
    let disk = node_of(root, own, format)?;
    if disk.is_none() {
        entry.after = None;
    } else if !is_made || on_disk(&entry, disk)? != OnDisk::After {
        return Ok(None);
    }
    Ok(Some(entry))
}

/// Whether anything that the swap puts somewhere is there: what it removes has been removed by then.
fn has_put_any(root: &Root, journal: &Journal, format: ObjectFormat) -> bool {
    let is_put = |entry: &JournalEntry| {
        let full = path_of(&entry.path)?;
        Ok::<_, Error>(on_disk(entry, node_of(root, &full, format)?)? == OnDisk::After)
    };
    let mut put = journal.entries.iter().filter(|entry| entry.after.is_some());
    put.any(|entry| is_put(entry).unwrap_or(false))
}

/// Looks for directories in all of the working tree but other repositories, and but what git takes for the directory of one. What cannot
/// be read is passed over, and nothing is found where the swap itself makes a directory.
fn search(
    root: &Root,
    ids: &DirIds<'_>,
    mut sought: BTreeMap<DirId, Vec<u8>>,
    made: &BTreeSet<Vec<u8>>,
    now: &mut BTreeMap<Vec<u8>, Vec<u8>>,
) {
    let mut buffer = Vec::new();
    let mut pending = vec![Vec::new()];
    while !sought.is_empty()
        && let Some(dir) = pending.pop()
    {
        let Ok(Some(fd)) = root.dir_to_read_if_there(&dir) else {
            continue;
        };
        let mut beneath = Vec::new();
        let mut is_repository = false;
        let seen = each_name(fd.as_fd(), &mut buffer, |name, kind| {
            if name == b".git" {
                is_repository = true;
            } else if matches!(kind, FileType::Directory | FileType::Unknown)
                && path::is_safe_component(name)
            {
                beneath.push(path::join(&dir, name));
            }
        });
        if seen.is_err() || is_repository && !dir.is_empty() {
            continue;
        }
        pending.extend(beneath);
        if !made.contains(&dir)
            && let Some(was) = ids.of(&fd).and_then(|id| sought.remove(&id))
        {
            now.insert(was, dir);
        }
    }
}

impl Unfinished<'_> {
    /// Whether nothing keeps us from putting all paths back.
    fn can_be_put(&self) -> Result<bool> {
        let refused = |error: &Error| error.is_refusal() || error.code() == Code::WouldOverwrite;
        match self.try_preparing() {
            Ok(()) => Ok(true),
            Err(error) if refused(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The journal of a swap as it follows renamed directories; as it is, where nothing can be put there.
    ///
    /// # Errors
    /// As [`followed`] and [`Unfinished::survey`].
    pub(super) fn follow(&self) -> Result<Followed> {
        let moved = followed(self.ctx, self.store.objects.format(), self.journal)?;
        if !moved.is_any() {
            return Ok(moved);
        }
        let there = Unfinished::new(self.ctx, self.store, &moved.journal);
        Ok(if there.can_be_put()? {
            moved
        } else {
            moved.refused(self.journal)
        })
    }
}
