//! `drop`: forgetting what is named, unless something holds it.

use std::collections::BTreeSet;

use super::retention::{Candidate, Plan, answer, forgotten, levels_text};
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::address;
use crate::ops::event_log;
use crate::ops::holders::{HoldStrength, Holder, Holders, RetentionScope};
use crate::ops::outcome::Pruned;
use crate::ops::request::DryRun;
use crate::ops::swap::recover::recover_by_itself;
use crate::ops::swap::undo_log;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names;

/// Forget these.
#[derive(Debug, Clone, Default)]
pub struct Drop {
    /// Addresses of what is to go.
    pub addresses: Vec<String>,
    /// Also what something holds.
    pub force: bool,
    /// List only.
    pub dry_run: DryRun,
}

/// Forgets what is named.
///
/// # Errors
/// `HELD`, naming the holders, unless forced; what a state or journal needs is held in any case. As [`address::resolve`].
pub fn drop(ctx: &Context<'_>, request: &Drop) -> Result<Pruned> {
    let store = ctx.store()?;
    if request.dry_run == DryRun::Yes {
        return drop_locked(ctx, store, request);
    }
    let recovered = recover_by_itself(ctx, store)?;
    let lock = ctx.lock(&store.dir, "drop");
    let done = lock.and_then(|_lock| drop_locked(ctx, store, request));
    recovered.tell(done, |dropped| &mut dropped.notices)
}

fn drop_locked(ctx: &Context<'_>, store: &Store, request: &Drop) -> Result<Pruned> {
    let plan = Plan {
        ctx,
        store,
        reach: RetentionScope {
            now: ctx.env.now(),
            keep_days: ctx.settings.keep_days,
            strict: false,
        },
        gone: Vec::new(),
    };
    let mut named: Vec<Candidate> = Vec::new();
    for address in &request.addresses {
        let one = named_by(ctx, store, address)?;
        if named.iter().all(|known| known.id != one.id) {
            named.push(one);
        }
    }
    let mut total = 0;
    for kind in IdKind::ALL {
        total += store.ids(kind)?.len();
    }
    check_held(&plan.holders()?, &named, request.force)?;
    if request.dry_run == DryRun::Yes {
        return Ok(answer(request.dry_run, named, total, Vec::new()));
    }
    let notices = plan.drop_refs(&named, request.force)?;
    Ok(answer(request.dry_run, named, total, notices))
}

/// What an address names, also when it cannot be read: a damaged record must not stay for ever.
fn named_by(ctx: &Context<'_>, store: &Store, address: &str) -> Result<Candidate> {
    let resolved = address::resolve(ctx, store, address);
    let (id, commit, bytes) = match (resolved, SnapshotId::parse(address)) {
        (Ok(stored), _) => {
            let bytes = stored.record.stats.new_bytes;
            (stored.id, stored.commit, bytes)
        }
        (Err(error), Some(id)) if error.code() != Code::SnapshotNotFound => {
            match store.refs.read(&names::snapshot_ref(&id))? {
                Some(commit) => (id, commit, 0),
                None => return Err(error),
            }
        }
        (Err(error), _) => return Err(error),
    };
    Ok(Candidate {
        id,
        commit,
        forgotten: forgotten(&id, commit, bytes),
    })
}

fn check_held(holders: &Holders, named: &[Candidate], force: bool) -> Result<()> {
    let mut held: Vec<(String, Vec<&Holder>)> = Vec::new();
    for one in named {
        let mut by = holders.of(&one.id, one.commit);
        by.retain(|holder| !force || holder.grip == HoldStrength::Firm);
        if !by.is_empty() {
            held.push((one.id.to_string(), by));
        }
    }
    let Some((first, by)) = held.first() else {
        return Ok(());
    };
    let texts: Vec<&str> = by.iter().map(|holder| holder.text.as_str()).collect();
    let more = match held.len() - 1 {
        0 => String::new(),
        count => format!(" (and {count} more are held)"),
    };
    let message = format!("'{first}' is held by {}{more}", texts.join(", "));
    let mut error = Error::new(Code::Held, message);
    let firm = held
        .iter()
        .any(|(_, by)| by.iter().any(|holder| holder.grip == HoldStrength::Firm));
    let mut by = held.iter().flat_map(|(_, by)| by);
    let way_out = by.find_map(|holder| holders.if_gone(holder));
    error = if let Some(way_out) = way_out.filter(|_| firm) {
        error.hint(way_out)
    } else if firm {
        error.hint("'tw status' in that worktree says what it is needed for")
    } else {
        let ids: Vec<String> = named.iter().map(|one| one.id.to_string()).collect();
        error.hint(format!(
            "'tw drop --force {}' drops it all the same",
            ids.join(" ")
        ))
    };
    let details: Vec<serde_json::Value> = held
        .iter()
        .map(|(id, by)| {
            let by: Vec<&str> = by.iter().map(|holder| holder.text.as_str()).collect();
            serde_json::json!({"id": id, "holders": by})
        })
        .collect();
    Err(error.detail("held", details))
}

impl Plan<'_> {
    /// Deletes refs and, when forced, labels and undo levels that need them. Answers what else went.
    fn drop_refs(&self, named: &[Candidate], force: bool) -> Result<Vec<String>> {
        let mut labels = self.store.refs.list(names::LABELS)?;
        labels.retain(|(_, commit)| named.iter().any(|one| one.commit == *commit));
        let mut edit = self.store.refs.transaction();
        for one in named {
            edit.delete(&names::snapshot_ref(&one.id), Some(one.commit));
        }
        for (name, commit) in &labels {
            edit.delete(name, Some(*commit));
        }
        let prepared = edit.prepare()?;
        // Once more, now that the refs are locked: a label or an issue may have come since.
        check_held(&self.holders()?, named, force)?;
        let mut events = self.events(named);
        for (name, commit) in &labels {
            events.push(self.event(name, *commit, names::title(name)));
        }
        // Noted before they go: `tw recover --dropped` finds them by the log.
        event_log::append(&self.store.dir, &events)?;
        fail_point("drop-logged");
        let done = prepared.commit();
        fail_point("drop-refs");
        // After the refs: a step whose backup stands can be taken. A death in between is made up for by the next command.
        let is_gone = |one: &&Candidate| {
            let read = || self.store.refs.read(&names::snapshot_ref(&one.id));
            // What cannot be read may be there.
            done.is_ok() || matches!(read(), Ok(None))
        };
        let gone = named.iter().filter(is_gone);
        let gone: BTreeSet<String> = gone.map(|one| one.id.to_string()).collect();
        let levels = undo_log::forget_unreachable(&self.store.dir, &|id| gone.contains(id))?;
        done?;
        let mut notices: Vec<String> = labels
            .iter()
            .map(|(name, _)| format!("took {} away", names::title(name)))
            .collect();
        if levels > 0 {
            notices.push(levels_text(levels, DryRun::No));
        }
        Ok(notices)
    }
}
