//! The one face of git: objects, packs, refs, the index, HEAD and operations under way, and the file primitives that
//! work no-follow. git2 is named in this layer alone.

pub mod command;
pub mod fs;
pub mod operation;
pub mod index;
pub mod objects;
pub mod path;
pub mod repo;
pub mod tree;
pub mod notes;
pub mod refs;

pub use git2::Oid;
