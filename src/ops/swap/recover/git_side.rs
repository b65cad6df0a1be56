//! Index, HEAD and operation files of a dead swap: as they were before it, or as it would have left them.

use std::path::PathBuf;

use super::super::head::past_operation;
use super::super::index_file;
use super::super::journal::SwapSide;
use super::super::newindex::{IndexSource, new_index};
use super::super::pathindex;
use super::super::run::NO_INDEX;
use super::damaged::set_aside;
use super::put_back::{Unfinished, noted};
use crate::error::{Code, Error, Result};
use crate::git::operation;
use crate::ops::capture::{CaptureOptions, Storing, capture};
use crate::ops::gitview::read_index;

impl Unfinished<'_> {
    /// Index, HEAD and operation files as they were before the swap.
    ///
    /// # Errors
    /// One of them cannot be read or written.
    pub(super) fn put_git_back(&self) -> Result<Vec<String>> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        let mut notices = Vec::new();
        let damaged = index_file::damaged(ctx, store).filter(|_| journal.swaps_index);
        if journal.swaps_index && damaged.is_none() {
            index_file::put_back(ctx, store, journal.extra.contains_key(NO_INDEX))?;
            index_file::forget(store)?;
        }
        if let Some((before, after)) = &journal.head {
            let now = ctx.repo.raw_head()?;
            if now == *after {
                ctx.repo.move_head(Some(after), before, None)?;
            } else if now != *before {
                notices.push("HEAD was changed since and stays as it is".to_owned());
            }
        }
        if journal.swaps_operation {
            let saved = noted(store, &journal.backup_id, Some(&journal.backup_commit))?;
            operation::restore(&ctx.repo, &store.operation(&saved)?)?;
        }
        if let Some(kept) = damaged {
            notices.extend(self.make_index_again(kept)?);
        }
        Ok(notices)
    }

    /// The index as the backup has it, where the one that was kept is damaged. That, and an index that cannot be read either, get
    /// other names.
    fn make_index_again(&self, kept: PathBuf) -> Result<Vec<String>> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        let stored = &noted(store, &journal.backup_id, Some(&journal.backup_commit))?;
        let mut damaged = vec![kept];
        let is_corrupt = |error: Error| error.code() == Code::CorruptRecord;
        if read_index(&ctx.repo, &store.objects).is_err_and(is_corrupt) {
            damaged.push(ctx.repo.index_path());
        }
        let aside = set_aside(damaged)?;
        let lists = &store.lists(stored)?;
        self.install_index(IndexSource::Snapshot { stored, lists })?;
        index_file::forget(store)?;
        let told = aside.iter().map(|(from, to)| {
            format!(
                "'{}' was damaged and is now '{}': the index is as {} has it",
                from.display(),
                to.display(),
                journal.backup_id
            )
        });
        Ok(told.collect())
    }

    /// Index, HEAD and operation files as the swap would have left them.
    ///
    /// # Errors
    /// One of them cannot be read or written.
    pub(super) fn put_git_forward(&self) -> Result<()> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        let target = match &journal.target_id {
            Some(id) => Some(noted(store, id, journal.target_commit.as_deref())?),
            None => None,
        };
        if let Some(entries) = pathindex::read(journal, SwapSide::After)? {
            self.install_index(IndexSource::Entries(&entries))?;
        } else if journal.swaps_index {
            let stored = target
                .as_ref()
                .ok_or_else(|| Error::new(Code::CorruptRecord, "the journal names no target"))?;
            let lists = &store.lists(stored)?;
            self.install_index(IndexSource::Snapshot { stored, lists })?;
        }
        if let Some((_, after)) = &journal.head {
            ctx.repo.move_head(None, after, None)?;
        }
        if let (true, Some(target)) = (journal.swaps_operation, &target) {
            // What the past gets of an operation is not all that the snapshot has.
            let state = if journal.operation == "travel" {
                past_operation(store, target)?.0
            } else {
                store.operation(target)?
            };
            operation::restore(&ctx.repo, &state)?;
        }
        Ok(())
    }

    /// Makes an index, and puts it in place.
    fn install_index(&self, source: IndexSource<'_>) -> Result<()> {
        let (ctx, store) = (self.ctx, self.store);
        let options = CaptureOptions {
            storing: Storing::No,
            whole_index: true,
            ..CaptureOptions::default()
        };
        let seen = capture(ctx, store, &options)?;
        // Which stamps the dead process left nobody knows: those of the capture just made stand for all.
        let (applied, plan) = (Default::default(), Default::default());
        let index = new_index(ctx, store, &seen, source, &applied, &plan)?;
        index_file::install(ctx, store, &index)
    }
}
