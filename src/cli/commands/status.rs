//! `tw status`, and `tw` alone.

use super::{Call, Reply, reply};
use crate::ops;

pub fn run(call: &Call<'_>) -> Reply {
    reply(ops::status::status(&call.open()?))
}
