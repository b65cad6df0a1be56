//! The trees of the index of each state, and what conflicts left in it.

use crate::git::Oid;
use crate::git::path::RepoPath;
use crate::git::threads;
use crate::git::tree::{self, Node};
use crate::store::stored::part;

use super::walk::{PathVersions, Version};
use super::{Among, State, States, Walked, walk};
use crate::error::Result;
use crate::git::objects::ObjectStore;

/// The versions that the index had, by path: those that conflicts left come behind the others and may overlap them.
pub fn staged(objects: &ObjectStore, states: &States, among: &dyn Among) -> Walked {
    // One that cannot be read is told of where its snapshot is: here it is as the one before.
    let sides = threads::map(&states.all, |state| side(objects, state.commit).ok());
    let mut chains = Vec::new();
    let mut conflicts = Vec::new();
    for (nth, chain) in states.chains.iter().enumerate() {
        let mut trees: Vec<Oid> = Vec::with_capacity(chain.states.len());
        for (at, position) in chain.states.iter().enumerate() {
            let side = sides[*position].as_ref();
            let before = trees.last().copied();
            let first = || states.all[*position].tree;
            trees.push(side.map_or_else(|| before.unwrap_or_else(first), |side| side.tree));
            let unmerged = side.into_iter().flat_map(|side| &side.unmerged);
            conflicts.extend(unmerged.map(|(path, node)| (path.clone(), nth, at, *node)));
        }
        chains.push(trees);
    }
    let mut walked = walk(objects, &chains, among);
    conflicts.retain(|(path, ..)| among.takes(path));
    add(&mut walked, conflicts);
    walked
}

/// What the index of one state had, as if it were the only one. None: it cannot be read.
pub fn staged_in(objects: &ObjectStore, state: &State, among: &dyn Among) -> Option<Walked> {
    let side = side(objects, state.commit).ok()?;
    let mut walked = walk(objects, &[vec![side.tree]], among);
    let unmerged = side.unmerged.into_iter();
    let unmerged = unmerged.filter(|(path, _)| among.takes(path));
    add(
        &mut walked,
        unmerged.map(|(path, node)| (path, 0, 0, node)).collect(),
    );
    Some(walked)
}

/// Adds what conflicts left: path, chain, place in it, and what it is.
fn add(walked: &mut Walked, conflicts: Vec<(Vec<u8>, usize, usize, Node)>) {
    for (path, chain, at, node) in conflicts {
        let version = Version {
            chain,
            from: at,
            to: at,
            node,
        };
        let path = RepoPath::new(path);
        match walked.paths.binary_search_by(|known| known.path.cmp(&path)) {
            Ok(known) => walked.paths[known].versions.push(version),
            Err(place) => walked.paths.insert(
                place,
                PathVersions {
                    path,
                    versions: vec![version],
                },
            ),
        }
    }
}

/// The index of a state.
struct Side {
    tree: Oid,
    /// Path, mode and blob of each stage.
    unmerged: Vec<(Vec<u8>, Node)>,
}

fn side(objects: &ObjectStore, snapshot: Oid) -> Result<Side> {
    let snapshot = objects.commit(snapshot)?;
    let Some(index) = snapshot.parents.last() else {
        return Ok(Side {
            tree: snapshot.tree,
            unmerged: Vec::new(),
        });
    };
    let index = objects.commit(*index)?;
    // HEAD, when there is one, and then the state commit: as many as the snapshot's own, when it has none.
    let state = index.parents.get(snapshot.parents.len() - 1);
    let unmerged = match state {
        Some(state) => unmerged(objects, *state)?,
        None => Vec::new(),
    };
    Ok(Side {
        tree: index.tree,
        unmerged,
    })
}

fn unmerged(objects: &ObjectStore, state: Oid) -> Result<Vec<(Vec<u8>, Node)>> {
    let tree = objects.commit(state)?.tree;
    let Some(list) = tree::find(objects, tree, part::UNMERGED.as_bytes())? else {
        return Ok(Vec::new());
    };
    let (_, list) = objects.read(list.oid)?;
    Ok(list.split(|byte| *byte == 0).filter_map(stage).collect())
}

/// `100644 <id> <stage>`, a tab and the path.
fn stage(line: &[u8]) -> Option<(Vec<u8>, Node)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = line.split_at_checked(tab)?;
    let mut words = std::str::from_utf8(head).ok()?.split(' ');
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let oid = Oid::from_hex(words.next()?).ok()?;
    Some((path.get(1..)?.to_vec(), Node { mode, oid }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_read_as_git_prints_it() {
        let oid = "1".repeat(40);
        let line = format!("100755 {oid} 2\ta\tb");
        let (path, node) = stage(line.as_bytes()).expect("a stage");
        assert_eq!((&path[..], node.mode), (&b"a\tb"[..], 0o100_755));
        assert_eq!(node.oid.to_string(), oid);
        assert_eq!(stage(b""), None);
        assert_eq!(stage(b"100644 zz 1\ta"), None);
    }
}
