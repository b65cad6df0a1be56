//! The moment in the watcher's life that the cache on disk goes with.
//!
//! Written beside the cache after every look that went with a watcher. It repeats what the cache was made under, so that a look
//! after which nothing happened need not open the cache, however large that is. Checked like the cache itself: its own
//! checksum, and the number of the cache that it goes with; on any doubt it is not there.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::message::Token;
use crate::error::Result;
use crate::git::fs::{self, Durable};
use crate::worktree::cache::{Identity, Meta};
use crate::worktree::manifest::{DirFlags, Kind, Manifest};

/// The file beside the cache that keeps the moment it goes with.
pub const FILE: &str = "cache.watched";

const MAGIC: [u8; 8] = *b"twseen1\n";
/// Magic, checksum, instance, sequence, identity.
const HEADER: usize = 8 + 4 + 16 + 8 + Identity::SIZE;
const SUMMED_FROM: usize = 12;

/// Longer it is worth nothing.
const LONGEST: u64 = 1 << 20;

/// With more directories than this that no event tells of, nothing is gained.
const MOST_APART: usize = 1000;

/// What is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The moment before the look.
    pub token: Token,
    /// The cache that it goes with.
    pub cache: Identity,
    /// What else is known.
    pub about: About,
}

/// The part that the watcher does not read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The clock then, nanoseconds since the epoch.
    pub at: i64,
    /// Directories that no event tells of: each look compares them.
    pub apart: Vec<Vec<u8>>,
    /// Owner and group of the root directory.
    pub owner: (u32, u32),
    /// What the cache was made under.
    pub meta: Meta,
}

impl Seen {
    /// Reads it; `None` when there is none, or on any doubt.
    pub fn load(own: &Path) -> Option<Self> {
        let bytes = read(own)?;
        let (token, cache) = parse_header(&bytes)?;
        let sum = bytes.get(8..SUMMED_FROM)?;
        (sum == crc32fast::hash(bytes.get(SUMMED_FROM..)?).to_le_bytes()).then_some(())?;
        let about = serde_json::from_slice(bytes.get(HEADER..)?).ok()?;
        Some(Self {
            token,
            cache,
            about,
        })
    }

    /// Writes the moment beside the cache.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn save(&self, own: &Path) -> Result<()> {
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.token.instance);
        out.extend_from_slice(&self.token.sequence.to_le_bytes());
        out.extend_from_slice(&self.cache.encode());
        serde_json::to_writer(&mut out, &self.about).expect("plain data serialises");
        let sum = crc32fast::hash(out.get(SUMMED_FROM..).unwrap_or_default());
        if let Some(place) = out.get_mut(8..SUMMED_FROM) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
        // Lost in a crash, it costs one full look.
        fs::write_atomic(&own.join(FILE), &out, Durable::No)
    }
}

/// What of it the watcher needs, which loses nothing by believing it.
pub fn moment(own: &Path) -> Option<(Token, Identity)> {
    parse_header(&read(own)?)
}

fn read(own: &Path) -> Option<Vec<u8>> {
    crate::git::regular::read_within(own.join(FILE), LONGEST).ok()
}

fn parse_header(bytes: &[u8]) -> Option<(Token, Identity)> {
    let header: &[u8; HEADER] = bytes.first_chunk()?;
    (header[..8] == MAGIC).then_some(())?;
    let token = Token {
        instance: header[12..28].try_into().ok()?,
        sequence: u64::from_le_bytes(header[28..36].try_into().ok()?),
    };
    Some((token, Identity::parse(header[36..].try_into().ok()?)?))
}

/// Whether what becomes of a name depends on more than what happens to it: another repository is one by what its own directory
/// holds, and who looks, and who else holds a file, decides whether it can be read.
fn is_told_by_no_event(kind: Kind) -> bool {
    matches!(kind, Kind::Nested | Kind::StrayGit | Kind::Unreadable)
}

/// The directories of a manifest that no event tells of: those that are not on disk, and those with a name of which none does.
/// `None` when there are too many.
pub fn apart(manifest: &Manifest) -> Option<Vec<Vec<u8>>> {
    let mut apart = Vec::new();
    for dir in &manifest.dirs {
        let mut files = manifest.files_of(dir).iter();
        if dir.flags.has(DirFlags::VIRTUAL) || files.any(|file| is_told_by_no_event(file.kind)) {
            apart.push(manifest.dir_path(dir).to_vec());
            if apart.len() > MOST_APART {
                return None;
            }
        }
    }
    Some(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_not_there() {
        let own = tempfile::tempdir().expect("a directory");
        let seen = Seen {
            token: Token {
                instance: [3; 16],
                sequence: 12,
            },
            cache: Identity::parse([4; Identity::SIZE]).expect("any bytes name one"),
            about: About {
                at: 5,
                apart: vec![b"a\xff".to_vec()],
                owner: (0, 7),
                meta: Meta {
                    anchor_ref: "refs/x".into(),
                    ..Meta::default()
                },
            },
        };
        assert_eq!(Seen::load(own.path()), None);
        seen.save(own.path()).expect("saved");
        assert_eq!(Seen::load(own.path()).as_ref(), Some(&seen));
        assert_eq!(moment(own.path()), Some((seen.token, seen.cache)));
        let file = own.path().join(FILE);
        let bytes = crate::git::regular::read(&file).expect("read");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            fs::write_atomic(&file, &damaged, Durable::No).expect("written");
            assert_eq!(Seen::load(own.path()), None, "byte {at}");
            fs::write_atomic(&file, &bytes[..at], Durable::No).expect("written");
            assert_eq!(Seen::load(own.path()), None, "the first {at}");
        }
    }
}
