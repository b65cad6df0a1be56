//! Who may use the paths of one swap, when that alone is taken back: as before it, but for what somebody changed since.

use std::collections::BTreeMap;

use super::alone::BothSides;
use crate::error::Result;
use crate::git::access::Access;
use crate::git::access_list::AccessList;
use crate::git::fs::Root;
use crate::git::ids::UNKNOWN;
use crate::ops::Context;
use crate::ops::capture::{Capture, access_of};
use crate::ops::merge::Merged;
use crate::ops::swap::given;
use crate::store::state::Journal;

/// What a swap made of who may use its paths.
pub(super) struct AccessLeft(BTreeMap<Vec<u8>, Access>);

impl AccessLeft {
    /// What a level says.
    ///
    /// # Errors
    /// It is damaged.
    pub(super) fn of(level: &Journal) -> Result<Self> {
        given::read(level).map(Self)
    }

    /// What the swap gave, by path.
    pub(super) fn paths(&self) -> &BTreeMap<Vec<u8>, Access> {
        &self.0
    }

    /// What paths get that are there before and after the swap is taken back. `before`: as before the swap, as far as that is known.
    ///
    /// # Errors
    /// What is there cannot be looked at.
    pub(super) fn taken_back(
        &self,
        (ctx, capture): (&Context<'_>, &Capture<'_>),
        before: &AccessList,
        (paths, merged): (&BothSides, &Merged),
    ) -> Result<BTreeMap<Vec<u8>, Access>> {
        let seen = capture.access(ctx)?;
        let root = Root::open(ctx.repo.worktree_root())?;
        let now = |path: &Vec<u8>| match seen.of(path) {
            Some(access) => Ok(Some(access.into_owned())),
            None => access_of(&root, std::iter::once(path)).map(|mut all| all.remove(path)),
        };
        let mut taken = BTreeMap::new();
        let was_there = |path: &Vec<u8>| paths.get(path).is_none_or(|[before, _]| before.is_some());
        for (path, left) in self.0.iter().filter(|(path, _)| was_there(path)) {
            if let (Some(before), Some(now)) = (before.of(path), now(path)?) {
                let back = taking_back(&now, left, &before);
                if !back.is_as(&now) {
                    taken.insert(path.clone(), back);
                }
            }
        }
        for (to, from) in &merged.renamed {
            let sides = (paths.get(to), paths.get(from));
            let (Some([Some(_), None]), Some([None, Some(_)])) = sides else {
                continue;
            };
            if let (Some(before), Some(now)) = (before.of(to), now(from)?) {
                // What was made under another name, and of which nothing is noted, had nothing of its own.
                let usual = Access::owned((before.uid, before.gid));
                let left = self.0.get(from).unwrap_or(&usual);
                taken.insert(to.clone(), taking_back(&now, left, &before));
            }
        }
        Ok(taken)
    }
}

/// What is there now, with what a change had made of it taken back: what is still as that `left` it is as it was `before`.
fn taking_back(now: &Access, left: &Access, before: &Access) -> Access {
    let mut back = now.clone();
    if now.uid == left.uid && before.uid != UNKNOWN {
        back.uid = before.uid;
    }
    if now.gid == left.gid && before.gid != UNKNOWN {
        back.gid = before.gid;
    }
    for name in left.attributes.keys().chain(before.attributes.keys()) {
        let is_as_left = now.attributes.get(name) == left.attributes.get(name);
        if is_as_left && !before.is_unknown(name) {
            back.attributes.remove(name);
            let then = before.attributes.get(name);
            back.attributes
                .extend(then.map(|value| (name.clone(), value.clone())));
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_as_a_change_left_it_is_taken_back() {
        let access = |uid, gid, attributes: &[(&str, &str)]| Access {
            uid,
            gid,
            attributes: attributes
                .iter()
                .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect(),
        };
        let before = access(1, 2, &[("user.old", "1"), ("user.both", "1")]);
        let left = access(3, 4, &[("user.new", "2"), ("user.both", "2")]);
        let back = taking_back(&left, &left, &before);
        assert_eq!(back, before);
        let since = access(3, 9, &[("user.new", "9"), ("user.both", "2")]);
        let back = taking_back(&since, &left, &before);
        let kept = [("user.old", "1"), ("user.new", "9"), ("user.both", "1")];
        assert_eq!(back, access(1, 9, &kept));
        let unknown = access(UNKNOWN, 2, &[]);
        assert_eq!(taking_back(&left, &left, &unknown).uid, 3);
    }
}
