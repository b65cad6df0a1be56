//! Snapshots that were named, as commits without a parent of the user's, in one chain under a ref of their own.
//!
//! Such a commit has the snapshot's tree and, in its message, what of its record is shared; its parent is the one that was sent before it.
//! Index, operation, labels, paths of this machine and the long lists beyond what the record shows stay here. Files are looked through for secrets
//! like everything else. What no pull would take does not go: a tree that unfolds into more paths than anybody has, or too much at once. What
//! comes becomes a snapshot of another repository ([`super::incoming`]): listed, shown and travelled to like one, with the HEAD that it had where
//! that commit is here. A snapshot that is here is never touched by what comes.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::exchange::{TRIES, fetch_ref, line, not_taken, others_first, pause, push_ref};
use super::filters::{self, Filters};
use super::others::wrong;
use super::own::Own;
use super::scan::Finding;
use super::setup::{Prompts, Setup};
use super::{Change, Changed, Subject, bits};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::git::fs::Root;
use crate::git::network::{Check, Place, Pushed, Refusal, most_at_once};
use crate::git::objects::{NewObjects, ObjectKind, ObjectStore, TakenObjects};
use crate::git::path::display;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::address::resolve;
use crate::redact::redacted_bytes;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names::{SHARED_SNAPSHOTS_OUTGOING, SHARED_SNAPSHOTS_SEEN};
use crate::store::snapshot::{HeadRecord, SnapshotRecord, TakenIn, author_time, encode_commit};
use crate::store::trigger::Trigger;
use crate::text::size;

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
pub(super) const SHARED_BY: &str = "claimed_by";

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
/// Those of addresses; `USAGE` for a backup, since the present of this working tree is nobody else's, and for what no pull takes.
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
        bits::put_whole(store, &stored, &mut record)?;
        let name = own
            .author
            .name
            .clone()
            .unwrap_or_else(|| own.author.by.clone());
        record.extra.insert(SHARED_BY.to_owned(), name.into());
        // Any other title may have come from a prompt.
        let title = if is_typed {
            stored.title
        } else {
            stored.record.trigger.to_string()
        };
        // Nobody could take it, and it would stay in the chain.
        check_files(&store.objects, stored.tree).map_err(|error| match error.code() {
            Code::CorruptRecord => cannot_go(&stored.id, error.message()),
            _ => error,
        })?;
        check_record(&stored.id, &record, &title)?;
        going.push(Going {
            id: stored.id,
            tree: stored.tree,
            title,
            record,
        });
    }
    Ok(going)
}

/// What of a record is shared; everything else is as in a new one.
pub(super) fn shared_part(record: &SnapshotRecord) -> SnapshotRecord {
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
        taken_in: TakenIn::Present,
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
        let head = one.record.head.oid.as_deref();
        let head = head.and_then(|head| Oid::from_hex(head).ok());
        let mut filters = Filters::of(ctx, (&root, &store.objects), (one.tree, head))?;
        let mut add = |field: &str, rule: &str, fingerprint: &str| {
            found.push(one.finding(field, rule, fingerprint));
        };
        let message = one.record.message(&one.title);
        for rule in ctx.redactor().text(&message).counts.into_keys() {
            add("its record", &rule, &fingerprint(&rule, message.as_bytes()));
        }
        for (path, node) in tree::flatten(&store.objects, one.tree)? {
            ctx.progress.advance(1);
            let redacted = ctx.redactor().text(&display(&path));
            let field = redacted.text;
            for rule in redacted.counts.into_keys() {
                add("the name of a file", &rule, &fingerprint(&rule, &path));
            }
            if node.mode == tree::GITLINK_MODE {
                continue;
            }
            if node.mode != tree::LINK_MODE
                && let Some(driver) = filters.driver(&path, node.oid)?
            {
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
pub(super) struct Link {
    /// The snapshot's id, or why it has none.
    pub id: Result<String>,
    /// The commit.
    pub commit: Oid,
}

/// The snapshots of a chain, the oldest first, down to `until`; an id that comes twice counts once.
pub(super) fn chain(objects: &ObjectStore, tip: Oid, until: Option<Oid>) -> Result<Vec<Link>> {
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

pub(super) fn fetch_chain(
    ctx: &Context<'_>,
    depot: &Depot,
    setup: &Setup,
    place: Place,
) -> Result<Option<Oid>> {
    fetch_ref(
        ctx,
        line(ctx, depot, setup, place),
        (setup.snapshots_ref(), SHARED_SNAPSHOTS_SEEN),
        // Each of them is looked at when it is taken: one that is not well formed must not keep the others away.
        Check::Nothing,
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
    let tip = fetch_chain(ctx, depot, setup, Place::Pushed)?;
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

/// The error of files that no pull takes, in plain words.
fn too_much(error: Error) -> Error {
    if error.code() != Code::Usage {
        return error;
    }
    let message = format!(
        "the files that these snapshots add are too large: {}, which no 'tw pull' takes",
        error.message()
    );
    Error::new(Code::Usage, message)
        .hint("no snapshot was sent; files that 'exclude' leaves out of a snapshot do not go along")
}

/// Adds snapshots to the remote's chain. They have been looked through.
///
/// # Errors
/// As of pushing records; `USAGE` when they are more than a pull takes.
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
        let trees = missing.iter().map(|one| (ObjectKind::Tree, one.tree));
        let mut new = NewObjects::new(store.objects.format());
        let mut parent = tip;
        for one in &missing {
            let at = Moment::parse_rfc3339(&one.record.created_at).unwrap_or(Moment(0));
            let message = one.record.message(&one.title);
            let bytes = encode_commit(one.tree, parent.as_slice(), author_time(at), &message);
            parent = Some(new.put(ObjectKind::Commit, &bytes)?);
        }
        let Some(commit) = parent else { break };
        let outgoing = TakenObjects {
            from: &store.objects,
            roots: &trees.collect::<Vec<_>>(),
            new: &new,
            beside: None,
            most: Some(most_at_once(&store.repo)),
        };
        let set = depot.set_refs(&outgoing, &[(SHARED_SNAPSHOTS_OUTGOING, commit)]);
        set.map_err(too_much)?;
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

/// Looks whether a commit with this record would be read.
fn check_record(id: &SnapshotId, record: &SnapshotRecord, title: &str) -> Result<()> {
    // What else stands in a commit is short.
    if record.message(title).len() as u64 + 1024 <= LARGEST_COMMIT {
        return Ok(());
    }
    let why = format!(
        "its record, which names {} paths that have other permission bits than most and {} empty directories, is larger than the {} of which a pull \
         takes one",
        record.modes.len(),
        record.empty_dirs.len(),
        size(LARGEST_COMMIT)
    );
    Err(cannot_go(id, &why)
        .hint("give more of the files the same bits with 'chmod', or leave some out with 'exclude'; then share a new snapshot"))
}

fn cannot_go(id: &SnapshotId, why: &str) -> Error {
    Error::new(Code::Usage, format!("'{id}' cannot be shared: {why}"))
}

/// Looks whether files could be taken by a pull.
///
/// # Errors
/// `CORRUPT_RECORD` when git would not make such trees, or they lead to nothing or to more paths than are taken.
pub(super) fn check_files(objects: &ObjectStore, tree: Oid) -> Result<()> {
    count_paths(objects, tree, 0, &mut BTreeMap::new()).map(drop)
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
    let bytes = objects.read_tree(at)?;
    let entries = tree::parse(&bytes, at.format())?;
    let mut count = 1u64;
    for entry in &entries {
        if entry.node.oid.is_null() {
            return Err(wrong("it has a file that leads to nothing"));
        }
        count = count.saturating_add(if entry.node.is_dir() {
            count_paths(objects, entry.node.oid, depth + 1, known)?
        } else {
            1
        });
        if count > MOST_PATHS {
            return Err(wrong("it has too many paths"));
        }
    }
    if let Some(mode) = tree::odd_mode(&bytes, at.format()) {
        return Err(wrong(match mode {
            [b'0', ..] => "a mode in it begins with a zero",
            _ => "it has a mode that git does not write",
        }));
    }
    known.insert(at, count);
    Ok(count)
}
