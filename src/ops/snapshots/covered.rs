//! The snapshots of a workspace's members that belong to one of its head.
//!
//! Each member gives its newest one while nothing changed there, else a new one. One that cannot be had is named, with the reason, in
//! the record and in what is said; the head's is taken all the same, and travel to it is refused as long as the member is one.

use std::time::Duration;

use super::take_locked;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::request::Take;
use crate::ops::workspaces::{self, Partner};
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::trigger::Trigger;
use crate::store::workspace::Covered;
use crate::text::typed_path;

/// How long an event waits for a member: an agent waits for the event.
const EVENT_WAIT: Duration = Duration::from_millis(500);

/// Takes them, under the head's lock, in the order in which a swap over all takes its locks.
///
/// # Errors
/// The list of members is a newer one.
pub(super) fn take(
    ctx: &Context<'_>,
    request: &Take,
    notices: &mut Vec<String>,
) -> Result<Vec<Covered>> {
    let mut covered = Vec::new();
    let partners = match workspaces::partners(ctx) {
        Err(error) if error.code() == Code::CorruptRecord => {
            notices.push(format!(
                "no snapshot of any member of the workspace: {}",
                told(&error)
            ));
            return Ok(covered);
        }
        partners => partners?,
    };
    for partner in partners {
        let taken = take_one(ctx, request, &partner);
        let (snapshot_id, reason) = match taken {
            Ok((id, said)) => {
                notices.extend(partner.said(&said));
                (Some(id), None)
            }
            Err(error) => {
                let path = &partner.path;
                notices.push(format!("no snapshot of member '{path}': {}", told(&error)));
                (None, Some(error.code().as_str().to_owned()))
            }
        };
        covered.push(Covered {
            path: partner.path,
            repository_id: partner.repository_id.unwrap_or_default(),
            snapshot_id,
            reason,
        });
    }
    Ok(covered)
}

/// An error and the way out of it, in a notice.
fn told(error: &Error) -> String {
    match error.hints().first() {
        Some(hint) => format!("{}; {hint}", error.message()),
        None => error.message().to_owned(),
    }
}

fn take_one(ctx: &Context<'_>, request: &Take, partner: &Partner) -> Result<(String, Vec<String>)> {
    // An event does not come again, and nobody waits for it.
    let (member, wait) = if request.trigger == Trigger::Manual {
        (partner.open(ctx)?, ctx.settings.lock_timeout)
    } else {
        (partner.open_despite_faults(ctx)?, EVENT_WAIT)
    };
    let store = member.store()?;
    let lock = WorktreeLock::acquire(store.dir.path(), Hold::Shared, "snapshot", wait)?;
    // Half of one state and half of another is nothing to go back to.
    if store.dir.needs_recovery()? {
        let root = typed_path(&partner.root);
        return Err(
            Error::new(Code::Interrupted, "a swap was interrupted there")
                .hint(format!("run 'tw -C {root} recover'")),
        );
    }
    let request = Take {
        label: None,
        include: Vec::new(),
        exclude: Vec::new(),
        if_changed: true,
        preferred: Vec::new(),
        ..request.clone()
    };
    let mut notices = Vec::new();
    let taken = take_locked(&member, store, &request, &mut notices, false)?;
    drop(lock);
    Ok((taken.snapshot.id, taken.notices))
}
