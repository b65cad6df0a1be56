//! Writing objects: each is hashed, looked up, and written once, loose or into one pack.
//!
//! Several threads put at once. Small objects are compressed outside the lock; a large blob holds the pack while it streams.
//! An object that exists is freshened, as git does, and then not written; one that is only lent counts as none ([`super::lent`]). Once a write has failed nothing is kept: `finish`
//! refuses, and the temporary files go.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::git::Oid;

use super::deflate::{with_deflated, with_loose};
use super::hash::is_collision;
use super::keep::KeptPack;
use super::lent::Lent;
use super::pack_writer::PackWriter;
use super::store::ObjectStore;
use super::temp::Target;
use super::{ObjectKind, entry, header, loose, stream};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::Durable;
use crate::work::{Work, count};

/// Larger blobs are streamed.
const WHOLE: u64 = 4 << 20;

/// Where new objects go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteMode {
    /// A file each, not synced, as git does by default.
    Loose,
    /// One pack that gc leaves alone until its [`KeptPack`] is released.
    Pack {
        /// What the `.keep` file says: `tw <token> <pid> <start>`.
        keep_note: String,
        /// Whether pack, idx and their names are on disk when [`ObjectWriter::finish`] returns.
        durable: Durable,
    },
}

/// Why a blob was not written.
#[derive(Debug)]
pub enum PutError {
    /// The reader gave fewer or more bytes than announced. The writer is as it was before.
    SizeChanged,
    /// The reader failed. The writer is as it was before.
    Source(io::Error),
    /// The content is a collision attack ([`is_collision`]; the writer is as it was before), or it could not be written.
    Failed(Error),
}

impl PutError {
    pub(super) fn failed(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<PutError> for Error {
    fn from(error: PutError) -> Self {
        match error {
            PutError::SizeChanged => Self::new(
                Code::Io,
                "the size of the content changed while it was read",
            ),
            PutError::Source(error) => error.into(),
            PutError::Failed(error) => error,
        }
    }
}

/// What a writer did.
#[derive(Debug)]
pub struct Written {
    /// Objects that existed, sorted. To be looked up once more when a ref holds them.
    pub reused: Vec<Oid>,
    /// Objects that were written, sorted.
    pub written: Vec<Oid>,
    /// The pack, when one was asked for and anything was written.
    pub pack: Option<KeptPack>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Some thread is writing it.
    Claimed,
    Reused,
    Written,
}

/// Writes objects. Dropped without [`Self::finish`] it leaves no pack; loose objects that were put stay, as git's would.
pub struct ObjectWriter<'a> {
    store: &'a ObjectStore,
    mode: WriteMode,
    target: Target,
    fates: Mutex<HashMap<Oid, Fate>>,
    pack: Mutex<Option<PackWriter>>,
    loose_bytes: AtomicU64,
    failed: AtomicBool,
    afresh: bool,
    lent: Lent,
}

thread_local! {
    /// What small blobs are read into.
    static CONTENT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> ObjectWriter<'a> {
    /// Starts writing. Nothing is made on disk before the first new object.
    ///
    /// # Errors
    /// The objects directory cannot be read.
    pub fn new(store: &'a ObjectStore, mode: WriteMode) -> Result<Self> {
        Ok(Self {
            store,
            mode,
            target: Target::new(&store.own().fd, &store.own().path)?,
            fates: Mutex::default(),
            pack: Mutex::default(),
            loose_bytes: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            afresh: false,
            lent: Lent::default(),
        })
    }

    /// Relies on another directory for the files of this commit, of which git relies on it for, too. Without one all is written that the
    /// repository's own directory does not have.
    #[must_use]
    pub fn relying_on(mut self, commit: Option<Oid>) -> Self {
        self.lent.commit = commit;
        self
    }

    /// Writes also what exists: a gc under way may be about to take it.
    #[must_use]
    pub fn afresh(self) -> Self {
        Self {
            afresh: true,
            ..self
        }
    }

    /// Writes an object, unless it exists, and returns its id.
    ///
    /// # Errors
    /// A collision attack ([`is_collision`]; nothing is written, the writer goes on), or the disk refuses (then
    /// [`Self::finish`] will, too).
    pub fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        count(match kind {
            ObjectKind::Tree => Work::TreePuts,
            ObjectKind::Commit => Work::CommitPuts,
            ObjectKind::Blob | ObjectKind::Tag => Work::BlobPuts,
        });
        let oid = self.store.hash(kind, data)?;
        if locked(&self.fates).try_claim(oid) {
            let written = self.write_claimed(oid, kind, data);
            self.settle(oid, written)?;
        }
        Ok(oid)
    }

    /// Whether an object is there, whose very bytes the caller has seen, and will stay: then it counts as put.
    pub fn reuse(&self, oid: Oid) -> bool {
        // Another thread is at it, or was.
        if locked(&self.fates).contains_key(&oid) {
            return true;
        }
        if self.afresh {
            return false;
        }
        let is_there = self.store.freshen(oid);
        if is_there {
            locked(&self.fates).entry(oid).or_insert(Fate::Reused);
        }
        is_there
    }

    /// Writes a blob that another directory lends.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`: it is not there any more, or damaged; or the disk refuses.
    pub fn copy_blob(&self, oid: Oid) -> Result<()> {
        let (size, mut bytes) = self.store.blob_reader(oid)?;
        if self.put_reader(size, &mut bytes)? == oid {
            return Ok(());
        }
        Err(damaged(oid))
    }

    /// Writes a blob of exactly `size` bytes. One over a few MiB is streamed: its bytes are read once, in pieces, and what
    /// was written is taken back when it turns out to exist already.
    ///
    /// # Errors
    /// See [`PutError`].
    pub fn put_reader(
        &self,
        size: u64,
        reader: &mut dyn Read,
    ) -> std::result::Result<Oid, PutError> {
        if size > WHOLE {
            count(Work::BlobPuts);
            return self.put_streamed(size, reader);
        }
        let mut data = CONTENT.take();
        let put = stream::read_whole(size, reader, &mut data)
            .and_then(|()| self.put(ObjectKind::Blob, &data).map_err(PutError::Failed));
        CONTENT.set(data);
        put
    }

    /// Objects written so far, and the bytes they take on disk: loose files, or the pack without its checksum and idx.
    pub fn count(&self) -> (u64, u64) {
        let fates = locked(&self.fates);
        let written = fates
            .values()
            .filter(|&&fate| fate == Fate::Written)
            .count();
        (written as u64, self.bytes())
    }

    /// The bytes that what was written so far takes on disk.
    pub(super) fn bytes(&self) -> u64 {
        let packed = locked(&self.pack).as_ref().map_or(0, PackWriter::size);
        self.loose_bytes.load(Ordering::Relaxed) + packed
    }

    /// Puts the pack, if any, in place.
    ///
    /// # Errors
    /// An earlier write failed, or the disk refuses; then no pack is left.
    pub fn finish(self) -> Result<Written> {
        if self.failed.load(Ordering::Acquire) {
            return Err(Error::new(
                Code::Io,
                "an object could not be written; the others are not kept either",
            ));
        }
        let pack = self
            .pack
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let pack = match (pack, self.mode) {
            (Some(pack), WriteMode::Pack { keep_note, durable }) if !pack.is_empty() => {
                let own = self.store.own();
                let kept = pack.install(&self.target, own, &keep_note, durable);
                Some(kept.context(|| cannot_write(self.store))?)
            }
            _ => None,
        };
        let fates = self
            .fates
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let with = |wanted| {
            let mut oids: Vec<_> = fates
                .iter()
                .filter_map(|(&oid, &fate)| (fate == wanted).then_some(oid))
                .collect();
            oids.sort_unstable();
            oids
        };
        Ok(Written {
            reused: with(Fate::Reused),
            written: with(Fate::Written),
            pack,
        })
    }

    /// Whether an object is there, and stays.
    fn is_kept(&self, oid: Oid, size: u64) -> bool {
        !self.afresh && (self.store.freshen(oid) || self.lent.keeps(self.store, oid, size))
    }

    fn write_claimed(&self, oid: Oid, kind: ObjectKind, data: &[u8]) -> io::Result<Fate> {
        if self.is_kept(oid, data.len() as u64) {
            return Ok(Fate::Reused);
        }
        match self.mode {
            WriteMode::Loose => self.write_loose(oid, kind, data)?,
            WriteMode::Pack { .. } => self.write_packed(oid, kind, data)?,
        }
        Ok(Fate::Written)
    }

    /// Records what became of a claimed object.
    fn settle(&self, oid: Oid, fate: io::Result<Fate>) -> Result<()> {
        match fate {
            Ok(fate) => {
                locked(&self.fates).insert(oid, fate);
                Ok(())
            }
            Err(error) => Err(self.fail(error.into())),
        }
    }

    fn fail(&self, error: Error) -> Error {
        self.failed.store(true, Ordering::Release);
        error.while_doing(cannot_write(self.store))
    }

    fn write_loose(&self, oid: Oid, kind: ObjectKind, data: &[u8]) -> io::Result<()> {
        let head = header(kind, data.len() as u64);
        let name = loose::name(oid);
        let prefix = [name.get(..3).unwrap_or_default(), b"tmp_obj_"].concat();
        with_loose(&head, data, |bytes| {
            let mut temp = self.target.create(&prefix)?;
            temp.file.write_all(bytes)?;
            fail_point("object-written");
            temp.place(&name)?;
            self.loose_bytes
                .fetch_add(bytes.len() as u64, Ordering::Relaxed);
            Ok(())
        })
    }

    fn write_packed(&self, oid: Oid, kind: ObjectKind, data: &[u8]) -> io::Result<()> {
        let head = entry::encode(kind, data.len() as u64);
        with_deflated(&[], data, |body| {
            let mut crc = crc32fast::Hasher::new();
            crc.update(&head);
            crc.update(body);
            let mut pack = locked(&self.pack);
            self.opened(&mut pack)?
                .append(oid, &head, body, crc.finalize())
        })
    }

    /// The pack, made when the first object comes.
    fn opened<'p>(&self, pack: &'p mut Option<PackWriter>) -> io::Result<&'p mut PackWriter> {
        match pack {
            Some(pack) => Ok(pack),
            None => Ok(pack.insert(PackWriter::create(&self.target, self.store.format())?)),
        }
    }

    fn put_streamed(&self, size: u64, reader: &mut dyn Read) -> std::result::Result<Oid, PutError> {
        let put = match self.mode {
            WriteMode::Loose => self.stream_loose(size, reader),
            WriteMode::Pack { .. } => self.stream_packed(size, reader),
        };
        match put {
            Err(PutError::Failed(error)) if !is_collision(&error) => {
                Err(PutError::Failed(self.fail(error)))
            }
            other => other,
        }
    }

    fn stream_packed(
        &self,
        size: u64,
        reader: &mut dyn Read,
    ) -> std::result::Result<Oid, PutError> {
        let mut pack = locked(&self.pack);
        let pack = self.opened(&mut pack).map_err(PutError::failed)?;
        let streamed = pack.stream(size, reader)?;
        let oid = streamed.oid();
        if self.is_wanted(oid, size) {
            pack.accept(&streamed)
        } else {
            pack.undo(&streamed)
        }
        .map_err(PutError::failed)?;
        Ok(oid)
    }

    fn stream_loose(&self, size: u64, reader: &mut dyn Read) -> std::result::Result<Oid, PutError> {
        let temp = self.target.create(b"tmp_obj_").map_err(PutError::failed)?;
        let head = header(ObjectKind::Blob, size);
        let mut bytes = 0;
        let mut file = &temp.file;
        let mut write = |piece: &[u8]| {
            bytes += piece.len() as u64;
            file.write_all(piece)
        };
        let oid = stream::run((self.store.format(), size), reader, &head, &mut write)?;
        if self.is_wanted(oid, size) {
            temp.place(&loose::name(oid)).map_err(PutError::failed)?;
            self.loose_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(oid)
    }

    /// Decides about an object that was streamed before its id was known: whether it is new.
    fn is_wanted(&self, oid: Oid, size: u64) -> bool {
        if !locked(&self.fates).try_claim(oid) {
            return false;
        }
        let reused = self.is_kept(oid, size);
        let fate = if reused { Fate::Reused } else { Fate::Written };
        locked(&self.fates).insert(oid, fate);
        !reused
    }
}

trait Claims {
    /// True for the first thread that asks.
    fn try_claim(&mut self, oid: Oid) -> bool;
}

impl Claims for HashMap<Oid, Fate> {
    fn try_claim(&mut self, oid: Oid) -> bool {
        let mut first = false;
        self.entry(oid).or_insert_with(|| {
            first = true;
            Fate::Claimed
        });
        first
    }
}

/// The error of an object that is not what its name says.
pub(super) fn damaged(oid: Oid) -> Error {
    Error::new(Code::CorruptRecord, format!("object {oid} is damaged"))
}

fn cannot_write(store: &ObjectStore) -> String {
    format!("cannot write objects to '{}'", store.own().path.display())
}
