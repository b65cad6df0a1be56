//! A workspace: a repository, its head, and others that go where it goes.
//!
//! It belongs to the repository where it was made. A snapshot of the head has one of each member beside it, named in its record, and
//! a member keeps what a snapshot of its head names. Travel, return, undo, redo and the code of a rewind, called in the head, are
//! done in all or in none:
//!
//! 1. `tw`'s locks of all are taken, the head's first, then the members' by the resolved path of their git directories. What died is
//!    recovered.
//! 2. In each one the swap is prepared, up to git's locks. Whatever refuses it, in whichever, is named; nothing was written.
//! 3. `together.json`, in the head, names all of them. Each saves its present and writes its own journal, which names the swap over all.
//! 4. Each puts its files, index and HEAD in place, and proves it where that is due. An error takes back what was done, everywhere.
//! 5. `together.json` says that it is decided. Each writes its state; then `together.json` goes.
//!
//! Who dies before the decision leaves journals that are undone, who dies after it journals that are finished: whoever finds one asks
//! the head which. Each repository is thereby recovered by itself, in any order, and all end on one side (`swap::recover`).
//!
//! In a member these commands are refused and name the head, since half a workspace would be gone to. What stays in its time (snapshot,
//! restore, revert, apply) is the member's own. A head is never a member, and a member has one head.

mod together;
mod view;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Context;
use super::outcome::MemberSwap;
use super::settings::Fault;
use super::swap::recover;
use crate::error::{Code, Error, Result};
use crate::git::fs::resolved;
use crate::git::path::RepoPath;
use crate::ops::swap::undo_log::Log;
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::state::{Mode, stored_path};
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::store::workspace::{Covered, Member, way};
use crate::text::typed_path;
pub use together::{Done, together};
pub use view::membership;

/// How a command begins in a hint.
const COMMAND: &str = "'tw ";

/// A member that takes part.
#[derive(Debug, Clone)]
pub struct Partner {
    /// Where it is, from the head's working tree.
    pub path: String,
    /// Its working tree, resolved.
    pub root: PathBuf,
    /// The random id of its repository, where the workspace knows it.
    pub repository_id: Option<String>,
}

/// The members of the workspace whose head is here; none where there is no workspace.
///
/// # Errors
/// `WORKSPACE_MEMBER` when a member is not where it was; else when the list cannot be read.
pub fn partners(ctx: &Context<'_>) -> Result<Vec<Partner>> {
    let dir = ctx.state_dir();
    let Some(workspace) = dir.workspace()? else {
        return Ok(Vec::new());
    };
    let members = workspace.members.iter();
    members.map(|member| partner(ctx, member)).collect()
}

/// A member of this list, found where it is said to be.
fn partner(ctx: &Context<'_>, member: &Member) -> Result<Partner> {
    let root = member.root(ctx.repo.worktree_root())?;
    Ok(Partner {
        path: member.path.clone(),
        root: resolved(&root),
        repository_id: Some(member.repository_id.clone()),
    })
}

/// Under the lock: whether these are the members still, which were looked for before.
///
/// # Errors
/// `BUSY`.
pub fn unchanged(ctx: &Context<'_>, known: &[Partner]) -> Result<()> {
    let now = partners(ctx)?;
    if now
        .iter()
        .map(|one| &one.path)
        .eq(known.iter().map(|one| &one.path))
    {
        return Ok(());
    }
    Err(Error::new(
        Code::Busy,
        "the members of the workspace have changed meanwhile",
    )
    .hint("nothing has moved; run it again"))
}

impl Partner {
    /// Opens it, when it is what was added.
    ///
    /// # Errors
    /// `WORKSPACE_MEMBER`, which names it and what can be done.
    pub fn open<'a>(&self, head: &Context<'a>) -> Result<Context<'a>> {
        let ctx = self.open_despite_faults(head)?;
        match ctx.settings.faults.first() {
            Some(fault) => Err(self.has_fault(fault)),
            None => Ok(ctx),
        }
    }

    /// As [`Self::open`], also where a setting there has a value that it cannot have, in whose place its default holds.
    ///
    /// # Errors
    /// As [`Self::open`], but for that.
    pub fn open_despite_faults<'a>(&self, head: &Context<'a>) -> Result<Context<'a>> {
        if !self.root.is_dir() {
            return Err(self.unavailable("is not where it was"));
        }
        let ctx = Context::open_despite_faults(&self.root, head.env, head.progress)
            .map_err(|error| self.unavailable(&format!("cannot be opened: {error}")))?;
        if ctx.repo.worktree_root() != self.root {
            return Err(self.unavailable("is not a repository any more"));
        }
        let id = ctx.store()?.repository_id()?;
        if self.repository_id.is_some() && id != self.repository_id {
            return Err(self.unavailable("is another repository than the one that was added"));
        }
        let dir = ctx.state_dir();
        let pointed = match dir.pointer().map_err(|error| self.named(error))? {
            Some(pointer) => Some(dir.head_of(&pointer)?),
            None => None,
        };
        let own = resolved(head.state_dir().path());
        let names_us = pointed.is_some_and(|pointed| resolved(pointed.path()) == own);
        if !names_us {
            let path = &self.path;
            let message = format!("'{path}' does not belong to this workspace any more");
            return Err(self
                .refusal(message)
                .hint(format!(
                    "'tw workspace add {}' makes it a member again",
                    typed_path(path.as_ref())
                ))
                .hint(format!("or go on without it: '{}'", self.removal())));
        }
        Ok(ctx)
    }

    fn unavailable(&self, what: &str) -> Error {
        self.refusal(format!("member '{}' {what}", self.path))
            .hint(format!("put it back to '{}'", self.root.display()))
            .hint(format!("or go on without it: '{}'", self.removal()))
    }

    /// A setting of this member has a value that it cannot have.
    pub fn has_fault(&self, fault: &Fault) -> Error {
        self.refusal(format!("member '{}': {}", self.path, fault.message))
            .hint(format!("in '{}': {}", self.root.display(), fault.fix))
    }

    /// Why it keeps the others from going.
    fn refusal(&self, message: String) -> Error {
        Error::new(Code::WorkspaceMember, message).detail("member", self.path.clone())
    }

    /// The command that takes it out of the workspace.
    fn removal(&self) -> String {
        format!("tw workspace remove {}", typed_path(self.path.as_ref()))
    }

    /// The snapshot of this member that belongs to a snapshot of the head.
    ///
    /// # Errors
    /// `WORKSPACE_MEMBER` when there is none.
    fn target(&self, head_snapshot: &str, covered: &[Covered]) -> Result<String> {
        let path = &self.path;
        let found = covered.iter().find(|one| {
            one.path == *path
                && self
                    .repository_id
                    .as_ref()
                    .is_none_or(|id| *id == one.repository_id)
        });
        if let Some(id) = found.and_then(|one| one.snapshot_id.clone()) {
            return Ok(id);
        }
        let why = match found.and_then(|one| one.reason.as_deref()) {
            Some(reason) => format!(", which could not be taken: {reason}"),
            None => ", which was taken before it was a member".to_owned(),
        };
        let message = format!("member '{path}' has no snapshot beside '{head_snapshot}'{why}");
        Err(self
            .refusal(message)
            .hint(format!(
                "'tw show {head_snapshot}' says what belongs to it; another snapshot may have one of each member"
            ))
            .hint(format!("or go without it: '{}'", self.removal())))
    }

    /// Why a step into the past would part it from the others.
    pub fn has_no_part(&self, log: Log) -> Error {
        let path = &self.path;
        self.refusal(format!(
            "member '{path}' had no part in this swap: to {log} it would leave that one behind in the present"
        ))
        .hint("'tw travel SNAPSHOT' takes all members along, to a snapshot that was taken of all")
        .hint(format!("or go without it: '{}'", self.removal()))
    }

    /// Why it cannot come home with the others.
    pub fn is_home(&self) -> Error {
        self.refusal(format!("member '{}' is in the present already", self.path))
            .hint(format!(
                "come home without it: '{}', then 'tw return'",
                self.removal()
            ))
    }

    /// What was said in this member, as the head tells it.
    pub fn said(&self, notices: &[String]) -> Vec<String> {
        let notices = notices.iter();
        notices
            .map(|said| format!("member '{}': {said}", self.path))
            .collect()
    }

    /// An error in this member, as the head tells it.
    fn named(&self, error: Error) -> Error {
        if error.code() == Code::WorkspaceMember {
            return error;
        }
        let message = format!("member '{}': {}", self.path, error.message());
        let mut named = Error::new(error.code(), message);
        for (name, value) in error.details() {
            named = named.detail(name, value.clone());
        }
        for hint in error.hints() {
            named = named.hint(from_elsewhere(hint, &self.root));
        }
        named.detail("member", self.path.clone()).caused_by(error)
    }
}

/// A hint of another repository, as it is typed here.
fn from_elsewhere(hint: &str, root: &Path) -> String {
    hint.replace(COMMAND, &format!("{COMMAND}-C {} ", typed_path(root)))
}

/// The snapshot of each member that belongs to one of the head, by the member's path.
///
/// # Errors
/// `WORKSPACE_MEMBER` for one that has none.
pub fn targets(
    head: &Store,
    stored: &Stored,
    partners: &[Partner],
) -> Result<HashMap<String, String>> {
    // What another repository's record says is nothing to go by.
    let covered = if head.is_foreign(stored)? {
        Vec::new()
    } else {
        Covered::of(&stored.record.extra)
    };
    let id = stored.id.to_string();
    let of_each = partners.iter().map(|partner| {
        let target = partner.target(&id, &covered)?;
        Ok((partner.path.clone(), target))
    });
    of_each.collect()
}

/// What an operation answers in a member, as the head's answer tells it.
pub trait WentAlong {
    /// What was done there.
    fn in_member(&self, path: String) -> MemberSwap;

    /// Sentences for people.
    fn notices(&self) -> &[String];
}

/// Looks, in each member, what an operation would do there.
///
/// # Errors
/// What would keep the first of them from it, named.
pub fn look<M: WentAlong>(
    head: &Context<'_>,
    partners: &[Partner],
    member: impl Fn(&Context<'_>, &Partner) -> Result<M>,
) -> Result<Vec<MemberSwap>> {
    let mut seen = Vec::new();
    for partner in partners {
        let ctx = partner.open(head)?;
        let looked = recover::refuse_interrupted(ctx.store()?).and_then(|()| member(&ctx, partner));
        let looked = looked.map_err(|error| partner.named(error))?;
        seen.push(looked.in_member(partner.path.clone()));
    }
    Ok(seen)
}

/// Takes the members of a workspace out of what stayed: whatever they are called, they came home by themselves.
pub fn without_members(stayed: &mut Vec<RepoPath>, members: &[MemberSwap]) {
    stayed.retain(|path| {
        let path = stored_path(path.as_bytes());
        members.iter().all(|member| member.path != path)
    });
}

/// The head's working tree, where this is a member whose head still knows it.
///
/// # Errors
/// `member.json` or the head's list cannot be read.
pub fn head_of_member(ctx: &Context<'_>) -> Result<Option<PathBuf>> {
    let dir = ctx.state_dir();
    let Some(pointer) = dir.pointer()? else {
        return Ok(None);
    };
    let root = dir.root_of_head(&pointer)?;
    let workspace = dir.head_of(&pointer)?.workspace();
    let workspace = workspace.map_err(|error| {
        let hints = error.hints().iter();
        let hints: Vec<String> = hints.map(|hint| from_elsewhere(hint, &root)).collect();
        error.with_hints(hints)
    })?;
    let Some(workspace) = workspace else {
        return Ok(None);
    };
    let own = way(&root, ctx.repo.worktree_root());
    let knows = workspace.members.iter().any(|member| member.path == own);
    Ok(knows.then_some(root))
}

/// Refuses what has to be done in the head.
///
/// # Errors
/// `WORKSPACE_MEMBER`.
pub fn refuse_member(ctx: &Context<'_>, operation: &SwapKind) -> Result<()> {
    let Some(head) = head_of_member(ctx)? else {
        return Ok(());
    };
    Err(in_member(
        ctx,
        &head,
        operation.as_str(),
        in_head(&head, operation),
    ))
}

/// Refuses to go to the snapshot of a member's issue: the head, which would have to go, does not know it.
///
/// # Errors
/// `WORKSPACE_MEMBER`.
pub fn refuse_issue_of_member(ctx: &Context<'_>, id: IssueId) -> Result<()> {
    let Some(head) = head_of_member(ctx)? else {
        return Ok(());
    };
    let elsewhere = format!("'tw try {id} -- COMMAND' works on it beside the working tree");
    Err(in_member(ctx, &head, "issue start", elsewhere))
}

/// As [`refuse_member`], unless the head is in the present: then the stay in the past is this one's alone.
///
/// # Errors
/// `WORKSPACE_MEMBER`.
pub fn refuse_member_of_stay(ctx: &Context<'_>, operation: &SwapKind) -> Result<()> {
    let Some(head) = head_of_member(ctx)? else {
        return Ok(());
    };
    let dir = ctx.state_dir().head()?;
    match dir.map(|dir| dir.state()).transpose()? {
        Some(state) if state.mode == Mode::Past => {
            let way = in_head(&head, operation);
            Err(in_member(ctx, &head, operation.as_str(), way))
        }
        _ => Ok(()),
    }
}

/// How the head does it.
fn in_head(head: &Path, operation: &SwapKind) -> String {
    let there = typed_path(head);
    // Its next step may be another one than this one's.
    let operation = match operation {
        SwapKind::Travel => "travel SNAPSHOT",
        SwapKind::Undo => "undo --list",
        SwapKind::Redo => "redo --list",
        other => other.as_str(),
    };
    format!("run it there: 'tw -C {there} {operation}'")
}

fn in_member(ctx: &Context<'_>, head: &Path, operation: &str, way: String) -> Error {
    let here = typed_path(ctx.repo.worktree_root());
    let head = head.display().to_string();
    let message =
        format!("'tw {operation}' is for the whole workspace of '{head}', not for a member");
    Error::new(Code::WorkspaceMember, message)
        .hint(way)
        // In the head it would end the whole workspace.
        .hint(format!(
            "or take this repository out of the workspace: 'tw -C {here} workspace off'"
        ))
        .detail("head", head)
}
