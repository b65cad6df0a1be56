//! HEAD and the operation files (merge, rebase, …) on the side that a swap leads to.
//!
//! In the past HEAD is detached, or on an unborn branch of ours, so that nothing that is committed there moves a branch of the
//! user's. Back in the present it is on its branch again only while that is as it was.

use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::head::SYMLINK;
use crate::git::operation::{self, OperationState};
use crate::git::refs::RefFormat;
use crate::ops::Context;
use crate::ops::outcome::{DetachedBy, HeadReport};
use crate::store::Store;
use crate::store::state::Journal;
use crate::store::stored::Stored;
use crate::text::typed;

/// What HEAD becomes in the past: detached at the snapshot's commit, or an unborn branch of ours.
///
/// # Errors
/// When the refs, or another worktree's HEAD, cannot be read.
pub fn past_head(ctx: &Context<'_>, stored: &Stored) -> Result<String> {
    Ok(match stored.head {
        Some(oid) => format!("{oid}\n"),
        None => format!("ref: {}\n", unborn_branch(ctx, PAST)?),
    })
}

/// What HEAD's reflog says of a swap; `None` for one that it has nothing to say of.
pub fn told_of_head(journal: &Journal) -> Option<String> {
    let (before, after) = journal.head.as_ref()?;
    // A checkout of the commit that is checked out is an entry, too; a stay that is of files alone has nothing to do with HEAD.
    let is_of_files = journal.state_before.files_only || journal.state_after.files_only;
    let target = journal.target_id.as_deref().unwrap_or(&journal.backup_id);
    (before != after || !is_of_files).then(|| format!("tw {}: {target}", journal.operation))
}

/// The branches that HEAD is put on where a snapshot has no commit, when no branch of the user's is in the way.
const PAST: &str = "past";

/// The branches that HEAD is put on where the present was unborn, and its branch has been made since.
pub const PRESENT: &str = "present";

/// Whether a branch is one of those that [`past_head`] puts HEAD on.
pub fn is_past_branch(name: &str) -> bool {
    ["timewarp/", "timewarp-"].iter().any(|before| {
        let name = name.strip_prefix("refs/heads/");
        let number = name.and_then(|name| name.strip_prefix(before)?.strip_prefix(PAST));
        number.is_some_and(|number| number.is_empty() || number.starts_with('-'))
    })
}

/// The first name of ours that is unborn and stays so until somebody commits here: `timewarp/past`, `timewarp/past-2`, …. A
/// commit that was made in the past stays on the branch that it made, and another worktree may be in the past as well. A scratch of a
/// snapshot without a commit is on such a branch, too.
///
/// # Errors
/// When the refs, or another worktree's HEAD, cannot be read.
pub fn unborn_branch(ctx: &Context<'_>, what: &str) -> Result<String> {
    let taken = ctx.repo.refs().names("refs/heads/timewarp")?;
    let base = match taken.first() {
        // A branch of that name leaves no room beneath it.
        Some(name) if name == "refs/heads/timewarp" => format!("refs/heads/timewarp-{what}"),
        _ => format!("refs/heads/timewarp/{what}"),
    };
    let is_free = |name: &str| -> Result<bool> {
        let beneath = format!("{name}/");
        let made = |other: &String| other == name || other.starts_with(&beneath);
        Ok(!taken.iter().any(made) && ctx.repo.checked_out_elsewhere(name)?.is_none())
    };
    let mut name = base.clone();
    let mut number = 1;
    while !is_free(&name)? {
        number += 1;
        name = format!("{base}-{number}");
    }
    Ok(name)
}

/// The operation files that a snapshot brings into the past: its own merge, cherry-pick or revert, none of a foreign one.
pub fn past_operation(store: &Store, stored: &Stored) -> Result<(OperationState, Vec<String>)> {
    let whole = store.operation(stored)?;
    let kinds = operation::kinds(&whole);
    if store.is_foreign(stored)? {
        let notices = if kinds.is_empty() {
            Vec::new()
        } else {
            vec![format!(
                "the {} under way in it was not put in place: it comes from another repository",
                kinds.join(", ")
            )]
        };
        return Ok((OperationState::default(), notices));
    }
    let revived = operation::revivable(&whole);
    let left: Vec<_> = kinds
        .iter()
        .filter(|kind| !operation::kinds(&revived).contains(kind))
        .map(|kind| {
            format!("the {kind} under way in it was not revived: continuing it would move branches")
        })
        .collect();
    Ok((revived, left))
}

/// What is to be known before the rebase of a side goes on or is aborted, where its branch is not as it left it.
///
/// # Errors
/// When another worktree's HEAD cannot be read.
pub fn rebase_notice(
    ctx: &Context<'_>,
    store: &Store,
    operation: &OperationState,
) -> Result<Option<String>> {
    let Some((branch, began)) = operation::rebased_branch(operation) else {
        return Ok(None);
    };
    let short = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
    // One that is broken or gone keeps nobody's commits.
    let Some(tip) = store.refs.read(&branch).ok().flatten() else {
        return Ok(None);
    };
    if tip != began {
        return Ok(Some(format!(
            "'{short}', which the rebase under way moves, has moved since it began; 'git rebase --abort' would set it back to {began}; \
             to keep what is there: git branch NAME {}",
            typed(short)
        )));
    }
    let elsewhere = ctx.repo.checked_out_elsewhere(&branch)?;
    Ok(elsewhere.map(|_| {
        format!(
            "'{short}', which the rebase under way moves, is checked out in another worktree now; before something is committed there: \
             git -C THERE switch -c NAME"
        )
    }))
}

/// HEAD's bytes for a saved side: on its branch only when that still has the recorded tip and nobody else is on it.
pub fn head_for(ctx: &Context<'_>, store: &Store, saved: &Stored) -> Result<(String, HeadReport)> {
    let recorded = &saved.record.head;
    let oid = saved.head;
    let tag = recorded.tag.as_deref().map(Oid::from_hex).transpose()?;
    let mut report = HeadReport {
        reference: recorded.reference.clone(),
        oid,
        restored: true,
        reason: None,
    };
    let Some(branch) = recorded.reference.clone().filter(|_| !recorded.detached) else {
        let oid = oid.ok_or_else(|| {
            Error::new(
                Code::CorruptRecord,
                "the saved HEAD names neither a branch nor a commit",
            )
        })?;
        if let Some(tag) = tag {
            // A tag that was deleted meanwhile may have been pruned: no commit holds it.
            let leads_there = matches!(store.objects.peel(tag), Ok((commit, _)) if commit == oid);
            if leads_there {
                return Ok((format!("{tag}\n"), report));
            }
            report.restored = false;
            report.reason = Some(DetachedBy::TagGone);
        }
        return Ok((format!("{oid}\n"), report));
    };
    let (tip, gone) = match store.refs.read(&branch) {
        // A crash may have cut it short; there is a way back all the same.
        Err(error) if error.code() == Code::CorruptRecord => (None, DetachedBy::BranchBroken),
        read => (read?, DetachedBy::BranchGone),
    };
    // On a branch that has moved, the recorded files would look like changes against somebody else's commits.
    let reason = if tip != tag.or(oid) {
        Some(if tip.is_none() {
            gone
        } else {
            DetachedBy::BranchMoved
        })
    } else if ctx.repo.checked_out_elsewhere(&branch)?.is_some() {
        Some(DetachedBy::CheckedOutElsewhere)
    } else {
        None
    };
    let text = match (reason, oid) {
        // Old repositories, and `core.preferSymlinkRefs`, have HEAD as a symbolic link. A reftable has none.
        (None, _) if recorded.symlink && ctx.repo.refs().format() == RefFormat::Files => {
            format!("{SYMLINK}{branch}\n")
        }
        (None, _) => format!("ref: {branch}\n"),
        (Some(_), Some(oid)) => format!("{oid}\n"),
        // Unborn, and somebody made the branch meanwhile: an unborn branch of ours keeps their commits safe.
        (Some(_), None) => {
            let name = unborn_branch(ctx, PRESENT)?;
            format!("ref: {name}\n")
        }
    };
    report.restored = reason.is_none();
    report.reason = reason;
    Ok((text, report))
}
