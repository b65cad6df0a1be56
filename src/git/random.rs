//! Random bytes from the system.

use crate::error::{Code, Error, Result};

/// Fills a buffer with random bytes.
///
/// # Errors
/// `IO` when the system has none to give.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| Error::new(Code::Io, format!("no random bytes: {error}")))
}
