//! The one way to read a file that others name: regular files only, within a bound, without ever waiting.
//!
//! A name in a configuration, a payload or a git directory may lead to a pipe that nobody writes to, to a device without an
//! end, or to a file of a terabyte. Files are opened without waiting and only then looked at, so that no exchange in between
//! is missed. Symlinks are followed, as git and the shell follow them; [`super::fs::Root`] is for what must not be.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::create;
use super::lease::open_leased;
use crate::error::{Code, Error, Result, ResultExt};

/// The most that is read of a file as a whole, unless its reader says otherwise.
pub const LARGEST: u64 = 1 << 30;

/// git leaves larger files of patterns and attributes unread.
pub const LARGEST_RULES: u64 = 100 << 20;

/// Opens a regular file for reading. A directory is [`ErrorKind::IsADirectory`], anything else that is not regular
/// [`ErrorKind::InvalidInput`].
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    Ok(open_measured(path.as_ref())?.0)
}

/// Opens what is expected to be a file, following no symlink and without waiting; a caller that reads to the end asks [`accept`].
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    open_leased(|| options.open(path))
}

/// With its length, which is known from the one look at what was opened.
fn open_measured(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(without_waiting());
    let file = open_leased(|| options.open(path))?;
    let length = judge(&file)?;
    Ok((file, length))
}

/// The same file when it is a regular one: for what was opened in another way, without waiting.
pub fn accept(file: File) -> io::Result<File> {
    judge(&file)?;
    Ok(file)
}

/// The length of a regular file; the error of any other.
fn judge(file: &File) -> io::Result<u64> {
    let meta = file.metadata()?;
    if meta.is_file() {
        Ok(meta.len())
    } else if meta.is_dir() {
        Err(rustix::io::Errno::ISDIR.into())
    } else {
        Err(io::Error::new(
            ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

/// What is done with a symlink that a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// What it leads to is opened.
    Follow,
    /// It is an error.
    Refuse,
}

/// Opens a regular file for appending; a missing one is made, with the permission bits given.
pub fn append(path: &Path, mode: u32, links: Links) -> io::Result<File> {
    open_to_append(path, OpenOptions::new().append(true), mode, links)
}

/// Adds a line to a file that another program keeps, as [`append`] opens it. What that one left without an end is ended first, so that
/// the two are not one.
pub fn append_line(path: &Path, mode: u32, links: Links, line: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = open_to_append(path, options.read(true).append(true), mode, links)?;
    let length = file.metadata()?.len();
    let mut last = *b"\n";
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    let end = if last == *b"\n" { "" } else { "\n" };
    // By one 'write': its owner's lines and this one do not mix.
    file.write_all(format!("{end}{line}\n").as_bytes())
}

fn open_to_append(
    path: &Path,
    options: &mut OpenOptions,
    mode: u32,
    links: Links,
) -> io::Result<File> {
    let flags = match links {
        Links::Follow => without_waiting(),
        Links::Refuse => without_waiting() | OFlags::NOFOLLOW.bits().cast_signed(),
    };
    let options = options.custom_flags(flags);
    accept(open_leased(|| create::open_or_new(path, options, mode))?)
}

/// Reads a whole regular file of at most [`LARGEST`] bytes.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_within(path, LARGEST)
}

/// Reads a whole regular file; one of more than `limit` bytes is [`ErrorKind::FileTooLarge`].
pub fn read_within(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    let (file, length) = open_measured(path.as_ref())?;
    let too_large = || {
        let message = format!("larger than {limit} bytes");
        io::Error::new(ErrorKind::FileTooLarge, message)
    };
    if length > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(bytes)
}

/// As [`read`]; a file that is not UTF-8 is [`ErrorKind::InvalidData`].
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// As [`read`], naming the file in the error; `None` when it does not exist.
///
/// # Errors
/// It is not a regular file, is too large, or cannot be read.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error).context(|| format!("cannot read '{}'", path.display())),
    }
}

/// A file of ignore patterns or attributes; `None` when it does not exist, and when git would leave it unread because it is
/// not a regular file (`/dev/null` is how many people turn one off) or larger than [`LARGEST_RULES`].
///
/// # Errors
/// It cannot be read: then nobody knows which files it leaves out.
pub fn read_rules(path: &Path) -> Result<Option<Vec<u8>>> {
    match read_within(path, LARGEST_RULES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) || is_unfit(&error) => Ok(None),
        Err(error) => Err(error).context(|| format!("cannot read '{}'", path.display())),
    }
}

/// Refuses what is there but cannot be read as a file, before a library that opens by name waits for it. `/dev/null` is empty
/// and may stand for any file.
///
/// # Errors
/// `IO`, naming the file.
pub fn check(path: &Path) -> Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(kind) = std::fs::metadata(path).map(|meta| meta.file_type()) else {
        return Ok(());
    };
    let endless = kind.is_char_device() && path != Path::new("/dev/null");
    if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || endless {
        return Err(Error::new(
            Code::Io,
            format!("'{}' is not a regular file", path.display()),
        )
        .hint(format!(
            "look at it with 'ls -l {}', and put a regular file in its place",
            path.display()
        )));
    }
    Ok(())
}

/// Reads from a place in an open file on, until the buffer is full or the file ends, and says how much there was.
pub fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while let Some(rest) = buffer.get_mut(got..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + got as u64) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// The errors that mean "no file of that name".
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The errors that mean "not a regular file" or "too large".
pub fn is_unfit(error: &io::Error) -> bool {
    // A socket cannot even be opened.
    let socket = error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error());
    socket
        || matches!(
            error.kind(),
            ErrorKind::InvalidInput | ErrorKind::IsADirectory | ErrorKind::FileTooLarge
        )
}

/// A pipe opens at once, and a terminal does not become ours.
fn without_waiting() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(dir: &Path) -> std::path::PathBuf {
        let path = dir.join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        path
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "abc").expect("written");
        assert_eq!(read(&file).expect("regular"), b"abc");
        let pipe = pipe(dir.path());
        for path in [
            pipe.as_path(),
            Path::new("/dev/zero"),
            Path::new("/dev/null"),
        ] {
            let error = read_optional(path).expect_err("not regular");
            assert!(error.message().ends_with("not a regular file"), "{error}");
            assert_eq!(read_rules(path).expect("as if absent"), None);
        }
        let error = append(&pipe, 0o600, Links::Follow).expect_err("a pipe without a reader");
        // A program that another test starts holds the end that was read from until it runs.
        let is_read = error.to_string().ends_with("not a regular file");
        let nobody = Some(rustix::io::Errno::NXIO.raw_os_error());
        assert!(is_read || error.raw_os_error() == nobody, "{error}");
        let error = read(dir.path()).expect_err("a directory");
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
        assert_eq!(read_optional(&file.join("x")).expect("no error"), None);
    }

    #[test]
    fn what_is_too_large_is_refused_without_being_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("sparse");
        let large = File::create(&file).expect("made");
        large.set_len(1 << 40).expect("sparse");
        let error = read(&file).expect_err("a terabyte");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_rules(&file).expect("as if absent"), None);
        std::fs::write(&file, "1234").expect("written");
        assert_eq!(read_within(&file, 4).expect("as allowed"), b"1234");
        assert!(read_within(&file, 3).is_err());
    }

    #[test]
    fn a_library_is_kept_from_what_would_make_it_wait() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let error = check(&pipe(dir.path())).expect_err("a pipe");
        assert_eq!(error.code(), Code::Io);
        assert!(check(Path::new("/dev/zero")).is_err());
        assert!(check(Path::new("/dev/null")).is_ok());
        assert!(check(&dir.path().join("nothing")).is_ok());
        assert!(check(dir.path()).is_ok());
    }
}
