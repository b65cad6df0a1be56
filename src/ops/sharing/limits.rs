//! Why a record does not go that nobody could read, or that is too large, and what can be done about it. Pure.

use super::fields::Kind;
use super::record::Shared;
use super::tree::{LARGEST_RECORD, LARGEST_SENT};

/// Why nobody could read a record, not even here.
pub fn unreadable(kind: Kind, id: &str, bytes: &[u8]) -> Option<String> {
    if size(bytes) > LARGEST_RECORD {
        return too_large_to_send(bytes);
    }
    let read = Shared::decode(kind, id, bytes);
    read.err().map(|why| why.to_string())
}

/// Why a record does not go, which can be read here.
pub fn too_large_to_send(bytes: &[u8]) -> Option<String> {
    let size = size(bytes);
    (size > LARGEST_SENT).then(|| format!("it has {size} bytes, and at most {LARGEST_SENT} go"))
}

/// Why a conversation is not even read that takes so many bytes here. None that came from others takes as many, and one of ours goes in more
/// than it takes here, unless most of it is a secret.
pub fn too_large_to_read(size: u64) -> Option<String> {
    let why = || format!("it has {size} bytes here, and at most {LARGEST_SENT} go");
    (size > LARGEST_RECORD).then(why)
}

/// What makes a record that is too large small enough.
pub fn way_out(kind: Kind, id: &str) -> String {
    match kind {
        Kind::Issue => format!("; 'tw issue edit {id}' makes its texts shorter"),
        Kind::Chat => {
            "; 'tw share init REMOTE --prompts none' leaves all conversations here".to_owned()
        }
        Kind::Session | Kind::Experiment => String::new(),
    }
}

fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
