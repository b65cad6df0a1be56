//! Large files that a filter converts (git LFS): of them a snapshot has what git's index says, and not their bytes.
//!
//! They stay in place as long as both sides have the same of them, also where bits, owner, group or attributes differ. What somebody does
//! to one in the past is in the experiment, and the backup has git's text alone: where the present's bytes are still at hand, in place or
//! under another name, or a swap of the stay saved them, a swap puts these back. Where they are not, git's text is put there, and the
//! return says so. It also says where nothing proves that they are the present's: a file of which the time of the last change moved may
//! have been written to. The text of git LFS proves it, since it names the bytes by their hash; that of any other filter does not.

use std::cell::{LazyCell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::os::fd::AsFd;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::plan::{Others, side_on_disk};
use super::present_own::PresentOwn;
use crate::error::Result;
use crate::git::Oid;
use crate::git::fs::{Root, stamp_of};
use crate::git::hex::hex;
use crate::git::lfs::{self, Pointer};
use crate::git::path;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::unsaved::{Certainty, Filtered};
use crate::store::Store;
use crate::store::snapshot::Lists;
use crate::store::state::Journal;
use crate::store::stored::Stored;
use crate::text::count;
use crate::worktree::manifest::{FileRec, Kind, Manifest};
use crate::worktree::plan::{Plan, PlanEntry, Side};

/// Whether something holds of a path.
pub(super) type OfPath<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Files that earlier looks of a preparation took for clean, and that are captured since, because they are in the plan.
pub(super) type Clean = BTreeMap<Vec<u8>, Filtered>;

/// The hashes of what was read; None for what could not be.
#[derive(Debug, Default)]
pub(super) struct Hashes {
    /// Of files, by inode number and status change time.
    files: RefCell<HashMap<(u64, i64), Option<String>>>,
    blobs: RefCell<HashMap<Oid, Option<String>>>,
}

/// The bytes of a file that git held for clean, which are in the way of nothing, in the place of git's text of it.
pub(super) fn leave_clean(
    clean: &Clean,
    manifest: &Manifest,
    path: &[u8],
    after: Option<Side>,
) -> Option<Side> {
    let mut after = after?;
    if let Some(found) = clean_at(clean, manifest, path, after.node.oid) {
        after.node.oid = found.oid;
    }
    Some(after)
}

/// The file at a path, by its bytes, that an earlier look took for this blob.
fn clean_at(clean: &Clean, manifest: &Manifest, path: &[u8], blob: Oid) -> Option<FileRec> {
    let seen = clean.get(path).filter(|seen| seen.has_blob(blob))?;
    let found = manifest.file(path)?;
    (found.kind == Kind::File && seen.is(&found.stamp).is_some()).then_some(found)
}

/// Files with their paths, by inode number and size.
type ByNumbers = BTreeMap<(u64, u64), Vec<(Vec<u8>, FileRec)>>;

/// The files of the present in a plan of a swap that begins in the past.
struct PresentFiles<'a> {
    store: &'a Store,
    root: &'a Root,
    /// What is there.
    manifest: &'a Manifest,
    /// As the present had them.
    noted: &'a BTreeMap<Vec<u8>, Filtered>,
    /// What the capture has whatever the rules say.
    forced: &'a BTreeSet<Vec<u8>>,
    clean: &'a Clean,
    hashes: &'a Hashes,
    /// Whether a path is to have another owner, group or attributes.
    has_other_access: OfPath<'a>,
    /// Files of the manifest that may be one of them, by inode number and size, once they are asked for.
    elsewhere: OnceCell<ByNumbers>,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bytes {
    /// What is there, which git holds for clean, stays.
    InPlace(Certainty),
    /// What is there is the file as it was, bits and all, and too large for the capture: it stays.
    Untouched,
    /// The file at this path has them, and is too large for a capture that is not told to have it.
    Uncaptured(Vec<u8>),
    /// It gets these.
    Are(Oid, Certainty),
    /// They are nowhere: it gets git's text.
    Lost,
}

impl PresentFiles<'_> {
    /// Puts the present's bytes into a plan in the place of git's text, as far as they are there.
    fn keep_bytes(&self, plan: &mut Plan) {
        let (mut lost, mut unproven, mut untouched) = (Vec::new(), Vec::new(), BTreeSet::new());
        for entry in &mut plan.entries {
            let Some(after) = &mut entry.after else {
                continue;
            };
            let file = self.noted.get(&entry.path);
            let Some(file) = file.filter(|file| file.has_blob(after.node.oid)) else {
                continue;
            };
            match self.bytes_of(&entry.path, file) {
                Bytes::InPlace(Certainty::Certain) => {}
                Bytes::InPlace(Certainty::Likely) => unproven.push(entry.path.clone()),
                Bytes::Untouched if self.has_other_bits(&entry.path, after) => {
                    plan.uncaptured.push(entry.path.clone());
                }
                Bytes::Untouched => _ = untouched.insert(entry.path.clone()),
                Bytes::Uncaptured(at) => plan.uncaptured.push(at),
                Bytes::Are(oid, certainty) => {
                    after.node.oid = oid;
                    if certainty == Certainty::Likely {
                        unproven.push(entry.path.clone());
                    }
                }
                Bytes::Lost => lost.push(entry.path.clone()),
            }
        }
        plan.entries
            .retain(|entry| !untouched.contains(&entry.path));
        plan.lost.extend(lost);
        plan.unproven.extend(unproven);
    }

    /// The same of those that the plan has nothing for, since what is there is for git what the present had: they may have been written
    /// to all the same, or be git's text. `is_meant`: whether a path is one of the plan's.
    fn look_at_others(&self, is_meant: OfPath<'_>, plan: &mut Plan) {
        let mut more = Vec::new();
        for (path, file) in self.noted {
            let here = self.manifest.file(path);
            let here = here.filter(|here| file.has_blob(here.oid) && is_meant(path));
            if here.is_none() || plan.entry(path).is_some() {
                continue;
            }
            match self.bytes_of(path, file) {
                Bytes::InPlace(Certainty::Certain) | Bytes::Untouched => {}
                Bytes::Uncaptured(at) => plan.uncaptured.push(at),
                Bytes::InPlace(Certainty::Likely) => plan.unproven.push(path.clone()),
                Bytes::Are(oid, certainty) => {
                    let Some(before) = side_on_disk(self.manifest, path) else {
                        continue;
                    };
                    let mut after = before;
                    after.node.oid = oid;
                    more.push(PlanEntry {
                        path: path.clone(),
                        before: Some(before),
                        after: Some(after),
                    });
                    if certainty == Certainty::Likely {
                        plan.unproven.push(path.clone());
                    }
                }
                Bytes::Lost => plan.lost.push(path.clone()),
            }
        }
        plan.entries.extend(more);
        plan.entries.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// What is surest comes first; of that, what need not be read.
    fn bytes_of(&self, path: &[u8], file: &Filtered) -> Bytes {
        use Certainty::{Certain, Likely};
        let here = self.manifest.file(path);
        let has_bytes = [Kind::File, Kind::FilteredClean, Kind::TooLarge];
        let here = here.filter(|here| has_bytes.contains(&here.kind));
        let is_here = here.and_then(|here| file.is(&here.stamp));
        let text = LazyCell::new(|| self.text_of(file));
        if let Some(bytes) = here.and_then(|here| self.uncaptured(path, here, file)) {
            return bytes;
        }
        let held_clean = here.filter(|here| self.is_held_clean(path, here, file));
        let in_place = here.filter(|here| here.kind == Kind::File);
        if let Some(here) = held_clean.or(in_place).filter(|_| is_here == Some(Certain)) {
            return as_it_is(here, Certain);
        }
        if let Some(here) = held_clean.filter(|_| text.is_some()) {
            return as_it_is(here, Certain);
        }
        let is_saved = |here: &FileRec| file.saved() == Some((here.oid, Certain));
        if let Some(here) = in_place.filter(is_saved) {
            return as_it_is(here, Certain);
        }
        // One that is damaged is as good as none.
        let saved = LazyCell::new(|| {
            let saved = file.saved();
            saved.filter(|(oid, _)| self.hash_of_blob(*oid).is_some())
        });
        let saved_as =
            |wanted| saved.filter(|(_, certainty)| wanted == Likely || *certainty == Certain);
        let surest = |wanted| {
            let elsewhere = self.elsewhere(file, wanted).next();
            let elsewhere = elsewhere.map(|(path, found)| bytes_at(path, found, wanted));
            elsewhere.or_else(|| Some(Bytes::Are(saved_as(wanted)?.0, wanted)))
        };
        if let Some(bytes) = surest(Certain) {
            return bytes;
        }
        if let Some(text) = &*text {
            let proven = self.proven(text, (path, in_place), file, *saved);
            return proven.unwrap_or(Bytes::Lost);
        }
        if let Some(here) = held_clean.or(in_place.filter(|_| is_here.is_some())) {
            return as_it_is(here, Likely);
        }
        surest(Likely).unwrap_or(Bytes::Lost)
    }

    /// Where a file of the present, or its bytes, are in its place and too large for the capture.
    fn uncaptured(&self, path: &[u8], here: FileRec, file: &Filtered) -> Option<Bytes> {
        if here.kind != Kind::TooLarge || self.forced.contains(path) {
            return None;
        }
        let is_named = || Some(self.is_named(&self.text_of(file)?, path, &here));
        match file.is(&here.stamp) {
            Some(Certainty::Certain) => Some(Bytes::Untouched),
            Some(Certainty::Likely) => Some(Bytes::Uncaptured(path.to_vec())),
            None => (is_named() == Some(true)).then(|| Bytes::Uncaptured(path.to_vec())),
        }
    }

    /// Whether a file has other bits, owner, group or attributes than it is to have.
    fn has_other_bits(&self, path: &[u8], after: &Side) -> bool {
        let here = self.manifest.file(path);
        let bits = here.map(|here| here.stamp.permissions());
        bits != Some(after.perm) || (self.has_other_access)(path)
    }

    /// Whether git holds what is at a path for the file that the present had, or did so until it was captured.
    fn is_held_clean(&self, path: &[u8], here: &FileRec, file: &Filtered) -> bool {
        let was_clean = |blob| clean_at(self.clean, self.manifest, path, blob).is_some();
        here.kind == Kind::FilteredClean && file.has_blob(here.oid)
            || file.blob().is_some_and(was_clean)
    }

    /// The bytes that this text of git LFS names, where they are at hand.
    fn proven(
        &self,
        text: &Pointer,
        (path, in_place): (&[u8], Option<FileRec>),
        file: &Filtered,
        saved: Option<(Oid, Certainty)>,
    ) -> Option<Bytes> {
        use Certainty::{Certain, Likely};
        if let Some(here) = in_place.filter(|here| self.is_named(text, path, here)) {
            return Some(bytes_at(path, &here, Certain));
        }
        let mut elsewhere = self.elsewhere(file, Likely);
        if let Some((path, found)) =
            elsewhere.find(|(path, found)| self.is_named(text, path, found))
        {
            return Some(bytes_at(path, found, Certain));
        }
        let saved = saved.map(|(oid, _)| oid);
        let saved = saved.filter(|oid| self.hash_of_blob(*oid).as_ref() == Some(&text.sha256));
        saved.map(|oid| Bytes::Are(oid, Certain))
    }

    /// Whether a file has the bytes that this text of git LFS names.
    fn is_named(&self, text: &Pointer, path: &[u8], found: &FileRec) -> bool {
        found.stamp.size == text.size && self.hash(path, found).as_ref() == Some(&text.sha256)
    }

    /// The text of git LFS that the backup has of a file, where it has one.
    fn text_of(&self, file: &Filtered) -> Option<Pointer> {
        let text = self.store.objects.read_blob_up_to(file.blob()?, lfs::MOST);
        Pointer::parse(&text.ok()??)
    }

    /// The files under other names that are, so surely at least, a file of the present.
    fn elsewhere<'s>(
        &'s self,
        file: &'s Filtered,
        wanted: Certainty,
    ) -> impl Iterator<Item = &'s (Vec<u8>, FileRec)> {
        let found = self.elsewhere.get_or_init(|| self.all_elsewhere());
        let found = found.get(&file.key()).into_iter().flatten();
        found.filter(move |(_, found)| match file.is(&found.stamp) {
            Some(Certainty::Certain) => true,
            Some(Certainty::Likely) => wanted == Certainty::Likely,
            None => false,
        })
    }

    fn all_elsewhere(&self) -> ByNumbers {
        let keys = self.noted.values().map(|file| (file.key(), Vec::new()));
        let mut found: ByNumbers = keys.collect();
        for (dir, file) in self.manifest.entries() {
            if !matches!(file.kind, Kind::File | Kind::TooLarge) {
                continue;
            }
            if let Some(found) = found.get_mut(&(file.stamp.ino, file.stamp.size)) {
                let path = self.manifest.path_of(dir, &file);
                // One that the capture could not have though it was told to is none.
                if file.kind == Kind::File || !self.forced.contains(&path) {
                    found.push((path, file));
                }
            }
        }
        found
    }

    /// The hash by which git LFS would name the bytes of a file, unless it changes meanwhile.
    fn hash(&self, path: &[u8], found: &FileRec) -> Option<String> {
        let key = (found.stamp.ino, found.stamp.ctime);
        if let Some(known) = self.hashes.files.borrow().get(&key) {
            return known.clone();
        }
        let read = || {
            let mut file = File::from(self.root.open_file(path).ok()?);
            let is_it = |file: &File| stamp_of(file.as_fd()).ok() == Some(found.stamp);
            let hash = is_it(&file).then(|| lfs::hash(&mut file).ok())??;
            is_it(&file).then_some(hash)
        };
        let hash = read();
        self.hashes.files.borrow_mut().insert(key, hash.clone());
        hash
    }

    /// The same of a blob; None for one that is missing or damaged.
    fn hash_of_blob(&self, oid: Oid) -> Option<String> {
        if let Some(known) = self.hashes.blobs.borrow().get(&oid) {
            return known.clone();
        }
        let mut hash = Sha256::new();
        let read = self.store.objects.copy_blob(oid, &mut hash).ok();
        let hash = read.map(|_| hex(&hash.finalize()));
        self.hashes.blobs.borrow_mut().insert(oid, hash.clone());
        hash
    }
}

/// The bytes of a file that is there.
fn bytes_at(path: &[u8], found: &FileRec, certainty: Certainty) -> Bytes {
    match found.kind {
        Kind::TooLarge => Bytes::Uncaptured(path.to_vec()),
        _ => Bytes::Are(found.oid, certainty),
    }
}

/// What is there stays.
fn as_it_is(here: FileRec, certainty: Certainty) -> Bytes {
    match here.kind {
        Kind::FilteredClean => Bytes::InPlace(certainty),
        _ => Bytes::Are(here.oid, certainty),
    }
}

/// Has such files come out of a plan with their bytes, as far as these are at hand. Where nothing is to be done then, neither bytes and bits
/// differ nor, as `has_other_access` says, owner, group and attributes, the file is let be. `ends_stay`: where the present comes back,
/// whether a path is one of those that do.
///
/// # Errors
/// The working tree cannot be opened.
pub(super) fn keep(
    (ctx, store): (&Context<'_>, &Store),
    (manifest, others): (&Manifest, &Others<'_>),
    ends_stay: Option<OfPath<'_>>,
    has_other_access: OfPath<'_>,
    plan: &mut Plan,
) -> Result<()> {
    let Others {
        forced,
        clean,
        hashes,
        ..
    } = *others;
    let noted = others.own.map(PresentOwn::filtered);
    if let Some(noted) = noted.filter(|noted| !noted.is_empty()) {
        let files = PresentFiles {
            store,
            root: &Root::open(ctx.repo.worktree_root())?,
            manifest,
            noted,
            forced,
            clean,
            hashes,
            has_other_access,
            elsewhere: OnceCell::new(),
        };
        files.keep_bytes(plan);
        if let Some(comes_back) = ends_stay {
            files.look_at_others(comes_back, plan);
        }
    }
    for entry in &mut plan.entries {
        entry.after = leave_clean(clean, manifest, &entry.path, entry.after);
    }
    plan.entries.retain(|entry| {
        let path = &entry.path;
        let is_noted = noted.is_some_and(|noted| noted.contains_key(path));
        let is_one = is_noted || clean.contains_key(path);
        entry.before != entry.after || !is_one || has_other_access(path)
    });
    Ok(())
}

/// What is said of the files of a snapshot of which it has git's text.
pub fn text_notice(lists: &Lists) -> Option<String> {
    told_of_text(clean_in(lists).count())
}

/// The same of those that a plan puts in place so.
///
/// # Errors
/// The snapshot cannot be read.
pub fn put_text_notice(store: &Store, stored: &Stored, plan: &Plan) -> Result<Option<String>> {
    let mut count = 0;
    let lists = store.lists(stored)?;
    for path in clean_in(&lists) {
        if let Some(entry) = plan.entry(path) {
            let text = tree::find(&store.objects, stored.tree, path)?;
            let [before, after] =
                [entry.before, entry.after].map(|side| side.map(|side| side.node));
            count += usize::from(text.is_some() && after == text && before != text);
        }
    }
    Ok(told_of_text(count))
}

fn clean_in(lists: &Lists) -> impl Iterator<Item = &Vec<u8>> {
    let clean = lists.uncaptured.iter();
    let clean = clean.filter(|(_, entry)| Kind::FilteredClean.is_reason(&entry.reason));
    clean.map(|(path, _)| path)
}

fn told_of_text(files: usize) -> Option<String> {
    (files > 0).then(|| {
        format!(
            "for {} over the size limit the snapshot has what git's index says",
            count(files, "filtered file")
        )
    })
}

/// Among the journal's other fields: what [`notices`] says of the plan.
const NOT_VERIFIED: &str = "not_verified";

/// Puts among a journal's other fields what is said of a plan, for whoever ends a swap that dies.
pub(super) fn note(plan: &Plan, extra: &mut Map<String, Value>) {
    let notices = notices(plan);
    if !notices.is_empty() {
        extra.insert(NOT_VERIFIED.into(), notices.into());
    }
}

/// What a journal has of it.
pub(super) fn noted(journal: &Journal) -> Vec<String> {
    let notices = journal.extra.get(NOT_VERIFIED).and_then(Value::as_array);
    let notices = notices.into_iter().flatten();
    notices
        .filter_map(|notice| notice.as_str().map(str::to_owned))
        .collect()
}

/// What is said of files that do not come out with the present's bytes, or of which nobody knows.
pub fn notices(plan: &Plan) -> Vec<String> {
    let way = "to have their filter make them again, remove them and run 'git checkout -- PATH'";
    let named = |paths: &[Vec<u8>], why: &str| {
        (!paths.is_empty()).then(|| {
            format!(
                "not verified, since {why}: {}; {way}",
                path::listed(paths.iter(), 5)
            )
        })
    };
    let lost = "they changed in the past and the backup has what git's index says of them";
    let unproven = "something of them changed in the past, nothing proves that their bytes did not, and the backup has what git's index says of them";
    let both = [named(&plan.lost, lost), named(&plan.unproven, unproven)];
    both.into_iter().flatten().collect()
}
