//! Session files of agents that lie in the working tree: no swap cuts or removes one that an agent goes on writing to.
//!
//! An agent whose directory was set to lie in the project (`CLAUDE_CONFIG_DIR`, `CODEX_HOME`) keeps its conversations among what is
//! captured. A snapshot has them as it has any file; put back, an older state would take from the agent what was said since, and from
//! its open descriptor the file. What no agent is known to write to any more goes back like the rest.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::goal::Goal;
use crate::error::{Code, Error, Result};
use crate::git::path;
use crate::ops::Context;
use crate::store::trigger::SwapKind;
use crate::text::{listed, typed, typed_bytes, typed_path};
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::Plan;

/// In directories of these names agents keep their sessions.
const STORES: [&[u8]; 3] = [b"projects", b"sessions", b"tmp"];

/// The file that a session is kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// The session.
    pub session_id: String,
    /// Where it is.
    pub path: PathBuf,
}

impl SessionFile {
    /// Its path in a working tree; None where it lies elsewhere, or is gone.
    fn within(&self, root: &Path) -> Option<Vec<u8>> {
        // A link may lead into the tree, or out of it.
        let real = self.path.canonicalize().ok()?;
        let within = real.strip_prefix(root).ok()?;
        Some(within.as_os_str().as_bytes().to_vec())
    }

    /// Whether it lies in the working tree.
    pub fn is_in(&self, ctx: &Context<'_>) -> bool {
        self.within(ctx.repo.worktree_root()).is_some()
    }
}

/// Refuses a plan that would replace or remove the file of a session that goes on. The session that is rewound must not even be
/// captured: its fork comes beside its file, and would go with what the plan removes.
///
/// # Errors
/// `WOULD_OVERWRITE`, naming file and session.
pub(super) fn refuse_to_cut(
    ctx: &Context<'_>,
    goal: &Goal<'_>,
    manifest: &Manifest,
    plan: &Plan,
) -> Result<()> {
    if goal.operation == SwapKind::Recover || plan.entries.is_empty() && goal.rewound.is_none() {
        return Ok(());
    }
    let top = ctx.repo.worktree_root();
    let is_cut = |full: &[u8]| {
        plan.entry(full).is_some_and(|entry| {
            entry.before.map(|side| side.node) != entry.after.map(|side| side.node)
        })
    };
    let is_captured = |full: &[u8]| {
        let file = manifest.file(full);
        file.is_some_and(|file| file.kind.in_tree())
    };
    let mut cut = Vec::new();
    for file in live(ctx) {
        if let Some(full) = file.within(top).filter(|full| is_cut(full)) {
            cut.push((full, file.session_id));
        }
    }
    if let Some(file) = goal.rewound
        && let Some(full) = file.within(top)
        && (is_cut(&full) || is_captured(&full))
    {
        cut.push((full, file.session_id.clone()));
    }
    cut.sort();
    cut.dedup();
    match cut.first() {
        Some((first, session)) => Err(would_cut(ctx, goal, &cut, (first, session))),
        None => Ok(()),
    }
}

/// The files of sessions that go on. A register that cannot be read keeps nobody from going back.
fn live(ctx: &Context<'_>) -> Vec<SessionFile> {
    let now = ctx.env.now();
    let (records, _) = ctx.sessions().list_young(now).unwrap_or_default();
    let live = records.into_iter().filter(|record| record.is_live(now));
    live.filter_map(|record| {
        Some(SessionFile {
            session_id: record.session_id,
            path: PathBuf::from(record.transcript?),
        })
    })
    .collect()
}

fn would_cut(
    ctx: &Context<'_>,
    goal: &Goal<'_>,
    cut: &[(Vec<u8>, String)],
    (first, session): (&[u8], &str),
) -> Error {
    let shown = cut
        .iter()
        .map(|(full, session)| format!("'{}' (session '{session}')", path::display(full)));
    let paths: Vec<&[u8]> = cut.iter().map(|(full, _)| full.as_slice()).collect();
    let message = format!(
        "{} would put back what an agent keeps a session in: {}",
        goal.operation,
        listed(shown, 5)
    );
    let exclude = typed_path(&ctx.repo.common_dir().join("info/exclude"));
    let store = store_of(first);
    let error = Error::new(Code::WouldOverwrite, message)
        .paths("paths", &paths)
        .detail("session_id", session)
        .hint(format!(
            "this line in {exclude} keeps it out of snapshots from now on: {}",
            path::display(&ignore_line(store))
        ));
    let target = goal.aim.target().map(|stored| &stored.id);
    let error = match (&goal.operation, target) {
        (SwapKind::Rewind | SwapKind::Restore, Some(id)) => {
            let but = typed_bytes(&[b":!/", store].concat());
            error.hint(format!("or put back all but it: tw restore {id} {but}"))
        }
        (SwapKind::Travel, Some(id)) => {
            error.hint(format!("or look at it elsewhere: tw open {id} DIRECTORY"))
        }
        (SwapKind::Return, _) => {
            let there = ctx.repo.worktree_root().join(OsStr::from_bytes(first));
            error.hint(format!(
                "or keep it: tw return --keep {}",
                typed_path(&there)
            ))
        }
        _ => error,
    };
    if goal.rewound.is_some() {
        return error;
    }
    let session = typed(session);
    error.hint(format!(
        "or end the agent, and if it does not say so itself: tw session end {session}"
    ))
}

/// The directory that an agent keeps its sessions in, this one among them; the file itself where none is seen.
fn store_of(full: &[u8]) -> &[u8] {
    let (dir, _) = path::split(full);
    let is_store = |at: &&[u8]| STORES.contains(&path::split(at).1);
    let mut over: Vec<&[u8]> = path::with_parents(dir).collect();
    // The innermost: a project may have directories of these names, too.
    over.sort_by_key(|at| std::cmp::Reverse(at.len()));
    let store = over.into_iter().find(is_store).unwrap_or(dir);
    if store.is_empty() { full } else { store }
}

/// The line of an ignore file that means a path from the root on, and no other.
fn ignore_line(path: &[u8]) -> Vec<u8> {
    let mut line = b"/".to_vec();
    for byte in path {
        if b"\\*?[ ".contains(byte) {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_where_the_agent_keeps_its_sessions() {
        for (full, line) in [
            (".cc/projects/-work/s.jsonl", "/.cc/projects"),
            (
                "projects/a/.cc/projects/-w/s.jsonl",
                "/projects/a/.cc/projects",
            ),
            (".codex/sessions/2026/11/28/r.jsonl", "/.codex/sessions"),
            ("odd [dir]/s.jsonl", "/odd\\ \\[dir]"),
            ("s.jsonl", "/s.jsonl"),
        ] {
            let found = ignore_line(store_of(full.as_bytes()));
            assert_eq!(String::from_utf8_lossy(&found), line, "{full}");
        }
    }
}
