//! The ignore rules of a tree: whether the side it belongs to would have left a path out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::ObjectStore;
use crate::git::{path, tree};
use crate::ops::Context;
use crate::ops::capture::{load_ignore_file, rule_parts};
use crate::worktree::globs::Globs;
use crate::worktree::ignore::Globals;
use crate::worktree::rules::{Decision, RulesDir};

/// The rules of a tree's ignore files, beside the global ones and our globs.
pub struct TreeRules<'a> {
    objects: &'a ObjectStore,
    tree: Oid,
    globals: Arc<Globals>,
    globs: Arc<Globs>,
    /// The rules of each directory asked about; `None` where the directory itself is left out.
    known: Mutex<HashMap<Vec<u8>, Option<RulesDir>>>,
}

impl<'a> TreeRules<'a> {
    /// The rules of `tree`, with those that hold now and `globs`.
    ///
    /// # Errors
    /// Those that hold now cannot be read.
    pub fn of(
        ctx: &Context<'_>,
        objects: &'a ObjectStore,
        tree: Oid,
        globs: &[String],
    ) -> Result<Self> {
        let (globals, globs, _) = rule_parts(ctx, &[], globs)?;
        Ok(Self::new(objects, tree, globals, globs))
    }

    fn new(objects: &'a ObjectStore, tree: Oid, globals: Arc<Globals>, globs: Arc<Globs>) -> Self {
        Self {
            objects,
            tree,
            globals,
            globs,
            known: Mutex::new(HashMap::new()),
        }
    }

    /// Whether an untracked file at this path would be left out.
    pub fn leaves_out(&self, full: &[u8]) -> bool {
        match self.dir(path::split(full).0) {
            None => true,
            Some(rules) => rules.judge_file(full, false) != Decision::Capture,
        }
    }

    /// Whether an untracked directory at this path would be left out, with all that is in it.
    pub fn leaves_dir_out(&self, full: &[u8]) -> bool {
        self.dir(full).is_none()
    }

    /// Whether the side has something beneath a directory.
    fn has_files_in(&self, dir: &[u8]) -> bool {
        matches!(tree::find(self.objects, self.tree, dir), Ok(Some(node)) if node.is_dir())
    }

    fn dir(&self, dir: &[u8]) -> Option<RulesDir> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(dir) {
            return known.clone();
        }
        // The lock is free meanwhile: asking for the parent takes it again.
        let ignore = load_ignore_file(self.objects, self.tree, dir);
        let made = if dir.is_empty() {
            let (globals, globs) = (self.globals.clone(), self.globs.clone());
            Some(RulesDir::root(globals, globs, ignore.as_deref()))
        } else {
            self.dir(path::split(dir).0).and_then(|parent| {
                let entered = match parent.judge_dir(dir, false) {
                    Decision::Descend(inside) => Some(inside),
                    // Entered for what is tracked in it, and then also for what an include names.
                    _ if self.has_files_in(dir) => match parent.judge_dir(dir, true) {
                        Decision::Descend(inside) => Some(inside),
                        _ => None,
                    },
                    _ => None,
                };
                entered.map(|inside| parent.descend(dir, inside, ignore.as_deref()))
            })
        };
        lock().insert(dir.to_vec(), made.clone());
        made
    }
}
