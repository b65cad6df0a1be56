//! The files that an agent's tools named in a turn, as its conversation has them.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::may_write;
use super::resolve::{Spot, conversation_in, spot};
use crate::agents::transcript::{Detail, Transcript};
use crate::git::repo::beneath;
use crate::ops::Context;
use crate::store::checkpoint::Checkpoint;

/// What tools call the file that they write.
const NAMES: [&str; 8] = [
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "filename",
    "relative_path",
];

/// How a patch begins the lines that name its files.
const IN_PATCHES: [&str; 4] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// The paths that tools which may write were given from this checkpoint to the next prompt. What a shell did is not told by its
/// command. None without a conversation that still holds the checkpoint.
pub fn named_paths(ctx: &Context<'_>, checkpoint: &Checkpoint) -> Option<BTreeSet<Vec<u8>>> {
    let read = conversation_in(ctx, checkpoint, Detail::Full).ok()?;
    let spot = spot(&read, checkpoint, ctx.redactor(), false).ok()?;
    let root = ctx.repo.worktree_root();
    let base = read.cwd.as_deref().map_or(root, Path::new);
    let mut found = BTreeSet::new();
    for message in messages(&read, &spot) {
        let Some(tool) = read.messages.get(message).and_then(|one| one.tool.as_ref()) else {
            continue;
        };
        if !tool.error && may_write(&tool.name) {
            collect(&tool.input, &mut |word| {
                found.extend(in_worktree(root, base, word));
            });
        }
    }
    Some(found)
}

fn messages(transcript: &Transcript, spot: &Spot) -> std::ops::Range<usize> {
    let from = match spot {
        Spot::Before(prompt) => prompt.message,
        Spot::Within(cut, _) => cut.map_or(0, |cut| cut.messages),
    };
    let later = transcript.prompts.iter().map(|prompt| prompt.message);
    let to = later.filter(|message| *message > from).min();
    from..to.unwrap_or(transcript.messages.len())
}

fn collect(input: &Value, found: &mut dyn FnMut(&str)) {
    match input {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(word) if NAMES.contains(&name.as_str()) => found(word),
                    other => collect(other, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::String(text) => {
            for line in text.lines() {
                let names = IN_PATCHES.iter();
                for word in names.filter_map(|name| line.trim_start().strip_prefix(name)) {
                    found(word.trim_end());
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The path from the root of the working tree; None outside of it.
fn in_worktree(root: &Path, base: &Path, word: &str) -> Option<Vec<u8>> {
    let mut plain = PathBuf::new();
    for part in base.join(word).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let path = beneath(root, &plain)?.as_os_str().as_bytes();
    (!path.is_empty()).then(|| path.to_vec())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(input: &Value) -> Vec<String> {
        let mut found = Vec::new();
        collect(input, &mut |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn the_files_of_tools_and_of_patches_are_found() {
        let edits = json!({"edits": [{"file_path": "/w/a", "old_string": "path"}], "n": 1});
        assert_eq!(words(&edits), ["/w/a"]);
        let patch = "*** Begin Patch\n*** Update File: src/a b.rs\n@@\n-x\n*** Move to: c\n";
        let command = json!({"command": ["apply_patch", patch]});
        assert_eq!(words(&command), ["src/a b.rs", "c"]);
    }

    #[test]
    fn only_paths_of_the_working_tree_count() {
        let path = |word: &str| in_worktree(Path::new("/w"), Path::new("/w/sub"), word);
        assert_eq!(path("/w/./a/../b"), Some(b"b".to_vec()));
        assert_eq!(path("c"), Some(b"sub/c".to_vec()));
        assert_eq!(path("/etc/passwd"), None);
        assert_eq!(path("../.."), None);
    }
}
