//! Index, HEAD and operation files of a dead swap: as they were before it, or as it would have left them.

use std::cell::RefCell;

use super::super::head::past_operation;
use super::super::newindex::{IndexGoal, new_index};
use super::super::pathindex;
use super::super::{NO_INDEX, install_index, rename_into};
use super::noted;
use crate::error::{Code, Error, Result};
use crate::git::fs::remove_optional;
use crate::git::operation;
use crate::ops::Context;
use crate::ops::capture::{CaptureOptions, Storing, capture};
use crate::store::Store;
use crate::store::state::Journal;

/// Index, HEAD and operation files as they were before the swap.
pub(super) fn put_git_back(
    ctx: &Context<'_>,
    store: &Store,
    journal: &Journal,
) -> Result<Vec<String>> {
    let mut notices = Vec::new();
    let kept = store.dir.file("index.before");
    if journal.swaps_index {
        if kept.exists() {
            rename_into(&kept, &ctx.repo.index_path())?;
        } else if journal.extra.contains_key(NO_INDEX) {
            remove_optional(&ctx.repo.index_path())?;
        }
        remove_optional(&kept)?;
        remove_optional(&store.dir.file("index.after"))?;
    }
    if let Some((before, after)) = &journal.head {
        let now = ctx.repo.raw_head()?;
        if now == *after {
            ctx.repo.write_raw_head(before)?;
        } else if now != *before {
            notices.push("HEAD was changed since and stays as it is".to_owned());
        }
    }
    if journal.swaps_operation {
        let saved = noted(store, &journal.backup_id, Some(&journal.backup_commit))?;
        operation::restore(&ctx.repo, &store.operation(&saved)?)?;
    }
    Ok(notices)
}

fn put_index_forward(ctx: &Context<'_>, store: &Store, goal: &IndexGoal<'_>) -> Result<()> {
    let wanted = CaptureOptions {
        storing: Storing::No,
        whole_index: true,
        ..CaptureOptions::default()
    };
    let seen = capture(ctx, store, &wanted)?;
    let (applied, plan) = (Default::default(), Default::default());
    let index = new_index(ctx, store, &seen, goal, &applied, &plan)?;
    install_index(ctx, store, &index)
}

/// Index, HEAD and operation files as the swap would have left them.
pub(super) fn put_git_forward(ctx: &Context<'_>, store: &Store, journal: &Journal) -> Result<()> {
    let target = journal
        .target_id
        .as_deref()
        .map(|id| noted(store, id, journal.target_commit.as_deref()))
        .transpose()?;
    if let Some(entries) = pathindex::read(journal, pathindex::Which::After)? {
        put_index_forward(ctx, store, &IndexGoal::Paths(&RefCell::new(entries)))?;
    } else if journal.swaps_index {
        let target = target
            .as_ref()
            .ok_or_else(|| Error::new(Code::CorruptRecord, "the journal names no target"))?;
        let lists = store.lists(target)?;
        let goal = IndexGoal::Snapshot {
            stored: target,
            lists: &lists,
        };
        put_index_forward(ctx, store, &goal)?;
    }
    if let Some((_, after)) = &journal.head {
        ctx.repo.write_raw_head(after)?;
    }
    if let (true, Some(target)) = (journal.swaps_operation, &target) {
        let state = if journal.operation == "travel" {
            past_operation(store, target)?.0
        } else {
            store.operation(target)?
        };
        operation::restore(&ctx.repo, &state)?;
    }
    Ok(())
}
