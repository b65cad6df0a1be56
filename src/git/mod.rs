//! The one face of git: objects, packs, refs, the index, HEAD and operations under way, and the file primitives that
//! work no-follow. git2 is named in this layer alone.

pub mod access;
pub mod access_list;
pub mod blame;
pub mod command;
pub mod commit;
pub mod create;
pub mod depot;
pub mod durable;
pub mod fixed;
pub mod fs;
pub mod gc;
pub mod head;
pub mod hex;
pub mod history;
pub mod ids;
pub mod index;
pub mod lease;
pub mod lfs;
pub mod liveness;
pub mod mapped;
pub mod memory;
pub mod network;
pub mod notes;
pub mod objects;
pub mod oid;
pub mod operation;
pub mod own;
pub mod path;
pub mod pinned;
pub mod pipes;
pub mod private;
pub mod process;
pub mod random;
pub mod reach;
pub mod reflog;
pub mod refs;
pub mod regular;
pub mod repo;
pub mod textdiff;
pub mod textmerge;
pub mod threads;
pub mod tree;
pub mod wildmatch;

pub use oid::{ObjectFormat, Oid};
