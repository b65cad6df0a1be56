//! What is looked at of branches, each thing once for a whole question: the files in their commits, what the commits changed of them,
//! and their lines.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use super::text::Text;
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::git::textdiff::LARGEST;
use crate::git::tree;
use crate::ops::blame::graph::Links;
use crate::ops::versions::State;
use crate::store::Store;

/// So many lines of branches are kept in mind; those of more are not looked at.
const LINES: usize = 4_000_000;

/// Of a branch so many commits are looked at, each with its first parent.
const COMMITS: usize = 100;

/// So many bytes are merged for one question; what comes after that is from no branch.
const MERGED: usize = 200 << 20;

/// A commit's change of a file.
#[derive(Debug)]
pub struct Change {
    /// The commit.
    pub commit: Oid,
    /// What its first parent has.
    pub was: Option<Oid>,
    /// What it has.
    pub is: Oid,
}

/// A file, by its name and by how many names it is looked for under: in the course of a question there come to be more.
pub type FileNames = (Vec<u8>, usize);

/// What each path has in a commit.
type Files = HashMap<(Oid, Vec<u8>), Option<Oid>>;

/// What changed a file, by the last commit of a branch.
type Changes = HashMap<(Oid, FileNames), Rc<[Change]>>;

/// What is known so far.
#[derive(Debug, Default)]
pub struct Seen {
    commits: RefCell<HashMap<Oid, Option<Commit>>>,
    files: RefCell<Files>,
    /// By content.
    texts: RefCell<HashMap<Oid, Rc<Text>>>,
    /// How many lines those have.
    lines: Cell<usize>,
    changes: RefCell<Changes>,
    /// Whether the first is the second, or comes after it.
    descends: RefCell<HashMap<(Oid, Oid), bool>>,
    /// How many bytes were merged.
    merged: Cell<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Commit {
    tree: Oid,
    parent: Option<Oid>,
}

impl Seen {
    fn commit(&self, objects: &ObjectStore, commit: Oid) -> Option<Commit> {
        let read = || {
            let commit = objects.commit(commit).ok()?;
            Some(Commit {
                tree: commit.tree,
                parent: commit.parents.first().copied(),
            })
        };
        let mut known = self.commits.borrow_mut();
        *known.entry(commit).or_insert_with(read)
    }

    /// A path's content in a commit; what cannot be read is not there.
    pub fn content(&self, objects: &ObjectStore, commit: Oid, name: &[u8]) -> Option<Oid> {
        let find = || {
            let root = self.commit(objects, commit)?.tree;
            let found = tree::find(&|oid| objects.read_safe_tree(oid), root, name);
            Some(found.ok()??.oid)
        };
        let mut known = self.files.borrow_mut();
        *known.entry((commit, name.to_vec())).or_insert_with(find)
    }

    /// The commits of a branch that changed a file, newest first, on its line of first parents; given the file's content in a commit.
    pub fn changes(
        &self,
        objects: &ObjectStore,
        (tip, names): (Oid, &FileNames),
        content: impl Fn(Oid) -> Option<Oid>,
    ) -> Rc<[Change]> {
        let key = (tip, names.clone());
        if let Some(known) = self.changes.borrow().get(&key) {
            return Rc::clone(known);
        }
        let mut changes = Vec::new();
        let (mut commit, mut is) = (tip, content(tip));
        for _ in 0..COMMITS {
            let parent = self.commit(objects, commit);
            let Some(parent) = parent.and_then(|commit| commit.parent) else {
                break;
            };
            let was = content(parent);
            let change = is.filter(|is| was != Some(*is));
            changes.extend(change.map(|is| Change { commit, was, is }));
            (commit, is) = (parent, was);
        }
        let changes: Rc<[Change]> = changes.into();
        let mut known = self.changes.borrow_mut();
        known.insert(key, Rc::clone(&changes));
        changes
    }

    /// The lines of a content. Of one that is too large, or beyond all that is kept in mind, none.
    pub fn text(&self, objects: &ObjectStore, content: Oid) -> Rc<Text> {
        let mut known = self.texts.borrow_mut();
        let none = match known.entry(content) {
            Entry::Occupied(text) => return Rc::clone(text.get()),
            Entry::Vacant(none) => none,
        };
        let text = Some(content).filter(|_| self.lines.get() < LINES);
        let text = text.and_then(|content| read(objects, content));
        let text = Text::of(&text.unwrap_or_default());
        self.lines.set(self.lines.get() + text.len());
        Rc::clone(none.insert(Rc::new(text)))
    }

    /// Whether HEAD's commit has another one: is it, or comes after it. Where that cannot be told, it has.
    pub fn has(&self, links: &Links<'_>, head: Oid, commit: Oid) -> bool {
        // What the first HEAD of all had, those since have as a rule: so most is asked of one commit, and not of each that HEAD was at.
        let first = links.states.all.iter().find_map(State::head);
        let has = |one, other| self.descends(links.store, one, other);
        first.is_some_and(|first| has(first, commit) && has(head, first)) || has(head, commit)
    }

    fn descends(&self, store: &Store, one: Oid, other: Oid) -> bool {
        let find = || {
            let found = store.repo.descends(&store.objects, one, other);
            found.unwrap_or(true)
        };
        let mut known = self.descends.borrow_mut();
        *known.entry((one, other)).or_insert_with(find)
    }

    /// Whether texts of this size may still be merged.
    pub fn may_merge(&self, bytes: usize) -> bool {
        let merged = self.merged.get().saturating_add(bytes);
        self.merged.set(merged);
        merged <= MERGED
    }
}

/// The bytes of a content, unless it is too large.
pub fn read(objects: &ObjectStore, content: Oid) -> Option<Vec<u8>> {
    objects.read_blob_up_to(content, LARGEST).ok().flatten()
}
