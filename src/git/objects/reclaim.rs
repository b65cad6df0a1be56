//! Room on disk where no git ever runs its gc: what nothing reaches goes, and many loose objects become a pack.
//!
//! For private repositories alone, in which only `tw` writes; whoever calls says what is still needed, and holds `gc.pid`
//! ([`Collecting`](crate::git::gc::Collecting)), so that every writer goes on as beside git's own gc. Packs that git made are left as they are: git, where
//! somebody has it, clears them up. The order is that of [`super::fold`]: a new pack is in place and on disk before an old one
//! goes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::fold::{copy, free_packs, remove_pack};
use super::idx::Idx;
use super::pack_writer::PackWriter;
use super::store::ObjectStore;
use super::temp::Target;
use super::{ObjectWriter, WriteMode, loose};
use crate::error::{Result, ResultExt};
use crate::git::commit::tagged;
use crate::git::fs::{Durable, entries, is_there, remove_optional};
use crate::git::tree::{self, GITLINK_MODE};
use crate::git::{ObjectFormat, Oid};

/// Of a pack that is not looked at thoroughly, at least one in this many bytes must be free before it is written anew.
const WORTH: u64 = 4;
/// A larger loose file stays one.
const LARGE: u64 = 4 << 20;

/// How much is cleared away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thoroughness {
    /// What is older than this, where it is worth a pack's rewriting.
    OlderThan(Duration),
    /// Every byte.
    Everything,
}

/// What went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Objects.
    pub objects: u64,
    /// What they took on disk.
    pub bytes: u64,
    /// Objects that nothing needs and that are there all the same, where every byte was to go: in packs that git made, or keeps.
    pub left: u64,
}

impl ObjectStore {
    /// Everything that can be reached from these objects, they included.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when something of it is missing: then nobody can say what is needed.
    pub fn reachable(&self, roots: impl IntoIterator<Item = Oid>) -> Result<HashSet<Oid>> {
        let mut found = HashSet::new();
        let mut pending: Vec<Oid> = roots.into_iter().collect();
        while let Some(oid) = pending.pop() {
            if !found.insert(oid) {
                continue;
            }
            let (kind, bytes) = self.read(oid)?;
            match kind {
                super::ObjectKind::Commit => {
                    let commit = self.commit(oid)?;
                    pending.push(commit.tree);
                    pending.extend(commit.parents);
                }
                super::ObjectKind::Tag => pending.extend(tagged(&bytes)),
                super::ObjectKind::Blob => {}
                super::ObjectKind::Tree => {
                    for entry in tree::parse_any_names(&bytes, oid.format())? {
                        let node = entry.node;
                        if node.is_dir() {
                            pending.push(node.oid);
                        } else if node.mode != GITLINK_MODE && !found.contains(&node.oid) {
                            // Read as little as can be: that it is there is enough.
                            if !self.contains(node.oid) {
                                self.read(node.oid)?;
                            }
                            found.insert(node.oid);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// The id of every object in the repository's own directory; some more than once.
    ///
    /// # Errors
    /// A directory or an index cannot be read.
    pub fn all_ids(&self) -> Result<Vec<Oid>> {
        let mut found: Vec<Oid> = loose_files(&self.own().path, self.format())?
            .into_iter()
            .map(|(oid, _)| oid)
            .collect();
        for path in entries(&self.own().path.join("pack"))? {
            if path.extension().is_some_and(|end| end == "idx")
                && is_there(&path.with_extension("pack"))?
            {
                let idx = Idx::open(&crate::git::regular::open(&path)?, self.format())?;
                found.extend(idx.entries().into_iter().flatten().map(|entry| entry.oid));
            }
        }
        Ok(found)
    }

    /// Removes what is not `needed`. `note` stands in the `.keep` of new packs.
    ///
    /// # Errors
    /// The disk refuses, or a pack is damaged; that one stays.
    pub fn reclaim(
        &self,
        needed: &HashSet<Oid>,
        how: Thoroughness,
        note: &str,
    ) -> Result<Reclaimed> {
        let mut done = Reclaimed::default();
        for (oid, path) in loose_files(&self.own().path, self.format())? {
            if !needed.contains(&oid) && is_old(&path, how) {
                done.bytes += size(&path);
                done.objects += 1;
                remove_optional(&path)?;
            }
        }
        for pack in free_packs(&self.own().path.join("pack"), u64::MAX)? {
            self.sift(&pack.path, pack.size, needed, (how, note), &mut done)?;
        }
        self.refresh();
        if how == Thoroughness::Everything {
            let there: HashSet<Oid> = self.all_ids()?.into_iter().collect();
            done.left = there.difference(needed).count() as u64;
        }
        Ok(done)
    }

    /// Takes what is not needed out of one pack.
    fn sift(
        &self,
        pack: &Path,
        size: u64,
        needed: &HashSet<Oid>,
        (how, note): (Thoroughness, &str),
        done: &mut Reclaimed,
    ) -> Result<()> {
        let idx = Idx::open(
            &crate::git::regular::open(pack.with_extension("idx"))?,
            self.format(),
        )?;
        let all: Vec<Oid> = idx
            .entries()
            .into_iter()
            .flatten()
            .map(|entry| entry.oid)
            .collect();
        let free = all.iter().filter(|oid| !needed.contains(oid)).count() as u64;
        if free == 0 || !is_old(pack, how) {
            return Ok(());
        }
        let mut rest = 0;
        if free < all.len() as u64 {
            let what = || format!("cannot clear up '{}'", pack.display());
            let target = Target::new(&self.own().fd, &self.own().path).context(what)?;
            let mut writer = PackWriter::create(&target, self.format()).context(what)?;
            let mut seen: HashSet<Oid> = all
                .iter()
                .copied()
                .filter(|oid| !needed.contains(oid))
                .collect();
            copy(pack, size, &mut seen, &mut writer).context(what)?;
            rest = writer.size();
            let is_worth = size.saturating_sub(rest) >= size / WORTH;
            if how != Thoroughness::Everything && !is_worth {
                return Ok(());
            }
            let kept = writer
                .install(&target, self.own(), note, Durable::Yes)
                .context(what)?;
            if !is_old(pack, how) {
                // Somebody relies on it again. The new one says the same things twice, which harms nobody.
                return kept.release();
            }
            remove_pack(pack)?;
            kept.release()?;
        } else {
            remove_pack(pack)?;
        }
        done.objects += free;
        done.bytes += size.saturating_sub(rest);
        Ok(())
    }

    /// Makes a pack of loose objects when there are more than `limit`. Answers how many there were.
    ///
    /// # Errors
    /// The disk refuses, or one of them is damaged; then all stay.
    pub fn pack_loose(&self, limit: usize, note: &str) -> Result<usize> {
        let mut files = loose_files(&self.own().path, self.format())?;
        files.retain(|(_, path)| size(path) <= LARGE);
        if files.len() <= limit {
            return Ok(0);
        }
        let mode = WriteMode::Pack {
            keep_note: note.to_owned(),
            durable: Durable::Yes,
        };
        let writer = ObjectWriter::new(self, mode)?.afresh();
        for (oid, _) in &files {
            let (kind, bytes) = self.read(*oid)?;
            writer.put(kind, &bytes)?;
        }
        let written = writer.finish()?;
        for (_, path) in &files {
            remove_optional(path)?;
        }
        if let Some(pack) = written.pack {
            pack.release()?;
        }
        self.refresh();
        Ok(files.len())
    }
}

/// Asked at the last moment: what is used again is made young.
fn is_old(path: &Path, how: Thoroughness) -> bool {
    let Thoroughness::OlderThan(least) = how else {
        return true;
    };
    let modified = path.symlink_metadata().and_then(|meta| meta.modified());
    let age = modified.ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age >= least)
}

fn size(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |meta| meta.len())
}

/// Every loose object with its file.
fn loose_files(objects: &Path, format: ObjectFormat) -> Result<Vec<(Oid, PathBuf)>> {
    let mut found = Vec::new();
    for byte in 0..=255u8 {
        for path in entries(&objects.join(format!("{byte:02x}")))? {
            let name = path.file_name().unwrap_or_default();
            if let Some(oid) = loose::oid_of(byte, name, format) {
                found.push((oid, path));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::objects::ObjectKind;
    use crate::git::refs::sandbox::Sandbox;

    fn put(store: &ObjectStore, mode: WriteMode, texts: &[&str]) -> Vec<Oid> {
        let writer = ObjectWriter::new(store, mode).expect("a writer");
        let put = |text: &&str| writer.put(ObjectKind::Blob, text.as_bytes()).expect("put");
        let oids = texts.iter().map(put).collect();
        let written = writer.finish().expect("written");
        if let Some(pack) = written.pack {
            pack.release().expect("released");
        }
        oids
    }

    fn packed(store: &ObjectStore, texts: &[&str]) -> Vec<Oid> {
        let keep_note = "tw test 1 1".to_owned();
        let durable = Durable::No;
        put(store, WriteMode::Pack { keep_note, durable }, texts)
    }

    #[test]
    fn what_is_not_needed_goes_and_the_rest_can_be_read() {
        let sandbox = Sandbox::new();
        let store = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        let loose = put(&store, WriteMode::Loose, &["loose, needed", "loose, free"]);
        let mixed = packed(&store, &["packed, needed", "packed, free"]);
        let free = packed(&store, &["free", "free, too"]);
        let needed: HashSet<Oid> = [loose[0], mixed[0]].into();
        let note = "tw test 1 1";
        let young = Thoroughness::OlderThan(Duration::from_secs(60));
        let none = store.reclaim(&needed, young, note).expect("looked at");
        assert_eq!(none, Reclaimed::default());
        let done = store
            .reclaim(&needed, Thoroughness::Everything, note)
            .expect("reclaimed");
        assert_eq!(done.objects, 4);
        let reader = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        for store in [&store, &reader] {
            assert_eq!(store.read(mixed[0]).expect("there").1, b"packed, needed");
            assert_eq!(store.read(loose[0]).expect("there").1, b"loose, needed");
            for oid in [loose[1], mixed[1], free[0], free[1]] {
                assert!(!store.contains(oid));
            }
        }
        sandbox.git(&["fsck", "--full", "--strict"]);
    }

    #[test]
    fn many_loose_objects_become_a_pack() {
        let sandbox = Sandbox::new();
        let store = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        let oids = put(&store, WriteMode::Loose, &["one", "two", "three"]);
        assert_eq!(store.pack_loose(3, "tw test 1 1").expect("few"), 0);
        assert_eq!(store.pack_loose(2, "tw test 1 1").expect("packed"), 3);
        assert!(
            loose_files(&sandbox.git_dir().join("objects"), ObjectFormat::Sha1)
                .expect("listed")
                .is_empty()
        );
        let mut all = store.all_ids().expect("listed");
        all.sort_unstable();
        let mut wanted = oids.clone();
        wanted.sort_unstable();
        assert_eq!(all, wanted);
        assert_eq!(store.read(oids[2]).expect("there").1, b"three");
        sandbox.git(&["fsck", "--full", "--strict"]);
    }

    #[test]
    fn what_is_missing_is_an_error_and_not_absence() {
        let sandbox = Sandbox::new();
        let commit = sandbox.commit("one");
        let store = ObjectStore::open(&sandbox.git_dir(), ObjectFormat::Sha1).expect("opened");
        let found = store.reachable([commit]).expect("whole");
        assert_eq!(found.len(), 2, "the commit and its tree");
        let missing: Oid = "1234567890123456789012345678901234567890"
            .parse()
            .expect("an id");
        assert!(store.reachable([commit, missing]).is_err());
    }
}
