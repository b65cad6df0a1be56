//! A snapshot as a directory of its own, for experiments side by side; and its end.
//!
//! The directory is a linked worktree, detached at the snapshot's HEAD, with the captured files laid out raw: no hook and no filter
//! runs. `opened.json` in its `timewarp` directory says that `tw` made it, and holds the snapshot against `prune`. Operation files
//! of the snapshot are not put in place: they belong to the worktree they were made in.

mod close;
mod layout;
mod remove;
mod survey;

use std::path::{Component, Path, PathBuf};

use super::Context;
use super::address;
use super::outcome::Opened;
use super::snapshots::view;
use super::swap::notices::swap_notices;
use super::worktrees::{OPENED, OpenedDir};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::command::Git;
use crate::git::create;
use crate::git::fs::{Durable, remove_optional, write_atomic};
use crate::git::refs::Reason;
use crate::store::Store;
use crate::store::names;
use crate::store::stored::{Stored, not_found};
use crate::worktree::apply::Applied;

use super::opening::{self, Opening, clear_dead};
pub use close::close;

/// Lay a snapshot out in a directory of its own.
#[derive(Debug, Clone, Default)]
pub struct Open {
    /// The address of the snapshot.
    pub address: String,
    /// Where; default `../<repo>.tw/<tail>`.
    pub dir: Option<PathBuf>,
}

/// Lays a snapshot out.
///
/// # Errors
/// As [`address::resolve`]; `USAGE` for a place inside the workspace; `WOULD_OVERWRITE` when the directory is not empty;
/// `NO_SPACE`; `CORRUPT_RECORD` when something of the snapshot cannot be read. Nothing is left then.
pub fn open(ctx: &Context<'_>, request: &Open) -> Result<Opened> {
    clear_dead(ctx)?;
    let store = ctx.store()?;
    let stored = address::resolve(ctx, store, &request.address)?;
    let place = Place::find(ctx, request.dir.as_deref(), &stored)?;
    layout::check_room(&stored, &place.existing)?;
    let parents = place.make_parents()?;
    let opening = Opening::begin(ctx, &place.dir, &place.parents)?;
    if let Err(error) = add_worktree(ctx, &place.dir, &stored) {
        opening::take_back(&ctx.repo, &place.dir)?;
        return Err(error);
    }
    let there = Context::open(&place.dir, ctx.env, ctx.progress).and_then(|there| {
        check_made(&there, &place)?;
        say_opened(&there, &stored, &place)?;
        drop(opening);
        let laid_out = lay_out(&there, store, &stored)?;
        Ok((there, laid_out))
    });
    let (there, (files, applied)) = match there {
        Ok(done) => done,
        Err(error) => {
            remove::failed_open(ctx, &place.dir);
            return Err(error);
        }
    };
    parents.keep();
    let mut notices = there.settings.warnings.clone();
    notices.extend(swap_notices(&applied));
    notices.extend(super::capture::seeds::warning(store, &stored, &[])?);
    if let Some(operation) = &stored.record.in_progress {
        notices.push(format!(
            "the snapshot was taken during a {operation}, which is not under way in the new directory"
        ));
    }
    Ok(Opened {
        snapshot_id: stored.id.to_string(),
        snapshot: view(store, &stored)?,
        dir: place.dir,
        files,
        notices,
    })
}

/// Where the directory will be.
struct Place {
    /// Absolute, resolved as far as it exists.
    dir: PathBuf,
    /// The nearest directory above that exists.
    existing: PathBuf,
    /// What has to be made between the two, outermost first.
    parents: Vec<PathBuf>,
}

impl Place {
    fn find(ctx: &Context<'_>, wanted: Option<&Path>, stored: &Stored) -> Result<Self> {
        let wanted = match wanted {
            Some(dir) if !dir.as_os_str().is_empty() => normal(&ctx.cwd.join(dir)),
            _ => usual(ctx.repo.worktree_root(), stored)?,
        };
        let mut existing = wanted.as_path();
        while existing.symlink_metadata().is_err() {
            existing = existing.parent().unwrap_or(Path::new("/"));
        }
        let rest = wanted.strip_prefix(existing).unwrap_or(Path::new(""));
        if existing == wanted {
            check_empty(&wanted)?;
        }
        let resolved = existing
            .canonicalize()
            .context(|| format!("cannot resolve '{}'", existing.display()))?;
        let dir = if rest.as_os_str().is_empty() {
            resolved.clone()
        } else {
            resolved.join(rest)
        };
        check_outside(ctx, &dir)?;
        let mut parents: Vec<PathBuf> = dir
            .ancestors()
            .skip(1)
            .take_while(|above| *above != resolved && above.starts_with(&resolved))
            .map(Path::to_path_buf)
            .collect();
        parents.reverse();
        Ok(Self {
            dir,
            existing: resolved,
            parents,
        })
    }

    fn make_parents(&self) -> Result<MadeDirs> {
        let mut made = MadeDirs(Vec::new());
        for dir in &self.parents {
            create::new_dir(dir, 0o777).context(|| format!("cannot create '{}'", dir.display()))?;
            made.0.push(dir.clone());
        }
        Ok(made)
    }
}

/// Directories that go again unless they are kept.
#[must_use]
struct MadeDirs(Vec<PathBuf>);

impl MadeDirs {
    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeDirs {
    fn drop(&mut self) {
        for dir in self.0.iter().rev() {
            // Only when empty, and the error that brought us here is the one to tell.
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// `../<repo>.tw/<tail>`, seen from the top of the working tree.
fn usual(root: &Path, stored: &Stored) -> Result<PathBuf> {
    let (Some(above), Some(name)) = (root.parent(), root.file_name()) else {
        return Err(Error::new(Code::Usage, "there is no place beside '/'")
            .hint("name a directory: tw open SNAPSHOT DIR"));
    };
    let mut beside = name.to_owned();
    beside.push(".tw");
    Ok(above.join(beside).join(stored.id.tail()))
}

/// Without `.` and `..`, as the shell's own `cd` would walk.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

fn check_empty(dir: &Path) -> Result<()> {
    let refused = |what: &str| {
        Err(
            Error::new(Code::WouldOverwrite, format!("'{}' {what}", dir.display()))
                .hint("name a directory that is empty or not there: tw open SNAPSHOT DIR"),
        )
    };
    let what = || format!("cannot read '{}'", dir.display());
    let meta = dir.symlink_metadata().context(what)?;
    if !meta.is_dir() {
        return refused("is not a directory");
    }
    match std::fs::read_dir(dir).context(what)?.next() {
        None => Ok(()),
        Some(_) => refused("is not empty"),
    }
}

fn check_outside(ctx: &Context<'_>, dir: &Path) -> Result<()> {
    for (inside, what) in [
        (ctx.repo.worktree_root(), "the workspace"),
        (ctx.repo.git_dir(), "the git directory"),
        (ctx.repo.common_dir(), "the git directory"),
    ] {
        if dir.starts_with(inside) {
            let message = format!("'{}' lies inside {what}", dir.display());
            return Err(Error::new(Code::Usage, message)
                .hint("a snapshot is laid out beside the workspace, never in it"));
        }
    }
    Ok(())
}

/// Makes the linked worktree, without a file in it.
fn add_worktree(ctx: &Context<'_>, dir: &Path, stored: &Stored) -> Result<()> {
    // Of a snapshot without a HEAD the snapshot itself stands in, until HEAD is written below.
    let commit = stored.head.unwrap_or(stored.commit);
    let was_there = dir.exists();
    Git::new(&ctx.repo)
        .args(["worktree", "add", "--quiet", "--no-checkout", "--detach"])
        .arg(dir)
        .arg(commit.to_string())
        .run()
        .map(drop)
        .map_err(|error| {
            error.hint("'git worktree prune' forgets worktrees whose directories are gone")
        })?;
    // git makes them as whoever runs it.
    let new_dir = if was_there {
        dir.join(".git")
    } else {
        dir.to_owned()
    };
    for made in [ctx.repo.common_dir().join("worktrees"), new_dir] {
        let what = || format!("cannot give away '{}'", made.display());
        create::give_all(&made).context(what)?;
    }
    Ok(())
}

fn check_made(there: &Context<'_>, place: &Place) -> Result<()> {
    if there.repo.worktree_root() != place.dir {
        let message = format!("'{}' did not become a worktree", place.dir.display());
        return Err(Error::new(Code::Io, message));
    }
    Ok(())
}

fn lay_out(there: &Context<'_>, store: &Store, stored: &Stored) -> Result<(usize, Applied)> {
    hold(store, stored)?;
    if stored.head.is_none() {
        unborn_head(there, store, stored)?;
    }
    layout::lay_out(there, store, stored)
}

/// Writes down what holds the snapshot, before anything else is done with it.
fn say_opened(there: &Context<'_>, stored: &Stored, place: &Place) -> Result<()> {
    let own = there.store()?;
    let opened = OpenedDir {
        version: 1,
        snapshot_id: stored.id.to_string(),
        commit: stored.commit.to_string(),
        dir: place.dir.display().to_string(),
        at: there.env.now().rfc3339(),
        parents: place
            .parents
            .iter()
            .map(|dir| dir.display().to_string())
            .collect(),
        extra: serde_json::Map::new(),
    };
    own.dir.create()?;
    let bytes = serde_json::to_vec_pretty(&opened).map_err(std::io::Error::from)?;
    write_atomic(&own.dir.file(OPENED), &bytes, Durable::Yes)
}

/// A prune that came first has taken the snapshot; one that comes now sees `opened.json`.
fn hold(store: &Store, stored: &Stored) -> Result<()> {
    let mut look = store.refs.transaction();
    look.verify(&names::snapshot_ref(&stored.id), stored.commit);
    match look.commit() {
        Err(error) if matches!(error.reason, Reason::Changed { .. }) => {
            Err(not_found(&stored.id.to_string()))
        }
        other => Ok(other?),
    }
}

/// Points HEAD at a branch that does not exist.
fn unborn_head(there: &Context<'_>, store: &Store, stored: &Stored) -> Result<()> {
    let mut branch = format!("refs/heads/timewarp/open-{}", stored.id.tail());
    while store.refs.read(&branch)?.is_some() {
        branch.push_str("-again");
    }
    there.repo.write_raw_head(&format!("ref: {branch}\n"))?;
    remove_optional(&there.repo.git_dir().join("logs/HEAD"))
}
