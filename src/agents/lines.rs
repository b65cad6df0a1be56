//! Session files read line by line: any length of line, offsets kept, only one line in memory.
//!
//! A file is read up to the length it had when it was opened: a live session may grow meanwhile. A line that is no JSON
//! object is the caller's to count; what agents read and the parser does not (invalid UTF-8, half a surrogate pair) is read with
//! replacement characters, as the agents do.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Take};
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::transcript::Position;
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::hex::hex;
use crate::git::regular;
use crate::text::{foreign_json, without_mark};

/// A buffer that grew past this is given back after its line.
const LARGE: usize = 8 << 20;

/// No agent writes a longer line, and no memory should be asked to hold one.
const LONGEST: u64 = 256 << 20;

/// No session is larger; a file that is was named by mistake, or to keep a reader busy.
const LARGEST: u64 = 8 << 30;

/// A reader of lines.
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    next: Position,
}

/// One line, without its newline.
pub struct Line<'a> {
    /// Where it begins.
    pub position: Position,
    /// Its bytes, without the newline.
    pub bytes: &'a [u8],
    /// Whether a newline ends it.
    pub ended: bool,
}

/// A record that was read: where it stands, and what it is to a fork.
#[derive(Debug, Clone, Copy)]
pub struct Entry<I> {
    /// Where it begins.
    pub position: Position,
    /// Its length, without the newline.
    pub len: u64,
    /// What its agent's rules make of it.
    pub item: I,
}

impl<I> Entry<I> {
    /// The record on a line.
    pub fn new(line: &Line<'_>, item: I) -> Self {
        Self {
            position: line.position,
            len: line.bytes.len() as u64,
            item,
        }
    }
}

impl Line<'_> {
    /// Where the next line begins.
    pub fn end(&self) -> Position {
        Position {
            line: self.position.line + 1,
            offset: self.position.offset + self.bytes.len() as u64 + u64::from(self.ended),
        }
    }

    /// Whether there is nothing on it.
    pub fn is_blank(&self) -> bool {
        without_mark(self.bytes).iter().all(u8::is_ascii_whitespace)
    }

    /// The JSON object on it; `None` when it is bad or torn.
    pub fn object(&self) -> Option<Value> {
        parse_object(self.bytes)
    }
}

/// Parses one JSON object as agents write it, with what is no text and no number replaced; a byte order mark before it is no
/// part of it. For reading alone: what is kept are the bytes.
pub fn parse_object(bytes: &[u8]) -> Option<Value> {
    let value: Value = foreign_json::from_slice(bytes).ok()?;
    value.is_object().then_some(value)
}

impl<R: BufRead> Lines<R> {
    /// Reads lines from where `reader` stands, counted as the start of the file.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            next: Position { line: 1, offset: 0 },
        }
    }

    /// The next line, or `None` at the end.
    pub fn next_line(&mut self) -> std::io::Result<Option<Line<'_>>> {
        // One line with an image in it would keep its memory for the rest of the file.
        if self.buffer.capacity() > LARGE {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        let mut bounded = (&mut self.reader).take(LONGEST);
        let read = bounded.read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        let ended = self.buffer.last() == Some(&b'\n');
        if read as u64 == LONGEST && !ended {
            let message = format!("line {} is longer than {LONGEST} bytes", self.next.line);
            return Err(std::io::Error::new(ErrorKind::InvalidData, message));
        }
        if ended {
            self.buffer.pop();
        }
        let line = Line {
            position: self.next,
            bytes: &self.buffer,
            ended,
        };
        self.next = line.end();
        Ok(Some(line))
    }

    /// Where the next line begins: after the last one, the end of what was read.
    pub fn position(&self) -> Position {
        self.next
    }
}

/// A hook reads no more than this of a session file. The first record of one may have its agent's instructions and tools.
pub const HEAD: u64 = 4 << 20;

/// The first record of a session file, when its first line, within `limit` bytes, is one.
pub fn first_record(path: &Path, limit: Option<u64>) -> Option<Value> {
    open(path, limit).ok()?.next_line().ok()??.object()
}

/// Opens a session file for reading, up to `limit` bytes or its present length.
///
/// # Errors
/// `TRANSCRIPT_NOT_FOUND` when there is no such file.
pub fn open(path: &Path, limit: Option<u64>) -> Result<Lines<BufReader<Take<File>>>> {
    let file = regular::open(path).map_err(|error| cannot_open(path, error))?;
    let length = file.metadata().context(|| shown(path))?.len();
    if length > LARGEST {
        let message = format!("larger than {LARGEST} bytes");
        let error = std::io::Error::new(ErrorKind::FileTooLarge, message);
        return Err(error).context(|| shown(path));
    }
    let length = limit.map_or(length, |limit| limit.min(length));
    Ok(Lines::new(BufReader::with_capacity(
        1 << 16,
        file.take(length),
    )))
}

/// The error of a session file that cannot be opened.
pub fn cannot_open(path: &Path, error: std::io::Error) -> Error {
    let shown = path.display();
    let message = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            format!("session file '{shown}' not found")
        }
        ErrorKind::IsADirectory => format!("no session file in directory '{shown}'"),
        ErrorKind::InvalidInput => format!("session file '{shown}' is not a regular file"),
        _ => {
            let doing = format!("cannot open session file '{shown}'");
            return Error::from(error).while_doing(doing);
        }
    };
    Error::new(Code::TranscriptNotFound, message).caused_by(error)
}

/// How much of a session file was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines, blank ones too.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
    /// Lines that are no JSON object: bad, or torn at the end.
    pub skipped: u64,
}

/// Hands over every record of a session file, up to `limit` bytes, with the line that it stands on.
///
/// # Errors
/// As [`open`], or when the file cannot be read to its end.
pub fn each_record(
    path: &Path,
    limit: Option<u64>,
    mut take: impl FnMut(&Value, &Line<'_>),
) -> Result<Counts> {
    let mut reader = open(path, limit)?;
    let mut counts = Counts::default();
    while let Some(line) = reader.next_line().context(|| shown(path))? {
        counts.lines += 1;
        if line.is_blank() {
            continue;
        }
        match line.object() {
            Some(record) => take(&record, &line),
            None => counts.skipped += 1,
        }
    }
    counts.bytes = reader.position().offset;
    Ok(counts)
}

/// The SHA-256, in hex, of the first `length` bytes of a session file: it tells whether a place in it is still the same.
/// `None` when the file is shorter.
pub fn sha256_of_prefix(path: &Path, length: u64) -> Result<Option<String>> {
    let mut reader = open(path, Some(length))?.reader;
    let mut digest = Sha256::new();
    let mut seen = 0;
    loop {
        let bytes = reader.fill_buf().context(|| shown(path))?;
        if bytes.is_empty() {
            break;
        }
        digest.update(bytes);
        seen += bytes.len() as u64;
        let used = bytes.len();
        reader.consume(used);
    }
    Ok((seen == length).then(|| hex(&digest.finalize())))
}

/// What to say before an error of reading `path`.
pub fn shown(path: &Path) -> String {
    format!("cannot read session file '{}'", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_torn_ends_are_told() {
        let mut lines = Lines::new(&b"{\"a\":1}\n\n{\"b\":"[..]);
        let first = lines.next_line().expect("in memory").expect("a line");
        assert_eq!(first.position, Position { line: 1, offset: 0 });
        assert!(first.ended && first.object().is_some());
        let second = lines.next_line().expect("in memory").expect("a line");
        assert!(second.is_blank());
        let third = lines.next_line().expect("in memory").expect("a line");
        assert_eq!(third.position, Position { line: 3, offset: 9 });
        assert!(!third.ended && third.object().is_none());
        assert!(lines.next_line().expect("in memory").is_none());
        assert_eq!(lines.position().offset, 14);
    }

    #[test]
    fn invalid_utf8_is_read_with_replacement_characters() {
        let value = parse_object(b"{\"text\":\"a\xffb\"}").expect("still JSON");
        assert_eq!(value["text"], "a\u{fffd}b");
        assert!(parse_object(b"[1]").is_none(), "not an object");
        assert!(parse_object(b"{\"text\":\"a").is_none());
        let cut = parse_object(b"{\"text\":\"a \\ud83d\"}").expect("JSON to its agent");
        assert_eq!(cut["text"], "a \u{fffd}");
    }

    #[test]
    fn a_prefix_has_a_digest_while_the_file_has_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("file");
        std::fs::write(&path, "abc and more").expect("written");
        let digest = |length| sha256_of_prefix(&path, length).expect("readable");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(3).as_deref(), Some(abc));
        assert_eq!(digest(13), None);
    }

    #[test]
    fn a_missing_file_is_a_missing_transcript() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let error = open(&dir.path().join("none.jsonl"), None)
            .err()
            .expect("refused");
        assert_eq!(error.code(), Code::TranscriptNotFound);
    }
}
