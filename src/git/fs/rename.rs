//! Names that are given, exchanged and taken away without ever replacing what nobody has looked at.
//!
//! Promises: what had a name is afterwards under another one, whoever put something else there in between. The kernel has flags for that
//! which not every file system knows (NFS, many of FUSE): there it takes several steps, between which a place may be empty, and
//! never two things at one name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::io::Errno;

use super::writers::{has_writer, keeps_writer};
use super::{create_at, open_at, stamp_at};
use crate::env::{fail_point, has_plain_renames};
use crate::git::regular;

/// How [`exchange`] got its work done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchanged {
    /// The two names were swapped: `temp` now names what was at `name`.
    Swapped,
    /// Nothing was at `name`.
    Placed,
}

/// What the name of a moved-out file ends with until it has that of the temporary file. It begins as that one does, by which recovery
/// finds both.
pub const ASIDE: &[u8] = b"~";

/// Puts `temp`, a file of ours, at `name` in the same directory. What was there is afterwards named `temp`, whatever type it had.
///
/// Who watches the directory is told of two moves in the order of the names: `name` goes first and comes back then, which is a change. The
/// other way round it came and went.
pub fn exchange(dir: BorrowedFd<'_>, temp: &[u8], name: &[u8]) -> rustix::io::Result<Exchanged> {
    match exchange_at_once(dir, temp, name)? {
        Some(exchanged) => Ok(exchanged),
        None => exchange_in_steps(dir, temp, name),
    }
}

/// As [`exchange`]; None where that cannot be done at once.
fn exchange_at_once(
    dir: BorrowedFd<'_>,
    temp: &[u8],
    name: &[u8],
) -> rustix::io::Result<Option<Exchanged>> {
    loop {
        match rename_with((dir, name), (dir, temp), RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(Some(Exchanged::Swapped)),
            Err(Errno::NOENT) => match place_to_free(dir, temp, name) {
                Ok(()) => return Ok(Some(Exchanged::Placed)),
                // Something appeared in between: exchange with it.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            },
            Err(errno) if is_unknown(dir, errno) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    }
}

fn rename_with(
    (from_dir, from): (BorrowedFd<'_>, &[u8]),
    (to_dir, to): (BorrowedFd<'_>, &[u8]),
    flags: RenameFlags,
) -> rustix::io::Result<()> {
    if has_plain_renames() {
        return Err(Errno::INVAL);
    }
    let (from, to) = (OsStr::from_bytes(from), OsStr::from_bytes(to));
    rustix::fs::renameat_with(from_dir, from, to_dir, to, flags)
}

/// Whether it is the flags of a rename that this kernel, file system or sandbox does not know.
fn is_unknown(dir: BorrowedFd<'_>, errno: Errno) -> bool {
    match errno {
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => true,
        // Some sandboxes say so of every call that they do not know. Names that cannot be are refused in another way.
        Errno::PERM => {
            let tried = rustix::fs::renameat_with(dir, "", dir, "", RenameFlags::NOREPLACE);
            tried == Err(Errno::PERM)
        }
        _ => false,
    }
}

/// Without flags nothing tells what a rename replaces: so it replaces nothing, and the place is empty for a moment.
fn exchange_in_steps(
    dir: BorrowedFd<'_>,
    temp: &[u8],
    name: &[u8],
) -> rustix::io::Result<Exchanged> {
    let aside = [temp, ASIDE].concat();
    let rename = |from: &[u8], to: &[u8]| {
        rustix::fs::renameat(dir, OsStr::from_bytes(from), dir, OsStr::from_bytes(to))
    };
    match rename(name, &aside) {
        Ok(()) => {}
        Err(Errno::NOENT) => {
            return place_to_free(dir, temp, name).map(|()| Exchanged::Placed);
        }
        Err(errno) => return Err(errno),
    }
    fail_point("exchange-aside");
    if let Err(errno) = place_to_free(dir, temp, name) {
        // It has its name back, unless somebody was quicker: then both stay, and recovery tells of them.
        let _ = rename_to_free(dir, &aside, name);
        return Err(errno);
    }
    rename(&aside, temp)?;
    Ok(Exchanged::Swapped)
}

/// Gives a file of ours another name in its directory, failing with `EXIST` when that is taken.
pub fn place_to_free(dir: BorrowedFd<'_>, temp: &[u8], name: &[u8]) -> rustix::io::Result<()> {
    let (from, to) = (OsStr::from_bytes(temp), OsStr::from_bytes(name));
    match rename_with((dir, temp), (dir, name), RenameFlags::NOREPLACE) {
        Err(errno) if is_unknown(dir, errno) => {}
        other => return other,
    }
    // Nobody else knows the name that goes: a kill in between leaves the file with both.
    match rustix::fs::linkat(dir, from, dir, to, AtFlags::empty()) {
        Ok(()) => rustix::fs::unlinkat(dir, from, AtFlags::empty()),
        // No file has two names there.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            claim_and_rename((dir, temp), (dir, name))
        }
        Err(errno) => Err(errno),
    }
}

/// Renames within a directory, whatever it is and whoever's, failing with `EXIST` when the new name is taken.
pub fn rename_to_free(dir: BorrowedFd<'_>, from: &[u8], to: &[u8]) -> rustix::io::Result<()> {
    rename_to_free_in((dir, from), (dir, to))
}

/// As [`rename_to_free`], from one directory to another.
pub fn rename_to_free_in(
    from: (BorrowedFd<'_>, &[u8]),
    to: (BorrowedFd<'_>, &[u8]),
) -> rustix::io::Result<()> {
    match rename_with(from, to, RenameFlags::NOREPLACE) {
        Err(errno) if is_unknown(from.0, errno) => claim_and_rename(from, to),
        other => other,
    }
}

/// The new name is claimed by something empty of the same type, which the rename replaces. A link to the old name would not do: that may
/// be another file's by the time it is taken away.
fn claim_and_rename(
    (from_dir, from): (BorrowedFd<'_>, &[u8]),
    (to_dir, to): (BorrowedFd<'_>, &[u8]),
) -> rustix::io::Result<()> {
    let (from_name, to_name) = (OsStr::from_bytes(from), OsStr::from_bytes(to));
    let is_dir = stamp_at(from_dir, from)?.ok_or(Errno::NOENT)?.is_dir();
    let undo = if is_dir {
        rustix::fs::mkdirat(to_dir, to_name, Mode::RWXU)?;
        AtFlags::REMOVEDIR
    } else {
        create_at(to_dir, to_name, 0o600)?;
        AtFlags::empty()
    };
    let renamed = rustix::fs::renameat(from_dir, from_name, to_dir, to_name);
    if renamed.is_err() {
        let _ = rustix::fs::unlinkat(to_dir, to_name, undo);
    }
    renamed
}

/// Puts `temp`, a file of ours, at `name` in the same directory, when the bytes that are there by then may go; they are gone
/// afterwards. False: they may not, or somebody has the file open for writing, whose save would go with it. Then all is as it was, and
/// `temp` is gone.
///
/// At no moment is there none: whoever finds no settings begins anew, and a desk is written anew.
/// Where no exchange is, what is saved between the last look and the rename is replaced.
///
/// # Errors
/// The system's. Twice something else was saved there in between: then the later bytes are in `temp`, and the error says so.
pub fn replace_known(
    dir: BorrowedFd<'_>,
    temp: &[u8],
    name: &[u8],
    may_go: &dyn Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    fail_point("replace-known");
    let forget = || rustix::fs::unlinkat(dir, OsStr::from_bytes(temp), AtFlags::empty());
    if is_being_saved(dir, name)? {
        forget()?;
        return Ok(false);
    }
    let own = bytes_at(dir, temp)?;
    match exchange_at_once(dir, temp, name).transpose() {
        Some(exchanged) => judge(dir, temp, name, may_go, (own, exchanged)),
        None if is_to_go(dir, name, may_go)? => {
            let (temp, name) = (OsStr::from_bytes(temp), OsStr::from_bytes(name));
            rustix::fs::renameat(dir, temp, dir, name)?;
            Ok(true)
        }
        None if stamp_at(dir, name)?.is_none() => {
            place_to_free(dir, temp, name)?;
            Ok(true)
        }
        None => {
            forget()?;
            Ok(false)
        }
    }
}

/// Whether what changed places with `temp`, which had these bytes, may go; else it goes back.
fn judge(
    dir: BorrowedFd<'_>,
    temp: &[u8],
    name: &[u8],
    may_go: &dyn Fn(&[u8]) -> bool,
    (own, exchanged): (Option<Vec<u8>>, rustix::io::Result<Exchanged>),
) -> io::Result<bool> {
    let forget = || rustix::fs::unlinkat(dir, OsStr::from_bytes(temp), AtFlags::empty());
    if matches!(exchanged, Ok(Exchanged::Placed)) {
        return Ok(true);
    }
    if exchanged.is_ok() && is_to_go(dir, temp, may_go)? {
        forget()?;
        return Ok(true);
    }
    // Somebody saved it since it was looked at: that goes back.
    let back = exchanged.and_then(|_| exchange(dir, temp, name));
    if own.is_some_and(|own| is_to_go(dir, temp, &|left| left == own).unwrap_or(false)) {
        forget()?;
    } else if stamp_at(dir, temp)?.is_some() {
        return Err(saved_meanwhile(temp, name));
    }
    Ok(back.map(|_| false)?)
}

/// Takes `name` away, by way of `temp` in the same directory, when the bytes that are there by then may go. False: they may not, and stay.
///
/// # Errors
/// As [`replace_known`].
pub fn remove_known(
    dir: BorrowedFd<'_>,
    temp: &[u8],
    name: &[u8],
    may_go: &dyn Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    fail_point("replace-known");
    if is_being_saved(dir, name)? {
        return Ok(false);
    }
    rename_to_free(dir, name, temp)?;
    if is_to_go(dir, temp, may_go)? {
        rustix::fs::unlinkat(dir, OsStr::from_bytes(temp), AtFlags::empty())?;
        return Ok(true);
    }
    match rename_to_free(dir, temp, name) {
        Err(Errno::EXIST) => Err(saved_meanwhile(temp, name)),
        other => Ok(other.map(|()| false)?),
    }
}

fn saved_meanwhile(temp: &[u8], name: &[u8]) -> io::Error {
    let (temp, name) = (
        super::super::path::display(temp),
        super::super::path::display(name),
    );
    io::Error::other(format!(
        "'{name}' was saved more than once meanwhile, and what it held is in '{temp}' beside it"
    ))
}

/// Whether somebody is saving what has a name, and is not done in the time that this takes.
fn is_being_saved(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<bool> {
    Ok(file_at(dir, name)?.is_some_and(|file| keeps_writer(&file)))
}

/// Whether what has a name is a regular file whose bytes may go, to which nobody adds any. Who asks for writers first has bytes that stay:
/// under a name that nobody else knows no new one comes.
fn is_to_go(dir: BorrowedFd<'_>, name: &[u8], may_go: &dyn Fn(&[u8]) -> bool) -> io::Result<bool> {
    match file_at(dir, name)? {
        Some(file) if !has_writer(&file) => Ok(may_go(&bytes_of(file)?)),
        _ => Ok(false),
    }
}

/// The bytes of a regular file; None for anything else, and for nothing.
fn bytes_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    file_at(dir, name)?.map(bytes_of).transpose()
}

/// A regular file, opened; None for anything else, and for nothing.
fn file_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Option<File>> {
    match open_at(dir, name) {
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => Ok(None),
        other => Ok(regular::accept(File::from(other?)).ok()),
    }
}

fn bytes_of(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(regular::LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::Root;
    use super::*;

    #[test]
    fn exchange_swaps_whatever_is_there() {
        type Way = fn(BorrowedFd<'_>, &[u8], &[u8]) -> rustix::io::Result<Exchanged>;
        for way in [exchange as Way, exchange_in_steps] {
            let dir = tempfile::tempdir().expect("tempdir");
            let at = |name: &str| dir.path().join(name);
            let root = Root::open(dir.path()).expect("root");
            std::fs::write(at("t"), b"new").expect("write");
            assert_eq!(way(root.fd(), b"t", b"n"), Ok(Exchanged::Placed));
            std::fs::write(at("t"), b"newer").expect("write");
            assert_eq!(way(root.fd(), b"t", b"n"), Ok(Exchanged::Swapped));
            assert_eq!(std::fs::read(at("t")).expect("read"), b"new");
            assert_eq!(std::fs::read(at("n")).expect("read"), b"newer");
            // A symlink for a directory.
            std::os::unix::fs::symlink("n", at("l")).expect("linked");
            std::fs::create_dir_all(at("d/in")).expect("mkdir");
            assert_eq!(way(root.fd(), b"l", b"d"), Ok(Exchanged::Swapped));
            assert!(at("l/in").is_dir() && at("d").is_symlink());
            assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 4);
        }
    }

    #[test]
    fn nothing_is_renamed_over_anything() {
        type Way = fn((BorrowedFd<'_>, &[u8]), (BorrowedFd<'_>, &[u8])) -> rustix::io::Result<()>;
        for way in [rename_to_free_in as Way, claim_and_rename] {
            let dir = tempfile::tempdir().expect("tempdir");
            let at = |name: &str| dir.path().join(name);
            let root = Root::open(dir.path()).expect("root");
            std::fs::create_dir_all(at("dir/in")).expect("mkdir");
            std::fs::create_dir(at("taken dir")).expect("mkdir");
            std::fs::write(at("file"), b"file").expect("write");
            std::fs::write(at("taken"), b"taken").expect("write");
            std::os::unix::fs::symlink("nowhere", at("link")).expect("linked");
            let go = |from: &str, to: &str| {
                way((root.fd(), from.as_bytes()), (root.fd(), to.as_bytes()))
            };
            for from in ["dir", "file", "link"] {
                assert_eq!(go(from, "taken"), Err(Errno::EXIST), "{from}");
                assert_eq!(go(from, "taken dir"), Err(Errno::EXIST), "{from}");
                let to = format!("new {from}");
                assert_eq!(go(from, &to), Ok(()), "{from}");
                assert_eq!(go(from, "again"), Err(Errno::NOENT), "{from}");
            }
            assert!(at("new dir/in").is_dir() && at("new link").is_symlink());
            assert_eq!(std::fs::read(at("new file")).expect("read"), b"file");
            assert_eq!(std::fs::read(at("taken")).expect("read"), b"taken");
            assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 5);
        }
    }

    #[test]
    fn only_known_bytes_are_replaced_or_removed() {
        for (there, goes) in [(Some("known"), true), (Some("edited"), false), (None, true)] {
            let dir = tempfile::tempdir().expect("tempdir");
            let at = |name: &str| dir.path().join(name);
            let root = Root::open(dir.path()).expect("root");
            let is_known = |bytes: &[u8]| bytes == b"known";
            std::fs::write(at("t"), b"new").expect("write");
            if let Some(there) = there {
                std::fs::write(at("n"), there).expect("write");
            }
            let done = replace_known(root.fd(), b"t", b"n", &is_known);
            assert_eq!(done.expect("done"), goes, "{there:?}");
            let left = if goes { "new" } else { "edited" };
            assert_eq!(std::fs::read_to_string(at("n")).expect("read"), left);
            assert!(!at("t").exists());
            let is_left = |bytes: &[u8]| goes && bytes == left.as_bytes();
            let done = remove_known(root.fd(), b"t", b"n", &is_left);
            assert_eq!((done.expect("done"), at("n").exists()), (goes, !goes));
            assert!(!at("t").exists());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_somebody_is_about_to_save_is_neither_replaced_nor_removed() {
        let dir = tempfile::tempdir().expect("tempdir");
        let at = |name: &str| dir.path().join(name);
        let root = Root::open(dir.path()).expect("root");
        std::fs::write(at("t"), b"new").expect("write");
        std::fs::write(at("n"), b"known").expect("write");
        let mut saving = File::options().write(true).open(at("n")).expect("opened");
        let replaced = replace_known(root.fd(), b"t", b"n", &|_| true);
        let removed = remove_known(root.fd(), b"t", b"n", &|_| true);
        assert_eq!(
            (replaced.expect("done"), removed.expect("done")),
            (false, false)
        );
        io::Write::write_all(&mut saving, b"saved").expect("saved");
        drop(saving);
        assert_eq!(std::fs::read(at("n")).expect("read"), b"saved");
        assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 1);
    }
}
