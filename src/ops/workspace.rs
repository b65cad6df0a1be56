//! Making a workspace of several repositories, and what it is made of.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::outcome::Membership;
use super::request::DryRun;
use super::swap::recover::{self, Begun, Recovery};
use super::workspaces::{self, Partner, membership};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{resolved, resolved_but_name};
use crate::git::path::display;
use crate::store::Store;
use crate::store::state::Mode;
use crate::store::workspace::{Member, Pointer, TogetherJournal, Workspace, way};
use crate::text::{typed_path, with_article};

/// Answer of `workspace add`, `remove` and `off`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MembersChanged {
    /// The members that came.
    pub added: Vec<String>,
    /// The members that went.
    pub removed: Vec<String>,
    /// The workspace now.
    pub workspace: Membership,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Makes other repositories members. Those that are keep being it.
///
/// # Errors
/// `WORKSPACE_MEMBER` for one that cannot be a member, or when this repository is one; `ALREADY_IN_PAST`; `NOT_A_REPOSITORY`. Nothing is
/// changed then.
pub fn add(ctx: &Context<'_>, dirs: &[OsString]) -> Result<MembersChanged> {
    ctx.check_workspace_was_meant()?;
    let no_member = || match workspaces::head_of_member(ctx)? {
        Some(head) => Err(not_two(ctx.repo.worktree_root(), &head)),
        None => Ok(()),
    };
    no_member()?;
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, "workspace", DryRun::No)?;
    let mut of_members = Recovery::default();
    // It may have been added elsewhere while the lock was waited for.
    let done = no_member().and_then(|()| add_members(ctx, store, dirs, &mut of_members));
    begun.answer(of_members.tell(done, notices_of), notices_of)
}

fn add_members(
    ctx: &Context<'_>,
    store: &Store,
    dirs: &[OsString],
    recovered: &mut Recovery,
) -> Result<MembersChanged> {
    in_present(ctx, ctx.repo.worktree_root())?;
    let mut workspace = store.dir.workspace()?.unwrap_or_default();
    workspace.version = 1;
    let new = new_members(ctx, dirs)?;
    // All that can refuse it comes before the first is written.
    let mut held = Vec::new();
    for NewMember { dir, member, .. } in &new {
        let their = member.store()?;
        let lock = member.lock(&their.dir, "workspace")?;
        let said = recover::recover_locked(member, their, &lock)?;
        recovered.0.extend(said);
        held.push(lock);
        in_present(member, member.repo.worktree_root())?;
        // It may have become another one's, or a head, while its lock was waited for.
        check(ctx, member, dir)?;
    }
    // That of a head which is gone, or forgot this one.
    store.dir.write_pointer(None)?;
    let mut added = Vec::new();
    for NewMember { path, member, .. } in &new {
        let their = member.store()?;
        // Before the list: a pointer to a head that does not know of it counts for nothing.
        their.dir.write_pointer(Some(&pointer(ctx, member)?))?;
        if list(&mut workspace, path, their.ensure_repository_id()?) {
            added.push(path.clone());
        }
    }
    store.dir.write_workspace(&workspace)?;
    drop(held);
    Ok(MembersChanged {
        added,
        removed: Vec::new(),
        workspace: membership(ctx)?,
        notices: Vec::new(),
    })
}

/// A repository that becomes a member.
struct NewMember<'a> {
    /// From the head's working tree.
    path: String,
    /// As it was named.
    dir: PathBuf,
    member: Context<'a>,
}

/// Opens what is to become a member, each once.
fn new_members<'a>(ctx: &Context<'a>, dirs: &[OsString]) -> Result<Vec<NewMember<'a>>> {
    let mut new: Vec<NewMember<'a>> = Vec::new();
    for word in dirs {
        let dir = ctx.cwd.join(word);
        let member = Context::open(&dir, ctx.env, ctx.progress).map_err(|error| {
            error.hint("name a directory that is the root of a repository's working tree")
        })?;
        check(ctx, &member, &dir)?;
        let path = way(ctx.repo.worktree_root(), member.repo.worktree_root());
        if new.iter().any(|known| known.path == path) {
            continue;
        }
        let common = member.repo.common_dir();
        let other = new
            .iter()
            .find(|one| one.member.repo.common_dir() == common);
        if let Some(other) = other {
            return Err(same_repository(&dir, &other.path));
        }
        new.push(NewMember { path, dir, member });
    }
    Ok(new)
}

/// Enters a member into the list; says whether its path is new there.
fn list(workspace: &mut Workspace, path: &str, id: String) -> bool {
    let members = &mut workspace.members;
    let is_new = !members.iter().any(|one| one.path == path);
    members.retain(|one| one.path != path || one.repository_id == id);
    if !members.iter().any(|one| one.path == path) {
        members.push(Member {
            path: path.to_owned(),
            repository_id: id,
            extra: serde_json::Map::new(),
        });
    }
    is_new
}

fn pointer(head: &Context<'_>, member: &Context<'_>) -> Result<Pointer> {
    let from = resolved(member.repo.git_dir());
    Ok(Pointer {
        version: 1,
        head_git_dir: way(&from, &resolved(head.repo.git_dir())),
        head: way(&from, &resolved(head.repo.worktree_root())),
        repository_id: head.store()?.ensure_repository_id()?,
        extra: serde_json::Map::new(),
    })
}

/// Refuses what can be no member.
fn check(head: &Context<'_>, member: &Context<'_>, dir: &Path) -> Result<()> {
    let root = member.repo.worktree_root();
    let shown = display(std::os::unix::ffi::OsStrExt::as_bytes(dir.as_os_str()));
    let refuse = |what: String| Error::new(Code::WorkspaceMember, format!("'{shown}' {what}"));
    member.check_workspace_was_meant()?;
    if resolved(dir) != *root {
        let root = root.display();
        return Err(refuse(format!("lies in the working tree of '{root}'"))
            .hint("a member is a repository of its own: name the root of its working tree"));
    }
    if member.repo.common_dir() == head.repo.common_dir() {
        return Err(
            refuse("is a working tree of this very repository".to_owned())
                .hint("its other working trees go their own ways"),
        );
    }
    if member.state_dir().workspace()?.is_some() {
        return Err(
            refuse("is the head of a workspace itself".to_owned()).hint(format!(
                "end that first: 'tw -C {} workspace off'",
                typed_path(root)
            )),
        );
    }
    for partner in workspaces::partners(head)? {
        if partner.root == *root {
            continue;
        }
        let Ok(other) = partner.open(head) else {
            continue;
        };
        if other.repo.common_dir() == member.repo.common_dir() {
            return Err(same_repository(dir, &partner.path));
        }
    }
    match workspaces::head_of_member(member)? {
        Some(other) if other != resolved(head.repo.worktree_root()) => Err(not_two(root, &other)),
        _ => Ok(()),
    }
}

fn same_repository(dir: &Path, member: &str) -> Error {
    let shown = display(dir.as_os_str().as_encoded_bytes());
    let message = format!("'{shown}' is a working tree of the member '{member}'");
    Error::new(Code::WorkspaceMember, message)
        .hint("one working tree of each repository can be a member")
}

fn not_two(root: &Path, head: &Path) -> Error {
    let message = format!(
        "'{}' is a member of the workspace of '{}'",
        root.display(),
        head.display()
    );
    let (root, head) = (typed_path(root), typed_path(head));
    Error::new(Code::WorkspaceMember, message)
        .hint(format!("add to that one: 'tw -C {head} workspace add DIR'"))
        .hint(format!("or leave it first: 'tw -C {root} workspace off'"))
}

fn in_present(ctx: &Context<'_>, root: &Path) -> Result<()> {
    if ctx.state_dir().state()?.mode == Mode::Present {
        return Ok(());
    }
    let message = format!("'{}' is in the past", root.display());
    Err(Error::new(Code::AlreadyInPast, message)
        .hint(format!("run 'tw -C {} return' first", typed_path(root))))
}

/// Takes members out of the workspace. They stay where they are.
///
/// # Errors
/// `PATH_NOT_FOUND` for what is no member; `INTERRUPTED`.
pub fn remove(ctx: &Context<'_>, dirs: &[OsString]) -> Result<MembersChanged> {
    let store = ctx.store()?;
    let workspace = store.dir.workspace()?.unwrap_or_default();
    let mut paths = Vec::new();
    for word in dirs {
        let path = ctx.cwd.join(word);
        let path = path
            .canonicalize()
            .unwrap_or_else(|_| resolved_but_name(&path));
        let asked = way(ctx.repo.worktree_root(), &path);
        let found = workspace.members.iter().find(|member| {
            member.path == asked || member.path.as_bytes() == word.as_encoded_bytes()
        });
        let Some(found) = found else {
            let shown = display(word.as_encoded_bytes());
            return Err(
                Error::new(Code::PathNotFound, format!("'{shown}' is not a member"))
                    .hint("'tw workspace list' shows the members"),
            );
        };
        paths.push(found.path.clone());
    }
    take_out(ctx, |member| paths.contains(&member.path))
}

/// Ends the workspace; in a member, leaves it.
///
/// # Errors
/// `INTERRUPTED`; the files that say who is a member cannot be changed.
pub fn off(ctx: &Context<'_>) -> Result<MembersChanged> {
    let dir = ctx.state_dir();
    if dir.has_damaged_membership() {
        return off_damaged(ctx);
    }
    if dir.pointer()?.is_none() {
        return take_out(ctx, |_| true);
    }
    if let Some(root) = workspaces::head_of_member(ctx)? {
        let head = Context::open(&root, ctx.env, ctx.progress)?;
        let own = way(head.repo.worktree_root(), ctx.repo.worktree_root());
        return take_out(&head, |member| member.path == own);
    }
    // Its head is gone, or knows nothing of it.
    let store = ctx.store()?;
    let lock = ctx.lock(&store.dir, "workspace")?;
    dir.write_pointer(None)?;
    drop(lock);
    // Its own workspace, where it has one.
    let mut changed = take_out(ctx, |_| true)?;
    let said = "the head that it named is not there, or does not name it";
    changed.notices.insert(0, said.to_owned());
    Ok(changed)
}

/// Sets aside what cannot be read, then ends the rest.
fn off_damaged(ctx: &Context<'_>) -> Result<MembersChanged> {
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, "workspace", DryRun::No)?;
    if store.dir.has_together() {
        return begun.answer(Err(recover::unfinished_in_all()), notices_of);
    }
    let kept = match store.dir.set_damaged_membership_aside() {
        Ok(kept) => kept,
        Err(error) => return begun.answer(Err(error), notices_of),
    };
    let kept = kept
        .iter()
        .map(|aside| format!("what could not be read is kept as '{}'", aside.display()));
    let ended = || {
        let mut changed = off(ctx)?;
        changed.notices.splice(0..0, kept);
        Ok(changed)
    };
    begun.again(ended, notices_of)
}

fn notices_of(changed: &mut MembersChanged) -> &mut Vec<String> {
    &mut changed.notices
}

fn take_out(head: &Context<'_>, goes: impl Fn(&Member) -> bool) -> Result<MembersChanged> {
    let store = head.store()?;
    let mut begun = recover::begin(head, store, "workspace", DryRun::No)?;
    let done = take_out_of(head, store, goes, &mut begun);
    begun.answer(done, notices_of)
}

fn take_out_of(
    head: &Context<'_>,
    store: &Store,
    goes: impl Fn(&Member) -> bool,
    begun: &mut Begun,
) -> Result<MembersChanged> {
    let mut notices = Vec::new();
    let workspace = store.dir.workspace()?.unwrap_or_default();
    let partners = workspaces::partners(head)?;
    let (gone, members): (Vec<Member>, Vec<Member>) = workspace
        .members
        .iter()
        .cloned()
        .partition(|member| goes(member));
    let leaving: Vec<&Partner> = partners
        .iter()
        .filter(|partner| gone.iter().any(|member| member.path == partner.path))
        .collect();
    if let Some(all) = store.dir.together()? {
        notices.extend(end_without(head, begun, all, &leaving)?);
    }
    // The list first: a member that names a head which does not know it goes its own way.
    store.dir.write_workspace(&Workspace {
        members,
        ..workspace.clone()
    })?;
    for partner in leaving {
        // One that is not there any more has nothing to forget.
        let Ok(member) = partner.open(head) else {
            continue;
        };
        let dir = member.state_dir();
        let what = || format!("member '{}'", partner.path);
        if dir.state().context(what)?.mode == Mode::Past {
            let root = typed_path(&partner.root);
            notices.push(format!(
                "'{}' stays in the past until 'tw -C {root} return'",
                partner.path
            ));
        }
        dir.write_pointer(None).context(what)?;
    }
    Ok(MembersChanged {
        added: Vec::new(),
        removed: gone.into_iter().map(|member| member.path).collect(),
        workspace: membership(head)?,
        notices,
    })
}

/// Ends a swap over all members that was interrupted. Who is not there any more, and leaves, keeps
/// nobody from the way back.
fn end_without(
    head: &Context<'_>,
    begun: &mut Begun,
    mut all: TogetherJournal,
    leaving: &[&Partner],
) -> Result<Vec<String>> {
    let store = head.store()?;
    let mut notices = Vec::new();
    let lost: Vec<&str> = leaving
        .iter()
        .filter(|one| all.members.contains(&one.path))
        .filter(|one| one.open(head).is_err())
        .map(|one| one.path.as_str())
        .collect();
    if !lost.is_empty() {
        all.members.retain(|path| !lost.contains(&path.as_str()));
        store.dir.write_together(&all)?;
        begun.recover_again(head, store)?;
    }
    if store.dir.has_together() {
        return Err(recover::unfinished_in_all());
    }
    let operation = with_article(all.operation.as_str());
    notices.extend(lost.iter().map(|path| {
        format!("'{path}' is taken out in the middle of {operation}: should it come back, 'tw recover' there undoes it")
    }));
    Ok(notices)
}
