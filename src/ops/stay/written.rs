//! What travel wrote: where the past, as it began, differs from the present that was left.
//!
//! Nobody may have kept it so. It says what a path probably holds, and under which rules it is probably looked at: both are found
//! out by the look itself, which is quicker when it begins there.

use super::ReturnOperation;
use super::hidden::has_rules;
use crate::error::Result;
use crate::git::Oid;
use crate::git::tree::{self, Change};

/// The paths that travel wrote or removed, sorted.
pub(super) struct WrittenByTravel {
    changes: Vec<Change>,
    /// The tree with the present's rules, where the past's are others.
    pub(super) rules: Option<Oid>,
}

impl WrittenByTravel {
    /// The blob that it wrote at a path.
    pub(super) fn blob(&self, full: &[u8]) -> Option<Oid> {
        let at = self
            .changes
            .binary_search_by(|change| change.path.as_slice().cmp(full));
        self.changes.get(at.ok()?)?.new.map(|node| node.oid)
    }
}

impl ReturnOperation<'_> {
    /// What travel wrote when this past began; nothing where its beginning is not known any more.
    pub(super) fn written_by_travel(&self) -> Result<WrittenByTravel> {
        let changes = match &self.start {
            Some(start) => tree::diff(
                &self.store.objects,
                Some(self.backup.tree),
                Some(start.tree),
            )?,
            None => Vec::new(),
        };
        Ok(WrittenByTravel {
            rules: has_rules(&changes).then_some(self.backup.tree),
            changes,
        })
    }
}
