//! Where the agent's file ends, for a checkpoint that is made now.
//!
//! Never an error: a checkpoint without a conversation still has its snapshot. For a hook the file is read on from where the
//! last hook left it, for a few milliseconds; what was not found in that time stays open and is found at the rewind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Subject;
use crate::agents::places::Places;
use crate::agents::prefix::Prefix;
use crate::agents::transcript::Detail;
use crate::agents::{self, by_name};
use crate::git::fs::{self, Durable};
use crate::ops::Context;
use crate::ops::sessions::Asked;
use crate::store::Store;
use crate::store::checkpoint::{Counts, PREFIXES, Place};
use crate::store::names::session_component;

/// A hook reads this long in a file that it does not know yet.
const HOOK_READS: Duration = Duration::from_millis(6);

/// A hook counts tokens in files up to this size.
const SMALL: u64 = 256 << 10;

/// Where the conversation stands.
#[derive(Default)]
pub struct Marked {
    /// The place in its file.
    pub place: Place,
    /// Token counts there.
    pub tokens: Counts,
}

/// Looks where the session's file ends.
pub fn mark(ctx: &Context<'_>, store: &Store, session: &Subject, asked: Asked) -> Marked {
    let Some(path) = file_of(ctx, session) else {
        return Marked::default();
    };
    let mut marked = Marked {
        place: Place {
            path: Some(path.to_string_lossy().into_owned()),
            ..Place::default()
        },
        ..Marked::default()
    };
    // The file may not exist before its first record.
    let Ok(mut file) = crate::git::regular::open(&path) else {
        return marked;
    };
    let Ok(meta) = file.metadata() else {
        return marked;
    };
    if !meta.is_file() {
        return marked;
    }
    let size = meta.len();
    marked.place.offset = size;
    // A file that is written anew each time has no beginning that stays.
    if !agents::is_rewritten(&path) {
        let begun = Instant::now();
        let in_time = || asked == Asked::ByCommand || begun.elapsed() < HOOK_READS;
        if let Some(prefix) = read_prefix(store, session, &mut file, size, in_time) {
            marked.place.line = Some(prefix.line());
            marked.place.sha256_of_prefix = Some(prefix.sha256());
        }
    }
    if (asked == Asked::ByCommand || size <= SMALL)
        && let Ok(transcript) = agents::read(&path, Detail::Outline)
    {
        marked.tokens = Counts {
            context: transcript.tokens.context,
            total: transcript.tokens.total,
        };
    }
    marked
}

/// The session's file: as told, else where its agent keeps it.
fn file_of(ctx: &Context<'_>, session: &Subject) -> Option<PathBuf> {
    if let Some(path) = &session.transcript {
        return Some(agents::session_file(&ctx.cwd.join(path)));
    }
    let agent = by_name(session.agent.as_deref()?)?;
    let root = ctx.repo.worktree_root();
    agent.locate(&session.id, Some(root), &Places::from(ctx.env))
}

/// The file's beginning up to `size`, read on from where the last look ended; None when there was not time enough.
fn read_prefix(
    store: &Store,
    session: &Subject,
    file: &mut File,
    size: u64,
    in_time: impl Fn() -> bool,
) -> Option<Prefix> {
    let dir = store.dir.file(PREFIXES);
    let kept = dir.join(format!("{}.json", session_component(&session.id)));
    let mut prefix = known(&kept, file, size).or_else(|| Prefix::new(file).ok())?;
    let before = prefix.bytes();
    let whole = prefix.read_on(file, size, in_time).ok()?;
    if prefix.bytes() > before {
        // A cache: when it cannot be written, the next look begins anew.
        let text = serde_json::to_vec(&prefix).unwrap_or_default();
        let _ = crate::git::create::private_dir(&dir)
            .and_then(|()| fs::write_atomic(&kept, &text, Durable::No));
    }
    whole.then_some(prefix)
}

fn known(kept: &Path, file: &mut File, size: u64) -> Option<Prefix> {
    let text = fs::read_optional(kept).ok()??;
    let prefix: Prefix = serde_json::from_slice(&text).ok()?;
    (prefix.bytes() <= size && prefix.fits(file)).then_some(prefix)
}
