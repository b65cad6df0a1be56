//! Our side against the remote's: what either has that the other does not, and what both make of it. What nobody could read does not go, and
//! what stands there and cannot be read is not written over.

use std::collections::BTreeSet;

use super::limits::{too_large_to_send, unreadable, way_out};
use super::own::Own;
use super::record::{Edit, Shared};
use super::scan::{self, Finding};
use super::tree::{ANEW, Key, SharedTree, most_before};
use super::waiting::Waiting;
use super::{Change, Changed, Conflict, Refused};
use crate::error::Result;
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::ops::Context;
use crate::text;

/// One record of which the sides differ.
#[derive(Debug)]
pub struct Difference {
    /// Of which record.
    pub key: Key,
    /// Ours.
    pub own: Option<Waiting>,
    /// The remote's.
    pub theirs: Option<Waiting>,
    /// Both.
    pub merged: Waiting,
    /// The fields of it in which values lost.
    pub conflicts: BTreeSet<String>,
    /// Who is said to have made it, when that was not here.
    pub claimed_by: Option<String>,
    /// Whether that goes, for the remote lacks something.
    pub is_outgoing: bool,
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
    /// Records of ours that do not go and were not looked through for secrets.
    pub unsent: BTreeSet<Key>,
}

impl Plan {
    /// Compares what is here with what the remote has, and merges both.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD` when what the remote has cannot be used at all.
    pub fn make(
        ctx: &Context<'_>,
        depot: Option<&Depot>,
        own: &mut Own,
        theirs: Option<Oid>,
    ) -> Result<Self> {
        let mut there = SharedTree::of_remote(depot, theirs)?;
        own.leave_elsewhere(&there);
        let keys: BTreeSet<Key> = own
            .tree
            .records
            .keys()
            .chain(own.edited.keys())
            .chain(there.records.keys())
            .cloned()
            .collect();
        ctx.progress.begin("merging", Some(keys.len() as u64));
        let mut plan = Self {
            theirs,
            tree: there.tree,
            unsent: own.tree.unreadable.clone(),
            ..Self::default()
        };
        for key in keys {
            ctx.progress.advance(1);
            let (ours, remote) = (own.tree.records.get(&key), there.records.get(&key));
            if ours != remote || own.edited.contains_key(&key) {
                plan.compare(depot, (own, &mut there), key)?;
            }
        }
        ctx.progress.end();
        plan.leave_out_too_many(own, there.count());
        plan.refused = there.refused;
        Ok(plan)
    }

    /// Leaves here what would be more records there than anybody reads.
    fn leave_out_too_many(&mut self, own: &mut Own, there: usize) {
        let mut count = there;
        let mut left = 0;
        // Issues first, as their kinds are ordered.
        for one in &mut self.differences {
            if one.theirs.is_some() || !one.is_outgoing {
                continue;
            }
            if count < most_before(one.key.0) {
                count += 1;
                continue;
            }
            one.is_outgoing = false;
            self.unsent.insert(one.key.clone());
            own.edited.remove(&one.key);
            left += 1;
        }
        self.differences
            .retain(|one| one.is_outgoing || one.is_incoming);
        if left > 0 {
            let left = text::count(left, "new record");
            own.notice(format!(
                "not sent: {left}, for the remote has {there} records; {ANEW}"
            ));
        }
    }

    /// Compares one record. One that a side has and cannot read stays as it is on both.
    fn compare(
        &mut self,
        depot: Option<&Depot>,
        (own, there): (&mut Own, &mut SharedTree),
        key: Key,
    ) -> Result<()> {
        let theirs = there.record(depot, &key)?;
        let is_unread = theirs.is_none() && there.is_there(&key);
        if is_unread || own.stuck.contains(&key) {
            self.unsent.insert(key);
            return Ok(());
        }
        let ours = own.record(depot, &key)?;
        if ours.is_none() && own.tree.is_there(&key) {
            self.unsent.insert(key.clone());
        }
        // Nothing was edited here: it is as if it came for the first time.
        let is_as_there = |ours: &Shared| {
            let says = |theirs: &Shared| theirs.says(&ours.view());
            ours.is_forgotten() && theirs.as_ref().is_some_and(says)
        };
        let ours = ours.filter(|ours| !is_as_there(ours));
        if ours.is_none() {
            own.edited.remove(&key);
        }
        let Some(sides) = Sides::of(ours, theirs) else {
            return Ok(());
        };
        let (mut goes, mut comes) = (sides.is_outgoing, sides.is_incoming);
        if goes && let Some((why, is_readable)) = too_large(&key, &sides.merged) {
            own.notice(why);
            self.unsent.insert(key.clone());
            goes = false;
            comes &= is_readable;
        }
        goes &= !own.withholds(&key);
        if goes || comes {
            let one = sides.wait(own, key, (goes, comes));
            self.differences.push(one);
        }
        Ok(())
    }

    /// What the remote would get.
    pub fn outgoing(&self) -> Vec<Changed> {
        let going = self.differences.iter().filter(|one| one.is_outgoing);
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
    pub fn incoming(&self) -> Vec<Changed> {
        let coming = self.differences.iter().filter(|one| one.is_incoming);
        // What others made and deleted before it came here was never here.
        let coming = coming.filter(|one| one.own.is_some() || !one.merged.is_deleted());
        coming
            .map(|one| Changed {
                kind: one.key.0.into(),
                id: one.key.1.clone(),
                change: change(one.own.as_ref(), &one.merged),
                claimed_by: one.claimed_by.clone(),
            })
            .collect()
    }

    /// Fields that both sides set.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let each = self.differences.iter().flat_map(|one| {
            one.conflicts.iter().map(|field| Conflict {
                kind: one.key.0,
                id: one.key.1.clone(),
                field: field.clone(),
            })
        });
        each.collect()
    }

    /// Secrets in what would go: in every value of ours that the remote does not have.
    pub fn findings(&self, ctx: &Context<'_>, allowed: &[String]) -> Vec<Finding> {
        let going = self.differences.iter().filter(|one| one.is_outgoing);
        let mut found = Vec::new();
        // One after the other: of what waits packed one is held whole.
        for one in going {
            let Some(own) = one.own.as_ref().map(Waiting::get) else {
                continue;
            };
            let theirs = one.theirs.as_ref().map(Waiting::get);
            let texts = (&one.key, own.beyond(theirs.as_deref()));
            found.extend(scan::findings(ctx.redactor(), &[texts], allowed));
        }
        found.sort();
        found.dedup();
        found
    }
}

fn change(before: Option<&Waiting>, after: &Waiting) -> Change {
    match before {
        _ if after.is_deleted() => Change::Deleted,
        None => Change::Added,
        Some(_) => Change::Changed,
    }
}

/// Why a record does not go, when what both sides made of it is too large; and whether it can be kept here.
fn too_large((kind, id): &Key, merged: &Shared) -> Option<(String, bool)> {
    let bytes = merged.encode(*kind, id);
    let unreadable = unreadable(*kind, id, &bytes);
    let is_readable = unreadable.is_none();
    let why = unreadable.or_else(|| too_large_to_send(&bytes))?;
    let what = format!("{} {id} stays here: {why}", kind.as_str());
    Some((format!("{what}{}", way_out(*kind, id)), is_readable))
}

/// One record as both sides have it, and what both make of it.
struct Sides {
    own: Option<Shared>,
    theirs: Option<Shared>,
    merged: Shared,
    is_outgoing: bool,
    is_incoming: bool,
}

impl Sides {
    fn of(own: Option<Shared>, theirs: Option<Shared>) -> Option<Self> {
        let merged = match (&own, &theirs) {
            (Some(own), Some(theirs)) => own.merge(theirs),
            (Some(only), None) | (None, Some(only)) => only.clone(),
            (None, None) => return None,
        };
        Some(Self {
            is_outgoing: theirs.as_ref() != Some(&merged),
            is_incoming: own.as_ref() != Some(&merged),
            own,
            theirs,
            merged,
        })
    }

    /// Who is said to have made it, when that was not here: what was not here before came from elsewhere, whoever it says.
    fn claimed_by(&self, own: &Own, key: &Key) -> Option<String> {
        match self.own {
            _ if own.made(key) => None,
            Some(_) => self.merged.claimed_by(&own.author),
            None => self.merged.origin().map(Edit::claimant),
        }
    }

    /// What waits of them.
    fn wait(self, own: &Own, key: Key, (is_outgoing, is_incoming): (bool, bool)) -> Difference {
        let claimed_by = self.claimed_by(own, &key);
        let lost = self.merged.conflicts().into_iter();
        let conflicts = lost.map(|lost| lost.field.to_owned()).collect();
        let edited = own.edited.get(&key).cloned();
        let new = |record| Waiting::new(&key, record);
        let own = self.own.map(|own| edited.unwrap_or_else(|| new(own)));
        let theirs = self.theirs.map(new);
        // What is the same waits once.
        let merged = match (&own, &theirs) {
            (Some(own), _) if !self.is_incoming => own.clone(),
            (_, Some(theirs)) if !self.is_outgoing => theirs.clone(),
            _ => new(self.merged),
        };
        Difference {
            key,
            own,
            theirs,
            merged,
            conflicts,
            claimed_by,
            is_outgoing,
            is_incoming,
        }
    }
}
