//! Fetch, merge, push: our side and the remote's, and what either has that the other does not.
//!
//! All of it is in the depot: what the remote's ref names is fetched there, and nothing is believed of it. A push makes a commit with both sides
//! as parents and is never forced: who comes second fetches again, merges again and tries again, up to five times, after a pause of random
//! length that may grow. Of our side only what a push has looked through for secrets is ever a parent of something that is pushed: a commit
//! of it is made anew each time, on top of what was pulled last, as long as the remote still has that. Where its history was written anew,
//! the old one is not brought back.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::time::Duration;

use super::fields::Kind;
use super::own::Own;
use super::plan::Plan;
use super::scan;
use super::setup::Setup;
use super::taken;
use super::tree::{self, ANEW, Key, SharedTree, TreeChange};
use super::unfinished;
use super::waiting::Waiting;
use super::{Changed, Refused};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::git::network::{self, Check, Line, Place, Pushed, Refusal};
use crate::git::objects::NewObjects;
use crate::git::random;
use crate::ops::Context;
use crate::store::Store;
use crate::store::names::{SHARED_OUTGOING, SHARED_OWN, SHARED_SEEN, SHARED_TAKING};

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
) -> Result<Oid> {
    let tree = tree::write((&depot.objects, new), own.tree.tree, changes)?;
    let message = "tw: records of one repository";
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

/// What our side has and its commit lacks.
fn edits(own: &Own) -> Vec<TreeChange> {
    let unfinished = own.unfinished.iter();
    let unfinished = unfinished.filter(|(key, _)| !own.edited.contains_key(*key));
    let all = own.edited.iter().chain(unfinished);
    all.map(|(key, record)| (key.clone(), Some(record.clone())))
        .collect()
}

/// The same with what comes, but for what was refused.
fn edits_and_incoming(own: &Own, plan: &Plan, refused: &BTreeSet<Key>) -> Vec<TreeChange> {
    let mut changes: BTreeMap<Key, Option<Waiting>> = edits(own).into_iter().collect();
    for one in plan.differences.iter().filter(|one| one.is_incoming) {
        if !refused.contains(&one.key) {
            changes.insert(one.key.clone(), Some(one.merged.clone()));
        }
    }
    changes.into_iter().collect()
}

/// Brings what our records say of conflicts and deletions up to what was edited here: who sets a field again has decided.
fn mark(ctx: &Context<'_>, store: &Store, depot: &Depot, own: &Own) -> Result<()> {
    for (key, record) in &own.edited {
        let now = own.said(depot, key)?;
        taken::put(
            ctx,
            store,
            key,
            &record.get(),
            (now.as_deref(), &own.author),
        )?;
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
    let mut sides = edits(own);
    let kept = commit_own(ctx, depot, new, (own, &base), &sides)?;
    // Nothing of ours goes along that was not looked through.
    let unsent: BTreeSet<&Key> = own.withheld().chain(&plan.unsent).collect();
    sides.retain(|(key, _)| !unsent.contains(key));
    sides.extend(unsent.into_iter().map(|key| (key.clone(), None)));
    let ours = commit_own(ctx, depot, new, (own, &base), &sides)?;
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
        let going = plan.differences.iter().filter(|one| one.is_outgoing);
        let changes: Vec<TreeChange> = going
            .map(|one| (one.key.clone(), Some(one.merged.clone())))
            .collect();
        if changes.is_empty() {
            let commit = plan.theirs;
            return Ok(Sent {
                plan,
                commit,
                tries,
            });
        }
        let mut new = none(store);
        let Outgoing { commit, kept } = outgoing(ctx, depot, &mut new, own, (&plan, &changes))?;
        // Before our side has it: who dies in between finds the same edits again.
        mark(ctx, store, depot, own)?;
        let refs = [(SHARED_OUTGOING, commit), (SHARED_OWN, kept)];
        depot.set_and_delete_refs(&new, &refs, &[SHARED_TAKING])?;
        readable(depot, commit)?;
        match push_ref(ctx, depot, setup, commit, &setup.shared_ref)? {
            Pushed::Done => {
                depot.set_refs(&none(store), &[(SHARED_SEEN, commit)])?;
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

/// Takes in what the remote has: our records one by one, then our side. Who dies in between has [`unfinished`] what was put into them.
///
/// # Errors
/// What was fetched cannot be used; our refs cannot be written. A single record that cannot be taken is refused by name.
pub fn take_in(
    ctx: &Context<'_>,
    store: &Store,
    depot: &Depot,
    own: &Own,
    mut plan: Plan,
) -> Result<Received> {
    mark(ctx, store, depot, own)?;
    let mut taken = plan.incoming();
    let Some(theirs) = plan.theirs else {
        return Ok(Received { plan, taken });
    };
    if !own.unfinished.is_empty() {
        // This pull's word takes the place of that of the one that died.
        let base = base(depot, own, plan.theirs)?;
        let mut new = none(store);
        let known = commit_own(ctx, depot, &mut new, (own, &base), &edits(own))?;
        unfinished::end(depot, &new, known)?;
    }
    let side = |refused: &BTreeSet<Key>| -> Result<(NewObjects, Oid)> {
        let mut new = none(store);
        let changes = edits_and_incoming(own, &plan, refused);
        let ours = commit_own(ctx, depot, &mut new, (own, &[theirs]), &changes)?;
        Ok((new, ours))
    };
    let (new, ours) = side(&BTreeSet::new())?;
    unfinished::begin(depot, &new, ours)?;
    let refused = put_all(ctx, store, depot, own, &plan)?;
    if refused.is_empty() {
        unfinished::end(depot, &none(store), ours)?;
    } else {
        let (new, ours) = side(&refused.keys().cloned().collect())?;
        unfinished::end(depot, &new, ours)?;
    }
    taken.retain(|taken| {
        let is_it = |key: &Key| (taken.kind, &taken.id) == (key.0.into(), &key.1);
        !refused.keys().any(is_it)
    });
    plan.refused
        .extend(refused.into_iter().map(|((kind, id), reason)| Refused {
            path: tree::path(kind, &id),
            reason,
        }));
    Ok(Received { plan, taken })
}

/// Puts what comes into our records, and answers what could not be taken, and why.
fn put_all(
    ctx: &Context<'_>,
    store: &Store,
    depot: &Depot,
    own: &Own,
    plan: &Plan,
) -> Result<BTreeMap<Key, String>> {
    let mut refused = BTreeMap::new();
    ctx.progress
        .begin("writing", Some(plan.differences.len() as u64));
    // Conversations first: an issue says whether it has one.
    for kind in [Kind::Chat, Kind::Issue, Kind::Session, Kind::Experiment] {
        for one in plan.differences.iter().filter(|one| one.key.0 == kind) {
            ctx.progress.advance(1);
            if !one.is_incoming {
                continue;
            }
            let now = own.said(depot, &one.key)?;
            let now = (now.as_deref(), &own.author);
            match taken::put(ctx, store, &one.key, &one.merged.get(), now) {
                Ok(()) => {}
                Err(error) if matches!(error.code(), Code::Io | Code::NoSpace | Code::Busy) => {
                    return Err(error);
                }
                Err(error) => {
                    refused.insert(one.key.clone(), error.message().to_owned());
                }
            }
        }
    }
    ctx.progress.end();
    Ok(refused)
}

/// No objects yet.
fn none(store: &Store) -> NewObjects {
    NewObjects::new(store.objects.format())
}
