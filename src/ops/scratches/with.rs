//! Files that a run has as the present has them, whatever its snapshot says: a test that is new, instructions. Who may use them in the present,
//! and nobody else, may use them there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::Scratch;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::path;
use crate::git::tree::{self, Node};
use crate::ops::Context;
use crate::ops::pathspec::Pathspec;
use crate::ops::swap::extras::stored_extras;
use crate::store::Store;
use crate::store::stored::Stored;
use crate::worktree::plan::Extras;

/// What paths are to be.
#[derive(Default)]
pub struct Versions {
    /// Each of them; None: not there.
    pub nodes: BTreeMap<Vec<u8>, Option<Node>>,
    /// Their permission bits and their access.
    pub side: Arc<Extras>,
}

/// The paths that are meant, and what the present has there.
pub struct With {
    only: Option<Pathspec>,
    present: BTreeMap<Vec<u8>, Node>,
    side: Arc<Extras>,
}

impl With {
    /// What these words name in the snapshot of the present, or in another tree: what only that one has is not there in the present.
    ///
    /// # Errors
    /// `PATH_NOT_FOUND` for a word that names nothing; the snapshot cannot be read.
    pub fn named(
        ctx: &Context<'_>,
        store: &Store,
        (present, other): (&Stored, Option<Oid>),
        words: &[OsString],
    ) -> Result<Self> {
        if words.is_empty() {
            return Ok(Self {
                only: None,
                present: BTreeMap::new(),
                side: Arc::default(),
            });
        }
        let only = Pathspec::parse(ctx, words)?;
        let files = tree::flatten(&store.objects, present.tree)?;
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
        let meant = files.into_iter().filter(|(full, _)| only.matches(full));
        Ok(Self {
            present: meant.collect(),
            only: Some(only),
            side: Arc::new(stored_extras(store, present)?),
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
            return Ok(Versions::default());
        };
        let gone = tree::flatten(&store.objects, tree)?.into_iter();
        let gone = gone.filter(|(full, _)| only.matches(full));
        let mut nodes: BTreeMap<_, _> = gone.map(|(full, _)| (full, None)).collect();
        let there = self.present.iter();
        nodes.extend(there.map(|(full, node)| (full.clone(), Some(*node))));
        Ok(Versions {
            nodes,
            side: Arc::clone(&self.side),
        })
    }
}

impl Scratch<'_> {
    /// Puts these versions in place. Answers what is to be said of access that could not be given.
    ///
    /// # Errors
    /// As [`Scratch::put_as_recorded`].
    pub fn put_over(&self, versions: &Versions) -> Result<Vec<String>> {
        // What goes makes room for what comes, as do directories that have no file then.
        let mut come = Vec::new();
        for (full, node) in &versions.nodes {
            match node {
                Some(node) => come.push((full.as_slice(), *node)),
                None => self.take_away_file(full)?,
            }
        }
        self.put_of_present(&come, &versions.side)
    }

    /// Takes them away again: what its snapshot has there comes back, and directories that were made for them go. Answers as [`Self::put_over`].
    ///
    /// # Errors
    /// As [`Scratch::put_as_recorded`].
    pub fn put_back(&self, versions: &Versions) -> Result<Vec<String>> {
        let (mut come, mut gone) = (Vec::new(), Vec::new());
        // What goes makes room for what comes.
        for full in versions.nodes.keys() {
            if let Some(node) = self.of_snapshot(full)? {
                come.push((full.as_slice(), node));
            } else {
                self.take_away_path(full)?;
                gone.push(full.as_slice());
            }
        }
        let mut told = self.put_as_recorded(&come)?;
        // A file may have stood in their place.
        told.extend(self.put_empty_dirs(&gone)?);
        Ok(told)
    }
}
