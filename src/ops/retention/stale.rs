//! Files that a worktree keeps for single sessions: how far a conversation was read, and forks that wait to be imported.
//!
//! They go with their session: when it is not live, and its last sign of life is as long ago as a session holds its
//! checkpoints. Of a session that is not in the register, the file's own age counts.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use crate::env::Moment;
use crate::error::Result;
use crate::git::fs::remove_optional;
use crate::ops::Context;
use crate::ops::exports;
use crate::ops::holders::{LIVE_SECONDS, RetentionScope};
use crate::store::Store;
use crate::store::checkpoint::PREFIXES;

/// What is to go.
#[derive(Default)]
pub struct Stale {
    files: Vec<PathBuf>,
    /// How many of them are conversations.
    pub conversations: usize,
}

/// Finds what is to go. A record that cannot be read is none.
pub fn find(ctx: &Context<'_>, store: &Store, reach: RetentionScope) -> Stale {
    let sessions = ctx.sessions();
    // Those alone that a file is kept for: the register may be long.
    let last = |name: &str| {
        let record = sessions.named(name).ok().flatten()?;
        Some(Moment::parse_rfc3339(&record.last_active_at))
    };
    let kept = (i64::from(reach.keep_days) * super::DAY).max(LIVE_SECONDS);
    let oldest = reach.now.minus_seconds(kept).seconds();
    let mut stale = Stale::default();
    for dir in [exports::DIR, PREFIXES] {
        let entries = std::fs::read_dir(store.dir.file(dir));
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let known = name.strip_suffix(".json").and_then(last);
            let at = match known {
                // A time that cannot be read is now.
                Some(at) => at.map(Moment::seconds),
                None => modified(&entry),
            };
            if at.is_some_and(|at| at < oldest) {
                stale.conversations += usize::from(dir == exports::DIR);
                stale.files.push(entry.path());
            }
        }
    }
    stale
}

fn modified(entry: &std::fs::DirEntry) -> Option<i64> {
    let modified = entry.metadata().ok()?.modified().ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

impl Stale {
    /// Removes it, and what killed processes left.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self, store: &Store) -> Result<()> {
        exports::clear_dead(&store.dir.file(exports::DIR));
        self.files.iter().try_for_each(|path| remove_optional(path))
    }
}
