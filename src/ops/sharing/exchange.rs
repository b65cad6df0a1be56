//! Fetch, merge, push: our side and the remote's, and what either has that the other does not.
//!
//! All of it is in the depot: what the remote's ref names is fetched there, and nothing is believed of it. A push makes a commit with both sides
//! as parents and is never forced: who comes second fetches again, merges again and tries again, up to five times, after a pause of random
//! length that may grow. Of our side only what a push has looked through for secrets is ever a parent of something that is pushed: a commit
//! of it is made anew each time, on top of what was pulled last, as long as the remote still has that. Where its history was written anew,
//! the old one is not brought back.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use super::fields::Kind;
use super::own::Own;
use super::plan::Plan;
use super::scan;
use super::setup::Setup;
use super::taken;
use super::tree::{self, ANEW, Key, SharedTree};
use super::{Changed, Refused};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::git::network::{self, Check, Line, Place, Pushed, Refusal};
use crate::git::objects::NewObjects;
use crate::git::random;
use crate::ops::Context;
use crate::store::Store;
use crate::store::names::{SHARED_OUTGOING, SHARED_OWN, SHARED_SEEN};

/// How often a push is tried.
pub const TRIES: u32 = 5;
/// The longest pause after the first try, in milliseconds; three times as long after each further one.
const PAUSE: u64 = 150;
/// No more of a history is looked at.
const LONGEST_HISTORY: usize = 100_000;

/// Fetches the remote's ref of records.
///
/// # Errors
/// `IO` with what git said, without secrets.
pub fn fetch(ctx: &Context<'_>, depot: &Depot, setup: &Setup, place: Place) -> Result<Option<Oid>> {
    let refs = (setup.shared_ref.as_str(), SHARED_SEEN);
    fetch_ref(ctx, line(ctx, depot, setup, place), refs, Check::Form)
}

/// Fetches a ref of the remote into one of the depot. None: the remote does not have it.
pub(super) fn fetch_ref(
    ctx: &Context<'_>,
    line: Line<'_>,
    (from, to): (&str, &str),
    check: Check,
) -> Result<Option<Oid>> {
    let depot = line.depot;
    ctx.progress.begin("fetching", None);
    let fetched = network::fetch(line, from, to, check);
    ctx.progress.end();
    // What came is in a pack of its own.
    depot.objects.refresh();
    if fetched.map_err(|error| cleaned(ctx, &error))? {
        return depot.refs.read(to);
    }
    Ok(None)
}

/// Pushes a commit of the depot to a ref of the remote.
pub(super) fn push_ref(
    ctx: &Context<'_>,
    depot: &Depot,
    setup: &Setup,
    commit: Oid,
    to: &str,
) -> Result<Pushed> {
    ctx.progress.begin("pushing", None);
    let pushed = network::push(line(ctx, depot, setup, Place::Pushed), commit, to);
    ctx.progress.end();
    pushed.map_err(|error| cleaned(ctx, &error))
}

pub(super) fn line<'a>(
    ctx: &'a Context<'_>,
    depot: &'a Depot,
    setup: &'a Setup,
    place: Place,
) -> Line<'a> {
    Line {
        repo: &ctx.repo,
        depot,
        remote: &setup.remote,
        place,
    }
}

/// An error without what git may have said of an address's user and password.
fn cleaned(ctx: &Context<'_>, error: &Error) -> Error {
    let message = ctx.redactor().text(error.message()).text;
    let hints = error.hints().iter();
    hints.fold(Error::new(error.code(), message), |error, hint| {
        error.hint(hint.clone())
    })
}

/// Makes the commit of our side.
fn commit_own(
    ctx: &Context<'_>,
    depot: &Depot,
    new: &mut NewObjects,
    (own, parents): (&Own, &[Oid]),
    changes: &[TreeChange],
    message: &str,
) -> Result<Oid> {
    let tree = tree::write((&depot.objects, new), own.tree.tree, changes)?;
    tree::commit(new, tree, parents, message, ctx.env.now())
}

/// What our side was made on top of, where the remote has that still.
fn base(depot: &Depot, own: &Own, theirs: Option<Oid>) -> Result<Vec<Oid>> {
    let (Some(commit), Some(theirs)) = (own.commit, theirs) else {
        return Ok(Vec::new());
    };
    let parents = depot.objects.commit(commit)?.parents;
    match parents.first() {
        Some(base) if is_behind(depot, *base, theirs)? => Ok(parents),
        _ => Ok(Vec::new()),
    }
}

/// Whether a commit is the tip of a history, or in it.
fn is_behind(depot: &Depot, commit: Oid, tip: Oid) -> Result<bool> {
    let mut known = HashSet::from([tip]);
    let mut open = VecDeque::from([tip]);
    while let Some(at) = open.pop_front() {
        if at == commit {
            return Ok(true);
        }
        // Whoever made it that long: not bringing it back is no harm.
        if known.len() > LONGEST_HISTORY {
            return Ok(false);
        }
        for parent in depot.objects.commit(at)?.parents {
            if known.insert(parent) {
                open.push_back(parent);
            }
        }
    }
    Ok(false)
}

fn edits(own: &Own) -> Vec<TreeChange> {
    let edited = own.edited.iter();
    edited
        .map(|(key, shared)| (key.clone(), Some(shared.encode(key.0, &key.1))))
        .collect()
}

/// Brings what our records say of conflicts and deletions up to what was edited here: who sets a field again has decided.
fn mark(ctx: &Context<'_>, store: &Store, own: &Own) -> Result<()> {
    for (key, shared) in &own.edited {
        taken::put(ctx, store, key, shared, (own.now.get(key), &own.author))?;
    }
    Ok(())
}

/// What a push did.
#[derive(Debug)]
pub struct Sent {
    /// What went, or would go.
    pub plan: Plan,
    /// The remote's commit now; None: it has none.
    pub commit: Option<Oid>,
    /// How often it was tried.
    pub tries: u32,
}

/// What a record becomes in a tree; None: it goes.
type TreeChange = (Key, Option<Vec<u8>>);

/// Commits that are made for a push.
struct Outgoing {
    /// What is pushed.
    commit: Oid,
    /// What is kept of our side.
    kept: Oid,
}

/// Makes the commit of our side, and the one in which the remote's has these changes, too.
fn outgoing(
    ctx: &Context<'_>,
    depot: &Depot,
    new: &mut NewObjects,
    own: &Own,
    (plan, changes): (&Plan, &[TreeChange]),
) -> Result<Outgoing> {
    let base = base(depot, own, plan.theirs)?;
    let message = "tw: records of one repository";
    let mut sides = edits(own);
    let kept = commit_own(ctx, depot, new, (own, &base), &sides, message)?;
    // Nothing of ours goes along that was not looked through.
    let unsent = own.withheld().chain(&plan.unsent);
    sides.retain(|(key, _)| !plan.unsent.contains(key));
    sides.extend(unsent.map(|key| (key.clone(), None)));
    let ours = commit_own(ctx, depot, new, (own, &base), &sides, message)?;
    let Some(theirs) = plan.theirs else {
        return Ok(Outgoing { commit: ours, kept });
    };
    let tree = tree::write((&depot.objects, new), plan.tree, changes)?;
    let message = "tw: records of several repositories";
    let commit = tree::commit(new, tree, &[theirs, ours], message, ctx.env.now())?;
    Ok(Outgoing { commit, kept })
}

/// Pushes what the remote lacks.
///
/// # Errors
/// `SECRET_FOUND`; `BUSY` when others were first each time; `IO` when the remote does not take it.
pub fn push(
    ctx: &Context<'_>,
    store: &Store,
    depot: &Depot,
    setup: &Setup,
    own: &mut Own,
    allowed: &[String],
) -> Result<Sent> {
    let mut last: Option<(Option<Oid>, Refusal)> = None;
    for tries in 1..=TRIES {
        let theirs = fetch(ctx, depot, setup, Place::Pushed)?;
        if let Some((before, why)) = &last
            && *before == theirs
            && !why.is_race()
        {
            return Err(not_taken(ctx, setup, &setup.shared_ref, why));
        }
        let plan = Plan::make(ctx, Some(depot), own, theirs)?;
        scan::refuse(&plan.findings(ctx, allowed))?;
        let changes: Vec<TreeChange> = plan
            .differences
            .iter()
            .filter_map(|one| Some((one.key.clone(), Some(one.outgoing.clone()?))))
            .collect();
        if changes.is_empty() {
            let commit = plan.theirs;
            return Ok(Sent {
                plan,
                commit,
                tries,
            });
        }
        let mut new = NewObjects::new(store.objects.format());
        let Outgoing { commit, kept } = outgoing(ctx, depot, &mut new, own, (&plan, &changes))?;
        depot.set_refs(&new, &[(SHARED_OUTGOING, commit), (SHARED_OWN, kept)])?;
        readable(depot, commit)?;
        mark(ctx, store, own)?;
        match push_ref(ctx, depot, setup, commit, &setup.shared_ref)? {
            Pushed::Done => {
                let none = NewObjects::new(store.objects.format());
                depot.set_refs(&none, &[(SHARED_SEEN, commit)])?;
                return Ok(Sent {
                    plan,
                    commit: Some(commit),
                    tries,
                });
            }
            Pushed::Refused(why) => last = Some((theirs, why)),
        }
        if tries < TRIES {
            pause(tries)?;
        }
    }
    Err(others_first(setup))
}

/// Refuses to send what nobody could read any more.
fn readable(depot: &Depot, commit: Oid) -> Result<()> {
    let read = SharedTree::of_remote(Some(depot), Some(commit));
    read.map(drop).map_err(|error| {
        let message = format!(
            "nothing was sent, for nobody could read it: {}",
            error.message()
        );
        Error::new(Code::CorruptRecord, message).hint(ANEW)
    })
}

pub(super) fn not_taken(ctx: &Context<'_>, setup: &Setup, to: &str, why: &Refusal) -> Error {
    let why = ctx.redactor().text(&why.to_string()).text;
    let message = format!("'{}' does not take '{to}': {why}", setup.remote);
    Error::new(Code::Io, message)
        .hint("some services take branches only: 'tw share init REMOTE --as-branch'")
}

/// The error of a push that others were faster than each time.
pub(super) fn others_first(setup: &Setup) -> Error {
    let message = format!(
        "others pushed to '{}' first, {TRIES} times; nothing is lost",
        setup.remote
    );
    Error::new(Code::Busy, message).hint("'tw push' tries again")
}

/// Waits for a random time: those who came together come apart.
pub(super) fn pause(tries: u32) -> Result<()> {
    let mut bytes = [0u8; 8];
    random::fill(&mut bytes)?;
    let longest = PAUSE * 3u64.pow(tries - 1);
    std::thread::sleep(Duration::from_millis(u64::from_le_bytes(bytes) % longest));
    Ok(())
}

/// What a pull did.
#[derive(Debug)]
pub struct Received {
    /// What came, or would come.
    pub plan: Plan,
    /// What of it was taken.
    pub taken: Vec<Changed>,
}

/// Takes in what the remote has: records first, then our ref, so that a death in between looks like edits made here.
///
/// # Errors
/// What was fetched cannot be used; our refs cannot be written. A single record that cannot be taken is refused by name.
pub fn take_in(
    ctx: &Context<'_>,
    store: &Store,
    depot: &Depot,
    own: &mut Own,
    mut plan: Plan,
) -> Result<Received> {
    mark(ctx, store, own)?;
    let mut changes = edits(own);
    let mut taken = plan.incoming(own);
    ctx.progress
        .begin("writing", Some(plan.differences.len() as u64));
    // Conversations first: an issue says whether it has one.
    for kind in [Kind::Chat, Kind::Issue, Kind::Session, Kind::Experiment] {
        for one in plan.differences.iter().filter(|one| one.key.0 == kind) {
            ctx.progress.advance(1);
            if !one.is_incoming {
                continue;
            }
            let now = own.now.get(&one.key);
            match taken::put(ctx, store, &one.key, &one.merged, (now, &own.author)) {
                Ok(()) => {
                    changes.retain(|(key, _)| *key != one.key);
                    let bytes = one.merged.encode(one.key.0, &one.key.1);
                    changes.push((one.key.clone(), Some(bytes)));
                }
                Err(error) if matches!(error.code(), Code::Io | Code::NoSpace | Code::Busy) => {
                    return Err(error);
                }
                Err(error) => {
                    taken.retain(|taken| (taken.kind, &taken.id) != (one.key.0.into(), &one.key.1));
                    plan.refused.push(Refused {
                        path: tree::path(one.key.0, &one.key.1),
                        reason: error.message().to_owned(),
                    });
                }
            }
        }
    }
    ctx.progress.end();
    if let Some(theirs) = plan.theirs {
        let mut new = NewObjects::new(store.objects.format());
        let ours = commit_own(
            ctx,
            depot,
            &mut new,
            (own, &[theirs]),
            &changes,
            "tw: records of one repository",
        )?;
        depot.set_refs(&new, &[(SHARED_OWN, ours)])?;
    }
    Ok(Received { plan, taken })
}
