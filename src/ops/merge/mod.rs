//! Three trees made one, path by path: what somebody changed elsewhere, put onto what is here.
//!
//! Owns what each path becomes and which paths conflict. Knows no working tree and writes nothing but the merged blobs, by
//! the caller's hand. Renames on either side are followed as git follows them. Submodules are never merged, and a path of
//! which nothing changed on their side is never looked at.

mod renames;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::error::Result;
use crate::git::Oid;
use crate::git::path;
use crate::git::textdiff::{file_type, is_binary};
use crate::git::textmerge::{self, Labels, Overlap, Parted, Style};
use crate::git::tree::{self, Change, GITLINK_MODE, LINK_MODE, Lookup, Node};
use crate::json;

/// Reads what a node at this path holds, raw; None when it is too large to be merged.
pub type ReadContent<'a> = dyn Fn(&[u8], Node) -> Result<Option<Vec<u8>>> + 'a;

/// What is merged, and by whose help.
pub struct Input<'a> {
    /// The tree that both sides come from.
    pub base: Oid,
    /// What is here.
    pub ours: Oid,
    /// What was made elsewhere.
    pub theirs: Oid,
    /// Reads any tree of the three.
    pub read_tree: &'a Lookup<'a>,
    /// The content of a blob that stands at this path on some side; None when it is too large to be merged.
    pub content: &'a ReadContent<'a>,
    /// Takes a merged blob and gives its id.
    pub put: &'a dyn Fn(&[u8]) -> Result<Oid>,
    /// What the sides are called in markers.
    pub labels: Labels<'a>,
    /// How conflicts are marked.
    pub style: Style,
    /// What becomes of changes that lie beside each other.
    pub beside: Beside,
    /// Which paths are merged, of those that theirs changed; a file that has another name there is, when either name is.
    pub takes: &'a dyn Fn(&[u8]) -> bool,
    /// Whether what lies between the base and theirs is known to be a change. Else the path stays as it is.
    pub is_known: &'a dyn Fn(&Change) -> bool,
    /// Files of the base whose names here are looked for although theirs did not change what they hold.
    pub follows: &'a dyn Fn(&[u8]) -> bool,
}

/// What becomes of changes that touch none of each other's lines, and have no line between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// They conflict, as git has it.
    Conflicts,
    /// They come together, and the place is named.
    Joins,
}

/// Why a path conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Both sides changed the same lines: they are marked in the file.
    Content,
    /// Both sides made the path, and not alike: marked in the file.
    BothAdded,
    /// Both sides changed what is no text: ours stands.
    Binary,
    /// Here it was deleted, there changed: theirs stands.
    DeletedHere,
    /// There it was deleted, here changed: ours stands.
    DeletedThere,
    /// A file on one side, a symlink on the other, or two different symlinks: ours stands.
    Kind,
}

json::words!(Reason {
    Content = "content",
    BothAdded = "both-added",
    Binary = "binary",
    DeletedHere = "deleted-here",
    DeletedThere = "deleted-there",
    Kind = "kind",
});

/// A path that conflicts, with what the three sides have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path.
    pub path: Vec<u8>,
    /// Why.
    pub reason: Reason,
    /// Base, ours, theirs: stages 1 to 3 of an index.
    pub stages: [Option<Node>; 3],
    /// Where the file stands in the base.
    pub base_path: Vec<u8>,
    /// The lines, where they are known: for [`Beside::Joins`].
    pub overlaps: Vec<Overlap>,
    /// Of several merges in a row, which one.
    pub step: usize,
}

/// The result of a merge of trees.
#[derive(Debug, Default)]
pub struct Merged {
    /// What each path becomes that is not to stay as it is.
    pub paths: BTreeMap<Vec<u8>, Option<Node>>,
    /// Of files that get another name, the new one and that of ours.
    pub renamed: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Of files that ours has under another name than the base, as far as they were looked for, the names in the base and in theirs.
    pub followed: BTreeMap<Vec<u8>, [Vec<u8>; 2]>,
    /// Paths of the base and of theirs that were merged, whatever came of it.
    pub taken: BTreeSet<Vec<u8>>,
    /// Paths that both sides changed, merged without a conflict.
    pub merged: BTreeSet<Vec<u8>>,
    /// Lines of ours in what paths become, from 0, that lie directly beside a change of theirs.
    pub adjacent: BTreeMap<Vec<u8>, Vec<Range<usize>>>,
    /// Paths that conflict, sorted.
    pub conflicts: Vec<Conflict>,
    /// Submodules that theirs moved: they stay as they are.
    pub submodules: Vec<Vec<u8>>,
    /// Paths that are here as they are not there, though nobody knows that theirs changed them: they stay as they are.
    pub unknown: Vec<Vec<u8>>,
    /// Paths that cannot be put there: a file of ours has the place of a directory, or the other way round.
    pub blocked: Vec<Vec<u8>>,
}

/// One file on three sides.
#[derive(Clone, Copy)]
struct Three {
    base: Option<Node>,
    ours: Option<Node>,
    theirs: Option<Node>,
}

/// Where the file stood on each side.
#[derive(Clone, Copy)]
struct Places<'p> {
    base: &'p [u8],
    ours: &'p [u8],
    theirs: &'p [u8],
}

/// Merges three trees, without writing to the working tree.
///
/// # Errors
/// When a tree or blob cannot be read, or a merged one not be written.
pub fn merge(input: &Input<'_>) -> Result<Merged> {
    let read = input.read_tree;
    let mut merged = Merged::default();
    let theirs = changed_there(input, &mut merged)?;
    let ours = tree::diff(read, Some(input.base), Some(input.ours))?;
    let mut merging = Merging {
        input,
        our_renames: renames::of_wanted(input, &ours, &theirs)?,
        merged,
    };
    let their_renames = renames::find(input, &theirs)?;
    let targets: BTreeMap<&[u8], &[u8]> = their_renames
        .iter()
        .map(|(from, to)| (to.as_slice(), from.as_slice()))
        .collect();
    let takes = |path: &[u8]| {
        let new = their_renames.get(path).map(Vec::as_slice);
        let other = new.or_else(|| targets.get(path).copied());
        (input.takes)(path) || other.is_some_and(input.takes)
    };
    for change in theirs.iter().filter(|change| takes(&change.path)) {
        merging.merged.taken.insert(change.path.clone());
        if let Some(to) = their_renames.get(&change.path) {
            let node = theirs.binary_search_by(|other| other.path.cmp(to));
            let node = node.ok().and_then(|at| theirs[at].new);
            merging.renamed(change, to, node)?;
        } else if !targets.contains_key(change.path.as_slice()) {
            merging.changed(change)?;
        }
    }
    merging.find_blocked()?;
    let mut merged = merging.merged;
    for (base, ours) in merging.our_renames {
        let theirs = their_renames.get(&base).unwrap_or(&base).clone();
        merged.followed.insert(ours, [base, theirs]);
    }
    merged.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(merged)
}

/// What theirs changed, as far as it is merged. What is not is named.
fn changed_there(input: &Input<'_>, merged: &mut Merged) -> Result<Vec<Change>> {
    let read = input.read_tree;
    let mut all = Vec::new();
    for change in tree::diff(read, Some(input.base), Some(input.theirs))? {
        let modes = [change.old, change.new].map(|node| node.map(|node| node.mode));
        let is_submodule = modes.contains(&Some(GITLINK_MODE));
        if !is_submodule && (input.is_known)(&change) {
            all.push(change);
        } else if !(input.takes)(&change.path) {
        } else if is_submodule {
            merged.submodules.push(change.path);
        } else if read.find(input.ours, &change.path)? != change.new {
            merged.unknown.push(change.path);
        }
    }
    Ok(all)
}

struct Merging<'a, 'i> {
    input: &'i Input<'a>,
    /// Where ours has files that theirs changed under their old names, or that are followed.
    our_renames: BTreeMap<Vec<u8>, Vec<u8>>,
    merged: Merged,
}

impl Merging<'_, '_> {
    /// What ours has there; a directory is nothing.
    fn ours(&self, full: &[u8]) -> Result<Option<Node>> {
        self.input.read_tree.file(self.input.ours, full)
    }

    fn changed(&mut self, change: &Change) -> Result<()> {
        let path = change.path.as_slice();
        let moved = self.our_renames.get(path).cloned();
        let at = moved.as_deref().unwrap_or(path);
        let three = Three {
            base: change.old,
            ours: self.ours(at)?,
            theirs: change.new,
        };
        let places = Places {
            base: path,
            ours: at,
            theirs: path,
        };
        self.settle(at, three, places)
    }

    /// A file that theirs has under another name.
    fn renamed(&mut self, change: &Change, to: &[u8], theirs: Option<Node>) -> Result<()> {
        let from = change.path.as_slice();
        let moved = self.our_renames.get(from).cloned();
        let at = moved.as_deref().unwrap_or(from);
        let (ours, taken) = (self.ours(at)?, self.ours(to)?);
        if taken.is_some() && at != to {
            // Somebody else has the new name here: a removal and an arrival.
            self.changed(change)?;
            let three = Three {
                base: None,
                ours: taken,
                theirs,
            };
            return self.settle(
                to,
                three,
                Places {
                    base: to,
                    ours: to,
                    theirs: to,
                },
            );
        }
        // Renamed on both sides: the name it has here stays.
        let result = if moved.is_some() { at } else { to };
        if ours.is_some() && at != result {
            self.merged.paths.insert(at.to_vec(), None);
            self.merged.renamed.insert(result.to_vec(), at.to_vec());
        }
        let three = Three {
            base: change.old,
            ours,
            theirs,
        };
        let places = Places {
            base: from,
            ours: at,
            theirs: to,
        };
        self.settle(result, three, places)?;
        if at != result
            && let (Some(ours), false) = (ours, self.merged.paths.contains_key(result))
        {
            // What stays as it is here still takes the new name.
            self.merged.paths.insert(result.to_vec(), Some(ours));
        }
        Ok(())
    }

    /// Decides what `result` becomes.
    fn settle(&mut self, result: &[u8], three: Three, places: Places<'_>) -> Result<()> {
        let Three { base, ours, theirs } = three;
        if ours == theirs || theirs == base {
            return Ok(());
        }
        let mut overlaps = Vec::new();
        let (becomes, reason) = if ours == base {
            (Some(theirs), None)
        } else {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    let (node, reason, parted) = self.both(base, ours, theirs, places)?;
                    if reason.is_none() {
                        self.merged.merged.insert(result.to_vec());
                    }
                    if !parted.adjacent.is_empty() {
                        let adjacent = &mut self.merged.adjacent;
                        adjacent.insert(result.to_vec(), parted.adjacent);
                    }
                    overlaps = parted.overlaps;
                    ((node != ours).then_some(Some(node)), reason)
                }
                (None, Some(_)) => (Some(theirs), Some(Reason::DeletedHere)),
                (_, None) => (None, Some(Reason::DeletedThere)),
            }
        };
        if let Some(node) = becomes {
            self.merged.paths.insert(result.to_vec(), node);
        }
        if let Some(reason) = reason {
            self.merged.conflicts.push(Conflict {
                path: result.to_vec(),
                reason,
                stages: [base, ours, theirs],
                base_path: places.base.to_vec(),
                overlaps,
                step: 0,
            });
        }
        Ok(())
    }

    /// Both sides have it, and neither has it as the base does.
    fn both(
        &self,
        base: Option<Node>,
        ours: Node,
        theirs: Node,
        places: Places<'_>,
    ) -> Result<(Node, Option<Reason>, Parted)> {
        let alone = |node, reason| Ok((node, reason, Parted::default()));
        let is_file = |node: Node| node.mode != LINK_MODE && node.mode != GITLINK_MODE;
        if !is_file(ours) || !is_file(theirs) {
            return alone(ours, Some(Reason::Kind));
        }
        let base = base.filter(|base| file_type(base.mode) == file_type(ours.mode));
        // There are two modes of files: where the sides differ, one of them has the base's.
        let mode = match base {
            Some(base) if base.mode == ours.mode => theirs.mode,
            _ => ours.mode,
        };
        let with = |oid| Node { mode, oid };
        if ours.oid == theirs.oid || base.is_some_and(|base| base.oid == theirs.oid) {
            return alone(with(ours.oid), None);
        }
        if base.is_some_and(|base| base.oid == ours.oid) {
            return alone(with(theirs.oid), None);
        }
        let text = |full: &[u8], node: Node| -> Result<Option<Vec<u8>>> {
            let content = (self.input.content)(full, node)?;
            Ok(content.filter(|content| !is_binary(content)))
        };
        let before = match base {
            Some(base) => text(places.base, base)?,
            None => Some(Vec::new()),
        };
        let sides = (text(places.ours, ours)?, text(places.theirs, theirs)?);
        let (Some(before), (Some(mine), Some(their))) = (before, sides) else {
            return alone(with(ours.oid), Some(Reason::Binary));
        };
        let texts = [before.as_slice(), mine.as_slice(), their.as_slice()];
        let (content, is_clean, mut parted) = self.texts(texts)?;
        let reason = match (is_clean, base) {
            (true, _) => None,
            (false, Some(_)) => Some(Reason::Content),
            (false, None) => Some(Reason::BothAdded),
        };
        parted.content.clear();
        Ok((with((self.input.put)(&content)?), reason, parted))
    }

    /// Merges three texts as git does; where that conflicts and it is asked for, once more change by change.
    fn texts(&self, texts: [&[u8]; 3]) -> Result<(Vec<u8>, bool, Parted)> {
        let (labels, style) = (&self.input.labels, self.input.style);
        let merged = textmerge::merge(texts, labels, style)?;
        let parted = match self.input.beside {
            Beside::Joins if !merged.clean => textmerge::merge_apart(texts, labels, style)?,
            Beside::Joins | Beside::Conflicts => None,
        };
        Ok(match parted {
            Some(parted) => {
                let is_clean = parted.overlaps.is_empty();
                (parted.content.clone(), is_clean, parted)
            }
            None => (merged.content, merged.clean, Parted::default()),
        })
    }

    /// Files and directories of ours that stay where theirs has the other.
    fn find_blocked(&mut self) -> Result<()> {
        let paths = &self.merged.paths;
        let goes = |full: &[u8]| matches!(paths.get(full), Some(None));
        let mut blocked = Vec::new();
        for full in paths.iter().filter_map(|(full, node)| node.map(|_| full)) {
            let mut above = path::split(full).0;
            while !above.is_empty() {
                if self.ours(above)?.is_some() && !goes(above) {
                    blocked.push(above.to_vec());
                }
                above = path::split(above).0;
            }
            let found = self.input.read_tree.find(self.input.ours, full)?;
            if let Some(dir) = found.filter(|node| node.is_dir()) {
                let beneath = tree::flatten(self.input.read_tree, dir.oid)?;
                let stays = |name: &[u8]| !goes(&[full.as_slice(), b"/", name].concat());
                if beneath.iter().any(|(name, _)| stays(name)) {
                    blocked.push(full.clone());
                }
            }
        }
        blocked.sort();
        blocked.dedup();
        self.merged.blocked = blocked;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
