//! Records to the remote that was named for them.

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::request::DryRun;
use super::sharing::damaged::explain;
use super::sharing::exchange::{self, fetch};
use super::sharing::lost;
use super::sharing::own::Own;
use super::sharing::plan::Plan;
use super::sharing::snapshots;
use super::sharing::{Changed, Conflict, Refused, depot_for_exchange, lock, required, scan};
use crate::error::Result;
use crate::git::network::Place;
use crate::store::Store;

/// Answer of `push`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PushedRecords {
    /// Whether it was only looked at.
    pub dry_run: bool,
    /// The remote.
    pub remote: String,
    /// Its ref.
    #[serde(rename = "ref")]
    pub shared_ref: String,
    /// What it has now, or would have, that it did not have.
    pub sent: Vec<Changed>,
    /// How many records others have pushed that are not here yet: 'tw pull' brings them.
    pub to_pull: usize,
    /// Fields that others set, too: one value stands, the other is kept beside it.
    pub conflicts: Vec<Conflict>,
    /// What the remote has that cannot be used; it was left as it is.
    pub refused: Vec<Refused>,
    /// The remote's commit now; null: it has none.
    pub commit: Option<String>,
    /// How often it was tried; more than once when others were first.
    pub tries: u32,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// What is asked of `push`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Only look.
    pub dry_run: DryRun,
    /// Findings that are none, by their fingerprints.
    pub allowed: Vec<String>,
    /// Snapshots that are to go along, as a person names them.
    pub snapshots: Vec<String>,
}

/// Sends what the remote lacks. Our records stay as they are.
///
/// # Errors
/// `INVALID_CONFIG` when sharing is off; `SECRET_FOUND`; `BUSY` when others were first each time; `IO` with what git said; `CORRUPT_RECORD` and
/// `NEWER_RECORD` of what the remote has; those of addresses.
pub fn push(ctx: &Context<'_>, request: &Request) -> Result<PushedRecords> {
    let store = ctx.store()?;
    send(ctx, store, request).map_err(|error| explain(store, error))
}

fn send(ctx: &Context<'_>, store: &Store, request: &Request) -> Result<PushedRecords> {
    let mut setup = required(ctx, store)?;
    let _lock = lock(ctx, store)?;
    let depot = depot_for_exchange(store)?;
    let back = match request.dry_run {
        DryRun::Yes => Vec::new(),
        DryRun::No => lost::bring_back(ctx, store, &depot)?,
    };
    let mut own = Own::look(ctx, store, Some(&depot), &setup)?;
    own.notices.splice(0..0, back);
    let going = snapshots::named(ctx, store, &setup, &own, &request.snapshots)?;
    // Before anything goes: what stops one of them stops all.
    let found = snapshots::findings(ctx, store, &going, &request.allowed)?;
    scan::refuse(&found)?;
    let (plan, commit, tries, sent) = match request.dry_run {
        DryRun::Yes => {
            let theirs = fetch(ctx, &depot, &setup, Place::Pushed)?;
            let plan = Plan::make(ctx, Some(&depot), &mut own, theirs)?;
            scan::refuse(&plan.findings(ctx, &request.allowed))?;
            let sent = if going.is_empty() {
                Vec::new()
            } else {
                let (_, missing) = snapshots::missing(ctx, &depot, &setup, &going)?;
                snapshots::changed(&missing)
            };
            (plan, theirs, 0, sent)
        }
        DryRun::No => {
            let sent = exchange::push(ctx, store, &depot, &setup, &mut own, &request.allowed)?;
            let snapshots = if going.is_empty() {
                Vec::new()
            } else {
                snapshots::push(ctx, store, &depot, &setup, &going)?
            };
            setup.pushed_at = Some(ctx.env.now().rfc3339());
            setup.write(store)?;
            (sent.plan, sent.commit, sent.tries, snapshots)
        }
    };
    Ok(PushedRecords {
        dry_run: request.dry_run == DryRun::Yes,
        remote: setup.remote,
        shared_ref: setup.shared_ref,
        sent: plan.outgoing().into_iter().chain(sent).collect(),
        to_pull: plan.incoming().len(),
        conflicts: plan.conflicts(),
        commit: commit.map(|commit| commit.to_string()),
        refused: plan.refused,
        tries,
        notices: own.notices,
    })
}
