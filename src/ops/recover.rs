//! Finish or undo a swap that died, when asked to, and put right what of our own files is damaged.

use super::Context;
use super::outcome::{Recovered, RecoveryAction};
use super::request::{DryRun, Recover, Return};
use super::sharing;
use super::stay::ReturnOperation;
use super::stray_notes;
use super::swap::copied;
use super::swap::recover::{self as swap, Recovery};
use crate::error::{Code, Error, Result};
use crate::git::fs::is_there;
use crate::store::Store;
use crate::store::state::StateDir;

/// Finishes or undoes an interrupted swap, and clears up after it.
///
/// # Errors
/// What stands against it, with the journal still there.
pub fn recover(ctx: &Context<'_>, request: &Recover) -> Result<Recovered> {
    let store = ctx.store()?;
    match copied::check(ctx, store) {
        // A state that says nothing is put right first, and asked then.
        Err(error) if error.code() == Code::CorruptRecord => {}
        other => other?,
    }
    // No journal tells of a directory that was being opened.
    let cleared = Recovery(super::scratches::opening::clear_dead(ctx)?);
    let recovered = cleared.tell(recover_swaps(ctx, store, request), |recovered| {
        &mut recovered.notices
    });
    Ok(with_sharing(ctx, store, recovered?))
}

/// Sets aside what is damaged of sharing, too. What keeps it from that keeps nothing else.
fn with_sharing(ctx: &Context<'_>, store: &Store, mut recovered: Recovered) -> Recovered {
    match sharing::damaged::set_aside(ctx, store) {
        Ok(aside) => {
            if recovered.action == RecoveryAction::Nothing && !aside.is_empty() {
                recovered.action = RecoveryAction::Mended;
            }
            recovered.notices.extend(aside);
        }
        Err(error) => recovered.notices.push(error.message().to_owned()),
    }
    recovered
}

fn recover_swaps(ctx: &Context<'_>, store: &Store, request: &Recover) -> Result<Recovered> {
    if !is_there(store.dir.path())? {
        return Ok(swap::nothing());
    }
    swap::damaged::set_locks_aside(&store.dir)?;
    let is_barred = is_way_home_barred(ctx);
    let lock = ctx.lock(&store.dir, "recover")?;
    let mut recovered = swap::recover_asked(ctx, store, request, is_barred)?;
    let followed = stray_notes::follow(ctx, store)?;
    if recovered.action == RecoveryAction::Nothing && !followed.is_empty() {
        recovered.action = RecoveryAction::Mended;
    }
    recovered.notices.extend(followed);
    drop(lock);
    Ok(recovered)
}

/// Whether this is the past, and a return would be refused for something that is lost. What is lost and would not be put back, since it
/// stands in the working tree as it was, is in nobody's way.
fn is_way_home_barred(ctx: &Context<'_>) -> bool {
    let request = Return {
        move_aside: true,
        dry_run: DryRun::Yes,
        ..Return::default()
    };
    let planned = || -> Result<()> {
        let store = ctx.store()?;
        let stay = ReturnOperation::new(ctx, store, store.dir.state()?)?;
        stay.dry_run(&request).map(drop)
    };
    ctx.state_dir().is_in_past()
        && planned().is_err_and(|error| error.code() == Code::CorruptRecord)
}

/// What is said where the backup of the present cannot be read.
const LEADS_NOWHERE: &str =
    "'tw recover' looks for what became of the backup of the present, and says what can be done";

/// Says that `tw recover` helps, after an error that a damaged file of ours may have made.
pub fn with_way_out(ctx: &Context<'_>, error: Error) -> Error {
    let is_named = error.hints().iter().any(|hint| hint.contains("tw recover"));
    if is_named || !matches!(error.code(), Code::Io | Code::CorruptRecord) {
        return error;
    }
    let shared = StateDir::new(ctx.repo.common_dir());
    let damaged = swap::damaged::find(&ctx.state_dir(), &shared);
    let Some(first) = damaged.first() else {
        return if swap::leads_nowhere(ctx, || is_way_home_barred(ctx)) {
            error.with_hints([LEADS_NOWHERE.to_owned()])
        } else {
            error
        };
    };
    error.with_hints([format!(
        "'tw recover' sets damaged files of tw's own aside, here '{}', and goes on without them",
        first.display()
    )])
}
