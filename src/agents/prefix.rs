//! The digest of a growing session file, taken up again where it was left: what was read once is not read again.
//!
//! A hook has no time to read a file of 100 MB. [`Prefix`] is what is kept from one look to the next: how far it came, the
//! digest's inner state there, and the last bytes, by which a file that was rewritten is known. Knows no agent's format.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;

use serde::{Deserialize, Serialize};
use sha2::compress256;
use sha2::digest::consts::U64;
use sha2::digest::generic_array::GenericArray;

/// The digest works in blocks of this many bytes.
const BLOCK: usize = 64;

/// This many of the last bytes are kept.
const TAIL: usize = 256;

/// How many bytes are read at a time.
const CHUNK: usize = 256 << 10;

/// Where SHA-256 begins (FIPS 180-4, 5.3.3).
const BEGIN: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The beginning of a file, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    inode: u64,
    bytes: u64,
    lines: u64,
    state: [u32; 8],
    /// What does not fill a block yet.
    rest: Vec<u8>,
    tail: Vec<u8>,
}

impl Prefix {
    /// Nothing of `file` yet.
    pub fn new(file: &File) -> std::io::Result<Self> {
        Ok(Self {
            // An agent that rewrites its file may put a new one in its place.
            inode: file.metadata()?.ino(),
            bytes: 0,
            lines: 0,
            state: BEGIN,
            rest: Vec::new(),
            tail: Vec::new(),
        })
    }

    /// Whether `file` still begins so, judged by its identity and by the bytes where the prefix ends.
    pub fn fits(&self, file: &mut File) -> bool {
        // It is read from a file that anybody may have changed.
        let sound = self.rest.len() < BLOCK && self.tail.len() as u64 <= self.bytes;
        let same = file
            .metadata()
            .is_ok_and(|meta| meta.ino() == self.inode && meta.len() >= self.bytes);
        if !sound || !same {
            return false;
        }
        let mut there = vec![0; self.tail.len()];
        let start = SeekFrom::Start(self.bytes - self.tail.len() as u64);
        let read = file.seek(start).and_then(|_| file.read_exact(&mut there));
        read.is_ok() && there == self.tail
    }

    /// Reads on to `end` bytes: 256 KiB in any case, so that what a turn adds is read also where the machine is busy, and
    /// more as long as `go_on` says so. Answers whether it came there.
    pub fn read_on(
        &mut self,
        file: &mut File,
        end: u64,
        go_on: impl Fn() -> bool,
    ) -> std::io::Result<bool> {
        file.seek(SeekFrom::Start(self.bytes))?;
        let mut buffer = vec![0; CHUNK];
        let first = self.bytes;
        while self.bytes < end {
            if self.bytes - first >= CHUNK as u64 && !go_on() {
                return Ok(false);
            }
            let wanted = usize::try_from(end - self.bytes).map_or(CHUNK, |left| left.min(CHUNK));
            let chunk = buffer.get_mut(..wanted).unwrap_or_default();
            let count = file.read(chunk)?;
            if count == 0 {
                return Ok(false);
            }
            self.take(buffer.get(..count).unwrap_or_default());
        }
        Ok(self.bytes == end)
    }

    fn take(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        self.lines += chunk.split(|&byte| byte == b'\n').count() as u64 - 1;
        self.tail.extend_from_slice(
            chunk
                .get(chunk.len().saturating_sub(TAIL)..)
                .unwrap_or_default(),
        );
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        let fill = (BLOCK - self.rest.len()).min(chunk.len());
        let (head, chunk) = chunk.split_at(fill);
        self.rest.extend_from_slice(head);
        if self.rest.len() < BLOCK {
            return;
        }
        let full = std::mem::take(&mut self.rest);
        compress(&mut self.state, &full);
        let (blocks, rest) = chunk.split_at(chunk.len() - chunk.len() % BLOCK);
        compress(&mut self.state, blocks);
        self.rest.extend_from_slice(rest);
    }

    /// How many bytes were read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The line that begins or goes on at the end, counted from 1.
    pub fn line(&self) -> u64 {
        self.lines + 1
    }

    /// The SHA-256 of what was read, in hex.
    pub fn sha256(&self) -> String {
        use std::fmt::Write as _;
        let mut state = self.state;
        let mut end = self.rest.clone();
        end.push(0x80);
        // The length in bits stands in the last eight bytes of the last block.
        let zeros = (2 * BLOCK - 8 - end.len()) % BLOCK;
        end.resize(end.len() + zeros, 0);
        end.extend_from_slice(&(self.bytes * 8).to_be_bytes());
        compress(&mut state, &end);
        state.iter().fold(String::new(), |mut hex, word| {
            let _ = write!(hex, "{word:08x}");
            hex
        })
    }
}

/// Takes whole blocks into the digest's state.
fn compress(state: &mut [u32; 8], bytes: &[u8]) {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let blocks: Vec<GenericArray<u8, U64>> = blocks.iter().map(|block| (*block).into()).collect();
    compress256(state, &blocks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::lines::sha256_of_prefix;
    use std::io::Write as _;

    #[test]
    fn it_goes_on_where_it_was_left_and_is_the_digest_of_the_whole() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("grows");
        let mut writer = File::create(&path).expect("created");
        let mut file = File::open(&path).expect("opened");
        let mut prefix = Prefix::new(&file).expect("a file");
        let mut end = 0;
        for piece in [0, 1, 54, 1, 7, 1, 64, 63, 128, 700_000, 5] {
            let line: Vec<u8> = (0..piece)
                .map(|at: u32| if at.is_multiple_of(50) { b'\n' } else { b'x' })
                .collect();
            writer.write_all(&line).expect("written");
            end += u64::from(piece);
            let stored = serde_json::to_string(&prefix).expect("plain data");
            prefix = serde_json::from_str(&stored).expect("readable");
            assert!(prefix.fits(&mut file));
            assert!(prefix.read_on(&mut file, end, || true).expect("readable"));
            let whole = sha256_of_prefix(&path, end).expect("readable");
            assert_eq!(Some(prefix.sha256()), whole, "{end} bytes");
        }
        let text = std::fs::read(&path).expect("readable");
        let newlines = text.split(|&byte| byte == b'\n').count() as u64 - 1;
        assert_eq!(prefix.line(), newlines + 1);
    }

    #[test]
    fn without_time_a_turn_is_read_and_a_whole_file_is_not() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        let size = 2 * CHUNK as u64 + 5;
        file.set_len(size).expect("grown");
        let mut prefix = Prefix::new(&file).expect("a file");
        for (bytes, whole) in [(CHUNK, false), (2 * CHUNK, false), (2 * CHUNK + 5, true)] {
            let came = prefix.read_on(&mut file, size, || false).expect("readable");
            assert_eq!((prefix.bytes(), came), (bytes as u64, whole));
        }
    }

    #[test]
    fn a_file_that_was_rewritten_is_known() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("changes");
        std::fs::write(&path, "one two three").expect("written");
        let mut file = File::open(&path).expect("opened");
        let mut prefix = Prefix::new(&file).expect("a file");
        assert!(prefix.read_on(&mut file, 13, || false).expect("readable"));
        assert!(
            !prefix.read_on(&mut file, 14, || true).expect("readable"),
            "shorter"
        );
        for (text, same) in [
            ("one two three four", true),
            ("one 222 three four", false),
            ("one", false),
        ] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(
                prefix.fits(&mut File::open(&path).expect("opened")),
                same,
                "{text}"
            );
        }
    }
}
