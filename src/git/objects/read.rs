//! Reading objects, each proven to hash to its name.
//!
//! Loose objects and whole objects in packs are inflated here, large ones without being loaded; differences are `delta`'s.
//! When one copy of an object is damaged the next is tried, as git does.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::entry::{self, Entry};
use super::hash::{Proof, hash};
use super::inflate::Inflater;
use super::odb_dir::{OdbDir, Pack};
use super::store::ObjectStore;
use super::{ObjectKind, delta, loose};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::{ObjectFormat, Oid, tree};
use crate::work::{Work, count};

/// Larger blobs are streamed.
const LARGE: u64 = 32 << 20;
const BUFFER: usize = 1 << 20;
/// No more than this is set aside on the word of a header.
pub(super) const TRUSTED: u64 = 64 << 20;

/// Why a copy of an object cannot be used.
pub(super) enum Fault {
    /// It is not what its name says.
    Damaged,
    /// The disk or the system refused.
    Io(io::Error),
}

impl tree::ReadTree for ObjectStore {
    fn read_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        Self::read_tree(self, oid)
    }
}

impl Fault {
    /// What is wrong with an object of which two copies cannot be used: that one is damaged says nothing of one that was not seen.
    fn or(self, before: Option<Self>) -> Self {
        match before {
            Some(Self::Io(error)) => Self::Io(error),
            _ => self,
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        // What inflating reports of bad streams, and of ones cut short; the system may use these words for other things.
        match error.kind() {
            _ if error.raw_os_error().is_some() => Self::Io(error),
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof => Self::Damaged,
            _ => Self::Io(error),
        }
    }
}

/// A copy of an object, opened.
pub(super) enum Opened {
    /// The object's bytes follow.
    Stream {
        kind: ObjectKind,
        size: u64,
        data: Box<dyn Read>,
    },
    /// A difference from another object.
    Delta(Delta),
}

/// A difference in a pack that was opened.
pub(super) struct Delta {
    file: Arc<File>,
    pack: Arc<Pack>,
    /// Where its entry begins.
    at: u64,
}

/// Where a copy of an object is.
enum Place<'a> {
    Loose(&'a OdbDir),
    Packed(&'a OdbDir, Arc<Pack>, u64),
}

/// An object's kind and bytes.
pub(super) type Loaded = (ObjectKind, Vec<u8>);

impl ObjectStore {
    /// An object's kind and size, from its header alone; nothing when it does not exist.
    ///
    /// # Errors
    /// Every copy's header is damaged, or the disk refuses.
    pub fn header(&self, oid: Oid) -> Result<Option<(ObjectKind, u64)>> {
        let header = |place: &Place| {
            Ok(match place.open(oid)? {
                Some(Opened::Stream { kind, size, .. }) => Some((kind, size)),
                Some(Opened::Delta(delta)) => {
                    Some(delta::header(&delta.file, &delta.pack, delta.at)?)
                }
                None => None,
            })
        };
        if let Some(found) = self.first_good(oid, header)? {
            return Ok(Some(found));
        }
        for dir in &self.dirs {
            dir.reload_if_changed();
        }
        self.first_good(oid, header)
    }

    /// An object's kind and bytes.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`: the object is missing, or no copy hashes to its name.
    pub fn read(&self, oid: Oid) -> Result<(ObjectKind, Vec<u8>)> {
        count(Work::ObjectReads);
        let load = |place: &Place| {
            let opened = place.open(oid)?;
            opened.map(|opened| load(opened, oid)).transpose()
        };
        if let Some(found) = self.first_good(oid, load)? {
            return Ok(found);
        }
        self.refresh();
        self.first_good(oid, load)?.ok_or_else(|| missing(oid))
    }

    /// A tree's bytes. One that was read before may come from memory: a command compares the same few trees with one another
    /// several times.
    ///
    /// # Errors
    /// As [`Self::read`]; also when it is no tree.
    pub fn read_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        if let Some(bytes) = self.trees.get(oid) {
            return Ok(bytes);
        }
        let bytes = match self.read_kind(oid, ObjectKind::Tree) {
            // To git the empty tree is there whether anybody wrote it or not.
            Err(_) if oid == hash(self.format(), ObjectKind::Tree, b"")? => Vec::new(),
            read => read?,
        };
        self.trees.put(oid, &bytes);
        Ok(bytes)
    }

    /// A tree of the user's own commits, without what has an unsafe name: git took it, and nothing here may write it.
    ///
    /// # Errors
    /// As [`Self::read_tree`]; also when it is torn.
    pub fn read_safe_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        tree::safe_part(self.read_tree(oid)?, oid.format())
    }

    /// A commit's bytes.
    ///
    /// # Errors
    /// As [`Self::read`]; also when it is no commit.
    pub fn read_commit(&self, oid: Oid) -> Result<Vec<u8>> {
        self.read_kind(oid, ObjectKind::Commit)
    }

    fn read_kind(&self, oid: Oid, wanted: ObjectKind) -> Result<Vec<u8>> {
        let (kind, data) = self.read(oid)?;
        expect_kind(oid, kind, Some(wanted))?;
        Ok(data)
    }

    /// A blob's bytes, unless it is stored whole and has more of them than that: [`Self::copy_blob`] then gives them in pieces.
    ///
    /// # Errors
    /// As [`Self::read`]; also when it is no blob.
    pub fn read_blob_up_to(&self, oid: Oid, most: u64) -> Result<Option<Vec<u8>>> {
        count(Work::ObjectReads);
        let load = |place: &Place| match place.open(oid)? {
            Some(Opened::Stream { kind, size, .. }) if size > most => Ok(Some((kind, None))),
            Some(opened) => {
                let (kind, bytes) = load(opened, oid)?;
                Ok(Some((kind, Some(bytes))))
            }
            None => Ok(None),
        };
        let mut found = self.first_good(oid, load)?;
        if found.is_none() {
            self.refresh();
            found = self.first_good(oid, load)?;
        }
        let (kind, bytes) = found.ok_or_else(|| missing(oid))?;
        expect_kind(oid, kind, Some(ObjectKind::Blob))?;
        Ok(bytes)
    }

    /// Writes a blob's bytes to `out` and returns their number. Large blobs are proven while they pass: after an error, what
    /// was written must not be used.
    ///
    /// # Errors
    /// As [`Self::read`]; also when it is no blob, or `out` fails.
    pub fn copy_blob(&self, oid: Oid, out: &mut dyn Write) -> Result<u64> {
        self.deliver(oid, Some(ObjectKind::Blob), out)
    }

    /// A blob's size, and its bytes, to be read once. Those of a large one are not proven: whoever writes them learns what id they have.
    ///
    /// # Errors
    /// As [`Self::read`]; also when it is no blob.
    pub(super) fn blob_reader(&self, oid: Oid) -> Result<(u64, Box<dyn Read>)> {
        count(Work::ObjectReads);
        let open = |place: &Place| -> std::result::Result<_, Fault> {
            let Some(opened) = place.open(oid)? else {
                return Ok(None);
            };
            let (kind, size, data): (_, _, Box<dyn Read>) = match opened {
                Opened::Stream { kind, size, data } if size > LARGE => (kind, size, data),
                opened => {
                    let (kind, bytes) = load(opened, oid)?;
                    (kind, bytes.len() as u64, Box::new(io::Cursor::new(bytes)))
                }
            };
            Ok(Some((kind, size, data)))
        };
        let mut found = self.first_good(oid, open)?;
        if found.is_none() {
            self.refresh();
            found = self.first_good(oid, open)?;
        }
        let (kind, size, data) = found.ok_or_else(|| missing(oid))?;
        expect_kind(oid, kind, Some(ObjectKind::Blob))?;
        Ok((size, data))
    }

    /// Proves that [`Self::copy_blob`] or [`Self::read`] would deliver the object.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn verify(&self, oid: Oid) -> Result<()> {
        self.deliver(oid, None, &mut io::sink()).map(drop)
    }

    fn deliver(&self, oid: Oid, wanted: Option<ObjectKind>, out: &mut dyn Write) -> Result<u64> {
        count(Work::ObjectReads);
        if let Some(size) = self.deliver_known(oid, wanted, out)? {
            return Ok(size);
        }
        self.refresh();
        self.deliver_known(oid, wanted, out)?
            .ok_or_else(|| missing(oid))
    }

    /// Delivers the first good copy. A large one goes out piece by piece and cannot be taken back, so after a damaged large
    /// copy no other is tried.
    fn deliver_known(
        &self,
        oid: Oid,
        wanted: Option<ObjectKind>,
        out: &mut dyn Write,
    ) -> Result<Option<u64>> {
        let mut worst = None;
        for place in self.places(oid) {
            let loaded = match place.open(oid) {
                Ok(None) => continue,
                Ok(Some(Opened::Stream { kind, size, data })) if size > LARGE => {
                    expect_kind(oid, kind, wanted)?;
                    stream_proven(oid, kind, size, data, out)?;
                    return Ok(Some(size));
                }
                Ok(Some(opened)) => load(opened, oid),
                Err(fault) => Err(fault),
            };
            match loaded {
                Ok((kind, bytes)) => {
                    expect_kind(oid, kind, wanted)?;
                    out.write_all(&bytes).context(|| cannot_pass_on(oid))?;
                    return Ok(Some(bytes.len() as u64));
                }
                Err(fault) => worst = Some(place.doubted(fault).or(worst)),
            }
        }
        worst.map_or(Ok(None), |fault| Err(unreadable(oid, fault)))
    }

    /// Every copy of an object that is known of.
    fn places(&self, oid: Oid) -> impl Iterator<Item = Place<'_>> {
        self.dirs.iter().flat_map(move |dir| {
            // Packs first, for that costs no look at the disk.
            let packed = dir.packed(oid).into_iter();
            packed
                .map(move |(pack, offset)| Place::Packed(dir, pack, offset))
                .chain(std::iter::once(Place::Loose(dir)))
        })
    }

    /// What the first usable copy gives; nothing when there is no copy at all.
    fn first_good<T>(
        &self,
        oid: Oid,
        take: impl Fn(&Place) -> std::result::Result<Option<T>, Fault>,
    ) -> Result<Option<T>> {
        let mut worst = None;
        for place in self.places(oid) {
            match take(&place) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(fault) => worst = Some(place.doubted(fault).or(worst)),
            }
        }
        worst.map_or(Ok(None), |fault| Err(unreadable(oid, fault)))
    }
}

/// An opened copy's bytes, proven.
fn load(opened: Opened, oid: Oid) -> std::result::Result<Loaded, Fault> {
    match opened {
        Opened::Stream { kind, size, data } => proven(oid, (kind, read_whole(size, data)?)),
        Opened::Delta(Delta { file, pack, at }) => delta::load(&file, &pack, at)
            .and_then(|loaded| proven(oid, loaded))
            .inspect_err(|_| pack.bases.clear()),
    }
}

/// Whether a loose file, of this length, is the object that its name says.
///
/// # Errors
/// It cannot be read.
pub(super) fn is_whole(file: File, length: u64, oid: Oid) -> Result<bool> {
    let read = match loose::open(file, length) {
        Ok(Opened::Stream { kind, size, data }) if size > LARGE => {
            stream_proven(oid, kind, size, data, &mut io::sink())
        }
        Ok(opened) => load(opened, oid)
            .map(drop)
            .map_err(|fault| unreadable(oid, fault)),
        Err(fault) => Err(unreadable(oid, fault)),
    };
    match read {
        Err(error) if error.code() == Code::CorruptRecord => Ok(false),
        read => read.map(|()| true),
    }
}

fn proven(oid: Oid, (kind, bytes): Loaded) -> std::result::Result<Loaded, Fault> {
    let mut proof = Proof::new(oid, kind, bytes.len() as u64);
    proof.update(&bytes);
    if proof.holds() {
        Ok((kind, bytes))
    } else {
        Err(Fault::Damaged)
    }
}

impl Place<'_> {
    /// What was read here was wrong: who reads again reads what is there by then.
    fn doubted(&self, fault: Fault) -> Fault {
        if let Self::Packed(dir, ..) = self {
            dir.close_read();
        }
        fault
    }

    /// Opens this copy; nothing when it is gone.
    fn open(&self, oid: Oid) -> std::result::Result<Option<Opened>, Fault> {
        match self {
            Self::Loose(dir) => dir
                .open_loose(oid)?
                .map(|(file, length)| loose::open(file, length))
                .transpose(),
            Self::Packed(dir, pack, offset) => dir
                .open_to_read(pack)?
                .map(|file| open_packed(file, pack, *offset))
                .transpose(),
        }
    }
}

fn open_packed(file: Arc<File>, pack: &Arc<Pack>, at: u64) -> std::result::Result<Opened, Fault> {
    Ok(match entry_at(&file, at, pack.idx.format())? {
        Entry::Whole(kind, size, length) => Opened::Stream {
            kind,
            size,
            data: Box::new(inflater(file, at.saturating_add(length as u64), size)),
        },
        Entry::Delta(..) => Opened::Delta(Delta {
            file,
            pack: Arc::clone(pack),
            at,
        }),
    })
}

/// The header of the entry at a place in a pack.
pub(super) fn entry_at(
    file: &File,
    at: u64,
    format: ObjectFormat,
) -> std::result::Result<Entry, Fault> {
    let mut head = [0; entry::LONGEST];
    let got = crate::git::regular::read_up_to(file, &mut head, at)?;
    entry::decode(head.get(..got).unwrap_or_default(), format).ok_or(Fault::Damaged)
}

fn inflater<F: Borrow<File>>(file: F, at: u64, size: u64) -> Inflater<Section<F>> {
    Inflater::new(Section { file, at }, size.saturating_add(64))
}

/// The bytes of the entry in a pack whose stream begins at a place.
pub(super) fn inflated(file: &File, at: u64, size: u64) -> std::result::Result<Vec<u8>, Fault> {
    read_whole(size, inflater(file, at, size))
}

/// The first bytes of such a stream, at most this many.
pub(super) fn begin_of(file: &File, at: u64, most: u64) -> std::result::Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    inflater(file, at, 0).take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file from some place on, without a file position.
struct Section<F> {
    file: F,
    at: u64,
}

impl<F: Borrow<File>> Read for Section<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.borrow().read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// All bytes of an object, which are as many as its header says.
fn read_whole(size: u64, data: impl Read) -> std::result::Result<Vec<u8>, Fault> {
    let room = usize::try_from(size.min(TRUSTED)).map_err(|_| Fault::Damaged)?;
    let mut bytes = Vec::with_capacity(room.saturating_add(1));
    // One byte more shows that the header was wrong.
    data.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err(Fault::Damaged)
    }
}

pub(super) fn stream_proven(
    oid: Oid,
    kind: ObjectKind,
    size: u64,
    data: Box<dyn Read>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut proof = Proof::new(oid, kind, size);
    let mut data = data.take(size.saturating_add(1));
    let mut buffer = vec![0; BUFFER];
    let mut seen = 0;
    loop {
        let count = match data.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(oid, error.into())),
        };
        let Some(piece) = buffer.get(..count).filter(|piece| !piece.is_empty()) else {
            break;
        };
        proof.update(piece);
        seen += count as u64;
        out.write_all(piece).context(|| cannot_pass_on(oid))?;
    }
    if seen == size && proof.holds() {
        Ok(())
    } else {
        Err(unreadable(oid, Fault::Damaged))
    }
}

/// What is said of an object that is nowhere.
pub(in crate::git) fn missing(oid: Oid) -> Error {
    Error::new(Code::CorruptRecord, format!("object {oid} is missing"))
}

fn unreadable(oid: Oid, fault: Fault) -> Error {
    match fault {
        Fault::Damaged => Error::new(Code::CorruptRecord, format!("object {oid} is damaged")),
        Fault::Io(error) => Error::from(error).while_doing(format!("cannot read object {oid}")),
    }
}

pub(super) fn expect_kind(oid: Oid, kind: ObjectKind, wanted: Option<ObjectKind>) -> Result<()> {
    match wanted {
        Some(wanted) if wanted != kind => Err(Error::new(
            Code::CorruptRecord,
            format!("object {oid} is a {}, not a {}", kind.name(), wanted.name()),
        )),
        _ => Ok(()),
    }
}

fn cannot_pass_on(oid: Oid) -> String {
    format!("cannot write the bytes of object {oid}")
}
