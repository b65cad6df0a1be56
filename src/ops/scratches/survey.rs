//! Everything in an open directory, and what becomes of it when the directory is closed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use crate::error::{Code, Error, Result};
use crate::git::access::{STICKY, lets_us_write, may_change};
use crate::git::fs::{Root, Stamp, stamp_at, stamp_of};
use crate::git::own::OwnDirs;
use crate::git::path;
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing, capture};
use crate::ops::uncapturable::{Uncapturable, Why, make_own};
use crate::store::Store;
use crate::text::{listed, typed_path};
use crate::worktree::globs::{GlobSettings, GlobVerdict, Globs, Source};
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::scan::DESK;

/// What nobody types and a command makes again: it goes without being saved. What else the default globs leave out (`build/`, `dist/`,
/// `*.log`) may be all that somebody ran a day for.
const OUTPUT: [&str; 11] = [
    "node_modules/",
    ".venv/",
    "venv/",
    "__pycache__/",
    ".next/",
    "target/",
    ".cache/",
    ".gradle/",
    "*.pid",
    "*.sock",
    ".DS_Store",
];

/// What a look found.
#[derive(Debug, Default)]
pub struct Survey {
    /// Ignored files that are captured all the same.
    pub forced: BTreeSet<Vec<u8>>,
    /// What a command makes again: goes without being captured.
    pub output: Vec<Vec<u8>>,
    /// What cannot be captured.
    pub refused: Vec<Uncapturable>,
    /// The bytes of what is forced.
    forced_bytes: u64,
}

/// Looks at everything below `root`, which is the root of that worktree. Stores nothing.
///
/// # Errors
/// When a directory cannot be read.
pub fn survey(there: &Context<'_>, store: &Store, root: &Root) -> Result<Survey> {
    let wanted = CaptureOptions {
        storing: Storing::No,
        ..CaptureOptions::default()
    };
    let seen = capture(there, store, &wanted)?;
    let output = OUTPUT.map(|glob| (glob.to_owned(), Source::User));
    let is_asked = there.settings.default_excludes;
    let globs = Globs::new(&GlobSettings {
        ignore_case: there.repo.ignore_case()?,
        exclude: output.into_iter().filter(|_| is_asked).collect(),
        ..GlobSettings::default()
    })?;
    let own = OwnDirs::of(&there.repo, &store.objects);
    let mut walk = Walk {
        root,
        own: &own,
        manifest: &seen.manifest,
        globs: &globs,
        found: Survey::default(),
    };
    walk.run()?;
    let mut found = walk.found;
    // They would be copied into the repository: the bound is that of an experiment, which asks the same question.
    if found.forced_bytes > there.settings.experiment_limit {
        let forced = std::mem::take(&mut found.forced).into_iter();
        let refused = forced.map(|full| Uncapturable::new(&full, Why::IgnoredAndTooLargeTogether));
        found.refused.extend(refused);
    }
    Ok(found)
}

struct Walk<'a> {
    root: &'a Root,
    own: &'a OwnDirs,
    manifest: &'a Manifest,
    globs: &'a Globs,
    found: Survey,
}

/// What follows from a directory for what is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Each name is judged.
    Judged,
    /// A command makes it again.
    Output,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<()> {
        let mut pending: Vec<(Vec<u8>, Inside)> = vec![(Vec::new(), Inside::Judged)];
        while let Some((dir, inside)) = pending.pop() {
            match self.walk_dir(&dir, inside) {
                Ok(found) => pending.extend(found),
                // It would be found out half-way by removing it.
                Err(error) if error.is_refusal() => self.refuse_closed(&dir),
                Err(error) => return Err(error),
            }
        }
        self.found.output.sort();
        self.found.refused.sort();
        Ok(())
    }

    /// Judges what is in a directory; answers the directories in it that are to be walked.
    fn walk_dir(&mut self, dir: &[u8], inside: Inside) -> Result<Vec<(Vec<u8>, Inside)>> {
        let mut found = Vec::new();
        if matches!(self.root.open_dir(dir), Err(Errno::XDEV)) {
            self.refuse(dir, Why::MountPoint);
            return Ok(Vec::new());
        }
        let names = self.root.names(dir)?;
        let is_repository = names.iter().any(|name| name == b".git");
        if is_repository && !dir.is_empty() {
            self.refuse(dir, Why::Kind(Kind::Nested));
            return Ok(Vec::new());
        }
        let fd = self.root.open_dir(dir)?;
        let stamp = stamp_of(fd.as_fd())?;
        if self.own.contains(fd.as_fd(), &stamp) {
            self.refuse(dir, Why::Kind(Kind::GitDirectory));
            return Ok(Vec::new());
        }
        // Half of it would be gone when that is found out by removing it.
        if !names.is_empty() && !may_change(stamp.uid) && !lets_us_write(fd.as_fd()) {
            self.refuse(dir, Why::OfAnotherUser);
            return Ok(Vec::new());
        }
        // Only the owner of a name takes it out of a sticky directory of somebody else's.
        let is_sticky = stamp.mode & STICKY != 0 && !may_change(stamp.uid);
        for name in names {
            let full = path::join(dir, &name);
            if full == b".git" {
                continue;
            }
            let stamp = stamp_at(fd.as_fd(), &name)?;
            if stamp.is_some_and(|stamp| is_sticky && !may_change(stamp.uid)) {
                self.refuse(&full, Why::OfAnotherUser);
                continue;
            }
            if let Some(stamp) = stamp
                && let Some(inside) = self.judge(&full, &stamp, inside)
            {
                found.push((full, inside));
            }
        }
        Ok(found)
    }

    /// Refuses a directory that nobody may look into.
    fn refuse_closed(&mut self, dir: &[u8]) {
        let owner = self.root.dir_stamp(dir).map(|stamp| stamp.uid);
        let why = match owner {
            Some(owner) if !may_change(owner) => Why::OfAnotherUser,
            _ => Why::Kind(Kind::Unreadable),
        };
        self.refuse(dir, why);
    }

    /// Puts a name where it belongs. Answers how to go on when it is a directory to walk.
    fn judge(&mut self, full: &[u8], stamp: &Stamp, inside: Inside) -> Option<Inside> {
        if inside == Inside::Output {
            // It goes as a whole; it is walked only to find a repository in it, which must not go.
            return stamp.is_dir().then_some(inside);
        }
        if let Some(file) = self.manifest.file(full) {
            return self.known(full, stamp, file.kind);
        }
        if full == DESK && self.manifest.find_dir(full).is_none() {
            if !self.is_empty(full) {
                self.refuse(full, Why::Desk);
            }
            return None;
        }
        if self.manifest.find_dir(full).is_some() && stamp.is_dir() {
            return Some(Inside::Judged);
        }
        // Left out by git's own rules.
        self.left_out(full, stamp)
    }

    /// What rules leave out is saved all the same, but for what a command makes again.
    fn left_out(&mut self, full: &[u8], stamp: &Stamp) -> Option<Inside> {
        if self.globs.verdict(full, stamp.is_dir(), false) != GlobVerdict::None {
            self.found.output.push(full.to_vec());
            return stamp.is_dir().then_some(Inside::Output);
        }
        if stamp.is_dir() {
            return Some(Inside::Judged);
        }
        self.force(full, stamp);
        None
    }

    fn known(&mut self, full: &[u8], stamp: &Stamp, kind: Kind) -> Option<Inside> {
        match kind {
            Kind::File | Kind::Symlink => {}
            // Not in the snapshot by their own bytes otherwise.
            Kind::FilteredClean | Kind::IgnoreFile => self.force(full, stamp),
            Kind::DefaultExclude => return self.left_out(full, stamp),
            Kind::Gitlink if self.is_empty(full) => {}
            kind => self.refuse(full, Why::kind(kind).unwrap_or(Why::ChangedMeanwhile)),
        }
        None
    }

    fn is_empty(&self, dir: &[u8]) -> bool {
        self.root.names(dir).is_ok_and(|names| names.is_empty())
    }

    fn force(&mut self, full: &[u8], stamp: &Stamp) {
        let captured = stamp.is_file() || stamp.is_symlink();
        let readable = || match self.root.open_file(full) {
            Ok(_) | Err(Errno::LOOP) => true,
            Err(_) => stamp.is_symlink(),
        };
        if path::is_within(full, DESK) {
            self.refuse(full, Why::Desk);
        } else if !captured || !path::is_safe(full) {
            self.refuse(full, Why::CannotBeCaptured);
        } else if !readable() {
            self.refuse(full, Why::Kind(Kind::Unreadable));
        } else {
            self.found.forced_bytes += stamp.size;
            self.found.forced.insert(full.to_vec());
        }
    }

    fn refuse(&mut self, full: &[u8], why: Why) {
        self.found.refused.push(Uncapturable::new(full, why));
    }
}

/// The refusal, with the paths.
pub fn refusal(dir: &Path, refused: &[Uncapturable]) -> Error {
    let shown = refused.iter().map(Uncapturable::to_string);
    let paths: Vec<&[u8]> = refused.iter().map(|at| at.path.as_slice()).collect();
    let first = |why: Why| refused.iter().find(|at| at.why == why);
    let theirs = first(Why::OfAnotherUser);
    let what = match theirs {
        Some(_) => "captured or removed",
        None => "captured",
    };
    let mut error = Error::new(
        Code::WouldOverwrite,
        format!(
            "'{}' holds what cannot be {what}: {}",
            dir.display(),
            listed(shown, 5)
        ),
    )
    .hint("move these elsewhere and close it again; nothing was removed")
    .paths("paths", &paths);
    let there = |at: &Uncapturable| dir.join(OsStr::from_bytes(&at.path));
    if let Some(theirs) = theirs {
        let command = make_own(&there(theirs));
        error = error.hint(format!("or make it your own: {command}"));
    }
    if let Some(closed) = first(Why::Kind(Kind::Unreadable)) {
        let closed = typed_path(&there(closed));
        error = error.hint(format!("or let tw look into it: chmod u+rwX {closed}"));
    }
    error
}
