//! `tw undo`.

use super::{Call, Reply, reply};
use crate::ops;

pub fn run(call: &Call<'_>) -> Reply {
    reply(ops::undo::undo(&call.open()?))
}
