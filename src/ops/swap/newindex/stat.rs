//! The stat data of a new index: which entries git may take for clean without looking.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use super::super::recover::node_of;
use super::{IndexBuilder, is_held_for_clean};
use crate::git::Oid;
use crate::git::fs::{Stamp, nanoseconds, wait_until_past};
use crate::git::index::{Entry, Index, Stat};
use crate::git::tree::{self, Node};
use crate::ops::gitview::GitView;
use crate::store::Store;
use crate::worktree::attributes::Normalized;
use crate::worktree::manifest::FileFlags;

impl IndexBuilder<'_> {
    /// The index is written anew: what was racy against the old file, or was written by the swap, must not come out looking
    /// clean unless it is.
    pub(super) fn renew_stats(&self, index: &mut Index) {
        let mut touched = self.touched().into_iter().peekable();
        let mut stats: Vec<(usize, Stat)> = Vec::new();
        for (at, (path, entry)) in index.iter().enumerate() {
            while touched.next_if(|next| *next < path).is_some() {}
            let is_touched = touched.peek() == Some(&path);
            // git keeps no stat data for conflicts, and of a submodule compares the commit instead.
            if entry.stage != 0 || entry.mode == tree::GITLINK_MODE {
                continue;
            }
            if is_touched || self.has_to_be_renewed(entry) {
                stats.push((at, self.fresh_stat(path, entry.node())));
            }
        }
        for (at, stat) in stats {
            index.set_stat(at, stat);
        }
    }

    /// The paths whose files are not as the current index saw them, in order.
    fn touched(&self) -> BTreeSet<&[u8]> {
        let written = self.written.keys().chain(&self.removed);
        written.chain(&self.converted).copied().collect()
    }

    /// Stat data for an entry whose object is not there: what the current index says of the same, else as for any other.
    pub(super) fn stat_of_missing(&self, path: &[u8], entry: &Entry) -> Stat {
        let current = self.current.get(path, 0);
        match current.filter(|current| current.node() == entry.node()) {
            Some(current) => self.stat_of_unchanged(path, current),
            None => self.fresh_stat(path, entry.node()),
        }
    }

    /// Stat data for an entry that both indexes have alike.
    pub(super) fn stat_of_unchanged(&self, path: &[u8], entry: &Entry) -> Stat {
        if self.written.contains_key(path)
            || self.removed.contains(path)
            || self.converted.contains(path)
            || self.has_to_be_renewed(entry)
        {
            return self.fresh_stat(path, entry.node());
        }
        entry.stat
    }

    /// Whether its stat data would say other things in an index that is written now: it has none, or is racy. By whole seconds,
    /// as a git built without `USE_NSEC` compares: for such a git the stamp of a file that was changed in the second of its
    /// `git add` still matches, and only a racy entry makes it look at the bytes.
    fn has_to_be_renewed(&self, entry: &Entry) -> bool {
        entry.stat == Stat::default()
            || self
                .current
                .file
                .is_none_or(|file| entry.stat.mtime.0 >= file.mtime.0)
    }

    /// Stat data as `lstat` has it now, when the file is known to be clean; else none.
    pub(super) fn fresh_stat(&self, path: &[u8], node: Node) -> Stat {
        let on_disk = match self.written.get(path) {
            Some(written) => Some(*written),
            None if self.removed.contains(path) => None,
            None => self.finder.file(path).map(|file| Node {
                mode: file.git_mode,
                oid: file.oid,
            }),
        };
        let is_converted = self.converted.contains(path);
        match on_disk {
            // git itself compares the mode.
            Some(found) if found == node || found.is_same_file(node) => {
                let is_kept = is_kept_by_git(&self.attributes, self.store, path, node);
                if is_kept {
                    return self.stat_on_disk(path);
                }
                if is_converted || self.is_held_for_clean(path, node) {
                    let stat = self.stat_on_disk(path);
                    let second = Some(i64::from(stat.mtime.0));
                    self.by_stat_alone.set(second.max(self.by_stat_alone.get()));
                    return stat;
                }
            }
            Some(found) if is_converted && found.mode == node.mode => {
                return self.stat_on_disk(path);
            }
            None if node.mode == tree::GITLINK_MODE => return self.stat_on_disk(path),
            _ => {}
        }
        // Zeros match no file: git reads it, and decides for itself.
        Stat::default()
    }

    /// Whether git holds a file, which stays as it is, for clean by the entry that stays as well.
    fn is_held_for_clean(&self, path: &[u8], node: Node) -> bool {
        let entry = self.current.get(path, 0);
        let entry = entry.filter(|entry| entry.node() == node && !self.written.contains_key(path));
        entry
            .zip(self.finder.file(path))
            .is_some_and(|(entry, file)| {
                let seen = (self.current, &file.stamp);
                is_held_for_clean(&self.rules, &self.attributes, (path, entry), seen)
            })
    }

    /// Stat data of the file whose bytes are known; none when it is another one by now.
    fn stat_on_disk(&self, path: &[u8]) -> Stat {
        // As it was right after the swap put it there: of one that changed since git sees that, and looks for itself.
        if let Some(stamp) = self.stamps.get(path) {
            return Stat::of(stamp, self.device);
        }
        let full = self
            .ctx
            .repo
            .worktree_root()
            .join(std::ffi::OsStr::from_bytes(path));
        match full.symlink_metadata() {
            Ok(meta) if self.is_as_seen(path, &meta) => Stat::from(&meta),
            _ => Stat::default(),
        }
    }

    /// Whether the file is still the one whose bytes are known: what somebody changed since must not come out looking clean, be it under
    /// the stamp that it had. Where the stamp alone does not tell, its bytes are read again; git does the same with what is racy.
    fn is_as_seen(&self, path: &[u8], meta: &Metadata) -> bool {
        let written = self.written.contains_key(path);
        let Some(file) = self.finder.file(path).filter(|_| !written) else {
            return true;
        };
        if meta.is_dir() {
            return true;
        }
        let seen = file.stamp;
        let has_stamp = seen.mtime == nanoseconds(meta.mtime(), meta.mtime_nsec())
            && seen.ctime == nanoseconds(meta.ctime(), meta.ctime_nsec())
            && seen.ino == meta.ino()
            && seen.size == meta.size();
        has_stamp && (!file.flags.has(FileFlags::RACY) || self.holds_still(path, &seen, file.oid))
    }

    /// Whether a file has these bytes, under a stamp that every later write moves.
    fn holds_still(&self, path: &[u8], seen: &Stamp, oid: Oid) -> bool {
        wait_until_past(seen.ctime);
        wait_until_past(seen.mtime);
        let found = node_of(self.root, path, self.store.objects.format());
        matches!(found, Ok(Some((node, _))) if node.oid == oid)
    }
}

/// Whether git would add a file with the bytes of this blob as this very blob, as far as that can be told without running a
/// filter. Else status shows it as modified, and only git's own look tells.
pub(super) fn is_kept_by_git(
    attributes: &GitView<'_>,
    store: &Store,
    path: &[u8],
    node: Node,
) -> bool {
    let conversion = attributes.conversion(path);
    let Some(conversion) = conversion.filter(|_| node.mode != tree::LINK_MODE) else {
        return node.mode == tree::LINK_MODE;
    };
    if conversion.filter.is_some() || conversion.encoding {
        return false;
    }
    let is_normalized = conversion.normalized == Normalized::Always;
    if !conversion.ident && !is_normalized {
        return true;
    }
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    store.objects.read(node.oid).is_ok_and(|(_, bytes)| {
        // `ident` shortens `$Id: …$` when a file is added, and a normalized file loses its carriage returns.
        !(conversion.ident && has(&bytes, b"$Id") || is_normalized && has(&bytes, b"\r\n"))
    })
}
