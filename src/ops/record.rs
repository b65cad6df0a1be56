//! From a capture to a snapshot commit, and its ref: the order of writing.
//!
//! Objects first (a pack gets its `.keep` before its name), what is only lent among them, then the commits, then the ref in one transaction that verifies the
//! anchor, then a second look at everything that was reused, then the `.keep` goes. A ref whose objects a gc took in between
//! is taken back and the whole is tried again; until it is known to stay nobody answers with it ([`crate::store::recording`]).

mod commits;
mod copies;

use self::commits::Commits;
use super::Context;
use super::caller;
use super::capture::heldcommits::held;
use super::capture::{Capture, CaptureOptions, Storing, Writing, capture, recorded_access};
use super::elsewhere::{Files, MADE_FROM, UNKNOWN};
use crate::env::{Moment, fail_point};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::Durable;
use crate::git::gc;
use crate::git::objects::{KeptPack, ObjectKind, Written};
use crate::git::operation;
use crate::git::refs::Reason;
use crate::git::tree;
use crate::store::Store;
use crate::store::access as access_list;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::names;
use crate::store::snapshot::{
    HeadRecord, IndexRecord, Lists, SnapshotRecord, author_time, encode_commit,
};
use crate::store::state::{State, stored_path};
use crate::store::stored::Stored;
use crate::store::trigger::Trigger;
use crate::text::typed;
use crate::worktree::cache::{self, Meta};
use crate::worktree::manifest::Kind;
use std::convert::Infallible;
use std::ops::ControlFlow;

/// How often a snapshot that a gc tore is tried again.
const TRIES: usize = 4;

/// What is recorded beside what was seen.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Title of the commit.
    pub title: String,
    /// What made it.
    pub trigger: Trigger,
    /// Label given right away.
    pub label: Option<String>,
    /// The session it is made in.
    pub session_id: Option<String>,
    /// That session's agent.
    pub agent: Option<String>,
    /// The session's task.
    pub task_hint: Option<String>,
    /// A dead swap waits for recovery.
    pub interrupted: bool,
    /// Paths that git held for clean although their raw bytes differ.
    pub converted: Vec<Vec<u8>>,
    /// What a swap is about to replace, change or remove.
    pub touched: Vec<Vec<u8>>,
    /// The snapshot that a swap is about to put in place.
    pub target_id: Option<String>,
    /// Other fields of the record.
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// A snapshot, backup or experiment that was just made.
#[must_use]
pub struct Made<'s> {
    /// Its id.
    pub id: SnapshotId,
    /// Its commit.
    pub commit: Oid,
    /// Its record.
    pub record: SnapshotRecord,
    /// What was seen.
    pub capture: Capture<'s>,
    /// The pack that must stay until a swap has ended; None when it was let go already.
    pub kept: Option<KeptPack>,
}

/// Fills the HEAD commits of nested repositories and submodules in, without starting anything.
fn add_nested_heads(ctx: &Context<'_>, lists: &mut Lists) {
    for (path, entry) in &mut lists.uncaptured {
        if [Kind::Nested, Kind::Gitlink]
            .iter()
            .any(|kind| kind.is_reason(&entry.reason))
        {
            entry.head = ctx.repo.nested_head(path).map(|oid| oid.to_string());
        }
    }
}

/// Takes a snapshot, backup or experiment: captures and records, again when a gc came in between.
///
/// # Errors
/// Never an id for what is not wholly stored.
pub fn make<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    kind: IdKind,
    wanted: &CaptureOptions<'_>,
    about: &dyn Fn(&Capture<'_>) -> Result<About>,
) -> Result<Made<'s>> {
    let always = |capture: &Capture<'_>| about(capture).map(ControlFlow::Continue);
    match make_unless::<Infallible>(ctx, store, kind, wanted, &always)? {
        ControlFlow::Continue(made) => Ok(made),
        ControlFlow::Break((never, _)) => match never {},
    }
}

/// [`make`], unless what was captured needs no recording: then that is answered by which `about` breaks off, with what was seen.
/// Either way the working tree is looked at once.
///
/// # Errors
/// As [`make`].
pub fn make_unless<'s, Known>(
    ctx: &Context<'_>,
    store: &'s Store,
    kind: IdKind,
    wanted: &CaptureOptions<'_>,
    about: &dyn Fn(&Capture<'_>) -> Result<ControlFlow<Known, About>>,
) -> Result<ControlFlow<(Known, Capture<'s>), Made<'s>>> {
    for _ in 0..TRIES {
        let capture = capture(ctx, store, wanted)?;
        let about = match about(&capture)? {
            ControlFlow::Continue(about) => about,
            ControlFlow::Break(known) => return Ok(ControlFlow::Break((known, capture))),
        };
        if let Some(made) = record(ctx, store, kind, wanted, capture, &about)? {
            return Ok(ControlFlow::Continue(made));
        }
        // Objects went away underneath: trust nothing that is cached.
        cache::remove(&store.dir.file("cache"))?;
    }
    Err(Error::new(
        Code::Io,
        "objects keep disappearing while the snapshot is taken",
    )
    .hint("is 'git gc --prune=now' running in a loop? Run 'git fsck' and try again"))
}

/// What is written of a snapshot beside its files.
struct Draft {
    record: SnapshotRecord,
    lists: Lists,
    /// Those that are too long for the record.
    long: Vec<(&'static str, Vec<u8>)>,
    has_access: bool,
}

impl Draft {
    fn new(
        ctx: &Context<'_>,
        store: &Store,
        capture: &Capture<'_>,
        about: &About,
        (durable, now): (Durable, Moment),
    ) -> Result<Self> {
        let mut lists = capture.lists();
        add_nested_heads(ctx, &mut lists);
        lists.converted.clone_from(&about.converted);
        let state = store.dir.state()?;
        let mut record = new_record(ctx, store, capture, about, &state, now)?;
        let mut long = record.set_lists(&lists);
        let touched = (durable == Durable::Yes).then_some(about.touched.as_slice());
        let access = recorded_access(ctx, capture, touched)?;
        if let Some(access) = &access {
            long.push((access_list::LIST, access_list::encode(access)));
        }
        Ok(Self {
            record,
            lists,
            long,
            has_access: access.is_some(),
        })
    }

    /// Gives it an id and a number.
    fn name(&mut self, store: &Store, kind: IdKind, now: Moment) -> Result<SnapshotId> {
        // Its tail is random and short: two of one second may be the same.
        let id = loop {
            let id = SnapshotId::generate(kind, now)?;
            if store.refs.read(&names::snapshot_ref(&id))?.is_none() {
                break id;
            }
        };
        self.record.snapshot_id = id.to_string();
        kind.word().clone_into(&mut self.record.kind);
        self.record.seq = store.next_seq()?;
        Ok(id)
    }
}

/// Whether a snapshot has to be on disk before anything else happens.
fn durable(storing: &Storing) -> Durable {
    match storing {
        Storing::Durable(_) => Durable::Yes,
        Storing::Yes | Storing::No => Durable::No,
    }
}

/// Records a capture. `None` when objects that it reuses are gone: capture again.
pub fn record<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    kind: IdKind,
    wanted: &CaptureOptions<'_>,
    mut capture: Capture<'s>,
    about: &About,
) -> Result<Option<Made<'s>>> {
    let durable = durable(&wanted.storing);
    let writer = capture
        .writer
        .take()
        .ok_or_else(|| Error::new(Code::Io, "a capture without a writer cannot be recorded"))?;
    let now = ctx.env.now();
    let mut draft = Draft::new(ctx, store, &capture, about, (durable, now))?;
    let held = held(ctx, store, &capture);
    copies::of_operation(store, &mut capture, &writer, &held)?;
    let commits = Commits {
        objects: &store.objects,
        repository_id: &draft.record.repository_id,
        sink: &Writing(&writer),
    };
    let state_commit = commits.state(&capture, &draft.long, &held)?;
    let index_commit = commits.index(&capture, state_commit)?;
    if !copies::lent(store, &capture, &writer, &held)? {
        return Ok(None);
    }
    let id = draft.name(store, kind, now)?;
    // Before the commit, in which the numbers stand.
    let stats = &mut draft.record.stats;
    (stats.new_objects, stats.new_bytes) = writer.count();
    let parents: Vec<Oid> = capture.head.oid.into_iter().chain([index_commit]).collect();
    let message = draft.record.message(&about.title);
    let bytes = encode_commit(capture.tree, &parents, author_time(now), &message);
    let commit = writer.put(ObjectKind::Commit, &bytes)?;
    if draft.has_access || gives_special_bits(&draft.record, &draft.lists)? {
        // Before there is a ref: whoever finds the snapshot may trust its access list only with this note.
        store.note_made_here(commit, durable)?;
    }
    fail_point("record-objects");
    let written = writer.finish()?;
    fail_point("record-written");
    let new = NewRefs {
        store,
        name: names::snapshot_ref(&id),
        label: about.label.as_deref().map(names::label_ref),
        commit,
        index_commit,
        packed: written.pack.is_some(),
    };
    let Some(kept) = new.make_and_release(ctx, &capture, written, durable)? else {
        return Ok(None);
    };
    keep_recorded(store, wanted, &mut capture, &new);
    if draft.record.seeds_unproven.is_some() {
        super::capture::seeds::remember(store, &id)?;
    }
    Ok(Some(Made {
        id,
        commit,
        record: draft.record,
        capture,
        kept: kept.0,
    }))
}

/// Keeps what was seen for the next capture where a snapshot has all of it already, and nothing was recorded. Else whatever was looked
/// at because its stat data differed, and turned out to be the same, would be read again by each capture until one is recorded.
pub fn keep_known(
    store: &Store,
    wanted: &CaptureOptions<'_>,
    capture: &Capture<'_>,
    known: &Stored,
) {
    let usual = wanted.include.is_empty() && wanted.exclude.is_empty();
    // What had to be written is missing from the snapshot, whatever it says.
    let is_whole = capture
        .writer
        .as_ref()
        .is_some_and(|writer| writer.count().0 == 0);
    if usual && is_whole {
        let name = names::snapshot_ref(&known.id);
        let meta = capture.meta(&name, known.commit, known.index_commit);
        keep_seen(store, wanted, capture, &meta);
    } else {
        capture.keep_moment(store.dir.path(), None);
    }
}

/// Keeps what was seen and recorded for the next capture.
fn keep_recorded(
    store: &Store,
    wanted: &CaptureOptions<'_>,
    capture: &mut Capture<'_>,
    new: &NewRefs<'_>,
) {
    // With other globs than usual the manifest is not what the next capture would see.
    if wanted.include.is_empty() && wanted.exclude.is_empty() {
        let meta = capture.meta(&new.name, new.commit, new.index_commit);
        keep_seen(store, wanted, capture, &meta);
        capture.recorded = Some(meta);
    }
}

/// Keeps what was seen for the next capture.
fn keep_seen(store: &Store, wanted: &CaptureOptions<'_>, capture: &Capture<'_>, meta: &Meta) {
    // One that is quiet has no manifest to keep: nothing in it differs from the one that is there.
    let outdates = capture.outdates(meta) && !capture.is_quiet && !wanted.leave_cache;
    let saved = outdates.then(|| {
        // The snapshot stands. Without a new cache, which names its anchor, the old one serves.
        store.dir.create().and_then(|()| {
            let file = store.dir.file("cache");
            cache::save(&file, &capture.manifest, meta, store.objects.format())
        })
    });
    match saved {
        Some(Ok(identity)) => capture.keep_moment(store.dir.path(), Some((identity, meta))),
        None if !capture.is_quiet => capture.keep_moment(store.dir.path(), None),
        _ => {}
    }
}

/// Whether a record has setuid, setgid or sticky bits, which only what this machine made gives back.
fn gives_special_bits(record: &SnapshotRecord, lists: &Lists) -> Result<bool> {
    let is_special = |mode: u32| mode & 0o7000 != 0;
    for mode in [0o100_644, 0o100_755, tree::DIR_MODE] {
        if is_special(record.default_permissions(mode)?) {
            return Ok(true);
        }
    }
    Ok(lists.modes.values().any(|mode| is_special(*mode)))
}

/// The new pack of a snapshot, where it must stay.
struct StillKept(Option<KeptPack>);

/// The refs of a snapshot that is being made.
struct NewRefs<'a> {
    store: &'a Store,
    name: String,
    label: Option<String>,
    commit: Oid,
    index_commit: Oid,
    /// The new objects are in a pack, which its `.keep` holds.
    packed: bool,
}

impl NewRefs<'_> {
    /// Makes the refs, and looks once more whether everything beneath them is there. False: not all is, and they are gone
    /// again, as they are after an error.
    fn make(
        &self,
        ctx: &Context<'_>,
        capture: &Capture<'_>,
        written: &Written,
        durable: Durable,
    ) -> Result<bool> {
        let label = self.label.as_deref();
        if durable == Durable::Yes {
            // What it reuses was written without waiting, by earlier snapshots or by git.
            self.store.wait_for_objects()?;
        }
        // Who takes this snapshot for the newest meanwhile waits until it is known whether it stays.
        let _unsettled = self.store.unsettled_ref();
        if !create_refs(self.store, capture, &self.name, label, self.commit, durable)? {
            return Ok(false);
        }
        fail_point("record-ref");
        let whole = self.is_whole(ctx, capture, written);
        if !matches!(whole, Ok(true)) {
            self.take_back()?;
        }
        whole
    }

    /// Makes the refs, and lets the new pack go that they hold, unless a swap needs it to its end.
    /// None: not all is there.
    fn make_and_release(
        &self,
        ctx: &Context<'_>,
        capture: &Capture<'_>,
        mut written: Written,
        durable: Durable,
    ) -> Result<Option<StillKept>> {
        let pack = written.pack.take();
        match self.make(ctx, capture, &written, durable) {
            Ok(true) => {}
            Ok(false) => {
                release(pack)?;
                return Ok(None);
            }
            Err(error) => {
                // The error to report is the first; a `.keep` that stays is cleared away when this process is dead.
                let _ = release(pack);
                return Err(error);
            }
        }
        if durable == Durable::Yes {
            return Ok(Some(StillKept(pack)));
        }
        // The refs hold it: what could not be removed now is cleared away later, and no reason to say that it failed.
        let _ = release(pack);
        Ok(Some(StillKept(None)))
    }

    fn is_whole(
        &self,
        ctx: &Context<'_>,
        capture: &Capture<'_>,
        written: &Written,
    ) -> Result<bool> {
        // One that began before the ref was there does not know of it. Asked first: one that has ended by now has taken what it
        // will take, which the look that follows finds.
        if !capture.afresh && gc::is_running(ctx.repo.common_dir()) {
            return Ok(false);
        }
        let objects = &self.store.objects;
        objects.refresh();
        let mut whole = objects.still_has(&written.reused);
        if !self.packed {
            // A bare `git prune` that began before the refs were there knows nothing of them.
            whole = whole && objects.still_has(&written.written);
        }
        if whole && !capture.anchored(ctx, self.store)? {
            whole = capture.missing(self.store).is_empty() && objects.contains(self.index_commit);
        }
        Ok(whole)
    }

    fn take_back(&self) -> Result<()> {
        let mut back = self.store.refs.transaction();
        back.delete(&self.name, Some(self.commit));
        if let Some(label) = &self.label {
            back.delete(label, Some(self.commit));
        }
        Ok(back.commit()?)
    }
}

fn release(pack: Option<KeptPack>) -> Result<()> {
    pack.map_or(Ok(()), KeptPack::release)
}

/// Makes the refs while the anchor stands; false when it does not any more.
fn create_refs(
    store: &Store,
    capture: &Capture<'_>,
    ref_name: &str,
    label: Option<&str>,
    commit: Oid,
    durable: Durable,
) -> Result<bool> {
    let mut transaction = store.refs.transaction();
    if let Some((anchor, anchor_commit)) = &capture.anchor {
        transaction.verify(anchor, *anchor_commit);
    }
    transaction.create(ref_name, commit);
    if let Some(label) = label {
        transaction.create(label, commit);
    }
    if durable == Durable::Yes {
        transaction.durable();
    }
    match transaction.commit() {
        Ok(()) => Ok(true),
        Err(error) => match (&error.reason, &capture.anchor) {
            (Reason::Changed { .. }, Some((anchor, _))) if error.name == *anchor => Ok(false),
            (Reason::Exists { .. }, _) if Some(error.name.as_str()) == label => {
                Err(label_taken(names::label_of(&error.name)))
            }
            _ => Err(error.into()),
        },
    }
}

/// The error of a label that another snapshot has.
pub fn label_taken(name: &str) -> Error {
    Error::new(Code::InvalidLabel, format!("label '{name}' is taken"))
        .hint(format!("run 'tw label --remove {}' first", typed(name)))
}

fn new_record(
    ctx: &Context<'_>,
    store: &Store,
    capture: &Capture<'_>,
    about: &About,
    state: &State,
    now: Moment,
) -> Result<SnapshotRecord> {
    let mut record = SnapshotRecord::new("", "snapshot");
    record.created_at = now.rfc3339();
    let (session, agent) = (about.session_id.as_deref(), about.agent.as_deref());
    (record.session_id, record.agent) = caller::recorded(ctx, state, session, agent);
    record.worktree = ctx.repo.worktree_name();
    record.worktree_id = store.ensure_worktree_id()?;
    record.workspace_root = ctx.repo.worktree_root().display().to_string();
    record.trigger.clone_from(&about.trigger);
    record.label.clone_from(&about.label);
    record.initial_task_hint.clone_from(&about.task_hint);
    record.exclude_globs.clone_from(&capture.exclude_globs);
    record.env_fingerprint = super::fingerprint::fingerprint(ctx, store)?;
    record.head = HeadRecord::from(&capture.head);
    let kinds = operation::kinds(&capture.operation);
    record.in_progress = (!kinds.is_empty()).then(|| kinds.join("+"));
    record.index = IndexRecord::default();
    for (path, mode) in &capture.index.intent_modes {
        let path = stored_path(path);
        record
            .index
            .intent_to_add_modes
            .insert(path, format!("{mode:06o}"));
    }
    record.repository_id = store.ensure_repository_id()?;
    record.taken_in = state.mode.into();
    record.default_modes = capture.derived().default_modes();
    record.stats = capture.derived().stats();
    record.ignored = Some(capture.derived().ignored());
    let unproven = capture.derived().unproven;
    record.seeds_unproven = (unproven > 0).then_some(unproven);
    record.interrupted = about.interrupted;
    record.target_id.clone_from(&about.target_id);
    record.extra.clone_from(&about.extra);
    // What cannot be read says so to whoever goes there, and stops no snapshot.
    let made_from = match Files::of_worktree_in(store, state) {
        Ok(Files::OfHere) => None,
        Ok(Files::FromElsewhere { snapshot, .. }) => Some(snapshot.to_string()),
        Err(_) => Some(UNKNOWN.to_owned()),
    };
    let made_from = made_from.map(|from| (MADE_FROM.to_owned(), from.into()));
    record.extra.extend(made_from);
    Ok(record)
}
