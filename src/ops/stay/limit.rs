//! How much new untracked data an experiment keeps.

use std::cmp::Reverse;

use crate::error::{Code, Error, Result};
use crate::git::tree;
use crate::ops::Context;
use crate::ops::gitview::read_index;
use crate::store::Store;
use crate::store::stored::Stored;
use crate::text::size;
use crate::worktree::manifest::{FileFlags, Kind, Manifest};

/// The bound, and what is no news.
pub(super) struct Limit<'a> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) bytes: u64,
    pub(super) store: &'a Store,
    pub(super) backup: &'a Stored,
    pub(super) start: Option<&'a Stored>,
}

/// A file that is about to be hashed.
struct NewFile {
    /// Its directory's place in the manifest, and its own in there.
    at: (usize, usize),
    path: Vec<u8>,
    size: u64,
}

fn total(files: &[NewFile]) -> u64 {
    files.iter().map(|file| file.size).sum()
}

impl Limit<'_> {
    /// What was left out of the manifest to keep within the bound, largest files first; `None` when all is within it.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE` when it is not, and nothing may be discarded.
    pub(super) fn apply(
        &self,
        manifest: &mut Manifest,
        discard: bool,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let mut files = to_hash(manifest);
        // Whether a file is news is looked up only where that can make a difference.
        if total(&files) <= self.bytes {
            return Ok(None);
        }
        files = self.made_in_the_past(files)?;
        // The fewest files that make room.
        files.sort_by_key(|file| Reverse(file.size));
        let mut over = total(&files);
        if over <= self.bytes {
            return Ok(None);
        }
        if !discard {
            return Err(too_much(&files, over));
        }
        let mut left_out = Vec::new();
        for file in files {
            if over <= self.bytes {
                break;
            }
            over -= file.size;
            let (dir, nth) = file.at;
            if let Some(entry) = manifest.files_mut(dir).get_mut(nth) {
                // As if it were over the size limit: neither hashed nor replaced by the swap.
                entry.kind = Kind::TooLarge;
                entry.flags = FileFlags::NONE;
                entry.git_mode = 0;
            }
            left_out.push(file.path);
        }
        left_out.sort();
        Ok(Some(left_out))
    }

    /// Those that git does not track, and that neither the present nor the snapshot that the past started from has.
    fn made_in_the_past(&self, files: Vec<NewFile>) -> Result<Vec<NewFile>> {
        let index = read_index(&self.ctx.repo, &self.store.objects)?;
        let mut made = Vec::new();
        for file in files {
            let known = index.has_path(&file.path)
                || tree::find(&self.store.objects, self.backup.tree, &file.path)?.is_some()
                || self.start.is_some_and(|start| {
                    matches!(
                        tree::find(&self.store.objects, start.tree, &file.path),
                        Ok(Some(_))
                    )
                });
            if !known {
                made.push(file);
            }
        }
        Ok(made)
    }
}

fn to_hash(manifest: &Manifest) -> Vec<NewFile> {
    let mut files = Vec::new();
    for (dir, nth, file) in manifest.files_in_memory() {
        let new = file.flags.has(FileFlags::TO_HASH)
            && !file.flags.has(FileFlags::TRACKED)
            && file.kind == Kind::File;
        if new && file.stamp.size > 0 {
            files.push(NewFile {
                at: (dir, nth),
                path: manifest.path_of(&manifest.dirs[dir], &file),
                size: file.stamp.size,
            });
        }
    }
    files
}

fn too_much(files: &[NewFile], total: u64) -> Error {
    let paths: Vec<&[u8]> = files.iter().map(|file| file.path.as_slice()).collect();
    Error::new(
        Code::WouldOverwrite,
        format!(
            "the past holds {} of new untracked files, more than experiments keep",
            size(total)
        ),
    )
    .paths("paths", &paths)
    .hint("tw return --discard (leaves them out of the experiment, and in place)")
    .hint("or raise the limit: tw config experiment_limit 10g")
}
