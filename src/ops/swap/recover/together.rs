//! A swap over all members of a workspace that died: which way each of them goes, and that all of them do.
//!
//! Which way is written in the head (`together.json`): undone until it was decided, finished from then on. The head's file goes when
//! no one's journal is left, so a journal without it is one that was not decided. Whoever recovers, in the head or in a member, also
//! recovers the others; one that is busy or in doubt is left to its own next command, which goes the same way.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{clear_after_death, interrupted, recover_swap, recover_swap_asked};
use crate::error::{Code, Error, Result};
use crate::git::fs::{is_there, resolved};
use crate::ops::Context;
use crate::ops::outcome::{Recovered, RecoveryAction};
use crate::ops::request::{Direction, Recover};
use crate::store::Store;
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::state::{Journal, StateDir};
use crate::store::trigger::SwapKind;
use crate::store::workspace::{Tie, member_root};
use crate::text::typed_path;

/// How long another member's lock is waited for: who has it may be recovering it.
const WAIT: Duration = Duration::from_secs(1);

/// Which way a journal's swap goes: as asked, unless it is part of one over all.
///
/// # Errors
/// `INTERRUPTED` when the head is not there to say it; `USAGE` when the other way is asked for.
pub(super) fn direction(store: &Store, journal: &Journal, asked: Direction) -> Result<Direction> {
    let Some(tie) = Tie::of(journal) else {
        return Ok(asked);
    };
    let head = tie.head(&store.dir)?;
    if !is_there(head.path())? {
        if asked != Direction::Auto {
            return Ok(asked);
        }
        let gone = head.path().display();
        return Err(interrupted(journal, &[])
            .hint(format!(
                "the head of the workspace, which would say how it ended, is not at '{gone}'"
            ))
            .hint("'tw recover --back' undoes it here, 'tw recover --forward' finishes it"));
    }
    let together = head.together()?;
    let is_decided = together.is_some_and(|all| all.id == tie.id && all.decided);
    let (fixed, why) = if is_decided {
        (
            Direction::Forward,
            "every member had come to its end: it can only be finished",
        )
    } else {
        (
            Direction::Back,
            "not every member had come to its end: it can only be undone",
        )
    };
    if asked != Direction::Auto && asked != fixed {
        return Err(Error::new(
            Code::Usage,
            format!(
                "the {} was one of a whole workspace, and {why}",
                journal.operation
            ),
        )
        .hint("run 'tw recover'")
        .hint("afterwards 'tw undo' or the command itself takes all members the other way"));
    }
    Ok(fixed)
}

/// Whether a swap over all members waits for recovery, or is under way.
///
/// # Errors
/// The files that say where the head is cannot be read.
pub fn is_unfinished(dir: &StateDir) -> Result<bool> {
    Ok(dir.head()?.is_some_and(|head| head.has_together()))
}

/// What was done for the others.
pub(super) struct Others {
    /// Sentences for people.
    pub(super) notices: Vec<String>,
    /// Those that are not recovered.
    pub(super) left: Vec<Left>,
    /// What was done to those that had not ended; None: there was none.
    pub(super) action: Option<RecoveryAction>,
}

/// Recovers whoever else took part, under the lock of this one, and forgets the swap over all when nobody's journal is left. Says what
/// was done, and what could not be.
///
/// # Errors
/// The files that say who took part cannot be read, or the head's cannot be removed.
pub(super) fn others(ctx: &Context<'_>, store: &Store, asked: Option<&Recover>) -> Result<Others> {
    let mut done = Others {
        notices: Vec::new(),
        left: Vec::new(),
        action: None,
    };
    let Some(head) = store.dir.head()? else {
        return Ok(done);
    };
    let is_head = resolved(head.path()) == resolved(store.dir.path());
    let Some(all) = head.together()? else {
        // It may have died before it wrote down who took part.
        if asked.is_some() {
            done.notices = clear_others(ctx, store, &head, is_head)?;
        }
        return Ok(done);
    };
    let is_left = is_part(&store.dir, &all.id)?;
    let mut head_lock = None;
    for (name, place) in places(ctx, store, is_head, &all.members)? {
        match recover_other(ctx, &head, &place, &all.id, asked) {
            Ok(None) => {}
            Ok(Some(other)) => {
                if other.is_done {
                    let way = if all.decided {
                        RecoveryAction::RolledForward
                    } else {
                        RecoveryAction::RolledBack
                    };
                    done.action = Some(way);
                }
                let said = other.notices.into_iter();
                done.notices
                    .extend(said.map(|said| format!("{name}: {said}")));
                if name == HEAD {
                    head_lock = Some(other.lock);
                }
            }
            Err(error) => done.left.push(Left { name, place, error }),
        }
    }
    // Under the head's lock nobody begins another one meanwhile.
    let is_same = head.together()?.is_some_and(|now| now.id == all.id);
    if !is_left && done.left.is_empty() && is_same && (is_head || head_lock.is_some()) {
        head.remove_together()?;
    }
    Ok(done)
}

/// One that is not recovered, and why.
pub(super) struct Left {
    name: String,
    place: PathBuf,
    error: Error,
}

impl Left {
    fn what(&self) -> String {
        format!("{} is not recovered: {}", self.name, self.error)
    }

    /// The next command.
    fn hint(&self) -> String {
        let place = typed_path(&self.place);
        if self.name != HEAD && self.error.code() == Code::WorkspaceMember {
            return format!("put it back, or go on without it: 'tw workspace remove {place}'");
        }
        format!("run 'tw -C {place} recover'")
    }
}

impl Display for Left {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.hint())
    }
}

/// The answer where something was recovered, maybe, and others were not.
pub(super) fn left_behind(here: &Recovered, others: &Others) -> Error {
    let whats: Vec<String> = others.left.iter().map(Left::what).collect();
    let mut error = Error::new(Code::Interrupted, whats.join("; "));
    if here.action != RecoveryAction::Nothing {
        let operation = here.operation.as_ref().map_or("swap", SwapKind::as_str);
        error = error.hint(format!("here the {operation} is {}", here.action.as_str()));
    }
    for said in here.notices.iter().chain(&others.notices) {
        error = error.hint(said);
    }
    let hints = others.left.iter().map(Left::hint);
    hints.fold(error, Error::hint)
}

/// What keeps the next swap over all, and a change of its members, from beginning.
pub fn unfinished_in_all() -> Error {
    let message = "a swap over all members of the workspace was interrupted, and is not recovered in all of them";
    Error::new(Code::Interrupted, message).hint("run 'tw recover'")
}

/// Clears away what a command left in the rest of the workspace, where it died before it wrote down who took part. Says where that is
/// not possible.
///
/// # Errors
/// The files that say who belongs to it cannot be read.
pub fn clear_workspace(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    let Some(head) = store.dir.head()? else {
        return Ok(Vec::new());
    };
    if head.together()?.is_some() {
        return Ok(Vec::new());
    }
    let is_head = resolved(head.path()) == resolved(store.dir.path());
    clear_others(ctx, store, &head, is_head)
}

/// Clears away what a command left everywhere that died before anything was written: git's locks, in which git would find somebody at
/// work. Says where that is not possible.
fn clear_others(
    ctx: &Context<'_>,
    store: &Store,
    head: &StateDir,
    is_head: bool,
) -> Result<Vec<String>> {
    let members = head.workspace()?.unwrap_or_default().members;
    let members: Vec<String> = members.into_iter().map(|member| member.path).collect();
    let mut notices = Vec::new();
    for (name, place) in places(ctx, store, is_head, &members)? {
        match clear_other(ctx, &place) {
            // Where nothing is, nothing was left.
            Err(error) if error.code() == Code::WorkspaceMember => {}
            Err(error) => notices.push(Left { name, place, error }.to_string()),
            Ok(()) => {}
        }
    }
    Ok(notices)
}

/// Opens who is there, and not the repository that a directory without one lies in.
fn open<'a>(ctx: &Context<'a>, place: &Path) -> Result<Context<'a>> {
    if !place.is_dir() {
        return Err(Error::new(Code::WorkspaceMember, "it is not where it was"));
    }
    let other = Context::open(place, ctx.env, ctx.progress)?;
    if other.repo.worktree_root() != resolved(place) {
        return Err(Error::new(
            Code::WorkspaceMember,
            "it is not a repository any more",
        ));
    }
    Ok(other)
}

/// Refuses another repository in the place of one who took part: its journal names the swap over all, or it is of this head still. Who
/// was put out of the way is to be asked when it is back.
fn check_took_part(other: &StateDir, head: &StateDir, id: &str) -> Result<()> {
    let head = resolved(head.path());
    if resolved(other.path()) == head || is_part(other, id)? {
        return Ok(());
    }
    if other
        .head()?
        .is_some_and(|own| resolved(own.path()) == head)
    {
        return Ok(());
    }
    let message = "it is not where it was: another repository is there";
    Err(Error::new(Code::WorkspaceMember, message))
}

fn clear_other(ctx: &Context<'_>, place: &Path) -> Result<()> {
    let other = open(ctx, place)?;
    if other.repo.git_dir() == ctx.repo.git_dir() {
        return Ok(());
    }
    let store = other.store()?;
    let lock = WorktreeLock::acquire(store.dir.path(), Hold::Exclusive, "recover", WAIT)?;
    clear_after_death(&other, store, &lock).map(|_| ())
}

/// What the head is called.
const HEAD: &str = "the head of the workspace";

/// The working trees of all who took part, and what they are called.
fn places(
    ctx: &Context<'_>,
    store: &Store,
    is_head: bool,
    members: &[String],
) -> Result<Vec<(String, PathBuf)>> {
    let root = match store.dir.pointer()? {
        Some(pointer) if !is_head => store.dir.root_of_head(&pointer)?,
        _ => ctx.repo.worktree_root().to_owned(),
    };
    let mut places = Vec::new();
    for path in members {
        places.push((format!("member '{path}'"), member_root(&root, path)?));
    }
    // Last: it is the one who forgets.
    places.push((HEAD.to_owned(), root));
    Ok(places)
}

/// Whether a journal here is part of this swap over all.
fn is_part(dir: &StateDir, id: &str) -> Result<bool> {
    if !dir.has_journal() {
        return Ok(false);
    }
    let journal = dir.journal()?;
    Ok(journal.is_some_and(|journal| Tie::of(&journal).is_some_and(|tie| tie.id == id)))
}

/// Another one, after its recovery.
struct Other {
    lock: WorktreeLock,
    is_done: bool,
    notices: Vec<String>,
}

/// Recovers another one; `None` when it is this one.
fn recover_other(
    ctx: &Context<'_>,
    head: &StateDir,
    place: &Path,
    id: &str,
    asked: Option<&Recover>,
) -> Result<Option<Other>> {
    let other = open(ctx, place)?;
    if other.repo.git_dir() == ctx.repo.git_dir() {
        return Ok(None);
    }
    let store = other.store()?;
    check_took_part(&store.dir, head, id)?;
    let lock = WorktreeLock::acquire(store.dir.path(), Hold::Exclusive, "recover", WAIT)?;
    let is_done = is_part(&store.dir, id)?;
    let notices = match asked {
        _ if !is_done => {
            clear_after_death(&other, store, &lock)?;
            Vec::new()
        }
        None => recover_swap(&other, store, &lock)?,
        Some(asked) => {
            let request = Recover {
                direction: Direction::Auto,
                ..asked.clone()
            };
            let recovered = recover_swap_asked(&other, store, &request)?;
            if recovered.action == RecoveryAction::Undecided {
                return Err(Error::new(
                    Code::Interrupted,
                    format!(
                        "{} of its paths have changed since",
                        recovered.differing.len()
                    ),
                ));
            }
            let operation = recovered.operation.as_ref().map_or("", SwapKind::as_str);
            let mut said = vec![format!("its {operation} was {}", recovered.action.as_str())];
            said.extend(recovered.notices);
            said
        }
    };
    Ok(Some(Other {
        lock,
        is_done,
        notices,
    }))
}
