//! `tw doctor`.

use super::{Call, Reply, reply};
use crate::ops;

pub fn run(call: &Call<'_>) -> Reply {
    reply(ops::doctor::doctor(&call.open()?))
}
