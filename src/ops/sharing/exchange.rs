//! Fetch, merge, push: our side and the remote's, and what either has that the other does not.
//!
//! The remote's ref is fetched into a ref of our own, and nothing is believed of it. A push makes a commit with both sides as parents and
//! is never forced: who comes second fetches again, merges again and tries again, up to five times, after a pause of random length that
//! may grow. Of our side only what a push has looked through for secrets is ever a parent of something that is pushed: a commit of it is made
//! anew each time, on top of what was pulled last.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::Duration;

use super::fields::Kind;
use super::own::{self, Own};
use super::record::Shared;
use super::scan::{self, Finding};
use super::setup::Setup;
use super::tree::{self, Key, SharedTree};
use super::{Change, Changed, Conflict, Refused};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::network::{self, Pushed};
use crate::git::objects::NewObjects;
use crate::ops::Context;
use crate::store::Store;
use crate::store::lock::hold_file_within;
use crate::store::names::{SHARED_OUTGOING, SHARED_OWN, SHARED_SEEN};

/// How often a push is tried.
pub const TRIES: u32 = 5;
/// The longest pause after the first try, in milliseconds; three times as long after each further one.
const PAUSE: u64 = 150;

/// One record of which the sides differ.
#[derive(Debug)]
pub struct Difference {
    /// Which.
    pub key: Key,
    /// Ours.
    pub own: Option<Shared>,
    /// The remote's.
    pub theirs: Option<Shared>,
    /// Both.
    pub merged: Shared,
    /// What goes, when the remote lacks something.
    pub outgoing: Option<Vec<u8>>,
    /// Whether we lack something.
    pub is_incoming: bool,
}

/// Our side against the remote's.
#[derive(Debug, Default)]
pub struct Plan {
    /// The remote's commit; None: it shares nothing yet.
    pub theirs: Option<Oid>,
    /// Its tree.
    pub tree: Option<Oid>,
    /// Records that differ.
    pub differences: Vec<Difference>,
    /// What the remote has and cannot be used.
    pub refused: Vec<Refused>,
}

/// Keeps two commands of this repository from sharing at once.
///
/// # Errors
/// `BUSY`.
pub fn lock(ctx: &Context<'_>, store: &Store) -> Result<File> {
    crate::git::create::private_dir(&store.common(""))?;
    hold_file_within(&store.common("share.lock"), ctx.settings.lock_timeout)
}

/// Fetches the remote's ref of records.
///
/// # Errors
/// `IO` with what git said, without secrets.
pub fn fetch(ctx: &Context<'_>, store: &Store, setup: &Setup) -> Result<Option<Oid>> {
    fetch_ref(ctx, store, setup, &setup.shared_ref, SHARED_SEEN)
}

/// Fetches a ref of the remote into one of ours. None: the remote does not have it.
pub(super) fn fetch_ref(
    ctx: &Context<'_>,
    store: &Store,
    setup: &Setup,
    from: &str,
    to: &str,
) -> Result<Option<Oid>> {
    ctx.progress.begin("fetching", None);
    let seen = store.refs.read(to)?.is_some();
    let fetched = network::fetch(&ctx.repo, &setup.remote, from, to, seen);
    ctx.progress.end();
    // What came is in a pack of its own.
    store.objects.refresh();
    if fetched.map_err(|error| cleaned(ctx, &error))? {
        return store.refs.read(to);
    }
    Ok(None)
}

/// An error without what git may have said of an address's user and password.
pub(super) fn cleaned(ctx: &Context<'_>, error: &Error) -> Error {
    let message = ctx.redactor().text(error.message()).text;
    let hints = error.hints().iter();
    hints.fold(Error::new(error.code(), message), |error, hint| {
        error.hint(hint.clone())
    })
}

impl Plan {
    /// Compares and merges.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD` when what the remote has cannot be used at all.
    pub fn make(
        ctx: &Context<'_>,
        store: &Store,
        own: &mut Own,
        theirs: Option<Oid>,
    ) -> Result<Self> {
        let mut there = match theirs {
            Some(commit) => tree::read(&store.objects, commit)?,
            None => SharedTree::default(),
        };
        let keys: BTreeSet<Key> = own
            .tree
            .records
            .keys()
            .chain(own.edited.keys())
            .chain(there.records.keys())
            .cloned()
            .collect();
        ctx.progress.begin("merging", Some(keys.len() as u64));
        let mut differences = Vec::new();
        for key in keys {
            ctx.progress.advance(1);
            let (ours, remote) = (own.tree.records.get(&key), there.records.get(&key).copied());
            if ours == remote.as_ref() && !own.edited.contains_key(&key) {
                continue;
            }
            let theirs = there.record(&store.objects, &key)?;
            // What is there and cannot be read is not written over.
            if theirs.is_none() && there.records.contains_key(&key) {
                continue;
            }
            let ours = own.record(store, &key)?;
            differences.extend(Difference::between(key, ours, theirs));
        }
        ctx.progress.end();
        Ok(Self {
            theirs,
            tree: there.tree,
            differences,
            refused: there.refused,
        })
    }

    /// What the remote would get.
    pub fn outgoing(&self) -> Vec<Changed> {
        let going = self.differences.iter().filter(|one| one.outgoing.is_some());
        going
            .map(|one| Changed {
                kind: one.key.0.into(),
                id: one.key.1.clone(),
                change: change(one.theirs.as_ref(), &one.merged),
                claimed_by: None,
            })
            .collect()
    }

    /// What our records would get.
    pub fn incoming(&self, own: &Own) -> Vec<Changed> {
        let coming = self.differences.iter().filter(|one| one.is_incoming);
        // What others made and deleted before it came here was never here.
        let coming = coming.filter(|one| one.own.is_some() || one.merged.deletion().is_none());
        coming
            .map(|one| Changed {
                kind: one.key.0.into(),
                id: one.key.1.clone(),
                change: change(one.own.as_ref(), &one.merged),
                claimed_by: one.merged.claimed_by(&own.author),
            })
            .collect()
    }

    /// Fields that both sides set.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let each = self.differences.iter().flat_map(|one| {
            let lost = one.merged.conflicts();
            let fields: BTreeSet<String> = lost.iter().map(|lost| lost.field.to_owned()).collect();
            fields.into_iter().map(|field| Conflict {
                kind: one.key.0,
                id: one.key.1.clone(),
                field,
            })
        });
        each.collect()
    }

    /// Secrets in what would go: in every value of ours that the remote does not have.
    pub fn findings(&self, ctx: &Context<'_>, allowed: &[String]) -> Vec<Finding> {
        let going = self.differences.iter().filter(|one| one.outgoing.is_some());
        let texts: Vec<scan::Texts<'_>> = going
            .filter_map(|one| {
                let own = one.own.as_ref()?;
                Some((&one.key, own.beyond(one.theirs.as_ref())))
            })
            .collect();
        scan::findings(ctx.redactor(), &texts, allowed)
    }
}

fn change(before: Option<&Shared>, after: &Shared) -> Change {
    match before {
        _ if after.deletion().is_some() => Change::Deleted,
        None => Change::Added,
        Some(_) => Change::Changed,
    }
}

impl Difference {
    fn between(key: Key, own: Option<Shared>, theirs: Option<Shared>) -> Option<Self> {
        let merged = match (&own, &theirs) {
            (Some(own), Some(theirs)) => own.merge(theirs),
            (Some(only), None) | (None, Some(only)) => only.clone(),
            (None, None) => return None,
        };
        let is_incoming = own.as_ref() != Some(&merged);
        let is_outgoing = theirs.as_ref() != Some(&merged);
        let outgoing = is_outgoing.then(|| merged.encode(key.0, &key.1));
        (is_incoming || is_outgoing).then_some(Self {
            key,
            own,
            theirs,
            merged,
            outgoing,
            is_incoming,
        })
    }
}

/// Makes the commit of our side, and has our ref name it: on top of what was pulled last, or of `parents`.
fn commit_own(
    ctx: &Context<'_>,
    store: &Store,
    new: &mut NewObjects,
    (own, parents): (&Own, &[Oid]),
    changes: &[(Key, Option<Vec<u8>>)],
    message: &str,
) -> Result<Oid> {
    let tree = tree::write((&store.objects, new), own.tree.tree, changes)?;
    tree::commit(new, tree, parents, message, ctx.env.now())
}

/// Moves refs of ours to these commits, whatever they named.
pub(super) fn set_refs(store: &Store, new: &NewObjects, refs: &[(&str, Oid)]) -> Result<()> {
    let mut transaction = store.refs.transaction();
    for (name, commit) in refs {
        match store.refs.read(name)? {
            Some(old) if old == *commit => transaction.verify(name, old),
            Some(old) => transaction.update(name, *commit, old),
            None => transaction.create(name, *commit),
        }
    }
    Ok(transaction.commit_with(&store.objects, new)?)
}

fn edits(own: &Own) -> Vec<(Key, Option<Vec<u8>>)> {
    let edited = own.edited.iter();
    edited
        .map(|(key, shared)| (key.clone(), Some(shared.encode(key.0, &key.1))))
        .collect()
}

/// Brings what our records say of conflicts and deletions up to what was edited here: who sets a field again has decided.
fn mark(ctx: &Context<'_>, store: &Store, own: &Own) -> Result<()> {
    for (key, shared) in &own.edited {
        own::put(ctx, store, key, shared, (own.now.get(key), &own.author))?;
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

/// Pushes what the remote lacks.
///
/// # Errors
/// `SECRET_FOUND`; `BUSY` when others were first each time; `IO` when the remote does not take it.
pub fn push(
    ctx: &Context<'_>,
    store: &Store,
    setup: &Setup,
    own: &mut Own,
    allowed: &[String],
) -> Result<Sent> {
    let base = match own.commit {
        Some(commit) => store.objects.commit(commit)?.parents,
        None => Vec::new(),
    };
    let mut last: Option<(Option<Oid>, String)> = None;
    for tries in 1..=TRIES {
        let theirs = fetch(ctx, store, setup)?;
        if let Some((before, why)) = &last
            && *before == theirs
            && !why.contains("lock")
        {
            return Err(not_taken(ctx, setup, &setup.shared_ref, why));
        }
        let plan = Plan::make(ctx, store, own, theirs)?;
        scan::refuse(&plan.findings(ctx, allowed))?;
        let changes: Vec<(Key, Option<Vec<u8>>)> = plan
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
        let ours = commit_own(
            ctx,
            store,
            &mut new,
            (own, &base),
            &edits(own),
            "tw: records of one repository",
        )?;
        let commit = match plan.theirs {
            None => ours,
            Some(theirs) => {
                let tree = tree::write((&store.objects, &mut new), plan.tree, &changes)?;
                tree::commit(
                    &mut new,
                    tree,
                    &[theirs, ours],
                    "tw: records of several repositories",
                    ctx.env.now(),
                )?
            }
        };
        set_refs(
            store,
            &new,
            &[(SHARED_OUTGOING, commit), (SHARED_OWN, ours)],
        )?;
        mark(ctx, store, own)?;
        ctx.progress.begin("pushing", None);
        let pushed = network::push(&ctx.repo, &setup.remote, commit, &setup.shared_ref);
        ctx.progress.end();
        match pushed.map_err(|error| cleaned(ctx, &error))? {
            Pushed::Done => {
                let none = NewObjects::new(store.objects.format());
                set_refs(store, &none, &[(SHARED_SEEN, commit)])?;
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

pub(super) fn not_taken(ctx: &Context<'_>, setup: &Setup, to: &str, why: &str) -> Error {
    let why = ctx.redactor().text(why).text;
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
    let mut random = [0u8; 8];
    getrandom::fill(&mut random)
        .map_err(|error| Error::new(Code::Io, format!("no random numbers: {error}")))?;
    let longest = PAUSE * 3u64.pow(tries - 1);
    std::thread::sleep(Duration::from_millis(u64::from_le_bytes(random) % longest));
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
            match own::put(ctx, store, &one.key, &one.merged, (now, &own.author)) {
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
            store,
            &mut new,
            (own, &[theirs]),
            &changes,
            "tw: records of one repository",
        )?;
        set_refs(store, &new, &[(SHARED_OWN, ours)])?;
    }
    Ok(Received { plan, taken })
}
