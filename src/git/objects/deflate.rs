//! Compression: level 1, or stored when a sample says that compressing does not pay.
//!
//! Each thread keeps its compressors and output buffer: setting one up costs more than compressing a small file. What is a file
//! of its own and fits into a block of the file system is stored, too: there compressing costs time and saves nothing.
//! git compresses it when it packs it.

use std::cell::RefCell;

use flate2::{Compress, Compression, FlushCompress, Status};

/// Below this size content is always compressed.
const PROBED_FROM: usize = 4 << 10;
/// Content up to this size is its own sample.
const SAMPLE: usize = 64 << 10;
/// A thread gives back an output buffer larger than this.
const KEPT_BUFFER: usize = 8 << 20;

/// Header, one block's head and checksum of a zlib stream that stores its bytes.
const STORED_FRAME: usize = 2 + 5 + 4;
/// This many bytes are stored in a file of a block, which is 4 KiB nearly everywhere.
const ONE_BLOCK: usize = 4096 - STORED_FRAME;

/// How content is deflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// zlib level 1.
    Fast,
    /// Level 0: the bytes as they are, in zlib's frame.
    Stored,
}

impl Level {
    fn compressor(self) -> Compress {
        let level = match self {
            Self::Fast => Compression::fast(),
            Self::Stored => Compression::none(),
        };
        Compress::new(level, true)
    }
}

/// Whether `after` bytes are enough less than `before` to be worth inflating later.
fn pays(before: usize, after: usize) -> bool {
    after < before - before / 32
}

#[derive(Default)]
struct Scratch {
    fast: Option<Compress>,
    stored: Option<Compress>,
    out: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Scratch {
    /// Fills `out` with one zlib stream of the parts.
    fn run(&mut self, level: Level, parts: [&[u8]; 2]) {
        let slot = match level {
            Level::Fast => &mut self.fast,
            Level::Stored => &mut self.stored,
        };
        let compress = slot.get_or_insert_with(|| level.compressor());
        compress.reset();
        self.out.clear();
        feed(compress, parts[0], FlushCompress::None, &mut self.out);
        feed(compress, parts[1], FlushCompress::Finish, &mut self.out);
    }

    /// Compresses a sample: all of what is small, else the beginning and the middle.
    fn probe(&mut self, data: &[u8]) -> Level {
        if data.len() < PROBED_FROM {
            return Level::Fast;
        }
        let half = SAMPLE / 2;
        let middle = (data.len() / 2).max(half);
        let sample = if data.len() <= SAMPLE {
            [data, &[]]
        } else {
            [&data[..half], &data[middle..middle + half]]
        };
        self.run(Level::Fast, sample);
        if pays(sample[0].len() + sample[1].len(), self.out.len()) {
            Level::Fast
        } else {
            Level::Stored
        }
    }

    fn deflate(&mut self, head: &[u8], data: &[u8]) {
        if data.len() < PROBED_FROM || data.len() > SAMPLE {
            let level = self.probe(data);
            return self.run(level, [head, data]);
        }
        self.run(Level::Fast, [head, data]);
        if !pays(data.len(), self.out.len()) {
            self.run(Level::Stored, [head, data]);
        }
    }
}

/// Runs input through a compressor, growing `out` as needed.
fn feed(compress: &mut Compress, mut input: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
    loop {
        out.reserve(input.len() + input.len() / 8 + 64);
        let before = compress.total_in();
        let status = compress
            .compress_vec(input, out, flush)
            .expect("a compressor in use takes any bytes");
        let taken = usize::try_from(compress.total_in() - before).unwrap_or(usize::MAX);
        input = input.get(taken..).unwrap_or_default();
        let ended = match flush {
            FlushCompress::Finish => status == Status::StreamEnd,
            _ => input.is_empty(),
        };
        if ended {
            return;
        }
    }
}

/// Hands `then` one zlib stream of `head` and `data`, in this thread's buffer.
pub(super) fn with_deflated<R>(head: &[u8], data: &[u8], then: impl FnOnce(&[u8]) -> R) -> R {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.deflate(head, data);
        let result = then(&scratch.out);
        if scratch.out.capacity() > KEPT_BUFFER {
            scratch.out = Vec::new();
        }
        result
    })
}

/// As [`with_deflated`], for a stream that will be a file of its own.
pub(super) fn with_loose<R>(head: &[u8], data: &[u8], then: impl FnOnce(&[u8]) -> R) -> R {
    if head.len() + data.len() > ONE_BLOCK {
        return with_deflated(head, data, then);
    }
    SCRATCH.with_borrow_mut(|scratch| {
        store(head, data, &mut scratch.out);
        then(&scratch.out)
    })
}

/// Makes `out` one zlib stream (RFC 1950) of one stored block (RFC 1951, 3.2.4) with the bytes of both, fewer than 64 KiB.
fn store(head: &[u8], data: &[u8], out: &mut Vec<u8>) {
    const LEAST_EFFORT: [u8; 2] = [0x78, 0x01];
    const LAST_AND_STORED: u8 = 1;
    let length = u16::try_from(head.len() + data.len()).expect("a block holds fewer than 64 KiB");
    out.clear();
    out.extend_from_slice(&LEAST_EFFORT);
    out.push(LAST_AND_STORED);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(head);
    out.extend_from_slice(data);
    out.extend_from_slice(&adler32(head.iter().chain(data)).to_be_bytes());
}

/// The checksum of a zlib stream, of fewer than 64 KiB.
fn adler32<'b>(bytes: impl Iterator<Item = &'b u8>) -> u32 {
    const BASE: u64 = 65_521;
    let (a, b) = bytes.fold((1u64, 0u64), |(a, b), &byte| {
        let a = a + u64::from(byte);
        (a, b + a)
    });
    u32::try_from(((b % BASE) << 16) | (a % BASE)).expect("two halves of 16 bits")
}

/// The level for content that begins with `data`.
pub(super) fn probe(data: &[u8]) -> Level {
    SCRATCH.with_borrow_mut(|scratch| scratch.probe(data))
}

/// A zlib stream made piece by piece.
pub(super) struct Deflater {
    compress: Compress,
    out: Vec<u8>,
}

impl Deflater {
    pub(super) fn new(level: Level) -> Self {
        Self {
            compress: level.compressor(),
            out: Vec::new(),
        }
    }

    /// Takes the next bytes; returns what is ready to be written.
    pub(super) fn push(&mut self, data: &[u8]) -> &[u8] {
        self.run(data, FlushCompress::None)
    }

    /// Ends the stream; returns its last bytes.
    pub(super) fn finish(&mut self) -> &[u8] {
        self.run(&[], FlushCompress::Finish)
    }

    fn run(&mut self, data: &[u8], flush: FlushCompress) -> &[u8] {
        self.out.clear();
        feed(&mut self.compress, data, flush, &mut self.out);
        &self.out
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn noise(length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        getrandom::fill(&mut data).expect("random bytes");
        data
    }

    fn inflated(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::ZlibDecoder::new(bytes)
            .read_to_end(&mut out)
            .expect("a whole zlib stream");
        out
    }

    #[test]
    fn text_shrinks_and_noise_is_stored() {
        for length in [4 << 10, 64 << 10, 300 << 10] {
            let text = b"the same again, ".repeat(length / 16);
            assert_eq!(probe(&text), Level::Fast);
            with_deflated(b"head", &text, |out| {
                assert!(out.len() < length / 4);
                assert_eq!(inflated(out), [b"head", &text[..]].concat());
            });
            let noise = noise(length);
            assert_eq!(probe(&noise), Level::Stored);
            with_deflated(b"", &noise, |out| {
                assert!(out.len() < length + length / 1000 + 64);
                assert_eq!(inflated(out), noise);
            });
        }
    }

    #[test]
    fn what_fits_into_a_block_is_stored() {
        for length in [0, 1, 255, 4000, ONE_BLOCK - 4] {
            for data in [noise(length), vec![0xff; length]] {
                with_loose(b"head", &data, |out| {
                    assert_eq!(out.len(), length + 4 + STORED_FRAME);
                    assert!(out.len() <= 4096);
                    assert_eq!(inflated(out), [b"head", &data[..]].concat());
                });
            }
        }
        with_loose(b"", &vec![7; ONE_BLOCK + 1], |out| {
            assert!(out.len() < 100, "{}", out.len());
        });
    }

    #[test]
    fn a_compressible_middle_is_noticed() {
        let mut data = noise(SAMPLE);
        data.resize(8 * SAMPLE, b' ');
        assert_eq!(probe(&data), Level::Fast);
    }

    #[test]
    fn pieces_make_one_stream() {
        for level in [Level::Fast, Level::Stored] {
            let data = noise(300_000);
            let mut deflater = Deflater::new(level);
            let mut out = Vec::new();
            for piece in data.chunks(70_001) {
                out.extend_from_slice(deflater.push(piece));
            }
            out.extend_from_slice(deflater.finish());
            assert_eq!(inflated(&out), data);
        }
        let mut empty = Deflater::new(Level::Fast);
        assert_eq!(inflated(empty.finish()), b"");
    }
}
