//! Which session a word names, and the sub-agents beneath one.

use super::caller_or_ended;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::store::session::{SessionRecord, Sessions};

/// Fewer characters name no session.
pub const SHORTEST_PART: usize = 4;

/// The record that a word names: an id or the start of one; None: the caller's, or the last one, also when it has ended.
pub fn find(ctx: &Context<'_>, sessions: &Sessions, word: Option<&str>) -> Result<SessionRecord> {
    let word = word.map_or_else(|| last_here(ctx), |word| Ok(word.to_owned()))?;
    if let Some(record) = sessions.get(&word)? {
        return Ok(record);
    }
    let (mut records, _) = sessions.list()?;
    records.retain(|record| word.len() >= SHORTEST_PART && record.session_id.starts_with(&word));
    if records.len() > 1 {
        let ids = records.into_iter().map(|record| record.session_id);
        return Err(ambiguous(&word, ids.collect()));
    }
    records.pop().ok_or_else(|| {
        not_found(&word).hint("'tw session list --all-worktrees' shows what there is; what others shared of theirs can only be listed")
    })
}

/// The error for a word that names several sessions: these.
pub fn ambiguous(word: &str, ids: Vec<String>) -> Error {
    let message = format!("'{word}' names {} sessions", ids.len());
    Error::new(Code::AmbiguousAddress, message)
        .hint("give more of the id; 'tw session list' shows the ids")
        .detail("candidates", ids)
}

/// The error for a word that names no session.
pub fn not_found(word: &str) -> Error {
    Error::new(Code::SessionNotFound, format!("no session '{word}'"))
}

fn last_here(ctx: &Context<'_>) -> Result<String> {
    caller_or_ended(ctx, ctx.store()?)?.ok_or_else(|| {
        Error::new(Code::SessionNotFound, "no session was started here")
            .hint("'tw session start' starts one")
    })
}

/// The sub-agents beneath a session, however deep.
pub fn children(sessions: &Sessions, root: &str) -> Result<Vec<SessionRecord>> {
    let (records, _) = sessions.list()?;
    let mut found: Vec<SessionRecord> = Vec::new();
    let mut wanted = vec![root.to_owned()];
    while let Some(parent) = wanted.pop() {
        for record in &records {
            // Records are files that anybody may write: parents may go round in a circle.
            let is_new = record.session_id != root && !found.contains(record);
            if record.parent.as_deref() == Some(&parent) && is_new {
                wanted.push(record.session_id.clone());
                found.push(record.clone());
            }
        }
    }
    Ok(found)
}
