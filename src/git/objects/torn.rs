//! Loose objects that a power cut left empty, as zeros or torn: found by content, and moved out of git's way.
//!
//! git takes the name of such a file for the object, does not write it again, and its `fsck` and `gc` stop at it. Nothing is
//! deleted: the file goes to a directory of ours, where whoever wants its bytes finds them.

use std::path::{Path, PathBuf};

use crate::git::Oid;

use super::loose;
use super::odb_dir::OdbDir;
use super::read::is_whole;
use super::store::ObjectStore;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::Stamp;
use crate::git::{create, regular, threads};

impl ObjectStore {
    /// The loose objects of this repository, changed since `since` (nanoseconds since the epoch), that are not what their names
    /// say. Those of alternates are somebody else's, and one that may not be read is left to whoever reads it.
    pub fn torn_since(&self, since: i64) -> Vec<Oid> {
        let own = self.own();
        let young = own.loose_since(since);
        let torn = threads::map(&young, |oid| own.is_torn(*oid));
        let both = young.into_iter().zip(torn);
        both.filter_map(|(oid, torn)| torn.then_some(oid)).collect()
    }

    /// Moves a torn loose object to `dir`. Another process may have written it anew since it was found: a good one goes back.
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn set_aside(&self, oid: Oid, dir: &Path) -> Result<()> {
        create::private_dir(dir)?;
        let name = String::from_utf8_lossy(&loose::name(oid)).into_owned();
        let (from, to) = (self.own().path.join(name), dir.join(oid.to_string()));
        let what = || format!("cannot move '{}' out of the way", from.display());
        // Moved first and looked at then: between a look and a move somebody could write a good one.
        std::fs::rename(&from, &to).context(what)?;
        if !is_torn(&to, oid) {
            std::fs::rename(&to, &from).context(what)?;
        }
        Ok(())
    }

    /// Whether every list of packs, and every index in it, could be read so far. What was not found before one that could not need not
    /// be gone.
    pub fn has_seen_all_packs(&self) -> bool {
        !self.dirs.iter().any(OdbDir::missed_packs)
    }

    /// Whether the object is there, in the packs of now, by its name alone: as [`Self::contains`] for who takes what is not there for
    /// lost.
    ///
    /// # Errors
    /// It was not found, and not every place could be looked at.
    pub fn is_there(&self, oid: Oid) -> Result<bool> {
        let look = || -> Result<bool> {
            for dir in &self.dirs {
                let loose = || dir.finds_loose(oid).context(|| cannot_look(oid));
                if dir.has_packed(oid) || loose()? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        // A gc may have moved it since packs were listed.
        if look()? || (self.lists_again() && look()?) {
            return Ok(true);
        }
        self.found_nowhere(oid)
    }

    /// Whether a copy of the object is there that is what its name says.
    ///
    /// # Errors
    /// As [`Self::is_there`]; also when a copy of it cannot be read.
    pub fn is_intact(&self, oid: Oid) -> Result<bool> {
        match self.verify(oid) {
            Err(error) if error.code() == Code::CorruptRecord => self.found_nowhere(oid),
            read => read.map(|()| true),
        }
    }

    fn found_nowhere(&self, oid: Oid) -> Result<bool> {
        if self.has_seen_all_packs() {
            return Ok(false);
        }
        let why = "not all packs can be read";
        Err(Error::new(Code::Io, why).while_doing(cannot_look(oid)))
    }

    /// Whether everything that others lend could be opened. Where it could not, an object that is missing need not be lost.
    pub fn has_all_alternates(&self) -> bool {
        let named = self.dirs.iter().map(OdbDir::alternates);
        let is_open = |path: PathBuf| {
            let found = path.canonicalize();
            found.is_ok_and(|found| self.dirs.iter().any(|dir| dir.path == found))
        };
        named
            .into_iter()
            .all(|paths| paths.is_ok_and(|paths| paths.into_iter().all(is_open)))
    }
}

impl OdbDir {
    fn loose_since(&self, since: i64) -> Vec<Oid> {
        let mut found = Vec::new();
        for number in 0..=255u8 {
            let dir = format!("{number:02x}");
            for entry in std::fs::read_dir(self.path.join(&dir))
                .into_iter()
                .flatten()
            {
                let Ok(entry) = entry else { continue };
                let Some(oid) = loose::oid_of(number, &entry.file_name(), self.format) else {
                    continue;
                };
                let path = entry.path();
                let stat = rustix::fs::lstat(&path).map(|stat| Stamp::of(&stat));
                if stat.is_ok_and(|stamp| stamp.is_file() && stamp.ctime >= since) {
                    found.push(oid);
                }
            }
        }
        found
    }

    fn is_torn(&self, oid: Oid) -> bool {
        let name = String::from_utf8_lossy(&loose::name(oid)).into_owned();
        is_torn(&self.path.join(name), oid)
    }
}

/// Whether a file has other bytes than an object of this name. Of one that cannot be read nobody knows that.
fn is_torn(path: &Path, oid: Oid) -> bool {
    let whole = || -> Result<bool> {
        let file = regular::open(path)?;
        let length = file.metadata()?.len();
        is_whole(file, length, oid)
    };
    whole().is_ok_and(|whole| !whole)
}

fn cannot_look(oid: Oid) -> String {
    format!("cannot look for object {oid}")
}
