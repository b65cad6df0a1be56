//! Index, HEAD and operation files of a dead swap: as they were before it, or as it would have left them.

use super::super::head::{past_operation, told_of_head};
use super::super::index_file;
use super::super::journal::SwapSide;
use super::super::newindex::{IndexSource, new_index};
use super::super::pathindex;
use super::super::run::{NO_INDEX, REVIVABLE};
use super::damaged::set_aside;
use super::put_back::{Unfinished, noted};
use crate::error::{Code, Error, Result};
use crate::git::{operation, reflog};
use crate::ops::capture::{CaptureOptions, Storing, capture};
use crate::ops::gitview::read_index;
use crate::store::trigger::SwapKind;

impl Unfinished<'_> {
    /// Index, HEAD and operation files as they were before the swap.
    ///
    /// # Errors
    /// One of them cannot be read or written.
    pub(super) fn put_git_back(&self) -> Result<Vec<String>> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        let mut notices = Vec::new();
        if journal.swaps_index {
            index_file::put_back(ctx, store, journal.extra.contains_key(NO_INDEX))?;
            index_file::forget(store)?;
        }
        if let Some((before, after)) = &journal.head {
            let now = ctx.repo.raw_head()?;
            // Its reflog goes on to where HEAD is.
            let told = told_of_head(journal).filter(|said| self.is_last_of_reflog(said));
            let undone = told.map(|said| format!("tw recover: undid '{said}'"));
            let log = undone.as_deref().map(|said| (ctx.env.now(), said));
            if now == *after && (now != *before || log.is_some()) {
                ctx.repo.move_head(Some(after), before, log)?;
            } else if now != *before {
                notices.push("HEAD was changed since and stays as it is".to_owned());
            }
        }
        if journal.swaps_operation {
            let saved = noted(store, &journal.backup_id, Some(&journal.backup_commit))?;
            operation::restore(&ctx.repo, &store.operation(&saved)?)?;
        }
        Ok(notices)
    }

    /// An index as it was before the swap, before anything has to read one, where the one that was kept is damaged, or the one in place:
    /// each gets another name, and the kept one is put in place, or what the backup has.
    ///
    /// # Errors
    /// A file cannot be renamed, or the backup cannot be read.
    pub(super) fn mend_index(&self) -> Result<Vec<String>> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        if !journal.swaps_index {
            return Ok(Vec::new());
        }
        let kept = index_file::damaged(ctx, store);
        let is_corrupt = |error: Error| error.code() == Code::CorruptRecord;
        let in_place = read_index(&ctx.repo, &store.objects).is_err_and(is_corrupt);
        let in_place = in_place.then(|| ctx.repo.index_path());
        let mut aside = set_aside(in_place.into_iter().collect())?;
        if let Some(kept) = kept {
            let stored = &noted(store, &journal.backup_id, Some(&journal.backup_commit))?;
            let lists = &store.lists(stored)?;
            self.install_index(IndexSource::Snapshot { stored, lists })?;
            // Not before: that it is damaged brings a recovery after this one here again.
            aside.extend(set_aside(vec![kept])?);
        } else if !aside.is_empty() {
            index_file::put_back(ctx, store, journal.extra.contains_key(NO_INDEX))?;
        }
        let told = aside.iter().map(|(from, to)| {
            format!(
                "'{}' was damaged and is now '{}': the index is as it was before the {}",
                from.display(),
                to.display(),
                journal.operation
            )
        });
        Ok(told.collect())
    }

    /// Whether HEAD's reflog ends with these words.
    fn is_last_of_reflog(&self, said: &str) -> bool {
        let moves = reflog::read(&self.ctx.repo);
        moves.last().is_some_and(|last| last.message == said)
    }

    /// Index, HEAD and operation files as the swap would have left them.
    ///
    /// # Errors
    /// One of them cannot be read or written.
    pub(super) fn put_git_forward(&self) -> Result<()> {
        let (ctx, store, journal) = (self.ctx, self.store, self.journal);
        let target = match (&journal.git_id, &journal.target_id) {
            (Some(id), _) => Some(noted(store, id, journal.git_commit.as_deref())?),
            (None, Some(id)) => Some(noted(store, id, journal.target_commit.as_deref())?),
            (None, None) => None,
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
            let told = told_of_head(journal).filter(|said| !self.is_last_of_reflog(said));
            let log = told.as_deref().map(|said| (ctx.env.now(), said));
            ctx.repo.move_head(None, after, log)?;
        }
        if let (true, Some(target)) = (journal.swaps_operation, &target) {
            // A journal of a travel from before there was such a field has none.
            let is_part =
                journal.operation == SwapKind::Travel || journal.extra.contains_key(REVIVABLE);
            let state = if is_part {
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
