//! Scratches: a snapshot as a directory of its own, for experiments side by side; and their end.
//!
//! A scratch is a linked worktree, detached at the snapshot's HEAD, with the captured files laid out raw: no hook and no filter
//! runs. `opened.json` in its `timewarp` directory says that `tw` made it and for what, and holds the snapshot against `prune`. Operation
//! files of the snapshot are not put in place: they belong to the worktree they were made in.
//!
//! Promises: nothing is written, run or removed but in the very directory that was made, whatever a run puts in its place: it is held open,
//! and known again by its inode number and the time it was made ([`PinnedDir`]). git makes worktrees one at a time; a
//! death in the middle leaves nothing that the next command does not take back ([`opening`]); nothing of a scratch is removed before what it holds was saved ([`survey`]).

pub mod at_work;
pub mod gone;
pub mod known;
pub mod layout;
pub mod lost;
pub mod opening;
pub mod place;
pub mod present;
mod put;
mod reach;
pub mod remove;
mod scratch;
pub mod shared_refs;
pub mod surroundings;
pub mod survey;
pub mod trash;
pub mod with;

pub use scratch::{Scratch, Slot};

use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use super::Context;
use super::elsewhere::{FROM_ELSEWHERE, Files};
use super::swap::head::unborn_branch;
use super::swap::notices::swap_notices;
use super::worktrees::{OPENED, OpenedDir};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::command::Git;
use crate::git::create;
use crate::git::fs::{Durable, Root, write_atomic};
use crate::git::path;
use crate::git::pinned::{DirId, PathOccupant, PinnedDir};
use crate::git::private::linked;
use crate::store::Store;
use crate::store::lock::{HeldFile, hold_file_within};
use crate::store::state::stored_path;
use crate::store::stored::Stored;
use crate::text::with_article;
use crate::worktree::apply::made::MadePaths;

use self::layout::LaidOut;
use self::opening::{LOCKED, Opening, clear_dead, is_locked_with};
use self::place::Place;
use self::present::Present;
use self::shared_refs::{AT_OPENING, SharedRefs};

/// In the `timewarp` directory of a scratch that a run is made in: held locked by its maker, as long as that lives.
pub const MAKER: &str = "maker";
/// The field of `opened.json` that says what such a scratch is for.
pub const PURPOSE: &str = "purpose";

/// The exit code of a git that does not know an option.
const USAGE: i32 = 129;
/// How many paths a sentence names.
const NAMED: usize = 5;

/// What a scratch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It stays until somebody closes it.
    Open,
    /// A run of this kind, after which it goes.
    Run(&'static str),
}

/// A scratch that was just made.
pub struct Made<'a> {
    /// The context of its worktree.
    pub there: Context<'a>,
    /// The directory itself.
    pub dir: PinnedDir,
    /// How many files were laid out.
    pub files: usize,
    /// What one should know of it.
    pub notices: Vec<String>,
    /// Says that its maker lives, for a run.
    pub maker: Option<HeldFile>,
}

/// Lays a snapshot out.
///
/// # Errors
/// As [`Place::find`]; `NO_SPACE`; `CORRUPT_RECORD` when something of the snapshot cannot be read. Nothing is left then.
pub fn make<'a>(
    ctx: &Context<'a>,
    stored: &Stored,
    place: &Place,
    purpose: Purpose,
) -> Result<Made<'a>> {
    let mut notices = clear_dead(ctx)?;
    let store = ctx.store()?;
    layout::check_room(stored, &place.existing)?;
    store.give_ref(stored)?;
    let files = Files::laid_out(store, stored)?;
    let present = Present::look(ctx)?;
    fail_point("open-found");
    let mut opening = Opening::begin(ctx, &place.dir, &place.parents)?;
    fail_point("open-named");
    let dirs = place.make_dirs(ctx)?;
    let pinned =
        PinnedDir::open(&place.dir).context(|| format!("cannot open '{}'", place.dir.display()))?;
    place.claim(&pinned)?;
    if let Err(error) = add_worktree(ctx, &place.dir, stored, &mut opening) {
        opening::take_back(&ctx.repo, &place.dir, Some(opening.mark()))?;
        return Err(error);
    }
    let (mark, made) = (opening.mark().to_owned(), MadePaths::default());
    let there = Context::open(&place.dir, ctx.env, ctx.progress).and_then(|there| {
        check_made(&there, &pinned, &mark)?;
        let maker = say_opened(&there, (stored, files), (place, pinned.id()), purpose)?;
        if stored.head.is_none() {
            // While no other scratch is made: none looks for a branch at the same time.
            unborn_head(&there, stored)?;
        }
        opening.end(there.repo.git_dir())?;
        let laid_out = lay_out(&there, stored, (&pinned.root()?, &present), &made)?;
        Ok((there, maker, laid_out))
    });
    let (there, mut maker, laid_out) = match there {
        Ok(done) => done,
        Err(error) => {
            remove::failed_open(ctx, &pinned, &mark, &made);
            return Err(error);
        }
    };
    if let Some(maker) = &mut maker {
        maker.write_all(known::LAID)?;
    }
    dirs.keep();
    notices.extend(there.settings.warnings.iter().cloned());
    notices.extend(swap_notices(&laid_out.applied));
    notices.extend(incomplete(store, &laid_out)?);
    notices.extend(super::capture::seeds::warning(store, stored, None)?);
    if let Some(operation) = &stored.record.in_progress {
        notices.push(format!(
            "the snapshot was taken during {}, which is not under way in the new directory",
            with_article(operation)
        ));
    }
    Ok(Made {
        there,
        dir: pinned,
        files: laid_out.files,
        notices,
        maker,
    })
}

/// What is missing in the directory although the present may have it.
fn incomplete(store: &Store, laid_out: &LaidOut) -> Result<Vec<String>> {
    let mut said = Vec::new();
    let submodules: Vec<&[u8]> = laid_out.submodules.iter().map(Vec::as_slice).collect();
    if !submodules.is_empty() {
        let paths = some_of(&submodules);
        said.push(format!("submodules are left empty: {paths}"));
    }
    let pointers = laid_out.lfs_pointers(store)?;
    if !pointers.is_empty() {
        let paths = some_of(&pointers);
        said.push(format!("git LFS pointers that were not fetched: {paths}"));
    }
    let left = &laid_out.brought.left;
    if let Some((_, why)) = left.first() {
        let paths: Vec<&[u8]> = left.iter().map(|(full, _)| full.as_slice()).collect();
        let paths = some_of(&paths);
        said.push(format!(
            "ignored files that did not come along: {paths} ({why})"
        ));
    }
    Ok(said)
}

/// The first paths, and how many more there are.
fn some_of(paths: &[&[u8]]) -> String {
    let shown = paths.iter().take(NAMED);
    let mut shown: Vec<String> = shown
        .map(|full| format!("'{}'", path::display(full)))
        .collect();
    if paths.len() > NAMED {
        shown.push(format!("and {} more", paths.len() - NAMED));
    }
    shown.join(", ")
}

/// Makes the linked worktree, without a file in it.
fn add_worktree(
    ctx: &Context<'_>,
    dir: &Path,
    stored: &Stored,
    opening: &mut Opening,
) -> Result<()> {
    // Of a snapshot without a HEAD the snapshot itself stands in, until HEAD is written below.
    let commit = stored.head.unwrap_or(stored.commit);
    if ctx.repo.is_private() {
        // Its user need not have git.
        return linked::add(&ctx.repo, dir, commit, (LOCKED, opening.mark()));
    }
    let add = |reason: &[&str]| {
        Git::new(&ctx.repo)
            .args(["worktree", "add", "--quiet", "--no-checkout", "--detach"])
            .arg("--lock")
            .args(reason)
            .arg(dir)
            .arg(commit.to_string())
    };
    let mut added = add(&["--reason", opening.mark()]).output()?;
    if added.status.code() == Some(USAGE) {
        // git takes reasons from 2.33 on.
        opening.without_reason()?;
        added = add(&[]).output()?;
    }
    added.into_stdout("worktree").map_err(|error| {
        error.hint("'git worktree prune' forgets worktrees whose directories are gone")
    })?;
    // git makes them as whoever runs it.
    for made in [ctx.repo.common_dir().join("worktrees"), dir.join(".git")] {
        let what = || format!("cannot give away '{}'", made.display());
        create::give_all(&made).context(what)?;
    }
    fail_point("open-added");
    Ok(())
}

/// Makes sure that it is the worktree that was made: somebody else's git may have made the directory its own meanwhile.
fn check_made(there: &Context<'_>, dir: &PinnedDir, mark: &str) -> Result<()> {
    let is_there = there.repo.worktree_root() == dir.path()
        && dir.occupant() == PathOccupant::There
        && is_locked_with(there.repo.git_dir(), mark);
    if !is_there {
        let message = format!("'{}' did not become a worktree", dir.path().display());
        return Err(Error::new(Code::Io, message));
    }
    Ok(())
}

fn lay_out(
    there: &Context<'_>,
    stored: &Stored,
    (root, present): (&Root, &Present<'_>),
    made: &MadePaths,
) -> Result<LaidOut> {
    let store = present.store()?;
    // A prune that came first has taken the snapshot; one that comes now sees `opened.json`.
    store.check_stands(stored)?;
    layout::lay_out(there, store, stored, (root, present), made)
}

/// Writes down what holds the snapshot, before anything else is done with it. Of a run, its maker is seen to live from then on.
fn say_opened(
    there: &Context<'_>,
    (stored, files): (&Stored, Files),
    (place, identity): (&Place, DirId),
    purpose: Purpose,
) -> Result<Option<HeldFile>> {
    let own = there.store()?;
    own.dir.create()?;
    let mut extra = serde_json::Map::new();
    extra.insert(FROM_ELSEWHERE.to_owned(), files.noted());
    let mut maker = None;
    if let Purpose::Run(word) = purpose {
        extra.insert(PURPOSE.to_owned(), word.into());
        maker = Some(hold_file_within(&own.dir.file(MAKER), Duration::ZERO)?);
    } else if let Ok(refs) = SharedRefs::look(&there.repo) {
        // A run is looked at by itself. Where they cannot be listed, closing says nothing of them.
        refs.keep(&own.dir.file(AT_OPENING))?;
    }
    let opened = OpenedDir {
        version: 1,
        snapshot_id: stored.id.to_string(),
        commit: stored.commit.to_string(),
        dir: stored_path(place.dir.as_os_str().as_bytes()),
        at: there.env.now().rfc3339(),
        parents: place
            .parents
            .iter()
            .map(|dir| stored_path(dir.as_os_str().as_bytes()))
            .collect(),
        identity: Some(identity),
        extra,
    };
    let bytes = serde_json::to_vec_pretty(&opened).map_err(std::io::Error::from)?;
    write_atomic(&own.dir.file(OPENED), &bytes, Durable::Yes)?;
    Ok(maker)
}

/// Points HEAD at a branch that does not exist, and that no other worktree is on.
fn unborn_head(there: &Context<'_>, stored: &Stored) -> Result<()> {
    let branch = unborn_branch(there, &format!("open-{}", stored.id.tail()))?;
    there
        .repo
        .move_head(None, &format!("ref: {branch}\n"), None)?;
    there.repo.forget_head_reflog()
}
