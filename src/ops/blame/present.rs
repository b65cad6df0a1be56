//! A file as it is on disk.

use std::fs::File;
use std::io::Read;

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Root, read_link_at};
use crate::git::textdiff::LARGEST;
use crate::git::{path, regular};
use crate::ops::Context;

/// The bytes of a file of the working tree, of a symlink its target; None when there is no such file. No symlink is followed.
///
/// # Errors
/// When it cannot be read, or is too large to be told apart by lines.
pub fn read(ctx: &Context<'_>, name: &[u8]) -> Result<Option<Vec<u8>>> {
    let what = || format!("cannot read '{}'", path::display(name));
    let root = Root::open(ctx.repo.worktree_root())?;
    let stamp = root
        .stamp(name)
        .map_err(std::io::Error::from)
        .context(what)?;
    let Some(stamp) = stamp.filter(|stamp| stamp.is_file() || stamp.is_symlink()) else {
        return Ok(None);
    };
    if stamp.is_symlink() {
        let (dir, last) = path::split(name);
        let target = root.open_dir(dir).and_then(|dir| {
            use std::os::fd::AsFd;
            read_link_at(dir.as_fd(), last)
        });
        return target.map(Some).map_err(std::io::Error::from).context(what);
    }
    let file = root
        .open_file(name)
        .map_err(std::io::Error::from)
        .context(what)?;
    let file = regular::accept(File::from(file)).context(what)?;
    let mut bytes = Vec::new();
    let read = file
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .context(what)?;
    if read as u64 > LARGEST {
        let message = format!(
            "'{}' is too large to be told apart by lines",
            path::display(name)
        );
        return Err(Error::new(Code::Io, message));
    }
    Ok(Some(bytes))
}
