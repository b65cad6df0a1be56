//! Working trees that are copies of another one and share its git directory: nothing that changes files, HEAD or index goes on there.
//!
//! The index, HEAD, state and journal are those of the other directory, whose files differ. A return in a copy would end the stay
//! in the past over there, whose files would stay behind.

use std::path::PathBuf;

use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::store::Store;
use crate::store::state::Mode;
use crate::text::typed_path;

/// Refuses to go on in a copy.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY`, naming the directory that was copied.
pub fn check(ctx: &Context<'_>, store: &Store) -> Result<()> {
    let Some(original) = original(ctx, store)? else {
        return Ok(());
    };
    let here = ctx.repo.worktree_root().display();
    let there = original.display();
    let message =
        format!("'{here}' is a copy of the worktree '{there}' and shares its git directory");
    let keep = if ctx.repo.is_linked_worktree() {
        format!("to keep this one instead: remove '{there}', then run 'git worktree repair' here")
    } else {
        format!("to keep this one instead: remove '{there}'")
    };
    Err(Error::new(Code::UnsupportedRepository, message)
        .hint(format!(
            "go on there: tw -C {} status",
            typed_path(&original)
        ))
        .hint(keep))
}

fn original(ctx: &Context<'_>, store: &Store) -> Result<Option<PathBuf>> {
    if let Some(dir) = ctx.repo.copied_from() {
        return Ok(Some(dir));
    }
    // Behind a `.git` file without a link back, a stay in the past says where it began.
    let state = store.dir.state()?;
    let root = PathBuf::from(&state.workspace_root);
    let is_past = state.mode == Mode::Past && root.is_absolute();
    Ok(Some(root).filter(|root: &PathBuf| is_past && ctx.repo.shares_git_dir_with(root)))
}
