//! The directories over names that files lose, as a change found them: only who was kept out of one since then is kept out of what leaves it.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::git::Oid;
use crate::git::access::{Access, Lost};
use crate::git::path;
use crate::git::tree::{self, Lookup, Node};
use crate::worktree::plan::Extras;

/// By path.
pub type FoundDirs = BTreeMap<Vec<u8>, FoundDir>;

/// A directory as a change found it.
#[derive(Debug, Clone)]
pub struct FoundDir {
    /// Its permission bits.
    pub bits: u32,
    /// Whose it was, and its attributes, as far as that is known.
    pub access: Option<Access>,
    /// The change left no directory of this name.
    pub goes: bool,
}

/// One side of a change: its tree, and what that cannot say.
pub type FoundSide<'a> = (Oid, &'a Extras);

/// Adds the directories over a name that a change takes from a file. `base`: what it found; None: what is there now, where nothing can have been
/// closed since.
///
/// # Errors
/// A tree cannot be read.
pub fn add_found(
    trees: &Lookup<'_>,
    (base, theirs): (Option<FoundSide<'_>>, FoundSide<'_>),
    name: &[u8],
    found: &mut FoundDirs,
) -> Result<()> {
    let has = |(root, extras): FoundSide<'_>, dir: &[u8]| -> Result<bool> {
        let there = || {
            trees
                .find(root, dir)
                .map(|node| node.is_some_and(Node::is_dir))
        };
        Ok(extras.leads_to_empty_dir(dir) || there()?)
    };
    for dir in path::with_parents(path::split(name).0) {
        if dir.is_empty() || found.contains_key(dir) {
            continue;
        }
        let (bits, access) = match base {
            Some(base) if !has(base, dir)? => continue,
            Some((_, extras)) => {
                let list = &extras.access;
                let usual = || list.owner.filter(|_| !list.inherits).map(Access::owned);
                let access = list.of(dir).map(std::borrow::Cow::into_owned);
                let bits = extras.permissions(dir, tree::DIR_MODE);
                (bits, access.or_else(usual))
            }
            None => (0, None),
        };
        let goes = !has(theirs, dir)?;
        found.insert(dir.to_vec(), FoundDir { bits, access, goes });
    }
    Ok(())
}

/// The permission bits for those who are let in, whatever else an ACL says.
pub(super) fn without_acl(bits: u32, access: Option<&Access>) -> u32 {
    let narrower = access.and_then(|access| access.bits_without_acl(bits));
    narrower.unwrap_or(bits)
}

/// The permission bits of what has another group than it had: that may get in by it who could not.
pub(super) fn of_same_group(bits: u32, then: Option<&Access>, now: Option<&Access>) -> u32 {
    let owned = |access: &Access| Access::owned((access.uid, access.gid));
    then.zip(now).map_or(bits, |(then, now)| {
        Lost::between(&owned(then), &owned(now)).narrow(bits)
    })
}
