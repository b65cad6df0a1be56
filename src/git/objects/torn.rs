//! Loose objects that a power cut left empty, as zeros or torn: found by content, and moved out of git's way.
//!
//! git takes the name of such a file for the object, does not write it again, and its `fsck` and `gc` stop at it. Nothing is
//! deleted: the file goes to a directory of ours, where whoever wants its bytes finds them.

use std::path::Path;

use crate::git::Oid;
use rustix::fs::Access;

use super::loose;
use super::odb_dir::OdbDir;
use super::read::is_whole;
use super::store::ObjectStore;
use crate::error::{Result, ResultExt};
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
        let good = regular::open(&to).is_ok_and(|file| is_good(file, oid));
        if good {
            std::fs::rename(&to, &from).context(what)?;
        }
        Ok(())
    }

    /// Whether every list of packs, and every index in it, could be read so far. What was not found before one that could not need not
    /// be gone.
    pub fn has_seen_all_packs(&self) -> bool {
        !self.dirs.iter().any(OdbDir::missed_packs)
    }

    /// Whether this process may read all there is of objects, and could so far. What it may not read, such as another user's, is not
    /// lost.
    pub fn may_read_all(&self) -> bool {
        if !self.has_seen_all_packs() {
            return false;
        }
        let fan_out = (0..=255u8).map(|number| format!("{number:02x}"));
        let names: Vec<String> = fan_out.chain(["pack".to_owned()]).collect();
        let mut paths = self
            .dirs
            .iter()
            .flat_map(|dir| names.iter().map(|name| dir.path.join(name)));
        paths.all(|path| may_read_in(&path))
    }

    /// Whether everything that others lend could be opened. Where it could not, an object that is missing need not be lost.
    pub fn has_all_alternates(&self) -> bool {
        let named = self.dirs.iter().flat_map(OdbDir::alternates);
        named.into_iter().all(|path| {
            let found = path.canonicalize();
            found.is_ok_and(|found| self.dirs.iter().any(|dir| dir.path == found))
        })
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
        regular::open(self.path.join(name)).is_ok_and(|file| !is_good(file, oid))
    }
}

fn may_read_in(dir: &Path) -> bool {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.all(|entry| {
            entry.is_ok_and(|entry| rustix::fs::access(entry.path(), Access::READ_OK).is_ok())
        }),
        Err(error) => regular::is_absent(&error),
    }
}

fn is_good(file: std::fs::File, oid: Oid) -> bool {
    let length = file.metadata().map_or(0, |meta| meta.len());
    is_whole(file, length, oid)
}
