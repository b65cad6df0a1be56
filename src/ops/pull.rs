//! Records of others from the remote that was named for them.

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::refspecs;
use super::request::DryRun;
use super::sharing::damaged::explain;
use super::sharing::exchange::{Received, fetch, take_in};
use super::sharing::incoming;
use super::sharing::lost;
use super::sharing::own::Own;
use super::sharing::plan::Plan;
use super::sharing::{Changed, Conflict, Refused, depot_for_exchange, lock, required};
use crate::error::Result;
use crate::git::network::Place;
use crate::store::Store;

/// Answer of `pull`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PulledRecords {
    /// Whether it was only looked at.
    pub dry_run: bool,
    /// The remote.
    pub remote: String,
    /// Its ref.
    #[serde(rename = "ref")]
    pub shared_ref: String,
    /// What is here now, or would be, that was not.
    pub received: Vec<Changed>,
    /// How many records are here that the remote does not have: 'tw push' sends them.
    pub to_push: usize,
    /// Fields that were set here, too: one value stands, the other is kept beside it.
    pub conflicts: Vec<Conflict>,
    /// What the remote has and was not taken.
    pub refused: Vec<Refused>,
    /// The remote's commit; null: it shares nothing yet.
    pub commit: Option<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Takes in what others have pushed. Nothing that came is run, and no record of ours goes.
///
/// # Errors
/// `INVALID_CONFIG` when sharing is off; `IO` with what git said; `CORRUPT_RECORD` and `NEWER_RECORD` of what the remote has.
pub fn pull(ctx: &Context<'_>, dry_run: DryRun) -> Result<PulledRecords> {
    let store = ctx.store()?;
    receive(ctx, store, dry_run).map_err(|error| explain(store, error))
}

fn receive(ctx: &Context<'_>, store: &Store, dry_run: DryRun) -> Result<PulledRecords> {
    let mut setup = required(ctx, store)?;
    let _lock = lock(ctx, store)?;
    let depot = depot_for_exchange(store)?;
    let back = match dry_run {
        DryRun::Yes => Vec::new(),
        DryRun::No => lost::bring_back(ctx, store, &depot)?,
    };
    let mut own = Own::look(ctx, store, Some(&depot), &setup)?;
    own.notices.splice(0..0, back);
    let theirs = fetch(ctx, &depot, &setup, Place::Fetched)?;
    let plan = Plan::make(ctx, Some(&depot), &mut own, theirs)?;
    let Received { plan, taken } = match dry_run {
        DryRun::Yes => {
            let taken = plan.incoming();
            Received { plan, taken }
        }
        DryRun::No => {
            let received = take_in(ctx, store, &depot, &own, plan)?;
            setup.pulled_at = Some(ctx.env.now().rfc3339());
            setup.write(store)?;
            received
        }
    };
    if dry_run == DryRun::No && !taken.is_empty() {
        own.notices.extend(refspecs::told_once(ctx, store));
    }
    let snapshots = incoming::pull(ctx, store, &depot, &setup, dry_run)?;
    Ok(PulledRecords {
        dry_run: dry_run == DryRun::Yes,
        remote: setup.remote,
        shared_ref: setup.shared_ref,
        received: taken.into_iter().chain(snapshots.taken).collect(),
        to_push: plan.outgoing().len(),
        conflicts: plan.conflicts(),
        commit: theirs.map(|commit| commit.to_string()),
        refused: plan.refused.into_iter().chain(snapshots.refused).collect(),
        notices: own.notices,
    })
}
