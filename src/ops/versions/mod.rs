//! Which contents each path has had in all the states of a working tree that are kept, and whose turn brought them.
//!
//! Owns the order of states ([`States`]), the walk through their trees (`walk`) and the turns between them ([`Turns`]), in a member of a
//! workspace those of its head, too (`of_head`).
//! Promises: a subtree that two states in a row share is not looked into; what cannot be read is told of and hides nothing else;
//! nothing is written. Leaves out the contents themselves, which `search` reads.

mod among;
mod claim;
mod of_head;
mod staged;
mod states;
mod turns;
mod walk;

pub use among::Files;
pub use claim::{Claim, prevailing};
pub use staged::{staged, staged_in};
pub use states::{Chain, ChainPlace, Scope, State, States};
pub use turns::{Beside, Forgotten, Owners, Talks, Turn, Turns};
pub use walk::{Among, PathVersions, Unreadable, Version, Walked, walk};
