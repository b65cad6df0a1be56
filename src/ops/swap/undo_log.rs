//! The undo log and the redo log: what a finished swap leaves, so that it can be taken back.
//!
//! A level is the journal of a finished swap, in a file of its own whose name counts up. A new swap becomes a level of the undo
//! log and empties the redo log; an undo takes its level from the one and becomes a level of the other. A read that fails is an
//! error and never an absence: who forgets snapshots has to know all that the levels need.
//!
//! A level that leaves its log so cannot be gone to any more and holds nothing; it is put aside for a while, since it alone may
//! tell that its swap happened and which paths that changed.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::made;
use crate::env::Moment;
use crate::error::{Code, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{self, Durable, entries};
use crate::json;
use crate::ops::Context;
use crate::store::Store;
use crate::store::state::{Journal, JournalHead, StateDir, read_head, read_json};
use crate::store::trigger::SwapKind;

/// So many levels of each log are kept whatever their age,
const LEVELS: usize = 100;
/// and those younger than this whatever their number. What is put aside goes when it is older.
const LEVEL_SECONDS: i64 = 30 * 24 * 3600;

/// The directory of the levels that are put aside.
const ASIDE: &str = "swaps";

/// One of the two logs. Its word is the command that takes a level from it, and the directory that
/// holds its levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// What can be undone.
    Undo,
    /// What can be redone.
    Redo,
}

json::words!(Log {
    Undo = "undo",
    Redo = "redo",
});

impl Log {
    fn other(self) -> Self {
        match self {
            Self::Undo => Self::Redo,
            Self::Redo => Self::Undo,
        }
    }
}

impl From<Log> for SwapKind {
    /// The swap that takes a level from it.
    fn from(log: Log) -> Self {
        match log {
            Log::Undo => Self::Undo,
            Log::Redo => Self::Redo,
        }
    }
}

impl fmt::Display for Log {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A level of a log.
#[derive(Debug, Clone)]
pub struct Level {
    /// Its file.
    pub path: PathBuf,
    /// The swap.
    pub journal: Journal,
}

/// A level, without the paths of its swap.
#[derive(Debug, Clone)]
pub struct LevelHead {
    /// Its file.
    pub path: PathBuf,
    /// What of the swap stands before its paths.
    pub journal: JournalHead,
}

impl LevelHead {
    /// The ids of the snapshots that going there would need.
    pub fn needs(&self) -> Vec<&str> {
        needs(&self.journal)
    }
}

/// The ids of the snapshots that a journal or level needs.
pub fn needs(journal: &JournalHead) -> Vec<&str> {
    let states = [&journal.state_before, &journal.state_after];
    let stands = states
        .iter()
        .flat_map(|state| [&state.backup_id, &state.current_snapshot_id]);
    let own = [&journal.target_id, &journal.experiment_id];
    let mut ids = vec![journal.backup_id.as_str()];
    ids.extend(own.into_iter().chain(stands).filter_map(Option::as_deref));
    ids
}

/// The files of a log's levels, oldest first.
///
/// # Errors
/// The log's directory cannot be read.
pub fn files(dir: &StateDir, log: Log) -> Result<Vec<PathBuf>> {
    files_in(&dir.file(log.as_str()))
}

/// The files of the levels that are put aside, oldest first.
///
/// # Errors
/// Their directory cannot be read.
pub fn files_aside(dir: &StateDir) -> Result<Vec<PathBuf>> {
    files_in(&dir.file(ASIDE))
}

fn files_in(dir: &Path) -> Result<Vec<PathBuf>> {
    // In order, for names count up, or begin with a time.
    let mut files = entries(dir)?;
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    Ok(files)
}

/// The levels of a log, newest first.
///
/// # Errors
/// `CORRUPT_RECORD` or `NEWER_RECORD` when one cannot be read.
pub fn levels(dir: &StateDir, log: Log) -> Result<Vec<Level>> {
    let newest_first = files(dir, log)?.into_iter().rev();
    let levels = newest_first.map(|path| {
        let journal = read_json(&path)?;
        Ok(journal.map(|journal| Level { path, journal }))
    });
    levels.filter_map(Result::transpose).collect()
}

/// The levels of a log, newest first, without the paths of their swaps, each read when it is asked for: what a session's start and a
/// `prune` want to know must not cost what the trips of a month have touched.
///
/// # Errors
/// As [`levels`]; the directory cannot be listed.
pub fn heads(dir: &StateDir, log: Log) -> Result<impl Iterator<Item = Result<LevelHead>> + use<>> {
    let newest_first = files(dir, log)?.into_iter().rev();
    let heads = newest_first.map(|path| {
        let journal = read_head(&path)?;
        Ok(journal.map(|journal| LevelHead { path, journal }))
    });
    Ok(heads.filter_map(Result::transpose))
}

/// The levels that are beyond both bounds of the log: more than so many, and older than so long.
///
/// # Errors
/// As [`levels`].
pub fn outlived(dir: &StateDir, now: Moment) -> Result<Vec<PathBuf>> {
    let oldest = now.minus_seconds(LEVEL_SECONDS);
    let mut found = Vec::new();
    for log in Log::ALL {
        for level in heads(dir, log)?.skip(LEVELS) {
            let level = level?;
            let began = Moment::parse_rfc3339(&level.journal.started_at);
            if began.is_some_and(|at| at < oldest) {
                found.push(level.path);
            }
        }
    }
    Ok(found)
}

/// Removes what was put aside and is older than a level that would be kept for its age, or is damaged.
///
/// # Errors
/// A file cannot be read, or removed.
pub fn forget_aside(dir: &StateDir, now: Moment) -> Result<()> {
    let oldest = now.minus_seconds(LEVEL_SECONDS);
    for file in files_aside(dir)? {
        let began = match began(&file) {
            // It may tell more than is known here.
            Err(error) if error.code() == Code::NewerRecord => continue,
            began => began?.and_then(|at| Moment::parse_rfc3339(&at)),
        };
        if began.is_none_or(|at| at < oldest) {
            fs::remove_optional(&file)?;
        }
    }
    Ok(())
}

/// Takes a level out of its log, and says where it is put. None: it is gone already, or it is damaged, tells nothing and goes.
///
/// # Errors
/// It cannot be read, or moved.
pub fn put_aside(dir: &StateDir, level: &Path) -> Result<Option<PathBuf>> {
    let mut time = match began(level) {
        Ok(Some(time)) => time,
        Ok(None) => return fs::remove_optional(level).map(|()| None),
        // When, a newer program may read.
        Err(error) if error.code() == Code::NewerRecord => String::new(),
        Err(error) => return Err(error),
    };
    // Both logs count for themselves: by the time the names sort.
    time.retain(|digit| digit.is_ascii_digit());
    let aside = dir.file(ASIDE);
    create::private_dir(&aside)?;
    let to = aside.join(format!("{time:0>14.14}-{}", name_of(level)));
    match std::fs::rename(level, &to) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        moved => moved
            .map(|()| Some(to))
            .context(|| format!("cannot move '{}'", level.display())),
    }
}

/// Takes those levels out of their logs that cannot be reached any more, and says how many: of each log the newest that needs an id which is
/// gone, and those beneath it.
///
/// # Errors
/// As [`levels`]; one cannot be moved.
pub fn forget_unreachable(dir: &StateDir, is_gone: &dyn Fn(&str) -> bool) -> Result<usize> {
    let mut count = 0;
    for log in Log::ALL {
        let levels = heads(dir, log)?.collect::<Result<Vec<_>>>()?;
        let needs = |level: &LevelHead| level.needs().into_iter().any(is_gone);
        let lost: Vec<_> = levels.iter().skip_while(|level| !needs(level)).collect();
        // The oldest first: until the last one goes, it bars the way to those beneath it.
        for level in lost.into_iter().rev() {
            count += usize::from(put_aside(dir, &level.path)?.is_some());
        }
    }
    Ok(count)
}

/// When a level's swap began, RFC 3339; None when it is gone or damaged.
///
/// # Errors
/// It cannot be read; `NEWER_RECORD`.
fn began(level: &Path) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct Began {
        started_at: String,
    }
    match read_head(level) {
        Err(error) if error.code() == Code::CorruptRecord => Ok(None),
        read => Ok(read?.map(|level: Began| level.started_at)),
    }
}

fn suffix_of(swap_id: &str) -> String {
    format!("-{swap_id}.json")
}

/// A level's file name, without its directory.
pub fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Puts a finished swap into the log that its journal names. Can be run again.
///
/// # Errors
/// A level cannot be written or removed.
pub fn add(store: &Store, journal: &Journal) -> Result<()> {
    let word = |name: &str| journal.extra.get(name).and_then(|value| value.as_str());
    let popped = word("log").and_then(Log::parse);
    let log = popped.map_or(Log::Undo, Log::other);
    if let (Some(popped), Some(level)) = (popped, word("pops")) {
        // Only the name counts: what stands in a journal must not lead out of the log.
        if let Some(name) = Path::new(level).file_name() {
            // The journal stands until all is done: a death between this and the new level is made up for.
            put_aside(&store.dir, &store.dir.file(popped.as_str()).join(name))?;
        }
    }
    // What was undone before does not fit onto what is new.
    if popped.is_none() {
        for file in files(&store.dir, Log::Redo)? {
            put_aside(&store.dir, &file)?;
        }
    }
    let dir = store.dir.file(log.as_str());
    create::private_dir(&dir)?;
    let files = files(&store.dir, log)?;
    let suffix = suffix_of(&journal.swap_id);
    // A recovery may come here a second time.
    if let Some(there) = files.iter().find(|file| name_of(file).ends_with(&suffix)) {
        return made::note(store, journal, there);
    }
    let last = files
        .last()
        .and_then(|file| name_of(file).split('-').next()?.parse::<u64>().ok());
    // With leading zeros names sort as numbers.
    let name = format!("{:08}{suffix}", last.unwrap_or(0) + 1);
    let bytes = serde_json::to_vec(journal).expect("plain data serialises");
    let file = dir.join(name);
    fs::write_atomic(&file, &bytes, Durable::Yes)?;
    made::note(store, journal, &file)
}

/// HEAD as a mark that shows any move: its bytes and the object that it leads to.
///
/// # Errors
/// HEAD cannot be read.
pub fn head_mark(ctx: &Context<'_>) -> Result<String> {
    let oid = ctx.repo.head_target()?;
    let oid = oid.map(|oid| oid.to_string()).unwrap_or_default();
    Ok(format!("{}{oid}", ctx.repo.raw_head()?))
}
