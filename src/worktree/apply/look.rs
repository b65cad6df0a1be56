//! The last look at what a swap moved out, before it is let go.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use super::Expected;
use crate::error::Result;
use crate::git::fs::{Stamp, has_writer, open_at, read_link_at, stamp_at, stamp_of};
use crate::git::objects::{is_blob, reads_blob};

/// What a look at a name found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameState {
    /// What the backup has there.
    AsBackedUp,
    /// The same, which another program has open for writing.
    WithWriter,
    /// Nothing, or something else.
    Other,
}

/// Whether what stands at a name is what the backup has there: by its bytes, whatever its stamp says. `buffer` is room to read in.
pub(super) fn look_at(
    expected: Expected,
    (dir, name): (BorrowedFd<'_>, &[u8]),
    buffer: &mut Vec<u8>,
) -> Result<NameState> {
    let Expected::Known { mode, size, oid } = expected else {
        return Ok(NameState::Other);
    };
    let is_as_seen = |found: &Stamp| (found.mode, found.size) == (mode, size);
    if mode & 0o170_000 == 0o120_000 {
        let found = stamp_at(dir, name)?;
        let is_it = found.is_some_and(|found| is_as_seen(&found))
            && is_blob(oid, &read_link_at(dir, name)?);
        return Ok(if is_it {
            NameState::AsBackedUp
        } else {
            NameState::Other
        });
    }
    // Opened before it is looked at, which spares a call for each of thousands. What cannot be opened is another thing than the
    // file that the backup saw, and whoever is to secure it meets the same error.
    let Ok(fd) = open_at(dir, name) else {
        return Ok(NameState::Other);
    };
    let mut file = File::from(fd);
    Ok(
        if !is_as_seen(&stamp_of(file.as_fd())?) || !reads_blob(oid, size, &mut file, buffer)? {
            NameState::Other
        } else if has_writer(&file) {
            NameState::WithWriter
        } else {
            NameState::AsBackedUp
        },
    )
}
