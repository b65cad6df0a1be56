//! What a power cut took of what nobody waits for: plain snapshots, and the records that hooks write.
//!
//! git does not wait for its own loose objects and refs either. But a ref that stands without its objects, or a loose object of
//! zeros, makes the user's `git gc` and `git fsck` fail. The first command that changes something in another boot looks at
//! what is younger than the last sync that is known of ([`Store::on_disk_until`]): a torn object is moved to `timewarp/lost/`,
//! a snapshot's ref without its objects goes, a record goes back to the newest commit of it that is whole. All of it is said,
//! and stands in the log. Backups and experiments are waited for: theirs are never touched, and `doctor` names them.
//! What is left of a lost snapshot is not pruned by us: `git fsck --lost-found` has it until git's own gc takes it.

use std::collections::BTreeMap;

use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::command::Git;
use crate::git::notes::notes_at;
use crate::git::objects::ObjectKind;
use crate::ops::Context;
use crate::ops::event_log::{self, RefEvent, RefFate};
use crate::ops::whole::Whole;
use crate::store::Store;
use crate::store::names::{self, Record};

/// Where torn objects go, in the common `timewarp` directory.
const ASIDE: &str = "lost";

/// A ref whose objects, or whose own bytes, a power cut took.
#[derive(Debug)]
struct Lost {
    name: String,
    /// What it names, where it can be read.
    commit: Option<Oid>,
}

/// How what a power cut took is called, for who only looks; empty in a boot that was looked at.
///
/// # Errors
/// Refs cannot be listed.
pub fn taken_by_power(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    if !store.is_another_boot()? {
        return Ok(Vec::new());
    }
    let mut titles: Vec<String> = find(ctx, store)?
        .lost
        .iter()
        .map(|lost| names::title(&lost.name))
        .collect();
    titles.sort();
    titles.dedup();
    Ok(titles)
}

/// Clears it away, and says so. Costs one look at a file, mostly. The caller holds the lock alone, and no journal is left.
pub(super) fn clear(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    if !store.is_another_boot()? {
        return Ok(Vec::new());
    }
    // Not every process of the boot before left a mark that reached the disk.
    super::leftovers::remove(ctx, store)?;
    let torn = store.objects.torn_since(store.on_disk_until()?);
    for oid in &torn {
        store.objects.set_aside(*oid, &store.common(ASIDE))?;
    }
    store.objects.refresh();
    let mut said = Vec::new();
    let mut records: BTreeMap<Record, Vec<Lost>> = BTreeMap::new();
    let found = find(ctx, store)?;
    for lost in found.lost {
        match record_of(&lost.name) {
            Some(record) => records.entry(record).or_default().push(lost),
            None => said.push(take_away(ctx, store, &lost)?),
        }
    }
    for (record, lost) in records {
        said.push(set_back(ctx, store, &record, &lost)?);
    }
    if let Some((name, error)) = found.unseen {
        said.push(format!(
            "the machine was started anew, and {} could not be looked at: {}; the next command looks again",
            names::title(&name),
            error.message()
        ));
        return Ok(said);
    }
    store.objects.wait_for_disk(&store.common("synced"))?;
    store.note_boot()?;
    Ok(said)
}

fn record_of(name: &str) -> Option<Record> {
    Record::parse_record_ref(name).or_else(|| Record::parse_note_ref(name))
}

/// What a look at all that is young found.
#[derive(Debug, Default)]
struct LostRefs {
    lost: Vec<Lost>,
    /// The first ref of which nobody can say, because something could not be read. What is not looked at is not lost.
    unseen: Option<(String, Error)>,
}

/// Where an object may be missing without being lost, nothing is.
fn find(ctx: &Context<'_>, store: &Store) -> Result<LostRefs> {
    let mut found = LostRefs::default();
    if ctx.repo.is_partial_clone() || !store.objects.has_all_alternates() {
        return Ok(found);
    }
    let since = store.on_disk_until()?;
    let mut whole = Whole::new(store);
    for prefix in [names::SNAPSHOTS, names::RECORDS, names::NOTES] {
        for (name, read) in store.refs.read_all(prefix)? {
            let commit = match read {
                Ok(commit) => Some(commit),
                Err(error) if error.code() == Code::CorruptRecord => None,
                Err(error) => return Err(error),
            };
            if !is_young(store, &name, commit, since) {
                continue;
            }
            let is_whole = match commit {
                None => Ok(false),
                Some(oid) if prefix == names::SNAPSHOTS => whole.snapshot(oid),
                Some(oid) => whole.record(oid),
            };
            match is_whole {
                Ok(true) => {}
                Ok(false) => found.lost.push(Lost { name, commit }),
                // It is as it was written, and only nothing that we would read: no power cut does that.
                Err(error) if error.code() == Code::CorruptRecord => {}
                Err(error) => found.unseen = found.unseen.or(Some((name, error))),
            }
        }
    }
    Ok(found)
}

/// Whether a ref may be younger than what is known to be on disk, by its commit's time or its own.
fn is_young(store: &Store, name: &str, commit: Option<Oid>, since: i64) -> bool {
    const NANOS: i64 = 1_000_000_000;
    let made = commit.and_then(|oid| store.commit(oid).ok());
    let times = [made.map(|raw| raw.author_time), store.refs.written_at(name)];
    times
        .into_iter()
        .max()
        .flatten()
        // Whole seconds are rounded down: one more, so that nothing passes for older than it is.
        .is_some_and(|seconds| seconds.saturating_add(1) >= since / NANOS)
}

fn take_away(ctx: &Context<'_>, store: &Store, lost: &Lost) -> Result<String> {
    remove(ctx, store, lost)?;
    Ok(format!(
        "power was lost before {} was on disk: it is lost, and its ref is gone",
        names::title(&lost.name)
    ))
}

fn remove(ctx: &Context<'_>, store: &Store, lost: &Lost) -> Result<()> {
    // Noted first: after a death in between the log names a ref that stands, and never misses one that is gone.
    note(ctx, store, lost, None)?;
    let mut edit = store.refs.transaction();
    edit.durable();
    edit.delete(&lost.name, lost.commit);
    Ok(edit.commit()?)
}

/// Notes that a ref went, or names this older commit now.
fn note(ctx: &Context<'_>, store: &Store, lost: &Lost, now: Option<Oid>) -> Result<()> {
    let id = names::parse_snapshot_ref(&lost.name)
        .map_or_else(|| names::title(&lost.name), |id| id.to_string());
    let was = lost.commit.map(|oid| oid.to_string());
    let event = RefEvent {
        at: ctx.env.now().rfc3339(),
        event: now.map_or(RefFate::Lost, |_| RefFate::SetBack),
        reference: lost.name.clone(),
        commit: now.map_or_else(|| was.clone().unwrap_or_default(), |oid| oid.to_string()),
        old_commit: now.and(was),
        id,
    };
    event_log::append(&store.dir, &[event])
}

/// A record goes back to the newest commit of it that is whole. Where there is none, it is gone. Refs that can be read change in
/// one transaction: a kill before it leaves them as they were found, for the next command.
fn set_back(ctx: &Context<'_>, store: &Store, record: &Record, lost: &[Lost]) -> Result<String> {
    let names: Vec<String> = [Some(record.record_ref()), record.note_ref()]
        .into_iter()
        .flatten()
        .collect();
    let lost_of = |name: &String| lost.iter().find(|one| one.name == *name);
    // When one of the two refs is whole, the next reader makes the other of it.
    let stands = names
        .iter()
        .any(|name| lost_of(name).is_none() && matches!(store.refs.read(name), Ok(Some(_))));
    let before = if stands {
        None
    } else {
        newest_whole(ctx, store, record)?
    };
    for one in lost {
        note(ctx, store, one, before)?;
    }
    let mut edit = store.refs.transaction();
    edit.durable();
    for name in &names {
        match (lost_of(name).map(|one| one.commit), before) {
            (Some(Some(now)), Some(before)) => edit.update(name, before, now),
            (Some(now), _) => edit.delete(name, now),
            (None, Some(before)) => edit.create(name, before),
            (None, None) => {}
        }
    }
    edit.commit()?;
    // A ref whose own bytes are gone can be removed, but not compared with what it was: it is made anew.
    if let Some(before) = before {
        let mut edit = store.refs.transaction();
        edit.durable();
        for one in lost.iter().filter(|one| one.commit.is_none()) {
            edit.create(&one.name, before);
        }
        edit.commit()?;
    }
    let what = if stands || before.is_some() {
        "it is as it was before that"
    } else {
        "it is lost, and its refs are gone"
    };
    Ok(format!(
        "power was lost before {record} was on disk: {what}"
    ))
}

/// The newest commit of a record that is whole, among all there are: nothing names those before the last one.
fn newest_whole(ctx: &Context<'_>, store: &Store, record: &Record) -> Result<Option<Oid>> {
    let name = record.record_ref();
    let word = name.rsplit('/').next().unwrap_or_default();
    let mut best: Option<(i64, Oid)> = None;
    for oid in all_commits(ctx, store)? {
        let raw = match store.commit(oid) {
            Err(error) if error.code() == Code::CorruptRecord => continue,
            read => read?,
        };
        let younger = best.is_none_or(|(time, best)| {
            raw.author_time > time || raw.author_time == time && raw.parents.contains(&best)
        });
        let is_its = String::from_utf8_lossy(&raw.message).contains(word);
        if younger && is_its && is_whole_record(store, record, oid)? {
            best = Some((raw.author_time, oid));
        }
    }
    Ok(best.map(|(_, oid)| oid))
}

/// Every commit that there is, reachable or not; in a private repository, whose user need not have git, each of them is looked at.
/// git names a damaged object and goes on: one that fails has not named all, and who is not named here is deleted.
fn all_commits(ctx: &Context<'_>, store: &Store) -> Result<Vec<Oid>> {
    if ctx.repo.is_private() {
        let found = store.objects.all_ids()?;
        let mut commits = Vec::new();
        for oid in found {
            // A damaged one is none; one that cannot be read could be the newest.
            match store.objects.header(oid) {
                Ok(Some((ObjectKind::Commit, _))) => commits.push(oid),
                Err(error) if error.code() != Code::CorruptRecord => return Err(error),
                _ => {}
            }
        }
        return Ok(commits);
    }
    let kind = [
        "--batch-all-objects",
        // In the order of the packs: git need not sort all ids first.
        "--unordered",
        "--batch-check=%(objecttype) %(objectname)",
    ];
    let listed = Git::new(&ctx.repo).arg("cat-file").args(kind).run()?;
    let listed = String::from_utf8_lossy(&listed);
    let commits = listed
        .lines()
        .filter_map(|line| line.strip_prefix(ObjectKind::Commit.name()));
    Ok(commits
        .filter_map(|oid| Oid::from_hex(oid.trim()).ok())
        .collect())
}

fn is_whole_record(store: &Store, record: &Record, oid: Oid) -> Result<bool> {
    let look = || -> Result<bool> {
        if notes_at(&store.objects, oid)?.is_empty() || !Whole::new(store).record(oid)? {
            return Ok(false);
        }
        match store.record_in_history(record, oid) {
            Err(error) if error.code() == Code::NewerRecord => Ok(true),
            read => read.map(|_| true),
        }
    };
    match look() {
        Err(error) if error.code() == Code::CorruptRecord => Ok(false),
        looked => looked,
    }
}
