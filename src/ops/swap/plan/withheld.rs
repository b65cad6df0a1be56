//! What a swap of single paths may not give: another user may have written the level, or the journal, that it goes by.

use super::PathPlanner;
use crate::git::access::RUNS_AS;
use crate::worktree::plan::Side;

impl PathPlanner<'_> {
    /// What a path becomes, without what its side may not give, which is told. `merges`: what is there keeps its access, and what it runs as.
    pub(super) fn without_withheld(
        &mut self,
        path: &[u8],
        (before, after): (Option<Side>, Side),
        merges: bool,
    ) -> Side {
        if !self.saved.claimed {
            return after;
        }
        let kept = before.filter(|_| merges).map_or(0, |before| before.perm);
        let may_have = kept | self.saved.recorded_permissions(path, after.node.mode);
        let given = Side {
            perm: after.perm & (!RUNS_AS | may_have),
            ..after
        };
        let withheld = self.saved.withheld.get(path).filter(|_| !merges);
        let mut lost = withheld.cloned().unwrap_or_default();
        if given.perm != after.perm {
            lost.note_bits(after.perm, given.perm);
        }
        if !lost.is_empty() {
            self.plan.beyond.insert(path.to_vec(), lost);
        }
        given
    }
}
