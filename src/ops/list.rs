//! Lists of snapshots, backups and experiments, for people and programs.
//!
//! A short list reads the commits it shows, so that it costs the same however many are kept. A long one asks
//! `store::summary`, which has not read most of them since last time. Both say the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::history::{Here, in_order};
use super::outcome::{Invalid, Listed};
use super::sharing::experiments::{SharedExperiment, left_by_others};
use super::timeline::{Filter, Timeline};
use crate::error::Result;
use crate::git::Oid;
use crate::store::Store;
use crate::store::id::{IdKind, ShortNames, SnapshotId};
use crate::store::summary::Summary;

/// Which kinds to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListKind {
    /// Snapshots.
    #[default]
    Snapshot,
    /// Backups made by swaps.
    Backup,
    /// Experiments left by `return`.
    Experiment,
    /// All three.
    All,
}

/// List snapshots.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// At most this many.
    pub limit: Option<usize>,
    /// The kinds of snapshots.
    pub kind: ListKind,
    /// Those of other worktrees too, and those taken in the past.
    pub all_worktrees: bool,
    /// What else is asked of them; its limit and its worktrees do not count.
    pub filter: Filter,
}

/// Answer of `list`: newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listing {
    /// What was asked for, newest first.
    pub snapshots: Vec<Listed>,
    /// Experiments that others shared ('tw pull') and that are not here, newest first: where experiments are asked for, and no filter is given. `-n`
    /// counts them behind ours.
    pub shared: Vec<SharedExperiment>,
    /// For each entry, the length of the shortest part of its random tail that names it.
    #[serde(skip)]
    pub unique_tail: Vec<usize>,
    /// How many there are in all, whatever was asked for.
    pub total: usize,
    /// Whether a filter left some out.
    #[serde(skip)]
    pub chosen: bool,
    /// Records that cannot be read. They hide nothing.
    pub invalid: Vec<Invalid>,
}

/// Up to this many are read one by one.
const SHORT: usize = 100;

/// Lists snapshots, newest first.
///
/// # Errors
/// None for a record that cannot be read: it is listed as invalid and hides no other.
pub fn list(ctx: &Context<'_>, request: &List) -> Result<Listing> {
    let store = ctx.store()?;
    let kinds: &[IdKind] = match request.kind {
        ListKind::Snapshot => &[IdKind::Snapshot],
        ListKind::Backup => &[IdKind::Backup],
        ListKind::Experiment => &[IdKind::Experiment],
        ListKind::All => &IdKind::ALL,
    };
    let ToList {
        ids,
        summaries,
        invalid,
    } = if request.filter.chooses() {
        chosen(ctx, store, kinds, request)?
    } else if request.limit.is_some_and(|limit| limit <= SHORT) {
        short(ctx, store, kinds, request)?
    } else {
        long(ctx, store, kinds, request)?
    };
    let short = ShortNames::new(&ids);
    let labels = store.labels()?;
    let repository = store.repository_id()?;
    let unique_tail = summaries
        .iter()
        .map(|summary| short.length(&summary.id))
        .collect();
    let (shared, unread) = shared(ctx, store, request, summaries.len());
    let listed = summaries
        .into_iter()
        .map(|summary| listed(summary, &labels, repository.as_deref()));
    Ok(Listing {
        unique_tail,
        snapshots: listed.collect(),
        shared,
        invalid: invalid.into_iter().chain(unread).collect(),
        total: ids.len(),
        chosen: request.filter.chooses() || request.limit == Some(0),
    })
}

/// The experiments that others shared, behind `ours`. They cost what is shared, and are looked at when experiments are asked for.
fn shared(
    ctx: &Context<'_>,
    store: &Store,
    request: &List,
    ours: usize,
) -> (Vec<SharedExperiment>, Option<Invalid>) {
    let is_asked_for = matches!(request.kind, ListKind::Experiment | ListKind::All);
    if !is_asked_for || request.filter.chooses() {
        return (Vec::new(), None);
    }
    let limit = request.limit.unwrap_or(usize::MAX);
    match left_by_others(ctx, store) {
        Ok(mut shared) => {
            shared.truncate(limit.saturating_sub(ours));
            (shared, None)
        }
        Err(error) => {
            let id = "shared".to_owned();
            let reason = error.message().to_owned();
            (Vec::new(), Some(Invalid { id, reason }))
        }
    }
}

/// What there is to list.
struct ToList {
    /// Every id, whether it is shown or not.
    ids: Vec<SnapshotId>,
    /// What is shown, in order.
    summaries: Vec<Summary>,
    /// What cannot be read.
    invalid: Vec<Invalid>,
}

fn short(ctx: &Context<'_>, store: &Store, kinds: &[IdKind], request: &List) -> Result<ToList> {
    let mut ids: Vec<SnapshotId> = Vec::new();
    for kind in kinds {
        ids.extend(store.ids(*kind)?);
    }
    ids.sort_by_key(|id| Reverse(id.time()));
    let here = Here::of(ctx, store)?;
    let here = (!request.all_worktrees).then_some(&here);
    let (stored, invalid) = in_order(store, &ids, request.limit, here);
    Ok(ToList {
        ids,
        summaries: stored.into_iter().map(Summary::from).collect(),
        invalid: invalid
            .into_iter()
            .map(|(id, reason)| Invalid { id, reason })
            .collect(),
    })
}

fn long(ctx: &Context<'_>, store: &Store, kinds: &[IdKind], request: &List) -> Result<ToList> {
    let mut all = store.summaries(kinds)?;
    let found = all.found.iter().map(|summary| summary.id);
    let ids = found.chain(all.invalid.iter().map(|(id, _)| *id));
    let ids = ids.collect();
    // The order of taking: within one second by number. Those of one second are given newest name first.
    all.found
        .sort_by_cached_key(|summary| Reverse((summary.id.time(), summary.seq)));
    let here = Here::of(ctx, store)?;
    all.found
        .retain(|summary| request.all_worktrees || here.lists(summary));
    let limit = request.limit.unwrap_or(usize::MAX);
    let last = all.found.get(limit.saturating_sub(1));
    let until = last.map(|summary| summary.id.time());
    // Beyond the limit nothing was looked at.
    all.invalid
        .retain(|(id, _)| until.is_none_or(|until| id.time() >= until));
    all.found.truncate(limit);
    let invalid = all.invalid.iter();
    Ok(ToList {
        ids,
        invalid: invalid
            .map(|(id, error)| Invalid {
                id: id.to_string(),
                reason: error.message().to_owned(),
            })
            .collect(),
        summaries: all.found,
    })
}

/// Those that the filter lets through.
fn chosen(ctx: &Context<'_>, store: &Store, kinds: &[IdKind], request: &List) -> Result<ToList> {
    let filter = Filter {
        limit: request.limit,
        all_worktrees: request.all_worktrees,
        ..request.filter.clone()
    };
    let mut timeline = Timeline::of_records(ctx, &filter, kinds)?;
    let entries = timeline.page(usize::MAX)?;
    let wanted: Vec<SnapshotId> = entries
        .iter()
        .filter_map(|entry| SnapshotId::parse(&entry.id))
        .collect();
    let mut all = Vec::new();
    for kind in kinds {
        all.extend(store.ids(*kind)?);
    }
    let invalid = timeline.invalid().into_iter();
    Ok(ToList {
        ids: all,
        summaries: summaries(store, kinds, &wanted)?,
        invalid: invalid.map(|(id, reason)| Invalid { id, reason }).collect(),
    })
}

/// What is to be shown of these, in this order.
fn summaries(store: &Store, kinds: &[IdKind], wanted: &[SnapshotId]) -> Result<Vec<Summary>> {
    if wanted.len() <= SHORT {
        let read = wanted.iter().map(|id| store.read_id(id).map(Summary::from));
        return read.collect();
    }
    let all = store.summaries(kinds)?.found.into_iter();
    let mut by_id: HashMap<_, _> = all.map(|summary| (summary.id, summary)).collect();
    Ok(wanted.iter().filter_map(|id| by_id.remove(id)).collect())
}

fn listed(
    summary: Summary,
    labels: &BTreeMap<Oid, Vec<String>>,
    repository: Option<&str>,
) -> Listed {
    let labels = labels.get(&summary.commit);
    Listed {
        id: summary.id.to_string(),
        kind: summary.id.kind().word(),
        commit: summary.commit,
        tree: summary.tree,
        title: summary.title,
        labels: labels.cloned().unwrap_or_default(),
        worktree: summary.worktree,
        taken_in: summary.taken_in,
        created_at: summary.created_at,
        foreign: repository != Some(summary.repository_id.as_str()),
        document: summary.document,
    }
}
