//! One look at the whole working tree: scan, hash, trees, and what the index and HEAD were meanwhile.
//!
//! Owns the cache's use. An object id of the cache is reused without looking only while its anchor (a ref under
//! `refs/timewarp/` whose commit holds every such id) stands; else each is looked up and missing ones are hashed again. Ids seeded
//! from git's index are anchored by that index and HEAD. [`Capture::anchored`] is asked once more after the new ref is in place.

mod absent;
mod access;
mod derived;
pub mod heldcommits;
mod index;
pub mod rules;
mod run;
pub mod seeds;
mod sinks;
mod watched;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::OnceLock;

use super::Context;
use crate::env::clock_nanos;
use crate::error::Result;
use crate::git::Oid;
use crate::git::access_list::AccessList;
use crate::git::fs::{Root, is_racy, nanoseconds};
use crate::git::gc;
use crate::git::index::Index;
use crate::git::objects::ObjectWriter;
use crate::git::operation::OperationState;
use crate::git::own::OwnDirs;
use crate::git::refs::standing;
use crate::git::repo::Head;
use crate::store::Store;
use crate::store::snapshot::{Lists, Uncaptured};
use crate::worktree::cache::{self, IndexMeta, Meta};
use crate::worktree::capture::Likely;
use crate::worktree::manifest::{Kind, Manifest, no_oid};
use crate::worktree::scan::Suspects;
pub use access::{access_of, recorded as recorded_access};
pub use derived::Derived;
pub use index::IndexSummary;
use index::head_text;
pub use rules::{load_ignore_file, rule_parts};
use run::CaptureRun;
pub use sinks::Writing;
pub use watched::Trust;
use watched::{Keeping, Watched};

/// From this many new objects on they go into a pack: as many as git keeps in one when it fetches (`transfer.unpackLimit`).
const PACK_FROM: usize = 100;

/// This many files, of this many bytes together, are read in a few milliseconds: their ids are proven at once.
const CHEAP: (u64, u64) = (2000, 8 << 20);

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
pub struct CaptureOptions<'a> {
    /// Where the objects go.
    pub storing: Storing,
    /// `--include` globs.
    pub include: &'a [String],
    /// `--exclude` globs.
    pub exclude: &'a [String],
    /// Paths captured whatever the rules say; those of directories end with a slash.
    pub forced: BTreeSet<Vec<u8>>,
    /// Those of them that are looked at also where the user's own exclude hides them: their bytes are in a snapshot already.
    pub shown: BTreeSet<Vec<u8>>,
    /// A second side of rules: the ignore files of this tree.
    pub other_rules: Option<Oid>,
    /// Whether the index is wanted in full, for swaps.
    pub whole_index: bool,
    /// Called between the scan and the hashing; may refuse, or change what is captured.
    pub before_hashing: Option<BeforeHashing<'a>>,
    /// What was seen and recorded just before, in place of the cache.
    pub base: Option<(&'a Manifest, Meta)>,
    /// The cache stays as it is: another look follows, and keeps what it sees.
    pub leave_cache: bool,
    /// Which ids that were taken from git's index are proven by content.
    pub prove: Prove,
    /// Whether directories in which nothing happened may be left out.
    pub trust: Trust,
    /// The blob that a path probably holds.
    pub likely: Option<Likely<'a>>,
}

/// Which ids that were taken from git's index are proven by content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prove {
    /// All that were just taken, where that costs little.
    Cheap,
    /// Those of these paths.
    Paths(BTreeSet<Vec<u8>>),
    /// All.
    All,
}

/// Looks at what a scan found before anything is hashed; may refuse, or change what is captured.
pub type BeforeHashing<'a> = &'a dyn Fn(&mut Manifest) -> Result<()>;

impl Default for CaptureOptions<'_> {
    fn default() -> Self {
        Self {
            storing: Storing::Yes,
            include: &[],
            exclude: &[],
            forced: BTreeSet::new(),
            shown: BTreeSet::new(),
            other_rules: None,
            whole_index: false,
            before_hashing: None,
            base: None,
            leave_cache: false,
            prove: Prove::Cheap,
            trust: Trust::Nobody,
            likely: None,
        }
    }
}

/// What was seen.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an answer of its own"
)]
pub struct Capture<'s> {
    /// Every name, with objects; of a look that is [quiet](Self::is_quiet) the root directory alone.
    pub manifest: Manifest,
    derived: OnceLock<Derived>,
    access: OnceLock<AccessList>,
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
    /// The index file's stamp at that moment.
    pub index_stamp: Vec<i64>,
    /// The operation under way.
    pub operation: OperationState,
    /// The bytes of trees of the index that may have to be written.
    pub index_trees: HashMap<Oid, Vec<u8>>,
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
    /// Hash over the tracked paths: see [`crate::worktree::cache::IndexMeta`].
    pub tracked: String,
    record: serde_json::Value,
    /// What the cache keeps of it, once it is recorded.
    pub recorded: Option<Meta>,
    /// The watcher said that nothing happened, and the cache was not even opened. Only where [`Trust::Watcher`] was given.
    pub is_quiet: bool,
    /// What the watcher said, for the next look.
    keeping: Option<Keeping>,
}

/// The stamp of the index file as the cache keeps it; a single zero when there is no index. An empty one is of no file: what was read
/// too fresh to be trusted has it.
pub fn index_stamp(ctx: &Context<'_>) -> Vec<i64> {
    use std::os::unix::fs::MetadataExt;
    match ctx.repo.index_path().symlink_metadata() {
        Ok(meta) => vec![
            nanoseconds(meta.mtime(), meta.mtime_nsec()),
            nanoseconds(meta.ctime(), meta.ctime_nsec()),
            // git replaces its index by a rename: within one tick of the clock only the inode differs.
            i64::try_from(meta.ino()).unwrap_or(i64::MAX),
            i64::try_from(meta.size()).unwrap_or(i64::MAX),
        ],
        Err(_) => vec![0],
    }
}

/// Whether an index file with this stamp may have been replaced after `started` without a trace in it.
fn is_fresh(stamp: &[i64], started: i64) -> bool {
    stamp.get(1).is_some_and(|ctime| is_racy(*ctime, started))
}

/// Reads trees from the repository, and from a capture that is not stored yet: of its files, and of its index.
pub fn read_tree(store: &Store, capture: &Capture<'_>, oid: Oid) -> Result<Vec<u8>> {
    let Capture {
        made_trees,
        index_trees,
        ..
    } = capture;
    match made_trees.get(&oid).or_else(|| index_trees.get(&oid)) {
        Some(bytes) => Ok(bytes.clone()),
        None => store.objects.read_tree(oid),
    }
}

/// Looks at the working tree.
///
/// # Errors
/// Anything that keeps a captured file from being read right; never a partial answer.
pub fn capture<'s>(
    ctx: &Context<'_>,
    store: &'s Store,
    wanted: &CaptureOptions<'_>,
) -> Result<Capture<'s>> {
    let run = CaptureRun {
        ctx,
        store,
        wanted,
        // Before anything is read: what changes from here on has a stamp that counts as racy.
        started: clock_nanos(),
        // An object that is there may be one that the gc has already decided to remove.
        afresh: gc::is_running(ctx.repo.common_dir()),
        own: OwnDirs::of(&ctx.repo, &store.objects),
    };
    if let Some((manifest, meta)) = &wanted.base {
        return run.run(
            Some((Cow::Borrowed(*manifest), meta.clone())),
            &Suspects::All,
        );
    }
    let watched = match wanted.trust {
        Trust::Nobody => None,
        Trust::Watcher => {
            let root = Root::open(ctx.repo.worktree_root())?;
            Watched::ask(store.dir.path(), &root, run.started)
        }
    };
    if let Some(watched) = &watched
        && let Some(capture) = run.quiet(watched)?
    {
        return Ok(capture);
    }
    let Some((manifest, meta, identity)) =
        cache::load_identified(&store.dir.file("cache"), store.objects.format())
    else {
        let mut capture = run.run(None, &Suspects::All)?;
        capture.keeping = watched.map(|watched| watched.keeping(None));
        return Ok(capture);
    };
    let suspects = match &watched {
        Some(watched) => watched.suspects(identity, &manifest),
        None => Suspects::All,
    };
    let known = watched.is_some().then(|| (identity, meta.clone()));
    let mut capture = run.run(Some((Cow::Owned(manifest), meta)), &suspects)?;
    capture.keeping = watched.map(|watched| watched.keeping(known));
    Ok(capture)
}

impl Capture<'_> {
    /// What the cache keeps of this, hung on the anchor given.
    pub fn meta(&self, anchor_ref: &str, anchor_commit: Oid, index_commit: Oid) -> Meta {
        let fresh = is_fresh(&self.index_stamp, self.started);
        Meta {
            options: self.options.clone(),
            anchor_ref: anchor_ref.to_owned(),
            anchor_commit: anchor_commit.to_string(),
            index: IndexMeta {
                // It may be replaced again within this tick of the clock; without a stamp the next capture reads it.
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
            derived: self.derived().kept(),
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
    pub fn missing(&self, store: &Store) -> Vec<Oid> {
        // A repack moves objects into packs that were not listed yet: that is not missing.
        store.objects.refresh();
        let files = self.manifest.entries().map(|(_, file)| file);
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
    pub fn anchored(&self, ctx: &Context<'_>, store: &Store) -> Result<bool> {
        if let Some((name, commit)) = &self.anchor {
            if standing(&store.refs, name)? != Some(*commit) {
                return Ok(false);
            }
        } else if !self.seeded {
            return Ok(false);
        }
        if self.seeded {
            let head = ctx.repo.head(&store.objects)?;
            return Ok(index_stamp(ctx) == self.index_stamp && head == self.head);
        }
        Ok(true)
    }

    /// What follows from the manifest alone.
    pub fn derived(&self) -> &Derived {
        self.derived.get_or_init(|| Derived::of(&self.manifest))
    }

    /// The paths and directories that the record lists.
    pub fn lists(&self) -> Lists {
        let index = &self.index;
        let mut derived = self.derived().lists();
        let gone = index.missing.iter();
        let gone = gone.filter(|path| self.manifest.file(path).is_none());
        let before = derived.uncaptured.len();
        derived
            .uncaptured
            .extend(gone.map(|path| (path.clone(), Uncaptured::new(path, "object-missing"))));
        if derived.uncaptured.len() > before {
            derived.uncaptured.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Lists {
            conflicts: index.conflicts.clone(),
            intent_to_add: index.intent_to_add.clone(),
            skip_worktree: index.skip_worktree.clone(),
            assume_unchanged: index.assume_unchanged.clone(),
            folded: index.folded.clone(),
            forced: self.forced.iter().cloned().collect(),
            ..derived
        }
    }
}
