//! Whether all that hangs on commits of ours is there, and refs to such that nothing held meanwhile.
//!
//! Which commits are ours is told by their place: a snapshot's last parent is the index commit, and what that one has behind HEAD is the
//! state commit. A message tells nothing, for anybody may begin one as we do. Of a user's commit only it and its top tree are
//! looked at: history is long, and git's own refs hold it. What cannot be looked at is an error here and never a loss.

use std::collections::HashSet;

use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::gc;
use crate::git::regular::read_optional;
use crate::git::tree::{self, GITLINK_MODE};
use crate::store::{Store, names};

/// What became of a ref that was to stand again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It stands.
    Made,
    /// Somebody else was first.
    Stood,
    /// What hangs on the commit is not all there any more; there is no ref.
    Torn,
}

/// Makes the ref of a snapshot again that nothing holds any more, and looks at everything once more: a gc may have run in between. What one that
/// is under way takes nobody knows.
///
/// # Errors
/// `BUSY` while a gc is under way: then there is no ref. Something cannot be looked at.
pub fn make_ref_again(store: &Store, name: &str, commit: Oid) -> Result<Again> {
    make_refs_again(store, &[(name.to_owned(), commit)])
}

/// The same of several refs: all of them stand again, or none. Where somebody else was first with one, none is made here.
///
/// # Errors
/// As [`make_ref_again`].
pub fn make_refs_again(store: &Store, refs: &[(String, Oid)]) -> Result<Again> {
    let is_collecting = || gc::is_running(store.repo.common_dir());
    if is_collecting() {
        return Err(under_gc(refs));
    }
    let mut edit = store.refs.transaction();
    for (name, commit) in refs {
        edit.create(name, *commit);
    }
    match edit.commit() {
        Err(error) if error.is_lost_race() => return Ok(Again::Stood),
        other => other?,
    }
    fail_point("ref-again");
    let was_collecting = is_collecting();
    store.objects.refresh();
    let whole = are_whole(store, refs);
    if !was_collecting && matches!(whole, Ok(true)) {
        return Ok(Again::Made);
    }
    let mut back = store.refs.transaction();
    for (name, commit) in refs {
        back.delete(name, Some(*commit));
    }
    back.commit()?;
    if whole? {
        Err(under_gc(refs))
    } else {
        Ok(Again::Torn)
    }
}

/// Whether everything is there that hangs on these, whatever their refs hold.
///
/// # Errors
/// Something cannot be looked at.
pub fn are_whole(store: &Store, refs: &[(String, Oid)]) -> Result<bool> {
    let mut whole = Whole::new(store);
    for (_, commit) in refs {
        if !whole.is_usable(*commit)? {
            return Ok(false);
        }
    }
    let commits: Vec<Oid> = refs.iter().map(|(_, commit)| *commit).collect();
    // Of several no other ref of ours is relied upon, either.
    let but = match refs {
        [(name, _)] => name.clone(),
        _ => format!("{}*", names::ROOT),
    };
    store.repo.are_connected(&store.objects, &commits, &but)
}

fn under_gc(refs: &[(String, Oid)]) -> Error {
    let id = refs.first().map(|(name, _)| names::title(name));
    let id = id.unwrap_or_default();
    let message = format!("a 'git gc' is under way, which may be about to take {id}");
    Error::new(Code::Busy, message).hint("try again when it has ended")
}

/// A quick look whether the objects of commits of ours are there, sharing what it has seen.
pub struct Whole<'a> {
    store: &'a Store,
    commits: HashSet<(Oid, Place)>,
    good: HashSet<Oid>,
}

/// What a commit is to the snapshot that leads to it, which says what its parents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// The snapshot, backup or experiment itself.
    Snapshot,
    /// Its index commit; whether HEAD is a parent of that one.
    Index { born: bool },
    /// The state commit.
    State,
    /// A commit of the user's.
    Users,
}

impl Place {
    fn parents(self, parents: &[Oid]) -> Vec<(Oid, Self)> {
        let (users, ours) = match (self, parents.split_last()) {
            (Self::Snapshot, Some((index, heads))) => {
                let born = !heads.is_empty();
                (heads, Some((*index, Self::Index { born })))
            }
            (Self::Index { born }, _) => {
                let (heads, states) = parents.split_at(parents.len().min(usize::from(born)));
                (heads, states.first().map(|state| (*state, Self::State)))
            }
            (Self::State, _) => (parents, None),
            (Self::Snapshot | Self::Users, _) => (&[][..], None),
        };
        let users = users.iter().map(|oid| (*oid, Self::Users));
        users.chain(ours).collect()
    }
}

impl<'a> Whole<'a> {
    /// Begins a check that has looked at nothing yet.
    pub fn new(store: &'a Store) -> Self {
        Self {
            store,
            commits: HashSet::new(),
            good: HashSet::new(),
        }
    }

    /// Whether a snapshot's commit is there with its tree, and so are the other commits of ours that it leads to; of the user's, these
    /// themselves and their top trees.
    ///
    /// # Errors
    /// Something cannot be looked at; `CORRUPT_RECORD` when something is there whole, and no commit or tree of ours could be like it.
    pub fn snapshot(&mut self, commit: Oid) -> Result<bool> {
        let mut seen = Vec::new();
        let mut pending = vec![((commit, Place::Snapshot), None)];
        while let Some((at, child)) = pending.pop() {
            if self.commits.contains(&at) {
                continue;
            }
            let (oid, place) = at;
            let Some(raw) = self.found(oid, self.store.commit(oid))? else {
                // Where a shallow history ends git itself expects no parents.
                match child {
                    Some(child) if self.is_shallow(child)? => continue,
                    _ => return Ok(false),
                }
            };
            let has_tree = match place {
                Place::Users => self.store.objects.is_there(raw.tree)?,
                // An operation under way has trees that git made.
                Place::State => self.tree_of(raw.tree, tree::parse_any_names)?,
                Place::Snapshot | Place::Index { .. } => self.tree(raw.tree)?,
            };
            if !has_tree {
                return Ok(false);
            }
            let parents = place.parents(&raw.parents).into_iter();
            pending.extend(parents.map(|parent| (parent, Some(oid))));
            seen.push(at);
        }
        self.commits.extend(seen);
        Ok(true)
    }

    /// Whether a snapshot could be brought back: as [`Self::snapshot`], but no to what nobody could restore.
    ///
    /// # Errors
    /// Something cannot be looked at.
    pub fn is_usable(&mut self, commit: Oid) -> Result<bool> {
        match self.snapshot(commit) {
            Err(error) if error.code() == Code::CorruptRecord => Ok(false),
            whole => whole,
        }
    }

    /// Whether a record's commit is there with its tree. Older ones of the record are not looked at.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn record(&mut self, commit: Oid) -> Result<bool> {
        match self.found(commit, self.store.commit(commit))? {
            Some(raw) => self.tree(raw.tree),
            None => Ok(false),
        }
    }

    /// Whether a tree and all that is beneath it is there.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn tree(&mut self, root: Oid) -> Result<bool> {
        self.tree_of(root, tree::parse)
    }

    fn tree_of(&mut self, root: Oid, parse: tree::Parse) -> Result<bool> {
        let mut seen = Vec::new();
        let whole = self.walk(root, parse, &mut seen);
        if !matches!(whole, Ok(true)) {
            // Something beneath one of these is missing, or was not looked at.
            for oid in seen {
                self.good.remove(&oid);
            }
        }
        whole
    }

    fn walk(&mut self, root: Oid, parse: tree::Parse, seen: &mut Vec<Oid>) -> Result<bool> {
        let objects = &self.store.objects;
        let mut pending = vec![root];
        while let Some(oid) = pending.pop() {
            // Noted before what is beneath it was looked at, so that no tree is walked twice; taken back when something is missing.
            if !self.good.insert(oid) {
                continue;
            }
            seen.push(oid);
            let Some(bytes) = self.found(oid, objects.read_tree(oid))? else {
                return Ok(false);
            };
            for entry in parse(&bytes, oid.format())? {
                let node = entry.node;
                if node.is_dir() {
                    pending.push(node.oid);
                } else if node.mode != GITLINK_MODE && !self.blob(node.oid)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn blob(&mut self, oid: Oid) -> Result<bool> {
        let is_there = self.good.contains(&oid) || self.store.objects.is_there(oid)?;
        if is_there {
            self.good.insert(oid);
        }
        Ok(is_there)
    }

    /// What was read of an object; None where it is not there, or not what its name says.
    fn found<T>(&self, oid: Oid, read: Result<T>) -> Result<Option<T>> {
        if let Err(error) = &read
            && error.code() == Code::CorruptRecord
            && !self.store.objects.is_intact(oid)?
        {
            return Ok(None);
        }
        read.map(Some)
    }

    fn is_shallow(&self, commit: Oid) -> Result<bool> {
        let file = self.store.repo.common_dir().join("shallow");
        let text = read_optional(&file)?.unwrap_or_default();
        let mut lines = text.split(|byte| *byte == b'\n');
        Ok(lines.any(|line| Oid::from_hex_bytes(line.trim_ascii()).ok() == Some(commit)))
    }
}
