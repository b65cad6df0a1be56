//! Work that no command waits for: proving ids by content, asking the tools around for their versions, keeping many refs and packs
//! few, waiting until what a swap wrote is on disk, and with it all snapshots, and deleting what it replaced where that takes long.
//!
//! A snapshot of a large fresh clone takes ids from git's index, and tool versions out of a cache. When there are ids to prove,
//! the cache lacks a version, many records were made since `ops::upkeep` ran, or a swap has just ended, `tw` starts itself once
//! more, detached, to do all of it; the next snapshot has it. `TW_NO_BACKGROUND` turns that off.

use std::ffi::OsString;

use crate::env::Env;
use crate::ops::capture::seeds;
use crate::ops::{Context, fingerprint, upkeep, workspaces};
use crate::progress::Silent;
use crate::runner::program::detached;

/// The word by which `tw` asks itself; no command of its users.
const WORD: &str = "__background";

/// Starts it when there is something to do, here and in the members of a workspace. Nothing depends on its success.
pub fn start_when_due(context: &Context<'_>) {
    if context.env.is_on("TW_NO_BACKGROUND") {
        return;
    }
    start(context);
    let partners = workspaces::partners(context).unwrap_or_default();
    for member in partners.iter().flat_map(|one| one.open(context)) {
        start(&member);
    }
}

fn start(context: &Context<'_>) {
    let is_due =
        seeds::is_due(context) || fingerprint::is_stale(context) || upkeep::is_due(context);
    if !is_due {
        return;
    }
    if let Ok(mut command) = detached(context.repo.worktree_root()) {
        // What is not done now is done later.
        let _ = command.arg(WORD).spawn();
    }
}

/// Does the work when this process was started for it.
pub fn answer(words: &[OsString], env: &Env) -> Option<u8> {
    if words.get(1).is_none_or(|word| word != WORD) {
        return None;
    }
    let done = std::env::current_dir()
        .map_err(Into::into)
        .and_then(|start| Context::open(&start, env, &Silent))
        .and_then(|context| {
            // Each is done whatever became of the one before; what they answer is only joined at the end.
            let settled = upkeep::settle(&context).and(upkeep::wait(&context));
            let cleared = upkeep::clear(&context);
            let proven = seeds::prove(&context);
            let refreshed = fingerprint::refresh(&context);
            let kept = upkeep::run(&context).and(refreshed);
            kept.and(proven).and(settled).and(cleared)
        });
    Some(u8::from(done.is_err()))
}
