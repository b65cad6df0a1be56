//! Sparse entries that are not on disk: they stand in the tree for what the index says.

use super::super::gitview::GitView;
use crate::git::fs::Root;
use crate::git::index::Flags;
use crate::git::{Oid, path};
use crate::worktree::manifest::{
    DirFlags, DirRec, FileFlags, FileRec, Kind, Manifest, no_oid, preorder,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// Index entries with skip-worktree that are not on disk (sparse checkout) stand in the tree for what the index says, unless
/// a file stands where one of their directories would be: a tree has each name once. Those whose objects are not there
/// (`unheld`, in order) do not, nor those that are on disk in a directory that no look entered: their bytes are not those of the index.
pub(super) fn add_absent(
    manifest: &mut Manifest,
    root: &Root,
    view: &GitView<'_>,
    unheld: &[Vec<u8>],
) {
    let Some(index) = view.index() else { return };
    let mut missing: Vec<(Vec<u8>, u32, Oid)> = Vec::new();
    let covered = |path: &[u8]| {
        dirs_over(path).any(|at| manifest.file(at).is_some_and(|file| file.kind.in_tree()))
    };
    let mut unseen = Unseen::new(manifest, root);
    for (path, entry) in index.iter() {
        let absent = entry.flags.contains(Flags::SKIP_WORKTREE) && entry.stage == 0;
        let is_unheld = || {
            unheld
                .binary_search_by(|it| it.as_slice().cmp(path))
                .is_ok()
        };
        // No tree of ours may have another.
        let has_safe_name = || path::is_safe(path);
        if absent
            && has_safe_name()
            && !is_unheld()
            && manifest.file(path).is_none()
            && manifest.find_dir(path).is_none()
            && !covered(path)
            && !unseen.may_have(path)
        {
            missing.push((path.to_vec(), entry.mode, entry.oid));
        }
    }
    if !missing.is_empty() {
        *manifest = with_absent(manifest, &missing);
    }
}

/// The directories that hold a path, from the outermost.
fn dirs_over(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path::with_parents(path::split(path).0).filter(|dir| !dir.is_empty())
}

/// Directories that no look entered, because of rules or of their bits: what is in them nobody knows.
struct Unseen<'a> {
    manifest: &'a Manifest,
    root: &'a Root,
    /// The last one asked for, and whether it is on disk: entries come in order, and most are in directories that are not there.
    last: Option<(Vec<u8>, bool)>,
}

impl<'a> Unseen<'a> {
    fn new(manifest: &'a Manifest, root: &'a Root) -> Self {
        Self {
            manifest,
            root,
            last: None,
        }
    }

    /// Whether something may be at a path that no look came to.
    fn may_have(&mut self, path: &[u8]) -> bool {
        let is_unseen = |dir: &&[u8]| self.manifest.find_dir(dir).is_none();
        let Some(dir) = dirs_over(path).find(is_unseen) else {
            return false;
        };
        self.is_on_disk(dir) && !matches!(self.root.stamp(path), Ok(None))
    }

    fn is_on_disk(&mut self, dir: &[u8]) -> bool {
        if let Some((last, is_there)) = &self.last
            && last == dir
        {
            return *is_there;
        }
        let is_there = !matches!(self.root.stamp(dir), Ok(None));
        self.last = Some((dir.to_vec(), is_there));
        is_there
    }
}

fn with_absent(old: &Manifest, missing: &[(Vec<u8>, u32, Oid)]) -> Manifest {
    let mut listing = Listing::of(old);
    for (full, mode, oid) in missing {
        listing.add_absent(full, *mode, *oid);
    }
    listing.into_manifest()
}

/// A directory's path, in the manifest's own order: a directory comes before what is beneath, so that
/// its position is known when a child asks for it.
struct ByPreorder(Vec<u8>);

impl PartialEq for ByPreorder {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for ByPreorder {}

impl PartialOrd for ByPreorder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByPreorder {
    fn cmp(&self, other: &Self) -> Ordering {
        preorder(&self.0, &other.0)
    }
}

#[derive(Default)]
struct ListedDir {
    /// When it is on disk.
    rec: Option<DirRec>,
    /// By name.
    files: Vec<(Vec<u8>, FileRec)>,
}

/// A manifest taken apart, so that something can be put between.
struct Listing(BTreeMap<ByPreorder, ListedDir>);

impl Listing {
    fn of(manifest: &Manifest) -> Self {
        let mut dirs = BTreeMap::new();
        for dir in &manifest.dirs {
            let files = manifest.files_of(dir).iter();
            let listed = ListedDir {
                rec: Some(*dir),
                files: files
                    .map(|file| (manifest.bytes(file.name).to_vec(), file))
                    .collect(),
            };
            dirs.insert(ByPreorder(manifest.dir_path(dir).to_vec()), listed);
        }
        Self(dirs)
    }

    fn add_absent(&mut self, full: &[u8], mode: u32, oid: Oid) {
        let (dir, name) = path::split(full);
        let mut at = dir;
        // A sparse checkout removes the directories that it empties: those above may be missing on disk, too.
        while !at.is_empty() {
            self.0.entry(ByPreorder(at.to_vec())).or_default();
            at = path::split(at).0;
        }
        let rec = FileRec {
            name: Default::default(),
            kind: Kind::Absent,
            flags: FileFlags::TRACKED,
            stamp: Default::default(),
            git_mode: mode,
            oid,
        };
        let listed = self.0.entry(ByPreorder(dir.to_vec())).or_default();
        listed.files.push((name.to_vec(), rec));
        // The tree that is known of it was made without this entry.
        if let Some(dir) = &mut listed.rec {
            dir.flags |= DirFlags::DIRTY;
        }
    }

    fn into_manifest(self) -> Manifest {
        let mut new = Manifest::default();
        let mut places: HashMap<Vec<u8>, u32> = HashMap::new();
        for (ByPreorder(dir_path), ListedDir { rec, mut files }) in self.0 {
            files.sort_by(|a, b| a.0.cmp(&b.0));
            let at = u32::try_from(new.dirs.len()).expect("fewer than 2^32 directories");
            let parent = places.get(path::split(&dir_path).0).copied().unwrap_or(0);
            let path = new.intern(&dir_path);
            let first = new.next_place();
            for (name, file) in files {
                let name = new.intern(&name);
                new.push_file(FileRec { name, ..file });
            }
            let end = new.next_place();
            let rec = rec.unwrap_or(DirRec {
                path,
                parent,
                first,
                end,
                flags: DirFlags::VIRTUAL | DirFlags::DIRTY,
                stamp: Default::default(),
                tree: no_oid(),
                ignored: Default::default(),
            });
            new.dirs.push(DirRec {
                path,
                parent,
                first,
                end,
                ..rec
            });
            places.insert(dir_path, at);
        }
        new.mark_ancestors_dirty();
        new
    }
}
