//! Whether commands are run in, or from, the directory of a scratch: then nobody takes it away from under them.
//!
//! Those that run them hold a file locked in its `timewarp` directory as long as they live, several beside each other. The one that closes
//! it holds it alone. A scratch that a run is made in has its maker, too.

use std::path::Path;
use std::time::Duration;

use super::{MAKER, PURPOSE};
use crate::error::{Code, Error, Result};
use crate::git::fs::is_there;
use crate::ops::Context;
use crate::ops::worktrees::{OPENED, OpenedDir, Worktree};
use crate::store::lock::{HeldFile, hold_file_within, share_file_within};

/// In the `timewarp` directory of a scratch.
const FILE: &str = "at-work";

/// Says that something runs in this working tree, or from it, until the answer is dropped. None where it is one that nobody closes.
///
/// # Errors
/// `BUSY` when it is being closed; the disk refuses.
pub fn begin(ctx: &Context<'_>) -> Result<Option<HeldFile>> {
    let dir = ctx.state_dir();
    if !is_there(&dir.file(OPENED))? {
        return Ok(None);
    }
    share_file_within(&dir.file(FILE), ctx.settings.lock_timeout).map(Some)
}

/// Keeps everybody from beginning anything in a scratch until the answer is dropped.
///
/// # Errors
/// `BUSY` when something runs there.
pub fn keep_out(worktree: &Worktree, opened: &OpenedDir, dir: &Path) -> Result<Vec<HeldFile>> {
    let maker = opened.extra.contains_key(PURPOSE).then_some(MAKER);
    let names = maker.into_iter().chain([FILE]);
    let hold = |name| {
        hold_file_within(&worktree.dir.file(name), Duration::ZERO).map_err(|error| {
            if error.code() != Code::Busy {
                return error;
            }
            let message = format!("a command of tw is running in '{}'", dir.display());
            Error::new(Code::Busy, message)
                .hint("wait for its end, or end it with Ctrl-C where it was started")
        })
    };
    names.map(hold).collect()
}
