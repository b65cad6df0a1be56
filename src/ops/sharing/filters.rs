//! Files that git has in another form than they have here: a clean filter, of git-crypt for one, encrypts them on their way in. A
//! snapshot has them as they are, and so would everybody who gets it.
//!
//! Whether the filter is set up now says nothing: `git-crypt lock` takes it out of the configuration, and another worktree has its own. Of one
//! that is not, a file counts unless it is in the snapshot as the commit of its HEAD has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::git::command::Git;
use crate::git::fs::Root;
use crate::git::index::Index;
use crate::git::objects::{ObjectKind, ObjectStore};
use crate::git::tree::{self, GITLINK_MODE, LINK_MODE};
use crate::git::{Oid, path};
use crate::ops::Context;
use crate::ops::gitview::{LoadAttributes, attributes, filters, read_index};
use crate::worktree::attributes::Attributes;
use crate::worktree::scan::read_ignore_file_named;

/// What rules that find such a file begin with; the filter's name follows.
pub const RULE: &str = "filter-";

/// Where a directory's attributes stand.
const FILE: &[u8] = b".gitattributes";

/// git-lfs puts files elsewhere, as they are.
const PLAIN: &[u8] = b"lfs";

/// The filters of a snapshot's files.
pub struct Filters<'a> {
    objects: &'a ObjectStore,
    /// Those that are set up here, with whether they change anything that anybody should not read.
    known: BTreeMap<Vec<u8>, bool>,
    /// Of the commit of the snapshot's HEAD.
    head: Option<Oid>,
    /// A file that any of them names is one.
    sources: Vec<Attributes<LoadAttributes<'a>>>,
}

impl<'a> Filters<'a> {
    /// Those of a snapshot's tree. What counts: the files of attributes as git reads them for what is added, those of
    /// the working tree and, where one is not there, of the index; those of the index alone, as after a checkout; those of a tree that the
    /// configuration or the environment names instead; and those that the snapshot has.
    ///
    /// # Errors
    /// A file of attributes, the index, or a tree, cannot be read.
    pub fn of(
        ctx: &Context<'_>,
        (root, objects): (&'a Root, &'a ObjectStore),
        (top, head): (Oid, Option<Oid>),
    ) -> Result<Self> {
        let mut known = filters(&ctx.repo)?;
        known.insert(PLAIN.to_vec(), false);
        let head = head.and_then(|commit| Some(objects.commit(commit).ok()?.tree));
        let index = Arc::new(read_index(&ctx.repo, objects)?);
        let staged = index.clone();
        let added = move |dir: &[u8]| match read_ignore_file_named(root, dir, FILE)? {
            None => in_index(&staged, objects, dir),
            file => Ok(file),
        };
        let indexed = move |dir: &[u8]| in_index(&index, objects, dir);
        let mut loads: Vec<LoadAttributes<'a>> = vec![Box::new(added), Box::new(indexed)];
        for tree in named_trees(ctx)?.into_iter().chain([top]) {
            loads.push(Box::new(move |dir: &[u8]| in_tree(tree, objects, dir)));
        }
        let sources = loads.into_iter().map(|load| attributes(&ctx.repo, load));
        Ok(Self {
            objects,
            known,
            head,
            sources: sources.collect::<Result<_>>()?,
        })
    }

    /// The filter that a file with this content goes through on its way into git.
    ///
    /// # Errors
    /// A file of attributes cannot be read.
    pub fn driver(&mut self, file: &[u8], content: Oid) -> Result<Option<String>> {
        for attributes in &mut self.sources {
            let filter = attributes.conversion(file)?.filter;
            let Some(name) = filter else {
                continue;
            };
            let hides = match self.known.get(&*name) {
                Some(hides) => *hides,
                None => !self
                    .head
                    .is_some_and(|head| has(head, self.objects, file, content)),
            };
            if hides {
                return Ok(Some(String::from_utf8_lossy(&name).into_owned()));
            }
        }
        Ok(None)
    }
}

/// A directory's attributes in the index: in a merge that has conflicts, as in git, those of our side.
fn in_index(index: &Index, objects: &ObjectStore, dir: &[u8]) -> Result<Option<Vec<u8>>> {
    let file = path::join(dir, FILE);
    let entry = index.get(&file, 0).or_else(|| index.get(&file, 2));
    // What 'git add -N' gives a path need not be there as an object.
    let empty = objects.hash(ObjectKind::Blob, b"")?;
    let entry = entry.filter(|entry| entry.mode != GITLINK_MODE && entry.oid != empty);
    let read = entry.map(|entry| Ok(objects.read(entry.oid)?.1));
    read.transpose()
}

/// Whether a tree, of a commit of the user's, has a file with this content.
fn has(top: Oid, objects: &ObjectStore, file: &[u8], content: Oid) -> bool {
    let trees = |oid| objects.read_safe_tree(oid);
    matches!(tree::find(&trees, top, file), Ok(Some(node)) if node.oid == content)
}

/// A directory's attributes in a tree.
fn in_tree(top: Oid, objects: &ObjectStore, dir: &[u8]) -> Result<Option<Vec<u8>>> {
    let file = tree::find(objects, top, &path::join(dir, FILE))?;
    let file = file.filter(|node| !node.is_dir());
    let file = file.filter(|node| ![LINK_MODE, GITLINK_MODE].contains(&node.mode));
    file.map(|node| Ok(objects.read(node.oid)?.1)).transpose()
}

/// The trees that git is told to read attributes from instead of the working tree. Of a name that names none it reads nothing.
fn named_trees(ctx: &Context<'_>) -> Result<Vec<Oid>> {
    let configured = ctx.repo.config("attr.tree")?;
    let told = ctx.env.text("GIT_ATTR_SOURCE").map(str::to_owned);
    let mut trees = Vec::new();
    for name in configured.into_iter().chain(told) {
        let found = Git::new(&ctx.repo)
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{name}^{{tree}}"))
            .output()?;
        let id = String::from_utf8_lossy(&found.stdout);
        let tree = Oid::from_hex(id.trim()).ok();
        trees.extend(tree.filter(|_| found.status.success()));
    }
    Ok(trees)
}
