//! One look at the whole working tree: scan, hash, trees, and what the index and HEAD were meanwhile.
//!
//! Owns the cache's use. An object id of the cache is reused without looking only while its anchor (a ref under
//! `refs/timewarp/` whose commit holds every such id) stands; else each is looked up and missing ones are hashed again. Ids seeded
//! from git's index are anchored by that index and HEAD. [`Capture::anchored`] is asked once more after the new ref is in place.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::Context;
use super::gitview::{GitView, head_only_paths, read_index};
use crate::env::clock_nanos;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::{Root, read_optional};
use crate::git::index::{Flags, Index, TreeSink, build_tree};
use crate::git::objects::{ObjectKind, ObjectStore, ObjectWriter, PutError, WriteMode, hash};
use crate::git::operation::{self, OperationState};
use crate::git::repo::Head;
use crate::git::tree;
use crate::store::Store;
use crate::store::lock::Owner;
use crate::store::snapshot::Lists;
use crate::worktree::cache::{self, IndexMeta, Meta};
use crate::worktree::capture::{Hashing, Sink, amount, build_trees, drop_gone, hash_files};
use crate::worktree::globs::{GlobSettings, Globs, Source};
use crate::worktree::ignore::{Globals, PatternFile};
use crate::worktree::judge::{LoadOther, Rules};
use crate::worktree::manifest::{
    DIRTY, DirRec, FileRec, INSIDE_IGNORED, Kind, Manifest, TO_HASH, VIRTUAL, no_oid, preorder,
};
use crate::worktree::scan::{Ctime, FileMode, Scan, Scanned, Way, scan};

/// From so many new objects on they go into a pack.
const PACK_FROM: usize = 64;
/// A file this large goes into a pack: git streams it from there.
const LARGE: u64 = 32 << 20;
/// An index summary with more paths than this is not kept in the cache.
const SUMMARY_LIMIT: usize = 200;

/// Where the objects go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storing {
    /// Nowhere: only their ids are wanted.
    No,
    /// Loose or packed, as suits their number.
    Yes,
    /// Always a pack, synced, whose `.keep` says this.
    Durable(String),
}

/// What to look at, and how.
pub struct Wanted<'a> {
    /// See [`Storing`].
    pub storing: Storing,
    /// `--include` globs.
    pub include: &'a [String],
    /// `--exclude` globs.
    pub exclude: &'a [String],
    /// Paths captured whatever the rules say.
    pub forced: BTreeSet<Vec<u8>>,
    /// A second side of rules: the ignore files of this tree.
    pub other_rules: Option<Oid>,
    /// Whether the index is wanted in full, for swaps.
    pub whole_index: bool,
    /// Called between the scan and the hashing; may refuse, or change what is captured.
    pub before_hashing: Option<&'a dyn Fn(&mut Manifest) -> Result<()>>,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Self {
            storing: Storing::Yes,
            include: &[],
            exclude: &[],
            forced: BTreeSet::new(),
            other_rules: None,
            whole_index: false,
            before_hashing: None,
        }
    }
}

/// What the index holds that its tree does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSummary {
    /// The index as a tree.
    pub tree: String,
    /// Unmerged paths.
    pub conflicts: Vec<Vec<u8>>,
    /// Unmerged entries as `git ls-files -u -z` prints them.
    pub unmerged: Vec<u8>,
    /// Blobs of unmerged entries and of resolve-undo, with their modes.
    pub blobs: Vec<String>,
    /// `git add -N` paths.
    pub intent_to_add: Vec<Vec<u8>>,
    /// Modes of those that are no plain files.
    pub intent_modes: Vec<(Vec<u8>, u32)>,
    /// skip-worktree paths.
    pub skip_worktree: Vec<Vec<u8>>,
    /// assume-unchanged paths.
    pub assume_unchanged: Vec<Vec<u8>>,
    /// The resolve-undo extension.
    pub resolve_undo: Option<Vec<u8>>,
}

impl IndexSummary {
    fn paths(&self) -> usize {
        self.conflicts.len()
            + self.intent_to_add.len()
            + self.skip_worktree.len()
            + self.assume_unchanged.len()
            + self.resolve_undo.as_ref().map_or(0, Vec::len)
    }

    /// The index tree's id.
    pub fn tree_oid(&self) -> Result<Oid> {
        Ok(Oid::from_str(&self.tree)?)
    }
}

/// What was seen.
pub struct Capture<'s> {
    /// Every name, with objects.
    pub manifest: Manifest,
    /// The captured files' tree.
    pub tree: Oid,
    /// The bytes of trees that were made, which may not be readable from the repository yet.
    pub made_trees: HashMap<Oid, Vec<u8>>,
    /// HEAD as it was.
    pub head: Head,
    /// The index as it was, without stat data.
    pub index: IndexSummary,
    /// The parsed index, when it was read.
    pub parsed_index: Option<Index>,
    /// The index file's stamp at that moment; empty when there is none.
    pub index_stamp: Vec<i64>,
    /// The operation under way.
    pub operation: OperationState,
    /// Trees of the index that may have to be written.
    pub index_trees: Vec<Vec<u8>>,
    /// Where objects go; None when they go nowhere.
    pub writer: Option<ObjectWriter<'s>>,
    /// Globs of ours that left things out, for the record.
    pub exclude_globs: Vec<String>,
    /// Paths forced in.
    pub forced: BTreeSet<Vec<u8>>,
    /// When the scan started, nanoseconds since the epoch.
    pub started: i64,
    /// Nothing differs from the cached manifest.
    pub unchanged: bool,
    /// Ids were taken from git's index.
    pub seeded: bool,
    /// Cached ids were reused although their anchor was gone.
    pub hung_on_nothing: bool,
    /// The anchor that the cached ids hang on, when it stood.
    pub anchor: Option<(String, Oid)>,
    /// The index commit of the anchor, when the cache knew it.
    pub known_index_commit: Option<Oid>,
    options: String,
    tracked: String,
    record: serde_json::Value,
}

/// The sink over a writer.
pub struct Writing<'a, 's>(pub &'a ObjectWriter<'s>);

impl Sink for Writing<'_, '_> {
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        self.0.put(kind, data)
    }

    fn put_reader(
        &self,
        size: u64,
        reader: &mut dyn std::io::Read,
    ) -> std::result::Result<Oid, PutError> {
        self.0.put_reader(size, reader)
    }
}

/// The sink that only hashes.
pub struct HashOnly;

impl Sink for HashOnly {
    fn put(&self, kind: ObjectKind, data: &[u8]) -> Result<Oid> {
        hash(kind, data)
    }

    fn put_reader(
        &self,
        size: u64,
        reader: &mut dyn std::io::Read,
    ) -> std::result::Result<Oid, PutError> {
        let mut hasher = crate::git::objects::Hasher::new(ObjectKind::Blob, size);
        let mut buffer = vec![0; 1 << 20];
        let mut total = 0;
        loop {
            let count = reader.read(&mut buffer).map_err(PutError::Source)?;
            if count == 0 {
                break;
            }
            total += count as u64;
            if total > size {
                return Err(PutError::SizeChanged);
            }
            hasher.update(&buffer[..count]);
        }
        if total != size {
            return Err(PutError::SizeChanged);
        }
        hasher.finish().map_err(PutError::Failed)
    }
}

/// Index trees, kept in memory until it is known where they go.
#[derive(Default)]
struct MemoryTrees<'a, 's> {
    store: Option<&'a Store<'s>>,
    made: HashMap<Oid, Vec<u8>>,
}

impl TreeSink for MemoryTrees<'_, '_> {
    fn has(&mut self, oid: Oid) -> bool {
        self.store.is_some_and(|store| store.objects.contains(oid))
    }

    fn put(&mut self, content: &[u8]) -> Result<Oid> {
        let oid = hash(ObjectKind::Tree, content)?;
        self.made.insert(oid, content.to_vec());
        Ok(oid)
    }
}

/// What the index and HEAD say, read afresh or out of the cache.
struct IndexState {
    summary: IndexSummary,
    parsed: Option<Index>,
    head_only: BTreeSet<Vec<u8>>,
    tracked: String,
    trees: Vec<Vec<u8>>,
    stamp: Vec<i64>,
    record: serde_json::Value,
}

/// The stamp of the index file as the cache keeps it; empty when there is no index.
pub fn index_stamp(ctx: &Context<'_>) -> Vec<i64> {
    use std::os::unix::fs::MetadataExt;
    let nanos =
        |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    match ctx.repo.index_path().symlink_metadata() {
        Ok(meta) => vec![
            nanos(meta.mtime(), meta.mtime_nsec()),
            nanos(meta.ctime(), meta.ctime_nsec()),
            i64::try_from(meta.ino()).unwrap_or(i64::MAX),
            i64::try_from(meta.size()).unwrap_or(i64::MAX),
        ],
        Err(_) => Vec::new(),
    }
}

fn head_text(head: &Head) -> String {
    head.oid.map(|oid| oid.to_string()).unwrap_or_default()
}

/// Looks at the working tree.
///
/// # Errors
/// Anything that keeps a captured file from being read right; never a partial answer.
pub fn capture<'s>(
    ctx: &Context<'_>,
    store: &'s Store<'_>,
    wanted: &Wanted<'_>,
) -> Result<Capture<'s>> {
    let cached = cache::load(&store.dir.file("cache"));
    Taking {
        ctx,
        store,
        wanted,
        started: clock_nanos(),
    }
    .run(cached)
}

struct Taking<'a, 's, 'r, 'w> {
    ctx: &'a Context<'a>,
    store: &'s Store<'r>,
    wanted: &'a Wanted<'w>,
    started: i64,
}

impl<'s> Taking<'_, 's, '_, '_> {
    fn run(&self, cached: Option<(Manifest, Meta)>) -> Result<Capture<'s>> {
        let head = self.ctx.repo.head()?;
        let (mut old, meta) = cached.map_or((None, Meta::default()), |(manifest, meta)| {
            (Some(manifest), meta)
        });
        let anchor = self.anchor(&meta)?;
        let state = self.index_state(&head, &meta, anchor.is_some())?;
        let operation = operation::read(&self.ctx.repo)?;
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let (globals, globs, options) = self.rules()?;
        let hung_on_nothing = anchor.is_none() && old.is_some();
        if anchor.is_none()
            && let Some(manifest) = &mut old
        {
            self.doubt(manifest);
        }
        let same_rules = meta.options == options && meta.index.tracked == state.tracked;
        let way = if same_rules { Way::Fast } else { Way::Full };
        let view = GitView::new(
            &self.ctx.repo,
            &self.store.objects,
            &root,
            state.parsed,
            state.head_only,
            self.wanted.forced.clone(),
        )?;
        let other = self.other_side();
        let rules = Rules::new(globals, globs.clone(), other);
        let (mut manifest, unchanged, way) = self.look(&root, &rules, &view, old, way)?;
        view.check()?;
        // Also what was on disk against the sparse patterns may have gone since.
        if way == Way::Full || (!unchanged && !state.summary.skip_worktree.is_empty()) {
            add_absent(&mut manifest, &view);
        }
        if let Some(look) = self.wanted.before_hashing {
            look(&mut manifest)?;
        }
        let writer = self.writer(&manifest, state.trees.len())?;
        let how = Hashing {
            threads: threads(),
            racy_since: self.started - 20_000_000,
            modes_from_disk: self.ctx.repo.file_mode()?,
        };
        let sink: &dyn Sink = match &writer {
            Some(writer) => &Writing(writer),
            None => &HashOnly,
        };
        hash_files(&root, &mut manifest, sink, how, self.ctx.progress)?;
        drop_gone(&mut manifest);
        let mut made_trees = HashMap::new();
        let tree = build_trees(&mut manifest, sink, &mut |oid, bytes| {
            made_trees.insert(oid, bytes.to_vec());
        })?;
        let parsed_index = match view.into_index() {
            None if self.wanted.whole_index => {
                Some(read_index(&self.ctx.repo, &self.store.objects)?)
            }
            parsed => parsed,
        };
        let known_index_commit = anchor
            .as_ref()
            .and_then(|_| Oid::from_str(&meta.index.index_commit).ok());
        Ok(Capture {
            manifest,
            tree,
            made_trees,
            head,
            index: state.summary,
            parsed_index,
            index_stamp: state.stamp,
            operation,
            index_trees: state.trees,
            writer,
            exclude_globs: self.glob_names(),
            forced: self.wanted.forced.clone(),
            started: self.started,
            unchanged,
            seeded: way == Way::Full,
            hung_on_nothing,
            anchor,
            known_index_commit,
            options,
            tracked: state.tracked,
            record: state.record,
        })
    }

    /// The scan, and the way that it went in the end: the fast one may turn into the full one.
    fn look(
        &self,
        root: &Root,
        rules: &Rules<'_>,
        view: &GitView<'_>,
        old: Option<Manifest>,
        way: Way,
    ) -> Result<(Manifest, bool, Way)> {
        let repo = &self.ctx.repo;
        let what = Scan {
            root,
            judge: rules,
            tracked: view,
            max_file_size: self.ctx.settings.max_file_size,
            file_mode: if repo.file_mode()? {
                FileMode::Trusted
            } else {
                FileMode::FromIndex
            },
            ctime: if repo.trust_ctime()? {
                Ctime::Trusted
            } else {
                Ctime::Ignored
            },
            threads: threads(),
            started: self.started,
        };
        let (found, way) = match scan(&what, old.as_ref(), way)? {
            Scanned::NeedsFull => (scan(&what, old.as_ref(), Way::Full)?, Way::Full),
            other => (other, way),
        };
        match (found, old) {
            (Scanned::Unchanged, Some(old)) => {
                let whole = old.dirs.iter().all(|dir| dir.flags & DIRTY == 0);
                Ok((old, whole, way))
            }
            (Scanned::Changed(new), _) => Ok((new, false, way)),
            _ => Err(Error::new(Code::Io, "the working tree cannot be read")),
        }
    }

    /// The anchor of the cached ids, while it stands.
    fn anchor(&self, meta: &Meta) -> Result<Option<(String, Oid)>> {
        let Ok(commit) = Oid::from_str(&meta.anchor_commit) else {
            return Ok(None);
        };
        let stands = self.store.refs.read(&meta.anchor_ref)? == Some(commit);
        Ok(stands.then(|| (meta.anchor_ref.clone(), commit)))
    }

    /// The anchor is gone: ids whose objects are gone, too, have to be made again.
    fn doubt(&self, manifest: &mut Manifest) {
        self.store.objects.refresh();
        for file in &mut manifest.files {
            let stored = matches!(file.kind, Kind::File | Kind::Symlink);
            if stored && !self.store.objects.contains(file.oid) {
                file.flags |= TO_HASH;
            }
        }
        for dir in &mut manifest.dirs {
            if dir.tree != no_oid() && !self.store.objects.contains(dir.tree) {
                dir.flags |= DIRTY | crate::worktree::manifest::RACY;
            }
        }
    }

    fn writer(&self, manifest: &Manifest, index_trees: usize) -> Result<Option<ObjectWriter<'s>>> {
        let note = |token: &str| Owner::this_process(token).line().trim_end().to_owned();
        let mode = match &self.wanted.storing {
            Storing::No => return Ok(None),
            Storing::Durable(token) => WriteMode::Pack {
                keep_note: note(token),
                sync: true,
            },
            Storing::Yes => {
                let (count, largest) = amount(manifest);
                if count + index_trees >= PACK_FROM || largest >= LARGE {
                    WriteMode::Pack {
                        keep_note: note("snapshot"),
                        sync: true,
                    }
                } else {
                    WriteMode::Loose
                }
            }
        };
        Ok(Some(ObjectWriter::new(&self.store.objects, mode)?))
    }

    fn rules(&self) -> Result<(Arc<Globals>, Arc<Globs>, String)> {
        let (globals, globs, mut text) =
            rule_parts(self.ctx, self.wanted.include, self.wanted.exclude)?;
        text.extend_from_slice(self.wanted.other_rules.unwrap_or(no_oid()).as_bytes());
        for forced in &self.wanted.forced {
            text.extend_from_slice(forced);
            text.push(0);
        }
        let options = hash(ObjectKind::Blob, &text)?.to_string();
        Ok((globals, globs, options))
    }

    fn glob_names(&self) -> Vec<String> {
        let settings = &self.ctx.settings;
        let mut names: Vec<String> = Vec::new();
        if settings.default_excludes {
            names.extend(
                crate::worktree::globs::DEFAULT_GLOBS
                    .iter()
                    .map(|glob| (*glob).to_owned()),
            );
        }
        names.extend(settings.team_exclude.iter().cloned());
        names.extend(settings.exclude.iter().cloned());
        names.extend(self.wanted.exclude.iter().cloned());
        names
    }

    fn other_side(&self) -> Option<LoadOther<'_>> {
        let tree = self.wanted.other_rules?;
        let objects = &self.store.objects;
        Some(Box::new(move |dir: &[u8]| {
            load_ignore_file(objects, tree, dir)
        }))
    }

    /// The index and HEAD, out of the cache when neither moved and the anchor stands: it alone holds the index's trees.
    fn index_state(&self, head: &Head, meta: &Meta, anchored: bool) -> Result<IndexState> {
        let stamp = index_stamp(self.ctx);
        let fresh = stamp
            .get(1)
            .is_some_and(|ctime| *ctime >= self.started - 20_000_000);
        let known = &meta.index;
        let same = known.stamp == stamp && known.head == head_text(head) && !fresh;
        if same && anchored && !self.wanted.whole_index && !known.record.is_null() {
            #[derive(Deserialize)]
            struct Kept {
                summary: IndexSummary,
                head_only: BTreeSet<Vec<u8>>,
            }
            if let Ok(kept) = serde_json::from_value::<Kept>(known.record.clone()) {
                return Ok(IndexState {
                    summary: kept.summary,
                    parsed: None,
                    head_only: kept.head_only,
                    tracked: known.tracked.clone(),
                    trees: Vec::new(),
                    stamp,
                    record: known.record.clone(),
                });
            }
        }
        self.read_index_state(head, stamp)
    }

    fn read_index_state(&self, head: &Head, stamp: Vec<i64>) -> Result<IndexState> {
        let index = read_index(&self.ctx.repo, &self.store.objects)?;
        let head_tree = head
            .oid
            .map(|oid| self.ctx.repo.commit_tree(oid))
            .transpose()?;
        let mut memory = MemoryTrees {
            store: Some(self.store),
            made: HashMap::new(),
        };
        let unmerged = |path: &[u8]| match head_tree {
            Some(tree) => self.ctx.repo.tree_entry(tree, path),
            None => Ok(None),
        };
        let index_tree = build_tree(&index, &unmerged, &mut memory)?;
        let made = Mutex::new(memory.made);
        let read = |oid: Oid| {
            let known = made
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&oid)
                .cloned();
            known.map_or_else(|| self.store.objects.read_tree(oid), Ok)
        };
        let head_only = head_only_paths(&read, head_tree, index_tree, &index)?;
        let summary = summarize(&index, index_tree);
        let tracked = tracked_hash(&index, &head_only, self.ctx.repo.file_mode()?)?;
        let short = summary.paths() + head_only.len() <= SUMMARY_LIMIT;
        let record = if short {
            serde_json::json!({"summary": summary, "head_only": head_only})
        } else {
            serde_json::Value::Null
        };
        Ok(IndexState {
            summary,
            parsed: Some(index),
            head_only,
            tracked,
            trees: made
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .into_values()
                .collect(),
            stamp,
            record,
        })
    }
}

/// The rules that hold everywhere, and the text that tells one set of them from another.
pub fn rule_parts(
    ctx: &Context<'_>,
    include: &[String],
    exclude: &[String],
) -> Result<(Arc<Globals>, Arc<Globs>, Vec<u8>)> {
    let repo = &ctx.repo;
    let settings = &ctx.settings;
    let ignore_case = repo.ignore_case()?;
    let info = read_optional(&repo.common_dir().join("info/exclude"))?.unwrap_or_default();
    let global = match repo.excludes_file() {
        Some(file) => read_optional(&file)?.unwrap_or_default(),
        None => Vec::new(),
    };
    let sourced = |list: &[String], source: Source| -> Vec<(String, Source)> {
        list.iter().map(|glob| (glob.clone(), source)).collect()
    };
    let globs = Globs::new(&GlobSettings {
        use_defaults: settings.default_excludes,
        ignore_case,
        exclude: [
            sourced(&settings.team_exclude, Source::Team),
            sourced(&settings.exclude, Source::User),
            sourced(exclude, Source::Flag),
        ]
        .concat(),
        include: [
            sourced(&settings.team_include, Source::Team),
            sourced(&settings.include, Source::User),
            sourced(include, Source::Flag),
        ]
        .concat(),
    })?;
    let mut text = Vec::new();
    for part in [&info[..], &global, &globs.fingerprint()[..]] {
        text.extend_from_slice(&(part.len() as u64).to_le_bytes());
        text.extend_from_slice(part);
    }
    text.extend_from_slice(&settings.max_file_size.to_le_bytes());
    text.extend_from_slice(&[u8::from(ignore_case), u8::from(repo.file_mode()?)]);
    let globals = Globals {
        info_exclude: PatternFile::parse(&info, b""),
        excludes_file: PatternFile::parse(&global, b""),
        ignore_case,
    };
    Ok((Arc::new(globals), Arc::new(globs), text))
}

/// The bytes of the `.gitignore` of a directory in a tree.
pub fn load_ignore_file(objects: &ObjectStore, tree: Oid, dir: &[u8]) -> Option<Vec<u8>> {
    let read = |oid| objects.read_tree(oid);
    let full = crate::git::path::join(dir, b".gitignore");
    let node = tree::find(&read, tree, &full).ok()??;
    if node.mode & 0o170_000 != 0o100_000 {
        return None;
    }
    objects.read(node.oid).ok().map(|(_, bytes)| bytes)
}

/// Worker threads: as many as there are cores, at most eight.
pub fn threads() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8)
}

fn summarize(index: &Index, tree: Oid) -> IndexSummary {
    let mut summary = IndexSummary {
        tree: tree.to_string(),
        resolve_undo: index.resolve_undo.clone(),
        ..IndexSummary::default()
    };
    for (path, entry) in index.iter() {
        if entry.stage > 0 {
            if summary.conflicts.last().is_none_or(|last| last != path) {
                summary.conflicts.push(path.to_vec());
            }
            let line = format!("{:06o} {} {}\t", entry.mode, entry.oid, entry.stage);
            summary.unmerged.extend_from_slice(line.as_bytes());
            summary.unmerged.extend_from_slice(path);
            summary.unmerged.push(0);
            if entry.mode != tree::GITLINK_MODE {
                summary.blobs.push(entry.oid.to_string());
            }
        }
        if entry.flags == Flags::empty() {
            continue;
        }
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            summary.intent_to_add.push(path.to_vec());
            if entry.mode != 0o100_644 {
                summary.intent_modes.push((path.to_vec(), entry.mode));
            }
        }
        if entry.flags.contains(Flags::SKIP_WORKTREE) {
            summary.skip_worktree.push(path.to_vec());
        }
        if entry.flags.contains(Flags::ASSUME_VALID) {
            summary.assume_unchanged.push(path.to_vec());
        }
    }
    if let Some(payload) = &summary.resolve_undo {
        summary.blobs.extend(resolve_undo_blobs(payload));
    }
    summary.blobs.sort();
    summary.blobs.dedup();
    summary
}

/// The blobs that a resolve-undo payload names: per path three octal modes, then an id for each that is not zero.
fn resolve_undo_blobs(payload: &[u8]) -> Vec<String> {
    let mut blobs = Vec::new();
    let mut rest = payload;
    let next = |rest: &mut &[u8]| -> Option<Vec<u8>> {
        let end = rest.iter().position(|&byte| byte == 0)?;
        let word = rest[..end].to_vec();
        *rest = &rest[end + 1..];
        Some(word)
    };
    while let Some(_path) = next(&mut rest) {
        let mut modes = Vec::new();
        for _ in 0..3 {
            let Some(mode) = next(&mut rest) else {
                return blobs;
            };
            modes.push(u32::from_str_radix(&String::from_utf8_lossy(&mode), 8).unwrap_or(0));
        }
        for mode in modes.into_iter().filter(|mode| *mode != 0) {
            let Some(oid) = rest.get(..20).and_then(|bytes| Oid::from_bytes(bytes).ok()) else {
                return blobs;
            };
            rest = &rest[20..];
            if mode != tree::GITLINK_MODE {
                blobs.push(oid.to_string());
            }
        }
    }
    blobs
}

/// With `core.fileMode=false` the index says what is executable, so its modes count as well.
fn tracked_hash(
    index: &Index,
    head_only: &BTreeSet<Vec<u8>>,
    modes_from_disk: bool,
) -> Result<String> {
    let mut sum = sha1::Sha1::default();
    for (path, entry) in index.iter() {
        sha1::Digest::update(&mut sum, path);
        let skip = entry.flags.contains(Flags::SKIP_WORKTREE);
        let link = entry.mode == tree::GITLINK_MODE;
        let executable = !modes_from_disk && entry.mode == 0o100_755;
        let marks = [0, u8::from(skip), u8::from(link), u8::from(executable)];
        sha1::Digest::update(&mut sum, marks);
        if skip || link {
            sha1::Digest::update(&mut sum, entry.oid.as_bytes());
        }
    }
    for path in head_only {
        sha1::Digest::update(&mut sum, path);
        sha1::Digest::update(&mut sum, [1]);
    }
    Ok(Oid::from_bytes(&sha1::Digest::finalize(sum))?.to_string())
}

/// Index entries with skip-worktree that are not on disk (sparse checkout) stand in the tree for what the index says.
fn add_absent(manifest: &mut Manifest, view: &GitView<'_>) {
    let Some(index) = view.index() else { return };
    let mut missing: Vec<(Vec<u8>, u32, Oid)> = Vec::new();
    for (path, entry) in index.iter() {
        let absent = entry.flags.contains(Flags::SKIP_WORKTREE) && entry.stage == 0;
        if absent && manifest.find_file(path).is_none() && manifest.find_dir(path).is_none() {
            missing.push((path.to_vec(), entry.mode, entry.oid));
        }
    }
    if !missing.is_empty() {
        *manifest = with_absent(manifest, &missing);
    }
}

fn with_absent(old: &Manifest, missing: &[(Vec<u8>, u32, Oid)]) -> Manifest {
    use std::collections::BTreeMap;
    struct ByPreorder(Vec<u8>);
    impl PartialEq for ByPreorder {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for ByPreorder {}
    impl PartialOrd for ByPreorder {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for ByPreorder {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            preorder(&self.0, &other.0)
        }
    }
    let mut dirs: BTreeMap<ByPreorder, (Option<DirRec>, Vec<(Vec<u8>, FileRec)>)> = BTreeMap::new();
    for dir in &old.dirs {
        let files = old.files_of(dir).iter();
        let files = files
            .map(|file| (old.bytes(file.name).to_vec(), *file))
            .collect();
        dirs.insert(ByPreorder(old.dir_path(dir).to_vec()), (Some(*dir), files));
    }
    for (full, mode, oid) in missing {
        let (dir, name) = crate::git::path::split(full);
        let mut at = dir;
        while !at.is_empty() {
            dirs.entry(ByPreorder(at.to_vec())).or_default();
            at = crate::git::path::split(at).0;
        }
        let rec = FileRec {
            name: Default::default(),
            kind: Kind::Absent,
            flags: crate::worktree::manifest::TRACKED,
            stamp: Default::default(),
            git_mode: *mode,
            oid: *oid,
        };
        let slot = dirs.entry(ByPreorder(dir.to_vec())).or_default();
        slot.1.push((name.to_vec(), rec));
        if let Some(dir) = &mut slot.0 {
            dir.flags |= DIRTY;
        }
    }
    let mut new = Manifest::default();
    let mut places: HashMap<Vec<u8>, u32> = HashMap::new();
    for (ByPreorder(dir_path), (rec, mut files)) in dirs {
        files.sort_by(|a, b| a.0.cmp(&b.0));
        let at = u32::try_from(new.dirs.len()).expect("fewer than 2^32 directories");
        let parent = places
            .get(crate::git::path::split(&dir_path).0)
            .copied()
            .unwrap_or(0);
        let path = new.intern(&dir_path);
        let first = u32::try_from(new.files.len()).expect("fewer than 2^32 names");
        for (name, file) in files {
            let name = new.intern(&name);
            new.files.push(FileRec { name, ..file });
        }
        let end = u32::try_from(new.files.len()).expect("fewer than 2^32 names");
        let rec = rec.unwrap_or(DirRec {
            path,
            parent,
            first,
            end,
            flags: VIRTUAL | DIRTY,
            stamp: Default::default(),
            tree: no_oid(),
        });
        new.dirs.push(DirRec {
            path,
            parent,
            first,
            end,
            ..rec
        });
        places.insert(dir_path, at);
    }
    for at in (1..new.dirs.len()).rev() {
        if new.dirs[at].flags & DIRTY != 0 {
            let parent = new.dirs[at].parent as usize;
            new.dirs[parent].flags |= DIRTY;
        }
    }
    new
}

impl Capture<'_> {
    /// What the cache keeps of this, hung on the anchor given.
    pub fn meta(&self, anchor_ref: &str, anchor_commit: Oid, index_commit: Oid) -> Meta {
        let fresh = self
            .index_stamp
            .get(1)
            .is_some_and(|ctime| *ctime >= self.started - 20_000_000);
        Meta {
            options: self.options.clone(),
            anchor_ref: anchor_ref.to_owned(),
            anchor_commit: anchor_commit.to_string(),
            index: IndexMeta {
                stamp: if fresh {
                    Vec::new()
                } else {
                    self.index_stamp.clone()
                },
                head: head_text(&self.head),
                tracked: self.tracked.clone(),
                index_commit: index_commit.to_string(),
                record: self.record.clone(),
            },
            root_tree: self.tree.to_string(),
        }
    }

    /// Every id of the manifest and the index that was reused and has to be there still: those missing from the object store.
    pub fn missing(&self, store: &Store<'_>) -> Vec<Oid> {
        store.objects.refresh();
        let files = self.manifest.files.iter();
        let files = files
            .filter(|file| matches!(file.kind, Kind::File | Kind::Symlink))
            .map(|file| file.oid);
        let dirs = self
            .manifest
            .dirs
            .iter()
            .map(|dir| dir.tree)
            .filter(|oid| *oid != no_oid());
        files
            .chain(dirs)
            .filter(|oid| !store.objects.contains(*oid))
            .collect()
    }

    /// Whether nothing that the reused ids hang on has moved: the anchor, and for ids seeded from the index, index and HEAD.
    pub fn anchored(&self, ctx: &Context<'_>, store: &Store<'_>) -> Result<bool> {
        if let Some((name, commit)) = &self.anchor {
            if store.refs.read(name)? != Some(*commit) {
                return Ok(false);
            }
        } else if self.hung_on_nothing || !self.seeded {
            return Ok(false);
        }
        if self.seeded {
            let head = ctx.repo.head()?;
            return Ok(index_stamp(ctx) == self.index_stamp && head == self.head);
        }
        Ok(true)
    }

    /// The paths and directories that the record lists.
    pub fn lists(&self) -> Lists {
        super::record::lists(self)
    }

    /// Directories that hold nothing captured, for `empty_dirs`.
    pub fn empty_dirs(&self) -> Vec<Vec<u8>> {
        let manifest = &self.manifest;
        let mut has_child = vec![false; manifest.dirs.len()];
        for dir in manifest.dirs.iter().skip(1) {
            if dir.flags & VIRTUAL == 0 {
                has_child[dir.parent as usize] = true;
            }
        }
        let empty = manifest
            .dirs
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(at, dir)| {
                dir.tree == no_oid()
                    && !has_child[*at]
                    && dir.flags & (VIRTUAL | INSIDE_IGNORED) == 0
            });
        empty
            .map(|(_, dir)| manifest.dir_path(dir).to_vec())
            .collect()
    }
}
