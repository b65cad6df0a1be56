//! Whose prompts they are.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::Result;
use crate::ops::Context;
use crate::ops::timeline::{Entry, EntryKind};

/// Prompts that somebody else typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Others {
    /// How many prompts.
    pub prompts: usize,
    /// Of how many sessions.
    pub sessions: usize,
}

/// Counts the prompts of sessions whose conversation belongs to another account, or lies in another home.
///
/// # Errors
/// The register of sessions cannot be read.
pub fn of_others(ctx: &Context<'_>, entries: &[Entry]) -> Result<Others> {
    let (sessions, _) = ctx.sessions().list()?;
    let foreign: BTreeSet<&str> = sessions
        .iter()
        .filter(|session| is_foreign(ctx, session.transcript.as_deref()))
        .map(|session| session.session_id.as_str())
        .collect();
    let prompts = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Prompt);
    let of_others: Vec<&str> = prompts
        .filter_map(|entry| entry.session_id.as_deref())
        .filter(|id| foreign.contains(id))
        .collect();
    Ok(Others {
        prompts: of_others.len(),
        sessions: of_others.iter().collect::<BTreeSet<_>>().len(),
    })
}

fn is_foreign(ctx: &Context<'_>, transcript: Option<&str>) -> bool {
    let Some(path) = transcript.map(Path::new) else {
        return false;
    };
    if let Ok(meta) = path.symlink_metadata() {
        return meta.uid() != rustix::process::geteuid().as_raw();
    }
    ctx.env.home().is_some_and(|home| !path.starts_with(home))
}
