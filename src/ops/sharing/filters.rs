//! Files that git has in another form than they have here: a clean filter, of git-crypt for one, encrypts them on their way in. A
//! snapshot has them as they are, and so would everybody who gets it.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::git::fs::Root;
use crate::git::objects::ObjectStore;
use crate::git::tree::{self, GITLINK_MODE, LINK_MODE};
use crate::git::{Oid, path};
use crate::ops::Context;
use crate::ops::gitview::{LoadAttributes, attributes, clean_filters};
use crate::worktree::attributes::Attributes;
use crate::worktree::scan::read_ignore_file_named;

/// What rules that find such a file begin with; the filter's name follows.
pub const RULE: &str = "filter-";

/// git-lfs puts files elsewhere, as they are.
const PLAIN: &[u8] = b"lfs";

/// The filters of a snapshot's files.
pub struct Filters<'a> {
    drivers: BTreeSet<Vec<u8>>,
    /// By the attributes of the working tree, and by those of the snapshot: a file that either names is one.
    attributes: [Attributes<LoadAttributes<'a>>; 2],
}

impl<'a> Filters<'a> {
    /// Those of a snapshot's tree; None where git has no filter.
    ///
    /// # Errors
    /// A file of attributes, or the tree, cannot be read.
    pub fn of(
        ctx: &Context<'_>,
        (root, objects): (&'a Root, &'a ObjectStore),
        top: Oid,
    ) -> Result<Option<Self>> {
        let mut drivers = clean_filters(&ctx.repo)?;
        drivers.remove(PLAIN);
        if drivers.is_empty() {
            return Ok(None);
        }
        let here = move |dir: &[u8]| read_ignore_file_named(root, dir, b".gitattributes");
        let there = move |dir: &[u8]| {
            let read = |oid| objects.read_tree(oid);
            let found = tree::find(&read, top, &path::join(dir, b".gitattributes"))?;
            let file = found.filter(|node| !node.is_dir());
            let file = file.filter(|node| ![LINK_MODE, GITLINK_MODE].contains(&node.mode));
            file.map(|node| Ok(objects.read(node.oid)?.1)).transpose()
        };
        Ok(Some(Self {
            drivers,
            attributes: [
                attributes(&ctx.repo, Box::new(here))?,
                attributes(&ctx.repo, Box::new(there))?,
            ],
        }))
    }

    /// The filter that a file goes through on its way into git.
    ///
    /// # Errors
    /// A file of attributes cannot be read.
    pub fn driver(&mut self, file: &[u8]) -> Result<Option<String>> {
        for attributes in &mut self.attributes {
            let filter = attributes.conversion(file)?.filter;
            if let Some(name) = filter.filter(|name| self.drivers.contains(&**name)) {
                return Ok(Some(String::from_utf8_lossy(&name).into_owned()));
            }
        }
        Ok(None)
    }
}
