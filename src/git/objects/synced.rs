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
use super::{ObjectKind, pack_writer};
use crate::env::clock_nanos;
use crate::error::Result;
use crate::git::durable::sync_file_system;
use crate::git::fs::{Durable, Stamp, read_optional, write_atomic};

/// A directory that changed so little ago may change again with the same stamp: some file systems count in two seconds.
const FRESH_NANOS: i64 = 2_000_000_000;

/// How the directories of objects are.
struct Directories {
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
        if lasts && read_mark(mark)?.is_some_and(|(known, _)| known == seen.text) {
            return Ok(());
        }
        self.sync()?;
        if lasts {
            let text = format!("{} {before}\n", seen.text);
            write_atomic(mark, text.as_bytes(), Durable::No)?;
        }
        Ok(())
    }

    /// Waits for the same, and leaves what is known as it is.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&self) -> Result<()> {
        let paths = self.dirs.iter().map(|dir| &dir.path);
        paths
            .into_iter()
            .try_for_each(|path| sync_file_system(path))
    }

    /// The time, in nanoseconds since the epoch, before which everything was written that the mark says is on disk.
    ///
    /// # Errors
    /// The mark cannot be read.
    pub fn synced_until(&self, mark: &Path) -> Result<Option<i64>> {
        let known = read_mark(mark)?;
        Ok(known.map(|(_, before)| before.saturating_sub(FRESH_NANOS)))
    }

    fn seen(&self) -> Result<Directories> {
        let mut all = String::new();
        let mut youngest = 0;
        for dir in &self.dirs {
            dir.describe(&mut all, &mut youngest);
        }
        let text = self.hash(ObjectKind::Blob, all.as_bytes())?.to_string();
        Ok(Directories { text, youngest })
    }
}

/// How the directories were, and when that was looked at. One that a power cut tore says nothing.
fn read_mark(mark: &Path) -> Result<Option<(String, i64)>> {
    let bytes = read_optional(mark)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let Some((seen, before)) = text.trim_end().split_once(' ') else {
        return Ok(None);
    };
    Ok(before.parse().ok().map(|before| (seen.to_owned(), before)))
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
