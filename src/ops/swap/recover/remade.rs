//! `state.json`, and the repository's id, made again from what else is there.
//!
//! The journal of a swap says what the state was before it and is after it. The one that was interrupted, or else the last one that
//! ended, tells the state whole; where its journal is damaged, too, a stay in the past is known by what it left, and its backup by
//! `unsaved.json` or by the newest backup that a travel made. What cannot be told is said, with what to type: nothing is removed or
//! overwritten here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::damaged::{find, set_aside, unsettled_told};
use super::{Recovery, rewritten, torn};
use crate::error::Result;
use crate::git::fs::{self, Durable};
use crate::ops::Context;
use crate::ops::history::Here;
use crate::ops::unsaved;
use crate::store::Store;
use crate::store::damaged::is_aside;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::identity::{self, WORKTREE_ID};
use crate::store::names;
use crate::store::snapshot::{SnapshotRecord, TakenIn};
use crate::store::state::{
    Journal, JournalHead, Mode, State, StateDir, UNSETTLED, read_head, read_json,
};
use crate::store::stored::Stored;
use crate::store::trigger::{SwapKind, Trigger};
use crate::text::with_article;

/// Sets every damaged file of ours aside, makes again what can be told, and finds what took the place of commits that are gone; says
/// what was done. A stay that nothing leads home from ends when that is agreed to. The caller holds the lock alone.
///
/// # Errors
/// A name cannot be changed, or the disk refuses; `CORRUPT_RECORD` when nothing leads home, and it was not agreed to.
pub(super) fn mend(
    ctx: &Context<'_>,
    store: &Store,
    agreed: bool,
    is_barred: bool,
) -> Result<Vec<String>> {
    let mut told = set_damaged_aside(ctx, store)?;
    told.extend(put_id_back(store)?);
    told.extend(rewritten::follow(ctx, store)?);
    match give_up(ctx, store, agreed, is_barred) {
        Ok(more) => told.extend(more),
        Err(error) => return Err(Recovery(told).with(error)),
    }
    Ok(told)
}

/// Gives up what nothing is left of: a swap that died, and a stay in the past.
fn give_up(ctx: &Context<'_>, store: &Store, agreed: bool, is_barred: bool) -> Result<Vec<String>> {
    let mut told = rewritten::set_journal_aside(store, agreed)?;
    if store.dir.has_journal() {
        return Ok(told);
    }
    let loss = match rewritten::of_home(ctx, store)? {
        None if is_barred => torn::of_home(store)?,
        lost => lost,
    };
    if let Some(loss) = loss {
        told.extend(rewritten::end_stay(store, &loss, agreed)?);
    }
    Ok(told)
}

fn set_damaged_aside(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    let shared = StateDir::new(ctx.repo.common_dir());
    let damaged = find(&store.dir, &shared);
    let state = store.dir.file("state.json");
    let is_lost = damaged.contains(&state) || store.dir.lacks_state()?;
    let aside = set_aside(damaged)?;
    let mut told: Vec<String> = Vec::new();
    for (from, to) in &aside {
        told.push(match from.file_name().and_then(|name| name.to_str()) {
            Some(UNSETTLED) => unsettled_told(to),
            Some("journal.json") => without_journal(ctx, store, to)?,
            Some("id") => remake_id(store, to)?,
            Some(WORKTREE_ID) => remake_worktree_id(store, to)?,
            Some("unsaved.json") => format!(
                "the list of what the present left out was damaged and is now '{}': what the present ignores may go into the experiment at the return, and comes back with 'tw restore'",
                to.display()
            ),
            _ => format!("a damaged file of tw's own is now '{}'", to.display()),
        });
    }
    if is_lost {
        told.push(write_state(store, state_of_others(ctx, store)?)?);
    } else if let Some(other) = state_that_leads_home(ctx, store)? {
        for (_, to) in set_aside(vec![state])? {
            told.push(format!(
                "'state.json' named a backup that cannot be read, and is now '{}'",
                to.display()
            ));
        }
        told.push(write_state(store, other)?);
    }
    Ok(told)
}

/// Whether this is the past, and the backup of the present cannot be read, or is not whole, for which the way home `is_barred`: recovery
/// finds what became of it, or ends the stay.
pub fn leads_nowhere(ctx: &Context<'_>, is_barred: impl Fn() -> bool) -> bool {
    let is_lost = |store: &Store, state: &State| {
        !leads_home(store, state) || (is_barred() && matches!(torn::of_home(store), Ok(Some(_))))
    };
    let leads_nowhere = |store: &Store| {
        let state = store.dir.state();
        let is_past = |state: &State| state.mode == Mode::Past && is_lost(store, state);
        !store.dir.has_journal() && state.is_ok_and(|state| is_past(&state))
    };
    ctx.store().is_ok_and(leads_nowhere)
}

/// The state as other files tell it, and how it is known, where the one that is there names a backup of the present that cannot be read,
/// and theirs can be: what is well formed may be damaged, too.
fn state_that_leads_home(ctx: &Context<'_>, store: &Store) -> Result<Option<(State, String)>> {
    let state = store.dir.state()?;
    // A swap that died says what is to become of it.
    if state.mode == Mode::Present || store.dir.has_journal() || leads_home(store, &state) {
        return Ok(None);
    }
    let other = state_of_others(ctx, store)?;
    Ok(Some(other).filter(|(state, _)| state.mode == Mode::Past && leads_home(store, state)))
}

/// Whether the backup that a state names can be read.
fn leads_home(store: &Store, state: &State) -> bool {
    home(store, state).is_some()
}

/// The backup that a state names, where it can be read.
pub(super) fn home(store: &Store, state: &State) -> Option<Stored> {
    let id = state.backup_id.as_deref().and_then(SnapshotId::parse)?;
    store.read_noted(&id, state.backup_commit.as_deref()).ok()
}

/// The state as other files tell it, and how it is known.
fn state_of_others(ctx: &Context<'_>, store: &Store) -> Result<(State, String)> {
    match known_state(store)? {
        Some((state, operation)) => {
            let operation = with_article(operation.as_str());
            let told = format!("'state.json' is made again, from the journal of {operation}");
            Ok((state, told))
        }
        None => guessed_state(ctx, store),
    }
}

/// Writes the state anew and says what it is.
fn write_state(store: &Store, (state, told): (State, String)) -> Result<String> {
    let place = match (state.mode, &state.current_snapshot_id) {
        (Mode::Present, _) => "this is the present".to_owned(),
        (Mode::Past, at) => format!(
            "this is the past, at {}; 'tw return' brings the present back",
            at.as_deref().unwrap_or("a snapshot that is not known")
        ),
    };
    let told = format!("{told}: {place}");
    store.dir.write_state(&state)?;
    Ok(told)
}

/// What a journal says of the state, and whose it is.
fn known_state(store: &Store) -> Result<Option<(State, SwapKind)>> {
    // Written, and whole: its state is the one before it, and the recovery that follows goes on from there.
    if let Some(journal) = store.dir.journal()? {
        return Ok(Some((journal.state_before, journal.operation)));
    }
    if let Some(journal) = store.dir.unsettled()? {
        return Ok(Some((journal.state_after, journal.operation)));
    }
    let mut newest: Option<(String, i64, Journal)> = None;
    let mut damaged = i64::MIN;
    for path in levels(store)? {
        let written = written_at(&path);
        if is_aside(&path) {
            damaged = damaged.max(written);
        } else if let Ok(Some(journal)) = read_json::<Journal>(&path) {
            // Two swaps may begin in one second.
            let key = (journal.started_at.clone(), written);
            if newest
                .as_ref()
                .is_none_or(|(at, then, _)| (at, *then) < (&key.0, key.1))
            {
                newest = Some((key.0, key.1, journal));
            }
        }
    }
    // One that cannot be read may be of a later swap.
    let newest = newest.filter(|(_, written, _)| *written > damaged);
    Ok(newest.map(|(_, _, journal)| (journal.state_after, journal.operation)))
}

/// The files of all levels, also of those that were set aside.
fn levels(store: &Store) -> Result<Vec<PathBuf>> {
    let dirs = ["undo", "redo", "swaps", "stay"].map(|name| store.dir.file(name));
    let found = dirs.iter().map(|dir| fs::entries(dir));
    Ok(found.collect::<Result<Vec<_>>>()?.concat())
}

fn written_at(path: &Path) -> i64 {
    let stat = rustix::fs::lstat(path).ok();
    stat.map_or(i64::MIN, |stat| fs::Stamp::of(&stat).mtime)
}

/// The state where no journal tells it.
fn guessed_state(ctx: &Context<'_>, store: &Store) -> Result<(State, String)> {
    let state = State {
        workspace_root: ctx.repo.worktree_root().display().to_string(),
        ..State::default()
    };
    let noted = unsaved::backup_noted(&store.dir).and_then(|id| store.read_id(&id).ok());
    let left = newest_travel(ctx, store)?;
    let has_left = !fs::entries(&store.dir.file("stay"))?.is_empty();
    let is_past = noted.is_some() || has_left;
    let Some(backup) = noted.or(left) else {
        return Ok((state, "'state.json' is made again".to_owned()));
    };
    if !is_past {
        let told = format!(
            "'state.json' is made again; whether a stay in the past went on cannot be told. If it did, 'tw restore {}' brings the files of the present back",
            backup.id
        );
        return Ok((state, told));
    }
    let told = format!(
        "'state.json' is made again, from the backup {} of the present",
        backup.id
    );
    let state = State {
        mode: Mode::Past,
        current_snapshot_id: backup.record.target_id.clone(),
        backup_id: Some(backup.id.to_string()),
        backup_path: Some(names::snapshot_ref(&backup.id)),
        backup_commit: Some(backup.commit.to_string()),
        entered_at: Some(backup.record.created_at.clone()),
        ..state
    };
    Ok((state, told))
}

/// The newest backup that a travel from the present made in this worktree.
fn newest_travel(ctx: &Context<'_>, store: &Store) -> Result<Option<Stored>> {
    let here = Here::of(ctx, store)?;
    let of_travel = |stored: &Stored| {
        let record = &stored.record;
        here.is_named(record)
            && record.trigger == Trigger::Swap(SwapKind::Travel)
            && record.taken_in != TakenIn::Past
    };
    let mut ids = store.ids(IdKind::Backup)?.into_iter();
    Ok(ids.find_map(|id| store.read_id(&id).ok().filter(of_travel)))
}

/// What is said where the journal of an interrupted swap is lost.
fn without_journal(ctx: &Context<'_>, store: &Store, to: &Path) -> Result<String> {
    let here = Here::of(ctx, store)?;
    let mut saved: Vec<Stored> = Vec::new();
    for kind in [IdKind::Backup, IdKind::Experiment] {
        let ids: Vec<SnapshotId> = store.ids(kind)?;
        let mut ids = ids.iter().filter_map(|id| store.read_id(id).ok());
        saved.extend(ids.find(|stored| here.is_named(&stored.record)));
    }
    let last = saved.into_iter().max_by_key(|stored| stored.record.seq);
    let told = format!(
        "the journal of an interrupted swap was damaged and is now '{}': what the swap had done stays",
        to.display()
    );
    Ok(match last {
        Some(last) => format!(
            "{told}; 'tw restore {}' brings back the files before it",
            last.id
        ),
        None => told,
    })
}

/// What the backups of this worktree's own swaps and the snapshot of its session record, as far as they can be read. They were made
/// here, whatever the ids say that are there now.
fn own_records(store: &Store) -> Result<Vec<SnapshotRecord>> {
    let mut own: Vec<String> = Vec::new();
    if let Ok(state) = store.dir.state() {
        own.extend(state.backup_id.into_iter().chain(state.session_snapshot_id));
    }
    for path in levels(store)? {
        if let Ok(Some(journal)) = read_head::<JournalHead>(&path) {
            own.push(journal.backup_id);
        }
    }
    let read = |id: &String| store.read_id(&SnapshotId::parse(id)?).ok();
    let stored = own.iter().filter_map(read);
    Ok(stored.map(|stored| stored.record).collect())
}

/// The repository's id as this worktree's own records have it, where it has none, or one that none of them has. Where as many snapshots
/// were made with that one since, it stays: another worktree may have gone on with it.
///
/// # Errors
/// `CORRUPT_RECORD` when it is damaged; undo log or snapshots cannot be read.
pub fn lost_id(store: &Store) -> Result<Option<String>> {
    let now = store.repository_id()?;
    let own = own_records(store)?.into_iter();
    let own: BTreeSet<String> = own.map(|record| record.repository_id).collect();
    let mut own = own.into_iter();
    let (Some(id), None) = (own.next(), own.next()) else {
        return Ok(None);
    };
    if now.as_ref() == Some(&id) || identity::parse(id.as_bytes()).is_none() {
        return Ok(None);
    }
    let Some(now) = now else {
        return Ok(Some(id));
    };
    let all = store.summaries(&[IdKind::Snapshot])?.found;
    let count = |id: &str| all.iter().filter(|one| one.repository_id == id).count();
    Ok((count(&id) > count(&now)).then_some(id))
}

/// Puts the id back that was lost, and says so.
fn put_id_back(store: &Store) -> Result<Option<String>> {
    // What cannot be looked at keeps nothing else from being put right.
    let Some(id) = lost_id(store).unwrap_or_default() else {
        return Ok(None);
    };
    let file = store.common("id");
    let told = if fs::is_there(&file)? {
        let aside = set_aside(vec![file.clone()])?;
        let to = aside.first().map(|(_, to)| to.display().to_string());
        format!(
            "the repository's id was another one than its own backups have, and is now '{}'; what was made with it counts as another repository's",
            to.unwrap_or_default()
        )
    } else {
        "the repository's id was lost".to_owned()
    };
    write_id(&file, &id)?;
    Ok(Some(format!("{told}; it is made again from a backup")))
}

fn write_id(file: &Path, id: &str) -> Result<()> {
    fs::write_atomic(file, format!("{id}\n").as_bytes(), Durable::Yes)
}

/// The repository's id anew.
fn remake_id(store: &Store, to: &Path) -> Result<String> {
    let of_record = |record: SnapshotRecord| Some(record.repository_id);
    let rest = if write_recorded_id(store, &store.common("id"), of_record)? {
        "it is made again from a backup"
    } else {
        store.ensure_repository_id()?;
        "it has a new one, and takes snapshots made before for those of another repository"
    };
    let to = to.display();
    Ok(format!(
        "the repository's id was damaged and is now '{to}'; {rest}"
    ))
}

/// The same of a linked worktree's id.
fn remake_worktree_id(store: &Store, to: &Path) -> Result<String> {
    let of_record = |record: SnapshotRecord| record.worktree_id;
    let rest = if write_recorded_id(store, &store.dir.file(WORKTREE_ID), of_record)? {
        "it is made again from a backup"
    } else {
        "it gets a new one, and takes snapshots made before for those of another worktree"
    };
    let to = to.display();
    Ok(format!(
        "the worktree's id was damaged and is now '{to}'; {rest}"
    ))
}

/// Writes an id as this worktree's own records have it, by which it is known for certain. False: none of them has it.
fn write_recorded_id(
    store: &Store,
    file: &Path,
    of_record: impl Fn(SnapshotRecord) -> Option<String>,
) -> Result<bool> {
    let mut own = own_records(store)?.into_iter();
    let id = own.find_map(|record| identity::parse(of_record(record)?.as_bytes()));
    let Some(id) = id else {
        return Ok(false);
    };
    write_id(file, &id)?;
    Ok(true)
}
