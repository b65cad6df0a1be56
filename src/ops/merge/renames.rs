//! Which file became which: a name that went and one that came with the same content, or with more than half of it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::Input;
use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::is_empty_blob;
use crate::git::textdiff::{file_type, is_binary};
use crate::git::tree::{Change, Node};

/// This many comparisons of contents at most; beyond it only equal contents are found.
const MOST: usize = 10_000;
/// Similar enough, in hundredths: as git has it.
const SIMILAR: usize = 50;

/// A name and what stood or stands there.
type Named<'c> = (&'c [u8], Node);

/// From the old names to the new ones.
pub type Renames = BTreeMap<Vec<u8>, Vec<u8>>;

/// The renames among the changes of one side.
pub fn find(input: &Input<'_>, changes: &[Change]) -> Result<Renames> {
    let gone = changes.iter().filter(|change| change.new.is_none());
    let gone: Vec<Named<'_>> = gone
        .filter_map(|change| Some((change.path.as_slice(), change.old?)))
        .collect();
    pair(input, gone, came(changes))
}

/// The renames among ours of files that theirs changed, and among what is left then of those that are followed for what no tree says: no other
/// name matters.
pub fn of_wanted(input: &Input<'_>, ours: &[Change], theirs: &[Change]) -> Result<Renames> {
    let is_changed = |path: &[u8]| {
        let at = theirs.binary_search_by(|change| change.path.as_slice().cmp(path));
        at.is_ok()
    };
    let gone = ours.iter().filter(|change| change.new.is_none());
    let gone = gone.filter_map(|change| Some((change.path.as_slice(), change.old?)));
    let (changed, others): (Vec<Named<'_>>, Vec<_>) = gone.partition(|(path, _)| is_changed(path));
    let mut renames = pair(input, changed, came(ours))?;
    let others = others.into_iter();
    let others: Vec<_> = others.filter(|(path, _)| (input.follows)(path)).collect();
    if !others.is_empty() {
        let taken: HashSet<&[u8]> = renames.values().map(Vec::as_slice).collect();
        let mut left = came(ours);
        left.retain(|(path, _)| !taken.contains(path));
        let found = pair(input, others, left)?;
        renames.extend(found);
    }
    Ok(renames)
}

fn came(changes: &[Change]) -> Vec<Named<'_>> {
    let came = changes.iter().filter(|change| change.old.is_none());
    came.filter_map(|change| Some((change.path.as_slice(), change.new?)))
        .collect()
}

fn pair<'c>(
    input: &Input<'_>,
    mut gone: Vec<Named<'c>>,
    mut came: Vec<Named<'c>>,
) -> Result<Renames> {
    // All empty files are alike, and as in a merge of git's none of them became another.
    let has_content = |(_, node): &Named<'c>| !is_empty_blob(node.oid);
    gone.retain(has_content);
    came.retain(has_content);
    let mut renames = Renames::new();
    let mut open = Vec::new();
    let mut equal = Equal::of(&came);
    // One with the same name is another's only when that has none.
    let mut others = Vec::new();
    for (path, node) in gone {
        match equal.take_named(path, node) {
            Some(to) => drop(renames.insert(path.to_vec(), to.to_vec())),
            None => others.push((path, node)),
        }
    }
    for (path, node) in others {
        match equal.take(node) {
            Some(to) => drop(renames.insert(path.to_vec(), to.to_vec())),
            None => open.push((path, node)),
        }
    }
    came.retain(|(path, _)| !equal.taken.contains(path));
    if open.is_empty() || open.len() * came.len() > MOST {
        return Ok(renames);
    }
    let lines = |list: &[Named<'_>]| -> Result<Vec<Option<Lines>>> {
        let of = |(path, node): &Named<'_>| {
            // A submodule is no file.
            if node.is_gitlink() {
                return Ok(None);
            }
            Ok((input.content)(path, *node)?.as_deref().and_then(Lines::of))
        };
        list.iter().map(of).collect()
    };
    let (from, to) = (lines(&open)?, lines(&came)?);
    let mut scores = Vec::new();
    for (old, (path, node)) in open.iter().enumerate() {
        for (new, (other, other_node)) in came.iter().enumerate() {
            if file_type(node.mode) != file_type(other_node.mode) {
                continue;
            }
            if let (Some(Some(a)), Some(Some(b))) = (from.get(old), to.get(new)) {
                let score = a.likeness(b);
                if score >= SIMILAR {
                    let same_name = last(path) == last(other);
                    scores.push((score, same_name, path.to_vec(), other.to_vec()));
                }
            }
        }
    }
    scores.sort_by(|a, b| (b.0, b.1, &a.2, &a.3).cmp(&(a.0, a.1, &b.2, &b.3)));
    let mut taken: Vec<Vec<u8>> = Vec::new();
    for (_, _, old, new) in scores {
        if !renames.contains_key(&old) && !taken.contains(&new) {
            taken.push(new.clone());
            renames.insert(old, new);
        }
    }
    Ok(renames)
}

/// Paths in a row.
type Paths<'c> = VecDeque<&'c [u8]>;

/// Names that came, by what stands there: in their order.
struct Equal<'c> {
    by_node: HashMap<(u32, Oid), Paths<'c>>,
    /// The same by the last part of the name, too.
    by_name: HashMap<(u32, Oid, &'c [u8]), Paths<'c>>,
    taken: HashSet<&'c [u8]>,
}

impl<'c> Equal<'c> {
    fn of(came: &[Named<'c>]) -> Self {
        let mut all = Self {
            by_node: HashMap::new(),
            by_name: HashMap::new(),
            taken: HashSet::new(),
        };
        for (path, Node { mode, oid }) in came.iter().copied() {
            let equal = all.by_node.entry((mode, oid)).or_default();
            equal.push_back(path);
            let named = all.by_name.entry((mode, oid, last(path))).or_default();
            named.push_back(path);
        }
        all
    }

    /// One that is equal, with the same name in another directory, and not taken yet.
    fn take_named(&mut self, path: &'c [u8], Node { mode, oid }: Node) -> Option<&'c [u8]> {
        let names = self.by_name.get_mut(&(mode, oid, last(path)))?;
        Self::first(names, &mut self.taken)
    }

    /// One that is equal and not taken yet.
    fn take(&mut self, Node { mode, oid }: Node) -> Option<&'c [u8]> {
        let names = self.by_node.get_mut(&(mode, oid))?;
        Self::first(names, &mut self.taken)
    }

    fn first(names: &mut Paths<'c>, taken: &mut HashSet<&'c [u8]>) -> Option<&'c [u8]> {
        while let Some(name) = names.pop_front() {
            if taken.insert(name) {
                return Some(name);
            }
        }
        None
    }
}

fn last(path: &[u8]) -> &[u8] {
    crate::git::path::split(path).1
}

/// A text's lines: each with how many bytes of the text are such lines.
struct Lines {
    bytes: HashMap<Vec<u8>, usize>,
    total: usize,
}

impl Lines {
    fn of(text: &[u8]) -> Option<Self> {
        if text.is_empty() || is_binary(text) {
            return None;
        }
        let mut bytes: HashMap<Vec<u8>, usize> = HashMap::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            *bytes.entry(line.to_vec()).or_default() += line.len();
        }
        Some(Self {
            bytes,
            total: text.len(),
        })
    }

    /// How much of the larger one both have, in hundredths.
    fn likeness(&self, other: &Self) -> usize {
        let common: usize = self
            .bytes
            .iter()
            .map(|(line, size)| other.bytes.get(line).map_or(0, |there| *size.min(there)))
            .sum();
        common * 100 / self.total.max(other.total).max(1)
    }
}
