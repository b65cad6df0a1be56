//! Files of ours that cannot be read as what they are: torn, emptied, garbage, or a directory, a pipe or a symlink to nowhere in
//! their place.
//!
//! Whoever needs such a file says what is wrong with it. Here all of them are looked at, and when recovery is asked for each gets
//! another name beside its own: no byte is lost, no command stumbles over it any more, and what it said is said anew by the next
//! command, or made again here (`remade`). A file of a later version is not damaged. Left out on purpose: what the list of a
//! workspace's members says (`tw workspace off`), and files that others read as absent when they make no sense.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::regular;
use crate::ops::swap::given;
use crate::ops::unsaved;
use crate::store::Store;
use crate::store::damaged::{self, is_aside, is_corrupt};
use crate::store::identity::{self, WORKTREE_ID};
use crate::store::state::{Journal, StateDir, UNSETTLED, WORKSHOP, read_json};

/// What a name in a `timewarp` directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Bytes that need not make sense.
    Bytes,
    /// The same, opened without following a symlink.
    Lock,
    /// The index of an interrupted swap, of which its recovery takes care.
    KeptIndex,
    /// `state.json`.
    State,
    /// The journal of a swap.
    Journal,
    /// The journal of a swap over all members of a workspace.
    Together,
    /// `unsaved.json`.
    Unsaved,
    /// The id of the repository, or of a worktree.
    Id,
    /// Files of others.
    Directory,
    /// The journals of swaps that have ended.
    Levels,
}

/// The names in a worktree's directory that commands depend on.
const OWN: &[(&str, Holds)] = &[
    ("gate", Holds::Lock),
    ("lock", Holds::Lock),
    ("at-work", Holds::Lock),
    ("running", Holds::Directory),
    ("state.json", Holds::State),
    ("journal.json", Holds::Journal),
    (UNSETTLED, Holds::Journal),
    ("together.json", Holds::Together),
    ("unsaved.json", Holds::Unsaved),
    ("undo", Holds::Levels),
    ("redo", Holds::Levels),
    ("swaps", Holds::Levels),
    ("stay", Holds::Levels),
    ("index.before", Holds::KeptIndex),
    ("index.after", Holds::Bytes),
    ("cache", Holds::Bytes),
    ("cache.patch", Holds::Bytes),
    ("log.jsonl", Holds::Bytes),
    ("env-files", Holds::Bytes),
    ("tracked-secrets", Holds::Bytes),
    ("unproven", Holds::Bytes),
    ("desk", Holds::Directory),
    ("prefixes", Holds::Directory),
    ("exports", Holds::Directory),
    (WORKSHOP, Holds::Directory),
    ("refs-at-opening", Holds::Bytes),
    (WORKTREE_ID, Holds::Id),
];

/// Those in the directory that all worktrees share.
const SHARED: &[(&str, Holds)] = &[
    ("id", Holds::Id),
    ("boot", Holds::Bytes),
    ("synced", Holds::Bytes),
    ("seq", Holds::Lock),
    ("env.json", Holds::Bytes),
    ("made-here", Holds::Lock),
    ("summaries", Holds::Bytes),
    ("upkeep", Holds::Bytes),
    ("running", Holds::Directory),
    ("upkeep.lock", Holds::Lock),
    ("reclaim.lock", Holds::Lock),
    ("recording", Holds::Lock),
    ("removed-worktrees", Holds::Directory),
    ("share.lock", Holds::Lock),
    ("told-secrets", Holds::Bytes),
    ("told-team", Holds::Bytes),
    ("told-refspecs", Holds::Bytes),
    ("approved", Holds::Bytes),
    ("sessions", Holds::Directory),
];

/// Those that the lock itself is taken with.
const FOR_LOCKS: &[&str] = &["gate", "lock", "running"];

/// The damaged files of a worktree's `timewarp` directory, and of the one that all share.
pub fn find(own: &StateDir, shared: &StateDir) -> Vec<PathBuf> {
    let mut found = find_in(own, OWN);
    found.extend(find_in(shared, SHARED));
    // In the main worktree these are one directory.
    found.sort();
    found.dedup();
    found
}

fn find_in(dir: &StateDir, names: &[(&str, Holds)]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (name, holds) in names {
        let path = dir.file(name);
        if path.symlink_metadata().is_err() {
            continue;
        }
        if is_damaged(dir, &path, *holds) {
            found.push(path);
        } else if *holds == Holds::Levels {
            found.extend(damaged_levels(&path, *name == "stay"));
        }
    }
    found
}

/// What was set aside there, now or earlier.
pub fn set_aside_before(dir: &StateDir) -> Vec<PathBuf> {
    let dirs = OWN.iter().filter(|(_, holds)| *holds == Holds::Levels);
    let dirs = dirs.map(|(name, _)| dir.file(name));
    let mut found: Vec<PathBuf> = std::iter::once(dir.path().to_owned())
        .chain(dirs)
        .flat_map(|dir| entries(&dir))
        .filter(|path| is_aside(path))
        .collect();
    found.sort();
    found
}

/// Gives damaged files another name, and says which: the old and the new one.
///
/// # Errors
/// A name cannot be changed.
pub(super) fn set_aside(files: Vec<PathBuf>) -> Result<Vec<(PathBuf, PathBuf)>> {
    let renamed = files.into_iter().map(|path| {
        let to = damaged::set_aside(&path)?;
        Ok((path, to))
    });
    renamed.collect()
}

/// Sets aside what no lock can be taken with. Nobody can hold one.
///
/// # Errors
/// A name cannot be changed.
pub fn set_locks_aside(dir: &StateDir) -> Result<()> {
    let locks = OWN.iter().filter(|(name, _)| FOR_LOCKS.contains(name));
    let locks: Vec<(&str, Holds)> = locks.copied().collect();
    set_aside(find_in(dir, &locks)).map(|_| ())
}

/// Sets the journal of the last swap aside when it is damaged: only a power cut makes it needed. Says so.
///
/// # Errors
/// The name cannot be changed.
pub(super) fn set_unsettled_aside(store: &Store) -> Result<Option<String>> {
    let path = store.dir.file(UNSETTLED);
    if !store.dir.is_unsettled() || !is_damaged(&store.dir, &path, Holds::Journal) {
        return Ok(None);
    }
    let aside = set_aside(vec![path])?;
    Ok(aside.first().map(|(_, to)| unsettled_told(to)))
}

/// What is said of it.
pub(super) fn unsettled_told(to: &Path) -> String {
    format!(
        "the journal of the last swap was damaged and is now '{}': if the power was lost since that swap, see with 'tw diff' whether its files are whole",
        to.display()
    )
}

fn is_damaged(dir: &StateDir, path: &Path, holds: Holds) -> bool {
    match holds {
        Holds::Directory | Holds::Levels => !path.is_dir(),
        Holds::Lock => !path.symlink_metadata().is_ok_and(|meta| meta.is_file()),
        Holds::Bytes => !path.is_file(),
        Holds::KeptIndex => !dir.has_journal() && !path.is_file(),
        Holds::Id => !path.is_file() || !has_id(path),
        Holds::State => !path.is_file() || is_corrupt(&dir.state()),
        Holds::Journal => is_damaged_journal(path),
        Holds::Together => !path.is_file() || is_corrupt(&dir.together()),
        Holds::Unsaved => !path.is_file() || is_corrupt(&unsaved::check(dir)),
    }
}

/// Whether a journal, or a level of a log, is damaged.
fn is_damaged_journal(path: &Path) -> bool {
    !path.is_file() || is_corrupt(&read_json::<Journal>(path))
}

/// An id is written whole, or not at all. What may not be read is somebody else's, and not damaged.
fn has_id(path: &Path) -> bool {
    let bytes = match regular::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
    };
    identity::parse(&bytes).is_some()
}

/// `tells_of_stay`: they only say what the swaps of a stay have made, and not who may use it.
fn damaged_levels(dir: &Path, tells_of_stay: bool) -> impl Iterator<Item = PathBuf> + use<> {
    let levels = entries(dir).into_iter();
    levels.filter(move |path| {
        let is_level = path.extension().is_some_and(|end| end == "json");
        is_level && (is_damaged_journal(path) || !tells_of_stay && has_damaged_access(path))
    })
}

fn has_damaged_access(level: &Path) -> bool {
    let level = read_json::<Journal>(level).ok().flatten();
    level.is_some_and(|level| is_corrupt(&given::read(&level)))
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_aside_keeps_its_bytes_under_a_free_name() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let dir = StateDir::new(room.path());
        std::fs::create_dir_all(dir.file("stay")).expect("made");
        for round in ["one", "two"] {
            std::fs::write(dir.file("state.json"), round).expect("written");
            std::fs::write(dir.file("stay/x.json"), "{").expect("written");
            let found = find(&dir, &dir);
            assert_eq!(found, [dir.file("state.json"), dir.file("stay/x.json")]);
            set_aside(found).expect("renamed");
            assert!(find(&dir, &dir).is_empty());
        }
        let read = |name: &str| std::fs::read_to_string(dir.file(name)).expect("there");
        assert_eq!(read("state.json.damaged"), "one");
        assert_eq!(read("state.json.damaged-2"), "two");
        assert_eq!(set_aside_before(&dir).len(), 4);
    }

    #[test]
    fn only_what_cannot_be_is_damaged() {
        let room = tempfile::tempdir().expect("a temporary directory");
        let dir = StateDir::new(room.path());
        std::fs::create_dir_all(dir.file("lock")).expect("made");
        std::fs::write(dir.file("undo"), "").expect("written");
        std::fs::write(dir.file("state.json"), "{\"version\": 9}").expect("newer");
        std::fs::write(dir.file("cache"), "garbage").expect("written");
        std::os::unix::fs::symlink("/nonexistent/x", dir.file("boot")).expect("a symlink");
        std::fs::create_dir(dir.file("cache.patch")).expect("made");
        let damaged = ["boot", "cache.patch", "lock", "undo"].map(|name| dir.file(name));
        assert_eq!(find(&dir, &dir), damaged);
    }
}
