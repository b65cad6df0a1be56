//! What `tw` keeps in a repository: refs, records, state. The one door to `refs/timewarp/*`.

pub mod address;
pub mod id;
pub mod lock;
pub mod names;
pub mod snapshot;
pub mod state;
