//! The snapshots of a worktree in the order of taking: a second is a group, in which the sequence number decides.
//!
//! Reads no more of them than are asked for. Leaves out addresses, which are `address`'s.

use super::Context;
use crate::env::Moment;
use crate::error::{Code, Result};
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};
use crate::store::stored::Stored;
use crate::store::summary::Summary;

/// Which snapshots an address means that names none by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Those of this worktree that were taken in the present.
    #[default]
    Here,
    /// Those of every worktree, and those taken in the past.
    AllWorktrees,
    /// Those that a worktree of this name took in its present, whatever repository it was of.
    AnyRepository,
}

impl Reach {
    fn takes(self, here: &Here, stored: &Stored) -> bool {
        match self {
            Self::Here => here.is_of_present(stored),
            Self::AllWorktrees => true,
            Self::AnyRepository => here.is_of_name(stored),
        }
    }
}

/// What says of a record that it was made in this worktree: the names of worktrees repeat, a clone has a `main`, too.
#[derive(Debug, Clone)]
pub struct Here {
    worktree: String,
    repository: Option<String>,
}

impl Here {
    /// This worktree.
    ///
    /// # Errors
    /// The repository's id cannot be read.
    pub fn of(ctx: &Context<'_>, store: &Store) -> Result<Self> {
        Ok(Self {
            worktree: ctx.repo.worktree_name(),
            repository: store.repository_id()?,
        })
    }

    /// Whether a record of this worktree and this repository was made here.
    pub fn is(&self, worktree: &str, repository_id: &str) -> bool {
        worktree == self.worktree && self.repository.as_deref() == Some(repository_id)
    }

    /// Whether it is a snapshot of this worktree that was taken in the present.
    fn is_of_present(&self, stored: &Stored) -> bool {
        let record = &stored.record;
        self.is(&record.worktree, &record.repository_id) && record.taken_in != "past"
    }

    fn is_of_name(&self, stored: &Stored) -> bool {
        self.is_named(&stored.record.worktree) && stored.record.taken_in != "past"
    }

    /// Whether a worktree has the name of this one, in whatever repository.
    pub fn is_named(&self, worktree: &str) -> bool {
        worktree == self.worktree
    }

    fn lists_stored(&self, stored: &Stored) -> bool {
        let record = &stored.record;
        self.is_named(&record.worktree) && is_in_plain_list(stored.id.kind(), &record.taken_in)
    }

    /// Whether a plain list shows it, the foreign ones of a worktree of this name among them.
    pub fn lists(&self, summary: &Summary) -> bool {
        self.is_named(&summary.worktree) && is_in_plain_list(summary.id.kind(), &summary.taken_in)
    }
}

/// Whether a plain list of its worktree shows it. Backups and experiments may be taken in the past by nature.
pub fn is_in_plain_list(kind: IdKind, taken_in: &str) -> bool {
    kind != IdKind::Snapshot || taken_in != "past"
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
    nth_newest(ctx, store, (kind, Reach::Here), 0, None)
}

/// The newest but so many of a kind within reach, and not after a moment.
///
/// # Errors
/// When refs cannot be read.
pub fn nth_newest(
    ctx: &Context<'_>,
    store: &Store,
    (kind, reach): (IdKind, Reach),
    back: usize,
    until: Option<Moment>,
) -> Result<Option<Stored>> {
    let mut ids = store.ids(kind)?;
    if let Some(until) = until {
        ids.retain(|id| id.time().seconds() <= until.seconds());
    }
    let here = Here::of(ctx, store)?;
    // Most are ours: read on in growing steps until there are enough.
    let mut step = back + 1;
    loop {
        let (found, _) = in_order(store, &ids, Some(step), None);
        let mut taken = found.iter().filter(|stored| reach.takes(&here, stored));
        if let Some(stored) = taken.nth(back) {
            return Ok(Some(stored.clone()));
        }
        if found.len() < step {
            return Ok(None);
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
                && stored.record.worktree == later.record.worktree
                && stored.record.repository_id == later.record.repository_id
                && stored.record.taken_in != "past"
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
pub fn oldest(ctx: &Context<'_>, store: &Store, reach: Reach) -> Result<Option<Stored>> {
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
