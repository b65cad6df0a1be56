//! The commit that HEAD leads to, as far as it can be read; and what to say where it cannot: what is missing, and the command that
//! puts HEAD on a commit again, with which every command works again, `return` in the past too.

use crate::error::{Code, Error, Result};
use crate::git::objects::ObjectKind;
use crate::git::repo::Head;
use crate::git::{Oid, reflog};
use crate::ops::Context;
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::state::Mode;

/// The tree of HEAD's commit; None when unborn.
///
/// # Errors
/// `IO` when the commit is missing or damaged, or its tree with the remote of a partial clone, `UNSUPPORTED_REPOSITORY` when HEAD leads to something else; both with the way out.
pub fn head_tree(ctx: &Context<'_>, store: &Store, head: &Head) -> Result<Option<Oid>> {
    let Some(commit) = head.oid else {
        return Ok(None);
    };
    match store.objects.commit(commit) {
        Ok(found) if ctx.repo.is_partial_clone() => match store.objects.read_tree(found.tree) {
            Ok(_) => Ok(Some(found.tree)),
            Err(error) => Err(not_fetched(ctx, store, error)),
        },
        Ok(found) => Ok(Some(found.tree)),
        Err(error) => Err(no_commit(ctx, store, commit, error)),
    }
}

/// What a tree of HEAD's that cannot be read comes to: in a partial clone git has it fetched when it needs it, and nothing here asks the
/// remote.
pub fn not_fetched(ctx: &Context<'_>, store: &Store, error: Error) -> Error {
    if error.code() != Code::CorruptRecord || !ctx.repo.is_partial_clone() {
        return error;
    }
    let message = format!(
        "this partial clone has not fetched all trees of HEAD: {}",
        error.message()
    );
    let error = Error::new(Code::Io, message)
        .caused_by(error)
        .hint("'git ls-tree -r HEAD' fetches them");
    match known_commit(ctx, store) {
        Some(commit) => error.hint(format!(
            "without the remote, to put HEAD where nothing is to be fetched, with files and index as they are: git update-ref --no-deref HEAD {commit}"
        )),
        None => error,
    }
}

fn no_commit(ctx: &Context<'_>, store: &Store, oid: Oid, error: Error) -> Error {
    let (code, message) = match store.objects.peel(oid) {
        Ok((_, ObjectKind::Commit)) | Err(_) => (
            Code::Io,
            format!("HEAD's commit {oid} cannot be read: {}", error.message()),
        ),
        Ok((end, kind)) if end == oid => (
            Code::UnsupportedRepository,
            format!("HEAD leads to the {} {oid}, not to a commit", kind.name()),
        ),
        Ok((end, kind)) => (
            Code::UnsupportedRepository,
            format!(
                "HEAD leads to the tag {oid} of the {} {end}, not to a commit",
                kind.name()
            ),
        ),
    };
    let to_a_commit = match known_commit(ctx, store) {
        Some(commit) => format!("git update-ref --no-deref HEAD {commit}"),
        None => "git symbolic-ref HEAD refs/heads/NAME".to_owned(),
    };
    let fsck = if store.objects.contains(oid) {
        ""
    } else {
        "'git fsck' says what else is missing; "
    };
    Error::new(code, message).caused_by(error).hint(format!(
        "{fsck}to put HEAD elsewhere, with files and index as they are: {to_a_commit}"
    ))
}

/// A commit that HEAD was at and that is there: in the past the one that travel put it on, else the last one of its reflog.
fn known_commit(ctx: &Context<'_>, store: &Store) -> Option<Oid> {
    let put = || {
        let state = store.dir.state().ok()?;
        let id = state
            .current_snapshot_id
            .filter(|_| state.mode == Mode::Past)?;
        store.read_id(&SnapshotId::parse(&id)?).ok()?.head
    };
    let is_there = |oid: &Oid| {
        let commit = store.objects.commit(*oid);
        commit.is_ok_and(|commit| store.objects.read_tree(commit.tree).is_ok())
    };
    put().filter(is_there).or_else(|| {
        let moves = reflog::read(&ctx.repo);
        let ids = moves.iter().rev().flat_map(|one| [Some(one.new), one.old]);
        ids.flatten()
            .filter_map(|oid| Some(store.objects.peel(oid).ok()?.0))
            .find(is_there)
    })
}
