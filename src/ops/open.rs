//! Stub of the engine.

#![allow(missing_docs, clippy::wildcard_imports)]

use super::*;

pub fn open(_: &Context, _: &request::Open) -> Result<outcome::Opened> {
    missing()
}
pub fn close(_: &Context, _: &Path) -> Result<outcome::Closed> {
    missing()
}
