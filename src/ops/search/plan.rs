//! In which order paths are worked off, and which contents that takes.
//!
//! The path whose newest hit can be newest comes first, so that what it has can be told before the rest is looked through.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::Place;
use super::board::Blobs;
use crate::git::Oid;
use crate::git::path::RepoPath;
use crate::git::tree::{GITLINK_MODE, LINK_MODE};
use crate::ops::versions::{PathVersions, States, Version};

/// A version and its content.
#[derive(Debug)]
pub struct Step {
    /// The version.
    pub version: Version,
    /// Its content: a place in [`Plan::blobs`].
    pub blob: usize,
    /// It is of the index.
    pub staged: bool,
}

/// A path and its versions.
#[derive(Debug)]
pub struct File {
    /// The path.
    pub path: RepoPath,
    /// Its versions: of the files chain by chain, oldest first, then of the index.
    pub steps: Vec<Step>,
    /// No hit in it is of a newer state than the one at this position.
    pub newest: usize,
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// In the order in which they are worked off.
    pub paths: Vec<File>,
    /// Their contents.
    pub blobs: Blobs,
}

impl Plan {
    /// Leaves only these paths.
    pub fn keep(&mut self, is_wanted: impl Fn(&File) -> bool) {
        let paths = std::mem::take(&mut self.paths);
        let blobs = std::mem::take(&mut self.blobs);
        let mut known = HashMap::new();
        for mut path in paths {
            if !is_wanted(&path) {
                continue;
            }
            for step in &mut path.steps {
                step.blob = self.blobs.add(blobs.oid(step.blob), &mut known);
            }
            self.paths.push(path);
        }
    }

    /// For what files and index had.
    pub fn new(
        states: &States,
        files: Vec<PathVersions>,
        index: Vec<PathVersions>,
        places: &[Place],
    ) -> Self {
        let mut staged: HashMap<RepoPath, Vec<Version>> = index
            .into_iter()
            .map(|one| (one.path, one.versions))
            .collect();
        let mut paths: Vec<(RepoPath, Vec<(Version, bool)>)> = Vec::new();
        for one in files {
            let own = one.versions.into_iter().map(|version| (version, false));
            let mut versions: Vec<(Version, bool)> = own.collect();
            // What the files had is found there.
            let known: HashSet<Oid> = versions.iter().map(|(one, _)| one.node.oid).collect();
            let staged = staged.remove(&one.path).unwrap_or_default().into_iter();
            let others = staged.filter(|one| !known.contains(&one.node.oid));
            versions.extend(others.map(|one| (one, true)));
            paths.push((one.path, versions));
        }
        let only_staged = staged.into_iter();
        paths.extend(only_staged.map(|(path, versions)| {
            let versions = versions.into_iter().map(|one| (one, true)).collect();
            (path, versions)
        }));
        let mut plan = Self::default();
        let mut known = HashMap::new();
        let mut ordered: Vec<_> = paths
            .into_iter()
            .filter_map(|(path, mut versions)| {
                versions.retain(|(one, _)| !matches!(one.node.mode, LINK_MODE | GITLINK_MODE));
                let newest = versions
                    .iter()
                    .map(|(one, _)| newest(states, one, places))
                    .max()?;
                Some((newest, path, versions))
            })
            .collect();
        ordered.sort_by(|a, b| (Reverse(a.0), &a.1).cmp(&(Reverse(b.0), &b.1)));
        for (newest, path, versions) in ordered {
            let steps = versions.into_iter().map(|(version, staged)| Step {
                version,
                blob: plan.blobs.add(version.node.oid, &mut known),
                staged,
            });
            let steps = steps.collect();
            plan.paths.push(File {
                path,
                steps,
                newest,
            });
        }
        plan
    }
}

/// The newest state that a hit in a version can be of: the last that has it, for a diff the one in which it went.
fn newest(states: &States, version: &Version, places: &[Place]) -> usize {
    let last = version.last();
    let gone = states.after(last).filter(|_| places.contains(&Place::Diff));
    states.position(gone.unwrap_or(last))
}
