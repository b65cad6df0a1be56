//! Snapshots, backups and experiments by time, read as they are asked for.
//!
//! The first few are read one by one, so that a first page costs the same however many are kept. Whoever reads on gets the
//! rest from `store::summary`, which has not read most of them since last time.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::meta::Meta;
use crate::env::Moment;
use crate::error::{Code, Result};
use crate::ops::history::MadeIn;
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId};

/// This many are read one by one.
const SINGLY: usize = 200;

/// All that have a ref.
pub(super) struct Records<'c> {
    store: &'c Store,
    /// Those that are given.
    kinds: Vec<IdKind>,
    /// Of those kinds, and all snapshots; newest second first.
    ids: Vec<SnapshotId>,
    /// The first that was not given yet.
    next: usize,
    read: RefCell<HashMap<SnapshotId, Option<Arc<Meta>>>>,
    singly: Cell<usize>,
    invalid: RefCell<Vec<(String, String)>>,
}

impl<'c> Records<'c> {
    /// Reads the names; those after `until` are passed over, and other kinds are not given.
    pub(super) fn new(store: &'c Store, kinds: &[IdKind], until: Option<Moment>) -> Result<Self> {
        let mut ids = Vec::new();
        for kind in IdKind::ALL {
            // What a snapshot changed is told by the one before it.
            if kinds.contains(&kind) || kind == IdKind::Snapshot {
                ids.extend(store.ids(kind)?);
            }
        }
        ids.sort_unstable_by_key(|id| Reverse(id.time()));
        let until = until.map(Moment::seconds);
        let after = |id: &SnapshotId| until.is_some_and(|until| id.time().seconds() > until);
        let mut records = Self {
            store,
            kinds: kinds.to_vec(),
            next: ids.partition_point(after),
            ids,
            read: RefCell::default(),
            singly: Cell::new(0),
            invalid: RefCell::default(),
        };
        records.pass_over();
        Ok(records)
    }

    /// Goes on to one that is to be given.
    fn pass_over(&mut self) {
        let mut rest = self.ids.get(self.next..).unwrap_or_default().iter();
        let wanted = rest.position(|id| self.kinds.contains(&id.kind()));
        self.next = wanted.map_or(self.ids.len(), |more| self.next + more);
    }

    /// The second of the newest that was not given yet.
    pub(super) fn second(&self) -> Option<i64> {
        self.ids.get(self.next).map(|id| id.time().seconds())
    }

    /// Those of the newest second, in no order, which are given with this.
    pub(super) fn take_second(&mut self) -> Result<Vec<Arc<Meta>>> {
        let from = self.next;
        let to = self.end_of_second(from);
        self.next = to;
        self.pass_over();
        self.metas(from, to)
    }

    fn end_of_second(&self, from: usize) -> usize {
        let rest = self.ids.get(from..).unwrap_or_default();
        let first = rest.first().map(SnapshotId::time);
        from + rest
            .iter()
            .take_while(|id| Some(id.time()) == first)
            .count()
    }

    fn metas(&self, from: usize, to: usize) -> Result<Vec<Arc<Meta>>> {
        let ids = self.ids.get(from..to).unwrap_or_default().iter();
        let wanted = ids.filter(|id| self.kinds.contains(&id.kind()));
        let metas = wanted.filter_map(|id| self.meta(id).transpose());
        metas.collect()
    }

    /// One of them; None when there is none such, or it cannot be read.
    pub(super) fn meta(&self, id: &SnapshotId) -> Result<Option<Arc<Meta>>> {
        if let Some(known) = self.read.borrow().get(id) {
            return Ok(known.clone());
        }
        if self.singly.get() == SINGLY {
            self.read_all()?;
        }
        self.singly.set(self.singly.get() + 1);
        let known = self.read.borrow().get(id).cloned();
        let meta = match known {
            Some(meta) => meta,
            None => self.read_one(id),
        };
        self.read.borrow_mut().insert(*id, meta.clone());
        Ok(meta)
    }

    fn read_one(&self, id: &SnapshotId) -> Option<Arc<Meta>> {
        match self.store.read_id(id) {
            Ok(stored) => Some(Arc::new(Meta::from(stored))),
            Err(error) => {
                // What was forgotten while we looked is no news.
                if error.code() != Code::SnapshotNotFound {
                    let said = (id.to_string(), error.message().to_owned());
                    self.invalid.borrow_mut().push(said);
                }
                None
            }
        }
    }

    fn read_all(&self) -> Result<()> {
        let mut kinds = self.kinds.clone();
        if !kinds.contains(&IdKind::Snapshot) {
            kinds.push(IdKind::Snapshot);
        }
        let all = self.store.summaries(&kinds)?;
        let mut read = self.read.borrow_mut();
        for summary in all.found {
            let id = summary.id;
            read.entry(id)
                .or_insert_with(|| Some(Arc::new(Meta::from(summary))));
        }
        Ok(())
    }

    /// The snapshot taken before this one in the same worktree and in the present; of one taken in the past there is none: what
    /// it was made from is another time.
    pub(super) fn before(&self, meta: &Meta) -> Result<Option<Arc<Meta>>> {
        if meta.is_of_past() {
            return Ok(None);
        }
        let time = meta.id.time();
        let mut from = self.ids.partition_point(|id| id.time() > time);
        while from < self.ids.len() {
            let to = self.end_of_second(from);
            let mut newest: Option<Arc<Meta>> = None;
            for id in self.ids.get(from..to).unwrap_or_default() {
                if id.kind() != IdKind::Snapshot || *id == meta.id {
                    continue;
                }
                let Some(other) = self.meta(id)? else {
                    continue;
                };
                let fits =
                    MadeIn::from(&*other).is_with(&MadeIn::from(meta)) && !other.is_of_past();
                // Within its own second the number decides.
                let older = id.time() < time || other.seq < meta.seq;
                if fits && older && newest.as_ref().is_none_or(|newest| newest.seq < other.seq) {
                    newest = Some(other);
                }
            }
            if newest.is_some() {
                return Ok(newest);
            }
            from = to;
        }
        Ok(None)
    }

    /// What could not be read so far: id and reason.
    pub(super) fn invalid(&self) -> Vec<(String, String)> {
        self.invalid.borrow().clone()
    }
}
