//! The stages that conflicts have in the index: what `git add` would make of each side's file, by the attributes and the configuration
//! that hold now.
//!
//! Line ends, `$Id$` and encodings are converted by git itself. No filter is started: a file that goes through one gets no stages, and
//! the index keeps its entry.

use std::os::unix::ffi::OsStrExt as _;

use super::{Applying, OnConflict, SHOWN};
use crate::error::{Result, ResultExt};
use crate::git::command::Git;
use crate::git::fs::Root;
use crate::git::index::Entry;
use crate::git::path;
use crate::git::tree::{GITLINK_MODE, LINK_MODE, Lookup, Node};
use crate::git::{Oid, create};
use crate::ops::capture::Capture;
use crate::ops::gitview::{attributes, clean_filters, read_index};
use crate::ops::merge::{Conflict, Merged};
use crate::ops::swap::pathindex::PathEntries;
use crate::worktree::attributes::{Conversion, Normalized};
use crate::worktree::scan::read_ignore_file_named;

impl Applying<'_, '_> {
    /// The stages of the paths that conflict, where git tracks them on one side or the other.
    pub(super) fn index_entries(
        &self,
        capture: &Capture<'_>,
        merged: &Merged,
    ) -> Result<PathEntries> {
        let mut entries = PathEntries::new();
        self.unstaged.take();
        if self.on_conflict != OnConflict::Stages || merged.conflicts.is_empty() {
            return Ok(entries);
        }
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let load = |dir: &[u8]| read_ignore_file_named(&root, dir, b".gitattributes");
        let mut attributes = attributes(&self.ctx.repo, Box::new(load))?;
        let filters = clean_filters(&self.ctx.repo)?;
        let trees = Lookup::new(&self.store.objects);
        for conflict in &merged.conflicts {
            if !self.is_tracked((capture, &trees), &conflict.path)? {
                continue;
            }
            let conversion = attributes.conversion(&conflict.path)?;
            let filter = conversion.filter.as_ref();
            let is_filtered = filter.is_some_and(|name| filters.contains(&**name));
            let stages = if is_filtered {
                None
            } else {
                self.stages(conflict, &conversion)?
            };
            if let Some(stages) = stages {
                entries.insert(conflict.path.clone(), stages);
            } else {
                self.unstaged.borrow_mut().insert(conflict.path.clone());
            }
        }
        Ok(entries)
    }

    /// What the answer says of conflicts without stages.
    pub(super) fn unstaged_notice(&self) -> Option<String> {
        let paths = self.unstaged.borrow();
        let names = path::listed(paths.iter(), SHOWN);
        (!paths.is_empty()).then(|| {
            format!("in conflict, but without stages in the index, because git stores it through a filter that tw does not run: {names}")
        })
    }

    fn is_tracked(
        &self,
        (capture, trees): (&Capture<'_>, &Lookup<'_>),
        full: &[u8],
    ) -> Result<bool> {
        let index = capture.parsed_index.as_ref();
        if index.is_some_and(|index| index.has_path(full)) {
            return Ok(true);
        }
        for tree in self.changes.iter().flat_map(|change| &change.index) {
            if trees.file(*tree, full)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The stages of one path; None when it cannot be told what git would store.
    fn stages(&self, conflict: &Conflict, conversion: &Conversion) -> Result<Option<Vec<Entry>>> {
        let full = &conflict.path;
        let is_as_it_is = conversion.is_none() || self.keeps_line_ends(full, conversion)?;
        let mut entries = Vec::new();
        for (stage, node) in (1u8..).zip(conflict.stages) {
            let Some(node) = node else {
                continue;
            };
            let stored = match node.mode {
                LINK_MODE | GITLINK_MODE => Some(node.oid),
                _ if is_as_it_is => Some(node.oid),
                _ => self.stored_by_git(full, node)?,
            };
            let Some(oid) = stored else {
                return Ok(None);
            };
            let mut entry = Entry::new(node.mode, oid);
            entry.stage = stage;
            entries.push(entry);
        }
        Ok(Some(entries))
    }

    /// Whether git leaves the line ends of a file that only looks like text, since those in the index end in CR LF too.
    fn keeps_line_ends(&self, full: &[u8], conversion: &Conversion) -> Result<bool> {
        if conversion.normalized == Normalized::Always || conversion.encoding {
            return Ok(false);
        }
        let index = read_index(&self.ctx.repo, &self.store.objects)?;
        let Some(entry) = index.get(full, 0) else {
            return Ok(false);
        };
        let (_, bytes) = self.store.objects.read(entry.oid)?;
        Ok(bytes.windows(2).any(|pair| pair == b"\r\n"))
    }

    /// The blob that git makes of a side's file, which has no filter; None when it makes none of it.
    fn stored_by_git(&self, full: &[u8], node: Node) -> Result<Option<Oid>> {
        let Some(bytes) = self.merging.content(full, node)? else {
            return Ok(None);
        };
        let path = std::ffi::OsStr::from_bytes(full);
        let mut option = std::ffi::OsString::from("--path=");
        option.push(path);
        let writes = self.merging.writes();
        let git = Git::new(&self.ctx.repo)
            // A warning of git's that may be an error.
            .args(["-c", "core.safecrlf=false", "hash-object", "--stdin"])
            .args(writes.then_some("-w"))
            .arg(option)
            .stdin(bytes);
        let Ok(done) = git.output() else {
            return Ok(None);
        };
        let said = String::from_utf8_lossy(&done.stdout);
        let found = Oid::from_hex(said.trim()).ok();
        let Some(oid) = found.filter(|_| done.status.success()) else {
            return Ok(None);
        };
        if writes {
            // git makes it as whoever runs it.
            let name = oid.to_string();
            let (over, _) = name.split_at(2);
            let made = self.ctx.repo.common_dir().join("objects").join(over);
            let what = || format!("cannot give away '{}'", made.display());
            create::give_all(&made).context(what)?;
        }
        if writes && oid != node.oid {
            // No ref has it before the swap has ended.
            let (_, stored) = self.store.objects.read(oid)?;
            self.merging.keep(&stored)?;
        }
        Ok(Some(oid))
    }
}
