//! A file as it is on disk. Of git directories, nested repositories and the desk none is: a snapshot could not have it either.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Root, read_link_at};
use crate::git::own::OwnDirs;
use crate::git::textdiff::LARGEST;
use crate::git::{path, regular};
use crate::ops::Context;
use crate::store::Store;
use crate::worktree::scan::{DESK, DESK_CONFIG};

/// Whether a snapshot could have a path, as far as its name and the directories that hold it say.
pub fn is_capturable(ctx: &Context<'_>, store: &Store, name: &[u8]) -> bool {
    let is_of_desk = path::is_within(name, DESK) && name != path::join(DESK, DESK_CONFIG);
    if !path::is_safe(name) || is_of_desk {
        return false;
    }
    let own = OwnDirs::of(&ctx.repo, &store.objects);
    let root = ctx.repo.worktree_root();
    let is_closed = |dir: &[u8]| {
        let dir = root.join(OsStr::from_bytes(dir));
        own.contains_path(&dir) || own.is_nested_repository(&dir)
    };
    let (dir, _) = path::split(name);
    dir.is_empty() || !path::with_parents(dir).any(is_closed)
}

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
