//! One pass over a large blob: read and hashed here, deflated and written by a second thread.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::deflate::{self, Deflater, Level};
use super::hash::Hasher;
use super::{ObjectKind, PutError};
use crate::git::{ObjectFormat, Oid};

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
    let level = deflate::probe(&first);
    let (send, receive) = sync_channel(AHEAD);
    let (give_back, spare) = channel();
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .spawn_scoped(scope, move || {
                compress(level, head, &receive, &give_back, sink)
            })
            .map_err(|error| PutError::Failed(error.into()))?;
        let hashed = feed((format, size), first, reader, &send, &spare);
        // The other side ends when no more can come.
        drop(send);
        match worker.join() {
            Ok(Ok(())) => hashed,
            Ok(Err(error)) => Err(PutError::Failed(error.into())),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Reads, hashes and passes on.
fn feed(
    (format, size): (ObjectFormat, u64),
    mut chunk: Vec<u8>,
    reader: &mut dyn Read,
    send: &SyncSender<Vec<u8>>,
    spare: &Receiver<Vec<u8>>,
) -> Result<Oid, PutError> {
    let mut hasher = Hasher::new(format, ObjectKind::Blob, size);
    let mut left = size;
    loop {
        if chunk.len() as u64 != left.min(CHUNK) {
            return Err(PutError::SizeChanged);
        }
        left -= chunk.len() as u64;
        hasher.update(&chunk);
        // The other side has failed: its error is told when it is joined.
        if send.send(chunk).is_err() {
            break;
        }
        if left == 0 {
            break;
        }
        chunk = spare.try_recv().unwrap_or_default();
        fill(reader, &mut chunk, left)?;
    }
    expect_end(reader)?;
    hasher.finish().map_err(PutError::Failed)
}

fn compress(
    level: Level,
    head: &[u8],
    chunks: &Receiver<Vec<u8>>,
    give_back: &Sender<Vec<u8>>,
    sink: Sink,
) -> io::Result<()> {
    let mut deflater = Deflater::new(level);
    if !head.is_empty() {
        sink(deflater.push(head))?;
    }
    while let Ok(chunk) = chunks.recv() {
        sink(deflater.push(&chunk))?;
        // The reader may be done, and then needs no buffer.
        let _ = give_back.send(chunk);
    }
    sink(deflater.finish())
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
