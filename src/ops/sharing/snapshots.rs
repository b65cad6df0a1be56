//! Snapshots that were named, as commits without a parent of the user's, in one chain under a ref of their own.
//!
//! Such a commit has the snapshot's tree and, in its message, what of its record is shared; its parent is the one that was sent before it.
//! Index, operation, labels, paths of this machine and the long lists beyond what the record shows stay here. Files are looked through for secrets
//! like everything else. What comes becomes a snapshot of another repository: listed, shown and travelled to like one, with the HEAD that it had
//! where that commit is here. A snapshot that is here is never touched by what comes, and a tree that would unfold into more paths than
//! anybody has is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::exchange::{TRIES, fetch_ref, not_taken, others_first, pause, push_ref};
use super::filters::{self, Filters};
use super::others::wrong;
use super::own::Own;
use super::scan::Finding;
use super::setup::{Prompts, Setup};
use super::{Change, Changed, Refused, Subject};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::git::fs::Root;
use crate::git::network::{Pushed, Refusal};
use crate::git::objects::{NewObjects, ObjectKind, ObjectStore};
use crate::git::path::display;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::address::resolve;
use crate::redact::redacted_bytes;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names::{
    RecordKind, SHARED_SNAPSHOTS_OUTGOING, SHARED_SNAPSHOTS_SEEN, SHARED_SNAPSHOTS_TAKEN,
    snapshot_ref,
};
use crate::store::snapshot::{FIXED_TIME, HeadRecord, SnapshotRecord, author_time, encode_commit};
use crate::store::trigger::Trigger;

/// A larger commit of a chain is refused.
const LARGEST_COMMIT: u64 = 4 << 20;
/// No more of a chain is looked at.
const LONGEST_CHAIN: usize = 20_000;
/// More paths than these no snapshot has that comes.
const MOST_PATHS: u64 = 1_000_000;
/// Directories deeper than these are refused.
const DEEPEST: usize = 128;
/// A larger file is not looked through, and has to be allowed by name.
const LARGEST_SCANNED: u64 = 64 << 20;
/// Where snapshots of others are said to have been taken.
const ELSEWHERE: &str = "(shared)";
/// Who is said to have sent a snapshot, in its record.
const SHARED_BY: &str = "claimed_by";

/// A snapshot that is to go.
pub struct Going {
    /// Its id.
    pub id: SnapshotId,
    tree: Oid,
    title: String,
    record: SnapshotRecord,
}

impl Going {
    fn finding(&self, field: &str, rule: &str, fingerprint: &str) -> Finding {
        Finding {
            kind: Subject::Snapshot,
            id: self.id.to_string(),
            field: field.to_owned(),
            rule: rule.to_owned(),
            length: None,
            fingerprint: fingerprint.to_owned(),
        }
    }
}

/// The snapshots that these addresses name, as they are shared.
///
/// # Errors
/// Those of addresses; `USAGE` for a backup: the present of this working tree is nobody else's.
pub fn named(
    ctx: &Context<'_>,
    store: &Store,
    setup: &Setup,
    own: &Own,
    addresses: &[String],
) -> Result<Vec<Going>> {
    let mut going: Vec<Going> = Vec::new();
    for address in addresses {
        let stored = resolve(ctx, store, address)?;
        if stored.id.kind() == IdKind::Backup {
            let message = format!(
                "'{}' is a backup of a present, which is not shared",
                stored.id
            );
            return Err(Error::new(Code::Usage, message).hint("snapshots and experiments are"));
        }
        if going.iter().any(|known| known.id == stored.id) {
            continue;
        }
        let is_typed =
            stored.record.trigger == Trigger::Manual || setup.prompts == Prompts::Redacted;
        let mut record = shared_part(&stored.record);
        let name = own
            .author
            .name
            .clone()
            .unwrap_or_else(|| own.author.by.clone());
        record.extra.insert(SHARED_BY.to_owned(), name.into());
        going.push(Going {
            id: stored.id,
            tree: stored.tree,
            // Any other title may have come from a prompt.
            title: if is_typed {
                stored.title
            } else {
                stored.record.trigger.to_string()
            },
            record,
        });
    }
    Ok(going)
}

/// What of a record is shared; everything else is as in a new one.
fn shared_part(record: &SnapshotRecord) -> SnapshotRecord {
    SnapshotRecord {
        created_at: record.created_at.clone(),
        session_id: record.session_id.clone(),
        agent: record.agent.clone(),
        trigger: record.trigger.clone(),
        env_fingerprint: record.env_fingerprint.clone(),
        head: HeadRecord {
            oid: record.head.oid.clone(),
            unborn: record.head.unborn,
            ..HeadRecord::default()
        },
        modes: record.modes.clone(),
        default_modes: record.default_modes.clone(),
        empty_dirs: record.empty_dirs.clone(),
        stats: record.stats,
        uncaptured: record.uncaptured.clone(),
        worktree: ELSEWHERE.to_owned(),
        repository_id: "shared".to_owned(),
        taken_in: "present".to_owned(),
        ..SnapshotRecord::new(&record.snapshot_id, &record.kind)
    }
}

/// Secrets in the files, their paths and the records of what would go, and files that git has in another form.
///
/// # Errors
/// A snapshot cannot be read.
pub fn findings(
    ctx: &Context<'_>,
    store: &Store,
    going: &[Going],
    allowed: &[String],
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut looked_at: BTreeMap<Oid, Vec<(String, String)>> = BTreeMap::new();
    ctx.progress.begin("scanning", None);
    let root = Root::open(ctx.repo.worktree_root())?;
    for one in going {
        let mut filters = Filters::of(ctx, (&root, &store.objects), one.tree)?;
        let mut add = |field: &str, rule: &str, fingerprint: &str| {
            found.push(one.finding(field, rule, fingerprint));
        };
        let message = one.record.message(&one.title);
        for rule in ctx.redactor().text(&message).counts.into_keys() {
            add("its record", &rule, &fingerprint(&rule, message.as_bytes()));
        }
        let read = |oid| store.objects.read_tree(oid);
        for (path, node) in tree::flatten(&read, one.tree)? {
            ctx.progress.advance(1);
            let redacted = ctx.redactor().text(&display(&path));
            let field = redacted.text;
            for rule in redacted.counts.into_keys() {
                add("the name of a file", &rule, &fingerprint(&rule, &path));
            }
            if node.mode == tree::GITLINK_MODE {
                continue;
            }
            let filters = filters.as_mut().filter(|_| node.mode != tree::LINK_MODE);
            if let Some(driver) = filters.map_or(Ok(None), |filters| filters.driver(&path))? {
                // Of the filter: whoever knows what it does says it once for all of its files.
                let rule = format!("{}{driver}", filters::RULE);
                add(&field, &rule, &fingerprint(&rule, b""));
            }
            let known = match looked_at.get(&node.oid) {
                Some(known) => known.clone(),
                None => in_blob(ctx, &store.objects, node.oid)?,
            };
            for (rule, print) in &known {
                add(&field, rule, print);
            }
            looked_at.insert(node.oid, known);
        }
    }
    ctx.progress.end();
    found.retain(|finding| !allowed.contains(&finding.fingerprint));
    found.sort();
    found.dedup();
    Ok(found)
}

/// The rules that find something in a file, each with the fingerprint that says of this content that it is no secret.
fn in_blob(ctx: &Context<'_>, objects: &ObjectStore, oid: Oid) -> Result<Vec<(String, String)>> {
    let size = objects.header(oid)?.map_or(0, |(_, size)| size);
    let name = oid.to_string();
    if size > LARGEST_SCANNED {
        let rule = "too-large-to-look-through";
        return Ok(vec![(rule.to_owned(), fingerprint(rule, name.as_bytes()))]);
    }
    let (_, bytes) = objects.read(oid)?;
    let (_, counts) = redacted_bytes(&bytes, |text| ctx.redactor().text(text));
    let rules = counts.into_keys();
    Ok(rules
        .map(|rule| (rule.clone(), fingerprint(&rule, name.as_bytes())))
        .collect())
}

fn fingerprint(rule: &str, what: &[u8]) -> String {
    let digest = Sha256::new()
        .chain_update(rule)
        .chain_update("\n")
        .chain_update(what)
        .finalize();
    crate::git::hex::hex(digest.get(..6).unwrap_or_default())
}

/// One commit of a chain.
struct Link {
    /// The snapshot's id, or why it has none.
    id: Result<String>,
    commit: Oid,
}

/// The snapshots of a chain, the oldest first, down to `until`; an id that comes twice counts once.
fn chain(objects: &ObjectStore, tip: Oid, until: Option<Oid>) -> Result<Vec<Link>> {
    let mut found = Vec::new();
    let mut at = Some(tip);
    while let Some(commit) = at.filter(|commit| Some(*commit) != until) {
        if found.len() >= LONGEST_CHAIN {
            return Err(unusable("its chain of snapshots is too long"));
        }
        match objects.header(commit)? {
            Some((ObjectKind::Commit, size)) if size <= LARGEST_COMMIT => {}
            _ => {
                return Err(unusable(
                    "its chain of snapshots holds something else, or too large a commit",
                ));
            }
        }
        let raw = objects.commit(commit)?;
        let record = SnapshotRecord::from_message(&raw.message, "a shared snapshot");
        let id = record.map(|(_, record)| record.snapshot_id);
        found.push(Link { id, commit });
        at = raw.parents.first().copied();
    }
    found.reverse();
    let mut known = BTreeSet::new();
    found.retain(|link| match &link.id {
        Ok(id) => known.insert(id.clone()),
        Err(_) => true,
    });
    Ok(found)
}

fn unusable(why: &str) -> Error {
    let message = format!("what the remote shares cannot be used: {why}");
    Error::new(Code::CorruptRecord, message).hint("ask who may write to the remote")
}

fn fetch_chain(ctx: &Context<'_>, depot: &Depot, setup: &Setup) -> Result<Option<Oid>> {
    fetch_ref(
        ctx,
        depot,
        setup,
        setup.snapshots_ref(),
        SHARED_SNAPSHOTS_SEEN,
    )
}

/// What of it the remote does not have.
///
/// # Errors
/// Those of fetching; `CORRUPT_RECORD`.
pub fn missing<'a>(
    ctx: &Context<'_>,
    depot: &Depot,
    setup: &Setup,
    going: &'a [Going],
) -> Result<(Option<Oid>, Vec<&'a Going>)> {
    let tip = fetch_chain(ctx, depot, setup)?;
    let there: BTreeSet<String> = match tip {
        Some(tip) => chain(&depot.objects, tip, None)?
            .into_iter()
            .filter_map(|link| link.id.ok())
            .collect(),
        None => BTreeSet::new(),
    };
    let missing = going
        .iter()
        .filter(|one| !there.contains(&one.id.to_string()));
    Ok((tip, missing.collect()))
}

/// What went, as it is answered.
pub fn changed(going: &[&Going]) -> Vec<Changed> {
    let each = going.iter().map(|one| Changed {
        kind: Subject::Snapshot,
        id: one.id.to_string(),
        change: Change::Added,
        claimed_by: None,
    });
    each.collect()
}

/// Adds snapshots to the remote's chain. They have been looked through.
///
/// # Errors
/// As of pushing records.
pub fn push(
    ctx: &Context<'_>,
    store: &Store,
    depot: &Depot,
    setup: &Setup,
    going: &[Going],
) -> Result<Vec<Changed>> {
    let mut last: Option<(Option<Oid>, Refusal)> = None;
    for tries in 1..=TRIES {
        let (tip, missing) = missing(ctx, depot, setup, going)?;
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        if let Some((before, why)) = &last
            && *before == tip
            && !why.is_race()
        {
            return Err(not_taken(ctx, setup, setup.snapshots_ref(), why));
        }
        let trees: Vec<Oid> = missing.iter().map(|one| one.tree).collect();
        depot.take_from(&store.repo, &trees)?;
        let mut new = NewObjects::new(store.objects.format());
        let mut parent = tip;
        for one in &missing {
            let at = Moment::parse_rfc3339(&one.record.created_at).unwrap_or(Moment(0));
            let message = one.record.message(&one.title);
            let bytes = encode_commit(one.tree, parent.as_slice(), author_time(at), &message);
            parent = Some(new.put(ObjectKind::Commit, &bytes)?);
        }
        let Some(commit) = parent else { break };
        depot.set_refs(&new, &[(SHARED_SNAPSHOTS_OUTGOING, commit)])?;
        match push_ref(ctx, depot, setup, commit, setup.snapshots_ref())? {
            Pushed::Done => return Ok(changed(&missing)),
            Pushed::Refused(why) => last = Some((tip, why)),
        }
        if tries < TRIES {
            pause(tries)?;
        }
    }
    Err(others_first(setup))
}

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
    is_dry: bool,
) -> Result<Taken> {
    let mut done = Taken::default();
    let Some(tip) = fetch_chain(ctx, depot, setup)? else {
        return Ok(done);
    };
    let before = depot.refs.read(SHARED_SNAPSHOTS_TAKEN)?;
    let mut until = before;
    let mut is_newer = false;
    let mut links = needed_again(store, depot, before)?;
    let known = links.len();
    links.extend(chain(&depot.objects, tip, before)?);
    for (nth, Link { id, commit }) in links.into_iter().enumerate() {
        let taken = id.and_then(|id| take(store, depot, &id, commit, is_dry));
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
                path: format!("snapshot {commit}"),
                reason: error.message().to_owned(),
            }),
        }
    }
    if let Some(until) = until.filter(|_| !is_dry) {
        let none = NewObjects::new(store.objects.format());
        depot.set_refs(&none, &[(SHARED_SNAPSHOTS_TAKEN, until)])?;
    }
    Ok(done)
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

/// The HEAD that a snapshot had, where that commit is here.
fn head_here(store: &Store, theirs: &HeadRecord) -> Option<Oid> {
    let oid = theirs.oid.as_deref();
    let head = oid.and_then(|oid| Oid::from_hex(oid).ok());
    head.filter(|oid| !theirs.unborn && store.objects.is_commit(*oid))
}

/// A snapshot of others that becomes one of ours.
struct NewSnapshot<'a> {
    id: &'a SnapshotId,
    tree: Oid,
    /// Where that commit is here.
    head: Option<Oid>,
    record: &'a SnapshotRecord,
    title: &'a str,
}

impl NewSnapshot<'_> {
    /// Takes its files out of the depot, and makes its commits and its ref.
    fn put(&self, store: &Store, depot: &Depot) -> Result<()> {
        let (record, head) = (self.record, self.head);
        // Nobody shares an index: it is taken to be as HEAD was.
        let index = match head {
            Some(head) => store.objects.commit(head)?.tree,
            None => self.tree,
        };
        depot.give_to(&store.repo, &[self.tree])?;
        store.objects.refresh();
        let mut new = NewObjects::new(store.objects.format());
        let index = encode_commit(index, head.as_slice(), FIXED_TIME, "index\n");
        let index = new.put(ObjectKind::Commit, &index)?;
        let parents: Vec<Oid> = head.into_iter().chain([index]).collect();
        let at = Moment::parse_rfc3339(&record.created_at);
        let time = author_time(at.ok_or_else(|| wrong("it has no time"))?);
        let bytes = encode_commit(self.tree, &parents, time, &record.message(self.title));
        let made = new.put(ObjectKind::Commit, &bytes)?;
        let mut transaction = store.refs.transaction();
        transaction.create(&snapshot_ref(self.id), made);
        transaction.commit_with(&store.objects, &new)?;
        Ok(())
    }
}

/// Makes a snapshot of ours of one of a chain. None: it is here.
fn take(
    store: &Store,
    depot: &Depot,
    id: &str,
    commit: Oid,
    is_dry: bool,
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
    count_paths(&depot.objects, raw.tree, 0, &mut BTreeMap::new())?;
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
    if is_dry {
        return Ok(Some(taken));
    }
    let head = head_here(store, &theirs.head);
    record.head = HeadRecord {
        oid: head.map(|oid| oid.to_string()),
        detached: head.is_some(),
        unborn: head.is_none(),
        ..HeadRecord::default()
    };
    record.seq = store.next_seq()?;
    let mut shown = title;
    if let Some(name) = &claimed {
        record
            .extra
            .insert(SHARED_BY.to_owned(), name.clone().into());
        shown = format!("{shown} (claimed by {name})");
    }
    let new = NewSnapshot {
        id: &parsed,
        tree: raw.tree,
        head,
        record: &record,
        title: &shown,
    };
    new.put(store, depot)?;
    Ok(Some(taken))
}

/// How many paths a tree unfolds into: one of a few objects may have more than fit anywhere.
fn count_paths(
    objects: &ObjectStore,
    at: Oid,
    depth: usize,
    known: &mut BTreeMap<Oid, u64>,
) -> Result<u64> {
    if let Some(count) = known.get(&at) {
        return Ok(*count);
    }
    if depth > DEEPEST {
        return Err(wrong("its directories are too deep"));
    }
    let mut count = 1u64;
    for entry in tree::parse(&objects.read_tree(at)?, at.format())? {
        count = count.saturating_add(if entry.node.is_dir() {
            count_paths(objects, entry.node.oid, depth + 1, known)?
        } else {
            1
        });
        if count > MOST_PATHS {
            return Err(wrong("it has too many paths"));
        }
    }
    known.insert(at, count);
    Ok(count)
}
