//! What differs between two sides, the present among them. Only looks: nothing is written, not even objects.

mod beyond;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use super::Context;
use super::capture::{Capture, CaptureOptions, Storing, capture};
use super::outcome::{Diff, FileDiff};
use super::pathspec::Pathspec;
pub use super::request::Patches;
use super::swap::read_tree;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Root, read_link_at};
use crate::git::objects::ObjectKind;
use crate::git::path::{self, RepoPath};
use crate::git::textdiff::{self, Hunks, LARGEST, Layout, PatchSide, QuotePath};
use crate::git::tree::{self, Change, GITLINK_MODE, LINK_MODE, Node, ReadTree};
use crate::store::Store;
use crate::store::stored::Stored;
use crate::worktree::manifest::DirFlags;

/// What the new side, or the old, is.
pub enum Side {
    /// A snapshot.
    Stored(Box<Stored>),
    /// The working tree as it is.
    Present,
}

impl Side {
    /// Returns the side that is a stored snapshot.
    pub fn of(stored: &Stored) -> Self {
        Self::Stored(Box::new(stored.clone()))
    }

    fn name(&self) -> String {
        match self {
            Self::Stored(stored) => stored.id.to_string(),
            Self::Present => "present".to_owned(),
        }
    }
}

/// How patches are made.
#[derive(Debug, Clone, Copy)]
struct Style {
    quote: QuotePath,
    has_binary: bool,
}

/// Whether more than the content of files is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// All that a restore or a trip would act on.
    Told,
    /// Files alone.
    LeftOut,
}

/// Compares two sides, in these paths only.
///
/// # Errors
/// When an object is missing or damaged, or whatever keeps a file from being read.
pub fn sides(
    ctx: &Context<'_>,
    store: &Store,
    (from, to): (&Side, &Side),
    only: &Pathspec,
    patches: Patches,
    beyond: Beyond,
) -> Result<Diff> {
    sides_as(
        ctx,
        store,
        (from, to),
        only,
        patches,
        beyond,
        Layout::default(),
    )
}

/// [`sides`], with lines laid out like this. Where white space is ignored, files that differ in nothing else are left out.
///
/// # Errors
/// As [`sides`].
pub fn sides_as(
    ctx: &Context<'_>,
    store: &Store,
    (from, to): (&Side, &Side),
    only: &Pathspec,
    patches: Patches,
    beyond: Beyond,
    layout: Layout,
) -> Result<Diff> {
    let seen = match (from, to) {
        (Side::Stored(..), Side::Stored(..)) => None,
        _ => Some(look_beside(ctx, store, [from, to])?),
    };
    let contents = Contents::new(ctx, store, seen.as_ref())?;
    let (old, new) = (contents.tree(from)?, contents.tree(to)?);
    let mut changes = tree::diff(&contents, Some(old), Some(new))?;
    changes.retain(|change| only.matches(&change.path));
    let others = match beyond {
        Beyond::Told => beyond::compare(ctx, store, &contents, (from, to), only)?,
        Beyond::LeftOut => Vec::new(),
    };
    let patch = style(ctx, patches)?;
    let files = file_diffs(ctx, &contents, &changes, patch, layout)?;
    Ok(Diff::of(from.name(), to.name(), files, others))
}

/// Files and empty directories of a snapshot that are on disk although the rules of the present leave them out, as with `--include`: they
/// are compared, too.
fn hidden(
    ctx: &Context<'_>,
    store: &Store,
    seen: &Capture<'_>,
    sides: [&Side; 2],
) -> Result<BTreeSet<Vec<u8>>> {
    let root = Root::open(ctx.repo.worktree_root())?;
    let read = |oid| read_tree(store, seen, oid);
    let mut found = BTreeSet::new();
    for side in sides {
        let Side::Stored(stored) = side else { continue };
        for change in tree::diff(&read, Some(stored.tree), Some(seen.tree))? {
            let is_gone = change.new.is_none()
                && change.old.is_some_and(|node| node.mode != GITLINK_MODE)
                && seen
                    .manifest
                    .file(&change.path)
                    .is_none_or(|file| file.kind.is_by_rule());
            let on_disk = || root.stamp(&change.path).ok().flatten();
            if is_gone && on_disk().is_some_and(|stamp| stamp.is_file() || stamp.is_symlink()) {
                found.insert(change.path);
            }
        }
        for dir in store.lists(stored)?.empty_dirs {
            let there = seen.manifest.dir_on_disk(&dir);
            let is_seen = there.is_some_and(|dir| !dir.flags.has(DirFlags::INSIDE_IGNORED));
            if !is_seen && root.dir_stamp(&dir).is_some() {
                found.insert(path::join(&dir, b""));
            }
        }
    }
    Ok(found)
}

/// The paths that differ between two stored trees, with their line counts.
///
/// # Errors
/// When an object is missing or damaged.
pub fn tree_diff(ctx: &Context<'_>, store: &Store, old: Oid, new: Oid) -> Result<Vec<FileDiff>> {
    let contents = Contents::new(ctx, store, None)?;
    let changes = tree::diff(&contents, Some(old), Some(new))?;
    file_diffs(ctx, &contents, &changes, None, Layout::default())
}

/// What a snapshot has that the commit of its HEAD has not, in these paths only.
///
/// # Errors
/// When an object is missing or damaged.
pub fn beside_head(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    only: &Pathspec,
    patches: Patches,
) -> Result<Diff> {
    let contents = Contents::new(ctx, store, None)?;
    let head = stored.record.head.oid.as_deref().map(Oid::from_hex);
    let head = match head.transpose()? {
        Some(oid) if store.objects.contains(oid) => Some(store.objects.commit(oid)?.tree),
        _ => None,
    };
    let of_head = |oid| store.objects.read_safe_tree(oid);
    let mut changes = tree::diff_sides((&of_head, head), (&contents, Some(stored.tree)))?;
    changes.retain(|change| only.matches(&change.path));
    let patch = style(ctx, patches)?;
    let files = file_diffs(ctx, &contents, &changes, patch, Layout::default())?;
    Ok(Diff::of(
        "HEAD".to_owned(),
        stored.id.to_string(),
        files,
        Vec::new(),
    ))
}

/// How patches are made, where they are wanted.
fn style(ctx: &Context<'_>, patches: Patches) -> Result<Option<Style>> {
    if patches == Patches::None {
        return Ok(None);
    }
    Ok(Some(Style {
        quote: quote_path(ctx)?,
        has_binary: patches == Patches::Full,
    }))
}

/// How git is told to quote paths.
///
/// # Errors
/// git's configuration cannot be read.
pub fn quote_path(ctx: &Context<'_>) -> Result<QuotePath> {
    Ok(match ctx.repo.config_bool("core.quotePath")? {
        Some(false) => QuotePath::ControlOnly,
        _ => QuotePath::All,
    })
}

/// The paths in which the working tree differs from a stored tree, sorted by bytes.
///
/// # Errors
/// When an object is missing or damaged, or the working tree cannot be read.
pub fn paths_since(ctx: &Context<'_>, store: &Store, tree: Oid) -> Result<Vec<Vec<u8>>> {
    let seen = look(ctx, store, BTreeSet::new())?;
    let contents = Contents::new(ctx, store, Some(&seen))?;
    let changes = tree::diff(&contents, Some(tree), Some(contents.tree(&Side::Present)?))?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

/// The paths of files in which the working tree differs from a snapshot, sorted by bytes.
///
/// # Errors
/// As [`paths_since`].
pub fn changed_since(ctx: &Context<'_>, store: &Store, stored: &Stored) -> Result<Vec<Vec<u8>>> {
    let changes = changes_since(ctx, store, stored)?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

/// How the files of the working tree differ from a snapshot's, sorted by bytes.
///
/// # Errors
/// As [`paths_since`].
pub fn changes_since(ctx: &Context<'_>, store: &Store, stored: &Stored) -> Result<Vec<Change>> {
    let (old, new) = (Side::of(stored), Side::Present);
    let seen = look_beside(ctx, store, [&old, &new])?;
    let contents = Contents::new(ctx, store, Some(&seen))?;
    tree::diff(&contents, Some(stored.tree), Some(contents.tree(&new)?))
}

/// A file in which the working tree differs from a snapshot.
pub struct Differing {
    /// Its path.
    pub path: Vec<u8>,
    /// What is there now.
    pub here: Option<Node>,
    /// What the snapshot has.
    pub there: Option<Node>,
    /// Both texts, where both sides are files of text.
    pub texts: Option<(Vec<u8>, Vec<u8>)>,
}

/// The files in which the working tree differs from a snapshot, in these paths only, sorted by bytes.
///
/// # Errors
/// As [`sides`]; `BUSY` when a file changed while it was read.
pub fn differing(
    ctx: &Context<'_>,
    store: &Store,
    stored: &Stored,
    only: &Pathspec,
) -> Result<Vec<Differing>> {
    let (there, here) = (Side::of(stored), Side::Present);
    let seen = look_beside(ctx, store, [&there, &here])?;
    let contents = Contents::new(ctx, store, Some(&seen))?;
    let mut changes = tree::diff(&contents, Some(contents.tree(&here)?), Some(stored.tree))?;
    changes.retain(|change| only.matches(&change.path));
    let differing = changes.into_iter().map(|change| {
        let texts = match (change.old, change.new) {
            (Some(old), Some(new)) if is_file(old) && is_file(new) => {
                let old = contents.text_of(&change.path, old)?;
                old.zip(contents.text(&change.path, new)?)
            }
            _ => None,
        };
        Ok(Differing {
            path: change.path,
            here: change.old,
            there: change.new,
            texts,
        })
    });
    differing.collect()
}

fn is_file(node: Node) -> bool {
    node.mode & 0o170_000 == 0o100_000
}

/// Looks at the working tree, with what the sides have of it although its rules leave it out.
fn look_beside<'s>(ctx: &Context<'_>, store: &'s Store, sides: [&Side; 2]) -> Result<Capture<'s>> {
    let seen = look(ctx, store, BTreeSet::new())?;
    let forced = hidden(ctx, store, &seen, sides)?;
    if forced.is_empty() {
        return Ok(seen);
    }
    look(ctx, store, forced)
}

fn look<'s>(ctx: &Context<'_>, store: &'s Store, forced: BTreeSet<Vec<u8>>) -> Result<Capture<'s>> {
    let wanted = CaptureOptions {
        storing: Storing::No,
        forced,
        ..CaptureOptions::default()
    };
    capture(ctx, store, &wanted)
}

fn file_diffs(
    ctx: &Context<'_>,
    contents: &Contents<'_>,
    changes: &[Change],
    patch: Option<Style>,
    layout: Layout,
) -> Result<Vec<FileDiff>> {
    ctx.progress.begin("comparing", Some(changes.len() as u64));
    let mut files = Vec::with_capacity(changes.len());
    for change in changes {
        let file = file_diff(contents, change, patch, layout)
            .context(|| format!("cannot compare '{}'", path::display(&change.path)))?;
        let is_alike = file.is_text_modified() && file.insertions + file.deletions == 0;
        if !(layout.ignores_space && is_alike) {
            files.push(file);
        }
        ctx.progress.advance(1);
    }
    ctx.progress.end();
    Ok(files)
}

fn file_diff(
    contents: &Contents<'_>,
    change: &Change,
    patch: Option<Style>,
    layout: Layout,
) -> Result<FileDiff> {
    let status = status(change);
    let same_content = change.old.map(|node| node.oid) == change.new.map(|node| node.oid);
    let mut file = FileDiff {
        path: RepoPath::new(change.path.clone()),
        status,
        old_mode: change.old.map_or(0, |node| node.mode),
        new_mode: change.new.map_or(0, |node| node.mode),
        old_oid: change.old.map(|node| node.oid),
        new_oid: change.new.map(|node| node.oid),
        insertions: 0,
        deletions: 0,
        binary: false,
        missing: false,
        patch: None,
    };
    // Only the mode differs: there is nothing to read.
    let skipped = same_content && status == 'M';
    for node in [change.old, change.new].into_iter().flatten() {
        file.missing |= !skipped && !contents.is_here(&change.path, node)?;
    }
    if file.missing {
        return Ok(file);
    }
    let load = |node: Option<Node>| match node {
        Some(node) if !skipped => contents.bytes(&change.path, node),
        _ => Ok(Some(Vec::new())),
    };
    let (old, new) = (load(change.old)?, load(change.new)?);
    let (old_text, new_text) = (text_in(old.as_deref()), text_in(new.as_deref()));
    match (old_text, new_text) {
        (Some(old), Some(new)) if status == 'T' => {
            // As git has it: everything goes, and everything comes.
            file.deletions = textdiff::compare(old, b"", Hunks::None)?.deletions;
            file.insertions = textdiff::compare(b"", new, Hunks::None)?.insertions;
        }
        (Some(old), Some(new)) => {
            let lines = textdiff::compare_as(old, new, Hunks::None, layout)?;
            (file.insertions, file.deletions) = (lines.insertions, lines.deletions);
        }
        _ => file.binary = true,
    }
    if let Some(style) = patch {
        let old = patch_side(change.old, old.as_deref(), style);
        let new = patch_side(change.new, new.as_deref(), style);
        file.patch = Some(textdiff::patch(
            &change.path,
            old,
            new,
            style.quote,
            layout,
        )?);
    }
    Ok(file)
}

fn patch_side(node: Option<Node>, bytes: Option<&[u8]>, style: Style) -> Option<PatchSide<'_>> {
    node.map(|node| PatchSide {
        node,
        text: text_in(bytes),
        bytes: bytes.filter(|_| style.has_binary),
    })
}

/// What is compared by lines; None when it is binary.
fn text_in(bytes: Option<&[u8]>) -> Option<&[u8]> {
    bytes.filter(|bytes| !textdiff::is_binary(bytes))
}

fn status(change: &Change) -> char {
    match (change.old, change.new) {
        (None, _) => 'A',
        (_, None) => 'D',
        (Some(old), Some(new))
            if textdiff::file_type(old.mode) != textdiff::file_type(new.mode) =>
        {
            'T'
        }
        _ => 'M',
    }
}

fn not_looked_at() -> Error {
    Error::new(Code::Io, "the present was not looked at")
}

/// Where bytes come from: the object store, and for what the present alone has, the disk.
struct Contents<'a> {
    store: &'a Store,
    seen: Option<&'a Capture<'a>>,
    root: Root,
    /// Files of the present that need not be in the object store, by path.
    on_disk: BTreeMap<Vec<u8>, Oid>,
}

impl ReadTree for Contents<'_> {
    fn read_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        match self.seen {
            Some(seen) => read_tree(self.store, seen, oid),
            None => self.store.objects.read_tree(oid),
        }
    }
}

impl<'a> Contents<'a> {
    fn new(ctx: &Context<'_>, store: &'a Store, seen: Option<&'a Capture<'a>>) -> Result<Self> {
        let mut on_disk = BTreeMap::new();
        if let Some(seen) = seen {
            let manifest = &seen.manifest;
            for (dir, file) in manifest.entries().filter(|(_, file)| file.kind.in_tree()) {
                on_disk.insert(manifest.path_of(dir, &file), file.oid);
            }
        }
        Ok(Self {
            store,
            seen,
            root: Root::open(ctx.repo.worktree_root())?,
            on_disk,
        })
    }

    fn tree(&self, which: &Side) -> Result<Oid> {
        match (which, self.seen) {
            (Side::Stored(stored), _) => Ok(stored.tree),
            (Side::Present, Some(seen)) => Ok(seen.tree),
            (Side::Present, None) => Err(not_looked_at()),
        }
    }

    /// Whether a side's bytes can be had without asking anybody for them.
    fn is_here(&self, path: &[u8], node: Node) -> Result<bool> {
        Ok(node.mode == GITLINK_MODE
            || self.on_disk.get(path) == Some(&node.oid)
            || self.store.objects.header(node.oid)?.is_some())
    }

    /// What is compared by lines; None when it is binary or too large for that.
    fn text(&self, path: &[u8], node: Node) -> Result<Option<Vec<u8>>> {
        let bytes = self.bytes(path, node)?;
        Ok(bytes.filter(|bytes| !textdiff::is_binary(bytes)))
    }

    /// A side's bytes; None when they are too large to be compared.
    fn bytes(&self, path: &[u8], node: Node) -> Result<Option<Vec<u8>>> {
        if node.mode == GITLINK_MODE {
            return Ok(Some(textdiff::gitlink_text(node.oid)));
        }
        let bytes = match self.store.objects.header(node.oid)? {
            Some((_, size)) if size > LARGEST => None,
            None if self.on_disk.get(path) == Some(&node.oid) => self.read_disk(path, node)?,
            // When it is missing, this says so.
            _ => Some(self.store.objects.read(node.oid)?.1),
        };
        Ok(bytes)
    }

    /// The same, where the text must be what the id says.
    fn text_of(&self, path: &[u8], node: Node) -> Result<Option<Vec<u8>>> {
        let text = self.text(path, node)?;
        match &text {
            Some(bytes) if self.store.objects.hash(ObjectKind::Blob, bytes)? != node.oid => {
                let message = format!("'{}' changed while it was read", path::display(path));
                Err(Error::new(Code::Busy, message).hint("try again"))
            }
            _ => Ok(text),
        }
    }

    fn read_disk(&self, path: &[u8], node: Node) -> Result<Option<Vec<u8>>> {
        if node.mode == LINK_MODE {
            let (dir, name) = path::split(path);
            let dir = self.root.open_dir(dir)?;
            return Ok(Some(read_link_at(std::os::fd::AsFd::as_fd(&dir), name)?));
        }
        let file = std::fs::File::from(self.root.open_file(path)?);
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= LARGEST).then_some(bytes))
    }
}
