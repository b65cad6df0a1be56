//! The files of an operation, by descriptors: nothing here follows a symlink.
//!
//! A file is written under a fixed name in `timewarp/`, synced and renamed in; so a crash leaves the old file or the new
//! one, and at most one leftover that the next run writes over.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;

use super::names::DIRS;
use super::tables;
use super::{MAX_FILE, OperationFile, OperationState, is_known_name};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{create_at, open_at};
use crate::git::refs::RefFormat;
use crate::git::repo::SharedRepository;

const OWN_DIR: &str = "timewarp";
const TEMPORARY: &str = "operation.tmp";

/// Opens the git directory itself, by its resolved path.
pub(super) fn open(git_dir: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(git_dir, flags, Mode::empty())
        .context(|| format!("open '{}'", git_dir.display()))
}

/// A directory in `dir`; `None` when there is none of that name, or it is not a directory.
pub(super) fn open_dir(dir: &OwnedFd, name: &str) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error).context(|| format!("open '{name}'")),
    }
}

/// A directory in `dir`, made when missing.
pub(super) fn make_dir(dir: &OwnedFd, name: &str, sharing: SharedRepository) -> Result<OwnedFd> {
    match rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
        Err(Errno::EXIST) => {}
        Ok(()) => {
            let made = open_dir(dir, name)?.ok_or_else(|| in_the_way(name))?;
            create::settle_in(&made, dir, sharing).context(|| format!("make '{name}'"))?;
            return Ok(made);
        }
        Err(error) => return Err(error).context(|| format!("make '{name}'")),
    }
    open_dir(dir, name)?.ok_or_else(|| in_the_way(name))
}

/// The names in a directory, UTF-8 ones; no name of ours is anything else.
pub(super) fn list(dir: &OwnedFd) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut buffer = Vec::with_capacity(8192);
    // From the start, though `dir` may have been listed before.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fresh = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
    let mut entries = RawDir::new(&fresh, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        match entry?.file_name().to_str() {
            Ok("." | "..") | Err(_) => {}
            Ok(name) => names.push(name.to_owned()),
        }
    }
    Ok(names)
}

/// What stands at `name`, itself.
pub(super) fn stat(dir: &OwnedFd, name: &str) -> Result<Option<Stat>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error).context(|| format!("look at '{name}'")),
    }
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// What a name holds.
pub(super) enum Entry {
    Missing,
    Regular(Vec<u8>, u32),
    Other,
}

/// Reads a regular file, no-follow.
pub(super) fn read_entry(dir: &OwnedFd, name: &str) -> Result<Entry> {
    let file = match stat(dir, name)? {
        None => return Ok(Entry::Missing),
        Some(stat) if !is_regular(&stat) => return Ok(Entry::Other),
        Some(_) => match open_at(dir.as_fd(), name.as_bytes()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(Entry::Missing),
            Err(Errno::LOOP) => return Ok(Entry::Other),
            Err(error) => return Err(error).context(|| format!("open '{name}'")),
        },
    };
    let stat = rustix::fs::fstat(&file)?;
    if !is_regular(&stat) {
        return Ok(Entry::Other);
    }
    let mut content = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut content)
        .context(|| format!("read '{name}'"))?;
    if content.len() as u64 > MAX_FILE {
        let limit = MAX_FILE >> 20;
        let message = format!("'{name}' in the git directory is larger than {limit} MiB");
        return Err(Error::new(Code::Io, message));
    }
    Ok(Entry::Regular(content, stat.st_mode & 0o777))
}

/// Adds every file of the list to `state`, and what else lies in the operations' own directories to its unknowns.
pub(super) fn read(git_dir: &OwnedFd, format: RefFormat, state: &mut OperationState) -> Result<()> {
    for name in list(git_dir)? {
        if DIRS.contains(&name.as_str()) {
            read_dir(git_dir, &name, state)?;
        } else if is_file(&name, format) {
            add(git_dir, &name, name.clone(), state)?;
        }
    }
    Ok(())
}

/// Whether a name in the git directory is that of a file of an operation; of those that are refs in this format it is not.
fn is_file(name: &str, format: RefFormat) -> bool {
    is_known_name(name) && (format == RefFormat::Files || !tables::is_ref(name))
}

fn read_dir(git_dir: &OwnedFd, name: &str, state: &mut OperationState) -> Result<()> {
    let Some(dir) = open_dir(git_dir, name)? else {
        state.unknown.push(name.to_owned());
        return Ok(());
    };
    for file in list(&dir)? {
        let full = format!("{name}/{file}");
        if is_known_name(&full) {
            add(&dir, &file, full, state)?;
        } else {
            state.unknown.push(full);
        }
    }
    Ok(())
}

fn add(dir: &OwnedFd, file: &str, full: String, state: &mut OperationState) -> Result<()> {
    match read_entry(dir, file)? {
        Entry::Missing => {}
        Entry::Regular(content, mode) => state.files.push((full, content, mode)),
        Entry::Other => state.unknown.push(full),
    }
    Ok(())
}

/// Makes the files be exactly `files`.
pub(super) fn restore(
    git_dir: &OwnedFd,
    format: RefFormat,
    files: &[OperationFile],
    sharing: SharedRepository,
) -> Result<()> {
    let wanted: HashMap<&str, &OperationFile> =
        files.iter().map(|file| (file.0.as_str(), file)).collect();
    for name in list(git_dir)? {
        if !DIRS.contains(&name.as_str())
            && is_file(&name, format)
            && !wanted.contains_key(name.as_str())
        {
            remove(git_dir, &name)?;
        }
    }
    for (name, content, mode) in files.iter().filter(|file| is_file(&file.0, format)) {
        if name.contains('/') {
            continue;
        }
        write((git_dir, git_dir), name, content, *mode, sharing)?;
    }
    for name in DIRS {
        restore_dir(git_dir, name, files, &wanted, sharing)?;
    }
    rustix::fs::fsync(git_dir).context(|| "sync the git directory")
}

fn restore_dir(
    git_dir: &OwnedFd,
    name: &str,
    files: &[OperationFile],
    wanted: &HashMap<&str, &OperationFile>,
    sharing: SharedRepository,
) -> Result<()> {
    let prefix = format!("{name}/");
    let mut inside = files
        .iter()
        .filter_map(|(full, content, mode)| Some((full.strip_prefix(&prefix)?, content, *mode)))
        .peekable();
    let dir = if inside.peek().is_some() {
        make_dir(git_dir, name, sharing)?
    } else {
        match open_dir(git_dir, name)? {
            Some(dir) => dir,
            None => return Ok(()),
        }
    };
    for file in list(&dir)? {
        let full = format!("{prefix}{file}");
        if is_known_name(&full) && !wanted.contains_key(full.as_str()) {
            remove(&dir, &file)?;
        }
    }
    for (file, content, mode) in inside {
        write((git_dir, &dir), file, content, mode, sharing)?;
    }
    rustix::fs::fsync(&dir).context(|| format!("sync '{name}'"))?;
    remove_dir(git_dir, name)
}

/// Removes a regular file. Anything else of that name was never captured and stays.
pub(super) fn remove(dir: &OwnedFd, name: &str) -> Result<()> {
    if !stat(dir, name)?.is_some_and(|stat| is_regular(&stat)) {
        return Ok(());
    }
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error).context(|| format!("remove '{name}'")),
    }
}

/// Removes a directory when it is empty.
pub(super) fn remove_dir(dir: &OwnedFd, name: &str) -> Result<()> {
    match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(error).context(|| format!("remove '{name}'")),
    }
}

/// Writes a file atomically, unless it is there with these bytes and this mode. A mode of 0 is the umask's choice.
pub(super) fn write(
    (git_dir, dir): (&OwnedFd, &OwnedFd),
    name: &str,
    content: &[u8],
    mode: u32,
    sharing: SharedRepository,
) -> Result<()> {
    let mode = mode & 0o777;
    match read_entry(dir, name) {
        Ok(Entry::Other) => return Err(in_the_way(name)),
        Ok(Entry::Regular(found, bits)) if found == content && (mode == 0 || mode == bits) => {
            return Ok(());
        }
        // What cannot be read is written over.
        _ => {}
    }
    let own = make_dir(git_dir, OWN_DIR, sharing)?;
    write_temporary((&own, dir), content, mode, sharing)
        .and_then(|()| Ok(rustix::fs::renameat(&own, TEMPORARY, dir, name)?))
        .context(|| format!("write '{name}'"))
}

fn write_temporary(
    (own, dir): (&OwnedFd, &OwnedFd),
    content: &[u8],
    mode: u32,
    sharing: SharedRepository,
) -> Result<()> {
    remove(own, TEMPORARY)?;
    // Never wider than wanted, not even for a moment.
    let initial = if mode == 0 { 0o666 } else { mode | 0o200 };
    let mut file = File::from(create_at(own, TEMPORARY, initial)?);
    file.write_all(content)?;
    if mode != 0 {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    }
    create::settle_in(&file, dir, sharing)?;
    Ok(file.sync_all()?)
}

/// What was never captured stands where something of a state belongs.
pub(super) fn in_the_way(name: &str) -> Error {
    Error::new(
        Code::WouldOverwrite,
        format!("'{name}' in the git directory is not what git puts there"),
    )
}
