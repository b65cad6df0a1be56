//! Stub of the engine.

#![allow(missing_docs, clippy::wildcard_imports)]

use super::*;

pub fn doctor(_: &Context) -> Result<outcome::Checkup> {
    missing()
}
