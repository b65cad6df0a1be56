//! One objects directory, the repository's own or an alternate: what is in it, and where.
//!
//! The list of packs is read when first needed and again only when asked: a lookup that misses costs no directory scan.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::delta::Bases;
use super::idx::Idx;
use super::part::PartOfId;
use super::read::Opened;
use super::{ObjectKind, entry, loose};
use crate::env::clock_nanos;
use crate::error::Result;
use crate::git::fs::{is_racy, nanoseconds, tells_of_names, touch_at};
use crate::git::hex::hex;
use crate::git::lease::open_leased;
use crate::git::mapped::{self, Use};
use crate::git::path;
use crate::git::regular;
use crate::git::{ObjectFormat, Oid};
use crate::work::{Work, count};

/// A pack and its index.
pub(super) struct Pack {
    /// `pack/….pack`, relative to the objects directory.
    name: Vec<u8>,
    /// The idx file as it was when it was mapped.
    stamp: Stamp,
    /// Has a `.mtimes` file: git keeps each object's own age there, so the pack's mtime protects nothing.
    cruft: bool,
    pub(super) idx: Idx,
    /// The pack itself, mapped when the sizes of many objects are asked for; none when it cannot be.
    map: OnceLock<Option<memmap2::Mmap>>,
    /// What differences are made from, as far as it was read before.
    pub(super) bases: Bases,
}

impl Pack {
    /// Where an object begins, when it is here.
    pub(super) fn offset(&self, oid: Oid) -> Option<u64> {
        self.idx.offset(self.idx.find(oid)?)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    dev: u64,
    ino: u64,
    size: i64,
    mtime: (i64, u64),
}

impl From<&Stat> for Stamp {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "the fields' types differ between platforms; only equality matters"
    )]
    fn from(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino,
            size: stat.st_size,
            mtime: (stat.st_mtime, stat.st_mtime_nsec as u64),
        }
    }
}

type Packs = Arc<Vec<Arc<Pack>>>;

#[derive(Default)]
struct Listing {
    /// The pack directory's stamp just before it was read; none when there is no such directory.
    stamp: Option<Stamp>,
    /// The directory had changed so shortly before that a later change may have left it the same stamp, or it could not be read.
    racy: bool,
    packs: Packs,
}

/// What was given a new mtime.
pub(super) enum Freshened {
    /// The object's loose file, opened before that, and its length.
    Loose(File, u64),
    /// Something that was not opened.
    Unseen,
}

/// An opened objects directory.
pub(super) struct OdbDir {
    /// Its resolved path.
    pub(super) path: PathBuf,
    pub(super) fd: Arc<OwnedFd>,
    /// Of all that is in it.
    pub(super) format: ObjectFormat,
    listing: RwLock<Option<Listing>>,
    /// Packs may have been missed: a listing, or the opening of an index, failed for another reason than that nothing is there.
    missed_packs: AtomicBool,
    /// The pack that was read last.
    last_read: Mutex<Option<(Arc<Pack>, Arc<File>)>>,
}

impl OdbDir {
    /// Opens the directory of a repository of this format.
    pub(super) fn open(path: &Path, format: ObjectFormat) -> io::Result<Self> {
        let path = std::fs::canonicalize(path)?;
        let fd = rustix::fs::open(
            &path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self {
            path,
            fd: Arc::new(fd),
            format,
            listing: RwLock::new(None),
            missed_packs: AtomicBool::new(false),
            last_read: Mutex::default(),
        })
    }

    /// The directories named in `info/alternates`; relative ones start from here.
    pub(super) fn alternates(&self) -> Result<Vec<PathBuf>> {
        let text = regular::read_optional(&self.path.join("info/alternates"))?.unwrap_or_default();
        let lines = text.split(|&byte| byte == b'\n');
        let named = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let paths = named.map(|line| self.path.join(OsStr::from_bytes(&path::unquoted(line))));
        Ok(paths.collect())
    }

    /// Whether a loose file of that id is here. An empty one, or one that begins with zeros, as a power cut leaves them, does not
    /// count.
    pub(super) fn has_loose(&self, oid: Oid) -> bool {
        self.finds_loose(oid).unwrap_or(false)
    }

    /// As [`Self::has_loose`]; an error where nobody can say.
    pub(super) fn finds_loose(&self, oid: Oid) -> io::Result<bool> {
        match self.open_loose(oid) {
            Ok(found) => Ok(found.is_some()),
            // One that may not be read is left to whoever reads it.
            Err(error) => self.names_loose(oid).then_some(true).ok_or(error),
        }
    }

    /// Whether a loose file of that id is here and has something in it, whatever that is.
    pub(super) fn names_loose(&self, oid: Oid) -> bool {
        let is_filled = |stat: Stat| {
            stat.st_size > 0 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        };
        rustix::fs::statat(&self.fd, &loose::name(oid)[..], AtFlags::empty()).is_ok_and(is_filled)
    }

    /// The packs that hold an object, and where.
    pub(super) fn packed(&self, oid: Oid) -> Vec<(Arc<Pack>, u64)> {
        self.packs()
            .iter()
            .filter_map(|pack| Some((Arc::clone(pack), pack.offset(oid)?)))
            .collect()
    }

    pub(super) fn has_packed(&self, oid: Oid) -> bool {
        self.packs().iter().any(|pack| pack.idx.find(oid).is_some())
    }

    /// Adds the ids that begin so, of packed and of loose objects.
    pub(super) fn add_beginning_with(&self, part: PartOfId, found: &mut BTreeSet<Oid>) {
        for pack in self.packs().iter() {
            found.extend(pack.idx.beginning_with(part));
        }
        let dir = hex(&part.least(self.format)[..1]);
        let names = std::fs::read_dir(self.path.join(&dir))
            .into_iter()
            .flatten();
        let names = names.flatten().map(|entry| entry.file_name());
        let oids = names.filter_map(|name| {
            PartOfId::parse(&[dir.as_bytes(), name.as_bytes()].concat())?.whole(self.format)
        });
        found.extend(oids.filter(|oid| part.begins(oid.as_bytes()) && self.has_loose(*oid)));
    }

    /// Gives what holds the object a new mtime, as git does before it relies on an object that exists. Nothing when there is nothing
    /// that can be given one.
    pub(super) fn freshen(&self, oid: Oid) -> Option<Freshened> {
        match self.open_loose(oid) {
            Ok(Some((file, length))) if self.touch(&loose::name(oid)) => {
                return Some(Freshened::Loose(file, length));
            }
            // It is left to whoever reads it.
            Err(_) if self.names_loose(oid) && self.touch(&loose::name(oid)) => {
                return Some(Freshened::Unseen);
            }
            Ok(_) | Err(_) => {}
        }
        let packs = self.packs();
        let mut keeping = packs
            .iter()
            .filter(|pack| !pack.cruft && pack.idx.find(oid).is_some());
        keeping
            .any(|pack| self.touch(&pack.name))
            .then_some(Freshened::Unseen)
    }

    fn touch(&self, name: &[u8]) -> bool {
        touch_at(self.fd.as_fd(), name, AtFlags::empty()).is_ok()
    }

    /// Opens a file for reading; nothing when it is not there.
    fn open_file(&self, name: &[u8]) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match open_leased(|| rustix::fs::openat(&self.fd, name, flags, Mode::empty())) {
            Ok(fd) => regular::accept(File::from(fd)).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens an object's loose file, and tells its length; nothing when there is none that counts ([`Self::has_loose`]).
    pub(super) fn open_loose(&self, oid: Oid) -> io::Result<Option<(File, u64)>> {
        count(Work::ObjectOpens);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let name = loose::name(oid);
        let file =
            match open_leased(|| rustix::fs::openat(&self.fd, &name[..], flags, Mode::empty())) {
                Ok(fd) => File::from(fd),
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            };
        let meta = file.metadata()?;
        let mut first = [1];
        if meta.is_file() && meta.len() > 0 {
            // One that cannot be read is left to whoever goes on reading it.
            let _ = file.read_at(&mut first, 0);
            return Ok((first != [0]).then_some((file, meta.len())));
        }
        Ok(None)
    }

    /// A pack's bytes from a place on; nothing when they cannot be had.
    fn bytes_from<'p>(&self, pack: &'p Pack, offset: u64) -> Option<&'p [u8]> {
        let map = || mapped::map(&self.open_pack(pack).ok()??, Use::Parts).ok();
        let bytes = pack.map.get_or_init(map).as_ref()?;
        bytes.get(usize::try_from(offset).ok()?..)
    }

    /// The size of a blob, from the header of the first copy that has one. Where that is a difference its kind is not asked for.
    pub(super) fn blob_size(&self, oid: Oid) -> Option<u64> {
        let packs = self.packs();
        let mut places = packs.iter().filter_map(|pack| {
            let bytes = self.bytes_from(pack, pack.offset(oid)?)?;
            entry::size_of_blob(bytes, self.format)
        });
        places.next().or_else(|| {
            let (file, length) = self.open_loose(oid).ok()??;
            match loose::open(file, length) {
                Ok(Opened::Stream { kind, size, .. }) => (kind == ObjectKind::Blob).then_some(size),
                _ => None,
            }
        })
    }

    /// Opens a pack.
    pub(super) fn open_pack(&self, pack: &Pack) -> io::Result<Option<File>> {
        self.open_file(&pack.name)
    }

    /// Opens a pack for reading objects. It stays open until another one is read: the objects of a swap are in one or a few.
    pub(super) fn open_to_read(&self, pack: &Arc<Pack>) -> io::Result<Option<Arc<File>>> {
        let mut last = self
            .last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((known, file)) = &*last
            && Arc::ptr_eq(known, pack)
        {
            return Ok(Some(Arc::clone(file)));
        }
        let file = self.open_pack(pack)?.map(Arc::new);
        *last = file.clone().map(|file| (Arc::clone(pack), file));
        Ok(file)
    }

    /// Closes the pack that was read last: another file may have its name by now.
    pub(super) fn close_read(&self) {
        let mut last = self
            .last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = None;
    }

    /// `pack/….pack` of every pack, in order.
    pub(super) fn pack_names(&self) -> Vec<String> {
        let packs = self.packs();
        let mut names: Vec<String> = packs
            .iter()
            .map(|pack| String::from_utf8_lossy(&pack.name).into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    fn packs(&self) -> Packs {
        let listing = self.listing.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = &*listing {
            return Arc::clone(&listing.packs);
        }
        drop(listing);
        self.reload()
    }

    /// Reads the list of packs again.
    pub(super) fn reload(&self) -> Packs {
        let mut listing = self.listing.write().unwrap_or_else(PoisonError::into_inner);
        let known = listing.take().unwrap_or_default().packs;
        // One that was removed gives its space free when nobody has it open.
        self.close_read();
        // Before the listing: a pack that comes meanwhile makes the next stamp another one.
        let stamp = self.pack_dir_stamp();
        let racy = stamp.is_some_and(|stamp| {
            let (seconds, nanos) = stamp.mtime;
            is_racy(nanoseconds(seconds, nanos.cast_signed()), clock_nanos())
        });
        let (packs, racy) = if let Ok(packs) = self.list_packs(&known) {
            (Arc::new(packs), racy)
        } else {
            // What was known is still there, and the next miss asks again.
            self.missed_packs.store(true, Ordering::Relaxed);
            (known, true)
        };
        *listing = Some(Listing {
            stamp,
            racy,
            packs: Arc::clone(&packs),
        });
        packs
    }

    /// Adds a pack that was just put in place, when the list has been read.
    pub(super) fn adopt(&self, stem: &str) {
        let mut listing = self.listing.write().unwrap_or_else(PoisonError::into_inner);
        let Some(listing) = &mut *listing else {
            return;
        };
        if let Some(pack) = self.load_pack(stem.as_bytes(), false, &[]) {
            let older = listing.packs.iter().cloned();
            listing.packs = Arc::new(std::iter::once(pack).chain(older).collect());
        }
    }

    /// Reads the list of packs again when the directory may have changed since, going by its stamp. Whether it did that.
    pub(super) fn reload_if_changed(&self) -> bool {
        let listing = self.listing.read().unwrap_or_else(PoisonError::into_inner);
        let same = listing
            .as_ref()
            .is_some_and(|listing| !listing.racy && listing.stamp == self.pack_dir_stamp());
        drop(listing);
        let same = same && tells_of_names(&self.fd);
        if !same {
            self.reload();
        }
        !same
    }

    fn pack_dir_stamp(&self) -> Option<Stamp> {
        let stat = rustix::fs::statat(&self.fd, "pack", AtFlags::empty()).ok()?;
        Some(Stamp::from(&stat))
    }

    /// Every idx with its pack beside it, whatever its name (`git maintenance` makes `loose-….pack`); one that cannot be read is passed
    /// over, as git does. Cruft packs come last. None where there is no directory; one that cannot be read is an error.
    fn list_packs(&self, known: &[Arc<Pack>]) -> io::Result<Vec<Arc<Pack>>> {
        let names: HashSet<OsString> = match std::fs::read_dir(self.path.join("pack")) {
            Err(error) if regular::is_absent(&error) => HashSet::new(),
            entries => entries?
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?,
        };
        let beside = |stem: &[u8], end: &[u8]| {
            let name = OsString::from_vec([stem, end].concat());
            names.contains(&name)
        };
        let mut packs: Vec<_> = names
            .iter()
            .filter_map(|name| name.as_bytes().strip_suffix(b".idx"))
            .filter(|stem| beside(stem, b".pack"))
            .filter_map(|stem| self.load_pack(stem, beside(stem, b".mtimes"), known))
            .collect();
        // The youngest first, as git has it: what was written last is asked for most.
        packs.sort_by_key(|pack| (pack.cruft, std::cmp::Reverse(pack.stamp.mtime)));
        Ok(packs)
    }

    /// Whether packs may have been missed since this directory was opened: then what is not found need not be gone.
    pub(super) fn missed_packs(&self) -> bool {
        self.missed_packs.load(Ordering::Relaxed)
    }

    /// A damaged index has nothing in it for anybody; of one that the system did not let us read nobody knows.
    fn noting_missed<T>(&self, read: io::Result<T>) -> Option<T> {
        if let Err(error) = &read
            && error.raw_os_error().is_some()
        {
            self.missed_packs.store(true, Ordering::Relaxed);
        }
        read.ok()
    }

    fn load_pack(&self, stem: &[u8], cruft: bool, known: &[Arc<Pack>]) -> Option<Arc<Pack>> {
        let name = [b"pack/", stem, b".pack"].concat();
        let opened = self.open_file(&[b"pack/", stem, b".idx"].concat());
        let file = self.noting_missed(opened)??;
        let stamp = Stamp::from(&rustix::fs::fstat(&file).ok()?);
        let old = known
            .iter()
            .find(|pack| pack.name == name && pack.stamp == stamp && pack.cruft == cruft);
        if let Some(old) = old {
            return Some(Arc::clone(old));
        }
        let idx = self.noting_missed(Idx::open(&file, self.format))?;
        Some(Arc::new(Pack {
            name,
            stamp,
            cruft,
            idx,
            map: OnceLock::new(),
            bases: Bases::default(),
        }))
    }
}
