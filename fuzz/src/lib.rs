//! What the targets call: the same functions as the fuzzers in `tests/it`.

#![allow(clippy::unwrap_used, reason = "it may fail loudly")]

#[path = "../../tests/it/fuzz/parsers.rs"]
mod parsers;

pub use parsers::*;
