//! What `tw` keeps: refs, records, state. The one door to `refs/timewarp/*`.

pub mod lock;
pub mod snapshot;
pub mod state;
