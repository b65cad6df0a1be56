//! The rules as the scan asks them: those on disk, and beside them those of another tree.
//!
//! In the past, a rule file edited there must not hide what was made there, and the present's rules must not hide what the
//! past's let through: with two sides, a name is taken when either side takes it.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Decision, Inside, RulesDir};
use crate::worktree::globs::Globs;
use crate::worktree::ignore::Globals;

/// The ignore file of a directory on the other side.
pub type LoadOther<'a> = Box<dyn FnMut(&[u8]) -> Option<Vec<u8>> + Send + 'a>;

/// One or two sides of rules.
pub struct Rules<'a> {
    globals: Arc<Globals>,
    globs: Arc<Globs>,
    other: Option<Mutex<LoadOther<'a>>>,
}

/// The rules in one directory. A side that left the directory out is `None`: it takes nothing in it.
#[derive(Debug, Clone)]
pub struct Sides {
    disk: Option<RulesDir>,
    other: Option<RulesDir>,
}

/// What follows from a directory, per side.
#[derive(Debug, Clone, Copy)]
pub struct SidesInside {
    disk: Option<Inside>,
    other: Option<Inside>,
}

impl<'a> Rules<'a> {
    /// The rules on disk, and those of another tree when `other` loads its ignore files.
    pub fn new(globals: Arc<Globals>, globs: Arc<Globs>, other: Option<LoadOther<'a>>) -> Self {
        Self {
            globals,
            globs,
            other: other.map(Mutex::new),
        }
    }

    fn load_other(&self, dir: &[u8]) -> Option<Vec<u8>> {
        let mut load = self
            .other
            .as_ref()?
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        load(dir)
    }

    fn new_root(&self, ignore_file: Option<&[u8]>) -> RulesDir {
        RulesDir::root(self.globals.clone(), self.globs.clone(), ignore_file)
    }

    /// The rules in the root, given its ignore file.
    pub fn root(&self, ignore_file: Option<&[u8]>) -> Sides {
        let other = self.other.is_some().then(|| {
            let bytes = self.load_other(b"");
            self.new_root(bytes.as_deref())
        });
        Sides {
            disk: Some(self.new_root(ignore_file)),
            other,
        }
    }

    /// The rules in a directory that [`judge_dir`](Sides::judge_dir) said to enter, given its parent's and its ignore file.
    pub fn enter(
        &self,
        parent: &Sides,
        path: &[u8],
        inside: SidesInside,
        ignore_file: Option<&[u8]>,
    ) -> Sides {
        let disk = parent
            .disk
            .as_ref()
            .zip(inside.disk)
            .map(|(rules, inside)| rules.descend(path, inside, ignore_file));
        let other = parent
            .other
            .as_ref()
            .zip(inside.other)
            .map(|(rules, inside)| {
                let bytes = self.load_other(path);
                rules.descend(path, inside, bytes.as_deref())
            });
        Sides { disk, other }
    }
}

impl SidesInside {
    /// Whether the directory is left out itself, and entered only for what is tracked or included beneath.
    pub fn is_for_some(self) -> bool {
        let ignored = |side: Option<Inside>| side.is_none_or(Inside::is_ignored);
        ignored(self.disk) && ignored(self.other)
    }

    /// The same where the directory is a nested repository, and is entered for what the index has in it.
    #[must_use]
    pub fn in_nested_repository(self) -> Self {
        Self {
            disk: self.disk.map(Inside::in_nested_repository),
            other: self.other.map(Inside::in_nested_repository),
        }
    }
}

impl Sides {
    /// Whether this directory is in a nested repository.
    pub fn is_in_nested_repository(&self) -> bool {
        let nested = |side: &Option<RulesDir>| {
            let inside = side.as_ref().map(RulesDir::inside);
            inside.is_some_and(Inside::is_in_nested_repository)
        };
        nested(&self.disk) || nested(&self.other)
    }

    /// What becomes of a file or symlink in this directory.
    pub fn judge_file(&self, path: &[u8], tracked: bool) -> Decision<SidesInside> {
        let sides = self.ask(|rules| rules.judge_file(path, tracked));
        // In doubt a file is taken: one too many in a snapshot is a nuisance, one too few is lost.
        if sides.contains(&Some(Decision::Capture)) {
            return Decision::Capture;
        }
        left_out(sides)
    }

    /// What becomes of a directory in this one, beneath which there are tracked files or not.
    pub fn judge_dir(&self, path: &[u8], tracked_beneath: bool) -> Decision<SidesInside> {
        let sides = self.ask(|rules| rules.judge_dir(path, tracked_beneath));
        let [disk, other] = sides.map(|decision| match decision {
            Some(Decision::Descend(inside)) => Some(inside),
            _ => None,
        });
        if disk.is_some() || other.is_some() {
            return Decision::Descend(SidesInside { disk, other });
        }
        left_out(sides)
    }

    fn ask(&self, judge: impl Fn(&RulesDir) -> Decision) -> [Option<Decision>; 2] {
        [&self.disk, &self.other].map(|side| side.as_ref().map(&judge))
    }
}

/// What neither side takes.
fn left_out(sides: [Option<Decision>; 2]) -> Decision<SidesInside> {
    if sides.contains(&Some(Decision::LeftAlone)) {
        return Decision::LeftAlone;
    }
    let excluded = sides.into_iter().find_map(|decision| match decision {
        Some(Decision::Excluded(kind)) => Some(kind),
        _ => None,
    });
    excluded.map_or(Decision::Ignored, Decision::Excluded)
}
