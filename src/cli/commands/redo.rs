//! `tw redo`.

use super::{Call, Reply, swapped};
use crate::ops;

pub fn run(call: &Call<'_>) -> Reply {
    swapped(call, ops::undo::redo)
}
