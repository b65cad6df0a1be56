//! Directories that somebody renamed while a swap worked in them.
//!
//! What the swap had put there is there under the new name, and beside it its temporary files, whose names say which entry of the
//! journal each is for. So the journal follows them: its paths become those under the new name, and are put on a side there as all
//! else is where it was. Where something has the old name again, both are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::super::journal::path_of;
use crate::error::{Result, ResultExt};
use crate::git::fs::{Root, each_name};
use crate::git::path;
use crate::ops::Context;
use crate::store::state::{Journal, JournalDir, JournalEntry, stored_path};
use crate::worktree::apply::temp_prefix;

/// A journal that follows renamed directories.
pub(in crate::ops::swap) struct Followed {
    /// With the paths as they are now.
    pub(in crate::ops::swap) journal: Journal,
    /// What is to be said of it.
    pub(super) notices: Vec<String>,
}

/// Where directories are now that the journal knows by another name: by that name, which is not there any more or is another's.
#[derive(Default)]
struct MovedDirs {
    places: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// The directories in which there are paths of the swap under their old names: also where somebody made a copy, or another one
    /// of a name. One of these that has none of them is nobody's but its maker's.
    taken: BTreeSet<Vec<u8>>,
}

/// Follows the directories of a dead or failed swap that were renamed meanwhile.
///
/// # Errors
/// A directory cannot be read; `CORRUPT_RECORD`.
pub(in crate::ops::swap) fn followed(ctx: &Context<'_>, journal: &Journal) -> Result<Followed> {
    let root = Root::open(ctx.repo.worktree_root())?.within_mount();
    let moved = MovedDirs::find(&root, journal)?;
    let mut journal = journal.clone();
    let notices = moved.rename_in(&mut journal)?;
    Ok(Followed { journal, notices })
}

impl MovedDirs {
    fn find(root: &Root, journal: &Journal) -> Result<Self> {
        let mut moved = Self::default();
        let mut with_temps = BTreeSet::new();
        for (nth, dir) in temps_everywhere(root, &journal.swap_id)? {
            let Some(entry) = journal.entries.get(nth) else {
                continue;
            };
            let full = path_of(&entry.path)?;
            let known = path::split(&full).0;
            // The working tree itself cannot be renamed within itself.
            if known == dir || known.is_empty() {
                with_temps.insert(dir);
            } else {
                moved.places.entry(known.to_vec()).or_default().insert(dir);
            }
        }
        if moved.places.is_empty() {
            return Ok(moved);
        }
        for entry in &journal.entries {
            let full = path_of(&entry.path)?;
            let dir = path::split(&full).0;
            if with_temps.contains(dir) || !matches!(root.stamp(&full), Ok(None)) {
                moved.taken.insert(dir.to_vec());
            }
        }
        Ok(moved)
    }

    /// The names that a path of the journal has now: its own, when nothing over it was renamed or it may be there as well; then the others.
    /// None of the others that is among the `known`: what the swap has for a path of this name is what stands for it.
    fn names_of(
        &self,
        stored: &str,
        is_there: impl Fn(&[u8]) -> bool,
        known: &mut BTreeSet<Vec<u8>>,
    ) -> Result<Vec<String>> {
        let own = path_of(stored)?;
        let over = path::with_parents(&own);
        let renamed = over.filter_map(|dir| Some((dir, self.places.get(dir)?)));
        let Some((dir, places)) = renamed.last() else {
            return Ok(vec![stored.to_owned()]);
        };
        let rest = &own[dir.len()..];
        let others = places.iter().map(|place| [place, rest].concat());
        let others = others.filter(|name| known.insert(name.clone()));
        let mut names: Vec<String> = others.map(|name| stored_path(&name)).collect();
        if is_there(&own) || names.is_empty() {
            names.insert(0, stored.to_owned());
        }
        Ok(names)
    }

    /// Gives the journal's paths their names of now, and says what was renamed. The first name takes the entry's place, by whose number its
    /// temporary file is known; the others come last.
    fn rename_in(&self, journal: &mut Journal) -> Result<Vec<String>> {
        if self.places.is_empty() {
            return Ok(Vec::new());
        }
        let paths = journal.entries.iter().map(|entry| path_of(&entry.path));
        let mut known = paths.collect::<Result<BTreeSet<_>>>()?;
        let mut more = Vec::new();
        for entry in &mut journal.entries {
            let is_there = |full: &[u8]| self.taken.contains(path::split(full).0);
            let mut names = self.names_of(&entry.path, is_there, &mut known)?;
            entry.path = names.remove(0);
            more.extend(names.into_iter().map(|path| JournalEntry {
                path,
                ..entry.clone()
            }));
        }
        journal.entries.extend(more);
        let paths = journal.dirs.iter().map(|dir| path_of(&dir.path));
        let mut known = paths.collect::<Result<BTreeSet<_>>>()?;
        let mut more = Vec::new();
        for dir in &mut journal.dirs {
            let is_there =
                |full: &[u8]| self.taken.contains(full) || path::any_within(&self.taken, full);
            let mut names = self.names_of(&dir.path, is_there, &mut known)?;
            dir.path = names.remove(0);
            more.extend(names.into_iter().map(|path| JournalDir {
                path,
                ..dir.clone()
            }));
        }
        journal.dirs.extend(more);
        Ok(self.notices())
    }

    /// One sentence for each directory that has another name, and none for what is in it.
    fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        for (known, places) in &self.places {
            let (above, name) = path::split(known);
            for place in places {
                let goes_along = self.places.get(above).is_some_and(|places| {
                    places.iter().any(|over| path::join(over, name) == *place)
                });
                if !goes_along {
                    notices.push(format!(
                        "what had been put into '{}' was taken back in '{}', where it is by now",
                        path::display(known),
                        path::display(place)
                    ));
                }
            }
        }
        notices
    }
}

/// All temporary files of a swap, wherever in the working tree they are: the place in the journal that each is for, and its directory. A
/// directory that cannot be entered is none that the swap wrote in.
fn temps_everywhere(root: &Root, swap_id: &str) -> Result<Vec<(usize, Vec<u8>)>> {
    let prefix = temp_prefix(swap_id);
    let mut found = Vec::new();
    let mut buffer = Vec::new();
    let mut pending = vec![Vec::new()];
    while let Some(dir) = pending.pop() {
        let what = || format!("cannot read '{}'", path::display(&dir));
        let fd = match root.dir_to_read_if_there(&dir) {
            Err(Errno::ACCESS | Errno::PERM | Errno::XDEV) => continue,
            other => other.context(what)?,
        };
        let Some(fd) = fd else { continue };
        let seen = each_name(fd.as_fd(), &mut buffer, |name, kind| {
            if let Some(nth) = name.strip_prefix(prefix.as_slice()).and_then(number) {
                found.push((nth, dir.clone()));
            } else if matches!(kind, FileType::Directory | FileType::Unknown) && name != b".git" {
                pending.push(path::join(&dir, name));
            }
        });
        seen.context(what)?;
    }
    Ok(found)
}

/// The number that a name begins with.
fn number(name: &[u8]) -> Option<usize> {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&name[..digits]).ok()?.parse().ok()
}
