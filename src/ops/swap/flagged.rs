//! What the file system lets nobody change, not even root: bits and owners do not explain why it refuses.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::error::Error;
use crate::git::access::is_fixed;
use crate::git::fs::Root;
use crate::git::path;
use crate::text::typed_path;

/// Adds to the error of a swap that was refused something the command that lets these paths be changed: of those that are immutable or
/// append-only (`chattr(1)`), or in a directory that is.
pub(super) fn name_the_way(error: Error, root: &Root, paths: &[Vec<u8>]) -> Error {
    if !error.is_refusal() {
        return error;
    }
    let dirs = paths.iter().map(|full| path::split(full).0);
    let all: BTreeSet<&[u8]> = paths.iter().map(Vec::as_slice).chain(dirs).collect();
    let words: Vec<String> = all
        .into_iter()
        .filter(|full| is_flagged(root, full))
        .map(|full| typed_path(&root.path().join(OsStr::from_bytes(full))))
        .collect();
    if words.is_empty() {
        return error;
    }
    error.hint(format!(
        "the file system lets nobody change them; as root: chattr -i -a -- {}",
        words.join(" ")
    ))
}

fn is_flagged(root: &Root, full: &[u8]) -> bool {
    root.open_file(full).is_ok_and(is_fixed)
}
