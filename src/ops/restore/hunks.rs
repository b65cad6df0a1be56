//! `tw restore -p` and `-L`: parts of files put back, as a person chose them.
//!
//! Two steps: [`offer`] only looks, and [`put`] is a swap like any other of what was chosen. It refuses whole when a file is not what
//! it was when its parts were offered: nobody was asked about what is there now.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::fs::Durable;
use crate::git::objects::{KeptPack, ObjectKind, ObjectWriter, WriteMode, hash};
use crate::git::path;
use crate::git::textdiff::{self, Hunk, Layout, PatchSide};
use crate::git::tree::{self, GITLINK_MODE, LINK_MODE, Node};
use crate::ops::Context;
use crate::ops::address;
use crate::ops::capture::{Capture, Storing};
use crate::ops::compare::{Differing, differing, quote_path};
use crate::ops::outcome::{Changes, Restored};
use crate::ops::pathspec::Pathspec;
use crate::ops::record::Made;
use crate::ops::request::{DryRun, Restore};
use crate::ops::snapshots;
use crate::ops::swap::extras::stored_extras;
use crate::ops::swap::goal::{Aim, Goal, PathChanges};
use crate::ops::swap::notices::swap_notices;
use crate::ops::swap::{changes, prepare, read_tree, recover, swap};
use crate::store::Store;
use crate::store::lock::Owner;
use crate::store::state::State;
use crate::store::stored::Stored;
use crate::store::trigger::SwapKind;
use crate::worktree::manifest::Kind;
use crate::worktree::plan::{Extras, Side};

/// Lines around a hunk, as git shows them.
const CONTEXT: u32 = 3;

/// What can be chosen of a snapshot.
pub struct Offer {
    pub(super) stored: Stored,
    /// The files that differ.
    pub files: Vec<FileOffer>,
}

/// What can be chosen of a file.
pub struct FileOffer {
    /// Its path.
    pub path: Vec<u8>,
    pub(super) here: Option<Node>,
    there: Option<Node>,
    pub(super) texts: Option<(Vec<u8>, Vec<u8>)>,
    /// What is asked about it, in order.
    pub parts: Vec<Part>,
}

/// What is asked about at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The file comes, goes, or is another one: there are no lines to choose from.
    Whole(&'static str),
    /// Its mode: executable or not.
    Mode(u32, u32),
    /// Some of its lines.
    Lines(Hunk),
}

impl FileOffer {
    fn of(file: Differing) -> Result<Option<Self>> {
        let is_submodule = |node: Node| node.mode == GITLINK_MODE;
        if file.here.or(file.there).is_some_and(is_submodule)
            || file.there.is_some_and(is_submodule)
        {
            // It is never entered, and stays as it is.
            return Ok(None);
        }
        let mut parts = Vec::new();
        match (&file.texts, file.here, file.there) {
            (Some((here, there)), Some(old), Some(new)) => {
                if old.mode != new.mode {
                    parts.push(Part::Mode(old.mode, new.mode));
                }
                let hunks = textdiff::hunks(here, there, CONTEXT)?;
                parts.extend(hunks.into_iter().map(Part::Lines));
            }
            (_, None, _) => parts.push(Part::Whole("add")),
            (_, _, None) => parts.push(Part::Whole("remove")),
            _ => parts.push(Part::Whole("replace")),
        }
        Ok(Some(Self {
            path: file.path,
            here: file.here,
            there: file.there,
            texts: file.texts,
            parts,
        }))
    }

    /// A hunk as smaller ones, without lines around them; alone where it cannot be split.
    ///
    /// # Errors
    /// When libgit2 runs out of memory.
    pub fn split(&self, hunk: &Hunk) -> Result<Vec<Hunk>> {
        let Some((here, there)) = &self.texts else {
            return Ok(vec![hunk.clone()]);
        };
        let within = |part: &Hunk| part.old.start >= hunk.old.start && part.old.end <= hunk.old.end;
        let parts = textdiff::hunks(here, there, 0)?;
        Ok(parts.into_iter().filter(within).collect())
    }

    /// From what the file is to what it becomes with what was chosen of it, as git writes it. None: it stays, or has no lines.
    ///
    /// # Errors
    /// git's configuration cannot be read.
    pub(super) fn patch(&self, ctx: &Context<'_>, chosen: &[Part]) -> Result<Option<Vec<u8>>> {
        let (Some(here), Some((old, _)), Some(becomes)) =
            (self.here, &self.texts, self.chosen(chosen))
        else {
            return Ok(None);
        };
        let (Some(node), Some(new)) = (becomes.node, &becomes.text) else {
            return Ok(None);
        };
        let quote = quote_path(ctx)?;
        let node = Node {
            oid: hash(here.oid.format(), ObjectKind::Blob, new)?,
            ..node
        };
        let old = PatchSide {
            node: here,
            text: Some(old),
            bytes: None,
        };
        let new = PatchSide {
            node,
            text: Some(new),
            bytes: None,
        };
        let layout = Layout::default();
        textdiff::patch(&self.path, Some(old), Some(new), quote, layout).map(Some)
    }

    /// What the file becomes with what was chosen of it; its text where no object has that. None: it stays.
    fn chosen(&self, chosen: &[Part]) -> Option<Becomes> {
        let (Some(here), Some(there), Some((old, new))) = (self.here, self.there, &self.texts)
        else {
            return (!chosen.is_empty()).then_some(Becomes {
                node: self.there,
                text: None,
            });
        };
        let hunks = chosen.iter().filter_map(|part| match part {
            Part::Lines(hunk) => Some(hunk),
            Part::Whole(_) | Part::Mode(..) => None,
        });
        let text = textdiff::with_hunks(old, new, hunks);
        let has_mode = chosen.iter().any(|part| matches!(part, Part::Mode(..)));
        let mode = if has_mode { there.mode } else { here.mode };
        let changes = text != *old || mode != here.mode;
        changes.then_some(Becomes {
            node: Some(Node { mode, ..there }),
            text: Some(text),
        })
    }
}

/// What a path becomes. With a text the id of the node is that text's.
struct Becomes {
    node: Option<Node>,
    text: Option<Vec<u8>>,
}

/// What can be chosen of a snapshot, in these paths.
///
/// # Errors
/// As [`address::resolve`]; `INTERRUPTED`; a damaged object.
pub fn offer(ctx: &Context<'_>, request: &Restore) -> Result<Offer> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    recover::refuse_interrupted(store)?;
    let stored = address::resolve(ctx, store, &request.address)?;
    let only = Pathspec::parse(ctx, &request.paths)?;
    let files = differing(ctx, store, &stored, &only)?;
    let files = files.into_iter().map(FileOffer::of);
    let files = files.filter_map(Result::transpose).collect::<Result<_>>()?;
    Ok(Offer { stored, files })
}

/// Puts back what was chosen: of each file of the offer, these parts.
///
/// # Errors
/// `BUSY` when a file changed since it was offered; else as restore.
pub fn put(ctx: &Context<'_>, offer: &Offer, chosen: &[Vec<Part>]) -> Result<Restored> {
    let store = ctx.store()?;
    let begun = recover::begin(ctx, store, SwapKind::Restore.as_str(), DryRun::No)?;
    let done = put_parts(ctx, store, offer, chosen);
    begun.answer(done, |restored| &mut restored.notices)
}

fn put_parts(
    ctx: &Context<'_>,
    store: &Store,
    offer: &Offer,
    chosen: &[Vec<Part>],
) -> Result<Restored> {
    let becoming = becoming(offer, chosen);
    let mut restored = answer(store, offer, DryRun::No)?;
    if becoming.is_empty() {
        return Ok(restored);
    }
    let (nodes, kept) = write(store, becoming)?;
    let putting = Putting::new(store, offer, nodes)?;
    let swapped = putting.swap(ctx);
    kept.map_or(Ok(()), KeptPack::release)?;
    let swapped = swapped?;
    restored.notices.extend(swapped.notices);
    restored.changes = swapped.changes;
    restored.backup_id = Some(swapped.backup_id);
    Ok(restored)
}

/// Tells what [`put`] would do. Nothing is written, not even objects.
///
/// # Errors
/// As [`put`].
pub fn look(ctx: &Context<'_>, offer: &Offer, chosen: &[Vec<Part>]) -> Result<Restored> {
    let store = ctx.store()?;
    let becoming = becoming(offer, chosen);
    let mut restored = answer(store, offer, DryRun::Yes)?;
    if becoming.is_empty() {
        return Ok(restored);
    }
    let mut unwritten = BTreeSet::new();
    let nodes = nodes(becoming, |text| {
        let oid = store.objects.hash(ObjectKind::Blob, text)?;
        unwritten.insert(oid);
        Ok(oid)
    })?;
    let putting = Putting {
        unwritten: RefCell::new(unwritten),
        ..Putting::new(store, offer, nodes)?
    };
    restored.changes = putting.look(ctx)?;
    Ok(restored)
}

fn becoming<'o>(offer: &'o Offer, chosen: &[Vec<Part>]) -> Vec<(&'o FileOffer, Becomes)> {
    let both = offer.files.iter().zip(chosen);
    both.filter_map(|(file, chosen)| Some((file, file.chosen(chosen)?)))
        .collect()
}

fn answer(store: &Store, offer: &Offer, dry_run: DryRun) -> Result<Restored> {
    Ok(Restored {
        snapshot_id: offer.stored.id.to_string(),
        snapshot: snapshots::view(store, &offer.stored)?,
        backup_id: None,
        dry_run: dry_run == DryRun::Yes,
        staged: false,
        lines: None,
        changes: Changes::default(),
        notices: Vec::new(),
        declined: false,
    })
}

/// Writes the texts that are new, and keeps them: no ref has them before the swap has ended.
fn write<'o>(
    store: &Store,
    becoming: Vec<(&'o FileOffer, Becomes)>,
) -> Result<(Nodes<'o>, Option<KeptPack>)> {
    let keep_note = Owner::this_process("restore").line().trim_end().to_owned();
    let mode = WriteMode::Pack {
        keep_note,
        durable: Durable::Yes,
    };
    let writer = ObjectWriter::new(&store.objects, mode)?.afresh();
    let nodes = nodes(becoming, |text| writer.put(ObjectKind::Blob, text))?;
    let written = writer.finish()?;
    store.objects.refresh();
    Ok((nodes, written.pack))
}

type Nodes<'o> = Vec<(&'o FileOffer, Option<Node>)>;

/// What the paths become, each text under the id that `put` gives it.
fn nodes(
    becoming: Vec<(&FileOffer, Becomes)>,
    mut put: impl FnMut(&[u8]) -> Result<Oid>,
) -> Result<Nodes<'_>> {
    let mut nodes = Nodes::new();
    for (file, becomes) in becoming {
        let node = match (becomes.node, becomes.text) {
            (Some(node), Some(text)) => Some(Node {
                oid: put(&text)?,
                ..node
            }),
            (node, _) => node,
        };
        nodes.push((file, node));
    }
    Ok(nodes)
}

struct Putting<'o> {
    store: &'o Store,
    stored: &'o Stored,
    extras: Extras,
    nodes: Nodes<'o>,
    /// Texts that would be written.
    unwritten: RefCell<BTreeSet<Oid>>,
}

struct Put {
    backup_id: String,
    changes: Changes,
    notices: Vec<String>,
}

impl<'o> Putting<'o> {
    fn new(store: &'o Store, offer: &'o Offer, nodes: Nodes<'o>) -> Result<Self> {
        Ok(Self {
            store,
            stored: &offer.stored,
            extras: stored_extras(store, &offer.stored)?,
            nodes,
            unwritten: RefCell::default(),
        })
    }

    fn look(&self, ctx: &Context<'_>) -> Result<Changes> {
        self.with_goal(|goal| {
            let prepared = prepare(ctx, self.store, goal, &Storing::No)?;
            Ok(changes(&prepared.plan))
        })
    }

    fn swap(&self, ctx: &Context<'_>) -> Result<Put> {
        let state_after = |before: &State, _: &Made<'_>| State {
            workspace_root: ctx.repo.worktree_root().display().to_string(),
            ..before.clone()
        };
        self.with_goal(|goal| {
            let swapped = swap(ctx, self.store, goal, &state_after)?;
            Ok(Put {
                backup_id: swapped.saved.id.to_string(),
                changes: swapped.changes(),
                notices: swap_notices(&swapped.applied),
            })
        })
    }

    fn with_goal<T>(&self, act: impl FnOnce(&Goal<'_>) -> Result<T>) -> Result<T> {
        let find = |capture: &Capture<'_>| self.find(capture);
        let aim = Aim::Computed {
            compute: &find,
            // What a snapshot has although the rules of now leave it out is saved, too.
            forced: self
                .nodes
                .iter()
                .map(|(file, _)| file.path.clone())
                .collect(),
            saved: &self.extras,
            unwritten: &self.unwritten,
        };
        let title = format!("before restoring parts from {}", self.stored.id);
        act(&Goal::new(SwapKind::Restore, title, aim))
    }

    /// What the paths become, if they are still what they were.
    fn find(&self, capture: &Capture<'_>) -> Result<PathChanges> {
        let read = |oid| read_tree(self.store, capture, oid);
        let mut found = PathChanges::default();
        let mut emptied = BTreeSet::new();
        for (file, node) in &self.nodes {
            let full = &file.path;
            if tree::find(&read, capture.tree, full)? != file.here {
                let message = format!("'{}' changed since it was asked about", path::display(full));
                return Err(Error::new(Code::Busy, message).hint("ask again: nothing was done"));
            }
            found.paths.push((
                full.clone(),
                node.map(|node| self.side(capture, full, node)),
            ));
            let mut dir = path::split(full).0;
            while node.is_none() && !dir.is_empty() {
                if tree::find(&read, self.stored.tree, dir)?.is_some() {
                    break;
                }
                emptied.insert(dir.to_vec());
                dir = path::split(dir).0;
            }
        }
        // What is deeper goes first; one in which something is left stays.
        found.dirs = emptied.into_iter().rev().map(|dir| (dir, None)).collect();
        Ok(found)
    }

    /// A file that is there keeps its permission bits, as far as its mode stays.
    fn side(&self, capture: &Capture<'_>, full: &[u8], node: Node) -> Side {
        let here = capture.manifest.file(full);
        let kept = here.filter(|file| file.kind == Kind::File && file.git_mode == node.mode);
        let perm = match kept {
            _ if node.mode == LINK_MODE => 0,
            Some(file) => file.stamp.permissions(),
            None => self.extras.permissions(full, node.mode),
        };
        Side { node, perm }
    }
}
