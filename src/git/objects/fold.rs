//! Many small packs of ours made one.
//!
//! Each larger snapshot and each backup leaves a pack; every look-up asks all of them. Only packs that were made here are
//! touched, known by their names, never one with a `.keep` or anything else beside it that says somebody needs it as it is, nor one
//! that git's multi-pack-index names: git would look for its objects there. Their
//! entries are copied as they stand, by the checksums in their indexes, into a new pack; when it is in place and on disk, they go,
//! pack first: what a kill in between leaves is an index, in which no byte of anybody's is, and not a pack of which nobody
//! could say whether its objects are elsewhere. An index without its pack counts for nothing, here as in git. Whoever had a
//! pack open looks for the object once more and finds it in the new one. The new pack is as old as the youngest of them, so
//! that what nothing needs does not live longer.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::entry::{self, Entry};
use super::idx::{Idx, IdxEntry};
use super::midx::Named;
use super::pack_writer::{PackWriter, is_ours};
use super::store::ObjectStore;
use super::temp::Target;
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Durable, entries, is_there, remove_optional};

/// A larger pack stays as it is: what was folded is not copied over and over.
const SMALL: u64 = 32 << 20;

/// A pack of ours that nothing holds as it is.
pub(super) struct Free {
    /// The path of the pack file.
    pub(super) path: PathBuf,
    pub(super) size: u64,
}

impl ObjectStore {
    /// Makes one pack of the small ones of ours when there are more than `limit`. Answers how many there were. `note` stands in the
    /// `.keep` of the new pack while they go.
    ///
    /// # Errors
    /// The disk refuses, or one of them is damaged or vanishes; then all stay.
    pub fn fold_packs(&self, limit: usize, note: &str) -> Result<usize> {
        let dir = self.own().path.join("pack");
        clear_left_indexes(&dir)?;
        let packs = free_packs(&dir, SMALL)?;
        if packs.len() <= limit.max(1) {
            return Ok(0);
        }
        let what = || format!("cannot fold the packs in '{}'", dir.display());
        let target = Target::new(&self.own().fd, &self.own().path).context(what)?;
        let mut writer = PackWriter::create(&target, self.format()).context(what)?;
        let mut seen = HashSet::new();
        for pack in &packs {
            copy(&pack.path, pack.size, &mut seen, &mut writer)
                .context(|| format!("cannot fold '{}'", pack.path.display()))?;
        }
        let kept = writer
            .install(&target, self.own(), note, Durable::Yes)
            .context(what)?;
        // Asked now: an old pack is made young where something in it is used again.
        let youngest = packs.iter().filter_map(|pack| modified(&pack.path)).max();
        let file = crate::git::regular::open(dir.join(kept.name()).with_extension("pack"));
        // Without it the pack is young, and what nothing needs lives as long as git lets new objects live.
        let _ = file.and_then(|file| file.set_modified(youngest.unwrap_or(SystemTime::UNIX_EPOCH)));
        // Read anew: an index may have been written meanwhile.
        let named = Named::read(&dir);
        for pack in packs.iter().filter(|pack| !named.has(&pack.path)) {
            remove_pack(&pack.path)?;
        }
        kept.release()?;
        self.refresh();
        Ok(packs.len())
    }
}

/// The pack first: an index without its pack counts for nothing.
pub(super) fn remove_pack(pack: &Path) -> Result<()> {
    for end in ["pack", "rev", "idx"] {
        remove_optional(&pack.with_extension(end))?;
    }
    Ok(())
}

fn modified(pack: &Path) -> Option<SystemTime> {
    pack.symlink_metadata().ok()?.modified().ok()
}

/// Removes indexes of ours whose pack went and who stayed: a fold was killed. A pack always stands before its index does.
fn clear_left_indexes(dir: &Path) -> Result<()> {
    for path in entries(dir)? {
        let name = path.file_stem().and_then(std::ffi::OsStr::to_str);
        let is_index =
            path.extension().is_some_and(|end| end == "idx") && name.is_some_and(is_ours);
        if is_index && !is_there(&path.with_extension("pack"))? {
            remove_optional(&path.with_extension("rev"))?;
            remove_optional(&path)?;
        }
    }
    Ok(())
}

/// The packs of ours that nothing holds as they are, up to a size.
///
/// # Errors
/// The directory, or what may hold a pack, cannot be looked at.
pub(super) fn free_packs(dir: &Path, most: u64) -> Result<Vec<Free>> {
    let named = Named::read(dir);
    let mut free = Vec::new();
    for path in entries(dir)? {
        let name = path.file_stem().and_then(std::ffi::OsStr::to_str);
        let is_pack =
            path.extension().is_some_and(|end| end == "pack") && name.is_some_and(is_ours);
        if !is_pack || named.has(&path) || is_held(&path)? {
            continue;
        }
        if let Ok(meta) = path.symlink_metadata()
            && meta.len() <= most
        {
            let size = meta.len();
            free.push(Free { path, size });
        }
    }
    Ok(free)
}

/// Whether a pack has something beside it that says somebody needs it as it is, or no index.
fn is_held(pack: &Path) -> Result<bool> {
    for end in ["keep", "promisor", "mtimes", "bitmap"] {
        if is_there(&pack.with_extension(end))? {
            return Ok(true);
        }
    }
    Ok(!is_there(&pack.with_extension("idx"))?)
}

/// Appends what a pack of this size has and is not among what was seen.
pub(super) fn copy(
    pack: &Path,
    size: u64,
    seen: &mut HashSet<Oid>,
    to: &mut PackWriter,
) -> io::Result<()> {
    let file = crate::git::regular::open(pack)?;
    let format = to.format;
    let idx = Idx::open(
        &crate::git::regular::open(pack.with_extension("idx"))?,
        format,
    )?;
    let mut entries = idx.entries().ok_or(io::ErrorKind::InvalidData)?;
    entries.sort_unstable_by_key(|entry| entry.offset);
    let ends = entries.iter().skip(1).map(|entry| entry.offset);
    let trailer = size.saturating_sub(format.width() as u64);
    let ends: Vec<u64> = ends.chain([trailer]).collect();
    let mut bytes = Vec::new();
    for (entry, end) in entries.iter().zip(ends) {
        if !seen.insert(entry.oid) {
            continue;
        }
        let length = end
            .checked_sub(entry.offset)
            .filter(|length| *length <= size);
        let length = length.and_then(|length| usize::try_from(length).ok());
        bytes.resize(length.ok_or(io::ErrorKind::InvalidData)?, 0);
        file.read_exact_at(&mut bytes, entry.offset)?;
        append(entry, &bytes, to)?;
    }
    Ok(())
}

fn append(at: &IdxEntry, bytes: &[u8], to: &mut PackWriter) -> io::Result<()> {
    // A difference would name a place in its own pack.
    let whole = matches!(
        entry::decode(bytes, at.oid.format()),
        Some(Entry::Whole(..))
    );
    if !whole || crc32fast::hash(bytes) != at.crc {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("object {} is damaged", at.oid),
        ));
    }
    to.append(at.oid, &[], bytes, at.crc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::ObjectFormat;
    use crate::git::objects::{ObjectKind, ObjectWriter, WriteMode};
    use crate::git::refs::sandbox::Sandbox;

    /// Blobs in one pack, whose `.keep` is released.
    fn pack_of(store: &ObjectStore, texts: &[String]) -> Vec<Oid> {
        let mode = WriteMode::Pack {
            keep_note: "tw test 1 1".to_owned(),
            durable: Durable::No,
        };
        let writer = ObjectWriter::new(store, mode).expect("a writer");
        let put = |text: &String| writer.put(ObjectKind::Blob, text.as_bytes()).expect("put");
        let oids = texts.iter().map(put).collect();
        let written = writer.finish().expect("written");
        written.pack.expect("a pack").release().expect("released");
        oids
    }

    fn texts(from: usize) -> Vec<String> {
        (from..from + 5)
            .map(|n| format!("text {n}\n").repeat(n))
            .collect()
    }

    fn stems(sandbox: &Sandbox, end: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(sandbox.git_dir().join("objects/pack")).expect("there");
        let paths = entries.flatten().map(|entry| entry.path());
        let mut stems: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|found| found == end))
            .map(|path| path.with_extension(""))
            .collect();
        stems.sort();
        stems
    }

    #[test]
    fn many_packs_become_one_with_all_that_was_in_them() {
        let sandbox = Sandbox::new();
        let store = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        let sets: Vec<Vec<Oid>> = (1..6).map(|n| pack_of(&store, &texts(n))).collect();
        let reader = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        assert!(reader.contains(sets[0][0]));
        assert_eq!(store.fold_packs(5, "tw test 1 1").expect("few"), 0);
        assert_eq!(store.fold_packs(4, "tw test 1 1").expect("folded"), 5);
        assert_eq!(stems(&sandbox, "pack").len(), 1);
        assert_eq!(stems(&sandbox, "pack"), stems(&sandbox, "idx"));
        assert_eq!(stems(&sandbox, "keep"), Vec::<PathBuf>::new());
        for (oids, n) in sets.iter().zip(1..) {
            for (oid, text) in oids.iter().zip(texts(n)) {
                // Also for whoever knew the old ones alone.
                for store in [&store, &reader] {
                    assert_eq!(store.read(*oid).expect("there").1, text.as_bytes());
                }
            }
        }
        sandbox.git(&["fsck", "--full", "--strict"]);
        let idx = stems(&sandbox, "idx").remove(0).with_extension("idx");
        sandbox.git(&["verify-pack", &idx.display().to_string()]);
    }

    #[test]
    fn packs_of_others_and_packs_in_use_stay() {
        let sandbox = Sandbox::new();
        sandbox.commit("one");
        sandbox.git(&[
            "update-ref",
            "refs/heads/main",
            &sandbox.commit("two").to_string(),
        ]);
        sandbox.git(&["repack", "-adq"]);
        let theirs = stems(&sandbox, "pack");
        let store = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        pack_of(&store, &texts(1));
        let used = stems(&sandbox, "pack")
            .into_iter()
            .find(|stem| !theirs.contains(stem));
        let used = used.expect("ours");
        std::fs::write(used.with_extension("keep"), "").expect("written");
        pack_of(&store, &texts(2));
        pack_of(&store, &texts(3));
        let others: Vec<PathBuf> = stems(&sandbox, "pack")
            .into_iter()
            .filter(|stem| *stem != used && !theirs.contains(stem))
            .collect();
        // Whose index somebody lost: nobody can say what is in it, and git can make another.
        let lone = &others[0];
        std::fs::rename(lone.with_extension("idx"), lone.with_extension("gone")).expect("moved");
        // Whose pack a killed fold had removed.
        let left = others[1].with_file_name(format!("{}.idx", name_of_ours()));
        std::fs::copy(others[1].with_extension("idx"), &left).expect("copied");
        pack_of(&store, &texts(4));
        assert_eq!(store.fold_packs(1, "tw test 1 1").expect("folded"), 2);
        let packs = stems(&sandbox, "pack");
        assert_eq!(packs.len(), 4);
        assert!(packs.contains(&used) && packs.contains(&theirs[0]) && packs.contains(lone));
        assert!(!left.exists());
        sandbox.git(&[
            "index-pack",
            &lone.with_extension("pack").display().to_string(),
        ]);
        sandbox.git(&["fsck", "--full", "--strict"]);
    }

    /// A name such as ours have, which no pack has.
    fn name_of_ours() -> String {
        let digits = "0123456789abcdef".repeat(2);
        let mark = crc32fast::hash(digits.as_bytes());
        format!("pack-{digits}{mark:08x}")
    }

    #[test]
    fn packs_of_a_multi_pack_index_stay() {
        let sandbox = Sandbox::new();
        let store = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        pack_of(&store, &texts(1));
        pack_of(&store, &texts(2));
        sandbox.git(&["multi-pack-index", "write"]);
        let named = stems(&sandbox, "pack");
        assert_eq!(store.fold_packs(1, "tw test 1 1").expect("none"), 0);
        pack_of(&store, &texts(3));
        pack_of(&store, &texts(4));
        assert_eq!(store.fold_packs(1, "tw test 1 1").expect("folded"), 2);
        let packs = stems(&sandbox, "pack");
        assert_eq!(packs.len(), 3);
        assert!(named.iter().all(|pack| packs.contains(pack)));
        sandbox.git(&["multi-pack-index", "verify"]);
        sandbox.git(&["fsck", "--full", "--strict"]);
    }

    #[test]
    fn a_damaged_pack_leaves_all_as_they_are() {
        let sandbox = Sandbox::new();
        let store = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        pack_of(&store, &texts(1));
        pack_of(&store, &texts(20));
        let before = stems(&sandbox, "pack");
        let path = before[1].with_extension("pack");
        let mut bytes = std::fs::read(&path).expect("read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, bytes).expect("written");
        store.fold_packs(1, "tw test 1 1").expect_err("damaged");
        assert_eq!(stems(&sandbox, "pack"), before);
    }
}
