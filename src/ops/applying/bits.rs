//! What a merge of trees does not see: permission bits beside the executable one, and directories without captured content.
//!
//! Each is changed only where it is as the change left it: what somebody changed since stays.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{Applying, Change};
use crate::error::Result;
use crate::git::Oid;
use crate::git::fs::Root;
use crate::git::path;
use crate::git::tree::{self, DIR_MODE, GITLINK_MODE, LINK_MODE, Lookup, Node};
use crate::ops::capture::Capture;
use crate::ops::swap::goal::PathChanges;
use crate::ops::three_way::{Bits, NamesHere, Steps, bits_after, bits_here};
use crate::worktree::manifest::Kind;
use crate::worktree::plan::{Extras, Side};

/// A path, and what becomes of it.
type PathBecomes = (Vec<u8>, Option<Side>);

/// Directories, and the permission bits that they get; None: they go.
type Dirs = BTreeMap<Vec<u8>, Option<u32>>;

/// Of paths whose permission bits a change changed, those that it found, those that it left, and whether it is a directory.
pub(super) type BitChanges = BTreeMap<Vec<u8>, (u32, u32, bool)>;

/// Both sides of a change, and what is there.
struct Sides<'a> {
    change: &'a Change,
    trees: &'a Lookup<'a>,
    capture: &'a Capture<'a>,
}

impl Applying<'_, '_> {
    /// The permission bits that a path gets from one change after the other ([`bits_after`]).
    pub(super) fn bits(
        &self,
        (trees, capture): (&Lookup<'_>, &Capture<'_>),
        steps: &Steps,
        (full, git_mode): (&[u8], u32),
    ) -> Result<u32> {
        let of = |(root, extras): (Oid, &Extras), name: &[u8]| -> Result<Option<Bits>> {
            let node = trees.file(root, name)?;
            let node = node.filter(|node| node.mode != LINK_MODE && !node.is_gitlink());
            Ok(node.map(|node| (extras.permissions(name, node.mode), node.mode)))
        };
        let (here, names) = steps.names(full);
        let mut now = bits_here(capture.manifest.file(here));
        let changes = self.changes.iter().zip(&steps.taken);
        for ((change, taken), [before, after]) in changes.zip(names) {
            let is_taken = taken.contains(before) || taken.contains(after);
            if !is_taken && !self.takes(change)(after) {
                continue;
            }
            let Some((left, mode)) = of((change.theirs, &change.extras), after)? else {
                now = now.filter(|_| !is_taken);
                continue;
            };
            let base = change.base.zip(change.base_extras.as_ref());
            let found = base.map_or(Ok(None), |base| of(base, before))?;
            let mode = match (found, now) {
                (Some((_, base)), Some((_, here))) if base != here => here,
                _ => mode,
            };
            let found = found.map(|(bits, _)| bits);
            now = Some((bits_after(now, (found, left), mode), mode));
        }
        let left = self.last_extras().permissions(full, git_mode);
        Ok(bits_after(now, (None, left), git_mode))
    }

    /// What each change did to permission bits.
    ///
    /// # Errors
    /// Its trees cannot be read.
    pub(super) fn bit_changes(
        &self,
        trees: &Lookup<'_>,
        capture: &Capture<'_>,
    ) -> Result<Vec<BitChanges>> {
        let of = |change| {
            let takes = self.takes(change);
            let sides = Sides {
                change,
                trees,
                capture,
            };
            let mut found = BitChanges::new();
            for path in sides.candidates()?.into_iter().filter(|path| takes(path)) {
                let bits = sides.bits(&path)?;
                found.extend(bits.map(|bits| (path, bits)));
            }
            Ok(found)
        };
        self.changes.iter().map(of).collect()
    }

    /// Adds what a merge of trees does not see to what becomes of the present. `changed`: what each change did to permission bits.
    ///
    /// # Errors
    /// A tree cannot be read.
    pub(super) fn add_bits(
        &self,
        (trees, capture): (&Lookup<'_>, &Capture<'_>),
        (steps, changed): (&Steps, &[BitChanges]),
        becomes: &mut PathChanges,
    ) -> Result<()> {
        let mut files: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        let mut dirs = Dirs::new();
        let mut gone: Vec<(usize, &[u8])> = Vec::new();
        for (at, (change, bits)) in self.changes.iter().zip(changed).enumerate() {
            let sides = Sides {
                change,
                trees,
                capture,
            };
            let names = steps.names_here(at);
            for (path, &(old, new, is_dir)) in bits {
                let name = sides.name_here(path, &names, &becomes.paths)?;
                let here = if is_dir {
                    let here = dirs.get(&name).copied().flatten();
                    here.or_else(|| sides.dir(&name))
                } else {
                    let here = files.get(&name).copied();
                    here.or_else(|| sides.file(&name))
                };
                if here.is_none() {
                    gone.push((at, path));
                } else if here == Some(old) && is_dir {
                    dirs.insert(name, Some(new));
                } else if here == Some(old) {
                    files.insert(name, new);
                }
            }
            for (dir, bits) in sides.empty_dirs(&self.takes(change), (&becomes.paths, &dirs))? {
                dirs.insert(dir, bits);
            }
        }
        let gone = self.gone((trees, capture), (steps, gone), (&becomes.paths, &dirs))?;
        self.bits_gone.replace(gone);
        // As the merge gave them: sorted.
        let merged = becomes.paths.len();
        for (path, perm) in files {
            let known = becomes.paths.get(..merged).unwrap_or_default();
            // What becomes of these has its bits already.
            let known = known.binary_search_by(|(known, _)| known.cmp(&path));
            if let (Err(_), Some(here)) = (known, capture.manifest.file(&path)) {
                let node = Node {
                    mode: here.git_mode,
                    oid: here.oid,
                };
                becomes.paths.push((path, Some(Side { node, perm })));
            }
        }
        for (dir, bits) in &becomes.dirs {
            dirs.insert(dir.clone(), *bits);
        }
        becomes.dirs = dirs.into_iter().collect();
        Ok(())
    }

    /// Of paths whose permission bits a change changed, by its number, those that are not there and that nothing becomes of. One that another change
    /// makes or removes has no bits but between these.
    fn gone(
        &self,
        (trees, capture): (&Lookup<'_>, &Capture<'_>),
        (steps, paths): (&Steps, Vec<(usize, &[u8])>),
        (files, dirs): (&[PathBecomes], &Dirs),
    ) -> Result<BTreeSet<Vec<u8>>> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let mut gone = BTreeSet::new();
        for (at, full) in paths {
            let is_merged = steps
                .taken
                .get(at)
                .is_some_and(|taken| taken.contains(full));
            let is_there = trees.find(capture.tree, full)?.is_some()
                || !matches!(root.stamp(full), Ok(None))
                || matches!(dirs.get(full), Some(Some(_)))
                || comes(files, full);
            if !is_merged && !is_there && !self.is_made_or_removed(trees, full)? {
                gone.insert(full.to_vec());
            }
        }
        Ok(gone)
    }

    /// Whether a change makes or removes a path.
    fn is_made_or_removed(&self, trees: &Lookup<'_>, full: &[u8]) -> Result<bool> {
        for change in &self.changes {
            let base = change.base.zip(change.base_extras.as_ref());
            let has = |(root, extras): (Oid, &Extras)| -> Result<bool> {
                Ok(extras.leads_to_empty_dir(full) || trees.find(root, full)?.is_some())
            };
            if base.map_or(Ok(false), has)? != has((change.theirs, &change.extras))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a path comes, or something in it; the paths are sorted.
fn comes(paths: &[PathBecomes], full: &[u8]) -> bool {
    let is_kept = |at: usize| paths[at].1.is_some();
    let known = paths.binary_search_by(|(path, _)| path.as_slice().cmp(full));
    let inside = path::join(full, b"");
    let from = paths.partition_point(|(path, _)| *path < inside);
    let within = paths[from..].iter();
    let mut within = within.take_while(|(path, _)| path.starts_with(&inside));
    known.is_ok_and(is_kept) || within.any(|(_, after)| after.is_some())
}

impl Sides<'_> {
    fn theirs(&self) -> &Extras {
        &self.change.extras
    }

    /// The paths whose permission bits may differ.
    fn candidates(&self) -> Result<BTreeSet<Vec<u8>>> {
        let Some(base) = &self.change.base_extras else {
            return Ok(BTreeSet::new());
        };
        let named = base.modes.iter().chain(&self.theirs().modes);
        let mut found: BTreeSet<Vec<u8>> = named
            .filter(|(path, _)| base.modes.get(*path) != self.theirs().modes.get(*path))
            .map(|(path, _)| path.clone())
            .collect();
        if base.defaults != self.theirs().defaults {
            let files = tree::flatten(self.trees, self.change.theirs)?;
            let files = files.iter().map(|(path, _)| path);
            for at in files
                .chain(&self.theirs().empty_dirs)
                .flat_map(|full| path::with_parents(full))
            {
                if !found.contains(at) {
                    found.insert(at.to_vec());
                }
            }
        }
        // The root is the repository's own place.
        found.retain(|full| !full.is_empty() && path::is_safe(full));
        Ok(found)
    }

    fn node(&self, root: Option<Oid>, full: &[u8]) -> Result<Option<Node>> {
        root.map_or(Ok(None), |root| self.trees.find(root, full))
    }

    /// The bits that a path has on both sides, when these differ and it is the same kind of file there; whether it is a directory.
    fn bits(&self, full: &[u8]) -> Result<Option<(u32, u32, bool)>> {
        let Some(base) = &self.change.base_extras else {
            return Ok(None);
        };
        let mode = |extras: &Extras, root| -> Result<Option<u32>> {
            if extras.leads_to_empty_dir(full) {
                return Ok(Some(DIR_MODE));
            }
            Ok(self.node(root, full)?.map(|node| node.mode))
        };
        let old = mode(base, self.change.base)?;
        let new = mode(self.theirs(), Some(self.change.theirs))?;
        let Some(mode) = old.filter(|mode| new == Some(*mode) && *mode != LINK_MODE) else {
            return Ok(None);
        };
        let is_submodule = mode == GITLINK_MODE;
        // A record of an earlier version knows nothing of a submodule's directory.
        let is_known = |extras: &Extras| extras.modes.contains_key(full);
        if is_submodule && !(is_known(base) && is_known(self.theirs())) {
            return Ok(None);
        }
        let (old, new) = (
            base.permissions(full, mode),
            self.theirs().permissions(full, mode),
        );
        Ok((old != new).then_some((old, new, is_submodule || mode == DIR_MODE)))
    }

    /// What is called so in what the change found has this name in the present: also a directory that is gone, where most of its files are
    /// followed, all of them into a new one as they were in it, and stay there.
    fn name_here(
        &self,
        full: &[u8],
        names: &NamesHere<'_>,
        becomes: &[PathBecomes],
    ) -> Result<Vec<u8>> {
        let name = names.get(full).copied().unwrap_or(full);
        let dir = self.node(self.change.base, full)?;
        let dir = dir.filter(|node| node.is_dir() && self.dir(full).is_none());
        let (Some(dir), Some(base)) = (dir, &self.change.base_extras) else {
            return Ok(name.to_vec());
        };
        let goes = |file: &[u8]| {
            let known = becomes.binary_search_by(|(path, _)| path.as_slice().cmp(file));
            known.is_ok_and(|at| becomes[at].1.is_none())
        };
        let (mut new, mut followed) = (BTreeSet::new(), 0);
        let files = tree::flatten(self.trees, dir.oid)?;
        for (beneath, _) in &files {
            let file = names.get(path::join(full, beneath).as_slice());
            if let Some(file) = file.filter(|file| !goes(file)) {
                let over = file.strip_suffix(beneath.as_slice());
                new.insert(over.and_then(|over| over.strip_suffix(b"/")));
                followed += 1;
            }
        }
        let are_most = followed * 2 > files.len();
        Ok(match (new.pop_first(), new.is_empty() && are_most) {
            (Some(Some(new)), true) if !self.has(base, self.change.base, new)? => new.to_vec(),
            _ => name.to_vec(),
        })
    }

    fn file(&self, full: &[u8]) -> Option<u32> {
        let file = self.capture.manifest.file(full)?;
        (file.kind == Kind::File).then(|| file.stamp.permissions())
    }

    fn dir(&self, full: &[u8]) -> Option<u32> {
        let manifest = &self.capture.manifest;
        let dir = manifest.dir_on_disk(full).map(|dir| dir.stamp);
        let submodule = || {
            manifest
                .file(full)
                .filter(|file| file.kind == Kind::Gitlink)
        };
        let stamp = dir.or_else(|| submodule().map(|file| file.stamp))?;
        Some(stamp.permissions())
    }

    /// Directories without content that the change made, or took away. `becomes`: what becomes of files, and of directories by the changes
    /// before it.
    fn empty_dirs(
        &self,
        takes: &dyn Fn(&[u8]) -> bool,
        (paths, dirs): (&[PathBecomes], &Dirs),
    ) -> Result<Vec<(Vec<u8>, Option<u32>)>> {
        let Some(base) = &self.change.base_extras else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for dir in self.theirs().empty_dirs.difference(&base.empty_dirs) {
            let had = self.node(self.change.base, dir)?;
            let had = had.is_some_and(|node| node.is_dir() || node.is_gitlink());
            let had = had || base.leads_to_empty_dir(dir);
            if had || !takes(dir) || !self.has_room(dir, paths) {
                continue;
            }
            let mut at = dir.as_slice();
            while !at.is_empty() && self.dir(at).is_none() {
                found.push((at.to_vec(), Some(self.theirs().permissions(at, DIR_MODE))));
                at = path::split(at).0;
            }
        }
        let holding = OnceCell::new();
        // One that an earlier change makes, and nothing in it that stays.
        let is_made = |dir: &[u8]| {
            let inside = path::join(dir, b"");
            let within = dirs.range(inside.clone()..);
            let mut within = within.take_while(|(at, _)| at.starts_with(&inside));
            let is_bare = within.all(|(at, bits)| bits.is_none() || base.leads_to_empty_dir(at));
            matches!(dirs.get(dir), Some(Some(_))) && self.dir(dir).is_none() && is_bare
        };
        for dir in base.empty_dirs.difference(&self.theirs().empty_dirs) {
            let mut at = dir.as_slice();
            while !at.is_empty()
                && takes(at)
                && !self.change.uncaptured.may_have_dir(at)
                && !self.has(self.theirs(), Some(self.change.theirs), at)?
                && (is_made(at) || self.is_bare(at, holding.get_or_init(|| self.holding(base))))
            {
                found.push((at.to_vec(), None));
                at = path::split(at).0;
            }
        }
        Ok(found)
    }

    /// Whether a side has a directory, filled or not.
    fn has(&self, extras: &Extras, root: Option<Oid>, dir: &[u8]) -> Result<bool> {
        Ok(extras.leads_to_empty_dir(dir) || self.node(root, dir)?.is_some())
    }

    /// The directories that are there and have files, or are not among those that the change found empty.
    fn holding(&self, base: &Extras) -> BTreeSet<Vec<u8>> {
        let manifest = &self.capture.manifest;
        let files = manifest.entries().map(|(dir, _)| dir);
        let others = manifest.dirs.iter();
        let others = others.filter(|dir| !base.leads_to_empty_dir(manifest.dir_path(dir)));
        let dirs = files.chain(others);
        dirs.map(|dir| manifest.dir_path(dir).to_vec()).collect()
    }

    /// Whether a directory is there and has no file, and no directory but those that the change found. `holding`: see [`Self::holding`].
    fn is_bare(&self, dir: &[u8], holding: &BTreeSet<Vec<u8>>) -> bool {
        let holds = holding.contains(dir) || path::any_within(holding, dir);
        self.dir(dir).is_some() && !holds
    }

    /// Nothing else than directories has, or gets, the place of a directory, or of one above it.
    fn has_room(&self, dir: &[u8], becomes: &[PathBecomes]) -> bool {
        path::with_parents(dir).all(|at| {
            let known = becomes.binary_search_by(|(path, _)| path.as_slice().cmp(at));
            match known {
                Ok(found) => becomes[found].1.is_none(),
                Err(_) => self.capture.manifest.file(at).is_none(),
            }
        })
    }
}
