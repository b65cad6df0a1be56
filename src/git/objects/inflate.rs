//! Decompression of one zlib stream, with a decompressor and buffer that each thread keeps for the next.

use std::cell::Cell;
use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};

const BUFFER: u64 = 256 << 10;

/// What a thread keeps for its next stream.
struct Kit {
    decompress: Decompress,
    buffer: Vec<u8>,
}

thread_local! {
    static SPARE: Cell<Option<Kit>> = const { Cell::new(None) };
}

/// Reads what a zlib stream holds, up to its end; what follows the stream is not looked at.
pub(super) struct Inflater<R> {
    source: R,
    /// There until dropped.
    kit: Option<Kit>,
    /// The buffered bytes that were not inflated yet.
    at: usize,
    filled: usize,
    /// How much to read at once.
    step: usize,
    ended: bool,
}

impl<R: Read> Inflater<R> {
    /// Reads from `source`, where about `expected` compressed bytes are.
    pub(super) fn new(source: R, expected: u64) -> Self {
        let mut kit = SPARE.take().unwrap_or_else(|| Kit {
            decompress: Decompress::new(true),
            buffer: Vec::new(),
        });
        kit.decompress.reset(true);
        let step = usize::try_from(expected.clamp(64, BUFFER)).unwrap_or(64);
        if kit.buffer.len() < step {
            kit.buffer.resize(step, 0);
        }
        Self {
            source,
            kit: Some(kit),
            at: 0,
            filled: 0,
            step,
            ended: false,
        }
    }
}

impl<R: Read> Read for Inflater<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(Kit { decompress, buffer }) = &mut self.kit else {
            return Ok(0);
        };
        while !self.ended && !out.is_empty() {
            if self.at == self.filled {
                let room = buffer.get_mut(..self.step).unwrap_or_default();
                self.filled = self.source.read(room)?;
                self.at = 0;
                if self.filled == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            let input = buffer.get(self.at..self.filled).unwrap_or_default();
            let (seen, made) = (decompress.total_in(), decompress.total_out());
            let status = decompress
                .decompress(input, out, FlushDecompress::None)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let count = |total: u64| usize::try_from(total).unwrap_or(usize::MAX);
            let taken = count(decompress.total_in() - seen);
            let given = count(decompress.total_out() - made);
            self.at = self.at.saturating_add(taken).min(self.filled);
            self.ended = status == Status::StreamEnd;
            if given > 0 {
                return Ok(given);
            }
            // It neither takes nor gives: this loop would not end.
            if taken == 0 && !self.ended {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(0)
    }
}

impl<R> Drop for Inflater<R> {
    fn drop(&mut self) {
        SPARE.set(self.kit.take());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn deflated(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).expect("memory");
        encoder.finish().expect("memory")
    }

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = out.len().min(1);
            self.0.read(&mut out[..length])
        }
    }

    #[test]
    fn streams_end_where_they_end() {
        let data = b"some text, some text".repeat(5000);
        let mut bytes = deflated(&data);
        bytes.extend_from_slice(b"the next entry");
        for expected in [0, 1000, 1 << 30] {
            let mut out = Vec::new();
            let mut inflater = Inflater::new(&bytes[..], expected);
            inflater.read_to_end(&mut out).expect("sound");
            assert!(out == data);
            out.clear();
            let mut inflater = Inflater::new(Slow(&bytes), expected);
            inflater.read_to_end(&mut out).expect("sound");
            assert!(out == data);
        }
    }

    #[test]
    fn bad_streams_are_errors() {
        let good = deflated(&b"abc".repeat(1000));
        let mut flipped = good.clone();
        *flipped.last_mut().expect("bytes") ^= 1;
        for bad in [&good[..good.len() - 1], &flipped, b"", b"nonsense"] {
            let mut inflater = Inflater::new(bad, 64);
            assert!(inflater.read_to_end(&mut Vec::new()).is_err());
        }
        let mut out = Vec::new();
        let mut inflater = Inflater::new(&good[..], 64);
        inflater.read_to_end(&mut out).expect("a fresh start");
    }
}
