//! The object database of a repository: which objects exist, and keeping them young.
//!
//! Opened on the common git dir, with every alternate reached from it. Never follows `GIT_OBJECT_DIRECTORY` and the like,
//! never fetches. Reading is in `read`, writing in `writer`.

use std::path::Path;

use super::ObjectKind;
use super::hash::hash;
use super::odb_dir::{Freshened, OdbDir};
use super::read::is_whole;
use super::remembered::Remembered;
use crate::error::{Result, ResultExt};
use crate::git::{ObjectFormat, Oid, threads};
use crate::work::{Work, count};

/// git gives up on alternates of alternates at this depth.
const DEEPEST: usize = 5;

/// Objects of one repository. Used by several threads at once.
pub struct ObjectStore {
    /// The repository's own directory first, then alternates.
    pub(super) dirs: Vec<OdbDir>,
    /// Trees that were read.
    pub(super) trees: Remembered,
}

impl ObjectStore {
    /// Opens `objects` under the common git dir of a repository of this format, and its alternates, which are of the same; an
    /// alternate that is gone is passed over.
    ///
    /// # Errors
    /// The objects directory cannot be opened.
    pub fn open(common_git_dir: &Path, format: ObjectFormat) -> Result<Self> {
        let path = common_git_dir.join("objects");
        let own = OdbDir::open(&path, format)
            .context(|| format!("cannot open object directory '{}'", path.display()))?;
        let mut dirs = vec![own];
        add_alternates(&mut dirs, 0, 0);
        Ok(Self {
            dirs,
            trees: Remembered::default(),
        })
    }

    /// How its objects are named.
    pub fn format(&self) -> ObjectFormat {
        self.own().format
    }

    /// The id that an object has here, or would have.
    ///
    /// # Errors
    /// Bytes made for a SHA-1 collision attack; [`super::is_collision`] tells.
    pub fn hash(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        hash(self.format(), kind, data)
    }

    /// The directory that is written to.
    pub(super) fn own(&self) -> &OdbDir {
        self.dirs.first().expect("`open` puts the own one first")
    }

    /// Where objects are: the repository's own directory, then those of alternates, and of theirs. Resolved.
    pub fn object_dirs(&self) -> impl Iterator<Item = &Path> {
        self.dirs.iter().map(|dir| dir.path.as_path())
    }

    /// Whether the object exists, loose or packed, here or in an alternate. The list of packs is the one last read; see
    /// [`Self::refresh`].
    pub fn contains(&self, oid: Oid) -> bool {
        count(Work::ObjectLookups);
        self.dirs
            .iter()
            .any(|dir| dir.has_packed(oid) || dir.has_loose(oid))
    }

    /// A blob's size, from its header alone; nothing when it does not exist, is none, or its header is damaged. For thousands of
    /// them: a pack is opened once.
    pub fn blob_size(&self, oid: Oid) -> Option<u64> {
        self.dirs.iter().find_map(|dir| dir.blob_size(oid))
    }

    /// Whether the object may be relied on: it is in a pack, or loose and whole. A loose file that a crash or a disk has damaged
    /// counts as none. What is not found is looked for again where packs were made or removed since they were listed: a gc may be at
    /// work, and nobody may take what it moved for lost.
    pub fn is_sound(&self, oid: Oid) -> bool {
        self.is_sound_as_listed(oid) || (self.lists_again() && self.is_sound_as_listed(oid))
    }

    /// Reads the lists of packs again that may have changed, and answers whether there was one.
    pub(super) fn lists_again(&self) -> bool {
        let changed = self.dirs.iter().filter(|dir| dir.reload_if_changed());
        changed.count() > 0
    }

    pub(super) fn is_sound_as_listed(&self, oid: Oid) -> bool {
        count(Work::ObjectLookups);
        self.dirs.iter().any(|dir| dir.has_packed(oid))
            || (self.dirs.iter().any(|dir| dir.has_loose(oid)) && self.verify(oid).is_ok())
    }

    /// Reads the lists of packs again, so that packs made or removed by others since are known.
    pub fn refresh(&self) {
        for dir in &self.dirs {
            dir.reload();
        }
    }

    /// Whether other directories lend objects, which are there only as long as whoever has them wants it.
    pub fn borrows(&self) -> bool {
        self.dirs.len() > 1
    }

    /// Whether the repository's own directory has the object, by its name alone. The list of packs is the one last read.
    pub fn owns(&self, oid: Oid) -> bool {
        count(Work::ObjectLookups);
        self.own().has_packed(oid) || self.own().names_loose(oid)
    }

    /// True when the repository's own directory has the object, sound ([`Self::is_sound`]), *and* its file got a new mtime, so that a prune
    /// by age leaves it alone for as long as git grants new objects. False: write it again. Objects in cruft packs cannot be freshened,
    /// and of what another directory lends nobody has promised anything here.
    pub fn freshen(&self, oid: Oid) -> bool {
        let own = self.own();
        match own.freshen(oid) {
            None => false,
            // The file that was opened is proven: finding it twice more would cost as much as the proof does.
            Some(Freshened::Loose(file, length)) => {
                own.has_packed(oid)
                    || is_whole(file, length, oid).is_ok_and(|whole| whole)
                    || self.owns_sound(oid)
            }
            Some(Freshened::Unseen) => self.owns_sound(oid),
        }
    }

    /// As [`Self::is_sound`], of the repository's own directory alone.
    fn owns_sound(&self, oid: Oid) -> bool {
        let own = self.own();
        let as_listed = || {
            count(Work::ObjectLookups);
            let loose = || own.open_loose(oid).ok().flatten();
            let is_whole = |(file, length)| is_whole(file, length, oid).is_ok_and(|whole| whole);
            own.has_packed(oid) || loose().is_some_and(is_whole)
        };
        as_listed() || (own.reload_if_changed() && as_listed())
    }

    /// Whether objects are all there still that this process has read or written whole: by their names alone. The list of packs is
    /// the one last read.
    pub fn still_has(&self, oids: &[Oid]) -> bool {
        let is_there = |oid: &Oid| {
            count(Work::ObjectLookups);
            let mut dirs = self.dirs.iter();
            dirs.any(|dir| dir.has_packed(*oid) || dir.names_loose(*oid))
        };
        threads::map(oids, is_there).into_iter().all(|there| there)
    }
}

/// Adds the alternates of `dirs[at]`, and theirs.
fn add_alternates(dirs: &mut Vec<OdbDir>, at: usize, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    let Some(format) = dirs.first().map(|dir| dir.format) else {
        return;
    };
    let named = dirs.get(at).map(OdbDir::alternates);
    for path in named.and_then(Result::ok).unwrap_or_default() {
        let Ok(dir) = OdbDir::open(&path, format) else {
            continue;
        };
        if dirs.iter().all(|known| known.path != dir.path) {
            dirs.push(dir);
            add_alternates(dirs, dirs.len() - 1, depth + 1);
        }
    }
}
