//! A workspace as it is shown.

use super::{Partner, head_of_member, partners};
use crate::error::Result;
use crate::ops::Context;
use crate::ops::outcome::{MemberView, Membership, Role};
use crate::ops::swap::recover;

/// Shows the workspace that this repository is part of.
///
/// # Errors
/// The list cannot be read.
pub fn membership(ctx: &Context<'_>) -> Result<Membership> {
    match head_of_member(ctx)? {
        Some(root) => {
            let head = Context::open(&root, ctx.env, ctx.progress)?;
            of_head(&head, Role::Member)
        }
        None => of_head(ctx, Role::Head),
    }
}

fn of_head(head: &Context<'_>, role: Role) -> Result<Membership> {
    let partners = partners(head)?;
    if partners.is_empty() {
        return Ok(Membership {
            role: Role::None,
            head: None,
            members: Vec::new(),
        });
    }
    Ok(Membership {
        role,
        head: Some(head.repo.worktree_root().display().to_string()),
        members: partners.iter().map(|one| member_view(head, one)).collect(),
    })
}

fn member_view(head: &Context<'_>, partner: &Partner) -> MemberView {
    let looked = partner.open(head).and_then(|member| {
        recover::refuse_interrupted(member.store()?)?;
        Ok(member.state_dir().state()?.mode)
    });
    let (mode, problem) = match looked {
        Ok(mode) => (Some(mode), None),
        Err(error) => (None, Some(error.message().to_owned())),
    };
    MemberView {
        path: partner.path.clone(),
        root: partner.root.display().to_string(),
        mode,
        problem,
    }
}
