//! One file of a scratch in another version.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::present::make_dirs;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::Root;
use crate::git::path;
use crate::git::tree::{LINK_MODE, Node};
use crate::ops::Context;

/// Makes a path below `root` what `node` is, with these permission bits or those that the umask leaves, or takes it away.
///
/// # Errors
/// The disk refuses, there is a directory in its place, or the node is a directory or a submodule.
pub fn put(
    there: &Context<'_>,
    root: &Root,
    full: &[u8],
    node: Option<(Node, Option<u32>)>,
) -> Result<()> {
    let what = || format!("cannot write '{}'", path::display(full));
    let (dir, name) = path::split(full);
    let name = OsStr::from_bytes(name);
    let dir = make_dirs(root, dir, None).context(what)?;
    match rustix::fs::unlinkat(&dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno).context(what),
    }
    let Some((node, bits)) = node else {
        return Ok(());
    };
    let objects = &there.store()?.objects;
    let mode = match node.mode {
        LINK_MODE => {
            let target = objects.read(node.oid)?.1;
            return rustix::fs::symlinkat(OsStr::from_bytes(&target), dir.as_fd(), name)
                .context(what);
        }
        0o100_644 => 0o666,
        0o100_755 => 0o777,
        _ => {
            let message = format!("'{}' is not a file", path::display(full));
            return Err(Error::new(Code::Usage, message));
        }
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Never wider than wanted, not even for a moment.
    let mode = mode & bits.unwrap_or(mode) | 0o200;
    let file = rustix::fs::openat(&dir, name, flags, Mode::from_bits_truncate(mode));
    let mut file = File::from(file.context(what)?);
    objects.copy_blob(node.oid, &mut file)?;
    if let Some(bits) = bits {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(bits)).context(what)?;
    }
    Ok(())
}

/// Removes the directories over a path in which nothing is, up to the first for which `stays` holds.
pub fn remove_empty_over(
    root: &Root,
    full: &[u8],
    stays: &dyn Fn(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut at = path::split(full).0;
    while !at.is_empty() && !stays(at)? {
        let (above, name) = path::split(at);
        let gone = root.open_dir(above).and_then(|dir| {
            rustix::fs::unlinkat(&dir, OsStr::from_bytes(name), AtFlags::REMOVEDIR)
        });
        if gone.is_err() {
            // Something is in it.
            break;
        }
        at = above;
    }
    Ok(())
}
