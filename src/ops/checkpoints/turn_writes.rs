//! What an agent's tools say that they wrote in a turn, as its conversation has it.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::resolve::{Spot, conversation_in, spot};
use crate::agents::transcript::{Detail, Message, Transcript};
use crate::agents::writes::{How, Writes};
use crate::git::repo::beneath;
use crate::ops::Context;
use crate::store::checkpoint::{Checkpoint, Kind};

/// What tools wrote in a turn.
#[derive(Debug, Default)]
pub struct TurnWrites {
    /// By the path from the root of the working tree.
    pub files: BTreeMap<Vec<u8>, Vec<How>>,
    /// Some call may have written anything: a shell does not tell.
    pub has_untold: bool,
}

impl TurnWrites {
    /// What these messages say, of a session that runs in a directory.
    pub fn of(root: &Path, cwd: Option<&str>, messages: &[Message]) -> Self {
        let base = cwd.map_or(root, Path::new);
        let mut all = Self::default();
        for tool in messages.iter().filter_map(|one| one.tool.as_ref()) {
            let writes = Writes::of(tool);
            all.has_untold |= !writes.is_all;
            for (path, how) in writes.files {
                if let Some(path) = in_worktree(root, base, &path) {
                    all.files.entry(path).or_default().push(how);
                }
            }
        }
        all
    }
}

/// What tools wrote from this checkpoint to the next prompt. None without a conversation that still holds the checkpoint.
pub fn turn_writes(ctx: &Context<'_>, checkpoint: &Checkpoint) -> Option<TurnWrites> {
    let read = conversation_in(ctx, checkpoint, Detail::Full).ok()?;
    let spot = spot(&read, checkpoint, ctx.redactor(), false).ok()?;
    // Of a prompt that the agent has not written down nobody knows what came of it.
    if checkpoint.kind == Kind::Prompt && matches!(spot, Spot::Within(_, None)) {
        return None;
    }
    let messages = read.messages.get(messages(&read, &spot))?;
    let root = ctx.repo.worktree_root();
    Some(TurnWrites::of(root, read.cwd.as_deref(), messages))
}

fn messages(transcript: &Transcript, spot: &Spot) -> std::ops::Range<usize> {
    let from = match spot {
        Spot::Before(prompt) => prompt.message,
        Spot::Within(cut, _) => cut.map_or(0, |cut| cut.messages),
    };
    from..transcript.end_of_turn(from)
}

/// The path from the root of the working tree, or from that of another one in which the session runs; None outside of it.
fn in_worktree(root: &Path, base: &Path, path: &Path) -> Option<Vec<u8>> {
    let mut plain = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let is_elsewhere = beneath(root, base).is_none() && !root.starts_with(base);
    let there = beneath(root, &plain);
    let there = there.or_else(|| plain.strip_prefix(base).ok().filter(|_| is_elsewhere));
    let path = there?.as_os_str().as_bytes();
    (!path.is_empty()).then(|| path.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_a_working_tree_count() {
        let from =
            |base: &str, path: &str| in_worktree(Path::new("/w"), Path::new(base), Path::new(path));
        let path = |word: &str| from("/w/sub", word);
        assert_eq!(path("/w/./a/../b"), Some(b"b".to_vec()));
        assert_eq!(path("c"), Some(b"sub/c".to_vec()));
        assert_eq!(path("/etc/passwd"), None);
        assert_eq!(path("../.."), None);
        assert_eq!(from("/other", "a/b"), Some(b"a/b".to_vec()));
        assert_eq!(from("/other", "/w/b"), Some(b"b".to_vec()));
        assert_eq!(from("/", "b"), None);
    }
}
