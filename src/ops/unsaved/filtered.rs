//! A large file that a filter converts (git LFS), as the present had it: its backup has git's text of it, and not its bytes.
//!
//! A file that is found later is that one where its whole stamp is the same: what the cache and git's index go by, and the look that took
//! the file for clean. Where only the time of its last change is another it probably is. A new name and other bits move that time, and so
//! does a write that puts the time of modification back. What decides then has to know the bytes. No hash of them is made when the present is
//! left, since every travel would have to read all large files for it.

use serde::{Deserialize, Serialize};

use crate::git::Oid;
use crate::git::fs::Stamp;
use crate::worktree::manifest::{FileFlags, FileRec};

/// What is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filtered {
    /// The blob that git's index has of it, in hexadecimal digits, which the backup has in the place of its bytes.
    blob: String,
    /// Inode number.
    inode: u64,
    /// Size in bytes.
    size: u64,
    /// Modification time, nanoseconds since the epoch.
    mtime: i64,
    /// Status change time, nanoseconds since the epoch; None where a later write may have left it as it was.
    #[serde(default)]
    ctime: Option<i64>,
    /// The blob with its bytes, since a swap of the stay replaced it, or took it away, and saved it.
    #[serde(default)]
    saved_as: Option<Saved>,
}

/// Bytes that a swap of the stay saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    /// The blob.
    blob: String,
    /// The id of the experiment or backup that has it.
    id: String,
    /// Whether they are the file's for certain.
    is_certain: bool,
}

/// How sure it is that bytes are those that the present had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Nothing says otherwise.
    Likely,
    /// It is proven, as far as stamps and hashes prove anything.
    Certain,
}

impl Filtered {
    /// The file of a manifest.
    pub fn of(file: &FileRec) -> Self {
        let is_racy = file.flags.has(FileFlags::RACY);
        Self {
            blob: file.oid.to_string(),
            inode: file.stamp.ino,
            size: file.stamp.size,
            mtime: file.stamp.mtime,
            ctime: (!is_racy).then_some(file.stamp.ctime),
            saved_as: None,
        }
    }

    /// The blob with its bytes, where a swap of the stay saved it.
    pub fn saved(&self) -> Option<(Oid, Certainty)> {
        let saved = self.saved_as.as_ref()?;
        let certainty = if saved.is_certain {
            Certainty::Certain
        } else {
            Certainty::Likely
        };
        Some((saved.blob.parse().ok()?, certainty))
    }

    /// The id of what has that blob.
    pub fn saved_in(&self) -> Option<&str> {
        self.saved_as.as_ref().map(|saved| saved.id.as_str())
    }

    /// Takes note of a blob with its bytes, and of what has it. Whether none was known before, or none that is as certain.
    pub fn save(&mut self, bytes: Oid, certainty: Certainty, id: &str) -> bool {
        let is_certain = certainty == Certainty::Certain;
        let known = self.saved_as.as_ref();
        let is_better = known.is_none_or(|known| is_certain && !known.is_certain);
        if is_better {
            self.saved_as = Some(Saved {
                blob: bytes.to_string(),
                id: id.to_owned(),
                is_certain,
            });
        }
        is_better
    }

    /// The blob that the backup has in its place.
    pub fn blob(&self) -> Option<Oid> {
        self.blob.parse().ok()
    }

    /// Whether the backup has this blob in its place.
    pub fn has_blob(&self, blob: Oid) -> bool {
        self.blob == blob.to_string()
    }

    /// Inode number and size, by which to look for it.
    pub fn key(&self) -> (u64, u64) {
        (self.inode, self.size)
    }

    /// How sure it is that a file with this stamp is that file, with the same bytes; None: it is another one.
    pub fn is(&self, stamp: &Stamp) -> Option<Certainty> {
        let is_likely = stamp.is_file()
            && (stamp.ino, stamp.size, stamp.mtime) == (self.inode, self.size, self.mtime);
        is_likely.then(|| {
            if self.ctime == Some(stamp.ctime) {
                Certainty::Certain
            } else {
                Certainty::Likely
            }
        })
    }
}
