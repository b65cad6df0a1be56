//! What the page of `tw web` shows: entries of the timeline page by page, one entry with the paths that it changed, and the
//! lines of one of these.
//!
//! Promises: ids and paths are looked up in the repository, never in the file system; each answer is bounded, and says where
//! the next begins; nothing is written. What an entry is asked for by is what tells it from all others, so that a page goes on
//! where it ended although something was added or forgotten meanwhile. What of an entry is asked for is named by what was shown of
//! it, and refused when it is another by then.

mod compared;
mod lines;
mod mine;
mod shown;
mod summary;

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Context;
use super::pathspec::Pathspec;
use super::timeline::{Entry, EntryKind, Filter, Timeline};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::git::path::RepoPath;
use crate::git::tree::Change;
use crate::store::id::SnapshotId;
use crate::store::state::Mode;

pub use compared::{Compared, PRESENT, compare, lines_with_present};
pub use lines::{Line, Lines, What, between, files};
pub use mine::{Others, of_others};
pub use shown::{ChangeKey, ShownChange};
pub use summary::without_prompts;

/// This many paths of one entry are told at a time.
pub const FILES: usize = 500;
/// An entry may be placed so much later than one that follows it: a snapshot is told of with the end of the turn that took it.
const MARGIN: i64 = 120;

/// What tells an entry from all others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "entry_key")]
pub struct Key {
    /// Its kind.
    pub kind: EntryKind,
    /// Its id.
    pub id: String,
    /// When it happened, RFC 3339.
    pub at: String,
    /// Its session.
    pub session_id: Option<String>,
    /// Its checkpoint.
    pub checkpoint_id: Option<u64>,
}

impl Key {
    /// Returns what names an entry.
    pub fn of(entry: &Entry) -> Self {
        Self {
            kind: entry.kind,
            id: entry.id.clone(),
            at: entry.at.clone(),
            session_id: entry.session_id.clone(),
            checkpoint_id: entry.checkpoint_id,
        }
    }

    fn is_of(&self, entry: &Entry) -> bool {
        (self.kind, &self.id, &self.at) == (entry.kind, &entry.id, &entry.at)
            && (&self.session_id, self.checkpoint_id) == (&entry.session_id, entry.checkpoint_id)
    }

    fn moment(&self) -> Result<Moment> {
        Moment::parse_rfc3339(&self.at)
            .ok_or_else(|| Error::usage("this is not a time of an entry"))
    }
}

/// Some entries, newest first.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The entries, with what each changed.
    pub entries: Vec<Entry>,
    /// Whether older ones follow.
    pub more: bool,
    /// Sentences about what could not be read.
    pub notices: Vec<String>,
}

/// This many entries that are older than a known one; without one the newest.
///
/// # Errors
/// As [`Timeline::new`].
pub fn page(ctx: &Context<'_>, filter: &Filter, after: Option<&Key>, size: usize) -> Result<Page> {
    let mut filter = filter.clone();
    if let Some(after) = after {
        let from = after.moment()?.minus_seconds(-MARGIN);
        filter.until = Some(filter.until.map_or(from, |until| until.min(from)));
    }
    let mut timeline = Timeline::new(ctx, &filter)?;
    let mut entries = Vec::new();
    if let Some(after) = after {
        entries = rest_after(&mut timeline, after)?;
    }
    let missing = (size + 1).saturating_sub(entries.len());
    entries.extend(timeline.page(missing)?);
    let more = entries.len() > size;
    entries.truncate(size);
    timeline.count(&mut entries);
    timeline.tell_prompts(&mut entries);
    Ok(Page {
        entries,
        more,
        notices: notices(&timeline),
    })
}

/// Reads as far as the known entry, and gives what was read beyond it. One that is gone meanwhile is passed by its time.
fn rest_after(timeline: &mut Timeline<'_>, after: &Key) -> Result<Vec<Entry>> {
    let at = after.moment()?;
    loop {
        let mut some = timeline.page(1)?;
        let Some(entry) = some.first() else {
            return Ok(some);
        };
        if after.is_of(entry) {
            return Ok(Vec::new());
        }
        if Moment::parse_rfc3339(&entry.at).is_some_and(|then| then < at) {
            return Ok(std::mem::take(&mut some));
        }
    }
}

/// What could not be read.
pub fn notices(timeline: &Timeline<'_>) -> Vec<String> {
    let invalid = timeline.invalid().into_iter();
    invalid
        .map(|(what, why)| format!("{what} cannot be read: {why}"))
        .collect()
}

/// A path that an entry changed.
#[derive(Debug, Clone, Serialize)]
pub struct File {
    /// The path, for people; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// What was shown of it; not in a file, where it would tell what a content is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<ChangeKey>,
    /// `A`, `M`, `D` or `T`, as for `tw diff`.
    pub status: char,
    /// Git's mode before, in octal; None where there was nothing.
    pub old_mode: Option<String>,
    /// Git's mode after.
    pub new_mode: Option<String>,
}

impl File {
    /// Describes a change.
    pub fn of(change: &Change) -> Self {
        let mode =
            |node: Option<crate::git::tree::Node>| node.map(|node| format!("{:06o}", node.mode));
        Self {
            path: RepoPath::new(change.path.clone()).display(),
            key: None,
            status: status(change),
            old_mode: mode(change.old),
            new_mode: mode(change.new),
        }
    }
}

fn status(change: &Change) -> char {
    use crate::git::textdiff::file_type;
    match (change.old, change.new) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some(old), Some(new)) if file_type(old.mode) != file_type(new.mode) => 'T',
        _ => 'M',
    }
}

/// An entry with all of its text and the paths that it changed.
#[derive(Debug, Serialize)]
pub struct Detail {
    /// The entry.
    pub entry: Entry,
    /// Its text: a prompt from its first to its last line.
    pub text: String,
    /// The paths, from the one asked for on; None where it is not known what it changed.
    pub paths: Option<Vec<File>>,
    /// How many paths there are.
    pub total: usize,
    /// What tells all of them from those of another time.
    pub key: ChangeKey,
}

/// This many paths, from this one on, of a list that was shown before; nothing was before the first ones.
#[derive(Debug, Clone, Default)]
pub struct Rest {
    /// The place of the first one.
    pub start: usize,
    /// What the list was.
    pub key: Option<ChangeKey>,
}

impl Rest {
    /// Refuses to go on with another list.
    fn refuse_another(&self, of: &Subject, key: &ChangeKey) -> Result<()> {
        let begins = self.start == 0 && self.key.is_none();
        if begins || self.key.as_ref() == Some(key) {
            return Ok(());
        }
        Err(shown::another(of))
    }
}

/// One entry with the paths that it changed, from this one on.
///
/// # Errors
/// `USAGE` when there is no such entry; `PATH_NOT_FOUND` when it changed others by now; a damaged object.
pub fn detail(ctx: &Context<'_>, filter: &Filter, key: &Key, from: &Rest) -> Result<Detail> {
    let (mut timeline, mut entry) = find(ctx, filter, key)?;
    let changes = timeline.changes(&entry)?;
    timeline.count(std::slice::from_mut(&mut entry));
    timeline.tell_prompts(std::slice::from_mut(&mut entry));
    let all = changes.as_deref().unwrap_or_default();
    let all = ChangeKey::of_all(all);
    from.refuse_another(&Subject::Entry(key.clone()), &all)?;
    let total = changes.as_ref().map_or(0, Vec::len);
    let files = changes.map(|changes| {
        let shown = changes.iter().skip(from.start).take(FILES);
        let file = |change| File {
            key: Some(ChangeKey::of(change)),
            ..File::of(change)
        };
        shown.map(file).collect()
    });
    Ok(Detail {
        text: entry.text.clone(),
        entry,
        paths: files,
        total,
        key: all,
    })
}

/// What a change is of.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// What an entry changed.
    Entry(Key),
    /// What differs between two snapshots: their ids. The second may be `present`.
    Pair(String, String),
}

/// The change that a page was shown of an entry, or between two snapshots.
///
/// # Errors
/// `PATH_NOT_FOUND` when it is another one by now; `SNAPSHOT_NOT_FOUND`.
pub fn change(
    ctx: &Context<'_>,
    filter: &Filter,
    of: &Subject,
    shown: &ShownChange,
) -> Result<Change> {
    let changes = match of {
        Subject::Entry(key) => {
            let (timeline, entry) = find(ctx, filter, key)?;
            timeline.changes(&entry)?.unwrap_or_default()
        }
        Subject::Pair(from, to) => compared::between_snapshots(ctx, from, to)?,
    };
    shown.among(changes).ok_or_else(|| shown::another(of))
}

/// The path of a change of an entry, and the lines of its own snapshot's file, from 1, which name what the so-manyth hunk changed.
///
/// # Errors
/// `PATH_NOT_FOUND` when the change is another one by now, or the hunk has no line there.
pub fn hunk(
    ctx: &Context<'_>,
    filter: &Filter,
    key: &Key,
    (shown, hunk): (&ShownChange, usize),
) -> Result<(Vec<u8>, RangeInclusive<usize>)> {
    let (timeline, entry) = find(ctx, filter, key)?;
    let side = timeline.own_side(&entry)?;
    let changes = timeline.changes(&entry)?.unwrap_or_default();
    let change = shown.among(changes);
    let change = change.ok_or_else(|| shown::another(&Subject::Entry(key.clone())))?;
    let found = lines::of_hunk(&ctx.store()?.objects, &change, hunk, side)?;
    let lines = found.ok_or_else(|| {
        Error::new(Code::PathNotFound, "there are no lines to restore")
            .hint("restore the path as a whole")
    })?;
    Ok((change.path, lines))
}

fn snapshot_id(id: &str) -> Result<SnapshotId> {
    SnapshotId::parse(id).ok_or_else(|| {
        let message = "this is not the id of a snapshot";
        Error::new(Code::InvalidAddress, message)
    })
}

/// The entry of a snapshot: what a hit of a search leads to.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND`.
pub fn entry_of(ctx: &Context<'_>, id: &str) -> Result<Key> {
    let id = snapshot_id(id)?;
    let record = ctx.store()?.read_id(&id)?.record;
    let at = Moment::parse_rfc3339(&record.created_at);
    let filter = Filter {
        since: at,
        until: at,
        all_worktrees: true,
        kinds: vec![EntryKind::Snapshot, EntryKind::Swap],
        ..Filter::default()
    };
    let id = id.to_string();
    let mut timeline = Timeline::new(ctx, &filter)?;
    while let Some(entry) = timeline.page(1)?.first() {
        if entry.id == id {
            return Ok(Key::of(entry));
        }
    }
    Err(gone(&id))
}

/// The entry, and a timeline that tells what it changed: in the paths of the filter, or of one that changed none of these, all.
fn find<'c>(ctx: &'c Context<'_>, filter: &Filter, key: &Key) -> Result<(Timeline<'c>, Entry)> {
    if let Some(found) = find_in(ctx, &filter.paths, key)? {
        return Ok(found);
    }
    // A search looks everywhere, and leads here.
    let everywhere = Pathspec::default();
    find_in(ctx, &everywhere, key)?.ok_or_else(|| gone(&key.id))
}

fn find_in<'c>(
    ctx: &'c Context<'_>,
    paths: &Pathspec,
    key: &Key,
) -> Result<Option<(Timeline<'c>, Entry)>> {
    let at = key.moment()?;
    let filter = Filter {
        since: Some(at),
        until: Some(at.minus_seconds(-MARGIN)),
        paths: paths.clone(),
        all_worktrees: true,
        // Where they are told of with the end of their turn, snapshots are found by themselves, too.
        kinds: vec![key.kind],
        ..Filter::default()
    };
    let mut timeline = Timeline::new(ctx, &filter)?;
    while let Some(entry) = timeline.page(1)?.into_iter().next() {
        if key.is_of(&entry) {
            return Ok(Some((timeline, entry)));
        }
    }
    Ok(None)
}

fn gone(id: &str) -> Error {
    let id = crate::text::visible(id);
    let message = format!("'{id}' is not in the timeline any more");
    Error::new(Code::SnapshotNotFound, message).hint("'tw log' shows what there is")
}

/// Where the working tree is.
#[derive(Debug, Serialize)]
pub struct Place {
    /// `present` or `past`.
    pub mode: Mode,
    /// In the past: the snapshot that was travelled to.
    pub snapshot_id: Option<String>,
    /// The working tree's directory.
    pub worktree: String,
    /// The newest entry.
    pub newest: Option<Key>,
}

/// Tells where the working tree is, and what happened last.
///
/// # Errors
/// The state or the refs cannot be read.
pub fn place(ctx: &Context<'_>, filter: &Filter) -> Result<Place> {
    let state = ctx.state_dir().state()?;
    let mut timeline = Timeline::new(ctx, filter)?;
    let newest = timeline.page(1)?;
    Ok(Place {
        snapshot_id: state
            .current_snapshot_id
            .filter(|_| state.mode == Mode::Past),
        mode: state.mode,
        worktree: ctx.repo.worktree_root().display().to_string(),
        newest: newest.first().map(Key::of),
    })
}
