//! One pass over a large blob: read and hashed here, deflated and written by a second thread; all of it here when the system
//! refuses one.

use std::io::{self, Read};
use std::sync::mpsc::{channel, sync_channel};

use super::deflate::{self, Deflater};
use super::hash::Hasher;
use super::{ObjectKind, PutError};
use crate::git::{ObjectFormat, Oid, threads};

const CHUNK: u64 = 1 << 20;
/// Chunks that may wait to be deflated.
const AHEAD: usize = 2;

/// Takes the zlib stream, piece by piece.
pub(super) type Sink<'a> = &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send);

/// Hashes a blob of exactly `size` bytes and hands `sink` one zlib stream of `head` and those bytes.
pub(super) fn run(
    (format, size): (ObjectFormat, u64),
    reader: &mut dyn Read,
    head: &[u8],
    sink: Sink,
) -> Result<Oid, PutError> {
    let mut first = Vec::new();
    fill(reader, &mut first, size)?;
    let mut deflating = Deflating {
        deflater: Deflater::new(deflate::probe(&first)),
        sink,
    };
    if !head.is_empty() {
        deflating.push(head).map_err(failed)?;
    }
    let what = (format, size);
    let beside = in_two_threads(what, &mut first, reader, &mut deflating);
    let (written, hashed) = beside.unwrap_or_else(|| {
        let mut written = Ok(());
        let mut pass = |chunk: Vec<u8>| {
            written = deflating.push(&chunk);
            written.is_ok().then_some(chunk)
        };
        let hashed = feed(what, first, reader, &mut pass);
        (written, hashed)
    });
    written.map_err(failed)?;
    let oid = hashed?;
    deflating.finish().map_err(failed)?;
    Ok(oid)
}

fn failed(error: io::Error) -> PutError {
    PutError::Failed(error.into())
}

/// What came of the writing and of the hashing; None: the system refuses a thread, and nothing was read.
fn in_two_threads(
    what: (ObjectFormat, u64),
    first: &mut Vec<u8>,
    reader: &mut dyn Read,
    deflating: &mut Deflating<'_>,
) -> Option<(io::Result<()>, Result<Oid, PutError>)> {
    let (send, receive) = sync_channel::<Vec<u8>>(AHEAD);
    let (give_back, spare) = channel();
    std::thread::scope(|scope| {
        let worker = threads::start_in(scope, move || {
            while let Ok(chunk) = receive.recv() {
                deflating.push(&chunk)?;
                // The reader may be done, and then needs no buffer.
                let _ = give_back.send(chunk);
            }
            Ok(())
        });
        let worker = worker.ok()?;
        let mut pass = |chunk| {
            send.send(chunk).ok()?;
            Some(spare.try_recv().unwrap_or_default())
        };
        let hashed = feed(what, std::mem::take(first), reader, &mut pass);
        // The other side ends when no more can come.
        drop(send);
        Some((threads::joined(worker), hashed))
    })
}

/// Reads, hashes and passes on. What takes a chunk gives an empty one for it, or nothing when it has failed.
fn feed(
    (format, size): (ObjectFormat, u64),
    mut chunk: Vec<u8>,
    reader: &mut dyn Read,
    pass: &mut dyn FnMut(Vec<u8>) -> Option<Vec<u8>>,
) -> Result<Oid, PutError> {
    let mut hasher = Hasher::new(format, ObjectKind::Blob, size);
    let mut left = size;
    loop {
        if chunk.len() as u64 != left.min(CHUNK) {
            return Err(PutError::SizeChanged);
        }
        left -= chunk.len() as u64;
        hasher.update(&chunk);
        // Who has failed tells that itself.
        let Some(empty) = pass(chunk) else { break };
        if left == 0 {
            break;
        }
        chunk = empty;
        fill(reader, &mut chunk, left)?;
    }
    expect_end(reader)?;
    hasher.finish().map_err(PutError::Failed)
}

/// Deflates chunks and writes them.
struct Deflating<'a> {
    deflater: Deflater,
    sink: Sink<'a>,
}

impl Deflating<'_> {
    fn push(&mut self, chunk: &[u8]) -> io::Result<()> {
        (self.sink)(self.deflater.push(chunk))
    }

    fn finish(&mut self) -> io::Result<()> {
        (self.sink)(self.deflater.finish())
    }
}

/// Reads the next chunk: as much as is left, at most [`CHUNK`].
fn fill(reader: &mut dyn Read, chunk: &mut Vec<u8>, left: u64) -> Result<(), PutError> {
    let wanted = left.min(CHUNK);
    chunk.clear();
    chunk.reserve_exact(usize::try_from(wanted).unwrap_or_default());
    reader
        .take(wanted)
        .read_to_end(chunk)
        .map_err(PutError::Source)?;
    Ok(())
}

/// Reads a blob of exactly `size` bytes into `data`, which is emptied first.
pub(super) fn read_whole(
    size: u64,
    reader: &mut dyn Read,
    data: &mut Vec<u8>,
) -> Result<(), PutError> {
    data.clear();
    data.reserve(usize::try_from(size).unwrap_or_default());
    reader
        .take(size)
        .read_to_end(data)
        .map_err(PutError::Source)?;
    if data.len() as u64 != size {
        return Err(PutError::SizeChanged);
    }
    expect_end(reader)
}

fn expect_end(reader: &mut dyn Read) -> Result<(), PutError> {
    let mut more = Vec::new();
    let read = reader.take(1).read_to_end(&mut more);
    match read.map_err(PutError::Source)? {
        0 => Ok(()),
        _ => Err(PutError::SizeChanged),
    }
}
