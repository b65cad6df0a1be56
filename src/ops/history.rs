//! The snapshots of a worktree in the order of taking: a second is a group, in which the sequence number decides.
//!
//! Reads no more of them than are asked for. Leaves out addresses, which are `address`'s.

use super::Context;
use super::worktrees::Worktree;
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::identity::worktree_id_in;
use crate::store::session::SessionRecord;
use crate::store::snapshot::{SnapshotRecord, TakenIn};
use crate::store::stored::Stored;
use crate::store::summary::Summary;

/// How often the newest one may go again before it is answered as it was seen.
const TURNS: u32 = 4;

/// Which snapshots an address means that names none by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SnapshotScope {
    /// Those of this worktree that were taken in the present.
    #[default]
    Here,
    /// Those of every worktree, and those taken in the past.
    AllWorktrees,
    /// Those that a worktree of this name took in its present, whatever repository it was of.
    AnyRepository,
}

impl SnapshotScope {
    fn takes(self, here: &Here, stored: &Stored) -> bool {
        match self {
            Self::Here => here.is_of_present(stored),
            Self::AllWorktrees => true,
            Self::AnyRepository => here.is_of_name(stored),
        }
    }
}

/// What a record says of where it was made.
#[derive(Debug, Clone, Copy)]
pub struct MadeIn<'r> {
    /// The worktree's name.
    pub worktree: &'r str,
    /// Its random id; None where none is recorded.
    pub worktree_id: Option<&'r str>,
    /// The repository's random id.
    pub repository: &'r str,
}

impl<'r> From<&'r SnapshotRecord> for MadeIn<'r> {
    fn from(record: &'r SnapshotRecord) -> Self {
        Self {
            worktree: &record.worktree,
            worktree_id: record.worktree_id.as_deref(),
            repository: &record.repository_id,
        }
    }
}

impl<'r> From<&'r Summary> for MadeIn<'r> {
    fn from(summary: &'r Summary) -> Self {
        Self {
            worktree: &summary.worktree,
            worktree_id: Some(summary.worktree_id.as_str()).filter(|id| !id.is_empty()),
            repository: &summary.repository_id,
        }
    }
}

impl MadeIn<'_> {
    /// Whether two records may be of one worktree. Where one has no id, the name tells.
    pub fn is_with(&self, other: &Self) -> bool {
        let ids = self.worktree_id.zip(other.worktree_id);
        self.worktree == other.worktree
            && self.repository == other.repository
            && ids.is_none_or(|(one, other)| one == other)
    }
}

/// What says of a record that it was made in this worktree: the names of worktrees repeat. A clone has a `main`, too, and a linked
/// one may have the name of one that was removed.
#[derive(Debug, Clone)]
pub struct Here {
    worktree: String,
    is_main: bool,
    /// None for the main worktree, and for a linked one in which nothing was recorded yet: no record has its id.
    worktree_id: Option<String>,
    repository: Option<String>,
}

impl Here {
    /// Reads what tells this worktree from others.
    ///
    /// # Errors
    /// The ids of worktree and repository cannot be read.
    pub fn of(ctx: &Context<'_>, store: &Store) -> Result<Self> {
        Ok(Self {
            worktree: ctx.repo.worktree_name(),
            is_main: !ctx.repo.is_linked_worktree(),
            worktree_id: store.worktree_id()?,
            repository: store.repository_id()?,
        })
    }

    /// Another worktree of this repository.
    ///
    /// # Errors
    /// Its id cannot be read.
    pub fn of_other(&self, worktree: &Worktree) -> Result<Self> {
        let id = (!worktree.is_main).then(|| worktree_id_in(&worktree.dir));
        Ok(Self {
            worktree: worktree.name.clone(),
            is_main: worktree.is_main,
            worktree_id: id.transpose()?.flatten(),
            repository: self.repository.clone(),
        })
    }

    /// The worktree's name.
    pub fn name(&self) -> &str {
        &self.worktree
    }

    /// Its random id, where it has one.
    pub fn worktree_id(&self) -> Option<&str> {
        self.worktree_id.as_deref()
    }

    /// Whether it is this repository's id.
    pub fn is_repository(&self, id: &str) -> bool {
        self.repository.as_deref() == Some(id)
    }

    /// Whether a record of this repository was made here.
    pub fn is<'r>(&self, made: impl Into<MadeIn<'r>>) -> bool {
        let made = made.into();
        self.is_repository(made.repository) && self.is_named(made)
    }

    /// Whether a record says so of a worktree of this repository. One of an earlier version, which has no id, means the name; so does
    /// every one of main, of which there is one.
    pub fn is_worktree(&self, name: &str, id: Option<&str>) -> bool {
        let is_any = self.is_main || id.is_none();
        name == self.worktree && (is_any || id == self.worktree_id.as_deref())
    }

    /// Whether a session works here.
    pub fn has_session(&self, session: &SessionRecord) -> bool {
        self.is_worktree(&session.worktree, session.worktree_id.as_deref())
    }

    /// Whether it was made here, or in a worktree of this name of another repository.
    pub fn is_named<'r>(&self, made: impl Into<MadeIn<'r>>) -> bool {
        let made = made.into();
        let id = made
            .worktree_id
            .filter(|_| self.is_repository(made.repository));
        self.is_worktree(made.worktree, id)
    }

    /// Whether it is a snapshot of this worktree that was taken in the present.
    fn is_of_present(&self, stored: &Stored) -> bool {
        self.is(&stored.record) && stored.record.taken_in != TakenIn::Past
    }

    fn is_of_name(&self, stored: &Stored) -> bool {
        self.is_named(&stored.record) && stored.record.taken_in != TakenIn::Past
    }

    fn lists_stored(&self, stored: &Stored) -> bool {
        let record = &stored.record;
        self.is_named(record) && is_in_plain_list(stored.id.kind(), &record.taken_in)
    }

    /// Whether a plain list shows it, the foreign ones of a worktree of this name among them.
    pub fn lists(&self, summary: &Summary) -> bool {
        self.is_named(summary) && is_in_plain_list(summary.id.kind(), &summary.taken_in)
    }
}

/// Whether a plain list of its worktree shows it. Backups and experiments may be taken in the past by nature.
pub fn is_in_plain_list(kind: IdKind, taken_in: &TakenIn) -> bool {
    kind != IdKind::Snapshot || *taken_in != TakenIn::Past
}

/// What can be read, in order, and what cannot: id and reason.
pub type InOrder = (Vec<Stored>, Vec<(String, String)>);

/// The snapshots of a list of ids (newest second first), in the order of taking, as many as asked: those that a plain list of
/// `here` shows, or all. Unreadable ones are answered apart.
pub fn in_order(
    store: &Store,
    ids: &[SnapshotId],
    limit: Option<usize>,
    here: Option<&Here>,
) -> InOrder {
    let limit = limit.unwrap_or(usize::MAX);
    let mut found: Vec<Stored> = Vec::new();
    let mut invalid = Vec::new();
    let mut at = 0;
    while at < ids.len() && found.len() < limit {
        let second = ids[at].time();
        let end = at
            + ids[at..]
                .iter()
                .take_while(|id| id.time() == second)
                .count();
        let mut same: Vec<Stored> = Vec::new();
        for id in &ids[at..end] {
            match store.read_id(id) {
                Ok(stored) => same.push(stored),
                // Forgotten while we looked.
                Err(error) if error.code() == Code::SnapshotNotFound => {}
                Err(error) => invalid.push((id.to_string(), error.message().to_owned())),
            }
        }
        same.sort_by_key(|stored| std::cmp::Reverse(stored.record.seq));
        found.extend(
            same.into_iter()
                .filter(|stored| here.is_none_or(|here| here.lists_stored(stored))),
        );
        at = end;
    }
    found.truncate(limit);
    (found, invalid)
}

/// The newest of a kind in this worktree, taken in the present.
pub fn newest(ctx: &Context<'_>, store: &Store, kind: IdKind) -> Result<Option<Stored>> {
    nth_newest(ctx, store, (kind, SnapshotScope::Here), 0, None)
}

/// The newest snapshot that was taken here in the past since a backup: in the stay that began with it.
///
/// # Errors
/// When refs cannot be read.
pub fn newest_since(ctx: &Context<'_>, store: &Store, backup: &Stored) -> Result<Option<Stored>> {
    let here = Here::of(ctx, store)?;
    let fits = |stored: &Stored| {
        let record = &stored.record;
        record.taken_in == TakenIn::Past && record.seq > backup.record.seq && here.is(record)
    };
    let mut ids = store.ids(IdKind::Snapshot)?;
    ids.retain(|id| id.time() >= backup.id.time());
    for second in ids.chunk_by(|one, other| one.time() == other.time()) {
        let (found, _) = in_order(store, second, None, None);
        if let Some(newest) = found.into_iter().find(fits) {
            return Ok(Some(newest));
        }
    }
    Ok(None)
}

/// The one of a kind that is this many before the newest one within reach, and not after a moment.
///
/// # Errors
/// When refs cannot be read.
pub fn nth_newest(
    ctx: &Context<'_>,
    store: &Store,
    (kind, reach): (IdKind, SnapshotScope),
    back: usize,
    until: Option<Moment>,
) -> Result<Option<Stored>> {
    let here = Here::of(ctx, store)?;
    let mut newest = Vec::new();
    for _ in 0..TURNS {
        newest = first_newest(store, kind, (reach, &here), (back + 1, until))?;
        // The newest may be one that goes again, while it is recorded.
        if !newest.is_empty() {
            store.wait_until_settled();
        }
        let mut stand = newest.iter().map(|stored| store.stands(stored));
        if stand.try_fold(true, |all, one| Ok::<_, Error>(all && one?))? {
            break;
        }
    }
    Ok(newest.into_iter().nth(back))
}

/// As many of a kind as are asked for, from the newest within reach on, and none after a moment.
fn first_newest(
    store: &Store,
    kind: IdKind,
    (reach, here): (SnapshotScope, &Here),
    (count, until): (usize, Option<Moment>),
) -> Result<Vec<Stored>> {
    let mut ids = store.ids(kind)?;
    if let Some(until) = until {
        ids.retain(|id| id.time().seconds() <= until.seconds());
    }
    // Most are ours: read on in growing steps until there are enough.
    let mut step = count;
    loop {
        let (mut found, _) = in_order(store, &ids, Some(step), None);
        let is_all = found.len() < step;
        found.retain(|stored| reach.takes(here, stored));
        if is_all || found.len() >= count {
            found.truncate(count);
            return Ok(found);
        }
        step = step * 4 + 16;
    }
}

/// The snapshot of a worktree that was the newest when another one of it was taken in the present.
///
/// # Errors
/// When refs cannot be read.
pub fn before(store: &Store, later: &Stored) -> Result<Option<Stored>> {
    let time = later.id.time();
    let mut ids = store.ids(IdKind::Snapshot)?;
    ids.retain(|id| id.time() <= time && *id != later.id);
    for second in ids.chunk_by(|one, other| one.time() == other.time()) {
        let (found, _) = in_order(store, second, None, None);
        let fits = |stored: &Stored| {
            let older = stored.id.time() < time || stored.record.seq < later.record.seq;
            older
                && MadeIn::from(&stored.record).is_with(&MadeIn::from(&later.record))
                && stored.record.taken_in != TakenIn::Past
        };
        if let Some(newest) = found.into_iter().find(fits) {
            return Ok(Some(newest));
        }
    }
    Ok(None)
}

/// The first one within reach that is still kept.
///
/// # Errors
/// When refs cannot be read.
pub fn oldest(ctx: &Context<'_>, store: &Store, reach: SnapshotScope) -> Result<Option<Stored>> {
    let here = Here::of(ctx, store)?;
    let mut ids = store.ids(IdKind::Snapshot)?;
    ids.reverse();
    for second in ids.chunk_by(|one, other| one.time() == other.time()) {
        let (found, _) = in_order(store, second, None, None);
        let mut oldest_first = found.into_iter().rev();
        if let Some(first) = oldest_first.find(|stored| reach.takes(&here, stored)) {
            return Ok(Some(first));
        }
    }
    Ok(None)
}
