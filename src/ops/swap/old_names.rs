//! What a return had renamed, to be out of its way, under its name of the past again: once that is there, after the undo of the return or
//! where a return came to nothing. Both are noted (`ops::unsaved`).

use crate::env::fail_point;
use crate::error::Result;
use crate::git::durable::sync_file_system;
use crate::git::fs::Root;
use crate::git::path;
use crate::ops::Context;
use crate::ops::unsaved::{
    MOVED_ASIDE, NameOf, OLD_NAMES, Renamed, Unsaved, give_all, noted_pairs,
};
use crate::store::Store;
use crate::store::state::{Journal, Mode, State};

/// After the commit point of a swap whose journal says that its past has such names. The swap is done, whatever becomes of them: what
/// keeps the other name is said. Can be run again.
pub(super) fn give(ctx: &Context<'_>, store: &Store, journal: &Journal) -> Vec<String> {
    give_noted(ctx, store, journal, (OLD_NAMES, &journal.state_after))
}

/// After a return that was undone along its journal.
pub(super) fn give_back(ctx: &Context<'_>, store: &Store, journal: &Journal) -> Vec<String> {
    give_noted(ctx, store, journal, (MOVED_ASIDE, &journal.state_before))
}

/// In a past without a journal: a return died after it had given the present's names, and before it wrote anything.
///
/// # Errors
/// State and note cannot be read.
pub(super) fn give_after_death(ctx: &Context<'_>, store: &Store) -> Result<Vec<String>> {
    if store.dir.has_journal() || store.dir.state()?.mode == Mode::Present {
        return Ok(Vec::new());
    }
    let root = Root::open(ctx.repo.worktree_root())?;
    let all = Unsaved::of_stay(&store.dir)?.renamed;
    let is_home = |one: &&Renamed| one.has_name(&root, NameOf::Present);
    let home: Vec<&Renamed> = all.iter().filter(is_home).collect();
    // The next return takes home all the same what keeps that name.
    let kept = give_all(&root, &all, NameOf::Past);
    let said = home.into_iter().map(|one| {
        if kept.iter().any(|(kept, _)| *kept == one) {
            return still_called(&one.past, &one.present);
        }
        format!(
            "'{}' has its name of the past again, which a return that died had taken",
            path::display(&one.past)
        )
    });
    Ok(said.collect())
}

fn give_noted(
    ctx: &Context<'_>,
    store: &Store,
    journal: &Journal,
    (field, past): (&str, &State),
) -> Vec<String> {
    let pairs = noted_pairs(field, journal);
    let (Mode::Past, Some(backup), false) = (past.mode, &past.backup_id, pairs.is_empty()) else {
        return Vec::new();
    };
    let done = || -> Result<Vec<String>> {
        let root = Root::open(ctx.repo.worktree_root())?;
        let mut unsaved = Unsaved::of_backup(&store.dir, backup)?;
        let renamed = unsaved.renamed.clone();
        let kept = give_all(&root, &renamed, NameOf::Past);
        let said = kept.iter();
        let said = said.map(|(one, _)| still_called(&one.past, &one.present));
        if !kept.is_empty() {
            // The same name in both times: no way home changes it.
            let is_kept = |one: &Renamed| kept.iter().any(|(kept, _)| *kept == one);
            unsaved.renamed.retain(|one| !is_kept(one));
            unsaved.note(&store.dir, backup)?;
        }
        Ok(said.collect())
    };
    let mut said = done().unwrap_or_else(|error| {
        let kept = pairs.iter();
        let kept = kept.map(|(past, present)| format!("{}: {error}", still_called(past, present)));
        kept.collect()
    });
    fail_point("old-names-given");
    // Nothing else tells of it when the journal is gone.
    said.extend(
        sync_file_system(ctx.repo.worktree_root())
            .err()
            .map(|error| error.to_string()),
    );
    said
}

fn still_called(past: &[u8], present: &[u8]) -> String {
    format!(
        "'{}' is still called '{}', as the return had named it",
        path::display(past),
        path::display(present)
    )
}
