//! Snapshots of others that become ours, out of the chain that was fetched.
//!
//! Each is looked at before anything of it is taken: ids, names, modes and sizes are those that a snapshot of ours could have, or it is refused by
//! name and hides no other. Content is not judged: nothing of it is read as a setting of git's before somebody travels there, as with any file.
//! Objects and refs are made in the order in which no gc comes between (`git::refs`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::others::wrong;
use super::setup::Setup;
use super::snapshots::{Link, SHARED_BY, chain, check_files, fetch_chain, shared_part};
use super::{Change, Changed, Refused, Subject};
use crate::env::Moment;
use crate::error::{Code, Result};
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::git::network::Place;
use crate::git::objects::{NewObjects, ObjectKind, TakenObjects};
use crate::git::refs::TransactionError;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::request::DryRun;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names::{RecordKind, SHARED_SNAPSHOTS_TAKEN, snapshot_ref};
use crate::store::snapshot::{HeadRecord, SnapshotRecord, author_time, encode_commit, encode_part};

/// What a pull of snapshots did.
#[derive(Debug, Default)]
pub struct Taken {
    /// What is here now.
    pub taken: Vec<Changed>,
    /// What was not taken.
    pub refused: Vec<Refused>,
}

/// Takes in the snapshots that were added to the remote's chain since the last time, and of those before them what an issue here needs: anything
/// else that was let go here does not come again. From the first that a newer `tw` wrote they are looked at again the next time: that may be a
/// newer one.
///
/// # Errors
/// Those of fetching; `CORRUPT_RECORD` when it is no such chain; our refs cannot be written.
pub fn pull(
    ctx: &Context<'_>,
    store: &Store,
    depot: &Depot,
    setup: &Setup,
    dry_run: DryRun,
) -> Result<Taken> {
    let mut done = Taken::default();
    let Some(tip) = fetch_chain(ctx, depot, setup, Place::Fetched)? else {
        return Ok(done);
    };
    let before = depot.refs.read(SHARED_SNAPSHOTS_TAKEN)?;
    let mut until = before;
    let mut is_newer = false;
    let mut links = needed_again(store, depot, before)?;
    let known = links.len();
    links.extend(chain(&depot.objects, tip, before)?);
    for (nth, Link { id, commit }) in links.into_iter().enumerate() {
        let named = id.as_ref().ok().and_then(|id| SnapshotId::parse(id));
        let path = named.map_or_else(
            || format!("snapshot {commit}"),
            |id| format!("snapshot {id}"),
        );
        let taken = id.and_then(|id| take(store, depot, &id, commit, dry_run));
        if nth >= known {
            is_newer |= matches!(&taken, Err(error) if error.code() == Code::NewerRecord);
        }
        if nth >= known && !is_newer {
            until = Some(commit);
        }
        match taken {
            Ok(Some(taken)) => done.taken.push(taken),
            Ok(None) => {}
            Err(error) if matches!(error.code(), Code::Io | Code::NoSpace | Code::Busy) => {
                return Err(error);
            }
            Err(error) => done.refused.push(Refused {
                path,
                reason: error.message().to_owned(),
            }),
        }
    }
    if let Some(until) = until.filter(|_| dry_run == DryRun::No) {
        // What was taken does not come again, and so has to be on disk before that is noted.
        wait_for(store, &done.taken)?;
        let none = NewObjects::new(store.objects.format());
        depot.set_refs(&none, &[(SHARED_SNAPSHOTS_TAKEN, until)])?;
    }
    Ok(done)
}

/// Waits until what was taken is on disk.
fn wait_for(store: &Store, taken: &[Changed]) -> Result<()> {
    if taken.is_empty() {
        return Ok(());
    }
    store.wait_for_objects()?;
    let ids = taken.iter().filter_map(|one| SnapshotId::parse(&one.id));
    for id in ids {
        store.refs.sync(&snapshot_ref(&id))?;
    }
    Ok(())
}

/// Of the chain up to what was taken in last, the snapshots that an issue names and that are not here.
fn needed_again(store: &Store, depot: &Depot, taken: Option<Oid>) -> Result<Vec<Link>> {
    let mut needed = BTreeSet::new();
    for (_, held) in store.records(RecordKind::Issues)?.records {
        let named = held
            .notes
            .iter()
            .filter_map(|note| note.json.get("snapshot_id")?.as_str());
        for id in named.filter_map(SnapshotId::parse) {
            if store.refs.read(&snapshot_ref(&id))?.is_none() {
                needed.insert(id.to_string());
            }
        }
    }
    let Some(taken) = taken.filter(|_| !needed.is_empty()) else {
        return Ok(Vec::new());
    };
    // One of which too much is wrong gives nothing; what came since is looked at all the same.
    let mut links = chain(&depot.objects, taken, None).unwrap_or_default();
    links.retain(|link| link.id.as_ref().is_ok_and(|id| needed.contains(id)));
    Ok(links)
}

/// The HEAD that a snapshot had, where that commit is here with all that hangs on it: a ref to anything less would make every later gc fail.
fn head_here(store: &Store, theirs: &HeadRecord, name: &str) -> Result<Option<Oid>> {
    let oid = theirs.oid.as_deref();
    let head = oid.and_then(|oid| Oid::from_hex(oid).ok());
    let Some(head) = head.filter(|oid| !theirs.unborn && store.objects.is_commit(*oid)) else {
        return Ok(None);
    };
    let stays = store.repo.will_stay(&store.objects, head, name)?;
    Ok(stays.then_some(head))
}

/// A snapshot of others that becomes one of ours.
struct NewSnapshot<'a> {
    id: &'a SnapshotId,
    tree: Oid,
    record: SnapshotRecord,
    title: &'a str,
}

impl NewSnapshot<'_> {
    /// Takes its files out of the depot, and makes its commits and its ref. `head` is a commit of ours that nothing else may hold: after the
    /// ref is in place it is looked at once more, and where it will not stay the snapshot is made without.
    fn put(&mut self, store: &Store, depot: &Depot, head: Option<Oid>) -> Result<()> {
        let name = snapshot_ref(self.id);
        let made = self.make(store, depot, &name, head)?;
        let Some(head) = head else { return Ok(()) };
        let stays = store.repo.will_stay(&store.objects, head, &name);
        if matches!(stays, Ok(true)) {
            return Ok(());
        }
        let mut back = store.refs.transaction();
        back.delete(&name, Some(made));
        back.commit()?;
        stays?;
        self.make(store, depot, &name, None).map(drop)
    }

    fn make(&mut self, store: &Store, depot: &Depot, name: &str, head: Option<Oid>) -> Result<Oid> {
        self.record.head = HeadRecord {
            oid: head.map(|oid| oid.to_string()),
            detached: head.is_some(),
            unborn: head.is_none(),
            ..HeadRecord::default()
        };
        // Nobody shares an index: it is taken to be as HEAD was, where a tree of ours may be like that.
        let head_commit = head.map(|head| store.objects.commit(head)).transpose()?;
        let is_fit = |tree: &Oid| tree::diff(&store.objects, None, Some(*tree)).is_ok();
        let index = head_commit.map(|commit| commit.tree).filter(is_fit);
        let index = index.unwrap_or(self.tree);
        let mut new = NewObjects::new(store.objects.format());
        let repository_id = store.ensure_repository_id()?;
        let index = encode_part("index", &repository_id, index, head.as_slice());
        let index = new.put(ObjectKind::Commit, &index)?;
        let parents: Vec<Oid> = head.into_iter().chain([index]).collect();
        let at = Moment::parse_rfc3339(&self.record.created_at);
        let time = author_time(at.ok_or_else(|| wrong("it has no time"))?);
        let bytes = encode_commit(self.tree, &parents, time, &self.record.message(self.title));
        let made = new.put(ObjectKind::Commit, &bytes)?;
        let mut transaction = store.refs.transaction();
        transaction.create(name, made);
        let taken = TakenObjects {
            from: &depot.objects,
            roots: &[(ObjectKind::Tree, self.tree)],
            new: &new,
            beside: head,
            most: None,
        };
        let done = transaction.commit_with(&store.objects, &taken);
        done.map_err(TransactionError::of_objects)?;
        Ok(made)
    }
}

/// Makes a snapshot of ours of one of a chain. None: it is here.
fn take(
    store: &Store,
    depot: &Depot,
    id: &str,
    commit: Oid,
    dry_run: DryRun,
) -> Result<Option<Changed>> {
    let parsed = SnapshotId::parse(id).filter(|parsed| parsed.kind() != IdKind::Backup);
    let parsed = parsed.ok_or_else(|| wrong("it has no id of a snapshot"))?;
    if store.refs.read(&snapshot_ref(&parsed))?.is_some() {
        return Ok(None);
    }
    let raw = depot.objects.commit(commit)?;
    let (title, theirs) = SnapshotRecord::from_message(&raw.message, id)?;
    if theirs.kind != parsed.kind().word() {
        return Err(wrong("its id is of another kind"));
    }
    check_files(&depot.objects, raw.tree)?;
    let mut record = shared_part(&theirs);
    // Lists that would be read from elsewhere are not shared.
    record.lists(&|_| Err(wrong("a list of it is missing")))?;
    let claimed = theirs.extra.get(SHARED_BY).and_then(Value::as_str);
    let claimed: Option<String> = claimed.map(|name| name.chars().take(50).collect());
    let taken = Changed {
        kind: Subject::Snapshot,
        id: id.to_owned(),
        change: Change::Added,
        claimed_by: claimed.clone(),
    };
    if dry_run == DryRun::Yes {
        return Ok(Some(taken));
    }
    let head = head_here(store, &theirs.head, &snapshot_ref(&parsed))?;
    record.seq = store.next_seq()?;
    let mut shown = title;
    if let Some(name) = &claimed {
        record
            .extra
            .insert(SHARED_BY.to_owned(), name.clone().into());
        shown = format!("{shown} (claimed by {name})");
    }
    let mut new = NewSnapshot {
        id: &parsed,
        tree: raw.tree,
        record,
        title: &shown,
    };
    new.put(store, depot, head)?;
    Ok(Some(taken))
}
