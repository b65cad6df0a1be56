//! One snapshot's commits without some paths. What holds none of them comes out the same, byte for byte.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::{Code, Error, Result};
use crate::git::access_list::AccessList;
use crate::git::commit::RawCommit;
use crate::git::objects::ObjectKind;
use crate::git::path;
use crate::git::tree::{self, DIR_MODE, Node};
use crate::git::{ObjectFormat, Oid};
use crate::store::Store;
use crate::store::access as access_list;
use crate::store::id::SnapshotId;
use crate::store::snapshot::{
    IndexRecord, Lists, SnapshotRecord, Uncaptured, encode_commit, encode_part,
};
use crate::store::state::path_from_stored;
use crate::store::stored::{Stored, part};
use crate::worktree::capture::Sink;

/// Why a path is not in a snapshot any more.
const REASON: &str = "purged";

/// Changes of a tree: each path and what it becomes.
type Edits = Vec<(Vec<u8>, Option<Node>)>;

/// Looks for directories of which all goes, at each once.
struct Emptying<'a> {
    store: &'a Store,
    /// What goes.
    paths: BTreeSet<&'a [u8]>,
    /// The directories over it.
    over: BTreeSet<&'a [u8]>,
}

impl Emptying<'_> {
    /// Adds the directories beneath one, and itself, in which nothing is left. Whether nothing is left in this one.
    fn look(&self, tree: Oid, dir: &[u8], gone: &mut BTreeSet<Vec<u8>>) -> Result<bool> {
        let bytes = self.store.objects.read_tree(tree)?;
        let mut is_empty = true;
        for entry in tree::parse_any_names(&bytes, tree.format())? {
            let full = path::join(dir, entry.name);
            let is_over = entry.node.is_dir() && self.over.contains(full.as_slice());
            let goes = self.paths.contains(full.as_slice())
                || (is_over && self.look(entry.node.oid, &full, gone)?);
            is_empty &= goes;
        }
        if is_empty && !dir.is_empty() {
            gone.insert(dir.to_vec());
        }
        Ok(is_empty)
    }
}

/// Rewrites snapshots, sharing what they share.
pub struct Rewriter<'a> {
    store: &'a Store,
    paths: &'a [Vec<u8>],
    sink: &'a dyn Sink,
    trees: HashMap<Oid, Oid>,
    /// What holds one of the paths and has to stay as it is.
    pub unreached: Vec<String>,
    /// Those of the paths that a snapshot has, or had until an earlier purge.
    pub found: BTreeSet<Vec<u8>>,
}

/// The index commit, and the state commit when there is one.
struct Parts {
    index: RawCommit,
    state: Option<RawCommit>,
}

impl<'a> Rewriter<'a> {
    /// Takes `paths` out of what it is given, and puts what it makes into `sink`.
    pub fn new(store: &'a Store, paths: &'a [Vec<u8>], sink: &'a dyn Sink) -> Self {
        Self {
            store,
            paths,
            sink,
            trees: HashMap::new(),
            unreached: Vec::new(),
            found: BTreeSet::new(),
        }
    }

    /// The commit without the paths; the same one when it has none of them.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` or `NEWER_RECORD` when it cannot be read whole.
    pub fn snapshot(&mut self, id: &SnapshotId, commit: Oid) -> Result<Oid> {
        let stored = self.store.read(id, commit)?;
        let parts = self.parts(&stored)?;
        let tree = self.tree(stored.tree)?;
        let index_tree = self.tree(parts.index.tree)?;
        let mut edits = match &parts.state {
            Some(state) => self.state_edits(&stored, state)?,
            None => Vec::new(),
        };
        let mut lists = self.store.lists(&stored)?;
        let gone = self.gone_with_their_files(&stored, &lists)?;
        let stays = |path: &[u8]| !gone.contains(path) && self.stays_as_directory(path, &lists);
        edits.extend(self.access(&stored, &stays)?);
        let mut modes = lists.modes.clone();
        modes.retain(|path, _| stays(path));
        let in_modes = modes.len() != lists.modes.len();
        lists.modes = modes;
        let before = lists.uncaptured.iter();
        self.note_found(
            before.filter_map(|(path, entry)| (entry.reason == REASON).then_some(path)),
        );
        let in_lists = self.clean(&mut lists) || in_modes;
        if in_lists || !edits.is_empty() {
            // Which of them it was matters less than that it was one.
            self.found.extend(self.paths.iter().cloned());
        }
        let same_trees = tree == stored.tree && index_tree == parts.index.tree;
        if same_trees && edits.is_empty() && !in_lists {
            return Ok(commit);
        }
        let mut record = stored.record.clone();
        self.count(&stored, &mut record)?;
        self.say(&stored, &mut lists)?;
        edits.extend(self.put_lists(&mut record, &lists, &parts)?);
        self.clean_record(&mut record);
        let state = self.state(&stored, &parts, &edits)?;
        let parents: Vec<Oid> = stored.head.into_iter().chain(state).collect();
        let repository_id = self.store.ensure_repository_id()?;
        let index = encode_part("index", &repository_id, index_tree, &parents);
        let index = self.sink.put(ObjectKind::Commit, &index)?;
        let parents: Vec<Oid> = stored.head.into_iter().chain([index]).collect();
        // The time it was taken at stays: lists sort by it.
        let time = self.store.commit(commit)?.author_time;
        let bytes = encode_commit(tree, &parents, time, &record.message(&stored.title));
        self.sink.put(ObjectKind::Commit, &bytes)
    }

    /// The access list without the paths that go.
    fn access(
        &self,
        stored: &Stored,
        stays: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<(Vec<u8>, Option<Node>)>> {
        let mut access = self.store.recorded_access(stored)?;
        let before = access.paths.len();
        access.paths.retain(|path, _| stays(path));
        if access.paths.len() == before {
            return Ok(None);
        }
        let name = format!("{}/{}", part::LISTS, access_list::LIST).into_bytes();
        if access == AccessList::default() {
            return Ok(Some((name, None)));
        }
        Ok(Some((name, self.blob(&access_list::encode(&access))?)))
    }

    fn parts(&self, stored: &Stored) -> Result<Parts> {
        let index = self.store.commit(stored.index_commit)?;
        let state = index.parents.get(usize::from(stored.head.is_some()));
        let state = state.map(|oid| self.store.commit(*oid)).transpose()?;
        Ok(Parts { index, state })
    }

    fn is_purged(&self, path: &[u8]) -> bool {
        self.paths.iter().any(|gone| path::is_within(path, gone))
    }

    /// Whether a path stays that has its bits or its access in a list: it is none of those that go, or a directory that is there for an
    /// empty one, of which nothing tells of a file's content.
    fn stays_as_directory(&self, path: &[u8], lists: &Lists) -> bool {
        let holds = |empty: &Vec<u8>| path::is_within(empty, path);
        !self.is_purged(path) || lists.empty_dirs.iter().any(holds)
    }

    /// The directories over what goes in which nothing is left.
    fn gone_with_their_files(&self, stored: &Stored, lists: &Lists) -> Result<BTreeSet<Vec<u8>>> {
        let dirs = self.paths.iter().map(|path| path::split(path).0);
        let emptying = Emptying {
            store: self.store,
            paths: self.paths.iter().map(Vec::as_slice).collect(),
            over: dirs.flat_map(path::with_parents).collect(),
        };
        let mut gone = BTreeSet::new();
        emptying.look(stored.tree, b"", &mut gone)?;
        gone.retain(|dir| !lists.empty_dirs.iter().any(|it| path::is_within(it, dir)));
        Ok(gone)
    }

    /// The files of a tree that go.
    fn files(&self, root: Oid) -> Result<Vec<(Vec<u8>, Node)>> {
        let mut found = Vec::new();
        for gone in self.paths {
            // Trees of an operation under way and of the user's commits may have unsafe names.
            match tree::find_any_names(&self.store.objects, root, gone)? {
                Some(node) if node.is_dir() => {
                    let beneath =
                        tree::flatten_any_names(&self.store.objects, node.oid)?.into_iter();
                    found.extend(beneath.map(|(name, node)| (path::join(gone, &name), node)));
                }
                Some(node) => found.push((gone.clone(), node)),
                None => {}
            }
        }
        Ok(found)
    }

    fn note_found<'p>(&mut self, gone: impl Iterator<Item = &'p Vec<u8>>) {
        for gone in gone {
            let of = |path: &&Vec<u8>| path::is_within(gone, path);
            self.found.extend(self.paths.iter().filter(of).cloned());
        }
    }

    fn tree(&mut self, root: Oid) -> Result<Oid> {
        if let Some(known) = self.trees.get(&root) {
            return Ok(*known);
        }
        let gone = self.files(root)?;
        self.note_found(gone.iter().map(|(path, _)| path));
        let new = if gone.is_empty() {
            root
        } else {
            let edits: Edits = gone.into_iter().map(|(path, _)| (path, None)).collect();
            self.edit(Some(root), &edits)?
        };
        self.trees.insert(root, new);
        Ok(new)
    }

    fn edit(&self, root: Option<Oid>, edits: &Edits) -> Result<Oid> {
        let mut put = |bytes: &[u8]| self.sink.put(ObjectKind::Tree, bytes);
        tree::edit_any_names(&self.store.objects, &mut put, root, edits)
    }

    fn blob(&self, bytes: &[u8]) -> Result<Option<Node>> {
        let oid = self.sink.put(ObjectKind::Blob, bytes)?;
        let mode = 0o100_644;
        Ok(Some(Node { mode, oid }))
    }

    /// The state commit with these changes; the same one, or none, when there are none.
    fn state(&self, stored: &Stored, parts: &Parts, edits: &Edits) -> Result<Option<Oid>> {
        let old = parts.index.parents.get(usize::from(stored.head.is_some()));
        if edits.is_empty() {
            return Ok(old.copied());
        }
        let tree = self.edit(parts.state.as_ref().map(|state| state.tree), edits)?;
        let none = Vec::new();
        let parents = parts.state.as_ref().map_or(&none, |state| &state.parents);
        let repository_id = self.store.ensure_repository_id()?;
        let bytes = encode_part("state", &repository_id, tree, parents);
        self.sink.put(ObjectKind::Commit, &bytes).map(Some)
    }

    /// Conflict stages, resolve-undo and trees of operations. Operation files stay, and are told of when they name a path.
    fn state_edits(&mut self, stored: &Stored, state: &RawCommit) -> Result<Edits> {
        let mut edits = Edits::new();
        let read = |name: &str| self.store.state_blob(Some(state.tree), name);
        let unmerged = read(part::UNMERGED)?.unwrap_or_default();
        let resolved = read(part::RESOLVE_UNDO)?.unwrap_or_default();
        let (unmerged_left, mut gone, mut kept) = self.unmerged(&unmerged)?;
        let (resolved_left, gone_too, kept_too) = self.resolve_undo(&resolved)?;
        gone.extend(gone_too);
        kept.extend(kept_too);
        for (name, old, left) in [
            (part::UNMERGED, unmerged, unmerged_left),
            (part::RESOLVE_UNDO, resolved, resolved_left),
        ] {
            if old != left {
                let node = if left.is_empty() {
                    None
                } else {
                    self.blob(&left)?
                };
                edits.push((name.as_bytes().to_vec(), node));
            }
        }
        // Two paths may share a blob: it goes only with the last of them.
        for oid in gone.difference(&kept) {
            edits.push((format!("{}/{oid}", part::BLOBS).into_bytes(), None));
        }
        self.operation_edits(stored, state, &mut edits)?;
        Ok(edits)
    }

    /// Unmerged entries that stay, and the blobs of those that go and of those that stay.
    fn unmerged(&self, bytes: &[u8]) -> Result<(Vec<u8>, BTreeSet<Oid>, BTreeSet<Oid>)> {
        let (mut left, mut gone, mut kept) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for line in bytes.split_inclusive(|byte| *byte == 0) {
            let line_text = line.strip_suffix(&[0]).unwrap_or(line);
            let (oid, path) = stage_of(line_text).ok_or_else(|| damaged("conflict stages"))?;
            if self.is_purged(path) {
                gone.insert(oid);
            } else {
                kept.insert(oid);
                left.extend_from_slice(line);
            }
        }
        Ok((left, gone, kept))
    }

    /// As [`Self::unmerged`], of the resolve-undo extension: a path, three octal modes, and an id for each that is not zero.
    fn resolve_undo(&self, bytes: &[u8]) -> Result<(Vec<u8>, BTreeSet<Oid>, BTreeSet<Oid>)> {
        let (mut left, mut gone, mut kept) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut rest = bytes;
        while !rest.is_empty() {
            let entry = resolve_entry(rest, self.store.objects.format())
                .ok_or_else(|| damaged("resolve-undo"))?;
            let (whole, after) = rest.split_at(entry.len);
            rest = after;
            if self.is_purged(entry.path) {
                gone.extend(entry.oids);
            } else {
                kept.extend(entry.oids);
                left.extend_from_slice(whole);
            }
        }
        Ok((left, gone, kept))
    }

    fn operation_edits(
        &mut self,
        stored: &Stored,
        state: &RawCommit,
        edits: &mut Edits,
    ) -> Result<()> {
        let store = self.store;
        let mut moved: BTreeMap<String, Oid> = BTreeMap::new();
        if let Some(dir) = tree::find(&store.objects, state.tree, part::TREES.as_bytes())? {
            let bytes = store.objects.read_tree(dir.oid)?;
            for entry in tree::parse(&bytes, dir.oid.format())? {
                let new = self.tree(entry.node.oid)?;
                if new != entry.node.oid {
                    let node = Node {
                        mode: DIR_MODE,
                        oid: new,
                    };
                    let full = path::join(part::TREES.as_bytes(), entry.name);
                    edits.push((full, Some(node)));
                    moved.insert(entry.node.oid.to_string(), new);
                }
            }
        }
        for parent in &state.parents {
            let held = store
                .commit(*parent)
                .and_then(|raw| self.files(raw.tree))
                .map(|files| !files.is_empty());
            let which = match held {
                Ok(false) => continue,
                Ok(true) => "which has it",
                Err(_) => "which cannot be read, and was not searched",
            };
            self.unreached.push(format!(
                "'{}' keeps commit {parent} of an operation under way, {which}",
                stored.id
            ));
        }
        let Some(dir) = tree::find(&store.objects, state.tree, part::OPERATION.as_bytes())? else {
            return Ok(());
        };
        for (name, node) in tree::flatten(&store.objects, dir.oid)? {
            let bytes = store.objects.read(node.oid)?.1;
            let full = path::join(part::OPERATION.as_bytes(), &name);
            // AUTO_MERGE names its tree.
            let text = String::from_utf8_lossy(&bytes);
            if let Some(new) = moved.get(text.trim_end()) {
                edits.push((full, self.blob(format!("{new}\n").as_bytes())?));
            } else if self.paths.iter().any(|path| contains(&bytes, path)) {
                self.unreached.push(format!(
                    "'{}' has a file '{}' of an operation under way that mentions it",
                    stored.id,
                    path::display(&name)
                ));
            }
        }
        Ok(())
    }

    /// Takes the paths out of every list. Answers whether any was in one.
    fn clean(&self, lists: &mut Lists) -> bool {
        let mut changed = false;
        for list in [
            &mut lists.conflicts,
            &mut lists.intent_to_add,
            &mut lists.skip_worktree,
            &mut lists.assume_unchanged,
            &mut lists.folded,
            &mut lists.unstable,
            &mut lists.forced,
            &mut lists.absent,
            &mut lists.converted,
        ] {
            let before = list.len();
            list.retain(|path| !self.is_purged(path));
            changed |= list.len() != before;
        }
        changed
    }

    fn clean_record(&self, record: &mut SnapshotRecord) {
        let modes = &mut record.index.intent_to_add_modes;
        modes
            .retain(|stored, _| path_from_stored(stored).is_none_or(|path| !self.is_purged(&path)));
    }

    /// The stats without what goes.
    fn count(&self, stored: &Stored, record: &mut SnapshotRecord) -> Result<()> {
        for (_, node) in self.files(stored.tree)? {
            let size = self.store.objects.header(node.oid)?;
            record.stats.files = record.stats.files.saturating_sub(1);
            let bytes = size.map_or(0, |(_, size)| size);
            record.stats.bytes = record.stats.bytes.saturating_sub(bytes);
        }
        Ok(())
    }

    /// What was captured and is not any more is listed, with the reason.
    fn say(&self, stored: &Stored, lists: &mut Lists) -> Result<()> {
        for (path, _) in self.files(stored.tree)? {
            // A list has each path once.
            lists.uncaptured.retain(|(known, _)| *known != path);
            let entry = Uncaptured::new(&path, REASON);
            lists.uncaptured.push((path, entry));
        }
        lists.uncaptured.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(())
    }

    /// Puts the lists into the record, and those too long for it beside it.
    fn put_lists(
        &self,
        record: &mut SnapshotRecord,
        lists: &Lists,
        parts: &Parts,
    ) -> Result<Edits> {
        let mut edits = Edits::new();
        if let Some(state) = &parts.state
            && let Some(dir) = tree::find(&self.store.objects, state.tree, part::LISTS.as_bytes())?
        {
            let mut lists = tree::flatten(&self.store.objects, dir.oid)?;
            // No list of the record: see [`Self::access`].
            lists.retain(|(name, _)| name != access_list::LIST.as_bytes());
            for (name, _) in lists {
                edits.push((path::join(part::LISTS.as_bytes(), &name), None));
            }
        }
        // They would outlive a list that has become short enough to stand in the record.
        forget_counts(record);
        for (name, bytes) in record.set_lists(lists) {
            let full = format!("{}/{name}", part::LISTS).into_bytes();
            edits.retain(|(known, _)| *known != full);
            edits.push((full, self.blob(&bytes)?));
        }
        Ok(edits)
    }
}

fn damaged(what: &str) -> Error {
    Error::new(
        Code::CorruptRecord,
        format!("its {what} are not well formed"),
    )
}

/// Counts stand only where a list is too long.
fn forget_counts(record: &mut SnapshotRecord) {
    record.index = IndexRecord {
        conflicts_count: None,
        intent_to_add_count: None,
        skip_worktree_count: None,
        assume_unchanged_count: None,
        folded_count: None,
        ..std::mem::take(&mut record.index)
    };
    record.modes_count = None;
    record.empty_dirs_count = None;
    record.unstable_count = None;
    record.forced_count = None;
    record.absent_count = None;
    record.converted_count = None;
    record.uncaptured_count = None;
}

/// The blob and the path of `<mode> <oid> <stage>\t<path>`.
fn stage_of(line: &[u8]) -> Option<(Oid, &[u8])> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let words = std::str::from_utf8(line.get(..tab)?).ok()?;
    let oid = Oid::from_hex(words.split(' ').nth(1)?).ok()?;
    Some((oid, line.get(tab + 1..)?))
}

struct ResolveEntry<'a> {
    path: &'a [u8],
    oids: Vec<Oid>,
    len: usize,
}

fn resolve_entry(bytes: &[u8], format: ObjectFormat) -> Option<ResolveEntry<'_>> {
    let word = |from: usize| {
        let rest = bytes.get(from..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        Some((&rest[..end], from + end + 1))
    };
    let (path, mut at) = word(0)?;
    let mut present = 0;
    for _ in 0..3 {
        let (mode, next) = word(at)?;
        at = next;
        present += usize::from(mode != b"0");
    }
    let mut oids = Vec::new();
    for _ in 0..present {
        oids.push(format.first_of(bytes.get(at..)?)?);
        at += format.width();
    }
    Some(ResolveEntry {
        path,
        oids,
        len: at,
    })
}

/// Whether `needle` stands somewhere in `bytes`.
pub fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && bytes.windows(needle.len()).any(|part| part == needle)
}
