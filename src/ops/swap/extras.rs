//! What a tree cannot say of a side: permission bits, empty directories, access.

use super::super::Context;
use super::super::capture::Capture;
use crate::error::Result;
use crate::git::access_list::AccessList;
use crate::git::{path, tree};
use crate::store::Store;
use crate::store::stored::Stored;
use crate::worktree::plan::Extras;

/// The extras of a stored snapshot. Permission bits of one that this machine did not make are cut to the plain nine, and those of
/// one that was pulled to what is usual ([`Extras::permissions`]).
pub fn stored_extras(store: &Store, stored: &Stored) -> Result<Extras> {
    let lists = store.lists(stored)?;
    let is_pulled = store.is_foreign(stored)?;
    let foreign = is_pulled || !store.is_made_here(stored.commit)?;
    // Somebody else's snapshot must not hand out setuid programs.
    let mask = if foreign { 0o777 } else { 0o7777 };
    let record = &stored.record;
    let mut access = if foreign {
        AccessList::default()
    } else {
        store.access(stored)?
    };
    // Nobody looked at the access of its files on this machine: each keeps that of what it replaces.
    access.inherits = is_pulled || record.seeds_unproven.is_some();
    let defaults =
        [0o100_644, 0o100_755, tree::DIR_MODE].map(|mode| record.default_permissions(mode));
    let [file, executable, directory] = defaults;
    Ok(Extras {
        modes: lists
            .modes
            .into_iter()
            .map(|(path, mode)| (path, mode & mask))
            .collect(),
        defaults: [file? & mask, executable? & mask, directory? & mask],
        empty_dirs: lists
            .empty_dirs
            .into_iter()
            // A record from elsewhere may name anything, also a path out of the working tree.
            .filter(|dir| path::is_safe(dir))
            .collect(),
        absent: lists.absent.into_iter().collect(),
        access,
        foreign,
        is_pulled,
        replaced: None,
    })
}

/// The extras of what is there now.
///
/// # Errors
/// Something that has attributes cannot be looked at.
pub fn captured_extras(ctx: &Context<'_>, capture: &Capture<'_>) -> Result<Extras> {
    let lists = capture.lists();
    Ok(Extras {
        modes: lists.modes,
        defaults: capture.derived().usual_modes,
        empty_dirs: lists.empty_dirs.into_iter().collect(),
        absent: lists.absent.into_iter().collect(),
        access: capture.access(ctx)?.clone(),
        foreign: false,
        is_pulled: false,
        replaced: None,
    })
}
