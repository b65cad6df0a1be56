//! Closing an open directory: an experiment of it first, then exactly what was captured goes.

use std::path::{Path, PathBuf};

use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::path;
use crate::git::pinned::{PathOccupant, PinnedDir, occupant};
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing};
use crate::ops::outcome::Closed;
use crate::ops::record::{About, Made, make};
use crate::ops::scratches::remove::EmptyDir;
use crate::ops::scratches::shared_refs::{AT_OPENING, SharedRefs};
use crate::ops::scratches::survey::{Survey, refusal, survey};
use crate::ops::scratches::{at_work, gone, opening, remove};
use crate::ops::stay::untold_commits;
use crate::ops::swap::recover::{Recovery, recover_locked};
use crate::ops::uncapturable::{Uncapturable, Why};
use crate::ops::worktrees::linked_git_dir;
use crate::ops::worktrees::{self, OpenedDir, Worktree};
use crate::store::Store;
use crate::store::id::{IdKind, SnapshotId, Tail};
use crate::store::state::Mode;
use crate::store::trigger::Trigger;
use crate::text::typed_path;
use crate::worktree::cache;
use crate::worktree::manifest::{Kind, Manifest};

/// Closes a directory that `open` made.
///
/// # Errors
/// `PATH_NOT_FOUND`; `USAGE` when `tw open` did not make it, or for the directory one stands in; `WOULD_OVERWRITE`, naming the
/// paths, when it holds what cannot be captured: nothing is removed then; `HELD` when it is in the past or locked, or is another
/// directory than was made; `BUSY` when a command of ours runs there.
pub fn close(ctx: &Context<'_>, dir: &Path) -> Result<Closed> {
    let mut recovered = Recovery(opening::clear_dead(ctx)?);
    let done = close_recovered(ctx, dir, &mut recovered);
    recovered.tell(done, |closed| &mut closed.notices)
}

fn close_recovered(ctx: &Context<'_>, dir: &Path, recovered: &mut Recovery) -> Result<Closed> {
    let (dir, worktree, opened) = find(ctx, dir)?;
    let there = Context::open(&dir, ctx.env, ctx.progress)?;
    let store = there.store()?;
    crate::ops::swap::copied::check(&there, store)?;
    let pinned = pinned(&dir, &opened)?;
    let lock = ctx.lock(&worktree.dir, "close")?;
    recovered.0.extend(recover_locked(&there, store, &lock)?);
    check_state(store, &worktree, &dir)?;
    let alone = at_work::keep_out(&worktree, &opened, &dir)?;
    let root = pinned.root()?;
    let found = survey(&there, store, &root)?;
    if !found.refused.is_empty() {
        return Err(refusal(&dir, &found.refused));
    }
    let mut made = save(&there, store, &dir, &opened, &found)?;
    if let Some(kept) = made.kept.take() {
        // The ref holds it now, and is on disk.
        kept.release()?;
    }
    fail_point("close-saved");
    let mut notices = said(&there, store, &found, &opened)?;
    let refs_made = refs_made(&there, store);
    let left = remove::contents(&root, &made.capture.manifest, &found.output)?;
    if !left.is_empty() {
        // Its stamps may not tell that something is not what was saved: the next try reads everything anew.
        cache::remove(&store.dir.file("cache"))?;
        return Err(left_over(&dir, &made.id, &left));
    }
    fail_point("close-emptied");
    let parents = opened.parent_paths();
    if remove::worktree(&pinned, &worktree.git_dir, &parents, (lock, alone))? == EmptyDir::Stays {
        let there = dir.display();
        notices.push(format!(
            "'{there}' is empty and stays: the directory over it lets nobody else remove it"
        ));
    }
    Ok(Closed {
        dir,
        experiment_id: Some(made.id.to_string()),
        refs_made,
        notices,
    })
}

/// The refs that came while it was open; None when nobody wrote down which there were.
fn refs_made(there: &Context<'_>, store: &Store) -> Option<Vec<String>> {
    let before = SharedRefs::kept(&store.dir.file(AT_OPENING))?;
    let now = SharedRefs::look(&there.repo).ok()?;
    Some(before.made(&now, &there.repo, &store.objects))
}

fn find(ctx: &Context<'_>, dir: &Path) -> Result<(PathBuf, Worktree, OpenedDir)> {
    let given = ctx.cwd.join(dir);
    let dir = given.canonicalize().map_err(|error| {
        let message = format!("'{}' is not there", given.display());
        Error::new(Code::PathNotFound, message)
            .caused_by(error)
            .hint("'git worktree prune' forgets worktrees whose directories are gone")
    })?;
    let not_ours = || {
        Error::new(
            Code::Usage,
            format!("'{}' was not made by 'tw open'", dir.display()),
        )
        .hint("'git worktree list' shows this repository's worktrees")
    };
    let git_dir = linked_git_dir(&ctx.repo, &dir).ok_or_else(not_ours)?;
    let mut all = worktrees::all(&ctx.repo)?.into_iter();
    let worktree = all
        .find(|worktree| worktree.git_dir == git_dir)
        .ok_or_else(not_ours)?;
    let opened = worktrees::opened(&worktree.dir)?.ok_or_else(not_ours)?;
    if ctx.cwd.starts_with(&dir) {
        return Err(Error::new(
            Code::Usage,
            format!("'{}' is the directory you are in", dir.display()),
        )
        .hint("change to another worktree of the repository and close it from there"));
    }
    Ok((dir, worktree, opened))
}

/// The directory that was made, and no other that is at its path by now.
fn pinned(dir: &Path, opened: &OpenedDir) -> Result<PinnedDir> {
    if let PathOccupant::Other(what) = occupant(dir, opened.identity) {
        let message = format!("'{}' is {what} than 'tw open' made", dir.display());
        return Err(Error::new(Code::Held, message).hint(
            "nothing was removed; move or remove it yourself, then 'git worktree prune' forgets it",
        ));
    }
    PinnedDir::open(dir).context(|| format!("cannot open '{}'", dir.display()))
}

fn check_state(store: &Store, worktree: &Worktree, dir: &Path) -> Result<()> {
    let held = |what: &str, hint: String| {
        let message = format!("'{}' {what}", dir.display());
        Err(Error::new(Code::Held, message).hint(hint))
    };
    let there = typed_path(dir);
    if store.dir.state()?.mode == Mode::Past {
        let hint = format!("run 'tw -C {there} return' first");
        return held("is in the past", hint);
    }
    if store.dir.has_journal() {
        let hint = format!("run 'tw -C {there} recover' first");
        return held("has an unfinished swap", hint);
    }
    gone::check_unlocked(&worktree.git_dir, dir)
}

/// The experiment, on disk before the first path goes.
fn save<'s>(
    there: &Context<'_>,
    store: &'s Store,
    dir: &Path,
    opened: &OpenedDir,
    found: &Survey,
) -> Result<Made<'s>> {
    let check = |manifest: &mut Manifest| uncapturable(dir, manifest);
    let wanted = CaptureOptions {
        storing: Storing::Durable(format!("close-{}", Tail::random()?.as_str())),
        forced: found.forced.clone(),
        before_hashing: Some(&check),
        ..CaptureOptions::default()
    };
    make(there, store, IdKind::Experiment, &wanted, &|_| {
        let mut about = About {
            title: format!("closed {}", opened.dir),
            trigger: Trigger::Close,
            ..About::default()
        };
        let from = opened.snapshot_id.clone();
        about.extra.insert("opened_from".to_owned(), from.into());
        Ok(about)
    })
}

/// What came since the survey.
fn uncapturable(dir: &Path, manifest: &Manifest) -> Result<()> {
    let refused: Vec<Uncapturable> = manifest
        .entries()
        .filter(|(_, file)| !matches!(file.kind, Kind::DefaultExclude | Kind::Gitlink))
        .filter_map(|(at, file)| {
            Some(Uncapturable::new(
                &manifest.path_of(at, &file),
                Why::kind(file.kind)?,
            ))
        })
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(refusal(dir, &refused))
}

fn said(
    there: &Context<'_>,
    store: &Store,
    found: &Survey,
    opened: &OpenedDir,
) -> Result<Vec<String>> {
    let mut said = Vec::new();
    if !found.forced.is_empty() {
        let count = found.forced.len();
        said.push(format!("ignored files were saved, too: {count}"));
    }
    if !found.output.is_empty() {
        let names: Vec<String> = found
            .output
            .iter()
            .take(10)
            .map(|full| format!("'{}'", path::display(full)))
            .collect();
        said.push(format!(
            "removed without being saved (a command makes it again): {}",
            names.join(", ")
        ));
    }
    let Some(head) = there.repo.head(&store.objects)?.oid else {
        return Ok(said);
    };
    let id = SnapshotId::parse(&opened.snapshot_id);
    let base: Option<Oid> = id
        .and_then(|id| store.read_id(&id).ok())
        .and_then(|stored| stored.head);
    let made = there
        .repo
        .commits_on_head_alone(&store.objects, head, base, None);
    match made {
        Ok(made) => said.extend(made.iter().map(|(oid, title)| {
            format!("commit {oid} ({title}) is on no branch: git branch NAME {oid}")
        })),
        // Nothing that is only told keeps a directory open.
        Err(error) => said.push(untold_commits(head, &error)),
    }
    Ok(said)
}

fn left_over(dir: &Path, id: &SnapshotId, left: &[Vec<u8>]) -> Error {
    let shown: Vec<String> = left
        .iter()
        .take(5)
        .map(|full| format!("'{}'", path::display(full)))
        .collect();
    Error::new(
        Code::WouldOverwrite,
        format!(
            "somebody wrote in '{}' meanwhile; these stay: {}",
            dir.display(),
            shown.join(", ")
        ),
    )
    .hint(format!("everything else is saved as {id}; close it again"))
    .paths("paths", left)
    .detail("experiment_id", id.to_string())
}
