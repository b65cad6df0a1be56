//! What a run prints, kept within a bound: its beginning as it comes, so that one can look on, and its end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::git::fs::create_private;

/// How many bytes of the beginning are kept.
pub const HEAD: usize = 256 << 10;
/// How many bytes of the end are kept.
pub const TAIL: usize = 768 << 10;

/// A file with the head and the tail of an output.
#[derive(Debug)]
pub struct Log {
    file: File,
    written: usize,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Log {
    /// Makes the file anew, readable by its owner alone.
    ///
    /// # Errors
    /// As the system's.
    pub fn create(path: &Path) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // What a run has put there meanwhile, a symlink above all, is not written through.
        Ok(Self {
            file: create_private(path)?,
            written: 0,
            tail: VecDeque::new(),
            left_out: 0,
        })
    }

    /// Takes what was printed next.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let now = bytes.len().min(HEAD - self.written);
        let (head, rest) = bytes.split_at(now);
        self.file.write_all(head)?;
        self.written += now;
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
        self.left_out += u64::try_from(over).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Writes the end, with a line that says what is missing before it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.left_out > 0 {
            let note = format!("\n[{} bytes are left out here]\n", self.left_out);
            self.file.write_all(note.as_bytes())?;
        }
        let (first, second) = self.tail.as_slices();
        self.file.write_all(first)?;
        self.file.write_all(second)?;
        self.tail.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(pieces: &[&[u8]]) -> Vec<u8> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        let mut log = Log::create(&path).expect("a log");
        for piece in pieces {
            log.push(piece).expect("written");
        }
        log.finish().expect("finished");
        crate::git::regular::read(&path).expect("read")
    }

    #[test]
    fn a_symlink_in_its_place_is_not_written_through() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, other) = (dir.path().join("log"), dir.path().join("other"));
        std::fs::write(&other, "mine").expect("written");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        let mut log = Log::create(&path).expect("a log");
        log.push(b"one\n").expect("written");
        assert_eq!(crate::git::regular::read(&path).expect("read"), b"one\n");
        assert_eq!(crate::git::regular::read(&other).expect("read"), b"mine");
    }

    #[test]
    fn a_short_output_is_kept_as_it_is() {
        assert_eq!(logged(&[b"one\n", b"two\n"]), b"one\ntwo\n");
    }

    #[test]
    fn of_a_long_output_the_beginning_and_the_end_stay() {
        let middle = vec![b'.'; HEAD + TAIL];
        let log = logged(&[b"begin", &middle, b"end"]);
        assert!(log.starts_with(b"begin...") && log.ends_with(b"...end"));
        let note = b"\n[8 bytes are left out here]\n";
        assert!(log.windows(note.len()).any(|part| part == note));
        assert_eq!(log.len(), HEAD + TAIL + note.len());
    }
}
