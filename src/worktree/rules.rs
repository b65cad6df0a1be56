//! The one judge of what a snapshot takes and which directories a scan enters.
//!
//! [`Rules`] is what a scan asks: one set of rules, or two.
//! Puts git's rules ([`DirRules`]) and our globs ([`Globs`]) together. What git tracks is taken unless the user's own
//! `exclude` hides it; an `include` wins over git's rules and every weaker glob; then git's rules speak, then the globs
//! that leave out. A directory that is left out is entered all the same when tracked files lie beneath it or an
//! `include` leads in; there everything else stays left out, whatever a `.gitignore` in it says. What is to be left alone is left out
//! before all of that, unless git tracks it.
//!
//! Leaves to the caller: which names are safe, `.git` and `.timewarp`, nested repositories, sizes and file types.

mod sides;

use std::sync::Arc;

use super::globs::{ExcludedBy, Globs, Hits, Source, is_secret_name};
use super::ignore::{DirRules, Globals, Verdict};
use super::manifest::Kind;
use crate::git::path::split;

pub use sides::{LoadOther, Rules, Sides, SidesInside};

/// What becomes of one entry. `I`: what follows from a directory for its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<I = Inside> {
    /// A file or symlink to take.
    Capture,
    /// A directory to enter.
    Descend(I),
    /// Left out by git's rules, which needs no mention.
    Ignored,
    /// Left out by a glob of ours, which is listed with the kind that says which.
    Excluded(Kind),
    /// No rule leaves it out, but it is to be left alone: listed where it could not be captured anyway, else passed over like what is ignored.
    LeftAlone,
}

/// What holds for every entry of a directory because of the directory itself, or of one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inside {
    git_ignored: bool,
    excluded: Option<ExcludedBy>,
    included: Option<Source>,
    nested_repository: bool,
    left_alone: bool,
}

impl Inside {
    /// Whether what is neither tracked nor included is left out here, whatever its name.
    pub fn is_ignored(self) -> bool {
        self.git_ignored || self.excluded.is_some() || self.nested_repository
    }

    /// Whether it is in a nested repository.
    pub fn is_in_nested_repository(self) -> bool {
        self.nested_repository
    }

    /// The same in a nested repository: nothing but what is tracked is taken, not even what is included.
    #[must_use]
    pub fn in_nested_repository(self) -> Self {
        Self {
            nested_repository: true,
            ..self
        }
    }
}

/// The rules in one directory. Cheap to clone and to extend while descending; shared across threads.
#[derive(Debug, Clone)]
pub struct RulesDir {
    ignore: DirRules,
    globs: Arc<Globs>,
    inside: Inside,
}

impl RulesDir {
    /// The rules in the root, given the bytes of its `.gitignore`.
    pub fn root(globals: Arc<Globals>, globs: Arc<Globs>, gitignore: Option<&[u8]>) -> Self {
        Self {
            ignore: DirRules::root(globals).descend(b"", gitignore),
            globs,
            inside: Inside::default(),
        }
    }

    /// The rules in `dir` (its whole path), which [`judge_dir`](Self::judge_dir) said to enter, given the bytes of its
    /// `.gitignore`.
    #[must_use]
    pub fn descend(&self, dir: &[u8], inside: Inside, gitignore: Option<&[u8]>) -> Self {
        // Where git does not look, no .gitignore is read.
        let gitignore = gitignore.filter(|_| !inside.git_ignored);
        Self {
            ignore: self.ignore.descend(dir, gitignore),
            globs: Arc::clone(&self.globs),
            inside,
        }
    }

    /// What holds here because of the directory itself.
    pub fn inside(&self) -> Inside {
        self.inside
    }

    /// Decides on a file or symlink directly in this directory, given by its whole path.
    pub fn judge_file(&self, path: &[u8], tracked: bool) -> Decision {
        let holds = self.what_holds(path, false, tracked);
        self.unless_left_alone(path, holds, tracked, of_file(holds, tracked))
    }

    /// The same of a directory, beneath which there are tracked files or not.
    pub fn judge_dir(&self, path: &[u8], tracked_beneath: bool) -> Decision {
        // git tracks files: that some lie beneath does not keep a rule from hiding the rest of the directory.
        let holds = self.what_holds(path, true, false);
        let decision = self.of_dir(path, holds, tracked_beneath);
        self.unless_left_alone(path, holds, tracked_beneath, decision)
    }

    fn unless_left_alone(
        &self,
        path: &[u8],
        holds: Inside,
        tracked: bool,
        decision: Decision,
    ) -> Decision {
        let is_shown = matches!(decision, Decision::Capture | Decision::Descend(_));
        if is_shown && holds.left_alone && !tracked && !self.ignore.is_written(path) {
            return Decision::LeftAlone;
        }
        decision
    }

    fn of_dir(&self, path: &[u8], holds: Inside, tracked_beneath: bool) -> Decision {
        let hides_tracked = holds.excluded.is_some_and(ExcludedBy::hides_tracked);
        if holds.nested_repository {
            return if tracked_beneath && !hides_tracked {
                Decision::Descend(holds)
            } else {
                Decision::Ignored
            };
        }
        let enter = !holds.is_ignored()
            || wins(holds)
            || (tracked_beneath && !hides_tracked)
            || self.globs.leads_into(path, holds.excluded);
        match holds.excluded {
            _ if enter => Decision::Descend(holds),
            Some(by) if !holds.git_ignored => Decision::Excluded(by.kind()),
            _ => Decision::Ignored,
        }
    }

    /// The directory's own state and the entry's together: the strongest of each kind.
    fn what_holds(&self, path: &[u8], is_dir: bool, tracked: bool) -> Inside {
        let Hits { exclude, include } = self.globs.hits(path, is_dir);
        let above = self.inside;
        // What the team brings back by its directory excepts secrets, too.
        let secret = || is_secret_name(split(path).1);
        let inherited = above
            .included
            .filter(|source| *source > Source::Team || !secret());
        Inside {
            // git's rules hide nothing that it tracks, and most names are tracked: they need not be asked.
            git_ignored: !tracked
                && (above.git_ignored || self.ignore.is_ignored(path, is_dir) == Verdict::Ignored),
            excluded: above.excluded.max(exclude),
            included: inherited.max(include),
            nested_repository: above.nested_repository,
            left_alone: above.left_alone || self.ignore.is_left_alone(path),
        }
    }
}

/// Whether an `include` speaks last.
fn wins(holds: Inside) -> bool {
    holds
        .included
        .is_some_and(|source| holds.excluded.is_none_or(|by| by.yields_to(source)))
}

fn of_file(holds: Inside, tracked: bool) -> Decision {
    if holds.nested_repository && !tracked {
        return Decision::Ignored;
    }
    if wins(holds) {
        return Decision::Capture;
    }
    match holds.excluded {
        Some(by) if tracked && by.hides_tracked() => Decision::Excluded(by.kind()),
        _ if tracked => Decision::Capture,
        _ if holds.git_ignored => Decision::Ignored,
        Some(by) => Decision::Excluded(by.kind()),
        None => Decision::Capture,
    }
}

#[cfg(test)]
mod tests;
