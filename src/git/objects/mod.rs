//! Git objects: hashing, lookup, proven reads, and writes as loose files or as one kept pack.
//!
//! Owns the bytes under `objects/`: the ids of what is written, the order in which a pack appears (its `.keep` first, then
//! pack, then idx), and the proof on every read that bytes hash to their name. Promises never to start a process, never to
//! touch the network, and to leave no named litter but what git's own prune clears (`tmp_*`).
//!
//! Left out on purpose: refs (the caller looks its objects up once more when the ref is in place), and delta compression (git's gc
//! does that).

mod deflate;
mod delta;
mod entry;
mod fold;
mod hash;
mod idx;
mod inflate;
mod keep;
mod lent;
mod loose;
mod midx;
mod new;
mod odb_dir;
mod pack_writer;
mod packed;
mod part;
mod read;
mod reclaim;
mod remembered;
mod same;
mod store;
mod stream;
mod synced;
mod taken;
mod temp;
mod torn;
mod writer;

#[cfg(test)]
mod tests;

pub(in crate::git) use hash::PlainHash;
pub use hash::{Hasher, hash, is_collision, is_empty_blob};
pub use keep::KeptPack;
pub use new::{NewObjects, Storage, Unheld};
pub use packed::Packed;
pub use part::PartOfId;
pub(in crate::git) use read::missing;
pub use reclaim::{Reclaimed, Thoroughness};
pub use same::{is_blob, is_tree, reads_blob};
pub use store::ObjectStore;
pub use taken::TakenObjects;
pub use writer::{ObjectWriter, PutError, WriteMode, Written};

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A tree.
    Tree,
    /// A file's bytes or a symlink's target.
    Blob,
    /// An annotated tag.
    Tag,
}

impl ObjectKind {
    /// The word git uses in object headers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag]
            .into_iter()
            .find(|kind| kind.name().as_bytes() == name)
    }
}

/// `blob 42` and a NUL: what is hashed, and stored in loose objects, before the bytes.
fn header(kind: ObjectKind, size: u64) -> Vec<u8> {
    format!("{} {size}\0", kind.name()).into_bytes()
}
