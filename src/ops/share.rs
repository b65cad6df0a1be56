//! Naming a remote to share records with, how that stands, what would be found in them, and the end of it. None of it talks to the network.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::sharing::damaged::explain;
use super::sharing::fields::{Kind, TIMES};
use super::sharing::own::Own;
use super::sharing::plan::Plan;
use super::sharing::scan;
use super::sharing::tree::SharedTree;
use super::sharing::unfinished;
use super::sharing::{
    Changed, Prompts, Setup, author, check_remote, depot, forget_exchanged, lock,
};
use crate::error::Result;
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::store::Store;
use crate::store::names::{SHARED_BRANCH, SHARED_OWN, SHARED_REF, SHARED_SEEN};
use crate::text::listed;

/// What is asked of `share init`.
#[derive(Debug, Clone)]
pub struct Init {
    /// The remote, as git's configuration names it.
    pub remote: String,
    /// Whether conversations go along.
    pub prompts: Prompts,
    /// Use a branch in the place of a ref of our own.
    pub as_branch: bool,
}

/// Answer of `share init`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "share_init")]
pub struct Named {
    /// The remote.
    pub remote: String,
    /// The one ref that it gets.
    #[serde(rename = "ref")]
    pub shared_ref: String,
    /// Whether conversations go along.
    pub prompts: Prompts,
    /// Whether anything was set that was not set so before.
    pub changed: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Names the remote. Sends nothing.
///
/// # Errors
/// `INVALID_CONFIG` when git knows no such remote.
pub fn init(ctx: &Context<'_>, request: &Init) -> Result<Named> {
    let store = ctx.store()?;
    check_remote(ctx, &request.remote)?;
    let _lock = lock(ctx, store)?;
    let shared_ref = if request.as_branch {
        SHARED_BRANCH
    } else {
        SHARED_REF
    };
    let before = Setup::read(store)?;
    let wanted = Setup::new(&request.remote, shared_ref, request.prompts);
    let same = |before: &&Setup| {
        (&before.remote, &before.shared_ref) == (&wanted.remote, &wanted.shared_ref)
    };
    let place = before.as_ref().filter(same);
    let changed = place.is_none_or(|before| before.prompts != wanted.prompts);
    let last = match before {
        Some(_) => None,
        None => Setup::last(ctx, store)?,
    };
    let mut notices = Vec::new();
    if place.or(last.as_ref().filter(same)).is_none() {
        // It was another remote's.
        let set = set_by_others(ctx, store, &request.remote);
        notices.extend(set.map_err(|error| explain(store, error))?);
        // Who dies in between has named none: neither remote gets what is of the other.
        if let Some(before) = before.clone() {
            before.end(ctx, store)?;
        }
        forget_exchanged(store)?;
    }
    if changed {
        let wanted = match place {
            Some(before) => Setup {
                prompts: request.prompts,
                ..before.clone()
            },
            None => wanted,
        };
        wanted.write(store)?;
    }
    let was_redacted = before.is_some_and(|before| before.prompts == Prompts::Redacted);
    if was_redacted && request.prompts == Prompts::None {
        notices.push("conversations that were pushed before stay where they are".to_owned());
    }
    Ok(Named {
        remote: request.remote.clone(),
        shared_ref: shared_ref.to_owned(),
        prompts: request.prompts,
        changed,
        notices,
    })
}

/// Says that fields of our issues which others set, over the remote that was named before, go along with them: an issue says what each
/// field holds, and not who set it. Runs and comments say so.
fn set_by_others(ctx: &Context<'_>, store: &Store, remote: &str) -> Result<Option<String>> {
    let Some(depot) = depot(store)? else {
        return Ok(None);
    };
    let mut tree = SharedTree::of_own(Some(&depot), depot.refs.read(SHARED_OWN)?)?;
    unfinished::resume(store, Some(&depot), &mut tree)?;
    let author = author(ctx, store)?;
    let mut set = BTreeMap::new();
    let keys: Vec<_> = tree.records.keys().cloned().collect();
    for key in keys.into_iter().filter(|key| key.0 == Kind::Issue) {
        let Some(record) = tree.record(Some(&depot), &key)? else {
            continue;
        };
        if record.claimed_by(&author).is_some() || record.deletion().is_some() {
            continue;
        }
        let fields = record.view().into_keys().filter(|name| {
            let is_item = ["runs/", "comments/"]
                .iter()
                .any(|list| name.starts_with(list));
            let setter = record.setter(name).filter(|edit| edit.by != author.by);
            !is_item && !TIMES.contains(&name.as_str()) && setter.is_some()
        });
        let fields: Vec<String> = fields.collect();
        if !fields.is_empty() {
            set.insert(key.1, fields);
        }
    }
    if set.is_empty() {
        return Ok(None);
    }
    let shown = set
        .iter()
        .map(|(id, fields)| format!("{id} ({})", fields.join(", ")));
    Ok(Some(format!(
        "fields that others set in issues of yours go to '{remote}' with them: {}",
        listed(shown, 5)
    )))
}

/// Answer of `share status`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "share_status")]
pub struct Standing {
    /// Whether a remote was named.
    pub on: bool,
    /// The remote; null: none was named.
    pub remote: Option<String>,
    /// The one ref that it gets.
    #[serde(rename = "ref")]
    pub shared_ref: Option<String>,
    /// Whether conversations go along.
    pub prompts: Option<Prompts>,
    /// When something was pushed last: RFC 3339, UTC.
    pub pushed_at: Option<String>,
    /// When something was pulled last: RFC 3339, UTC.
    pub pulled_at: Option<String>,
    /// What 'tw push' would send, as far as is known without asking the remote.
    pub to_push: Vec<Changed>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Tells how sharing stands. Asks no remote.
///
/// # Errors
/// The records or refs cannot be read.
pub fn status(ctx: &Context<'_>) -> Result<Standing> {
    let store = ctx.store()?;
    let Some(setup) = Setup::read(store)? else {
        return Ok(Standing {
            on: false,
            remote: None,
            shared_ref: None,
            prompts: None,
            pushed_at: None,
            pulled_at: None,
            to_push: Vec::new(),
            notices: Vec::new(),
        });
    };
    let depot = depot(store)?;
    let (own, plan) = known(ctx, store, depot.as_ref(), &setup)?;
    Ok(Standing {
        on: true,
        remote: Some(setup.remote),
        shared_ref: Some(setup.shared_ref),
        prompts: Some(setup.prompts),
        pushed_at: setup.pushed_at,
        pulled_at: setup.pulled_at,
        to_push: plan.outgoing(),
        notices: own.notices,
    })
}

/// Our side, and what it has that the remote had not when it was looked at last.
fn known(
    ctx: &Context<'_>,
    store: &Store,
    depot: Option<&Depot>,
    setup: &Setup,
) -> Result<(Own, Plan)> {
    let look = || {
        let mut own = Own::look(ctx, store, depot, setup)?;
        let plan = Plan::make(ctx, depot, &mut own, seen(depot)?)?;
        Ok((own, plan))
    };
    look().map_err(|error| explain(store, error))
}

/// What the remote had when it was looked at last.
fn seen(depot: Option<&Depot>) -> Result<Option<Oid>> {
    match depot {
        Some(depot) => depot.refs.read(SHARED_SEEN),
        None => Ok(None),
    }
}

/// Answer of `share off`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "share_off")]
pub struct Ended {
    /// The remote that was named; null: none was.
    pub remote: Option<String>,
}

/// Forgets the remote. What it has it keeps; what came from it stays here.
///
/// # Errors
/// The file cannot be removed.
pub fn off(ctx: &Context<'_>) -> Result<Ended> {
    let store = ctx.store()?;
    let _lock = lock(ctx, store)?;
    let Some(setup) = Setup::read(store)? else {
        return Ok(Ended { remote: None });
    };
    let remote = Some(setup.remote.clone());
    setup.end(ctx, store)?;
    Ok(Ended { remote })
}

/// Answer of `share scan`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "share_scan")]
pub struct Scanned {
    /// How many records would go.
    pub scanned: usize,
    /// What looks like a secret in them; with one the command fails.
    pub findings: Vec<scan::Finding>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Looks for secrets in what a push would send. Without a remote: in all that one would get.
///
/// # Errors
/// `SECRET_FOUND`, with all of them.
pub fn search(ctx: &Context<'_>, prompts: Option<Prompts>, allowed: &[String]) -> Result<Scanned> {
    let store = ctx.store()?;
    let setup = Setup::read(store)?;
    let depot = match setup {
        Some(_) => depot(store)?,
        None => None,
    };
    let mut setup = setup.unwrap_or_else(|| Setup::new("", SHARED_REF, Prompts::None));
    setup.prompts = prompts.unwrap_or(setup.prompts);
    let (own, plan) = known(ctx, store, depot.as_ref(), &setup)?;
    let findings = plan.findings(ctx, allowed);
    scan::refuse(&findings)?;
    Ok(Scanned {
        scanned: plan.outgoing().len(),
        findings,
        notices: own.notices,
    })
}
