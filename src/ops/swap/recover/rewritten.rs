//! Commits of ours that another program replaced: `git filter-repo`, `git filter-branch -- --all` and `git lfs migrate` give the commits
//! of all refs other ids, those under `refs/timewarp` among them, and let the old ones go.
//!
//! State, journals and levels go by the commits that they noted, and by nothing that a ref says, for a fetch may have put it there.
//! Only when recovery is asked for, and only where what is noted is gone, a ref's commit takes its place. It has to say that it is the same
//! snapshot, to be whole, and of a backup or experiment to have been made in this very worktree. Where nothing has the present any more,
//! a stay in the past can be ended, with all files as they are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::slice::from_ref;

use serde_json::Value;

use super::damaged::set_aside;
use super::torn::Loss;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::entries;
use crate::ops::Context;
use crate::ops::history::Here;
use crate::ops::swap::made;
use crate::ops::swap::renamed::{self, Moved};
use crate::ops::swap::undo_log::{self, Log};
use crate::ops::unsaved;
use crate::ops::whole::Whole;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names;
use crate::store::state::{
    Journal, JournalHead, Mode, State, StateDir, UNSETTLED, read_head, read_json,
};
use crate::text;
use crate::worktree::cache;

/// This many ids are named.
const SHOWN: usize = 5;

/// What became of a commit that is noted of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is there.
    There,
    /// It is there, but its ref names another one by now: git's gc may take it.
    Adrift,
    /// It is gone, and its ref names the one that took its place.
    Replaced(Oid),
    /// It is gone, and its ref names what is not that snapshot, or not all there.
    Displaced,
    /// It is gone, and so is its ref.
    Gone,
}

/// What the files of a worktree note of snapshots.
#[derive(Debug, Default)]
pub struct Noted {
    /// The backup of the present, when this is the past, as the state has its id.
    pub home: Option<(String, Fate)>,
    /// All snapshots that journals and levels name, with what became of those commits.
    pub steps: BTreeMap<(SnapshotId, Oid), Fate>,
}

impl Noted {
    /// Looks at all that is noted in a worktree; `here` tells which one that is. What cannot be read names nothing.
    ///
    /// # Errors
    /// Something cannot be looked at.
    pub fn find(store: &Store, dir: &StateDir, here: &Here) -> Result<Self> {
        let mut found = Self::default();
        let mut fate = Fates::new(store, here);
        if let Ok(state) = dir.state()
            && state.mode == Mode::Past
        {
            let home = fate.of_home(&state)?;
            found.home = Some((state.backup_id.unwrap_or_default(), home));
        }
        for file in files(dir)? {
            // One that is damaged is told of elsewhere.
            let Ok(Some(level)) = read_head::<JournalHead>(&file) else {
                continue;
            };
            for (id, commit) in named(&level) {
                if let Entry::Vacant(entry) = found.steps.entry((id, commit)) {
                    entry.insert(fate.of(&id, commit)?);
                }
            }
        }
        Ok(found)
    }

    /// The snapshots that became this, each once.
    pub fn steps_with(&self, is_meant: impl Fn(&SnapshotId, Fate) -> bool) -> Vec<String> {
        let steps = self.steps.iter();
        let meant = steps.filter(|((id, _), fate)| is_meant(id, **fate));
        let mut ids: Vec<String> = meant.map(|((id, _), _)| id.to_string()).collect();
        ids.dedup();
        ids
    }
}

/// Finds out what became of commits.
struct Fates<'a> {
    store: &'a Store,
    here: &'a Here,
    whole: Whole<'a>,
}

impl<'a> Fates<'a> {
    fn new(store: &'a Store, here: &'a Here) -> Self {
        Self {
            store,
            here,
            whole: Whole::new(store),
        }
    }

    fn of_home(&mut self, state: &State) -> Result<Fate> {
        if let Some((id, commit)) = backup_of(state) {
            return self.of(&id, commit);
        }
        // Without a noted commit the ref counts.
        let id = state.backup_id.as_deref().and_then(SnapshotId::parse);
        let id = id.filter(|_| state.backup_commit.is_none());
        let is_there = id.is_some_and(|id| self.store.read_id(&id).is_ok());
        Ok(if is_there { Fate::There } else { Fate::Gone })
    }

    fn of(&mut self, id: &SnapshotId, noted: Oid) -> Result<Fate> {
        let at = match self.store.refs.read(&names::snapshot_ref(id)) {
            Err(error) if error.code() == Code::CorruptRecord => None,
            read => read?,
        };
        let objects = &self.store.objects;
        match self.store.read(id, noted) {
            Ok(_) if at.is_some_and(|at| at != noted) => return Ok(Fate::Adrift),
            Err(error)
                if error.code() == Code::CorruptRecord && objects.is_there(noted).is_ok() => {}
            // What could not be looked at, or is of a newer version, is not known to be gone.
            Ok(_) | Err(_) => return Ok(Fate::There),
        }
        Ok(match at.filter(|at| *at != noted) {
            Some(at) if self.takes_the_place(id, at)? => Fate::Replaced(at),
            Some(_) => Fate::Displaced,
            None => Fate::Gone,
        })
    }

    /// Whether a ref's commit is that snapshot. One that somebody put there by mistake is another, or none.
    fn takes_the_place(&mut self, id: &SnapshotId, at: Oid) -> Result<bool> {
        let Ok(stored) = self.store.read(id, at) else {
            return Ok(false);
        };
        let record = &stored.record;
        // Whoever travels to a snapshot goes by its ref, too, wherever it came from.
        let is_own = id.kind() == IdKind::Snapshot || self.here.is(record);
        Ok(is_own && record.kind == id.kind().word() && self.whole.is_usable(at)?)
    }
}

fn backup_of(state: &State) -> Option<(SnapshotId, Oid)> {
    noted_as(state.backup_id.as_deref(), state.backup_commit.as_deref())
}

fn noted_as(id: Option<&str>, commit: Option<&str>) -> Option<(SnapshotId, Oid)> {
    Some((SnapshotId::parse(id?)?, Oid::from_hex(commit?).ok()?))
}

/// The snapshots that a journal or level names by their commits.
fn named(level: &JournalHead) -> impl Iterator<Item = (SnapshotId, Oid)> {
    let states = [&level.state_before, &level.state_after];
    let homes = states.into_iter().filter_map(backup_of);
    sides(level).chain(homes)
}

/// Those that are its sides.
fn sides(level: &JournalHead) -> impl Iterator<Item = (SnapshotId, Oid)> {
    let sides = [
        noted_as(Some(&level.backup_id), Some(&level.backup_commit)),
        noted_as(level.target_id.as_deref(), level.target_commit.as_deref()),
        noted_as(level.git_id.as_deref(), level.git_commit.as_deref()),
    ];
    sides.into_iter().flatten()
}

/// What is lost where this is the past, and nothing has the present any more.
///
/// # Errors
/// State, ref or worktree cannot be read.
pub(super) fn of_home(ctx: &Context<'_>, store: &Store) -> Result<Option<Loss>> {
    let state = store.dir.state()?;
    let here = Here::of(ctx, store)?;
    let fate = Fates::new(store, &here).of_home(&state)?;
    let is_lost = state.mode == Mode::Past && matches!(fate, Fate::Displaced | Fate::Gone);
    Ok(is_lost.then(|| Loss {
        what: what_is_lost(store, &state),
        way: None,
    }))
}

/// The journals and levels of a worktree.
fn files(dir: &StateDir) -> Result<Vec<PathBuf>> {
    let mut found = vec![dir.file("journal.json"), dir.file(UNSETTLED)];
    for log in Log::ALL {
        found.extend(undo_log::files(dir, log)?);
    }
    found.extend(undo_log::files_aside(dir)?);
    let stay = entries(&dir.file("stay"))?.into_iter();
    found.extend(stay.filter(|path| path.extension().is_some_and(|end| end == "json")));
    Ok(found)
}

/// Makes state, journals and levels name what took the place of commits that are gone, and says so. Can be run again.
///
/// # Errors
/// Something cannot be looked at, or written.
pub(super) fn follow(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    let noted = Noted::find(store, &store.dir, &Here::of(ctx, store)?)?;
    let mut moved = Moved::new();
    for ((_, old), fate) in &noted.steps {
        if let Fate::Replaced(new) = fate {
            moved.insert(*old, *new);
        }
    }
    let mut told = Vec::new();
    let steps = noted.steps_with(|_, fate| matches!(fate, Fate::Replaced(_)));
    if !steps.is_empty() {
        follow_steps(store, &moved)?;
        let steps = text::listed(steps.iter().map(|id| format!("'{id}'")), SHOWN);
        told.push(format!(
            "another program rewrote what swaps went by; they go by what the refs have now: {steps}"
        ));
    }
    // It goes last: as long as it is not done, all of this is done again.
    if let Some((id, Fate::Replaced(new))) = noted.home {
        let state = store.dir.state()?;
        store.dir.write_state(&State {
            backup_commit: Some(new.to_string()),
            backup_rewritten: true,
            ..state
        })?;
        told.push(format!(
            "another program rewrote the backup of the present, '{id}': the way back leads to what its ref has now, without what that program took out; 'tw return' goes there"
        ));
    }
    Ok(told)
}

/// Paths whose content was taken out leave the levels: one of them must not keep a step from all others.
fn follow_steps(store: &Store, moved: &Moved) -> Result<()> {
    let stays = |entry: &Value| {
        let mut blobs = blobs_before(entry);
        blobs.all(|oid| store.objects.is_there(oid).unwrap_or(true))
    };
    for file in files(&store.dir)? {
        // The paths of a swap that died are what its recovery has to look at.
        let is_journal = file == store.dir.file("journal.json");
        let stays: &dyn Fn(&Value) -> bool = if is_journal { &|_| true } else { &stays };
        match renamed::in_file(&file, moved, stays) {
            Err(error) if error.code() == Code::CorruptRecord => {}
            done => drop(done?),
        }
    }
    Ok(())
}

/// What an entry of a level has been: a file, or the stages that the index has for a path.
fn blobs_before(entry: &Value) -> impl Iterator<Item = Oid> {
    let before = entry.get("before");
    let all = before.map_or(&[][..], |it| {
        it.as_array().map_or(from_ref(it), Vec::as_slice)
    });
    // A submodule's commit is in no repository of ours.
    let blobs = all
        .iter()
        .filter(|it| it.get("mode").and_then(Value::as_str) != Some("160000"));
    blobs.filter_map(|it| Oid::from_hex(it.get("oid")?.as_str()?).ok())
}

/// Sets the journal of a swap aside that died, and that can be neither undone nor ended: what it names is gone. Says what that means.
///
/// # Errors
/// `CORRUPT_RECORD` unless it is agreed to; its name cannot be changed.
pub(super) fn set_journal_aside(store: &Store, agreed: bool) -> Result<Vec<String>> {
    let Some(journal) = store.dir.journal_head()? else {
        return Ok(Vec::new());
    };
    let is_gone = |commit: Oid| matches!(store.objects.is_intact(commit), Ok(false));
    let gone = sides(&journal).find(|(_, commit)| is_gone(*commit));
    let has_ended = store.dir.state()?.swap_id == journal.state_after.swap_id;
    let Some((id, commit)) = gone.filter(|_| !has_ended) else {
        return Ok(Vec::new());
    };
    let operation = &journal.operation;
    let lost = format!(
        "the interrupted {operation} can be neither undone nor finished: the commit {commit} of '{id}' is gone"
    );
    if !agreed {
        return Err(Error::new(Code::CorruptRecord, lost)
            .hint("'tw recover -y' gives it up, and leaves all as it is by now"));
    }
    let aside = set_aside(vec![store.dir.file("journal.json")])?;
    let told = aside.iter().map(|(_, to)| {
        format!(
            "{lost}; what it had done stays, and its journal is now '{}'",
            to.display()
        )
    });
    Ok(told.collect())
}

/// Ends a stay in the past that nothing leads home from as it should, with working tree, index and HEAD as they are. Says what that means.
///
/// # Errors
/// `CORRUPT_RECORD` unless it is agreed to; a file cannot be written or renamed.
pub(super) fn end_stay(store: &Store, loss: &Loss, agreed: bool) -> Result<Vec<String>> {
    let state = store.dir.state()?;
    if !agreed {
        let error = Error::new(Code::CorruptRecord, loss.what.clone())
            .hint("'tw recover -y' ends the stay in the past, and leaves working tree, index and HEAD as they are");
        let error = loss.way.iter().fold(error, Error::hint);
        return Err(error.hint("'tw list --kind backup' shows what else was saved"));
    }
    let mut told = vec![format!("the stay in the past is over: {}", loss.what)];
    let left = put_levels_aside(&store.dir)?;
    for (_, to) in set_aside(vec![store.dir.file("state.json")])? {
        told.push(format!("what it said is now in '{}'", to.display()));
    }
    store.dir.write_state(&state.after_stay())?;
    made::forget_stay(store)?;
    unsaved::forget(&store.dir)?;
    // The next look would go by what is lost.
    cache::remove(&store.dir.file("cache"))?;
    store.dir.settled()?;
    told.push("working tree, index and HEAD stay as the past left them".to_owned());
    let head = left
        .as_deref()
        .and_then(|head| head.strip_prefix("ref: refs/heads/"));
    told.extend(head.map(|branch| {
        let branch = branch.trim_end();
        let typed = text::typed(branch);
        format!("HEAD was on '{branch}' before: 'git switch {typed}' goes on there")
    }));
    told.extend(loss.way.clone());
    Ok(told)
}

fn what_is_lost(store: &Store, state: &State) -> String {
    let Some((id, commit)) = backup_of(state) else {
        return "nothing says where the present was saved".to_owned();
    };
    let name = names::snapshot_ref(&id);
    let at = store.refs.read(&name).ok().flatten();
    match at.filter(|at| *at != commit) {
        None => format!("the present was saved as '{id}', and its commit {commit} is gone"),
        Some(at) => format!(
            "the present was saved as '{id}', its commit {commit} is gone, and '{name}' names {at}, which is not that backup or not all there"
        ),
    }
}

/// Puts the levels aside that lead out of the stay, or about in it. Answers HEAD's bytes before it began.
fn put_levels_aside(dir: &StateDir) -> Result<Option<String>> {
    // What was undone does not fit onto what comes now.
    for file in undo_log::files(dir, Log::Redo)? {
        undo_log::put_aside(dir, &file)?;
    }
    for file in undo_log::files(dir, Log::Undo)?.into_iter().rev() {
        let Ok(Some(level)) = read_json::<Journal>(&file) else {
            break;
        };
        if level.state_after.mode == Mode::Present {
            break;
        }
        let begins = level.state_before.mode == Mode::Present;
        undo_log::put_aside(dir, &file)?;
        if begins {
            return Ok(level.head.map(|(before, _)| before));
        }
    }
    Ok(None)
}
