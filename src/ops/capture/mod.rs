//! One look at the whole working tree: scan, hash, trees, and what the index and HEAD were meanwhile.
//!
//! Owns the cache's use. An object id of the cache is reused without looking only while its anchor (a ref under
//! `refs/timewarp/` whose commit holds every such id) stands; else each is looked up and missing ones are hashed again. Ids seeded
//! from git's index are anchored by that index and HEAD. [`Capture::anchored`] is asked once more after the new ref is in place.

mod absent;
mod index;
mod rules;
mod sinks;

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

use super::Context;
use super::gitview::{GitView, read_index};
use crate::env::clock_nanos;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::Root;
use crate::git::gc;
use crate::git::index::Index;
use crate::git::objects::{ObjectKind, ObjectWriter, WriteMode, hash};
use crate::git::operation::{self, OperationState};
use crate::git::repo::Head;
use crate::store::Store;
use crate::store::lock::Owner;
use crate::store::snapshot::Lists;
use crate::worktree::cache::{self, IndexMeta, Meta};
use crate::worktree::capture::{
    Hashing, Sink, amount, build_trees, drop_gone, hash_files, take_known_trees,
};
use crate::worktree::globs::Globs;
use crate::worktree::ignore::Globals;
use crate::worktree::judge::{LoadOther, Rules};
use crate::worktree::manifest::{DIRTY, INSIDE_IGNORED, Kind, Manifest, TO_HASH, VIRTUAL, no_oid};
use crate::worktree::scan::{Ctime, FileMode, Scan, Scanned, Way, scan};
use absent::add_absent;
pub use index::IndexSummary;
use index::head_text;
pub use rules::{load_ignore_file, rule_parts};
pub use sinks::{HashOnly, Writing};

/// From so many new objects on they go into a pack.
const PACK_FROM: usize = 64;

/// A file this large goes into a pack: git streams it from there.
const LARGE: u64 = 32 << 20;

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
    pub before_hashing: Option<BeforeHashing<'a>>,
}

/// Looks at what a scan found before anything is hashed; may refuse, or change what is captured.
pub type BeforeHashing<'a> = &'a dyn Fn(&mut Manifest) -> Result<()>;

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
    /// Ids were taken from git's index, and none from a cache whose anchor was gone.
    pub seeded: bool,
    /// A gc was under way: all is written afresh, into a pack.
    pub afresh: bool,
    /// The anchor that the cached ids hang on, when it stood.
    pub anchor: Option<(String, Oid)>,
    /// The index commit of the anchor, when the cache knew it.
    pub known_index_commit: Option<Oid>,
    /// The index file's stamp that the cache had.
    known_index_stamp: Vec<i64>,
    options: String,
    tracked: String,
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
        afresh: gc::is_running(ctx.repo.common_dir()),
    }
    .run(cached)
}

struct Taking<'a, 's, 'r, 'w> {
    ctx: &'a Context<'a>,
    store: &'s Store<'r>,
    wanted: &'a Wanted<'w>,
    started: i64,
    /// See [`Capture::afresh`].
    afresh: bool,
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
        if way == Way::Full {
            let cached = view.index().and_then(|index| index.cache_tree.as_ref());
            let has = |oid| !self.afresh && self.store.objects.contains(oid);
            take_known_trees(&mut manifest, cached.map(index::Cached), &has);
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
            seeded: way == Way::Full && !hung_on_nothing,
            afresh: self.afresh,
            anchor,
            known_index_commit,
            known_index_stamp: meta.index.stamp,
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

    /// The anchor is gone: ids whose objects are gone, too, have to be made again; all of them when a gc is at work.
    fn doubt(&self, manifest: &mut Manifest) {
        self.store.objects.refresh();
        for file in &mut manifest.files {
            let stored = matches!(file.kind, Kind::File | Kind::Symlink);
            if stored && (self.afresh || !self.store.objects.contains(file.oid)) {
                file.flags |= TO_HASH;
            }
        }
        for dir in &mut manifest.dirs {
            let made = dir.tree != no_oid();
            if made && (self.afresh || !self.store.objects.contains(dir.tree)) {
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
                if self.afresh || count + index_trees >= PACK_FROM || largest >= LARGE {
                    WriteMode::Pack {
                        keep_note: note("snapshot"),
                        sync: true,
                    }
                } else {
                    WriteMode::Loose
                }
            }
        };
        let writer = ObjectWriter::new(&self.store.objects, mode)?;
        Ok(Some(if self.afresh { writer.afresh() } else { writer }))
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
}

/// Worker threads: as many as there are cores, at most eight.
pub fn threads() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8)
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

    /// Whether the cache on disk says less than this does: something differs, nothing held its ids, or the index file was
    /// replaced by one that says the same, as `git status` does. Without the last, each later capture would read it again.
    pub fn outdates(&self, meta: &Meta) -> bool {
        let stamp = &meta.index.stamp;
        !self.unchanged
            || self.anchor.is_none()
            || self.known_index_commit.map(|oid| oid.to_string()).as_ref()
                != Some(&meta.index.index_commit)
            || (!stamp.is_empty() && *stamp != self.known_index_stamp)
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
        } else if !self.seeded {
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
