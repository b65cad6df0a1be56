//! Files that a run has as the present has them, whatever its snapshot says: a test that is new, instructions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::Scratch;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::path;
use crate::git::tree::{self, Node};
use crate::ops::Context;
use crate::ops::pathspec::Pathspec;
use crate::store::Store;

/// What each path is to be; None: not there.
pub type Versions = BTreeMap<Vec<u8>, Option<Node>>;

/// The paths that are meant, and what the present has there.
pub struct With {
    only: Option<Pathspec>,
    present: BTreeMap<Vec<u8>, Node>,
}

impl With {
    /// What these words name in the tree of the present, or in another: what only that one has is not there in the present.
    ///
    /// # Errors
    /// `PATH_NOT_FOUND` for a word that names nothing.
    pub fn named(
        ctx: &Context<'_>,
        store: &Store,
        (present, other): (Oid, Option<Oid>),
        words: &[OsString],
    ) -> Result<Self> {
        if words.is_empty() {
            let present = BTreeMap::new();
            return Ok(Self {
                only: None,
                present,
            });
        }
        let only = Pathspec::parse(ctx, words)?;
        let files = tree::flatten(&store.objects, present)?;
        let others = other
            .map(|other| tree::flatten(&store.objects, other))
            .transpose()?;
        let others = others.unwrap_or_default();
        let names = files.iter().chain(&others).map(|(full, _)| full.as_slice());
        if let Some(word) = only.unmatched(names) {
            let name = path::display(word.as_bytes());
            let message = format!("no file of the present matches '{name}'");
            return Err(Error::new(Code::PathNotFound, message)
                .hint("--with takes what is captured: 'tw find PATH' tells where that is"));
        }
        let present = files.into_iter().filter(|(full, _)| only.matches(full));
        Ok(Self {
            present: present.collect(),
            only: Some(only),
        })
    }

    /// The words, as they would be typed at the root of the working tree.
    pub fn words(&self) -> Vec<String> {
        let only = self.only.as_ref();
        only.map(Pathspec::words_from_root).unwrap_or_default()
    }

    /// What the present has there.
    pub fn present(&self) -> &BTreeMap<Vec<u8>, Node> {
        &self.present
    }

    /// What has to be put over a tree, so that it has the present's versions.
    ///
    /// # Errors
    /// The tree cannot be read.
    pub fn over(&self, store: &Store, tree: Oid) -> Result<Versions> {
        let Some(only) = &self.only else {
            return Ok(Versions::new());
        };
        let gone = tree::flatten(&store.objects, tree)?.into_iter();
        let gone = gone.filter(|(full, _)| only.matches(full));
        let mut all: Versions = gone.map(|(full, _)| (full, None)).collect();
        let there = self.present.iter();
        all.extend(there.map(|(full, node)| (full.clone(), Some(*node))));
        Ok(all)
    }
}

impl Scratch<'_> {
    /// Puts these versions in place.
    ///
    /// # Errors
    /// As [`Scratch::put`].
    pub fn put_over(&self, versions: &Versions) -> Result<()> {
        // What goes makes room for what comes.
        let gone = versions.iter().filter(|(_, node)| node.is_none());
        let come = versions.iter().filter(|(_, node)| node.is_some());
        gone.chain(come)
            .try_for_each(|(full, node)| self.put(full, *node))
    }

    /// Takes them away again: what its snapshot has there comes back, and directories that were made for them go.
    ///
    /// # Errors
    /// As [`Scratch::put`].
    pub fn put_back(&self, versions: &Versions) -> Result<()> {
        let mut come = Vec::new();
        // What goes makes room for what comes.
        for full in versions.keys() {
            match self.of_snapshot(full)? {
                Some(node) => come.push((full, node)),
                None => self.take_away_path(full)?,
            }
        }
        come.into_iter()
            .try_for_each(|(full, node)| self.put_as_recorded(full, node))
    }
}
