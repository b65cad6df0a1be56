//! How a look at the working tree goes: the comparison with the cache, and where that does not settle it, scan, hashing and trees.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::absent::add_absent;
use super::derived::Derived;
use super::index::{self, IndexState};
use super::watched::root_alone;
use super::{
    CHEAP, Capture, CaptureOptions, LARGE, PACK_FROM, Prove, Storing, Writing, load_ignore_file,
    rule_parts,
};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::{Durable, Root, young_since};
use crate::git::ids::IdMaps;
use crate::git::index::Index;
use crate::git::objects::{ObjectKind, ObjectWriter, WriteMode};
use crate::git::operation::{self, OperationState};
use crate::git::own::OwnDirs;
use crate::git::refs::standing;
use crate::git::repo::Head;
use crate::git::threads;
use crate::ops::Context;
use crate::ops::gitview::{self, GitView};
use crate::store::Store;
use crate::store::lock::Owner;
use crate::worktree::cache::Meta;
use crate::worktree::capture::{
    HashOnly, Hashing, Proven, Sink, amount, build_trees, drop_gone, hash_files, prove_seeds,
    take_known_trees, unproven,
};
use crate::worktree::globs::Globs;
use crate::worktree::ignore::Globals;
use crate::worktree::manifest::{DirFlags, DirRec, FileFlags, FileRec, Kind, Manifest, no_oid};
use crate::worktree::rules::{LoadOther, Rules};
use crate::worktree::scan::{
    Comparison, Ctime, DirChange, FileMode, Scan, Scanned, Suspects, Way, compare_with_cache, scan,
    time_of_change,
};
use crate::worktree::watch::seen::About;

pub(super) struct CaptureRun<'a, 's, 'w> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) store: &'s Store,
    pub(super) wanted: &'a CaptureOptions<'w>,
    pub(super) started: i64,
    /// A gc is under way: all is written afresh, into a pack.
    pub(super) afresh: bool,
    /// What is git's own is not captured.
    pub(super) own: OwnDirs,
}

/// What a look at the files starts from.
struct StartOfScan<'a> {
    rules: Rules<'a>,
    root: Root,
    parsed: Option<Index>,
    /// What was seen before.
    base: Option<Cow<'a, Manifest>>,
    /// What a comparison with the cache found of each directory; empty when none was made.
    seen: Vec<DirChange>,
    way: Way,
    /// Whether its ids hang on something.
    anchored: bool,
}

/// What was found of the files.
pub(super) struct Files<'s> {
    manifest: Manifest,
    derived: OnceLock<Derived>,
    tree: Oid,
    made_trees: HashMap<Oid, Vec<u8>>,
    parsed_index: Option<Index>,
    writer: Option<ObjectWriter<'s>>,
    unchanged: bool,
    seeded: bool,
    is_quiet: bool,
}

impl<'s> CaptureRun<'_, 's, '_> {
    /// `suspects`: the directories of the base that are compared; all when it hangs on nothing.
    pub(super) fn run(
        &self,
        base: Option<(Cow<'_, Manifest>, Meta)>,
        suspects: &Suspects,
    ) -> Result<Capture<'s>> {
        // HEAD and the index before the files: both are compared once more when the files are done.
        let head = self.ctx.repo.head(&self.store.objects)?;
        let (base, meta) = match base {
            Some((base, meta)) => (Some(base), meta),
            None => (None, Meta::default()),
        };
        let anchor = self.anchor(&meta)?;
        let mut state = self.index_state(&head, &meta, anchor.is_some())?;
        let operation = operation::read(&self.ctx.repo, &self.store.objects)?;
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let (globals, globs, options) = self.rules()?;
        let same_rules = meta.options == options && meta.index.tracked == state.tracked;
        let mut compared = Comparison::Differs(Vec::new());
        if let (true, true, Some(base)) = (same_rules, anchor.is_some(), &base) {
            compared = compare_with_cache(&root, &self.own, base, self.ctime()?, suspects);
        }
        let parsed = state.parsed.take();
        let files = match base {
            Some(base)
                if compared == Comparison::Same
                    && self.has_proven(&meta)
                    && self.may_stay(&base.dirs) =>
            {
                self.unchanged(base, &meta, parsed, &state)?
            }
            base => {
                let seen = match compared {
                    Comparison::Differs(seen) => seen,
                    Comparison::Same => {
                        // No directory has to be listed again, but ids are still to be proven, or somebody is to see the manifest.
                        vec![DirChange::Same; base.as_ref().map_or(0, |base| base.dirs.len())]
                    }
                };
                let rules = Rules::new(globals, globs, self.other_side());
                let found = StartOfScan {
                    rules,
                    root,
                    parsed,
                    base,
                    seen,
                    // Under other rules there may be files that the cache never looked at.
                    way: if same_rules { Way::Fast } else { Way::Full },
                    anchored: anchor.is_some(),
                };
                self.changed(found, &state)?
            }
        };
        let known = (anchor, &*meta.index.index_commit, meta.index.stamp);
        Ok(self.captured(files, (head, operation), state, known, options))
    }

    /// Puts what was seen together. `known`: the anchor while it stands, and what the cache has of the index.
    pub(super) fn captured(
        &self,
        files: Files<'s>,
        (head, operation): (Head, OperationState),
        state: IndexState,
        (anchor, index_commit, known_index_stamp): (Option<(String, Oid)>, &str, Vec<i64>),
        options: String,
    ) -> Capture<'s> {
        let known_index_commit = anchor
            .as_ref()
            .and_then(|_| Oid::from_hex(index_commit).ok());
        Capture {
            manifest: files.manifest,
            derived: files.derived,
            access: OnceLock::new(),
            tree: files.tree,
            made_trees: files.made_trees,
            head,
            index: state.summary,
            parsed_index: files.parsed_index,
            index_stamp: state.stamp,
            operation,
            index_trees: state.trees,
            writer: files.writer,
            exclude_globs: self.glob_names(),
            forced: self.wanted.forced.clone(),
            started: self.started,
            unchanged: files.unchanged,
            seeded: files.seeded,
            afresh: self.afresh,
            anchor,
            known_index_commit,
            known_index_stamp,
            options,
            tracked: state.tracked,
            record: state.record,
            recorded: None,
            is_quiet: files.is_quiet,
            keeping: None,
        }
    }

    /// Whether nothing that is wanted is left to prove in a manifest that did not change.
    pub(super) fn has_proven(&self, meta: &Meta) -> bool {
        match self.wanted.prove {
            Prove::Cheap => true,
            Prove::Paths(_) => false,
            Prove::All => meta.derived.get("unproven").and_then(Value::as_u64) == Some(0),
        }
    }

    /// Whether a manifest that did not change may stay where it is: nobody changes it, and all its trees are there.
    fn may_stay(&self, dirs: &[DirRec]) -> bool {
        let whole = |dir: &DirRec| !dir.flags.has(DirFlags::DIRTY);
        self.wanted.before_hashing.is_none()
            && dirs.iter().all(whole)
            && dirs.first().is_some_and(|root| root.tree != no_oid())
    }

    /// Nothing differs from what was seen before.
    fn unchanged(
        &self,
        base: Cow<'_, Manifest>,
        meta: &Meta,
        parsed: Option<Index>,
        state: &IndexState,
    ) -> Result<Files<'s>> {
        let derived = OnceLock::new();
        if let Ok(kept) = serde_json::from_value::<Derived>(meta.derived.clone()) {
            let _ = derived.set(kept);
        }
        Ok(Files {
            tree: base.dirs.first().map_or_else(no_oid, |root| root.tree),
            manifest: base.into_owned(),
            derived,
            made_trees: HashMap::new(),
            parsed_index: parsed,
            // The files are stored, but git may have staged something since.
            writer: self.writer(state, (0, 0))?,
            unchanged: true,
            seeded: false,
            is_quiet: false,
        })
    }

    /// Nothing happened since what was seen before, as the watcher says; `None` when too much followed from it to be kept.
    pub(super) fn unread(
        &self,
        about: &About,
        parsed: Option<Index>,
        state: &IndexState,
    ) -> Result<Option<Files<'s>>> {
        let (Ok(tree), Ok(kept)) = (
            Oid::from_hex(&about.meta.root_tree),
            serde_json::from_value::<Derived>(about.meta.derived.clone()),
        ) else {
            return Ok(None);
        };
        Ok(Some(Files {
            tree,
            manifest: root_alone(about.owner),
            derived: OnceLock::from(kept),
            made_trees: HashMap::new(),
            parsed_index: parsed,
            writer: self.writer(state, (0, 0))?,
            unchanged: true,
            seeded: false,
            is_quiet: true,
        }))
    }

    /// Something differs, or may: looks at it, and makes what objects are missing.
    fn changed(&self, found: StartOfScan<'_>, state: &IndexState) -> Result<Files<'s>> {
        let StartOfScan {
            rules,
            root,
            parsed,
            base: mut old,
            seen,
            way,
            anchored,
        } = found;
        let unanchored = !anchored && old.is_some();
        if unanchored && let Some(manifest) = &mut old {
            self.doubt(manifest.to_mut());
        }
        let view = self.git_view(&root, parsed, state)?;
        let (mut manifest, mut unchanged, way) =
            self.look(&root, &rules, &view, old, (way, &seen))?;
        view.check()?;
        // Also what was on disk against the sparse patterns may have gone since.
        if way == Way::Full || (!unchanged && !state.summary.skip_worktree.is_empty()) {
            add_absent(&mut manifest, &root, &view, &state.summary.missing);
        }
        if let Some(look) = self.wanted.before_hashing {
            look(&mut manifest)?;
        }
        let how = Hashing {
            started: self.started,
            ctime: self.ctime()?,
            modes_from_disk: self.ctx.repo.file_mode()?,
            likely: self.wanted.likely,
        };
        unchanged &= self.prove(&root, &mut manifest, how, way)?.looked_at == 0;
        if way == Way::Full {
            self.take_known_trees(&mut manifest, &view);
        }
        let (count, largest) = amount(&manifest);
        let writer = self.writer(state, (count, largest))?;
        let sink: &dyn Sink = match &writer {
            Some(writer) => &Writing(writer),
            None => &HashOnly(self.store.objects.format()),
        };
        hash_files(&root, &mut manifest, sink, how, self.ctx.progress)?;
        // What vanished between the scan and the reading is as if it had never been there.
        drop_gone(&mut manifest);
        let mut made_trees = HashMap::new();
        let tree = build_trees(&mut manifest, sink, &mut |oid, bytes| {
            made_trees.insert(oid, bytes);
        })?;
        Ok(Files {
            manifest,
            derived: OnceLock::new(),
            tree,
            made_trees,
            parsed_index: view.into_index(),
            writer,
            unchanged,
            seeded: way == Way::Full && !unanchored,
            is_quiet: false,
        })
    }

    /// Nothing is known of any directory yet: git's cache tree spares making the trees that a commit
    /// has already.
    fn take_known_trees(&self, manifest: &mut Manifest, view: &GitView<'_>) {
        let cached = view.index().and_then(Index::true_trees);
        let has = |oid| !self.afresh && self.store.objects.contains(oid);
        take_known_trees(manifest, cached.map(index::Cached), &has);
    }

    /// What git says of the files.
    fn git_view<'v>(
        &'v self,
        root: &'v Root,
        parsed: Option<Index>,
        state: &IndexState,
    ) -> Result<GitView<'v>> {
        GitView::new(
            &self.ctx.repo,
            &self.store.objects,
            root,
            parsed,
            gitview::Known {
                head_only: state.head_only.clone(),
                forced: self.wanted.forced.clone(),
                submodules: state.summary.submodules,
                missing: state.summary.missing.clone(),
                sparse_ignore_files: state.summary.sparse_ignore_files(),
            },
        )
    }

    /// Proves what is wanted of the ids that were taken from git's index.
    fn prove(
        &self,
        root: &Root,
        manifest: &mut Manifest,
        how: Hashing<'_>,
        way: Way,
    ) -> Result<Proven> {
        match &self.wanted.prove {
            // Only a full scan takes ids from git's index; what an earlier one left unproven is work for the background.
            Prove::Cheap if way == Way::Fast => Ok(Proven::default()),
            Prove::Cheap => {
                let is_cheap = |(count, bytes)| count <= CHEAP.0 && bytes <= CHEAP.1;
                // Somebody may have it open for writing, which only a look at the file itself tells.
                let since = young_since();
                let may_change = |file: &FileRec| time_of_change(how.ctime, &file.stamp) >= since;
                if is_cheap(unproven(manifest, |_| true)) {
                    prove_seeds(root, manifest, how, &|_, _| true)
                } else if is_cheap(unproven(manifest, may_change)) {
                    prove_seeds(root, manifest, how, &|_, file| may_change(file))
                } else {
                    Ok(Proven::default())
                }
            }
            Prove::Paths(paths) => {
                prove_seeds(root, manifest, how, &|path, _| paths.contains(path))
            }
            Prove::All => prove_seeds(root, manifest, how, &|_, _| true),
        }
    }

    pub(super) fn ctime(&self) -> Result<Ctime> {
        Ctime::of(&self.ctx.repo)
    }

    /// The scan, and the way that it went in the end: the fast one may turn into the full one.
    fn look(
        &self,
        root: &Root,
        rules: &Rules<'_>,
        view: &GitView<'_>,
        old: Option<Cow<'_, Manifest>>,
        (way, seen): (Way, &[DirChange]),
    ) -> Result<(Manifest, bool, Way)> {
        let repo = &self.ctx.repo;
        let what = Scan {
            root,
            rules,
            tracked: view,
            max_file_size: self.ctx.settings.max_file_size,
            file_mode: if repo.file_mode()? {
                FileMode::Trusted
            } else {
                FileMode::FromIndex
            },
            ctime: self.ctime()?,
            threads: threads::count(),
            started: self.started,
            own: &self.own,
            seen,
        };
        let (found, way) = match scan(&what, old.as_deref(), way)? {
            Scanned::NeedsFull => (scan(&what, old.as_deref(), Way::Full)?, Way::Full),
            other => (other, way),
        };
        match (found, old) {
            (Scanned::Unchanged, Some(old)) => {
                let whole = old.dirs.iter().all(|dir| !dir.flags.has(DirFlags::DIRTY));
                Ok((old.into_owned(), whole, way))
            }
            (Scanned::Changed(found), old) => Ok((found.onto(old), false, way)),
            _ => Err(Error::new(Code::Io, "the working tree cannot be read")),
        }
    }

    /// The anchor of the cached ids, while it stands. A symbolic ref keeps nothing: what it leads to is somebody else's.
    pub(super) fn anchor(&self, meta: &Meta) -> Result<Option<(String, Oid)>> {
        let Ok(commit) = Oid::from_hex(&meta.anchor_commit) else {
            return Ok(None);
        };
        // After a power cut its objects may be gone. The first command that looks tells; until then each id is looked up.
        let stands = standing(&self.store.refs, &meta.anchor_ref)? == Some(commit)
            && !self.store.is_another_boot()?;
        Ok(stands.then(|| (meta.anchor_ref.clone(), commit)))
    }

    /// The anchor is gone: ids whose objects are gone, too, have to be made again; all of them when a gc is at work.
    fn doubt(&self, manifest: &mut Manifest) {
        self.store.objects.refresh();
        for at in 0..manifest.dirs.len() {
            for file in manifest.files_mut(at) {
                let stored = matches!(file.kind, Kind::File | Kind::Symlink);
                if stored && (self.afresh || !self.store.objects.contains(file.oid)) {
                    file.flags |= FileFlags::TO_HASH;
                }
            }
        }
        for dir in &mut manifest.dirs {
            let made = dir.tree != no_oid();
            if made && (self.afresh || !self.store.objects.contains(dir.tree)) {
                dir.flags |= DirFlags::DIRTY | DirFlags::RACY;
            }
        }
    }

    /// `new`: how many objects there will be beside the trees of the index, and the size of the largest.
    fn writer(&self, state: &IndexState, new: (usize, u64)) -> Result<Option<ObjectWriter<'s>>> {
        let note = |token: &str| Owner::this_process(token).line().trim_end().to_owned();
        let mode = match &self.wanted.storing {
            Storing::No => return Ok(None),
            Storing::Durable(token) => WriteMode::Pack {
                keep_note: note(token),
                durable: Durable::Yes,
            },
            Storing::Yes => {
                let (count, largest) = new;
                let count = count + state.trees.len();
                if self.afresh || count >= PACK_FROM || largest >= LARGE {
                    WriteMode::Pack {
                        keep_note: note("snapshot"),
                        durable: Durable::Yes,
                    }
                } else {
                    // As git writes its own: not waited for, but looked at after a power cut (`swap/recover/unwaited.rs`).
                    WriteMode::Loose
                }
            }
        };
        let writer = ObjectWriter::new(&self.store.objects, mode)?.relying_on(state.head);
        Ok(Some(if self.afresh { writer.afresh() } else { writer }))
    }

    pub(super) fn rules(&self) -> Result<(Arc<Globals>, Arc<Globs>, String)> {
        let (globals, mut globs, mut text) =
            rule_parts(self.ctx, self.wanted.include, self.wanted.exclude)?;
        if !self.wanted.shown.is_empty() {
            let own = Arc::get_mut(&mut globs).expect("nobody else has them yet");
            own.show(self.wanted.shown.clone());
        }
        text.extend_from_slice(self.wanted.other_rules.unwrap_or(no_oid()).as_bytes());
        for paths in [&self.wanted.forced, &self.wanted.shown] {
            for path in paths {
                text.extend_from_slice(path);
                text.push(0);
            }
            text.push(0);
        }
        text.extend_from_slice(&self.own.fingerprint());
        // Owners are written down as this process knows them.
        text.extend(
            IdMaps::here()
                .into_iter()
                .flat_map(|maps| maps.to_string().into_bytes()),
        );
        let options = self
            .store
            .objects
            .hash(ObjectKind::Blob, &text)?
            .to_string();
        Ok((globals, globs, options))
    }

    fn glob_names(&self) -> Vec<String> {
        let mut names = self.ctx.settings.exclude_globs();
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
