//! Changes of files that are not ours alone: settings of agents, hooks, git's configuration.
//!
//! Promises that what somebody else wrote meanwhile stays, and that the new file is open to nobody to whom the old one was closed: it is
//! for us alone until it has all that the old one has, and gets narrower permission bits where this process may not give it that.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use super::{
    Stamp, clear_dead_temps_of, create_temp, dir_of, open_dir, rename, replace_known, temp_of,
};
use crate::env::fail_point;
use crate::error::{Result, ResultExt};
use crate::git::access::{Access, Lost, without_capabilities};
use crate::git::create;

/// Changes a file that others write as well, whole or not at all, and durably: the one that had the bytes `old`, or none, when it was
/// read. None for the new bytes: it goes. The permission bits are the most that a file gets which is not there yet, the umask takes from
/// them: of one that is there the new one gets all that says who may use it. What an earlier change left beside it whose process died goes as well.
///
/// # Errors
/// As [`replace_known`].
pub fn change_known(path: &Path, old: Option<&[u8]>, new: Option<(&[u8], u32)>) -> Result<Changed> {
    let what = || format!("cannot change '{}'", path.display());
    let temp = temp_of(path);
    let name = |path: &Path| path.file_name().unwrap_or_default().as_bytes().to_vec();
    let dir = open_dir(dir_of(path)).context(what)?;
    // One that cannot be removed is in nobody's way.
    let _ = clear_dead_temps_of(path);
    let may_go = |found: &[u8]| old == Some(found);
    let (temp_name, place) = (name(&temp), name(path));
    let mut lost = Lost::default();
    let changed = match new {
        None => rename::remove_known(dir.as_fd(), &temp_name, &place, &may_go),
        Some(new) => {
            let written = write_beside((&temp, path), &dir, new);
            lost = written
                .inspect_err(|_| drop(std::fs::remove_file(&temp)))
                .context(what)?;
            replace_known(dir.as_fd(), &temp_name, &place, &may_go)
        }
    };
    let changed = changed.context(what)?;
    dir.sync_all().context(what)?;
    Ok(if changed {
        Changed::Made(lost)
    } else {
        Changed::Refused
    })
}

/// What became of a change of a file that others write as well.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Changed {
    /// It was made. What the file lost with it of who may use it: then it has narrower permission bits.
    Made(Lost),
    /// The file has other bytes by now, or somebody is saving it, and is left as it is.
    Refused,
}

impl Changed {
    /// Whether it was made.
    pub fn is_made(&self) -> bool {
        matches!(self, Self::Made(_))
    }
}

/// Writes a file, durably, that is to replace the one at `path`, for those who may use that.
///
/// # Errors
/// There is none, or the new one cannot be written.
pub fn write_to_replace(path: &Path, fresh: &Path, bytes: &[u8]) -> Result<()> {
    let what = || format!("cannot write '{}'", fresh.display());
    let dir = open_dir(dir_of(path)).context(what)?;
    let name = path.file_name().unwrap_or_default().as_bytes();
    let (access, stat) = Access::at(dir.as_fd(), name)
        .and_then(|there| there.ok_or(Errno::NOENT))
        .context(what)?;
    write_as(fresh, (access, stat.st_mode), bytes).context(what)?;
    Ok(())
}

/// Writes the file that is to be at `path` under its temporary name.
fn write_beside(
    (temp, path): (&Path, &Path),
    dir: &File,
    (bytes, mode): (&[u8], u32),
) -> io::Result<Lost> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let replaced = Access::at(dir.as_fd(), name)?;
    if let Some((access, stat)) = replaced.filter(|(_, stat)| Stamp::of(stat).is_file()) {
        return write_as(temp, (access, stat.st_mode), bytes);
    }
    // Nobody has said who may use it but the umask, or the directory with its default ACL.
    let mut file = create_temp(temp, mode)?;
    file.write_all(bytes)?;
    fail_point("file-written");
    create::settle(&file, path)?;
    file.sync_all()?;
    Ok(Lost::default())
}

/// Writes the file that replaces one of this access and mode. It is for us alone until it has its owner and group, and for nobody else until
/// it is whole. What makes a program more than its content is goes, as with every other write.
fn write_as(temp: &Path, (mut access, mode): (Access, u32), bytes: &[u8]) -> io::Result<Lost> {
    without_capabilities(&mut access);
    let mut file = create_temp(temp, 0o600)?;
    let mut lost = access.give_owner(&file)?;
    file.write_all(bytes)?;
    fail_point("file-written");
    access.give_rest(&file, mode & 0o777, &mut lost)?;
    file.sync_all()?;
    Ok(lost)
}
