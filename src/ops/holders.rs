//! What needs a snapshot, backup or experiment, so that nobody forgets it.
//!
//! Looked up afresh each time, over all worktrees. One source that cannot be read makes the whole an error: then nothing may
//! be forgotten. The keep rule (age and number) is `retention`'s and not told here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;

use super::Context;
use super::history::Here;
use super::kept;
use super::replays::Replay;
use super::swap::undo_log::{self, Log};
use super::tries::{Try, TryRun};
use super::unsaved;
use super::worktrees::{self, Worktree, unreadable};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::notes::{blob_bytes, notes_at};
use crate::git::objects::ObjectStore;
use crate::git::repo::Repo;
use crate::store::Store;
use crate::store::id::{IdKind, IssueId, SnapshotId};
use crate::store::issue::Status;
use crate::store::names::{self, Record, RecordKind, session_component};
use crate::store::records::Json;
use crate::store::snapshot::SnapshotRecord;
use crate::store::state::{Mode, State};
use crate::store::workspace::Covered;
use crate::text::{typed_path, without_mark};

/// A session is live this long after its last sign of life.
pub const LIVE_SECONDS: i64 = 24 * 3600;
/// A chat without its issue is a report under way this long.
pub const ORPHAN_SECONDS: i64 = 24 * 3600;

/// Whether `--force` lets go of what something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldStrength {
    /// Labels, issues, sessions, open directories, this worktree's undo levels.
    Loose,
    /// States and journals, what alone has bytes of the present while a stay lasts, and the undo levels of other worktrees.
    Firm,
}

/// One thing that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// For messages, such as `label 'good'`.
    pub text: String,
    /// Whether `--force` lets go.
    pub grip: HoldStrength,
}

/// How long sessions hold their checkpoints.
#[derive(Debug, Clone, Copy)]
pub struct RetentionScope {
    /// Now.
    pub now: Moment,
    /// Checkpoints of sessions younger than this are held; live sessions always.
    pub keep_days: u32,
    /// The protocol's rule: an earlier session of this worktree counts as ended.
    pub strict: bool,
}

/// Everything that holds something, by what it names.
#[derive(Debug, Default)]
pub struct Holders {
    ids: HashMap<String, Vec<Holder>>,
    commits: HashMap<Oid, Vec<Holder>>,
    /// Chats whose issue does not exist, older than [`ORPHAN_SECONDS`]: their refs.
    pub orphans: Vec<(String, Oid)>,
    /// Worktrees whose directories are gone: how they are called in messages, and what can be done about them.
    gone: Vec<(String, String)>,
}

impl Holders {
    /// What holds this one.
    pub fn of(&self, id: &SnapshotId, commit: Oid) -> Vec<&Holder> {
        let by_id = self.ids.get(&id.to_string()).into_iter().flatten();
        let by_commit = self.commits.get(&commit).into_iter().flatten();
        let mut found: Vec<&Holder> = Vec::new();
        for holder in by_id.chain(by_commit) {
            if !found.contains(&holder) {
                found.push(holder);
            }
        }
        found
    }

    /// What can be done about a holder that is a worktree whose directory is gone.
    pub fn if_gone(&self, holder: &Holder) -> Option<&str> {
        let (_, way_out) = self
            .gone
            .iter()
            .find(|(called, _)| holder.text.ends_with(called))?;
        Some(way_out)
    }

    fn id(&mut self, id: &str, grip: HoldStrength, text: String) {
        let holders = self.ids.entry(id.to_owned()).or_default();
        holders.push(Holder { text, grip });
    }

    fn commit(&mut self, commit: Oid, grip: HoldStrength, text: String) {
        let holders = self.commits.entry(commit).or_default();
        holders.push(Holder { text, grip });
    }
}

/// Finds everything that holds. Undo levels whose files are in `gone` do not count.
///
/// # Errors
/// When one source cannot be read, naming it.
pub fn find(
    ctx: &Context<'_>,
    store: &Store,
    reach: RetentionScope,
    gone: &[PathBuf],
) -> Result<Holders> {
    let mut holders = Holders::default();
    for worktree in worktrees::all(&ctx.repo)? {
        let own = worktree.git_dir == ctx.repo.git_dir();
        let way_out = worktrees::if_gone(&ctx.repo, &worktree);
        let called = format!("worktree '{}'", worktree.name);
        holders
            .gone
            .extend(way_out.map(|way_out| (called, way_out)));
        of_worktree(&mut holders, &worktree, own, gone).map_err(|error| {
            unreadable(&ctx.repo, &worktree, error).hint("nothing was forgotten")
        })?;
        of_head(ctx, store, &mut holders, &worktree)
            .map_err(|error| error.hint("nothing was forgotten"))?;
    }
    of_runs(ctx, &mut holders).map_err(|error| error.hint("nothing was forgotten"))?;
    of_labels(store, &mut holders)
        .and_then(|()| of_sessions(ctx, reach, &mut holders))
        .and_then(|()| of_records(ctx, store, reach, &mut holders))
        .map_err(|error| error.hint("nothing was forgotten; run 'tw doctor'"))?;
    Ok(holders)
}

fn of_labels(store: &Store, holders: &mut Holders) -> Result<()> {
    for (name, commit) in store.refs.read_all(names::LABELS)? {
        let text = format!("label '{}'", names::label_of(&name));
        holders.commit(commit?, HoldStrength::Loose, text);
    }
    Ok(())
}

/// Tries and replays hold what their runs left, and what they began with.
fn of_runs(ctx: &Context<'_>, holders: &mut Holders) -> Result<()> {
    let mut hold = |runs: &[TryRun], more: &str, text: &str| {
        let left = runs.iter().filter_map(|run| run.experiment_id.as_deref());
        for id in left.chain([more]) {
            holders.id(id, HoldStrength::Loose, text.to_owned());
        }
    };
    for one in kept::all::<Try>(ctx)?.complete()? {
        hold(&one.runs, &one.source, &format!("try {}", one.try_id));
    }
    for one in kept::all::<Replay>(ctx)?.complete()? {
        let text = format!("replay {}", one.replay_id);
        for result in &one.results {
            hold(&result.runs, &one.present, &text);
        }
    }
    Ok(())
}

fn of_worktree(
    holders: &mut Holders,
    worktree: &Worktree,
    own: bool,
    gone: &[PathBuf],
) -> Result<()> {
    let name = &worktree.name;
    let state = worktree.dir.state()?;
    of_state(holders, &state, name)?;
    if let (Mode::Past, Some(backup)) = (state.mode, &state.backup_id) {
        for id in unsaved::saved_in(&worktree.dir, backup)? {
            holders.id(&id, HoldStrength::Firm, way_back_of(name));
        }
    }
    if let Some(journal) = worktree.dir.journal_head()? {
        let text = format!("the unfinished {} of worktree '{name}'", journal.operation);
        let session = [&journal.state_before, &journal.state_after]
            .into_iter()
            .filter_map(|state| state.session_snapshot_id.as_deref());
        for id in undo_log::needs(&journal).into_iter().chain(session) {
            holders.id(id, HoldStrength::Firm, text.clone());
        }
    }
    for log in Log::ALL {
        for level in undo_log::heads(&worktree.dir, log)? {
            let level = level?;
            if gone.contains(&level.path) {
                continue;
            }
            let grip = if own {
                HoldStrength::Loose
            } else {
                HoldStrength::Firm
            };
            for id in level.needs() {
                holders.id(id, grip, format!("the {log} log of worktree '{name}'"));
            }
        }
    }
    if let Some(opened) = worktrees::opened(&worktree.dir)? {
        let text = format!("open directory '{}'", opened.dir);
        holders.id(&opened.snapshot_id, HoldStrength::Loose, text);
    }
    Ok(())
}

/// A member keeps what the snapshots and backups of its head name.
fn of_head(
    ctx: &Context<'_>,
    store: &Store,
    holders: &mut Holders,
    worktree: &Worktree,
) -> Result<()> {
    let (Some(pointer), Some(own)) = (worktree.dir.pointer()?, store.repository_id()?) else {
        return Ok(());
    };
    let root = worktree.dir.root_of_head(&pointer)?;
    let flag = worktrees::root(worktree).map(|root| format!("-C {} ", typed_path(&root)));
    let flag = flag.unwrap_or_default();
    let to_leave = worktrees::if_gone(&ctx.repo, worktree);
    let to_leave =
        to_leave.unwrap_or_else(|| format!("to leave the workspace: 'tw {flag}workspace off'"));
    let head = Repo::discover(&root, ctx.env).map_err(|error| {
        error
            .while_doing("the head of the workspace")
            .hint(&to_leave)
    })?;
    let head = Store::open(&Rc::new(head), ctx.settings.file_wait())?;
    // The way there may lead into another repository by now, which knows nothing of what the head names.
    if head.repository_id()?.as_ref() != Some(&pointer.repository_id) {
        let message = format!("the head of the workspace is not at '{}'", root.display());
        return Err(Error::new(Code::WorkspaceMember, message).hint(to_leave));
    }
    let drop = format!("'tw -C {} drop", typed_path(&root));
    for kind in [IdKind::Snapshot, IdKind::Backup] {
        for id in head.ids(kind)? {
            let stored = match head.read_id(&id) {
                // Forgotten meanwhile.
                Err(error) if error.code() == Code::SnapshotNotFound => continue,
                read => read.map_err(|error| {
                    let named = error.while_doing("the head of the workspace");
                    named.hint(format!(
                        "{drop} {id}' forgets it, when it is damaged for good"
                    ))
                })?,
            };
            let covered = match Covered::read(&stored.record.extra) {
                // What another repository's record says is nothing to go by.
                Err(_) if head.is_foreign(&stored)? => continue,
                read => read.map_err(|error| error.while_doing(format!("cannot read '{id}'")))?,
            };
            for one in covered {
                if let (true, Some(member)) = (one.repository_id == own, one.snapshot_id) {
                    let text = format!("'{id}' of the workspace's head");
                    holders.id(&member, HoldStrength::Loose, text);
                }
            }
        }
    }
    Ok(())
}

fn of_state(holders: &mut Holders, state: &State, name: &str) -> Result<()> {
    let uses = [
        (
            &state.current_snapshot_id,
            HoldStrength::Firm,
            "the past of",
        ),
        // A session can go on without its snapshot.
        (
            &state.session_snapshot_id,
            HoldStrength::Loose,
            "the session of",
        ),
    ];
    for (id, grip, use_of) in uses {
        if let Some(id) = id {
            holders.id(id, grip, format!("{use_of} worktree '{name}'"));
        }
    }
    if let Some(id) = &state.backup_id {
        holders.id(id, HoldStrength::Firm, way_back_of(name));
    }
    if let Some(commit) = &state.backup_commit {
        holders.commit(
            Oid::from_hex(commit)?,
            HoldStrength::Firm,
            way_back_of(name),
        );
    }
    Ok(())
}

fn way_back_of(name: &str) -> String {
    format!("the way back of worktree '{name}'")
}

/// The tips of a record's notes ref and backing ref: the same commit, unless somebody moved one.
type Tips = BTreeMap<Record, BTreeSet<Oid>>;

/// Every record with its tips. Broken refs are left out.
pub fn record_tips(store: &Store) -> Result<Tips> {
    Ok(tips_and_broken(store)?.0)
}

/// Every record with its tips, and why those without any have none: all that is there of them is broken refs.
fn tips_and_broken(store: &Store) -> Result<(Tips, BTreeMap<Record, Error>)> {
    let mut tips = Tips::new();
    let mut broken = BTreeMap::new();
    for kind in RecordKind::ALL {
        let Some(notes_ref) = kind.note_prefix() else {
            continue;
        };
        let of_notes = store.refs.read_all(notes_ref)?.into_iter();
        let of_notes = of_notes.map(|(name, tip)| (Record::parse_note_ref(&name), tip));
        let backing = store.refs.read_all(&kind.record_prefix())?.into_iter();
        let backing = backing.map(|(name, tip)| (Record::parse_record_ref(&name), tip));
        for (record, tip) in of_notes.chain(backing) {
            match (record, tip) {
                (None, _) => {}
                (Some(record), Ok(tip)) => {
                    tips.entry(record).or_default().insert(tip);
                }
                (Some(record), Err(error)) if error.code() == Code::CorruptRecord => {
                    broken.insert(record, error);
                }
                (Some(_), Err(error)) => return Err(error),
            }
        }
    }
    broken.retain(|record, _| !tips.contains_key(record));
    Ok((tips, broken))
}

fn of_records(
    ctx: &Context<'_>,
    store: &Store,
    reach: RetentionScope,
    holders: &mut Holders,
) -> Result<()> {
    let (tips, broken) = tips_and_broken(store)?;
    if let Some((record, error)) = broken.into_iter().next() {
        return Err(error.while_doing(format!("{record} cannot be read")));
    }
    let has_issue = |id: &IssueId| tips.contains_key(&Record::Issue(*id));
    for (record, tips) in &tips {
        match record {
            Record::Issue(_) => {
                for (annotated, text) in issue_notes(&store.objects, record, tips)? {
                    holders.commit(annotated, HoldStrength::Loose, record.to_string());
                    of_issue(holders, record, &text);
                }
            }
            Record::Chat(id) if !has_issue(id) && is_old(id.time(), reach, ORPHAN_SECONDS) => {
                holders.orphans.extend(orphan_refs(store, record)?);
            }
            Record::Chat(_) => {
                for (annotated, _) in notes(&store.objects, record, tips)? {
                    holders.commit(annotated, HoldStrength::Loose, record.to_string());
                }
            }
            Record::Session(name) => {
                for annotated in session_notes(ctx, store, reach, name, record, tips)? {
                    holders.commit(annotated, HoldStrength::Loose, record.to_string());
                }
            }
            Record::Label(_) => {}
        }
    }
    Ok(())
}

fn is_old(at: Moment, reach: RetentionScope, seconds: i64) -> bool {
    at < reach.now.minus_seconds(seconds)
}

fn orphan_refs(store: &Store, record: &Record) -> Result<Vec<(String, Oid)>> {
    let mut refs = Vec::new();
    for name in record.note_ref().into_iter().chain([record.record_ref()]) {
        if let Some(tip) = store.refs.read(&name)? {
            refs.push((name, tip));
        }
    }
    Ok(refs)
}

/// A note: what it annotates, and its text.
type NoteText = (Oid, Vec<u8>);

/// The notes of a record, of both its refs. Where one of them leads nowhere the other one counts: who reads the record next puts it
/// right.
fn notes(objects: &ObjectStore, record: &Record, tips: &BTreeSet<Oid>) -> Result<Vec<NoteText>> {
    let mut found = Vec::new();
    let mut led_anywhere = false;
    let mut failed: Option<Error> = None;
    for tip in tips {
        match notes_of(objects, record, *tip) {
            Ok(notes) => {
                led_anywhere = true;
                found.extend(notes);
            }
            Err(error) if objects.is_no_commit(*tip)? => failed = Some(error),
            Err(error) => return Err(error),
        }
    }
    match failed {
        Some(error) if !led_anywhere => Err(error),
        _ => Ok(found),
    }
}

/// The notes of a commit of a record. One that cannot be read may name anything.
fn notes_of(objects: &ObjectStore, record: &Record, commit: Oid) -> Result<Vec<NoteText>> {
    let read = || -> Result<Vec<NoteText>> {
        let notes = notes_at(objects, commit)?.into_iter();
        notes
            .map(|(annotated, blob)| Ok((annotated, blob_bytes(objects, blob)?)))
            .collect()
    };
    read().map_err(|error| error.while_doing(record))
}

/// The notes of an issue, and where they say nothing those of the commits before, as far as to one that does: plain git may have taken
/// the note away, or written over it, and the way back leads to the one before.
fn issue_notes(
    objects: &ObjectStore,
    record: &Record,
    tips: &BTreeSet<Oid>,
) -> Result<Vec<NoteText>> {
    let mut found = notes(objects, record, tips)?;
    let mut seen = tips.clone();
    let mut pending: Vec<Oid> = tips.iter().copied().collect();
    while !found.iter().any(|(_, text)| issue_of(text).is_some())
        && let Some(commit) = pending.pop()
    {
        if objects.is_no_commit(commit)? {
            continue;
        }
        for parent in objects.commit(commit)?.parents {
            // The history may end there, as in a shallow clone.
            if seen.insert(parent) && !objects.is_no_commit(parent)? {
                found.extend(notes_of(objects, record, parent)?);
                pending.insert(0, parent);
            }
        }
    }
    Ok(found)
}

/// What a note says, when it is an issue by its form.
fn issue_of(text: &[u8]) -> Option<Json> {
    serde_json::from_slice(without_mark(text)).ok()
}

/// What an issue names besides: its snapshot, which its note does not annotate where the issue came from elsewhere before that, and
/// while it is not closed its runs' backups and experiments.
fn of_issue(holders: &mut Holders, record: &Record, text: &[u8]) {
    // What is no issue names nothing.
    let issue = issue_of(text).unwrap_or_default();
    if let Some(id) = issue.get("snapshot_id").and_then(Value::as_str) {
        holders.id(id, HoldStrength::Loose, record.to_string());
    }
    let status = issue.get("status").and_then(Value::as_str);
    if status
        .and_then(Status::parse)
        .is_some_and(Status::is_closed)
    {
        return;
    }
    let runs = issue.get("runs").and_then(Value::as_array);
    for run in runs.into_iter().flatten() {
        for field in ["backup_id", "experiment_id"] {
            if let Some(id) = run.get(field).and_then(Value::as_str) {
                holders.id(id, HoldStrength::Loose, format!("a run of {record}"));
            }
        }
    }
}

/// What live sessions work from: all their snapshots. Under the strict rule the current one, and of this worktree's sessions
/// the last one's alone, which the state names.
fn of_sessions(ctx: &Context<'_>, reach: RetentionScope, holders: &mut Holders) -> Result<()> {
    let (records, invalid) = ctx.sessions().list()?;
    if let Some((name, error)) = invalid.into_iter().next() {
        let why = error.message();
        return Err(Error::new(
            error.code(),
            format!("the record of session '{name}' cannot be read: {why}"),
        ));
    }
    let here = Here::of(ctx, ctx.store()?)?;
    for record in records.iter().filter(|record| record.is_live(reach.now)) {
        if reach.strict && here.has_session(record) {
            continue;
        }
        let text = format!("session '{}'", record.session_id);
        let held = if reach.strict { 1 } else { usize::MAX };
        for id in record.snapshot_ids.iter().rev().take(held) {
            holders.id(id, HoldStrength::Loose, text.clone());
        }
    }
    Ok(())
}

/// The snapshots that a session still needs: all of them while it is live or young.
fn session_notes(
    ctx: &Context<'_>,
    store: &Store,
    reach: RetentionScope,
    name: &str,
    record: &Record,
    tips: &BTreeSet<Oid>,
) -> Result<Vec<Oid>> {
    // Every change of a record is a commit: the newest one's date is the last sign of life.
    let time = |tip: &Oid| {
        let commit = store.objects.commit(*tip);
        // One that cannot be read may be of now.
        commit.map_or(reach.now.seconds(), |commit| commit.author_time)
    };
    let last = tips.iter().map(time).max();
    let age = last.map_or(0, |last| reach.now.seconds().saturating_sub(last));
    let kept = i64::from(reach.keep_days) * 24 * 3600;
    if age > kept.max(LIVE_SECONDS) {
        return Ok(Vec::new());
    }
    let mut found: Vec<Oid> = notes(&store.objects, record, tips)?
        .into_iter()
        .map(|(annotated, _)| annotated)
        .collect();
    let own = store.dir.state()?.session_id;
    let is_own = own.is_some_and(|own| session_component(&own) == name);
    if reach.strict && !is_own {
        let here = Here::of(ctx, store)?;
        found.retain(|oid| !was_taken_here(&here, store, *oid));
    }
    Ok(found)
}

fn was_taken_here(here: &Here, store: &Store, commit: Oid) -> bool {
    let record = store
        .commit(commit)
        .and_then(|raw| SnapshotRecord::from_message(&raw.message, "commit"));
    record.is_ok_and(|(_, record)| here.is_named(&record))
}
