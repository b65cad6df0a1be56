//! What is on disk of the loose objects, ours and git's: both are written without waiting.
//!
//! A mark in a file says how the 256 directories were when everything in them was last waited for. A new loose object changes
//! its directory's stamp, and so the wait is paid once per object and not once per backup. Packs need none: ours are synced
//! before they have a name, and git syncs its own; those of others are told by their names.

use std::fmt::Write as _;
use std::path::Path;

use rustix::fs::AtFlags;

use super::odb_dir::OdbDir;
use super::store::ObjectStore;
use super::{ObjectKind, hash, pack_writer};
use crate::env::clock_nanos;
use crate::error::Result;
use crate::git::durable::sync_file_system;
use crate::git::fs::{Durable, Stamp, read_optional, write_atomic};

/// A directory that changed so little ago may change again with the same stamp: some file systems count in two seconds.
const FRESH_NANOS: i64 = 2_000_000_000;

/// How the directories of objects are.
struct Seen {
    /// Equal as long as nothing was added.
    text: String,
    /// When the youngest was changed.
    youngest: i64,
}

impl ObjectStore {
    /// Waits until every object that exists, here and in alternates, is on disk. `mark` is the file that says for which that is
    /// known.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn wait_for_disk(&self, mark: &Path) -> Result<()> {
        let before = clock_nanos();
        let seen = self.seen()?;
        let lasts = seen.youngest.saturating_add(FRESH_NANOS) < before;
        let known = read_optional(mark)?;
        if lasts && known.is_some_and(|known| known == seen.text.as_bytes()) {
            return Ok(());
        }
        for dir in &self.dirs {
            sync_file_system(&dir.path)?;
        }
        if lasts {
            write_atomic(mark, seen.text.as_bytes(), Durable::No)?;
        }
        Ok(())
    }

    fn seen(&self) -> Result<Seen> {
        let mut all = String::new();
        let mut youngest = 0;
        for dir in &self.dirs {
            dir.describe(&mut all, &mut youngest);
        }
        let text = format!("{}\n", hash(ObjectKind::Blob, all.as_bytes())?);
        Ok(Seen { text, youngest })
    }
}

impl OdbDir {
    /// Adds the stamp of every directory of loose objects, and the names of packs that are not ours.
    fn describe(&self, all: &mut String, youngest: &mut i64) {
        for number in 0..=255u8 {
            let name = format!("{number:02x}");
            let Ok(stat) = rustix::fs::statat(&self.fd, &name, AtFlags::empty()) else {
                continue;
            };
            let stamp = Stamp::of(&stat);
            *youngest = (*youngest).max(stamp.ctime).max(stamp.mtime);
            let _ = writeln!(all, "{name} {} {} {}", stamp.ino, stamp.mtime, stamp.ctime);
        }
        for name in self.pack_names() {
            let stem = name
                .strip_prefix("pack/")
                .and_then(|name| name.strip_suffix(".pack"));
            if !stem.is_some_and(pack_writer::is_ours) {
                let _ = writeln!(all, "{name}");
            }
        }
    }
}
