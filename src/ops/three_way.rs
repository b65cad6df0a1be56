//! A three-way merge onto what is in the working tree: files that are not stored yet are read from where they lie, and what is
//! merged is written for the swap that puts it in place, or only hashed while nothing follows.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use super::Context;
use super::merge::{self, Beside, Input, Merged};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::fs::{Durable, Root, read_link_at};
use crate::git::objects::{KeptPack, ObjectKind, ObjectWriter, WriteMode};
use crate::git::path;
use crate::git::textdiff::{self, LARGEST};
use crate::git::textmerge::{Labels, Style};
use crate::git::tree::{self, Change, LINK_MODE, Lookup, Node, ReadTree};
use crate::store::Store;
use crate::store::lock::Owner;
use crate::worktree::manifest::{FileRec, Kind};

/// The trees of a merge, and what its sides are called.
pub struct Sides<'a> {
    /// What both sides come from.
    pub base: Oid,
    /// What is in the working tree.
    pub ours: Oid,
    /// What is merged onto it.
    pub theirs: Oid,
    /// What they are called in markers.
    pub labels: Labels<'a>,
}

/// One of several merges in a row, each onto what the one before it made.
pub struct Step<'a> {
    /// What both sides come from; None: what is in the working tree.
    pub base: Option<Oid>,
    /// What is merged onto it.
    pub theirs: Oid,
    /// What the sides are called in markers.
    pub labels: Labels<'a>,
    /// What becomes of changes beside each other.
    pub beside: Beside,
    /// Which paths are merged.
    pub takes: &'a dyn Fn(&[u8]) -> bool,
    /// Whether what lies between both is known to be a change.
    pub is_known: &'a dyn Fn(&Change) -> bool,
    /// Which files of the base are followed to their names here although what they hold did not change.
    pub follows: &'a dyn Fn(&[u8]) -> bool,
}

/// What several merges made of the working tree.
#[derive(Debug, Default)]
pub struct Steps {
    /// All of it. Lines of conflicts are those of the working tree.
    pub merged: Merged,
    /// Of each path that does not stay as it is, the last step that changed it.
    pub step_of: BTreeMap<Vec<u8>, usize>,
    /// What each step merged, as [`Merged::taken`].
    pub taken: Vec<BTreeSet<Vec<u8>>>,
    /// What each step renamed, as [`Merged::renamed`].
    renamed: Vec<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// Of each step, as [`Merged::followed`].
    followed: Vec<BTreeMap<Vec<u8>, [Vec<u8>; 2]>>,
}

/// Names of what a step found, and those that this has in the working tree.
pub type NamesHere<'n> = BTreeMap<&'n [u8], &'n [u8]>;

/// Blobs and trees between the first step and the last.
type Between = RefCell<BTreeMap<Oid, Vec<u8>>>;

/// Merges, as often as a swap looks at the working tree anew.
pub struct ThreeWay<'a, 's> {
    ctx: &'a Context<'a>,
    store: &'s Store,
    style: Style,
    writes: Cell<bool>,
    /// Merged blobs of a look that nothing follows.
    unwritten: RefCell<BTreeSet<Oid>>,
    /// Keeps the merged blobs while no ref does.
    kept: RefCell<Vec<KeptPack>>,
}

impl<'a, 's> ThreeWay<'a, 's> {
    /// One that writes nothing yet.
    ///
    /// # Errors
    /// git's configuration cannot be read.
    pub fn new(ctx: &'a Context<'a>, store: &'s Store) -> Result<Self> {
        let style = ctx.repo.config("merge.conflictStyle")?;
        Ok(Self {
            ctx,
            store,
            style: style.map_or(Style::default(), |word| Style::parse(&word)),
            writes: Cell::new(false),
            unwritten: RefCell::default(),
            kept: RefCell::default(),
        })
    }

    /// From now on what is merged is written, and kept until [`Self::release`].
    pub fn write(&self) {
        self.writes.set(true);
    }

    /// Whether what is merged is written.
    pub fn writes(&self) -> bool {
        self.writes.get()
    }

    /// Keeps a blob that no ref holds yet, until [`Self::release`] or the next merge.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, blob: &[u8]) -> Result<()> {
        if let Some(writer) = self.writer()? {
            writer.put(ObjectKind::Blob, blob)?;
            self.kept.borrow_mut().extend(writer.finish()?.pack);
        }
        Ok(())
    }

    /// The merged blobs that were not written.
    pub fn unwritten(&self) -> &RefCell<BTreeSet<Oid>> {
        &self.unwritten
    }

    /// The swap has ended: refs hold what was merged.
    ///
    /// # Errors
    /// What kept it cannot be removed.
    pub fn release(&self) -> Result<()> {
        let mut kept = self.kept.take().into_iter();
        kept.try_for_each(KeptPack::release)
    }

    /// Merges the sides. `read` reads any of the trees.
    ///
    /// # Errors
    /// A tree or blob cannot be read, a merged one not be written; `BUSY` when a file changed while it was read.
    pub fn merge(&self, trees: &dyn ReadTree, sides: &Sides<'_>) -> Result<Merged> {
        let step = Step {
            base: Some(sides.base),
            theirs: sides.theirs,
            labels: sides.labels,
            beside: Beside::Conflicts,
            takes: &|_| true,
            is_known: &|_| true,
            follows: &|_| false,
        };
        Ok(self.merge_all(trees, sides.ours, &[step])?.merged)
    }

    /// Merges one step after the other onto `ours`.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn merge_all(&self, trees: &dyn ReadTree, ours: Oid, steps: &[Step<'_>]) -> Result<Steps> {
        let writer = self.writer()?;
        // A swap may look more than once: what the look before merged does not count.
        self.unwritten.take();
        let between = Between::default();
        let merged = self.in_turn(trees, ours, steps, (&between, writer.as_ref()));
        if let Some(pack) = writer.map(ObjectWriter::finish).transpose()? {
            // Nothing refers to merged blobs before the swap has ended: the pack stays kept. That of the look before can go.
            let mut before = self
                .kept
                .replace(pack.pack.into_iter().collect())
                .into_iter();
            before.try_for_each(KeptPack::release)?;
            self.store.objects.refresh();
        }
        merged
    }

    fn in_turn(
        &self,
        trees: &dyn ReadTree,
        ours: Oid,
        steps: &[Step<'_>],
        (between, writer): (&Between, Option<&ObjectWriter<'_>>),
    ) -> Result<Steps> {
        let known = |oid: Oid| between.borrow().get(&oid).cloned();
        let trees = |oid: Oid| known(oid).map_or_else(|| trees.read_tree(oid), Ok);
        let trees = Lookup::new(&trees);
        let content = |full: &[u8], node: Node| match known(node.oid) {
            Some(bytes) => Ok(Some(bytes)),
            None => self.content(full, node),
        };
        let put = |bytes: &[u8]| {
            let oid = self.put_blob(writer, bytes)?;
            if steps.len() > 1 {
                between.borrow_mut().insert(oid, bytes.to_vec());
            }
            Ok(oid)
        };
        let mut all = Steps::default();
        let mut here = ours;
        for (at, step) in steps.iter().enumerate() {
            let mut merged = merge::merge(&Input {
                base: step.base.unwrap_or(ours),
                ours: here,
                theirs: step.theirs,
                read_tree: &trees,
                content: &content,
                put: &put,
                labels: step.labels,
                style: self.style,
                beside: step.beside,
                takes: step.takes,
                is_known: step.is_known,
                follows: step.follows,
            })?;
            for conflict in &mut merged.conflicts {
                conflict.step = at;
            }
            if at > 0 {
                lines_of(&trees, &content, (here, ours), &mut merged)?;
            }
            let edits: Vec<_> = merged.paths.clone().into_iter().collect();
            let is_blocked = !merged.blocked.is_empty();
            all.add(at, merged);
            if is_blocked {
                return Ok(all);
            }
            if at + 1 < steps.len() && !edits.is_empty() {
                let mut put = |bytes: &[u8]| {
                    let oid = self.store.objects.hash(ObjectKind::Tree, bytes)?;
                    between.borrow_mut().insert(oid, bytes.to_vec());
                    Ok(oid)
                };
                here = tree::edit(&trees, &mut put, Some(here), &edits)?;
            }
        }
        all.drop_unchanged(&trees, ours)?;
        Ok(all)
    }

    /// Writes a merged blob, or only names it during a look that nothing follows.
    fn put_blob(&self, writer: Option<&ObjectWriter<'_>>, bytes: &[u8]) -> Result<Oid> {
        if let Some(writer) = writer {
            return writer.put(ObjectKind::Blob, bytes);
        }
        let oid = self.store.objects.hash(ObjectKind::Blob, bytes)?;
        self.unwritten.borrow_mut().insert(oid);
        Ok(oid)
    }

    /// Writes nothing during a look that nothing follows.
    fn writer(&self) -> Result<Option<ObjectWriter<'s>>> {
        if !self.writes.get() {
            return Ok(None);
        }
        let keep_note = Owner::this_process("merge").line().trim_end().to_owned();
        let mode = WriteMode::Pack {
            keep_note,
            durable: Durable::Yes,
        };
        Ok(Some(ObjectWriter::new(&self.store.objects, mode)?.afresh()))
    }

    /// The content of a blob, from the repository or, when it is not there yet, from the file that has it; None when it is too large.
    ///
    /// # Errors
    /// It cannot be read; `BUSY` when the file has something else by now.
    pub fn content(&self, full: &[u8], node: Node) -> Result<Option<Vec<u8>>> {
        match self.store.objects.header(node.oid)? {
            Some((_, size)) if size > LARGEST => return Ok(None),
            Some(_) => return Ok(Some(self.store.objects.read(node.oid)?.1)),
            None => {}
        }
        let what = || format!("cannot read '{}'", path::display(full));
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let mut bytes = Vec::new();
        if node.mode == LINK_MODE {
            let (dir, name) = path::split(full);
            let dir = root.open_dir(dir).context(what)?;
            bytes = read_link_at(std::os::fd::AsFd::as_fd(&dir), name).context(what)?;
        } else {
            let file = std::fs::File::from(root.open_file(full).context(what)?);
            file.take(LARGEST + 1)
                .read_to_end(&mut bytes)
                .context(what)?;
        }
        if bytes.len() as u64 > LARGEST {
            return Ok(None);
        }
        if self.store.objects.hash(ObjectKind::Blob, &bytes)? == node.oid {
            return Ok(Some(bytes));
        }
        let message = format!("'{}' changed while it was read", path::display(full));
        Err(Error::new(Code::Busy, message).hint("stop what writes here and try again"))
    }
}

/// Permission bits of a file, and git's mode.
pub type Bits = (u32, u32);

/// Those of a file that is there.
pub fn bits_here(file: Option<FileRec>) -> Option<Bits> {
    let file = file.filter(|file| file.kind == Kind::File);
    file.map(|file| (file.stamp.permissions(), file.git_mode))
}

/// The permission bits that a changed file gets. `here`: those of the file that is there, under whatever name. `bits`: those that the change
/// found, and those that it left. Bits that somebody changed since stay, but for that it becomes a program, for those who may read it, or is
/// none any more.
pub fn bits_after(here: Option<Bits>, bits: (Option<u32>, u32), git_mode: u32) -> u32 {
    let (found, left) = bits;
    let Some((now, mode)) = here else {
        return left;
    };
    if found == Some(now) {
        left
    } else if mode == git_mode {
        now
    } else if git_mode == 0o100_755 {
        now | 0o100 | left & 0o111 & (now & 0o444) >> 2
    } else {
        now & !0o111
    }
}

impl Steps {
    /// The names of a path: in the working tree, and of each step in its base and in what it left.
    pub fn names<'n>(&'n self, full: &'n [u8]) -> (&'n [u8], Vec<[&'n [u8]; 2]>) {
        let mut names = Vec::new();
        let mut name = full;
        for (renamed, followed) in self.renamed.iter().zip(&self.followed).rev() {
            let after = name;
            name = renamed.get(name).map_or(name, Vec::as_slice);
            let there = followed.get(name);
            names.push(there.map_or([name, after], |both| both.each_ref().map(Vec::as_slice)));
        }
        names.reverse();
        (name, names)
    }

    /// What the files are called in the working tree that the base of a step has under other names, as far as they are followed.
    pub fn names_here(&self, step: usize) -> NamesHere<'_> {
        let before = self.renamed.get(..step).unwrap_or_default();
        let here = |name| {
            let names = before.iter().rev();
            names.fold(name, |name: &[u8], renamed| {
                renamed.get(name).map_or(name, Vec::as_slice)
            })
        };
        let renamed = before.iter().flat_map(BTreeMap::keys);
        let renamed = renamed.map(|name| (name.as_slice(), here(name.as_slice())));
        let followed = self.followed.get(step).into_iter().flatten();
        let followed = followed.map(|(name, [base, _])| (base.as_slice(), here(name.as_slice())));
        renamed.chain(followed).collect()
    }

    fn add(&mut self, at: usize, step: Merged) {
        let Merged {
            paths,
            renamed,
            followed,
            taken,
            merged,
            adjacent,
            conflicts,
            submodules,
            unknown,
            blocked,
        } = step;
        let step_of = paths.keys().map(|full| (full.clone(), at));
        self.step_of.extend(step_of);
        self.taken.push(taken);
        self.renamed.push(renamed.clone());
        self.followed.push(followed);
        let all = &mut self.merged;
        // Lines of an earlier step are no longer where they were.
        for full in paths.keys() {
            all.adjacent.remove(full);
        }
        all.paths.extend(paths);
        // An earlier step may have renamed it already.
        for (to, from) in renamed {
            let from = all.renamed.get(&from).cloned().unwrap_or(from);
            all.renamed.insert(to, from);
        }
        all.merged.extend(merged);
        all.adjacent.extend(adjacent);
        all.conflicts.extend(conflicts);
        all.submodules.extend(submodules);
        all.unknown.extend(unknown);
        all.blocked.extend(blocked);
    }

    /// What one step changed and another changed back stays as it is.
    fn drop_unchanged(&mut self, trees: &Lookup<'_>, ours: Oid) -> Result<()> {
        let mut unchanged = Vec::new();
        for (full, node) in &self.merged.paths {
            if trees.file(ours, full)? == *node {
                unchanged.push(full.clone());
            }
        }
        for full in unchanged {
            self.merged.paths.remove(&full);
            self.merged.merged.remove(&full);
            self.merged.adjacent.remove(&full);
            self.step_of.remove(&full);
        }
        let all = &mut self.merged;
        for paths in [&mut all.submodules, &mut all.unknown] {
            paths.sort();
            paths.dedup();
        }
        Ok(())
    }
}

/// Of conflicts in what an earlier step made, where the lines stand in the working tree.
fn lines_of(
    trees: &Lookup<'_>,
    content: &merge::ReadContent<'_>,
    (here, ours): (Oid, Oid),
    merged: &mut Merged,
) -> Result<()> {
    for conflict in &mut merged.conflicts {
        let text = |root: Oid| -> Result<Option<Vec<u8>>> {
            let node = trees.file(root, &conflict.path)?;
            Ok(node
                .map(|node| content(&conflict.path, node))
                .transpose()?
                .flatten())
        };
        let (Some(here), Some(there)) = (text(here)?, text(ours)?) else {
            continue;
        };
        let hunks = textdiff::hunks(&here, &there, 0)?;
        for overlap in &mut conflict.overlaps {
            overlap.ours = textdiff::moved(&hunks, &overlap.ours);
        }
    }
    Ok(())
}
