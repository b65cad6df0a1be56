//! What is known of who may use the paths of one side: of the working tree as it is, or of what a snapshot recorded.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::access::Access;
use super::ids::IdMaps;

/// Who may use what, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessList {
    /// Of paths that have attributes, or another owner or group than most.
    pub paths: BTreeMap<Vec<u8>, Access>,
    /// Owner and group of most paths.
    pub owner: Option<(u32, u32)>,
    /// Whatever is not in `paths` belongs to `owner` and has no attributes. Otherwise nothing is known of it but that it belonged to
    /// `owner`, which counts where nothing stands that could lend its access.
    pub complete: bool,
    /// What is made where nothing was, and is not in `paths`, keeps what it inherits from its directory: it may have had an ACL.
    pub inherits: bool,
    /// As whom its owners and groups are known ([`IdMaps`]); nothing in a list of an earlier version, which counts as one of here.
    pub ids: Option<String>,
}

impl AccessList {
    /// Of these paths, and of no others.
    pub fn of_paths(paths: BTreeMap<Vec<u8>, Access>) -> Self {
        Self {
            paths,
            ..Self::default()
        }
    }

    /// The list as this process knows owners and groups, where another one wrote it.
    #[must_use]
    pub fn known_here(mut self) -> Self {
        let then = self.ids.as_deref().and_then(IdMaps::parse);
        let Some((then, here)) = then
            .zip(IdMaps::here())
            .filter(|(then, here)| then != *here)
        else {
            return self;
        };
        for access in self.paths.values_mut() {
            access.translate(&then, here);
        }
        let owner = self.owner.map(|(uid, gid)| {
            let mut usual = Access::owned((uid, gid));
            usual.translate(&then, here);
            usual
        });
        self.owner = owner
            .filter(|usual| !usual.has_unknown())
            .map(|usual| (usual.uid, usual.gid));
        self.complete &= self.owner.is_some();
        self.ids = Some(here.to_string());
        self
    }

    /// That of a path, when it is known.
    pub fn of(&self, path: &[u8]) -> Option<Cow<'_, Access>> {
        if let Some(access) = self.paths.get(path) {
            return Some(Cow::Borrowed(access));
        }
        let owner = self.owner.filter(|_| self.complete)?;
        Some(Cow::Owned(Access::owned(owner)))
    }

    /// The paths of which it is known that they have another access on the other side. `all`: the paths that both may have.
    pub fn differing(&self, other: &Self, all: impl FnOnce() -> Vec<Vec<u8>>) -> BTreeSet<Vec<u8>> {
        let mut paths: BTreeSet<Vec<u8>> = self.paths.keys().cloned().collect();
        paths.extend(other.paths.keys().cloned());
        if self.complete && other.complete && self.owner != other.owner {
            paths.extend(all());
        }
        paths.retain(|path| self.differs(other, path));
        paths
    }

    /// Whether a path is known to have another access on the other side.
    pub fn differs(&self, other: &Self, path: &[u8]) -> bool {
        let both = self.of(path).zip(other.of(path));
        both.is_some_and(|(one, other)| !one.is_as(&other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(uid: u32) -> Access {
        Access::owned((uid, uid))
    }

    fn list(paths: &[(&str, u32)], owner: u32, complete: bool) -> AccessList {
        AccessList {
            paths: paths
                .iter()
                .map(|(path, uid)| (path.as_bytes().to_vec(), owned(*uid)))
                .collect(),
            owner: Some((owner, owner)),
            complete,
            ..AccessList::default()
        }
    }

    #[test]
    fn only_what_is_known_of_both_sides_differs() {
        let all = || vec![b"a".to_vec(), b"b".to_vec(), b"c".to_vec()];
        let complete = list(&[("a", 1)], 7, true);
        assert_eq!(complete.of(b"b").as_deref(), Some(&owned(7)));
        for (other, paths) in [
            (list(&[("a", 1)], 7, true), ""),
            (list(&[("a", 2)], 7, true), "a"),
            (list(&[], 7, true), "a"),
            (list(&[("a", 1)], 8, true), "bc"),
            (list(&[("a", 1)], 8, false), ""),
            (list(&[("b", 8)], 8, false), "b"),
        ] {
            let found = complete.differing(&other, all);
            let found: Vec<u8> = found.into_iter().flatten().collect();
            assert_eq!(String::from_utf8_lossy(&found), paths, "{other:?}");
        }
    }
}
